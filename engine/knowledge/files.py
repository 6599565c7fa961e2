"""Which files a knowledge base has, what each holds, and the digest of all of them."""

from __future__ import annotations

import hashlib
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kb
from engine.knowledge.advice import Advice
from engine.knowledge.problems import KbError, Problem
from engine.knowledge.retired import Retired
from engine.model.kb import Cause, Check, Fact, Finding, Gate, KnowledgeCase, Pipeline, Policy, Reports, Signature

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Kind:
    """One kind of knowledge file: a list of objects (``many``) or one; ``key`` names an object among its kind."""

    name: str
    model: type[Any]
    pattern: str
    many: bool
    key: str = "id"


KINDS = (
    Kind("facts", Fact, "facts/*.yaml", many=True),
    Kind("findings", Finding, "findings/*.yaml", many=True),
    Kind("causes", Cause, "causes/*/*.yaml", many=False),
    Kind("checks", Check, "checks/*.yaml", many=True),
    Kind("gates", Gate, "gates/*/*.yaml", many=False),
    Kind("policies", Policy, "policies/*.yaml", many=False),
    Kind("signatures", Signature, "signatures/*.yaml", many=True),
    Kind("pipelines", Pipeline, "pipeline/*.yaml", many=False, key="paradigm"),
    Kind("advice", Advice, "advice/*.yaml", many=True),
    Kind("retired", Retired, "retired/*.yaml", many=True),
)
CAUSE_CASES = Kind("cases", KnowledgeCase, "causes/*/*.cases.yaml", many=True)
REPORTS = Kind("reports", Reports, "reports/*.yaml", many=True, key="cause")
HEALTHY_CASES = Kind("healthy", KnowledgeCase, "healthy/*.yaml", many=True)
SINGLE_FILES = ("kb.yaml", "families.yaml", "lexicon.yaml", "calibration.yaml")
_SETTLED_NS = 2_000_000_000  # the coarsest clock of a file system in use (FAT)


@dataclass(frozen=True)
class KbFile:
    """One YAML file. ``relative`` counts from the root of its tree, with slashes."""

    relative: str
    path: Path
    content: bytes

    def is_of(self, kind: Kind) -> bool:
        """Whether the file belongs to ``kind``; files of examples end in ``.cases.yaml``."""
        return re.fullmatch(
            re.escape(kind.pattern).replace(r"\*", "[^/]+"), self.relative
        ) is not None and self.relative.endswith(".cases.yaml") == kind.pattern.endswith(".cases.yaml")

    @property
    def is_placed(self) -> bool:
        """Whether any kind claims the file; one in the wrong folder would be ignored in silence."""
        return self.relative in SINGLE_FILES or any(
            self.is_of(kind) for kind in (*KINDS, CAUSE_CASES, REPORTS, HEALTHY_CASES)
        )


def default_root() -> Path:
    """The folder of the knowledge base that is installed with the program."""
    return Path(next(iter(kb.__path__)))


def read_files(root: Path) -> list[KbFile]:
    """Every YAML file below ``root``, sorted by relative path; links are not followed.

    Raises:
        KbError: if one is a pipe, a device or a link that leads nowhere, which could not be read or would never end.
        OSError: if a file cannot be read.
    """
    found = []
    for relative, path in _listed(root):
        if not os.path.isfile(path):  # noqa: PTH113
            why = Problem(path, 1, 1, "this is no regular file", "Remove it, or put the file itself here")
            raise KbError([why])
        with open(path, "rb") as stream:  # noqa: PTH123
            found.append(KbFile(relative, Path(path), stream.read()))
    return found


def _listed(root: Path) -> list[tuple[str, str]]:
    """Relative path and path of every YAML file below ``root``, sorted."""
    found = []
    prefix = os.path.join(root, "")  # noqa: PTH118
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith((".", "__"))]
        for name in names:
            if name.endswith((".yaml", ".yml")) and not name.startswith("."):
                path = os.path.join(folder, name)  # noqa: PTH118 - hundreds of files: pathlib would take twice the time
                found.append((path[len(prefix) :].replace(os.sep, "/"), path))
    return sorted(found)


def stamp_of(roots: Iterable[Path]) -> str | None:
    """What changes whenever a file of these trees does, without reading them: a digest of their sizes and times.

    None where it might not: a file changed a moment ago could change once more within the same tick of the clock.
    """
    total = hashlib.sha256()
    newest = 0
    for root in roots:
        total.update(b"tree\0")
        for relative, path in _listed(root):
            try:
                status = os.stat(path)  # noqa: PTH116
            except OSError:
                return None
            newest = max(newest, status.st_mtime_ns, status.st_ctime_ns)
            # A build may set times of change as it likes; that of the inode is the system's own.
            stamp = (relative, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)
            total.update(repr(stamp).encode())
    return total.hexdigest() if time.time_ns() - newest > _SETTLED_NS else None


def digest_of(trees: Iterable[list[KbFile]]) -> str:
    """SHA-256 over the relative path and the bytes of every file, tree by tree (base first, then overlay)."""
    total = hashlib.sha256()
    for tree in trees:
        total.update(b"tree\0")
        for file in tree:
            total.update(f"{file.relative}\0{len(file.content)}\0".encode())
            total.update(file.content)
    return total.hexdigest()
