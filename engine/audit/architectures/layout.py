"""How a family of models is laid out: names of its tensors under their root, and shapes by the names of their sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.model.base import Text

MAX_SIZE = 1 << 31
MAX_LAYERS = 4096
# Tensor names without the root to their sizes, slowest first: "gate_proj.weight": "inner hidden".
Shapes = Mapping[str, str]


class UnknownLayoutError(Exception):
    """Names and shapes cannot be derived from the config; ``why`` says it for people, without a full stop."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.why = Text(en=en, zh=zh)


@dataclass(frozen=True)
class Stack:
    """Layers of one kind: ``layer(i)`` are the tensors of layer ``i`` without the prefix ``{prefix}{i}.``."""

    prefix: str
    count: int
    layer: Callable[[int], Shapes]


@dataclass(frozen=True)
class Layout:
    """One model without its task head.

    Args:
        sizes: what the names in the shapes stand for.
        embedding: name of the matrix of token vectors.
        fixed: tensors outside the stacks.
        experts: expert stacks of the layers: prefix and how many there are.
        copies: names under which other writers store the embedding once more.
    """

    sizes: Mapping[str, int]
    embedding: str
    fixed: Shapes
    stacks: tuple[Stack, ...]
    experts: Mapping[str, int] = field(default_factory=dict)
    copies: tuple[str, ...] = ()


@dataclass(frozen=True)
class Family:
    """A family by its ``model_type``.

    Args:
        classes: beginning of its class names.
        root: prefix of all tensors but the head's.
        build: the layout from the config; ``builds`` is another one by the end of the class name.
        heads: by the end of the class name, what the task head needs beside the layout; sizes as in the layout.
        outputs: by the end of the class name, the output matrix of the language model, which may be the embedding.
        tied: whether the library ties the two where the config does not say.
        offset_norms: the weights of the norms are stored less one.
    """

    classes: str
    root: str
    build: Callable[[Config], Layout]
    heads: Mapping[str, Shapes]
    outputs: Mapping[str, str]
    builds: Mapping[str, Callable[[Config], Layout]] = field(default_factory=dict)
    tied: bool = False
    offset_norms: bool = False


class Config:
    """The sizes and switches of a config.json, read without trusting it."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def size(self, *names: str, default: int | None = None, limit: int = MAX_SIZE) -> int:
        """The first of the names that is set.

        Raises:
            UnknownLayoutError: if none is set and there is no default, or the value is no size.
        """
        for name in names:
            value = self.values.get(name)
            if value is not None:
                if type(value) is not int or not 0 < value <= limit:
                    raise UnknownLayoutError(
                        f"config.json: {name} is no size between 1 and {limit:,}",
                        f"config.json 的 {name} 不是 1 到 {limit:,} 之间的整数",
                    )
                return value
        if default is None:
            raise UnknownLayoutError(f"config.json does not say {names[0]}", f"config.json 没有写 {names[0]}")
        return default

    def layers(self, *names: str, default: int | None = None) -> int:
        """A number of layers or experts."""
        return self.size(*names, default=default, limit=MAX_LAYERS)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.values.get(name)
        return value if isinstance(value, bool) else default

    def plain(self, *names: str) -> None:
        """Raises UnknownLayoutError if one of the switches is on, which changes the layout in ways not listed here."""
        for name in names:
            if self.values.get(name):
                raise UnknownLayoutError(f"the layout with {name} is not in the tables", f"表中没有启用 {name} 的结构")

    def labels(self) -> int:
        """Number of classes of a classification head."""
        named = self.values.get("id2label")
        return len(named) if isinstance(named, dict) and named else self.size("num_labels", default=2)
