"""Any sequence of changes: the case stays what its events say, and replays to the byte."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from starlette.testclient import TestClient

from tests.api.cases.conftest import OVERFLOW, REPORT
from tests.effort import effort

FINDINGS = ("activation.beyond-fp16", "loss.nan", "run.is-fp16", "amp.steps-skipped")
WORDS = (
    "yes",
    "no",
    "don't know",
    "undo",
    "why?",
    "bf16 is fine",
    "梯度是 inf",
    "loss nan | grad norm inf",
    "start over",
)


def machine(service: TestClient) -> type[RuleBasedStateMachine]:
    """A machine that changes a case of ``service`` at random."""

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.case: dict[str, Any] = service.post("/v1/cases", json=REPORT).json()
            self.url = f"/v1/cases/{self.case['id']}"
            self.revision = 1
            self.resolved = False
            self.seen = {1: service.get(f"{self.url}/rankings/1").content}

        def change(self, path: str, body: Any, needs_open: bool = True) -> None:
            response = service.post(f"{self.url}/{path}", json=body)
            if self.resolved and needs_open:
                assert response.status_code == 409
                return
            assert response.status_code == 200, response.text
            self.revision += 1
            self.seen[self.revision] = service.get(f"{self.url}/rankings/{self.revision}").content

        @rule(finding=st.sampled_from(FINDINGS), state=st.sampled_from(["present", "absent", "unknown"]))
        def answer(self, finding: str, state: str) -> None:
            self.change("answers", {"asked": finding, "findings": {finding: state}})

        @rule(number=st.integers(0, 9))
        def add(self, number: int) -> None:
            self.change("evidence", {"log": [f"step {number} | loss {number}.0"]})

        @rule(data=st.data())
        def retract(self, data: st.DataObject) -> None:
            kinds = [m["kind"] for m in service.get(f"{self.url}/timeline").json()["moments"]]
            brought = [n for n, kind in enumerate(kinds, 1) if kind not in ("resolution", "reopening", "feedback")]
            self.change("retractions", {"seq": data.draw(st.sampled_from(brought))})

        @precondition(lambda self: not self.resolved)
        @rule(text=st.sampled_from(WORDS))
        def talk(self, text: str) -> None:
            self.change("messages", {"text": text})

        @rule()
        def resolve(self) -> None:
            self.change("resolution", {"cause": OVERFLOW}, needs_open=False)
            self.resolved = True

        @precondition(lambda self: self.resolved)
        @rule()
        def reopen(self) -> None:
            assert service.delete(f"{self.url}/resolution").status_code == 200
            self.revision += 1
            self.resolved = False
            self.seen[self.revision] = service.get(f"{self.url}/rankings/{self.revision}").content

        @invariant()
        def it_is_what_its_events_say(self) -> None:
            case = service.get(self.url).json()
            assert case["revision"] == self.revision
            assert case["status"] == ("resolved" if self.resolved else "open")

        def teardown(self) -> None:
            replay = service.get(f"{self.url}/replay").json()
            assert replay["same"], replay
            for revision, text in self.seen.items():
                assert service.get(f"{self.url}/rankings/{revision}").content == text

    return Machine


QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}


def test_changes_at_random(service: TestClient) -> None:
    run_state_machine_as_test(machine(service), settings=settings(max_examples=3, stateful_step_count=8, **QUIET))


@pytest.mark.long
def test_many_changes_at_random(service: TestClient) -> None:
    run_state_machine_as_test(
        machine(service), settings=settings(max_examples=effort(4, 50), stateful_step_count=20, **QUIET)
    )
