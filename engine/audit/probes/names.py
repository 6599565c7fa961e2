"""Group names: are the tensors the model needs there, with its shapes, and do embedding, config and tokenizer agree?"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.audit.architectures import Expectation
from engine.audit.architectures.names import (
    is_adapter_part,
    is_optional,
    is_quantiser_state,
    unwrapped,
    variants,
)
from engine.audit.documents import shown
from engine.audit.ledger import Place
from engine.audit.probes.expectation import expectation, incomplete, places, tied, vocabulary
from engine.audit.tensors import FLOAT_DTYPES, TensorInfo
from engine.audit.tokenizers.files import tokenizer_files
from engine.model.base import Text

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.ledger import Ledger

_NUMBER = re.compile(r"(?<![^.])(\d{1,6})\.")
_LISTED = ("missing", "gaps", "parameter_difference")
_COMPARED = ("unexpected", "wrong_shapes", "empty")
_ROWS = ("row_differences", "ids_out_of_range")


def probe(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """State what names and shapes show."""
    if not checkpoint.named:
        for name in ("wrapped_share", "adapter_parts", *_LISTED, *_COMPARED, *_ROWS):
            ledger.unknown(f"audit.names.{name}", "No tensor of the model can be listed.", "无法列出模型的任何张量。")
        return
    _wrappers(checkpoint, ledger)
    _unmerged(checkpoint, ledger)
    found = expectation(checkpoint)
    if isinstance(found, Text):
        for name in (*_LISTED[:2], *_COMPARED):
            ledger.unknown(
                f"audit.names.{name}",
                f"What tensors there must be is not known: {found.en}.",
                f"不知道应有哪些张量（{found.zh}）。",
            )
        _empty_anyway(checkpoint, ledger)
    else:
        ledger.fact("audit.names.expected_from", found.source)
        _compare(checkpoint, found, ledger)
    _rows(checkpoint, ledger)
    _token_ids(checkpoint, ledger)
    if reason := incomplete(checkpoint):
        ledger.unknown("audit.names.parameter_difference", *reason)
    else:
        _parameters(checkpoint, ledger)


def _wrappers(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """Share of the names that carry a wrapper, unless the base's own names look like that."""
    names = checkpoint.declared_tensors
    wrapped = [name for name in names if unwrapped(name) != name]
    own = checkpoint.base.declared_tensors if checkpoint.base and wrapped else {}
    if sum(name in own for name in wrapped) * 2 > len(wrapped):
        wrapped = []
    share = len(wrapped) / len(names)
    ledger.fact(
        "audit.names.wrapped_share",
        share,
        places(wrapped, lambda n: Place(names[n].file, shown(n), shown(n), shown(unwrapped(n)), "architecture")),
    )


def _unmerged(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """Matrices of an adapter inside the model; a base that has them, too, is made of them."""
    own = checkpoint.base.declared_tensors if checkpoint.base else {}
    names = checkpoint.declared_tensors
    parts = [name for name in names if is_adapter_part(name) and name not in own]
    ledger.count(
        "audit.names.adapter_parts",
        places(parts, lambda n: Place(names[n].file, shown(n), "a matrix of an adapter", "merged", "architecture")),
    )


def _empty_anyway(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """Weights without elements: no class has any, whatever else it needs."""
    empty = [
        tensor
        for name, tensor in checkpoint.named.items()
        if 0 in tensor.shape and name.endswith((".weight", ".bias")) and not is_quantiser_state(name)
    ]
    if empty:
        ledger.count("audit.names.empty", places(empty, _emptied))


def _emptied(tensor: TensorInfo) -> Place:
    return Place(tensor.file, shown(tensor.name), f"shape {_shape(tensor.shape)}", "no size of 0", "format")


def _compare(checkpoint: Checkpoint, expected: Expectation, ledger: Ledger) -> None:
    stored = {expected.bare(name): tensor for name, tensor in checkpoint.named.items()}
    if expected.embedding not in stored:
        copy = next((stored[name] for name in expected.copies if name in stored), None)
        stored |= {expected.embedding: copy} if copy else {}
    absent = [name for name in expected.shapes if name not in stored]
    respelt = {name: [other for other in variants(name) if other in stored] for name in absent}
    lacking = [name for name in absent if not respelt[name]]
    if expected.embedding in lacking and tied(checkpoint, expected) and expected.output in stored:
        lacking.remove(expected.embedding)
    _unexpected(expected, stored, {name for found in respelt.values() for name in found}, ledger)
    ledger.count("audit.names.wrong_shapes", _wrong_shapes(expected, stored))
    required = (tensor for name, tensor in stored.items() if name in expected.shapes or name == expected.output)
    ledger.count(
        "audit.names.empty",
        (
            Place(tensor.file, shown(tensor.name), f"shape {_shape(tensor.shape)}", "no size of 0", expected.source)
            for tensor in required
            if 0 in tensor.shape
        ),
    )
    file = next(iter(checkpoint.named.values())).file
    reason = incomplete(checkpoint)
    if reason is None and not expected.stacks:
        reason = ("How this architecture numbers its layers is not in the tables.", "该架构的层编号方式不在表中。")
    if reason:
        ledger.unknown("audit.names.gaps", *reason)
    else:
        ledger.count("audit.names.gaps", _gaps(expected, stored, file))
    if reason := incomplete(checkpoint):
        ledger.unknown("audit.names.missing", *reason)
        return

    def place(name: str) -> Place:
        return Place(file, expected.root + shown(name), "not there", _shape(expected.shapes[name]), expected.source)

    ledger.count("audit.names.missing", places(lacking, place))


def _unexpected(expected: Expectation, stored: Mapping[str, TensorInfo], respelt: set[str], ledger: Ledger) -> None:
    free = {*expected.shapes, *expected.outputs, *expected.copies, *respelt}
    found = [
        tensor
        for name, tensor in stored.items()
        if name not in free and not is_optional(name) and not is_quantiser_state(name)
    ]

    def place(tensor: TensorInfo) -> Place:
        observed = f"{tensor.dtype} {_shape(tensor.shape)}"
        return Place(tensor.file, shown(tensor.name), observed, "no such tensor", expected.source)

    ledger.count("audit.names.unexpected", places(found, place))


def _wrong_shapes(expected: Expectation, stored: Mapping[str, TensorInfo]) -> Iterator[Place]:
    """Shapes that differ. Rows of the vocabulary have a gate of their own, and packed weights another shape."""
    vectors = expected.shapes.get(expected.embedding)
    wanted = dict(expected.shapes)
    if expected.output is not None and vectors is not None:
        wanted[expected.output] = vectors
    for name, shape in wanted.items():
        tensor = stored.get(name)
        if tensor is None or tensor.shape == shape or 0 in tensor.shape or tensor.dtype not in FLOAT_DTYPES:
            continue
        rows = name in (expected.embedding, expected.output) or shape == (expected.vocab,)
        if not rows or tensor.shape[1:] != shape[1:]:
            yield Place(tensor.file, shown(tensor.name), _shape(tensor.shape), _shape(shape), expected.source)


def _gaps(expected: Expectation, stored: Mapping[str, TensorInfo], file: str) -> Iterator[Place]:
    """Layers and experts that are not there at all, and those beyond the number that the config states."""
    numbers: dict[str, set[int]] = defaultdict(set)
    for name in stored:
        for match in _NUMBER.finditer(name):
            if (prefix := name[: match.start()]) in expected.stacks:
                numbers[prefix].add(int(match[1]))
    for prefix, count in expected.stacks.items():
        there = numbers.get(prefix, set())
        # Experts may be stored as one tensor for all.
        if not there and prefix.endswith("experts."):
            continue
        absent = [number for number in range(count) if number not in there]
        beyond = sorted(number for number in there if number >= count)
        where, wanted = f"{expected.root}{prefix}{{i}}", f"0 to {count - 1}"
        if absent:
            yield Place(file, where, f"no {_few(absent)}", wanted, expected.source)
        if beyond:
            yield Place(file, where, f"also {_few(beyond)}", wanted, expected.source)


def _rows(checkpoint: Checkpoint, ledger: Ledger) -> None:
    fact, words = "audit.names.row_differences", vocabulary(checkpoint)
    if isinstance(words, Text):
        ledger.unknown(fact, f"{words.en}.", f"{words.zh}。")
        return
    size, matrices = words
    if not matrices:
        ledger.unknown(fact, "No matrix of token vectors was found.", "没有找到词向量矩阵。")
        return
    ledger.count(
        fact,
        (
            Place(t.file, shown(t.name), f"{t.shape[0]:,} rows", f"vocab_size {size:,}", "config")
            for t in matrices
            if t.shape[0] != size and 0 not in t.shape
        ),
    )


def _token_ids(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """Tokens whose id has no row. Those of the base are counted apart: its makers may never use them."""
    fact, words = "audit.names.ids_out_of_range", vocabulary(checkpoint)
    matrices = [] if isinstance(words, Text) else words[1]
    if not matrices:
        ledger.unknown(fact, "No matrix of token vectors was found.", "没有找到词向量矩阵。")
        return
    rows = min(tensor.shape[0] for tensor in matrices)
    tokens = _tokens(checkpoint)
    if not tokens:
        ledger.unknown(fact, "No tokenizer file lists ids.", "没有列出 id 的分词器文件。")
        return
    over = sorted(id_ for id_ in tokens if id_ >= rows)
    path = tokenizer_files(checkpoint).prefix + "tokenizer.json"
    ledger.count(
        fact, (Place(path, shown(tokens[id_]), f"id {id_:,}", f"below {rows:,} rows", "header") for id_ in over)
    )
    base = _tokens(checkpoint.base) if checkpoint.base and over else {}
    ledger.fact("audit.names.ids_out_of_range_as_in_base", bool(over) and all(id_ in base for id_ in over))


def _tokens(checkpoint: Checkpoint) -> dict[int, str]:
    files = tokenizer_files(checkpoint)
    listed = {id_: token.content for id_, token in files.decoder.items()}
    return listed | files.view.texts if files.view else listed


def _parameters(checkpoint: Checkpoint, ledger: Ledger) -> None:
    """Relative difference between a stated number of parameters and the tensors, tied ones counted once or twice."""
    fact = "audit.names.parameter_difference"
    metadata: Any = checkpoint.index.mapping.get("metadata") if checkpoint.index else None
    stated = metadata.get("total_parameters") if isinstance(metadata, dict) else None
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0 < stated < 1e15:
        ledger.unknown(fact, "No number of parameters is stated in the index.", "索引没有声明参数量。")
        return
    tensors = checkpoint.named.values()
    if not all(tensor.dtype in FLOAT_DTYPES for tensor in tensors):
        ledger.unknown(fact, "Packed weights cannot be counted as parameters.", "打包的权重无法按参数计数。")
        return
    once = {(tensor.storage or tensor.name): tensor.numel for tensor in tensors}
    count = sum(once.values())
    words = vocabulary(checkpoint)
    matrix = 0 if isinstance(words, Text) or not words[1] else words[1][0].numel
    nearest = min((count, count - matrix, count + matrix), key=lambda number: abs(number - stated))
    assert checkpoint.index is not None
    place = Place(checkpoint.index.path, "metadata.total_parameters", f"{stated:,.0f}", f"{count:,}", "header")
    ledger.fact(fact, abs(nearest - stated) / max(nearest, 1), [place])


def _shape(shape: tuple[int, ...]) -> str:
    return shown(list(shape))


def _few(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:8])) + (f" and {len(numbers) - 8} more" if len(numbers) > 8 else "")
