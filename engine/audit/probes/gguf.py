"""GGUF files: whether the header's own statements fit its tensors and each other. Other groups read the same header
as tokenizer and chat template.

Source: what llama.cpp asks of a file when it loads one (vocabulary, tensors of each block), and the GGUF specification.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.audit.documents import shown
from engine.audit.gguf import TOKEN_TYPES, TOKENS, GgufHeader
from engine.audit.ledger import Place
from engine.audit.tokenizers.gguf import IDS, PREFIX, STOPS

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.ledger import Ledger
    from engine.audit.tensors import TensorInfo

_BLOCK = re.compile(r"^blk\.(\d{1,5})\.")
_SPLIT = re.compile(r"-\d{5}-of-\d{5}\.gguf$")
_ROWS = "token_embd.weight"
MAX_BLOCKS = 10_000


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what the header of the model's file shows; nothing of other kinds."""
    header = checkpoint.gguf_model
    if header is None:
        return
    ledger.fact("audit.tokenizer.by_pieces", header.fields.get(PREFIX + "model") == "gpt2")
    key = f"{PREFIX}pre"
    place = Place(header.path, key, shown(header.fields.get(key, "absent")), "a name", "format")
    ledger.fact("audit.tokenizer.splits_named", key in header.fields, [place])
    _lengths(header, ledger)
    _ids(header, ledger)
    if header.faults or header.newer:
        return
    _rows(checkpoint, header, ledger)
    _blocks(checkpoint, header, ledger)


def _lengths(header: GgufHeader, ledger: Ledger) -> None:
    """Arrays of the tokenizer that have one entry a token have as many."""
    count = header.lengths.get(TOKENS)
    if count is None:
        return
    arrays = (TOKEN_TYPES, f"{PREFIX}scores")
    places = [
        Place(header.path, key, f"{header.lengths[key]:,} entries", f"{count:,}, one a token", "format")
        for key in arrays
        if key in header.lengths and header.lengths[key] != count
    ]
    if header.fields.get(PREFIX + "model") == "gpt2" and f"{PREFIX}merges" not in header.lengths:
        places.append(Place(header.path, f"{PREFIX}merges", "absent", "the merges", "format"))
    if places:
        ledger.count("audit.tokenizer.unusable", places)


def _ids(header: GgufHeader, ledger: Ledger) -> None:
    count = header.lengths.get(TOKENS)
    fact = "audit.config.bad_special_ids"
    if count is None:
        ledger.unknown(fact, "The header lists no tokens.", "文件头没有列出 token。")
        return
    ledger.count(fact, _wrong_ids(header, count))


def _wrong_ids(header: GgufHeader, count: int) -> Iterator[Place]:
    for key in dict.fromkeys((*IDS.values(), *STOPS)):
        id_ = header.fields.get(PREFIX + key)
        # The largest number that fits stands for a token that there is not.
        if id_ is not None and (type(id_) is not int or not 0 <= id_ < count) and id_ != 0xFFFFFFFF:
            yield Place(header.path, PREFIX + key, shown(id_), f"an id below {count:,}", "format")


def _rows(checkpoint: Checkpoint, header: GgufHeader, ledger: Ledger) -> None:
    """The reader takes the number of rows from the tokens: more or fewer are refused."""
    fact, count = "audit.names.row_differences", header.lengths.get(TOKENS)
    tables = [t for t in _tensors(checkpoint, header).values() if t.name in (_ROWS, "output.weight")]
    if count is None or not tables:
        ledger.unknown(fact, "The header lists no tokens or no vectors for them.", "文件头没有列出 token 或其向量。")
        return
    ledger.count(
        fact,
        (Place(t.file, t.name, f"{t.shape[0]:,} rows", f"{count:,} tokens", "header")
         for t in tables if len(t.shape) == 2 and t.shape[0] != count),
    )  # fmt: skip


def _blocks(checkpoint: Checkpoint, header: GgufHeader, ledger: Ledger) -> None:
    """Blocks that are not there at all, and the tensors that every model has."""
    count = header.setting("block_count")
    stored = _tensors(checkpoint, header)
    blocks = {int(match[1]) for name in stored if (match := _BLOCK.match(name))}
    partial = ("A part of the split file is missing.", "分割文件缺少一部分。")
    if not _complete(checkpoint, header):
        ledger.unknown("audit.names.gaps", *partial)
        ledger.unknown("audit.names.missing", *partial)
        return
    if type(count) is int and 0 < count <= MAX_BLOCKS and blocks:
        absent = [number for number in range(count) if number not in blocks]
        listed = ", ".join(map(str, absent[:8]))
        place = Place(header.path, "blk.{i}", f"no {listed}", f"0 to {count - 1}", "header")
        ledger.count("audit.names.gaps", [place] if absent else ())
    else:
        ledger.unknown("audit.names.gaps", "The header states no block_count.", "文件头没有写 block_count。")
    missing = [] if _ROWS in stored else [Place(header.path, _ROWS, "not there", "the vectors of the tokens", "format")]
    ledger.count("audit.names.missing", missing)


def _tensors(checkpoint: Checkpoint, header: GgufHeader) -> dict[str, TensorInfo]:
    """The tensors of the file, and of the other parts if it is split."""
    stem = _SPLIT.sub("", header.path)
    parts = [h for h in checkpoint.gguf.values() if h is header or (_SPLIT.sub("", h.path) == stem != h.path)]
    return {tensor.name: tensor for part in parts for tensor in part.tensors}


def _complete(checkpoint: Checkpoint, header: GgufHeader) -> bool:
    count, stem = header.fields.get("split.count"), _SPLIT.sub("", header.path)
    there = [path for path, other in checkpoint.gguf.items() if _SPLIT.sub("", path) == stem and not other.faults]
    named = _SPLIT.search(header.path)
    total = int(header.path[-10:-5]) if named else 1
    return len(there) >= (count if type(count) is int and count > 0 else total)
