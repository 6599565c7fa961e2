"""Options that are one letter off a known one: most trainers pass over them without a word."""

from __future__ import annotations

from collections.abc import Iterable

_SHORTEST = 12  # shorter names are too alike: lr, bf16, seq_len

_END = 5


def meant_by(name: str, known: Iterable[str]) -> str | None:
    """The known option from which ``name`` is one letter off (missing, doubled, wrong or swapped), if there is one.

    A digit or a final "s" makes another option (adam_beta1, eval_step), and no slip.
    """
    if len(name) < _SHORTEST:
        return None
    head, tail = name[:_END], name[-_END:]  # one slip leaves one of the ends as it is
    near = (one for one in known if (one[:_END] == head or one[-_END:] == tail) and one != name)
    candidates = (one for one in near if abs(len(one) - len(name)) <= 1 and len(one) >= _SHORTEST)
    return next((one for one in candidates if _one_slip(name, one)), None)


def _one_slip(name: str, known: str) -> bool:
    start = next((at for at, (a, b) in enumerate(zip(name, known, strict=False)) if a != b), min(len(name), len(known)))
    rest, wanted = name[start:], known[start:]
    if not (rest[:1] + wanted[:1]).isalpha() or "s" in (rest, wanted):
        return False
    swapped = rest[:2] == wanted[1::-1] and rest[2:] == wanted[2:]
    return swapped or rest[1:] == wanted or rest == wanted[1:] or rest[1:] == wanted[1:]
