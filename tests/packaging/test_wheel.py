"""The built wheel, installed by the project's own setup, works away from the checkout."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging

PACKAGES = ("api", "engine", "kb")
BUILD_INPUT = (*PACKAGES, ".ci", "pyproject.toml", "requirements.lock", "README.md", "LICENSE")

CASE = """\
paradigm: pretrain
report: The loss became NaN at step 1200 under fp16; the loss scale had been halved down to 1 before.
observations:
  - {name: precision, value: fp16}
  - {name: loss_scale, value: 1}
series:
  - {name: loss, steps: [1197, 1198, 1199, 1200], values: [2.31, 2.30, 2.35, .nan]}
"""


def run(*command: str | Path, cwd: Path, expect: tuple[int, ...] = (0,)) -> str:
    """Standard output of the command; fails with both outputs when the exit status is not expected."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=plain_environment(), check=False)
    assert done.returncode in expect, f"{command} -> {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def plain_environment() -> dict[str, str]:
    """The environment without what could lead Python back to the checkout."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in hidden} | {"PYTHON": sys.executable}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> Iterator[Path]:
    """A copy of what a wheel is made from: no leftovers of earlier builds, no tests, no development files."""
    copy = tmp_path_factory.mktemp("source")
    leftovers = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in BUILD_INPUT:
        if (checkout / name).is_dir():
            shutil.copytree(checkout / name, copy / name, ignore=leftovers)
        else:
            shutil.copy2(checkout / name, copy / name)
    yield copy
    shutil.rmtree(copy)


@pytest.fixture(scope="module")
def wheel(source: Path) -> Path:
    """The wheel, built by the locked tools of an environment made from the runtime lock."""
    run(source / ".ci/setup.sh", cwd=source)
    pip = (source / ".venv/bin/python", "-m", "pip")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", "dist", ".", cwd=source)
    (built,) = (source / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def command(source: Path, wheel: Path) -> Path:
    """The installed command. The sources are gone by then, so nothing can be read from them."""
    pip = (source / ".venv/bin/python", "-m", "pip")
    run(*pip, "install", "--no-deps", "--no-index", "--force-reinstall", wheel, cwd=source)
    for package in PACKAGES:
        shutil.rmtree(source / package)
    return source / ".venv/bin/traintriage"


def test_wheel_holds_every_file_of_the_packages_and_nothing_else(wheel: Path, checkout: Path) -> None:
    listed = zipfile.ZipFile(wheel).namelist()
    packed = {name for name in listed if ".dist-info/" not in name}
    written = {
        path.relative_to(checkout).as_posix()
        for package in PACKAGES
        for path in (checkout / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == written
    assert any(name.startswith("kb/") and name.endswith(".yaml") for name in packed)


def test_installed_command_tells_its_version(command: Path, tmp_path: Path) -> None:
    import engine

    assert engine.__version__ in run(command, "--version", cwd=tmp_path)


def test_installed_command_diagnoses_from_anywhere(command: Path, tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text(CASE, encoding="utf-8")
    answer = json.loads(run(command, "diagnose", "--case", "case.yaml", "--json", cwd=tmp_path, expect=(1,)))
    assert answer["causes"], "a plain fp16 overflow is found"
    assert {source["finding"] for source in answer["causes"][0]["evidence_for"]}
