"""NCCL flight recorder dumps of PyTorch (one file a rank): what the rank launched last in each process group.

The pickle is read with no class or function allowed: a dump is made of plain values only. The JSON form has the same
keys. Each group becomes one line of text ("flight recorder of rank 3: group ..."), which ``engine.evidence.ranks``
holds against those of the other ranks.

Keys of ``pg_status`` are numbers in the order of creation and differ between ranks; names come from ``pg_config``. The
two are joined through ``entries``, and where those are empty by order (both are created together).
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Mapping
from typing import IO, Any

from engine.evidence.readers.lines import Limits
from engine.evidence.series import LogEvent, ReadNote, RunEnd, RunRecord
from engine.evidence.signatures.places import rank_of_file
from engine.model.evidence import Source

RUN = "flight recorder"
MOST_BYTES = 32 << 20  # 2,000 entries (the default buffer) with stacks are some 10 MB
_KEYS = (b"pg_config", b"collective_seq_id", b"profiling_name", b"pg_status")
_MOST_GROUPS = 512


class _PlainValues(pickle._Unpickler):  # noqa: SLF001 - the one in C allocates by memo index
    """Numbers, texts, lists and dicts. The one written in Python: there a memo index is a key, not a size."""

    def find_class(self, module: str, name: str) -> Any:
        """Refuse every class and function."""
        raise pickle.UnpicklingError(f"a dump holds plain values only, this one asks for {module}.{name}")


def recognises(head: bytes) -> bool:
    """A pickle or JSON object with the keys of a dump."""
    start = head.lstrip()[:1]
    return (head[:1] == b"\x80" or start == b"{") and sum(key in head for key in _KEYS) >= 2


def read(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """See ``Format``."""
    data = stream.read(min(MOST_BYTES, limits.json_bytes) + 1)
    if len(data) > min(MOST_BYTES, limits.json_bytes):
        return _record(label, (), f"is larger than {MOST_BYTES >> 20} MiB and was not read")
    try:
        dump = json.loads(data) if data.lstrip()[:1] == b"{" else _PlainValues(io.BytesIO(data)).load()
    except Exception as error:  # noqa: BLE001 - a damaged pickle raises nearly anything
        return _record(label, (), f"is no complete flight recorder dump: {type(error).__name__}: {str(error)[:120]}")
    if not isinstance(dump, Mapping):
        return _record(label, (), "is no flight recorder dump: it holds no keys")
    rank = rank_of_file(label)
    why = "" if rank is not None else "its name does not end in the rank (_dump_3), so it cannot be compared"
    lines = _lines(dump, "?" if rank is None else str(rank))
    events = tuple(LogEvent(at, text, rank) for at, text in enumerate(lines, 1))
    return _record(label, events, why if events else "has no process groups")


def _record(label: str, events: tuple[LogEvent, ...], why: str) -> RunRecord:
    end = RunEnd("unknown", Source("measured", label, "a dump of a process that hung or died"))
    note = ReadNote(label, "flight_recorder", 0, 0)
    return RunRecord(note, end, events=events, run=RUN, not_understood=(f"{label} {why}",) if why else ())


def _lines(dump: Mapping[Any, Any], rank: str) -> list[str]:
    config, status = _mapping(dump.get("pg_config")), _mapping(dump.get("pg_status"))
    entries = [entry for entry in _list(dump.get("entries")) if isinstance(entry, Mapping)]
    names = _names(config, status, entries)
    lines = []
    for key in sorted(status, key=_order)[:_MOST_GROUPS]:
        state, group = _mapping(status[key]), _mapping(config.get(names.get(str(key), "")))
        enqueued, completed = state.get("last_enqueued_collective"), state.get("last_completed_collective")
        ranks = _ranks(group.get("ranks"))
        if not isinstance(enqueued, int) or not isinstance(completed, int) or len(ranks) < 2:
            continue
        waits = [
            entry for entry in entries if str(entry.get("pg_id")) == str(key) and entry.get("state") != "completed"
        ]
        operation = str(waits[0].get("profiling_name", "")).removeprefix("nccl:") if waits else ""
        name = f"{group.get('name', key)} {group.get('desc', '')}".strip()
        lines.append(
            f"flight recorder of rank {rank}: group {name} of ranks {ranks}, enqueued {enqueued}, completed {completed}"
            + (f", waits in {operation.replace(' ', '_')}" if operation else "")
        )
    return lines


def _names(config: Mapping[Any, Any], status: Mapping[Any, Any], entries: list[Mapping[Any, Any]]) -> dict[str, str]:
    """Name of the group in ``pg_config`` by its number in ``pg_status``."""
    names: dict[str, str] = {}
    if len(config) == len(status):
        names = dict(zip(map(str, sorted(status, key=_order)), map(str, sorted(config, key=_order)), strict=True))
    for entry in entries:
        group = entry.get("process_group")
        if isinstance(group, tuple | list) and group:
            names[str(entry.get("pg_id"))] = str(group[0])
    return names


def _order(key: Any) -> tuple[bool, int, str]:
    text = str(key)
    return (not text.isdecimal(), int(text) if text.isdecimal() and len(text) < 19 else 0, text)


def _ranks(value: Any) -> list[int]:
    """The members: a list, or its text as the dump writes it."""
    if isinstance(value, str):
        parts: list[Any] = value.strip("[] ").split(",")
    else:
        parts = _list(value)
    return [int(part) for part in parts if str(part).strip().isdecimal() and len(str(part)) < 9]


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
