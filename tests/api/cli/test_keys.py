"""traintriage keys: what is printed, and that what is printed opens the service."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from api.app import create_app
from api.cli import Problem, cli
from api.settings import Settings
from tests.api.conftest import a_client
from tests.api.fake_engine import SOURCE

PATH = "/v1/causes"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


def run(*arguments: str, url: str) -> Result:
    result = CliRunner().invoke(cli, ["keys", *arguments, "--store", url], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result


def statuses(url: str, *asked: tuple[str, str]) -> list[int]:
    """What a service answers to keys at paths."""
    app = create_app(Settings(store_url=url, access="keys", log_level="error"), source=SOURCE)
    with a_client(app) as client:
        return [client.get(path, headers={"Authorization": f"Bearer {key}"}).status_code for key, path in asked]


def test_only_the_key_is_on_standard_output(url: str) -> None:
    made = run("create", "--name", "bot", "--scope", "knowledge:read", url=url)
    token = made.stdout.strip()
    assert re.fullmatch(r"tt_[0-9a-f]{12}_[0-9a-f]{64}", token)
    assert "not shown again" in made.stderr
    assert token not in made.stderr
    assert statuses(url, (token, PATH), (token, "/metrics")) == [200, 403]


def test_the_life_of_a_key(url: str) -> None:
    made: dict[str, Any] = json.loads(
        run("create", "--name", "bot", "--scope", "all", "--tenant", "a", "--expires", "1d", "--json", url=url).stdout
    )
    assert (made["tenant"], made["state"], len(made["scopes"])) == ("a", "valid", 11)
    rotated = json.loads(run("rotate", made["id"], "--overlap", "1h", "--expires", "never", "--json", url=url).stdout)
    assert (rotated["id"], rotated["expiry"]) == (made["id"], None)
    assert rotated["key"] != made["key"]
    both = ((made["key"], PATH), (rotated["key"], PATH))
    assert statuses(url, *both) == [200, 200]
    assert json.loads(run("revoke", made["id"], "--json", url=url).stdout)["state"] == "revoked"
    assert statuses(url, *both) == [401, 401]
    (listed,) = json.loads(run("list", "--json", url=url).stdout)["keys"]
    assert (listed["state"], listed["name"], "key" in listed) == ("revoked", "bot", False)


def test_a_rotation_without_overlap_ends_the_old_one_at_once(url: str) -> None:
    old = run("create", "--name", "b", "--scope", "all", url=url).stdout.strip()
    new = run("rotate", old.split("_")[1], "--overlap", "0m", url=url).stdout.strip()
    assert statuses(url, (old, PATH), (new, PATH)) == [401, 200]


def test_the_list_for_people(url: str) -> None:
    token = run("create", "--name", "bot", "--scope", "diagnose", url=url).stdout.strip()
    statuses(url, (token, PATH))
    listed = run("list", url=url).stdout
    assert token.split("_")[1] in listed
    assert token.split("_")[2] not in listed
    assert re.search(r"valid +until \d{4}-\d\d-\d\d +used \d{4}-\d\d-\d\d +default +bot +diagnose", listed)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("create", "--name", "b", "--scope", "diagnos"), "there are knowledge:read"),
        (("create", "--name", "", "--scope", "all"), "--name"),
        (("create", "--name", "a\nb", "--scope", "all"), "--name"),
        (("create", "--name", "x" * 101, "--scope", "all"), "--name"),
        (("create", "--name", "b", "--scope", "all", "--tenant", "a b"), "--tenant"),
        (("create", "--name", "b", "--scope", "all", "--expires", "5 days"), "90d"),
        (("create", "--name", "b"), "scope"),
        (("rotate", "0" * 12), "keys list"),
        (("revoke", "\x1b[31m"), "keys list"),
    ],
)
def test_wrong_use_is_one_clear_line(url: str, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(Exception, match=re.escape(said)) as error:
        run(*arguments, url=url)
    assert "\x1b" not in str(error.value)


def test_a_password_is_no_argument() -> None:
    with pytest.raises(Problem, match="TRAINTRIAGE_STORE_URL"):
        run("list", url="postgresql://user:secret@localhost/db")
