"""The knowledge base as it stands in its files: each object with the file and the lines it came from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from engine.knowledge.files import KINDS, KbFile, Kind, digest_of, read_files
from engine.knowledge.knowledge import ConceptName, Family, FamilyName, KbInfo, Knowledge
from engine.knowledge.parameters import expand
from engine.knowledge.problems import DataPath, Place, Problem, place_of
from engine.knowledge.validate import build
from engine.model.calibration import Calibration
from engine.model.kb import Concept, Finding

if TYPE_CHECKING:
    from pathlib import Path

T_co = TypeVar("T_co", covariant=True)

NO_VERSION = "0.0.0"
_ID_LINE = re.compile(rb"^[- ]*id: *[\"']?([^\s\"'#]+)", re.MULTILINE)


@dataclass(frozen=True)
class Placed(Generic[T_co]):
    """An object and where it stands: ``data`` is what was written below ``at``, keys in order."""

    value: T_co
    file: KbFile
    data: Any
    positions: Mapping[DataPath, Place]
    at: DataPath

    def place(self, *path: str | int) -> Place:
        """The place of a part of the object, or of the nearest thing above it."""
        return place_of(self.positions, self.at + path)


@dataclass
class Sources:
    """Everything that could be read, by kind name and id, and every problem met on the way."""

    digest: str
    objects: dict[str, dict[str, Placed[Any]]]
    singles: dict[str, Placed[Any]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    """Ids that stand in the files but whose objects could not be read: references to them are not wrong."""

    def of(self, kind: str) -> dict[str, Placed[Any]]:
        """The objects of one kind, sorted by id."""
        return dict(sorted(self.objects[kind].items()))

    def knowledge(self) -> Knowledge:
        """The knowledge base without its places, parametrised findings expanded."""
        parts: dict[str, Any] = {
            kind.name: {id_: placed.value for id_, placed in self.of(kind.name).items()} for kind in KINDS
        }
        findings: list[Finding] = [one for finding in parts["findings"].values() for one in expand(finding)]
        parts["findings"] = {one.id: one for one in sorted(findings, key=lambda one: one.id)}
        single = {name: placed.value for name, placed in self.singles.items()}
        info = single.get("kb.yaml")
        areas: dict[str, dict[str, str]] = single.get("families.yaml", {})
        families = {
            name: Family(area=area, meaning=meaning) for area, named in areas.items() for name, meaning in named.items()
        }
        return Knowledge.model_construct(
            version=info.version if info else NO_VERSION,
            digest=self.digest,
            calibration=single["calibration.yaml"],
            families=dict(sorted(families.items())),
            lexicon=dict(sorted(single.get("lexicon.yaml", {}).items())),
            **parts,
        )


_SINGLE_MODELS: dict[str, Any] = {
    "kb.yaml": KbInfo,
    "families.yaml": dict[str, dict[FamilyName, str]],
    "lexicon.yaml": dict[ConceptName, Concept],
    "calibration.yaml": Calibration,
}


def read_sources(trees: list[list[KbFile]]) -> Sources:
    """Parse and check the files of the base and of an overlay, whose objects replace those of the base."""
    sources = Sources(digest_of(trees), {kind.name: {} for kind in KINDS})
    for tree in trees:
        layer: dict[str, dict[str, Placed[Any]]] = {kind.name: {} for kind in KINDS}
        for file in tree:
            _read_file(file, layer, sources)
        for name, objects in layer.items():
            sources.objects[name].update(objects)
    return sources


def require_calibration(sources: Sources, root: Path) -> None:
    """Note a problem if no file holds the numbers behind the words."""
    if "calibration.yaml" not in sources.singles and not sources.problems:
        hint = "Copy it from the installed knowledge base and change what you must"
        sources.problems.append(Problem(str(root / "calibration.yaml"), 1, 1, "the file is missing", hint))


def read_trees(root: Path, overlay: Path | None) -> list[list[KbFile]]:
    """The files of the base and of the overlay, if there is one."""
    return [read_files(folder) for folder in (root, overlay) if folder is not None]


def _read_file(file: KbFile, layer: dict[str, dict[str, Placed[Any]]], sources: Sources) -> None:
    kind = next((kind for kind in KINDS if file.is_of(kind)), None)
    model = _SINGLE_MODELS.get(file.relative)
    if kind is not None:
        read = read_objects(file, kind, sources.problems)
        for placed in read:
            _add(placed, kind, layer[kind.name], sources.problems)
        sources.broken |= _written_ids(file) - {getattr(placed.value, kind.key) for placed in read}
    elif model is not None:
        found = read_objects(file, Kind(file.relative, model, file.relative, many=False), sources.problems)
        if not found:
            sources.broken.add(file.relative)
        for placed in found:
            before = sources.singles.get(file.relative)
            sources.singles[file.relative] = placed if before is None else _merged(before, placed)
    elif not file.is_placed:
        hint = f"Known places: {', '.join(kind.pattern for kind in KINDS)}"
        sources.problems.append(Problem(str(file.path), 1, 1, "no part of the knowledge base reads this file", hint))


def _written_ids(file: KbFile) -> set[str]:
    """Whatever the file seems to call an id, even if it is no valid YAML."""
    return {found.decode("utf-8", "replace") for found in _ID_LINE.findall(file.content)}


def _merged(before: Placed[Any], after: Placed[Any]) -> Placed[Any]:
    """Mappings of an overlay add to the base, other documents replace it."""
    if not isinstance(after.value, dict):
        return after
    value = dict(before.value)
    for key, entry in after.value.items():
        both = isinstance(entry, dict) and key in value
        value[key] = {**value[key], **entry} if both else entry
    return Placed(value, after.file, after.data, after.positions, after.at)


def read_objects(file: KbFile, kind: Kind, problems: list[Problem]) -> list[Placed[Any]]:
    """The objects of one file; what is wrong with it is appended to ``problems``."""
    from engine.knowledge.strict_yaml import parse  # not needed where the knowledge is cached, and slow to load

    document = parse(file.content, str(file.path))
    problems.extend(document.problems)
    if not document.complete:
        return []
    data, positions = document.data, document.positions
    if kind.many and not isinstance(data, list):
        place = place_of(positions, ())
        reason, hint = f"a file of {kind.name} is a list", "Start each entry with '- '"
        problems.append(Problem(str(file.path), place.line, place.column, reason, hint))
        return []
    entries: list[tuple[DataPath, Any]] = [((n,), entry) for n, entry in enumerate(data)] if kind.many else [((), data)]
    noted = {problem.line for problem in document.problems}
    placed = []
    for at, entry in entries:
        value, wrong = build(kind.model, entry, str(file.path), positions, at)
        # A word that YAML refused has its own message; the model's complaint about it would be an echo.
        problems.extend(problem for problem in wrong if problem.line not in noted)
        if value is not None:
            placed.append(Placed(value, file, entry, positions, at))
    return placed


def _add(placed: Placed[Any], kind: Kind, objects: dict[str, Placed[Any]], problems: list[Problem]) -> None:
    id_ = getattr(placed.value, kind.key)
    first = objects.get(id_)
    if first is None:
        objects[id_] = placed
        return
    place = placed.place(kind.key)
    reason = f"the id '{id_}' stands twice, first in {first.file.relative}:{first.place(kind.key).line}"
    problems.append(Problem(str(placed.file.path), place.line, place.column, reason, "Give one of them another id"))
