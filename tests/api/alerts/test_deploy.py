"""The examples in ``deploy/`` fit the service they are for."""

import re
from pathlib import Path

import yaml

from api.alerts.queries import load
from tests.api.alerts.conftest import Service


def test_the_queries_can_be_used(checkout: Path) -> None:
    assert len(load(checkout / "deploy" / "prometheus" / "queries.yaml").queries) == 5


def test_the_rules_name_metrics_that_there_are(checkout: Path, service: Service) -> None:
    rules = yaml.safe_load((checkout / "deploy" / "prometheus" / "traintriage.rules.yml").read_text())
    expressions = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    assert len(expressions) == 4
    exposition = service.client.get("/metrics").text
    names = {name for text in expressions for name in re.findall(r"traintriage_\w+", text)}
    assert names == {"traintriage_http_requests_total", "traintriage_jobs", "traintriage_job_runs_total"}
    for name in names:
        assert f"# TYPE {name} " in exposition


def test_alertmanager_sends_where_the_service_listens(checkout: Path, service: Service) -> None:
    config = yaml.safe_load((checkout / "deploy" / "alertmanager" / "alertmanager.yml").read_text())
    (hook,) = (hook for one in config["receivers"] for hook in one.get("webhook_configs", ()))
    path = "/" + hook["url"].split("/", 3)[3]
    assert service.client.post(path, json={"groupKey": "k", "alerts": []}).status_code == 202
