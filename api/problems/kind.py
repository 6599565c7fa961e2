"""A kind of problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from api.messages import Words


@dataclass(frozen=True)
class Kind:
    """A kind of problem: its HTTP status, and what its page at ``/problems/<slug>`` says."""

    slug: str
    status: int
    title: Words
    meaning: Words
