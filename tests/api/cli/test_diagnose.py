"""Which files are cases and which are evidence, and that evidence is not parsed to find out."""

import json
from pathlib import Path
from typing import Any

import pytest

from api.cli import diagnose

EVIDENCE = {
    "trainer_state.json": '{"log_history": [{"step": 1, "loss": 2.0}], "best_metric": null}',
    "spaced.json": ' \n{ "global_step" : 3, "report": "not a case, for it has another key"}',
    "config.yaml": "learning_rate: 1e-4\noptimizer: adamw\n",
    "quoted.yaml": '"learning-rate": 1e-4\nreport: 5\n',
}
CASES = {
    "case.json": '{"report": "the loss is NaN"}',
    "wrapped.json": '{"id": "inc-1", "title": "t", "case": {"report": "the loss is NaN"}, "truth": {}}',
    "case.yaml": "# written at night\nreport: the loss is NaN\n",
    "wrapped.yaml": "id: inc-1\ncase:\n  report: the loss is NaN\n",
    "flow.yaml": "{report: the loss is NaN}",
    "document.yaml": "---\nreport: the loss is NaN\n",
}


@pytest.mark.parametrize("name", EVIDENCE)
def test_evidence_is_told_by_its_first_key(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def parsed(_: str) -> Any:
        raise AssertionError("parsed, although its first key tells what it is")

    monkeypatch.setattr(diagnose, "parse_document", parsed)
    (tmp_path / name).write_text(EVIDENCE[name])
    case, files = diagnose.gather([tmp_path / name], None)
    assert case.is_empty
    assert [file.name for file in files] == [name]


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_found_however_it_begins(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(CASES[name])
    case, files = diagnose.gather([tmp_path / name], None)
    assert (case.report, files) == ("the loss is NaN", [])


def test_evidence_that_mentions_a_case_is_still_evidence(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"note": "a case of bad luck", "lr": 1}))
    case, files = diagnose.gather([tmp_path / "run.json"], None)
    assert (case.is_empty, len(files)) == (True, 1)
