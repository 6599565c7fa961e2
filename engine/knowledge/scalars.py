"""Plain (unquoted) YAML scalars: the YAML 1.2 core schema, minus everything that YAML 1.1 reads otherwise.

Source: YAML 1.2.2, chapter 10.3.2 (core schema), against the YAML 1.1 types bool, int, float and timestamp.
A word on which the two versions disagree is an error here, so that a file means the same to every reader.
"""

from __future__ import annotations

import math
import re

Scalar = str | int | float | bool | None

MAX_INTEGER = 2**63
_NULLS = frozenset({"null", "Null", "NULL", "~"})
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_OLD_BOOLS = frozenset(
    form for word in ("y", "yes", "n", "no", "on", "off") for form in (word, word.title(), word.upper())
)
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")

_QUOTES = "Write it in quotes if it is text"
_PLAIN_DECIMAL = f"{_QUOTES}, or write the number in plain decimal digits"
# (form, what YAML 1.1 takes it for and 1.2 does not, what to write)
_DISPUTED = (
    (r"[-+]?0[0-9]+", "an octal number", _PLAIN_DECIMAL),
    (r"[-+]?0b[01_]+", "a binary number", _PLAIN_DECIMAL),
    (r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?", "a number in base 60", _QUOTES),
    (r"[-+]?(?=.*_)(0x[0-9a-fA-F_]+|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?)", "a number", _PLAIN_DECIMAL),
    (r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?", "a date", _QUOTES),
)
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


class ScalarError(ValueError):
    """A plain scalar that is refused: ``reason`` and ``hint`` as in :class:`Problem`."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.reason, self.hint = reason, hint


def resolve(word: str) -> Scalar:
    """The value of a plain scalar.

    Raises:
        ScalarError: if YAML 1.1 and 1.2 read the word differently, or the number is out of range.
    """
    if not word:
        raise ScalarError("a value is missing", 'Write the value, "" for an empty text, or null')
    if word in _NULLS:
        return None
    if word in _BOOLS:
        return _BOOLS[word]
    if word in _OLD_BOOLS:
        raise ScalarError(
            f"'{word}' is true or false to some YAML readers and text to others",
            "Write true or false, or write it in quotes if it is text",
        )
    if word[0] not in "+-.0123456789":
        return word
    for pattern, kind, hint in _DISPUTED:
        if re.fullmatch(pattern, word):
            raise ScalarError(f"'{word}' is {kind} to some YAML readers and not to others", hint)
    if _NOT_FINITE.fullmatch(word):
        raise ScalarError(f"'{word}' is not a finite number", 'Write "nan" or "inf" in quotes, or leave the key out')
    return _number(word)


def _number(word: str) -> Scalar:
    is_integer, is_based = _INTEGER.fullmatch(word), _BASED.fullmatch(word)
    if not (is_integer or is_based or _FLOAT.fullmatch(word)):
        return word
    # Longer than any 64-bit integer or shortest float: also keeps int() away from its digit limit.
    if len(word) > 40:
        raise ScalarError("the number has more than 40 characters", "Write it in quotes, or with fewer digits")
    if is_integer or is_based:
        whole = int(word, 0)
        if abs(whole) >= MAX_INTEGER:
            raise ScalarError(f"{word} does not fit in 64 bits", "Write it in quotes")
        return whole
    number = float(word)
    if not math.isfinite(number):
        raise ScalarError(f"{word} is beyond the range of numbers", "Write it in quotes, or a number below 1e308")
    return number
