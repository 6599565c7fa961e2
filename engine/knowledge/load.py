"""From the folder of the knowledge base to :class:`Knowledge`, and to the examples beside the causes."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from engine.knowledge import cache
from engine.knowledge.files import CAUSE_CASES, HEALTHY_CASES, REPORTS, default_root, digest_of, read_files, stamp_of
from engine.knowledge.problems import KbError, Problem
from engine.knowledge.sources import read_objects, read_sources, require_calibration
from engine.model.case import Case

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from engine.knowledge.files import KbFile
    from engine.knowledge.knowledge import Knowledge
    from engine.knowledge.sources import Sources
    from engine.model.kb import KnowledgeCase


@dataclass(frozen=True)
class OwnedCase:
    """An example and where it stands; ``cause_id`` is the cause beside it, None for a healthy run."""

    cause_id: str | None
    file: Path
    line: int
    case: KnowledgeCase


def load_knowledge(root: Path | None = None, overlay: Path | None = None, use_cache: bool = True) -> Knowledge:
    """Load the knowledge base below ``root`` (default: the installed one) and a site's ``overlay`` on top.

    Raises:
        KbError: with every problem of every file.
        OSError: if a folder or file cannot be read.
    """
    folders = [existing(folder) for folder in (root, *([overlay] if overlay else []))]
    stamp = stamp_of(folders) if use_cache else None
    if stamp is not None and (known := cache.read_entry("stamp", stamp)) and (cached := cache.read(known.decode())):
        return cached
    trees = [read_files(folder) for folder in folders]
    digest = digest_of(trees)
    if stamp is not None:
        cache.write_entry("stamp", stamp, digest.encode())
    if use_cache and (cached := cache.read(digest)) is not None:
        return cached
    sources = read_sources(trees)
    require_calibration(sources, folders[0])
    problems = sources.problems or _dangling(sources)
    if problems:
        raise KbError(problems)
    knowledge = sources.knowledge().model_copy(update={"examples": _examples(trees), "reports": _reports(trees)})
    if use_cache:
        cache.write(knowledge)
    return knowledge


def _dangling(sources: Sources) -> list[Problem]:
    """References to what does not exist; the rules are loaded only where no knowledge is kept from an earlier time."""
    from engine.knowledge.lint_references import dangling

    return dangling(sources)


def _examples(trees: Iterable[list[KbFile]]) -> dict[str, tuple[str, ...]]:
    """What the reporters of the examples that fire wrote, by cause. Examples that cannot be read are left to lint."""
    told: dict[str, list[str]] = {}
    for file in (file for tree in trees for file in tree if file.is_of(CAUSE_CASES)):
        cause = file.relative.removeprefix("causes/").removesuffix(".cases.yaml")
        for placed in read_objects(file, CAUSE_CASES, []):
            if placed.value.kind == "fires":
                with contextlib.suppress(ValidationError):
                    told.setdefault(cause, []).append(Case.model_validate(placed.value.case).words)
    return {cause: tuple(texts) for cause, texts in sorted(told.items())}


def _reports(trees: Iterable[list[KbFile]]) -> dict[str, tuple[str, ...]]:
    """The reports of ``reports/``, by cause. Those that cannot be read are left to lint."""
    found: dict[str, list[str]] = {}
    for file in (file for tree in trees for file in tree if file.is_of(REPORTS)):
        for placed in read_objects(file, REPORTS, []):
            found.setdefault(placed.value.cause, []).extend(placed.value.said)
    return {cause: tuple(texts) for cause, texts in sorted(found.items())}


def load_cases(root: Path | None = None) -> list[OwnedCase]:
    """Every example: those beside the causes and the healthy runs, in the order of their files.

    Raises:
        KbError: with every problem of every file of examples.
    """
    problems: list[Problem] = []
    cases: list[OwnedCase] = []
    for file in read_files(existing(root)):
        for kind in (CAUSE_CASES, HEALTHY_CASES):
            if not file.is_of(kind):
                continue
            slug = file.relative.removeprefix("causes/").removesuffix(".cases.yaml")
            owner = slug if kind is CAUSE_CASES else None
            cases.extend(
                OwnedCase(owner, file.path, placed.place().line, placed.value)
                for placed in read_objects(file, kind, problems)
            )
    if problems:
        raise KbError(problems)
    return cases


def existing(root: Path | None) -> Path:
    """``root`` or the installed knowledge base, which must be a folder.

    Raises:
        KbError: if it is none.
    """
    folder = root or default_root()
    if not folder.is_dir():
        raise KbError(
            [
                Problem(
                    str(folder),
                    1,
                    1,
                    "there is no such folder",
                    "Give the folder that holds facts/, causes/, …",
                )
            ]
        )
    return folder
