"""Setup on a machine that lacks something says in one line what to install."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging


@pytest.fixture
def copy(tmp_path: Path, checkout: Path) -> Path:
    """A checkout that was never set up."""
    folder = tmp_path / "checkout"
    shutil.copytree(checkout / ".ci", folder / ".ci")
    for name in ("pyproject.toml", "requirements.lock"):
        shutil.copy2(checkout / name, folder / name)
    return folder


def complaint(copy: Path, **environment: str) -> str:
    """The only line on stderr of a setup that must fail."""
    done = subprocess.run(
        [copy / ".ci/setup.sh"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHON": sys.executable, **environment},
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    return line


def altered_python(folder: Path, name: str, code: str) -> str:
    """This interpreter, except that it finds a module of this name with this code first."""
    modules = folder / "modules"
    modules.mkdir()
    (modules / f"{name}.py").write_text(code, encoding="utf-8")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{modules}" exec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return str(python)


def bare_path(folder: Path) -> str:
    """A PATH with the plain tools but no Python."""
    folder.mkdir()
    for tool in ("bash", "dirname", "cat", "cksum", "env"):
        found = shutil.which(tool)
        assert found
        (folder / tool).symlink_to(found)
    return str(folder)


def test_no_python(copy: Path, tmp_path: Path) -> None:
    line = complaint(copy, PYTHON="", PATH=bare_path(tmp_path / "bin"))
    assert "no Python 3.11 or newer found" in line
    assert "apt install python3" in line


def test_named_python_that_does_not_run(copy: Path) -> None:
    assert "PYTHON=no-such-python does not run" in complaint(copy, PYTHON="no-such-python")


def test_old_python(copy: Path, tmp_path: Path) -> None:
    old = altered_python(tmp_path, "sitecustomize", "import sys\nsys.version_info = (3, 10, 13, 'final', 0)\n")
    assert "older than 3.11" in complaint(copy, PYTHON=old)


def test_no_venv_module(copy: Path, tmp_path: Path) -> None:
    python = altered_python(tmp_path, "ensurepip", "raise ImportError('left out by the distribution')\n")
    assert "apt install python3-venv" in complaint(copy, PYTHON=python)


def test_no_python_header(copy: Path, tmp_path: Path) -> None:
    elsewhere = "import sysconfig\nsysconfig.get_path = lambda name: '/nonexistent'\n"
    python = altered_python(tmp_path, "sitecustomize", elsewhere)
    assert "apt install python3-dev" in complaint(copy, PYTHON=python)


def test_no_compiler(copy: Path) -> None:
    line = complaint(copy, CC="no-such-compiler")
    assert "no C compiler (no-such-compiler)" in line
    assert "apt install gcc" in line


def test_compiler_without_library_headers(copy: Path) -> None:
    assert "apt install libc6-dev" in complaint(copy, CC="cc -nostdinc")


def test_package_index_out_of_reach(copy: Path) -> None:
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "1", "PIP_NO_CACHE_DIR": "1"}
    line = complaint(copy, PIP_CONFIG_FILE=os.devnull, **nowhere)
    assert "packages of requirements.lock: connection broken" in line
    assert "setup.log" in line
