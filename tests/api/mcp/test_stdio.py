"""``traintriage mcp`` as a chat client starts it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.api.mcp.conftest import Chat

WITHOUT_SDK = "import sys; sys.modules['mcp'] = None; from api.cli import main; main(['mcp'])"


@pytest.mark.anyio
async def test_a_case_over_standard_input_and_output(tmp_path: Path) -> None:
    environment = {**os.environ, "TRAINTRIAGE_STORE_URL": f"sqlite:///{tmp_path}/store.db"}
    program = StdioServerParameters(command=sys.executable, args=["-m", "api.cli", "mcp"], env=environment)
    async with Client(program) as client:
        assert client.server_info is not None
        assert client.server_info.name == "traintriage"
        chat = Chat(client)
        case = await chat.call("diagnose", log="step 1 | loss 2.0\nRuntimeError: CUDA out of memory.")
        assert "oom.cuda" in {reason["finding"] for cause in case["causes"] for reason in cause.get("because", ())}
        explained = await chat.call("explain", case_id=case["case_id"], cause=case["causes"][0]["id"])
        assert explained["rank"] == 1
    assert (tmp_path / "store.db").is_file()


def test_without_the_sdk_it_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_SDK], check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "pip install 'traintriage[mcp]'" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_sdk_is_imported_only_where_it_is_used() -> None:
    program = "import sys, api.app, api.cli.mcp; print('mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=120)
    assert done.stdout == "False\n"
