"""The last resort: home-made lines of names and numbers with a step, such as ``step 120 | loss 2.31 | lr 3e-4``.

A line is read if nothing but names, numbers and punctuation stands in it beside a short head (time, level, logger)
and it names a known metric; with other words in between it must name two and a step. Sentences are not read.
A line of values alone belongs to the step or epoch that stood in a line before it, as ``Epoch: 6/30`` does.
"""

from __future__ import annotations

import re

from engine.evidence.readers.columns import Spans
from engine.evidence.readers.console.epochs import epoch_spans, epoch_times
from engine.evidence.readers.console.records import NUMBER, Dialect
from engine.evidence.readers.names import canonical

# blanks are bounded: several open runs of them in a row take cubic time on a line of blanks
_STEP = re.compile(
    rb"(?:(?<![\w./])(?:global[_ ]?step|num_updates|train_iter|steps?|iters?|iterations?|it|batch|updates?)"
    rb"\s{0,6}[:=#]?\s{0,6}[\[(]?\s{0,6}(?P<step>\d+)(?:\s{0,6}(?:/|of)\s{0,6}(?P<total>\d+))?(?![\d.]*\d|\w)"
    rb"|\[\s{0,6}(?P<step2>\d+)\s{0,6}/\s{0,6}(?P<total2>\d+)(?=[\s\]]))",
    re.IGNORECASE,
)
_EPOCH = re.compile(
    rb"(?<![\w./])epochs?\s{0,6}[:=#]?\s{0,6}[\[(]?\s{0,6}(?P<epoch>\d+(?:\.\d+)?)"
    rb"(?:\s{0,6}(?:/|of)\s{0,6}(?P<epochs>\d+))?(?![\d.]*\d|\w)",
    re.IGNORECASE,
)
_PAIR = re.compile(
    rb"(?<![\w./])([A-Za-z][\w/.@-]{0,40}(?:[ ][A-Za-z][\w/.-]{0,20}){0,2}(?: ?[(\[][A-Za-z/%]{1,8}[)\]])?)"
    rb"\s{0,6}(?:[:=]\s{0,6}|\s)[\[(]?(" + NUMBER + rb")(?![\d:]|\.\d)(?:\s?(ms|s|sec|GiB|MiB|GB|MB|it/s|%)(?![\w/]))?"
)
_HEAD = re.compile(
    rb"\[[^\]]*\]|\([^)]*\)|[\w.]*\d[\w.:,]*|\w+(?:\.\w+)+|\b(?:INFO|DEBUG|WARNING|ERROR|root|train\w*)\b"
)
_WORD = re.compile(rb"[A-Za-z]{2,}|[\x80-\xff]{2,}")
_FILL = re.compile(rb"tok(?:ens)?/s(?:ec)?|samples/s(?:ec)?|it/s|[sm]s\b|sec\b|[GM]i?B\b|nan\b")
_NO_METRICS = frozenset({
    "rank", "local_rank", "pid", "gpu", "node", "worker", "seed", "eta", "line", "port", "world_size", "epoch", "step",
    "version", "v", "iter", "batch", "of", "at", "global_step",
})  # fmt: skip
_HEAD_WORDS = 3


def _spans(row: bytes) -> Spans:
    place, taken = _position(row)
    pairs: Spans = []
    if not any(name == "step" for name, *_ in place):
        pairs, covered = epoch_spans(row)
        taken += covered
    known = len(pairs)
    for pair in _PAIR.finditer(row):
        name = pair[1].decode("utf-8", "replace").strip().lower()
        if any(start < pair.end() and pair.start() < end for start, end in taken) or name in _NO_METRICS:
            continue
        unit = (pair[3] or b"").decode()
        metric = canonical(name, unit or None)
        known += metric.known and metric.name != "epoch"
        pairs.append((f"{name} ({unit})" if unit and metric.known else name, *pair.span(2)))
        taken.append(pair.span())
    if not taken or (pairs and not known):
        return []
    head, words = _other_words(row, sorted(taken))
    whole = words == 0 and head <= (_HEAD_WORDS if place else 0)
    return [*place, *pairs] if whole or (known >= 2 and len(place) and words <= 2 and head <= _HEAD_WORDS) else []


def _position(row: bytes) -> tuple[Spans, list[tuple[int, int]]]:
    place: Spans = []
    taken: list[tuple[int, int]] = []
    epoch = _EPOCH.search(row)
    steps = [
        one for one in _STEP.finditer(row) if epoch is None or one.start() >= epoch.end() or one.end() <= epoch.start()
    ]
    for match in (epoch, min(steps, key=_preference, default=None)):
        if match is not None:
            named = ((name, match.span(name)) for name in match.re.groupindex if match[name] is not None)
            place += [(name.rstrip("2"), *span) for name, span in named]
            taken.append(match.span())
    return place, taken


def _preference(match: re.Match[bytes]) -> int:
    """A step of the whole run counts before a batch of the epoch."""
    text = match[0].lower()
    return 0 if text.startswith((b"global", b"num_updates")) else 1


def _other_words(row: bytes, taken: list[tuple[int, int]]) -> tuple[int, int]:
    """Return the count of words in front of the first name, and of those between and behind."""
    ends = [0, *(end for _, end in taken)]
    starts = [*(start for start, _ in taken), len(row)]
    gaps = [row[end:start] for end, start in zip(ends, starts, strict=True)]
    head = len(_WORD.findall(_HEAD.sub(b" ", gaps[0])))
    return head, sum(len(_WORD.findall(_FILL.sub(b" ", gap))) for gap in gaps[1:])


KEY_VALUES = Dialect("key_values", _spans, epoch_times, last_resort=True)
