"""KB7xx: ids, which others have written down: none disappears, and none comes back with another meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.knowledge.ids import LOCK, defined
from engine.knowledge.lint_context import Context, Remark, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator


def none_disappears(context: Context) -> Iterator[Remark]:
    """KB701: a locked id is defined, or retired."""
    if context.lock is None:
        return
    there = defined(context.sources).keys() | _retired(context)
    for kind, id_ in sorted(context.lock.value.keys() - there):
        if id_.split("(")[0] not in context.sources.broken:
            message = f"'{id_}' of {kind} is gone"
            hint = (
                f"Bring it back, or add {{id: {id_}, kind: {kind}, since: …, because: …, instead: […]}} to "
                f"retired/{kind}.yaml: what others have written down must stay explained"
            )
            yield Remark(context.lock, (context.lock.value[kind, id_],), message, hint)


def none_is_reused(context: Context) -> Iterator[Remark]:
    """KB702: a retired id is not defined again."""
    retired = _retired(context)
    for name, (placed, path) in defined(context.sources).items():
        if name in retired:
            message = f"'{name[1]}' was retired and means something else to those who wrote it down"
            yield Remark(placed, path, message, "Give the new one another id")


def all_are_locked(context: Context) -> Iterator[Remark]:
    """KB703: an id of the base stands in its lock."""
    if context.lock is None:
        return
    root = context.lock.file.path.parent
    for name, (placed, path) in defined(context.sources).items():
        if name not in context.lock.value and placed.file.path.is_relative_to(root):
            yield Remark(
                placed, path, f"'{name[1]}' is not in {LOCK}", "Run 'traintriage kb lock' when its name is final"
            )


def successors_exist(context: Context) -> Iterator[Remark]:
    """KB704: what stands in the place of a retired id exists."""
    there = defined(context.sources)
    for placed in context.sources.of("retired").values():
        for index, name in enumerate(placed.value.instead):
            if all(id_ != name for _, id_ in there):
                message = f"'{name}' does not exist"
                yield Remark(placed, ("instead", index), message, "Name what took its place, or leave 'instead' out")


def _retired(context: Context) -> set[tuple[str, str]]:
    return {(placed.value.kind, id_) for id_, placed in context.sources.of("retired").items()}


RULES = (
    Rule("KB701", "error", none_disappears),
    Rule("KB702", "error", none_is_reused),
    Rule("KB703", "warning", all_are_locked),
    Rule("KB704", "error", successors_exist),
)
