"""A case as it stands, and a change of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from api.access import Caller
    from api.cases.events import Event
    from api.cases.ranking import Ranked
    from api.cases.state import CaseState
    from api.store.cases import Head


@dataclass(frozen=True)
class CaseView:
    """A case as it stands: its row, what its events come to, and the ranking that holds."""

    head: Head
    events: tuple[Event, ...]
    state: CaseState
    ranked: Ranked

    @property
    def id(self) -> str:
        return self.head.id


@dataclass(frozen=True)
class Change:
    """What just happened to a case, for those who pass it on; ``before`` is None for a new case."""

    caller: Caller
    before: Ranked | None
    after: CaseView

    @property
    def event(self) -> Event:
        return self.after.events[-1]
