"""Ids are for ever: ``ids.lock`` names every one that ever was. One that is gone must stand under ``retired/``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from engine.knowledge.files import KbFile
from engine.knowledge.parameters import expand
from engine.knowledge.problems import KbError, Place
from engine.knowledge.retired import LockedKind
from engine.knowledge.sources import Placed, read_sources, read_trees

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engine.knowledge.problems import DataPath
    from engine.knowledge.sources import Sources

LOCK = "ids.lock"
_HEAD = "# Every id that ever was, by kind. `traintriage kb lock` adds the new ones; no line is ever removed.\n"

Id = tuple[str, str]
"""Kind and id: two kinds may use one word."""


def defined(sources: Sources) -> dict[Id, tuple[Placed[Any], DataPath]]:
    """Every id that the knowledge base holds today, and where it stands."""
    return dict(_defined(sources))


def _defined(sources: Sources) -> Iterator[tuple[Id, tuple[Placed[Any], DataPath]]]:
    for kind in get_args(LockedKind):
        for id_, placed in sources.objects.get(kind, {}).items():
            names = [finding.id for finding in expand(placed.value)] if kind == "findings" else [id_]
            yield from (((kind, name), (placed, ("id",))) for name in names)
    families = sources.singles.get("families.yaml")
    if families is not None:
        for area, named in families.value.items():
            yield from ((("families", name), (families, (area, name))) for name in named)


def read_lock(root: Path) -> Placed[dict[Id, int]] | None:
    """The locked ids with their lines; None where there is no lock, as in an overlay."""
    path = root / LOCK
    if not path.is_file():
        return None
    content = path.read_bytes()
    lines = enumerate(content.decode("utf-8", "replace").splitlines(), 1)
    locked = {(words[0], words[1]): number for number, line in lines if len(words := line.split()) == 2}
    positions: dict[DataPath, Place] = {(number,): Place(number, 1) for number in locked.values()}
    return Placed(locked, KbFile(LOCK, path, content), None, positions, ())


def write_lock(root: Path) -> list[Id]:
    """Add the ids that are new to ``root/ids.lock``, sorted; returns them.

    Raises:
        KbError: if a file cannot be read, so that not every id is known.
    """
    sources = read_sources(read_trees(root, None))
    if sources.problems:
        raise KbError(sources.problems)
    lock = read_lock(root)
    before = set(lock.value) if lock is not None else set()
    now = before | defined(sources).keys()
    text = _HEAD + "".join(f"{kind} {id_}\n" for kind, id_ in sorted(now))
    (root / LOCK).write_text(text, encoding="utf-8")
    return sorted(now - before)
