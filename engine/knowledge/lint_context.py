"""What the lint rules look at, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from engine.knowledge.parameters import expand
from engine.model.conditions import AllOf, AnyOf, Condition, FactOperand, FactTest, FindingTest, NotOf

if TYPE_CHECKING:
    from engine.knowledge.problems import DataPath
    from engine.knowledge.sources import Placed, Sources
    from engine.model.kb import Cause, Fact, Finding, KnowledgeCase, Phrases, Reports

Severity = Literal["error", "warning"]


class Remark(NamedTuple):
    """What a rule says about the part of an object at ``path``."""

    placed: Placed[Any]
    path: DataPath
    message: str
    hint: str


@dataclass(frozen=True)
class Context:
    """All sources, their examples and what reporters wrote. ``cases`` is keyed by cause id; a healthy run has none.

    ``lock`` holds the ids that ever were, by kind, with their lines.
    """

    sources: Sources
    cases: dict[str, list[Placed[KnowledgeCase]]]
    healthy: list[Placed[KnowledgeCase]]
    reports: list[Placed[Reports]]
    lock: Placed[dict[tuple[str, str], int]] | None = None

    def causes(self) -> Iterator[Placed[Cause]]:
        """Every cause that is not retired."""
        return (placed for placed in self.sources.of("causes").values() if placed.value.status != "retired")

    def known(self, kind: str, id_: str) -> bool:
        """Whether there is such an object, or at least one that could not be read."""
        ids = self.findings if kind == "findings" else self.sources.objects[kind]
        return id_ in ids or id_.split("(")[0] in self.sources.broken

    def single(self, name: str) -> dict[str, Any] | None:
        """The content of ``families.yaml`` or ``lexicon.yaml``; None if it is there but could not be read."""
        if name in self.sources.broken:
            return None
        placed = self.sources.singles.get(name)
        return placed.value if placed is not None else {}

    @cached_property
    def facts(self) -> dict[str, Fact]:
        """Every fact by id."""
        return {id_: placed.value for id_, placed in self.sources.of("facts").items()}

    @cached_property
    def findings(self) -> dict[str, Finding]:
        """Every finding by id, parametrised ones expanded."""
        return {one.id: one for placed in self.sources.of("findings").values() for one in expand(placed.value)}

    @cached_property
    def conditions(self) -> list[tuple[Placed[Any], DataPath, Condition]]:
        """Every condition of the knowledge base and where it stands."""
        keys = {
            "findings": ("when",),
            "gates": ("applies", "passes", "milder.when"),
            "advice": ("when", "against"),
        }
        return [
            (placed, tuple(key.split(".")), condition)
            for kind, names in keys.items()
            for placed in self.sources.of(kind).values()
            for key in names
            if (condition := _below(placed.value, key)) is not None
        ]

    @cached_property
    def tests(self) -> list[tuple[Placed[Any], DataPath, FactTest | FindingTest]]:
        """Every single test of every condition and where it stands."""
        return [
            (placed, path + inner, leaf)
            for placed, path, condition in self.conditions
            for inner, leaf in placed_leaves(condition)
        ]

    def phrases(self) -> Iterator[tuple[Placed[Any], DataPath, Phrases]]:
        """Every group of phrases and where it stands."""
        for placed in self.sources.of("facts").values():
            if placed.value.phrases is not None:
                yield placed, ("phrases",), placed.value.phrases
        for placed in self.sources.of("findings").values():
            yield placed, ("phrases",), placed.value.phrases
            yield placed, ("denied_by",), placed.value.denied_by
            if placed.value.parameter is not None:
                for name, value in placed.value.parameter.values.items():
                    at: DataPath = ("parameter", "values", name)
                    yield placed, (*at, "phrases"), value.phrases
                    yield placed, (*at, "denied_by"), value.denied_by

    def all_cases(self) -> Iterator[Placed[KnowledgeCase]]:
        """Every example, those of causes first."""
        for owned in self.cases.values():
            yield from owned
        yield from self.healthy


Check = Callable[[Context], Iterator[Remark]]


@dataclass(frozen=True)
class Rule:
    """A stable code, how bad it is, and the function that finds it."""

    code: str
    severity: Severity
    check: Check


def _below(value: Any, key: str) -> Any:
    """An attribute, or with dots one of its own attributes; None where a part is None."""
    for name in key.split("."):
        value = getattr(value, name, None)
    return value


def placed_leaves(condition: Condition, path: DataPath = ()) -> Iterator[tuple[DataPath, FactTest | FindingTest]]:
    """Every test of a condition with its path below it."""
    match condition:
        case AllOf():
            for index, part in enumerate(condition.all):
                yield from placed_leaves(part, (*path, "all", index))
        case AnyOf():
            for index, part in enumerate(condition.any):
                yield from placed_leaves(part, (*path, "any", index))
        case NotOf():
            yield from placed_leaves(condition.not_, (*path, "not"))
        case _:
            yield path, condition


def facts_of(test: FactTest) -> tuple[str, ...]:
    """The fact a test reads, and the one it is compared with."""
    return (test.fact, test.operand.fact) if isinstance(test.operand, FactOperand) else (test.fact,)
