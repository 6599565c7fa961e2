"""Rows of the embedding and the head that belong to markers of the chat template: trained, or left as they were."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from engine.audit.folder import UnreadableError
from engine.audit.ledger import Ledger, Place
from engine.audit.template.reading import Reading, read_template
from engine.audit.tensors import TensorInfo
from engine.audit.tokenizers.files import tokenizer_files

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.audit.checkpoint import Checkpoint
    from engine.audit.folder import Folder

FACT = "audit.weights.untrained_rows"
_TABLES = re.compile(
    r"(^|\.)(embed_tokens|wte|word_embeddings|embed_in|tok_embeddings|shared|lm_head|embed_out|output)\.weight$"
)
_WIDTHS = {"BF16": 2, "F16": 2, "F32": 4}
# Reserved tokens lie at the end of a vocabulary, beside the markers; so many rows are looked at there and in between.
NEIGHBOURS, SAMPLED, MAX_MARKERS = 1024, 2048, 64
TINY_SHARE = 1e-3
MIN_TWINS = 2


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State how many rows of markers are tiny beside the others, or equal to at least two other rows."""
    reading = read_template(checkpoint)
    tables = [t for t in checkpoint.tensors.values() if len(t.shape) == 2 and _TABLES.search(t.name)]
    tables = [
        t for t in tables if t.dtype in _WIDTHS and t.shape[0] > MIN_TWINS and t.nbytes == t.numel * _WIDTHS[t.dtype]
    ]
    view = tokenizer_files(checkpoint).usable
    if not isinstance(reading, Reading) or view is None or not tables:
        ledger.unknown(
            FACT,
            "Needs a template that renders, tokenizer.json, and the embedding in a plain number format.",
            "需要可渲染的模板、tokenizer.json，以及普通数值格式的词嵌入。",
        )
        return
    markers = {text: view.added_ids[text] for text in view.added_in(reading.written())[:MAX_MARKERS]}
    places: list[Place] = []
    for table in tables:
        try:
            places += _untrained(checkpoint.folder, table, markers)
        except (UnreadableError, OSError, ValueError) as error:
            ledger.unknown(FACT, f"{table.name} cannot be read: {error}.", f"无法读取 {table.name}：{error}。")
            return
    ledger.count(FACT, places)


def _untrained(folder: Folder, table: TensorInfo, markers: dict[str, int]) -> list[Place]:
    count = table.shape[0]
    known = {text: id_ for text, id_ in markers.items() if id_ < count}
    wanted = set(known.values())
    for id_ in known.values():
        wanted |= set(range(max(0, id_ - NEIGHBOURS), min(count, id_ + NEIGHBOURS)))
    wanted |= set(range(0, count, max(1, count // SAMPLED)))
    rows = _rows(folder, table, sorted(wanted))
    norms = {id_: float(np.linalg.norm(_floats(row, table.dtype))) for id_, row in rows.items()}
    usual = sorted(norms.values())[len(norms) // 2]  # numpy would load its masked arrays for a median
    twins: dict[bytes, int] = {}
    for row in rows.values():
        twins[row] = twins.get(row, 0) + 1
    places = []
    for text, id_ in known.items():
        equal = twins[rows[id_]] - 1
        at = f"{table.name}[{id_}]"
        if norms[id_] < TINY_SHARE * usual:
            observed, expected = f"{text!r:.40}: length {norms[id_]:.3g}", f"about {usual:.3g}, as other rows"
            places.append(Place(table.file, at, observed, expected, "template"))
        elif equal >= MIN_TWINS:
            observed = f"{text!r:.40}: equal to {equal} other rows"
            places.append(Place(table.file, at, observed, "a row of its own", "template"))
    return places


def _rows(folder: Folder, table: TensorInfo, ids: list[int]) -> dict[int, bytes]:
    size = table.shape[1] * _WIDTHS[table.dtype]
    found = {}
    with folder.open(table.file) as stream:
        for id_ in ids:
            stream.seek(table.offset + id_ * size)
            row = stream.read(size)
            if len(row) != size:
                raise ValueError(f"it ends before row {id_}")
            found[id_] = row
    return found


def _floats(row: bytes, dtype: str) -> NDArray[np.float32]:
    if dtype == "BF16":
        return (np.frombuffer(row, "<u2").astype("<u4") << 16).view("<f4")
    return np.frombuffer(row, "<f2" if dtype == "F16" else "<f4").astype("<f4")
