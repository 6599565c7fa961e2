"""What tensors a checkpoint must have: derived from its config for the families in the tables, else from its base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.audit.architectures.families import FAMILIES
from engine.audit.architectures.layout import Config, Family, Layout, Shapes, UnknownLayoutError
from engine.audit.documents import shown

__all__ = ["Expectation", "UnknownLayoutError", "expect", "family_of"]

MAX_TENSORS = 500_000


@dataclass(frozen=True)
class Expectation:
    """What tensors there must be. Names are without the root, which some writers leave out.

    Args:
        shapes: every required tensor but the output matrix.
        embedding: name of the matrix of token vectors.
        output: of the output matrix, None for a class without one; ``outputs`` are its names in the whole family.
        vocab: rows of both.
        tied: whether the library ties the two where the config does not say.
        stacks: prefixes that a number follows, and how many layers or experts there are of each.
        copies: other names of the embedding.
        offset_norms: the weights of the norms are stored less one.
        source: where the names come from.
    """

    family: str
    root: str
    shapes: Mapping[str, tuple[int, ...]]
    embedding: str
    output: str | None
    outputs: frozenset[str]
    vocab: int
    tied: bool
    stacks: Mapping[str, int] = field(default_factory=dict)
    copies: tuple[str, ...] = ()
    offset_norms: bool = False
    source: Literal["architecture", "base"] = "architecture"

    def bare(self, name: str) -> str:
        """A stored name without the root."""
        return name.removeprefix(self.root)


def family_of(config: Mapping[str, Any]) -> Family | None:
    """The family by its ``model_type``; None if it is not in the tables."""
    name = config.get("model_type")
    return FAMILIES.get(name) if isinstance(name, str) else None


def expect(config: Mapping[str, Any], architecture: str | None) -> Expectation:
    """What a checkpoint with this config must hold.

    Args:
        architecture: class name, the first of ``architectures``.

    Raises:
        UnknownLayoutError: if the class is not in the tables, or the config does not say enough.
    """
    family = family_of(config)
    if family is None:
        name = shown(architecture or config.get("model_type"))
        raise UnknownLayoutError(f"the architecture {name} is not in the tables", f"表中没有架构 {name}")
    kind = (architecture or "").removeprefix(family.classes)
    if architecture is None or not architecture.startswith(family.classes) or kind not in family.heads:
        name = shown(architecture)
        raise UnknownLayoutError(f"the class {name} is not in the tables", f"表中没有模型类 {name}")
    layout = family.builds.get(kind, family.build)(Config(config))
    stacks = {stack.prefix: stack.count for stack in layout.stacks} | dict(layout.experts)
    return Expectation(
        family=str(config["model_type"]),
        root=family.root,
        shapes=_shapes(layout, family.heads[kind]),
        embedding=layout.embedding,
        output=family.outputs.get(kind),
        outputs=frozenset(family.outputs.values()),
        vocab=layout.sizes["vocab"],
        tied=family.tied,
        stacks=stacks,
        copies=layout.copies,
        offset_norms=family.offset_norms,
    )


def _shapes(layout: Layout, head: Shapes) -> dict[str, tuple[int, ...]]:
    def resolved(sizes: str) -> tuple[int, ...]:
        return tuple(layout.sizes[size] for size in sizes.split())

    found = {name: resolved(sizes) for name, sizes in (*layout.fixed.items(), *head.items())}
    for stack in layout.stacks:
        for number in range(stack.count):
            for name, sizes in stack.layer(number).items():
                found[f"{stack.prefix}{number}.{name}"] = resolved(sizes)
            if len(found) > MAX_TENSORS:
                limit = f"{MAX_TENSORS:,}"
                raise UnknownLayoutError(
                    f"config.json asks for more than {limit} tensors", f"config.json 要求的张量超过 {limit} 个"
                )
    return found
