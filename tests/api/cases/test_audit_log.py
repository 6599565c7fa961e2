"""The audit log over REST."""

from typing import Any

from starlette.testclient import TestClient


def test_every_change_of_a_case_is_a_row(service: TestClient, case: dict[str, Any]) -> None:
    service.post(f"/v1/cases/{case['id']}/answers", json={"asked": "loss.nan"})
    service.delete(f"/v1/cases/{case['id']}")
    log = service.get("/v1/audit-log", params={"subject": case["id"]}).json()
    assert [row["action"] for row in log["rows"]] == ["case.opened", "case.answer", "case.deleted"]
    assert {row["actor"] for row in log["rows"]} == {"local"}
    assert log["size"] >= log["rows"][-1]["seq"]
    assert service.get("/v1/audit-log?limit=1").json()["rows"][0]["hash"] == log["hash"]
    assert service.get("/v1/audit-log?limit=0").status_code == 422
