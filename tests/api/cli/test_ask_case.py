"""The dialogue about a kept case: what is said on the terminal is there for every other face."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from starlette.testclient import TestClient

from api.app import create_app
from api.cli import Problem, ask
from api.settings import Settings
from tests.api.conftest import a_client

REPORT = "fp16 run, the loss became NaN at step 4120"
Run = Callable[..., Result]


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def run(store: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("TRAINTRIAGE_STORE_URL", store)

    def invoke(*arguments: str, said: str = "") -> Result:
        return CliRunner().invoke(ask.command, arguments, input=said, standalone_mode=False)

    return invoke


def kept(store: str) -> list[dict[str, Any]]:
    """The cases as the service tells them, with their timelines."""

    def told(service: TestClient, case_id: str) -> dict[str, Any]:
        case = service.get(f"/v1/cases/{case_id}").json()
        return {**case, "moments": service.get(f"/v1/cases/{case_id}/timeline").json()["moments"]}

    with a_client(create_app(Settings(store_url=store, log_level="error"))) as service:
        return [told(service, item["id"]) for item in service.get("/v1/cases").json()["items"]]


def test_a_dialogue_goes_on_where_it_was_left(run: Run, store: str, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step 1 | loss 2.0\nstep 2 | loss nan\n")
    assert run("--case", "new", "-r", REPORT, said="yes\nbye\n").exit_code == 0
    (case,) = kept(store)
    assert [moment["kind"] for moment in case["moments"]] == ["opened", "message"]
    lead = case["diagnosis"]["causes"][0]["id"]
    second = run("--case", case["id"], str(log), "--json", said=f"why?\nit was {lead}\nnever read\n")
    document = json.loads(second.stdout)
    assert [turn["said"] for turn in document["transcript"]] == ["why?", f"it was {lead}"]
    assert lead in [cause["id"] for cause in document["diagnosis"]["causes"]]
    (case,) = kept(store)
    assert [moment["kind"] for moment in case["moments"]] == ["opened", "message", "evidence", "message", "message"]
    assert (case["status"], case["cause"]) == ("resolved", lead)


def test_what_is_refused_is_told_and_the_talk_goes_on(run: Run, store: str) -> None:
    run("--case", "new", "-r", REPORT, said="solved, it was the power cable\n")
    (case,) = kept(store)
    result = run("--case", case["id"], said="the loss is spiking too\nwhy?\n")
    assert "reopen it first" in result.output
    assert len(kept(store)[0]["moments"]) == 3


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--case", "nope"), "No case"),
        (("--case", "new"), "say with -r what is wrong"),
        (("--case", "new", "-r", "x", "--overlay", "."), "leave --overlay out"),
    ],
)
def test_wrong_use_says_what_to_do(run: Run, arguments: tuple[str, ...], why: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, Problem)
    assert why in str(result.exception.document)
