"""Keys, home folders and internal hosts in the text files of a checkpoint.

Sources: the key formats that their issuers document for secret scanning (prefix and length). A key that is no number
of chance, such as a placeholder, is left out by its entropy. What is found is never shown in full.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple

Kind = Literal["key", "path"]
MIN_BITS = 3.0  # of entropy a character: words and placeholders have less, keys of chance about 4 to 6
MAX_LEAKS = 200


class _Form(NamedTuple):
    """How one thing looks. One of ``words`` must stand in a text before the pattern is tried: that is much faster."""

    what: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]


def _form(what: str, words: str, *parts: str) -> _Form:
    return _Form(what, tuple(words.split()), re.compile("".join(parts)))


_KEYS = (
    _form("a Hugging Face token", "hf_", r"\bhf_([A-Za-z0-9]{30,64})\b"),
    _form("an API key", "sk-", r"(?<![\w-])sk-(?:proj-|svcacct-|ant-)?((?=[A-Za-z_-]*\d)[\w-]{32,200})"),
    _form("an AWS key id", "AKIA ASIA", r"\b(?:AKIA|ASIA)([A-Z0-9]{16})\b"),
    _form("a GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\b(?:gh[pousr]_|github_pat_)(\w{36,255})"),
    _form("a GitLab token", "glpat-", r"\bglpat-([\w-]{20,64})"),
    _form("a Slack token", "xox", r"\bxox[abprs]-([A-Za-z0-9-]{20,200})"),
    _form("a Google API key", "AIza", r"\bAIza([\w-]{35})(?![\w-])"),
    _form("a package registry token", "pypi-AgE npm_", r"\b(?:pypi-AgE|npm_)([\w-]{36,255})"),
    _form("a signed web token", "eyJ", r"\beyJ[\w-]{10,2000}\.eyJ[\w-]{10,2000}\.([\w-]{20,2000})"),
    _form("a private key", "PRIVATE", r"-----BEGIN (?:[A-Z]{2,12} ){0,2}PRIVATE KEY-----\s{0,4}([\w+/=]{40,80})"),
    _form(
        "a key by its name",
        "key KEY Key token TOKEN Token",
        r"(?i:wandb|api|secret|access|auth)_?(?i:api_?)?(?i:key|token)[\"']?\s{0,3}[:=]\s{0,3}[\"']?",
        r"((?=[A-Za-z_+/-]*\d)[\w+/-]{32,128})",
    ),
    _form("a password in an address", "://", r"://[^/\s:@\"'{}<>$]{1,64}:([^/\s:@\"'{}<>$]{8,64})@[\w.-]"),
)
# Accounts that images and examples use; they name nobody.
_ANYONE = r"(?!(?i:user|username|your[_-]?\w{0,20}|me|ubuntu|jovyan|runner|runneradmin|public|shared|name)[/\\])"
_INSIDE = r"(?:internal|corp|intranet|intra|lan|local)"
_PLACES = (
    _form("a home folder", "/home/ /Users/", r"(?<![\w.~-])/(?:home|Users)/", _ANYONE, r"[\w.-]{1,64}/"),
    _form("a home folder", "Users\\", r"\b[A-Za-z]:\\{1,2}Users\\{1,2}", _ANYONE, r"[\w. -]{1,64}\\"),
    _form("an internal host", "://", r"://(?:[\w-]{1,63}\.){1,8}", _INSIDE, r"(?![\w-]|\.\w)[\w./:-]{0,80}"),
    _form(
        "an internal address",
        "://10. ://192. ://172.",
        r"://(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}\b[\w./:-]{0,80}",
    ),
)
_PLACEHOLDER = re.compile(r"(?i)example|your|x{6}|\*{4}|0{8}")


@dataclass(frozen=True, slots=True)
class Leak:
    """Something given away: where it begins, what it is, and as much of it as may be shown."""

    kind: Kind
    at: int
    what: str
    shown: str


def leaks(text: str) -> Iterator[Leak]:
    """Every key, home folder and internal host of a text, at most ``MAX_LEAKS`` of each form."""
    for form in _KEYS:
        for match in _found(form, text):
            if _bits(match[1]) >= MIN_BITS and not _PLACEHOLDER.search(match[0]):
                yield Leak("key", match.start(), form.what, f"{match[0][:6]}... ({len(match[0])} characters)")
    for form in _PLACES:
        for match in _found(form, text):
            yield Leak("path", match.start(), form.what, match[0][:120])


def _found(form: _Form, text: str) -> Iterator[re.Match[str]]:
    if any(word in text for word in form.words):
        yield from islice(form.pattern.finditer(text), MAX_LEAKS)


def _bits(text: str) -> float:
    """Shannon entropy a character."""
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)
