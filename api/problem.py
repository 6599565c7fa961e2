"""The exception that carries a problem (RFC 9457); knows no web framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from api.messages import Words, say
from api.problems import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from api.validation import FieldError


class Problem(Exception):  # noqa: N818 - RFC 9457 calls it a problem
    """An answer other than the wanted one; ``detail`` and ``errors`` are shown to the caller, in their language."""

    def __init__(
        self,
        slug: str,
        detail: Words,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(slug, detail, errors, headers)
        self.kind = KINDS[slug]
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = dict(headers or {})


def invalid_input(errors: Sequence[FieldError]) -> Problem:
    """The 422 problem for ``errors``."""
    first = errors[0]
    more = say("more", count=len(errors)) if len(errors) > 1 else say("one")
    return Problem(
        "invalid-input", say("invalid", where=first.where, reason=first.reason, send=first.send, more=more), errors
    )


def too_large(what: str, limit: int, headers: Mapping[str, str] | None = None) -> Problem:
    """The 413 problem for ``what`` (the key of a message), which may have ``limit`` bytes."""
    return Problem("too-large", say("too-large", what=say(what), limit=limit), headers=headers)
