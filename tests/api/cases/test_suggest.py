"""Resolved cases become case files that the other tools of the knowledge base read."""

import json
from pathlib import Path

import pytest
import yaml
from starlette.testclient import TestClient

from api.app import create_app
from api.cases.suggest import Suggestion, drift
from api.cli import main
from api.settings import Settings
from engine.evaluate.score import load_incidents
from tests.api.cases.conftest import OVERFLOW, REPORT
from tests.api.conftest import a_client


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with a case resolved as ranked, one resolved by a cause nobody ranked, one unknown, and one open."""
    url = f"sqlite:///{tmp_path_factory.mktemp('store')}/store.db"
    with a_client(create_app(Settings(store_url=url))) as service:
        first = opened(service, REPORT)
        service.post(f"{first}/answers", json={"findings": {"activation.beyond-fp16": "present"}})
        service.post(f"{first}/evidence", files=[("files", ("a.log", b"step 1 | loss nan\n"))])
        service.post(f"{first}/resolution", json={"cause": OVERFLOW, "remedy": "bf16"})
        service.post(f"{opened(service, REPORT)}/resolution", json={"cause": "optimization/lr-too-high"})
        service.post(f"{opened(service, REPORT)}/resolution", json={"other": "a [loose] cable"})
        opened(service, REPORT)
    return url


def opened(service: TestClient, case: object) -> str:
    return str(service.post("/v1/cases", json=case).headers["location"])


def run(*args: str, status: int = 0) -> None:
    with pytest.raises(SystemExit) as end:
        main(["kb", "suggest", *args])
    assert end.value.code == status


def test_the_files_can_be_scored(store: str, tmp_path: Path) -> None:
    run("--store", store, "--output", str(tmp_path))
    incidents = load_incidents(tmp_path / "incidents")
    assert sorted(incident.family for incident in incidents) == ["fp16_range", "lr_too_high"]
    answered = next(incident for incident in incidents if incident.family == "fp16_range")
    assert answered.case.facts == {"activation.beyond-fp16": True}
    assert answered.case.files == {"a.log": "step 1 | loss nan\n"}
    (unknown,) = (tmp_path / "unknown").iterdir()
    assert yaml.safe_load(unknown.read_text())["truth"]["cause"] == "a [loose] cable"


def test_examples_stand_under_the_name_of_their_cause(store: str, tmp_path: Path) -> None:
    run("--store", store, "--output", str(tmp_path))
    (example,) = yaml.safe_load((tmp_path / "examples" / f"{OVERFLOW}.cases.yaml").read_text())
    assert example["kind"] == "fires"
    assert example["expect"] == {"rank": 1}


def test_places_then_and_now(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    run("--store", store, "--json")
    document = json.loads(capsys.readouterr().out)
    places = {case["cause"]: (case["then"], case["now"], case["right"]) for case in document["cases"]}
    assert places[OVERFLOW] == (1, 1, True)
    assert places["optimization/lr-too-high"][2] is False
    assert places[None] == (0, 0, False)
    assert document["drift"]["count"] == 3
    assert document["drift"]["right"] == pytest.approx(1 / 3)


def test_the_table_shows_what_strangers_wrote_as_it_is(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    run("--store", store)
    assert "not in the" in capsys.readouterr().out


def test_a_store_without_resolved_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    run("--store", url, status=2)
    assert "there is no store" in capsys.readouterr().err
    with a_client(create_app(Settings(store_url=url))):
        pass  # it makes the store
    run("--store", url, status=4)
    assert "no resolved case" in capsys.readouterr().err


def test_drift_is_what_was_told_against_what_came_true() -> None:
    def told(probability: float, right: bool) -> Suggestion:
        return Suggestion("x", "x", "a/b", {}, 1, 1, probability, right, ())

    found = drift([told(0.9, True), told(0.9, False), told(0.0, False)])
    assert found is not None
    assert (found.count, found.told, found.right) == (2, pytest.approx(0.9), 0.5)
    assert found.ece == pytest.approx(0.4)
    assert found.brier == pytest.approx((0.01 + 0.81) / 2)
    assert drift([]) is None
