"""The service as a process, on an address that others reach."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from api.access import Scope
from api.serve import run
from api.settings import SettingsError
from tests.api.access.conftest import KeyMaker
from tests.api.test_serve import PATIENCE, PROGRAM, free_port, log_lines


@pytest.fixture
def environment(tmp_path: Path, issuer: Any) -> dict[str, str]:
    return {
        **os.environ,
        "TRAINTRIAGE_STORE_URL": f"sqlite:///{tmp_path}/store.db",
        "TRAINTRIAGE_ACCESS": "keys",
        "TRAINTRIAGE_HOST": "0.0.0.0",
        "TRAINTRIAGE_ALLOWED_HOSTS": "*",
        **{f"TRAINTRIAGE_{name.upper()}": str(value) for name, value in issuer.settings().items()},
    }


def test_with_keys_any_address_may_be_listened_on(tmp_path: Path, environment: dict[str, str], issuer: Any) -> None:
    key = KeyMaker(environment["TRAINTRIAGE_STORE_URL"], start=True)(Scope.KNOWLEDGE_READ)
    url = f"http://127.0.0.2:{(port := free_port())}"  # not the address of the bind, nor one of the names
    with (tmp_path / "log").open("w") as log:
        (tmp_path / "knowledge").write_text("one")
        store = environment["TRAINTRIAGE_STORE_URL"]
        command = [sys.executable, "-c", PROGRAM, str(port), "1", str(tmp_path / "knowledge"), store]
        process = subprocess.Popen(command, env=environment, stderr=log)
        try:
            end = time.monotonic() + PATIENCE
            while '"started"' not in (tmp_path / "log").read_text():
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.05)
            answers = [
                httpx2.get(f"{url}/v1/families", headers=headers).status_code
                for headers in (
                    {},
                    {"Authorization": f"Bearer {key}"},
                    {"Authorization": f"Bearer {issuer.token('ES256', scope='knowledge:read')}"},
                    {"Authorization": f"Bearer {issuer.token('ES256')}"},
                )
            ]
            assert answers == [401, 200, 200, 403]
            assert httpx2.get(f"{url}/healthz").status_code == 200
        finally:
            process.terminate()
            process.wait(PATIENCE)
    lines = log_lines(tmp_path)
    routes = {(line["route"], line["status"]) for line in lines if line["event"] == "request"}
    assert routes == {("/v1/families", status) for status in (401, 200, 403)} | {("/healthz", 200)}
    assert key.rsplit("_", 1)[1] not in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"TRAINTRIAGE_ACCESS": "open"}, "TRAINTRIAGE_ACCESS=keys"),
        ({"TRAINTRIAGE_ACCESS": "off"}, "TRAINTRIAGE_ACCESS"),
        ({"TRAINTRIAGE_OIDC_AUDIENCE": ""}, "TRAINTRIAGE_OIDC_AUDIENCE"),
        ({"TRAINTRIAGE_OIDC_ROLES": "oncall=everything"}, "everything"),
        ({"TRAINTRIAGE_RATE_READING": "often"}, "120/minute"),
    ],
)
def test_settings_that_open_too_much_or_nothing_stop_the_start(
    environment: dict[str, str], changed: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**environment, **changed}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=said):
        run(port=0)
