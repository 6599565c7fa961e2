"""Labelled files of real runs: what their labels say is found at the place they say, healthy files are silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.knowledge.knowledge import Knowledge
from tests.samples.table import Sample, diagnose, found, load_samples, load_symptoms, onset_problem, said

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "samples"
SAMPLES = load_samples(FOLDER) if FOLDER.is_dir() else []
SYMPTOMS = load_symptoms()


@pytest.mark.skipif(not SAMPLES, reason="needs the folder of reference samples, ../shared, beside the checkout")
def test_there_are_labelled_files() -> None:
    assert len(SAMPLES) > 100


def test_every_code_names_findings_that_exist(knowledge: Knowledge) -> None:
    assert {name for names in SYMPTOMS.codes.values() for name in names} <= knowledge.findings.keys()


@pytest.mark.parametrize("sample", [s for s in SAMPLES if not s.codes], ids=lambda s: s.path)
def test_a_healthy_file_is_silent(diagnoser, sample: Sample) -> None:
    assert found(diagnose(diagnoser, FOLDER, sample, SYMPTOMS)) == set()


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.codes], ids=lambda s: s.path)
def test_what_the_label_says_is_found_where_it_says(diagnoser, sample: Sample) -> None:
    diagnosis = diagnose(diagnoser, FOLDER, sample, SYMPTOMS)
    present = said(diagnosis)
    missed = {code for code in sample.codes if present.isdisjoint(SYMPTOMS.codes.get(code, ()))}
    assert missed == set(SYMPTOMS.misses.get(sample.path, {})), f"found: {sorted(present)}"
    wrong = {
        code: problem
        for code, onset in SYMPTOMS.onsets.get(sample.path, {}).items()
        if (problem := onset_problem(diagnosis, onset))
    }
    assert not wrong
