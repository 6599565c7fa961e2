"""The ways to run the service in ``deploy/`` use settings that there are, and ask what it answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.testclient import TestClient

from api.app import create_app
from api.settings import Settings
from api.slack.config import config_of
from tests.api.fake_engine import SOURCE

_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}")


def of_compose(deploy: Path) -> dict[str, str]:
    """The environment of the service, with a password and nothing else in ``.env``."""
    services = yaml.safe_load((deploy / "container" / "compose.yaml").read_text())["services"]
    assert services["slack"]["environment"] == services["service"]["environment"]
    given = services["service"]["environment"]
    return {name: _VARIABLE.sub(lambda found: found[2] or ("" if found[2] is not None else "pw"), value)
            for name, value in given.items()}  # fmt: skip


def of_systemd(deploy: Path, *, all_of_it: bool = True) -> dict[str, str]:
    lines = (deploy / "systemd" / "traintriage.env").read_text().splitlines()
    lines = [line.lstrip("# ") if all_of_it else line for line in lines]
    return dict(line.split("=", 1) for line in lines if line.startswith("TRAINTRIAGE_"))


def of_kubernetes(deploy: Path) -> dict[str, str]:
    return dict(objects(deploy)["ConfigMap"]["data"])


def objects(deploy: Path) -> dict[str, Any]:
    return {one["kind"]: one for one in yaml.safe_load_all((deploy / "kubernetes" / "traintriage.yaml").read_text())}


@pytest.mark.parametrize("environment", [of_compose, of_systemd, of_kubernetes])
def test_every_setting_is_one_and_asks_for_keys(checkout: Path, environment: Any) -> None:
    given = environment(checkout / "deploy")
    known = {f"TRAINTRIAGE_{name.upper()}" for name in Settings.model_fields}
    assert given.keys() <= known
    if environment is of_systemd:
        given = of_systemd(checkout / "deploy", all_of_it=False)
    settings = Settings.from_env(given | {"TRAINTRIAGE_HOST": "0.0.0.0"})
    assert settings.access == "keys"
    assert config_of(settings) is None  # no half of what Slack needs


def test_the_probes_of_kubernetes_get_an_answer(checkout: Path, tmp_path: Path) -> None:
    deploy = checkout / "deploy"
    pod = objects(deploy)["Deployment"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    given = of_kubernetes(deploy) | {"TRAINTRIAGE_STORE_URL": f"sqlite:///{tmp_path}/store.db"}
    with TestClient(create_app(Settings.from_env(given), source=SOURCE), base_url="http://10.1.2.3:8080") as client:
        for name in ("startupProbe", "readinessProbe", "livenessProbe"):
            get = container[name]["httpGet"]
            headers = {header["name"]: header["value"] for header in get["httpHeaders"]}
            assert client.get(get["path"], headers=headers).status_code == 200
            assert client.get(get["path"]).status_code == 400
    assert objects(deploy)["Service"]["spec"]["selector"] == pod["metadata"]["labels"]


def test_what_is_started_is_a_command_of_ours(checkout: Path) -> None:
    deploy = checkout / "deploy"
    units = [path.read_text() for path in sorted((deploy / "systemd").glob("*.service"))]
    started = re.findall(r"^ExecStart=/opt/traintriage/\.venv/bin/(.*)$", "\n".join(units), re.MULTILINE)
    assert started == ["traintriage slack --socket", "traintriage serve"]
    dockerfile = (deploy / "container" / "Dockerfile").read_text()
    assert 'CMD ["traintriage", "serve"]' in dockerfile
    assert "COPY --from=build /opt/traintriage /opt/traintriage" in dockerfile
