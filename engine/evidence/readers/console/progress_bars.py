"""Metrics beside a progress bar: Keras, Lightning, and loops that hand their numbers to tqdm.

What Keras prints inside an epoch is the mean since its start: only the last drawing of an epoch is kept, and the
first that is not finite. The rate of a bar is a running mean too and is not read.
"""

from __future__ import annotations

import re

import numpy as np

from engine.evidence.readers.columns import Columns, Spans
from engine.evidence.readers.console.records import NUMBER, Dialect, Table, carried
from engine.evidence.series import Floats

_HEADER = re.compile(rb"^Epoch (\d+)/(\d+)\s*$")
_KERAS = re.compile(rb"^\s*(\d+)/(\d+) (?:\[[=>.\s]+\]|[\xe2\x94\x81\xb8\x80-\xbf]+|-)\s")
_KERAS_PAIR = re.compile(rb"- (\w[\w /]*?): (" + NUMBER + rb")(?=\s|$)")
_KERAS_TIME = re.compile(rb"(" + NUMBER + rb")(m?s)/step")
_TQDM = re.compile(
    rb"(?:[Ee]poch:? \[?(?P<epoch>\d+)(?:/(?P<epochs>\d+))?[^|%]{0,80})?\d{1,3}%\|[^|]*\|\s*"
    rb"(?P<step>\d+)/(?P<total>\d+) \[[^\],]*(?:,[^\],=]*?(?:it/s|s/it))?"
)
_TQDM_PAIR = re.compile(rb"([A-Za-z][\w/.-]*)=(" + NUMBER + rb")(?=[,\s\]]|$)")
_NO_METRICS = frozenset({b"v_num", b"version", b"rank"})


def _keras(row: bytes) -> Spans:
    header = _HEADER.match(row)
    if header is not None:
        return [("epoch", *header.span(1)), ("epochs", *header.span(2))]
    place = _KERAS.match(row)
    if place is None:
        return []
    pairs = [(pair[1].decode(), *pair.span(2)) for pair in _KERAS_PAIR.finditer(row, place.end() - 2)]
    time = _KERAS_TIME.search(row)
    if time is not None:
        pairs.append((f"step_time_{time[2].decode()}", *time.span(1)))
    return [("step", *place.span(1)), ("total", *place.span(2)), *pairs] if pairs else []


def _settle_keras(table: Table, steps: Floats) -> Columns:
    del steps
    epochs, done = carried(table.column("epoch")), table.column("step")
    rows = np.flatnonzero(~np.isnan(done))
    last = rows[np.concatenate([(np.diff(done[rows]) < 0) | (np.diff(epochs[rows]) > 0), [True]])]
    if len(last) < 2:  # an excerpt of one epoch: the drawings are all there is
        return table.columns
    index, loss = table.columns.get("loss", (last[:0], np.zeros(0)))
    kept = np.union1d(last, index[~np.isfinite(loss)][:1])
    return {
        name: (index[np.isin(index, kept)], values[np.isin(index, kept)])
        for name, (index, values) in table.columns.items()
    }


def _tqdm(row: bytes) -> Spans:
    if b"%|" not in row or b"=" not in row:
        return []
    bars = list(_TQDM.finditer(row))
    if not bars:
        return []
    bar = bars[-1]
    pairs = [
        (pair[1].decode(), *pair.span(2)) for pair in _TQDM_PAIR.finditer(row, bar.end()) if pair[1] not in _NO_METRICS
    ]
    place = [(name, *bar.span(name)) for name in ("epoch", "epochs", "step", "total") if bar[name] is not None]
    return [*place, *pairs] if pairs else []


KERAS = Dialect("keras", _keras, _settle_keras)
PROGRESS_BAR = Dialect("progress_bar", _tqdm)
