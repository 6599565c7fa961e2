"""Cases told to PagerDuty, and what must be set for it."""

from pathlib import Path
from typing import Any

import pytest

from api.app import create_app
from api.settings import Settings, SettingsError
from tests.api.alerts.conftest import a_service
from tests.api.alerts.elsewhere import Elsewhere
from tests.api.alerts.sent import alert, group, pagerduty
from tests.api.fake_engine import SOURCE

ROUTING_KEY = "0123456789abcdef0123456789abcdef"


def test_a_case_is_an_incident_until_it_is_resolved(tmp_path: Path, there: Elsewhere) -> None:
    changes = {"webhooks": (), "prometheus_url": "", "pagerduty_events_url": f"{there.url}/v2/enqueue"}
    with a_service(tmp_path, there, SOURCE, pagerduty_routing_key=ROUTING_KEY, **changes) as service:
        there.statuses = [429]
        service.post("alertmanager", group("paged", alert("Paged")))
        case = service.case("Paged")
        assert [request.path for request in there.requests] == ["/v2/enqueue"] * 2
        sent = there.requests[-1].data
        assert {key: sent[key] for key in ("routing_key", "event_action", "dedup_key")} == {
            "routing_key": ROUTING_KEY,
            "event_action": "trigger",
            "dedup_key": case["id"],
        }
        payload = sent["payload"]
        assert payload["severity"] == "critical"
        assert payload["summary"].startswith("Paged: node7:9400: Xid 79 on node7")
        assert payload["component"] == "numerics/overflow"
        assert payload["source"] == "paged"
        assert sent["links"][0]["href"].endswith(case["id"])
        url = f"/v1/cases/{case['id']}/resolution"
        assert service.client.post(url, json={"other": "a cable"}).status_code == 200
        assert service.client.post(url, json={"other": "the cable of rack 4"}).status_code == 200
        service.settle()
        assert service.client.delete(url).status_code == 200
        service.settle()
        actions = [request.data["event_action"] for request in there.requests]
        assert actions == ["trigger", "trigger", "resolve", "trigger"]
        # What PagerDuty told us is not told back.
        service.client.post("/v1/webhooks/pagerduty", **pagerduty(21, title="From PagerDuty"))
        service.case("From PagerDuty")
        assert len(there.requests) == 4


@pytest.mark.parametrize(
    ("settings", "variable"),
    [
        ({"pagerduty_routing_key": ROUTING_KEY}, "TRAINTRIAGE_PAGERDUTY_EVENTS_URL"),
        ({"prometheus_url": "http://127.0.0.1:9090"}, "TRAINTRIAGE_PROMETHEUS_QUERIES"),
        ({"prometheus_url": "http://127.0.0.1:9090", "prometheus_queries": "/none"}, "TRAINTRIAGE_PROMETHEUS_QUERIES"),
    ],
)
def test_half_of_the_settings_stops_the_start(tmp_path: Path, settings: dict[str, Any], variable: str) -> None:
    with pytest.raises(SettingsError, match=variable):
        create_app(Settings.model_validate({"store_url": f"sqlite:///{tmp_path}/s.db", **settings}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WEBHOOKS", "https://example.org/hook"),
        ("WEBHOOKS", '{"url": "https://example.org"}'),
        ("WEBHOOKS", '[{"url": "https://example.org"}]'),
        ("WEBHOOKS", '[{"url": "https://example.org", "secrets": "short"}]'),
        ("WEBHOOKS", '[{"url": "ftp://example.org", "secrets": "hunter2hunter2hunter2"}]'),
        ("WEBHOOKS", '[{"url": "https://u:p@example.org", "secrets": "hunter2hunter2hunter2"}]'),
        ("WEBHOOKS", '[{"url": "https://example.org", "secrets": "hunter2hunter2hunter2", "events": ["all"]}]'),
        ("PAGERDUTY_SECRETS", "hunter2"),
        ("GRAFANA_SECRETS", "hunter2hunter2hunter2,hunter2"),
        ("PROMETHEUS_URL", "prometheus:9090"),
        ("PROMETHEUS_SECONDS", "0"),
    ],
)
def test_settings_that_cannot_be_used_are_told_without_their_secrets(name: str, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({f"TRAINTRIAGE_{name}": value})
    assert f"TRAINTRIAGE_{name}" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_secrets_do_not_show_in_the_settings() -> None:
    hook = '[{"url": "https://example.org/s3cret-path", "secrets": "hunter2hunter2hunter2"}]'
    environ = {"TRAINTRIAGE_WEBHOOKS": hook, "TRAINTRIAGE_PAGERDUTY_SECRETS": "hunter2hunter2hunter2"}
    environ |= {"TRAINTRIAGE_PROMETHEUS_TOKEN": "hunter2", "TRAINTRIAGE_PAGERDUTY_ROUTING_KEY": "hunter2hunter2hunter2"}
    shown = repr(Settings.from_env(environ))
    assert "hunter2" not in shown
    assert "s3cret" not in shown
