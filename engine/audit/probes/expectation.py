"""What several probes ask of a checkpoint's tensors: the expected ones, the rows of the vocabulary, and the tie."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, TypeVar

from engine.audit.architectures import Expectation, family_of
from engine.audit.architectures.names import is_optional, is_quantiser_state
from engine.audit.documents import shown
from engine.audit.ledger import MAX_PLACES, Place
from engine.audit.tensors import FLOAT_DTYPES
from engine.model.base import Text

if TYPE_CHECKING:
    from engine.audit.checkpoint import Checkpoint
    from engine.audit.tensors import TensorInfo

EMBEDDINGS = (
    "embed_tokens.weight", "wte.weight", "word_embeddings.weight", "embed_in.weight", "shared.weight",
    "tok_embeddings.weight", "token_embd.weight",
)  # fmt: skip
OUTPUTS = ("lm_head.weight", "embed_out.weight", "output.weight", "lm_head.decoder.weight")
_T = TypeVar("_T")
_LAYER = re.compile(r"^((?:[A-Za-z_]\w*\.){1,4})(\d{1,4})\.")


def places(items: Sequence[_T], make: Callable[[_T], Place]) -> Iterable[Place]:
    """The place of each item. Of a million only the first are made, as only they are kept; the last stands for more."""
    made = [make(item) for item in items[:MAX_PLACES]]
    return chain(made, repeat(made[-1], len(items) - len(made))) if made else ()


def expectation(checkpoint: Checkpoint) -> Expectation | Text:
    """The tensors there must be: by the tables, else as in the base; or why that is not known."""
    expected, base = checkpoint.layout, checkpoint.base
    if isinstance(expected, Expectation):
        return expected
    if base is None or not base.named:
        return _also(expected, "there is no base with weights", "也没有带权重的基座")
    if base.architecture != checkpoint.architecture:
        name = shown(base.architecture)
        return _also(expected, f"the base is of another class, {name}", f"基座是另一个类 {name}")
    if any(is_quantiser_state(name) for name in base.named):
        return _also(expected, "the base is quantised", "基座已量化")
    vocab = text_config(checkpoint).get("vocab_size")
    output = next((name for name in base.named if name.endswith(OUTPUTS)), None)
    shapes = {n: t.shape for n, t in base.named.items() if n != output and not is_optional(n)}
    return Expectation(
        family="",
        root="",
        shapes=shapes,
        embedding=next((name for name in shapes if name.endswith(EMBEDDINGS)), ""),
        output=output,
        outputs=frozenset({output} if output else ()),
        vocab=vocab if type(vocab) is int else 0,
        tied=output is None,
        stacks=_stacks(shapes),
        source="base",
    )


def _also(reason: Text, en: str, zh: str) -> Text:
    return Text(en=f"{reason.en}, and {en}", zh=f"{reason.zh}，{zh}")


def _stacks(base: Iterable[str]) -> dict[str, int]:
    """How many layers the base has under each prefix, where they are numbered without a gap."""
    numbers: dict[str, set[int]] = {}
    for name in base:
        if match := _LAYER.match(name):
            numbers.setdefault(match[1], set()).add(int(match[2]))
    return {prefix: len(found) for prefix, found in numbers.items() if found == set(range(len(found)))}


def incomplete(checkpoint: Checkpoint) -> tuple[str, str] | None:
    """Why tensors may be missing that the release has, in both languages; None if every file could be read."""
    if checkpoint.folder.truncated:
        return "The folder has more files than are looked at.", "目录中的文件超过检查上限。"
    for path in checkpoint.weight_files:
        if not checkpoint.headers[path].listed:
            return f"The header of {path} cannot be read.", f"无法读取 {path} 的文件头。"
    for name in dict.fromkeys(checkpoint.weight_map.values()):
        if name not in checkpoint.folder:
            return f"{name}, which the index names, is not there.", f"索引列出的 {name} 不存在。"
    return None


def text_config(checkpoint: Checkpoint) -> dict[str, Any]:
    """The part of config.json that describes the language model."""
    config = checkpoint.config.mapping if checkpoint.config else {}
    nested = config.get("text_config")
    return nested if isinstance(nested, dict) and "vocab_size" not in config else config


def vocabulary(checkpoint: Checkpoint) -> tuple[int, list[TensorInfo]] | Text:
    """``vocab_size`` and the matrices with one row a token, packed ones left out; or why it is not known."""
    size = text_config(checkpoint).get("vocab_size")
    if type(size) is not int or size < 1:
        return Text(en="config.json does not state vocab_size", zh="config.json 没有写 vocab_size")
    expected = checkpoint.layout
    if isinstance(expected, Expectation):
        names: tuple[str, ...] = tuple(filter(None, (expected.embedding, expected.output)))
        found = [t for name, t in checkpoint.named.items() if expected.bare(name) in names]
    else:
        found = [t for name, t in checkpoint.named.items() if name.endswith((*EMBEDDINGS, *OUTPUTS))]
    return size, [t for t in found if len(t.shape) == 2 and t.dtype in FLOAT_DTYPES]


def tied(checkpoint: Checkpoint, expected: Expectation | None = None) -> bool | None:
    """Whether head and embedding are one matrix: by the config, else by the library's default; None if unknown."""
    value = text_config(checkpoint).get("tie_word_embeddings")
    if isinstance(value, bool):
        return value
    if expected is not None and expected.source == "architecture":
        return expected.tied
    family = family_of(checkpoint.config.mapping) if checkpoint.config else None
    return family.tied if family else None
