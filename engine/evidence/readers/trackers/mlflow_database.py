"""The SQLite store of MLflow (``mlflow.db``): tables runs, metrics and params.

A store holds many runs; the run that was started last among those with metrics is read, the others are named. The
database comes from somebody else: it is opened in memory, queries may take a bounded number of steps, and nothing in
its schema is trusted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from engine.evidence.readers.builder import SeriesBuilder, segments_of
from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes, chunks
from engine.evidence.readers.names import canonical
from engine.evidence.readers.tables.rows import MOST_COLUMNS, PACE, own_name, paced, times_of
from engine.evidence.readers.trackers.mlflow_files import end_of
from engine.evidence.series import ReadNote, RunEnd, RunRecord, Series, Times
from engine.model.evidence import Source

if TYPE_CHECKING:
    import sqlite3

MAGIC = b"SQLite format 3\0"
MOST_VALUES = 5_000_000
_STEPS_AT_ONCE, _MOST_TURNS = 1_000_000, 5_000  # of SQLite's virtual machine: some 10 s in all
_MOST_TEXT = 1 << 20
_RUNS = "SELECT run_uuid, name, status, start_time FROM runs ORDER BY start_time DESC LIMIT 10000"
_LOGGED = "SELECT DISTINCT run_uuid FROM metrics LIMIT 10000"
_PARAMS = "SELECT key, value FROM params WHERE run_uuid = ? LIMIT 2000"
_POINTS = "SELECT key, value, is_nan, step, timestamp FROM metrics WHERE run_uuid = ? ORDER BY key, step, timestamp"
_INFINITE = 1.7e308  # MLflow stores infinities as the largest double


def read_database(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the latest run with metrics; any other SQLite database is refused in words."""
    import sqlite3

    notes = Notes([])
    content = _content(stream, limits, notes)
    connection = sqlite3.connect(":memory:")
    try:
        if content:
            _open(connection, content)
            return _latest(connection, label, notes)
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeDecodeError) as error:
        notes.add(f"the database cannot be read as a store of MLflow ({error})")
    finally:
        connection.close()
    return _nothing(label, notes)


def _nothing(label: str, notes: Notes) -> RunRecord:
    end = RunEnd("unknown", Source("measured", label, "no run was read"))
    return RunRecord(ReadNote(label, "mlflow_database", 0, 0), end, not_understood=tuple(notes.texts))


def _content(stream: IO[bytes], limits: Limits, notes: Notes) -> bytes:
    content = bytearray()
    for piece in chunks(stream, limits, notes):
        content += piece
        if len(content) > limits.json_bytes:
            notes.add(f"the database is larger than {limits.json_bytes} bytes: not read; export the run instead")
            return b""
    if len(content) > 19:
        content[18:20] = b"\1\1"  # a database with a write-ahead log can be opened without it
    return bytes(content)


def _open(connection: sqlite3.Connection, content: bytes) -> None:
    import sqlite3

    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_TEXT)
    connection.deserialize(content)
    turns = 0

    def tired() -> bool:
        nonlocal turns
        turns += 1
        return turns > _MOST_TURNS

    connection.set_progress_handler(tired, _STEPS_AT_ONCE)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA query_only = ON")


def _latest(connection: sqlite3.Connection, label: str, notes: Notes) -> RunRecord:
    runs = connection.execute(_RUNS).fetchall()
    logged = {row[0] for row in connection.execute(_LOGGED)}
    if not runs:
        notes.add("the store holds no runs")
        return _nothing(label, notes)
    run, name, status, _ = next((row for row in runs if row[0] in logged), runs[0])
    shown = f"{name or 'unnamed'} ({str(run)[:32]})"
    if len(runs) > 1:
        notes.add(f"the store holds {len(runs)} runs: the latest with metrics was read, {shown}")
    where = f"{label}, run {shown}"
    series, count, times = _series(connection, run, label, notes)
    if not count:
        notes.add(f"run {shown} has status {status} and no metrics: nothing was logged")
    config = {str(key): value for key, value in connection.execute(_PARAMS, (run,)) if value not in {None, "None"}}
    pace = next((one for want in PACE for one in series if one.name == want), None)
    return RunRecord(
        read=ReadNote(label, "mlflow_database", count, 0),
        end=end_of(str(status), where),
        series=series,
        config=config,
        segments=segments_of(pace, [], []),
        run=f"mlflow:{label}",
        times=times,
        not_understood=tuple(notes.texts),
    )


def _series(
    connection: sqlite3.Connection, run: object, label: str, notes: Notes
) -> tuple[tuple[Series, ...], int, Times | None]:
    builder = SeriesBuilder(label)
    times: dict[str, np.typing.NDArray[np.float64]] = {}
    count = 0
    for key, points in _by_key(connection.execute(_POINTS, (run,))):
        if len(times) >= MOST_COLUMNS or count >= MOST_VALUES:
            notes.add(f"more than {MOST_COLUMNS} metrics or {MOST_VALUES} values: the rest was left out")
            break
        grid = np.array(points)
        order = np.argsort(grid[:, 2], kind="stable")  # by time: a resumed run writes a step twice
        grid = grid[order]
        builder.add(own_name(key), grid[:, 1].copy(), grid[:, 0].copy(), None)
        times[key] = grid[:, 2]
        count += len(grid)
    series, _ = builder.build()
    for key, walked in times.items():
        loss = next((one for one in series if one.name == "loss" and len(one) == len(walked)), None)
        if loss is not None and canonical(own_name(key)).name == "loss":
            return (*series, *paced(loss.steps, walked, label, notes.texts)), count, times_of(walked)
    return series, count, None


def _by_key(rows: Any) -> Iterator[tuple[str, list[tuple[float, float, float]]]]:
    """The points (value, step, time) of each metric; what is no number is left out."""
    current, points = None, list[tuple[float, float, float]]()
    for key, value, is_nan, step, time in rows:
        if key != current:
            if points:
                yield str(current), points
            current, points = key, []
        if all(isinstance(item, int | float) for item in (value, step, time)) and len(points) < MOST_VALUES:
            read = math.nan if is_nan else math.copysign(math.inf, value) if abs(value) > _INFINITE else float(value)
            points.append((read, float(step), float(time)))
    if points:
        yield str(current), points


def _recognises(head: bytes) -> bool:
    return head.startswith(MAGIC)  # the names of the tables may stand anywhere in the file


MLFLOW_DATABASE = Format("mlflow_database", _recognises, read_database)
