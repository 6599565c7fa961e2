"""What was pasted into a report: log lines, tables and stacks among the words of the person who wrote it.

Log lines read as sentences say wrong things ("num zeros: 0.0" is no gradient of zero), and as a log much more. A line
counts as pasted by its form alone, so a dated sentence ("2026-03-01 we changed the rate") stays with the words. The
dialogue cuts its messages by the same forms (:mod:`engine.dialogue.pasted`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.evidence.inputs import EvidenceFile

NAME = "report"
LOG, TABLE = "log", "table"
_LONGEST = 2_000
_GAP = 5
"""Lines of no known form that may stand between two of a log."""
_QUOTED = 2
"""Pasted lines up to which they are a quotation."""
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)"
_NUMBER = r"[-+]?(?>\d[\d,]{0,20}\.?\d{0,20}(?:[eE][-+]?\d+)?|\.\d+|nan|NaN|inf)"
_STAMP = (
    r"(?:\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d|\d\d:\d\d:\d\d|(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
    r"|\d{4}/\d\d/\d\d|\[\s*\d+\.\d+\])\S*"
)
_LINE = re.compile(
    "|".join(
        [
            # loggers: a stamp with a level, a place or an origin behind it; a stamp in brackets; a level alone
            rf".{{0,40}}?{_STAMP}[\s\])|,:-]{{1,20}}(?:.*\b{_LEVEL}\b|\[|[IWEF] \S|\S+:\d+|\S+ \w+(?:\[\d+\])?: |{{)",
            r"\[\d{4}[-/]\d\d[-/]\d\d[^\]]{0,20}\] ",
            rf"[\[(]?{_LEVEL}(?:\]|\)|\s*\||:\w[\w.]*:| \d)|[IWEF]\d{{3,4}} \d\d:\d\d:\d\d",
            # launchers, NCCL, the kernel, abort messages, commands
            r"(?:\d+: )?\[(?:rank|default)\d+\]:|\(\w+ pid=\d+\)|(?:srun|slurmstepd|torchrun): \w+",
            r"\S+:\d+:\d+ \[\d+\] NCCL |.*NVRM: |\*\*\* \w|[+$] \S.* -{1,2}\w",
            # metric records, progress bars, rows of statistics
            r"\s*\{['\"][\w/ .@-]+['\"]\s*:|\s*\d+%\||(?:.*\s)?\d{1,9}/\d{1,9} \[\d\d:\d\d|\[\w+=\d+/\d+\]",
            r"\s?iteration\s+\d+/\s*\d+ \||Epoch:? \d+/\d+$|Detected inf/nan ",
            rf"\s{{0,20}}{_NUMBER}\s{{1,20}}{_NUMBER}\s{{1,20}}\w\S*(?: \S+)?$",
            # nvidia-smi -q and nvlink, exporters, py-spy
            r"\s{0,20}[A-Za-z][\w ./()-]{0,60}\s{2,60}: \S|\s*Link \d+: |[a-zA-Z_]\w*\{.*\} \S+$|# (?:HELP|TYPE) \w",
            r"Process \d+: |Thread \S+ \((?:active|idle)",
        ]
    )
)
_MESSAGE = re.compile(
    r"\s*(?:[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Warning)\b(?:: |$)|terminate called |Fatal Python error"
    r"|panic: |Exception in thread |Caused by: |Segmentation fault|Killed$|Bus error|Aborted)"
)
_STACK = re.compile(
    r"\s*(?:Traceback \(most recent call last\)|File \".+\", line \d+|\s{1,20}at [\w.$]+\(|goroutine \d+ \[)"
)
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:: |$)")
_BEGINS_STACK = "Traceback (most recent call last)"
_POSITION = re.compile(
    r"\s*\W?(?:step|iter(?:ation)?|epoch|update)s?\b\W{0,12}\d+(?:\s*/\s*\d+)?[\s:,|;\])-]*", re.IGNORECASE
)
_MEASURED = re.compile(r"loss|norm|reward|ppl|perplexity|\bkl\b", re.IGNORECASE)
_PAIR = re.compile(rf"(?:[^:=]{{1,50}}[:=]\s*|[\w/. ]*[A-Za-z_]\s+){_NUMBER}(?:\s*/\s*\d+|\s?[A-Za-z%/]{{0,12}})")
_NAMED = re.compile(rf"(?:[A-Za-z_][\w/.]*[\s:=]+{_NUMBER}[\w%/()]{{0,12}}+(?:[,;|\s]+|$))+")
_BETWEEN_CELLS = re.compile(r"[|,;]| - ")
_PRECISE = re.compile(r"\d\.\d{3}")
_BOX = re.compile(r"\s*[+|].*[+|]\s*")
_RULE = re.compile(r"[\s|:+=-]+")
_CELL = re.compile(rf"\s*{_NUMBER}\s*(?:%|\w{{1,3}}|\[\w+\])?\s*")
_SENTENCE = re.compile(r"(?:[A-Za-z',-]+ ){2,}[A-Za-z',-]+|[A-Za-z',.!?; -]+$|.*[\u4e00-\u9fff]{2}")
FENCE = re.compile(r"\s*(?:```|~~~)")
_OBJECTS = ("{}", "[]")


def cut(report: str) -> tuple[str, list[EvidenceFile]]:
    """The writer's own words, and what was pasted as files named after the report: all lines of logs are one.

    A line or two that are all there is stay with the words as well: no signature knows every message.
    """
    lines = report.splitlines()
    kinds = kinds_of(lines)
    if not any(kinds):
        return report, []
    blocks = list(_blocks(lines, kinds))
    inside = {n for first, last in blocks for n in range(first, last)}
    quoted = inside if len(inside) <= _QUOTED else ()
    words = [line for n, line in enumerate(lines) if (n not in inside or n in quoted) and not FENCE.match(line)]
    log = [line for first, last in blocks if kinds[first] != TABLE for line in lines[first:last]]
    texts = [log] if log else []
    texts += [as_rows(lines[first:last]) for first, last in blocks if kinds[first] == TABLE]
    files = [
        EvidenceFile(f"{NAME} {number}" if number > 1 else NAME, data="\n".join(text).encode("utf-8", "replace"))
        for number, text in enumerate(texts, 1)
    ]
    return "\n".join(words), files


def kinds_of(lines: Sequence[str]) -> list[str]:
    """What each line is part of by its form: ``LOG``, ``TABLE`` (a JSON document counts as one), or nothing: words."""
    tables = _tables(lines)
    kinds = [TABLE if n in tables else LOG if one else "" for n, one in enumerate(_logged(lines))]
    return [TABLE] * len(lines) if "" in kinds and _is_document(lines) else kinds


def _is_document(lines: Sequence[str]) -> bool:
    """JSON: an object or a list from the first character to the last."""
    text = "\n".join(lines).strip()
    return len(text) > 2 and text[0] + text[-1] in _OBJECTS and '"' in text


def _logged(lines: Sequence[str]) -> list[bool]:
    """Which lines are of a log or a stack; a traceback is so up to its exception."""
    logged = [looks_logged(line) for line in lines]
    in_stack = False
    for n, line in enumerate(lines):
        if in_stack and line[:1] not in (" ", "\t"):
            logged[n] = logged[n] or _EXCEPTION.match(line) is not None
            in_stack = False
        in_stack = in_stack or (logged[n] and _BEGINS_STACK in line)
    return logged


def looks_logged(line: str) -> bool:
    """Whether a line by itself is one of a log, a stack or a record of metrics."""
    line = line[:_LONGEST]
    if _LINE.match(line) or _MESSAGE.match(line) or _STACK.match(line):
        return True
    return _MEASURED.search(line) is not None and _is_record(line)


def _is_record(line: str) -> bool:
    """Names and numbers and little else: behind a step, or with more digits than a person writes."""
    position = _POSITION.match(line)
    text = line[position.end() :] if position is not None else line
    if position is not None and _NAMED.fullmatch(text.strip()):
        return True
    cells = [cell for part in _BETWEEN_CELLS.split(text) if (cell := part.strip())]
    pairs = sum(_PAIR.fullmatch(cell) is not None for cell in cells)
    return pairs >= 2 and pairs >= 0.8 * len(cells) and (position is not None or _PRECISE.search(text) is not None)


def _tables(lines: Sequence[str]) -> set[int]:
    """The lines of tables and of JSON documents."""
    found: set[int] = set()
    for n in range(len(lines) - 1):
        if _same_table(lines[n][:_LONGEST], lines[n + 1][:_LONGEST]):
            found |= {n, n + 1}
    opened = None
    for n, line in enumerate(lines):
        if opened is None and line.strip() in ("{", "[", "[{"):
            opened = n
        elif opened is not None and line[:1] in ("}", "]"):
            found |= set(range(opened, n + 1))
            opened = None
    return found


def _same_table(line: str, after: str) -> bool:
    """Two rows of a table: boxes, or as many cells in both, of which the first row names and the second fills most."""
    if _BOX.fullmatch(line) and _BOX.fullmatch(after):
        return True
    for separator in ("\t", ",", ";"):
        cells, names = after.split(separator), line.split(separator)
        if 1 < len(cells) == len(names):
            numbers = [_CELL.fullmatch(cell) is not None for cell in cells]
            named = [_CELL.fullmatch(cell) is not None for cell in names]
            most = len(cells) > 2 and 2 * sum(numbers) >= len(cells)
            short = all(one or len(cell.split()) <= 2 for one, cell in zip(numbers, cells, strict=True))
            return all(numbers) or (most and short and (not any(named) or (named == numbers and named[0])))
    return False


def _blocks(lines: Sequence[str], kinds: Sequence[str]) -> Iterator[tuple[int, int]]:
    """From the first line of each block to behind its last; a fence with a pasted line in it is a block as a whole."""
    n = 0
    while n < len(lines):
        if FENCE.match(lines[n]):
            end = next((at for at in range(n + 1, len(lines)) if FENCE.match(lines[at])), len(lines))
            if any(kinds[n + 1 : end]):
                yield n + 1, end
            n = end + 1
        elif kinds[n]:
            end = at = n + 1
            while at < len(lines) and (
                kinds[at] == kinds[n] or (at - end < _GAP and not kinds[at] and _between(lines[at]))
            ):
                at += 1
                if kinds[at - 1] or all(line.strip() for line in lines[end:at]):
                    end = at
            yield n, end
            n = end
        else:
            n += 1


def _between(line: str) -> bool:
    """Whether a line may be of the log around it: it is blank, indented, cut short or no sentence."""
    return line[:1] in ("", " ", "\t") or not (_SENTENCE.match(line[:_LONGEST]) or FENCE.match(line))


def as_rows(lines: list[str]) -> list[str]:
    """A table as chats draw it, with bars around its cells and no frame, as comma-separated rows; else as it is."""
    if not all(_BOX.fullmatch(line) and "|" in line for line in lines):
        return lines
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if not _RULE.fullmatch(line)
    ]
    return [",".join(cells) for cells in rows]
