"""Content-Type headers: what kind of body they announce, and whether its text is UTF-8."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from api.messages import say
from api.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from api.documents import Format

MULTIPART = "multipart/form-data"
FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "application/json": "json",
        "application/yaml": "yaml",
        "application/x-yaml": "yaml",
        "text/yaml": "yaml",
        "text/x-yaml": "yaml",
    }
)
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([^\s\";]*)", re.IGNORECASE)
_QUALITY = re.compile(r";\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$)", re.IGNORECASE)
_UTF8 = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})  # ASCII is a part of UTF-8


def media_type(content_type: str) -> str:
    """The type without its parameters, in lower case."""
    return content_type.split(";", 1)[0].strip().lower()


def preferred(accept: str | None, offered: Sequence[str]) -> str:
    """The offered type that an ``Accept`` header likes best (RFC 9110, 12.5.1); the first if it likes none better."""
    wanted = [_weighed(part) for part in (accept or "*/*").split(",")[:32]]

    def liking(kind: str) -> float:
        ranges = (kind, f"{kind.partition('/')[0]}/*", "*/*")
        return next((quality for name in ranges for range_, quality in wanted if range_ == name), 0.0)

    return max(offered, key=liking)


def _weighed(part: str) -> tuple[str, float]:
    """A media range and its quality; what is no number counts as none."""
    quality = _QUALITY.search(part)
    return media_type(part), float(quality[1]) if quality else 1.0


def require_utf8(content_type: str) -> None:
    """Refuse a text in another charset: a guess at what its bytes mean could be wrong without a word.

    Raises:
        Problem: 415.
    """
    named = _CHARSET.search(content_type)
    if named and named[1].lower() not in _UTF8:
        raise Problem("unsupported-media-type", say("charset"))
