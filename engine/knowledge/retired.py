"""What the knowledge base no longer holds: its ids stay known, so that no other thing can ever be meant by them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from engine.model.base import Kept, Text

LockedKind = Literal[
    "facts", "findings", "causes", "checks", "gates", "policies", "signatures", "pipelines", "advice", "families"
]


class Retired(Kept):
    """An id that was removed: since which version of the knowledge base, why, and what took its place, if anything."""

    id: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    kind: LockedKind
    since: Annotated[str, StringConstraints(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")]
    because: Text
    instead: tuple[str, ...] = ()
