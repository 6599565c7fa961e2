"""Content-Type headers: what kind of body they announce, and whether its text is UTF-8."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from api.messages import say
from api.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

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
_UTF8 = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})  # ASCII is a part of UTF-8


def media_type(content_type: str) -> str:
    """The type without its parameters, in lower case."""
    return content_type.split(";", 1)[0].strip().lower()


def require_utf8(content_type: str) -> None:
    """Refuse a text in another charset: a guess at what its bytes mean could be wrong without a word.

    Raises:
        Problem: 415.
    """
    named = _CHARSET.search(content_type)
    if named and named[1].lower() not in _UTF8:
        raise Problem("unsupported-media-type", say("charset"))
