"""Settings from the environment, and what is refused before anything starts."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from api.problems import KINDS
from api.serve import require_loopback, run
from api.settings import Settings, SettingsError


def test_from_the_environment() -> None:
    settings = Settings.from_env({"TRAINTRIAGE_PORT": "9000", "TRAINTRIAGE_LOG_LEVEL": "error", "HOME": "x"})
    assert (settings.port, settings.log_level, settings.host) == (9000, "error", "127.0.0.1")


def test_what_is_given_wins() -> None:
    settings = Settings.from_env({"TRAINTRIAGE_PORT": "9000", "TRAINTRIAGE_WORKERS": "2"}, port=9001, workers=None)
    assert (settings.port, settings.workers) == (9001, 2)


@pytest.mark.parametrize(
    ("name", "value"), [("PORT", "http"), ("PORT", "70000"), ("WORKERS", "0"), ("STORE_URL", "mysql://x")]
)
def test_a_bad_value_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"TRAINTRIAGE_{name}"):
        Settings.from_env({f"TRAINTRIAGE_{name}": value})


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        Settings().port = 1  # type: ignore[misc]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_loopback_is_accepted(host: str) -> None:
    require_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "", "127.0.0.1.a.org", "2130706433"])
def test_every_other_address_is_refused(host: str) -> None:
    with pytest.raises(SettingsError, match=r"without access keys .* TRAINTRIAGE_ACCESS=keys"):
        run(host or " ")


def test_importing_settings_and_serve_is_light() -> None:
    code = (
        "import sys, api, api.settings, api.serve\n"
        "heavy = {'fastapi', 'starlette', 'uvicorn', 'sqlalchemy', 'alembic', 'structlog', 'numpy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_setting_and_problem_status_is_documented(checkout: Path) -> None:
    page = (checkout / "docs" / "api.md").read_text()
    for name in Settings.model_fields:
        assert f"`{name.upper()}`" in page, name
    for kind in KINDS.values():
        assert str(kind.status) in page, kind.slug
