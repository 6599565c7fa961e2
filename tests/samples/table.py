"""Real labelled files: what their labels say, and what the product finds in them.

Run as a program it prints the table by folder: ``python tests/samples/table.py FOLDER``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from engine.diagnose import Diagnoser, EvidenceFile
from engine.knowledge.load import load_knowledge
from engine.model.case import Case
from engine.model.diagnosis import Diagnosis

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
SYMPTOMS = Path(__file__).with_name("symptoms.yaml")


@dataclass(frozen=True)
class Sample:
    """A file with its label: ``codes`` are the manifest's names of what is wrong with it, none if it is healthy."""

    path: str
    codes: tuple[str, ...]

    @property
    def folder(self) -> str:
        return self.path.split("/")[0]


@dataclass(frozen=True)
class Symptoms:
    """``codes``: the findings that say so, by code; ``onsets``: by file and code, the fact and value that say where;

    ``misses``: by file and code, why it is not found; ``together``: other files of the same run, by file.
    """

    codes: dict[str, list[str]]
    onsets: dict[str, dict[str, dict[str, Any]]]
    misses: dict[str, dict[str, str]]
    together: dict[str, list[str]]


def load_symptoms() -> Symptoms:
    """The table beside this file."""
    return Symptoms(**yaml.load(SYMPTOMS.read_bytes(), Loader=LOADER))


def load_samples(folder: Path) -> list[Sample]:
    """Every labelled file that is evidence of a run; checkpoints are for the audit."""
    manifest = yaml.load((folder / "MANIFEST.yaml").read_bytes(), Loader=LOADER)
    return [
        Sample(entry["path"], tuple(symptom["code"] for symptom in entry.get("symptoms") or ()))
        for entry in manifest["files"]
        if not entry["path"].startswith("checkpoints/")
    ]


def diagnose(diagnoser: Diagnoser, folder: Path, sample: Sample, symptoms: Symptoms) -> Diagnosis:
    """The diagnosis of a file alone, or with the other files that its label speaks of."""
    paths = [sample.path, *symptoms.together.get(sample.path, ())]
    return diagnoser.diagnose(Case(), [EvidenceFile(path, path=folder / path) for path in paths])


def found(diagnosis: Diagnosis) -> set[str]:
    """Ids of what the diagnosis finds abnormal: none in a healthy file."""
    return {finding.id for finding in diagnosis.findings}


def said(diagnosis: Diagnosis) -> set[str]:
    """Ids of all that the diagnosis finds: a label may name a normal thing, such as the search of a loss scale."""
    return found(diagnosis) | {finding.id for finding in diagnosis.context}


def onset_problem(diagnosis: Diagnosis, onset: dict[str, Any]) -> str:
    """What is wrong with the place of a symptom; empty if it is right."""
    fact = next((fact for fact in diagnosis.facts if fact.id == onset["fact"]), None)
    if fact is None:
        return f"{onset['fact']} is not known"
    if isinstance(onset["value"], bool | str):
        return "" if fact.value == onset["value"] else f"{fact.id} is {fact.value!r}, not {onset['value']!r}"
    assert isinstance(fact.value, int | float)
    away = abs(float(fact.value) - onset["value"])
    return "" if away <= onset.get("within", 0) else f"{fact.id} is {fact.value:g}, not {onset['value']:g}"


def table(folder: Path) -> Iterator[str]:
    """Lines of the table, one a folder, then one a miss and one a false alarm."""
    symptoms = load_symptoms()
    diagnoser = Diagnoser(load_knowledge(), keep=True)
    rows: dict[str, list[int]] = {}
    notes: list[str] = []
    for sample in load_samples(folder):
        row = rows.setdefault(sample.folder, [0, 0, 0, 0])
        diagnosis = diagnose(diagnoser, folder, sample, symptoms)
        present = found(diagnosis)
        if not sample.codes:
            row[2] += 1
            row[3] += bool(present)
            notes += [f"  alarm on {sample.path}: {', '.join(sorted(present))}"] if present else []
        for code in sample.codes:
            row[0] += 1
            if said(diagnosis).isdisjoint(symptoms.codes.get(code, ())):
                why = symptoms.misses.get(sample.path, {}).get(code, "unexplained")
                notes.append(
                    f"  miss in {sample.path}: {code} ({why}); found: {', '.join(sorted(present)) or 'nothing'}"
                )
            else:
                row[1] += 1
    diagnoser.close()
    yield "| folder | symptoms | found | healthy files | with an alarm |"
    yield "|---|--:|--:|--:|--:|"
    rows["all"] = [sum(column) for column in zip(*rows.values(), strict=True)]
    for name, row in rows.items():
        yield f"| {name} | {row[0]} | {row[1]} | {row[2]} | {row[3]} |"
    yield from notes


if __name__ == "__main__":
    print("\n".join(table(Path(sys.argv[1]))))
