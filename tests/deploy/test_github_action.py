"""The action's own scripts, run as the runner does, with the real command on a real checkpoint."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.audit.build.causal_lm import causal_lm
from tests.engine.audit.given import Given


@pytest.fixture
def action(checkout: Path) -> dict[str, Any]:
    return dict(yaml.safe_load((checkout / "deploy" / "github-action" / "action.yml").read_text("utf-8")))


@pytest.fixture
def given(tmp_path: Path) -> Given:
    """A release whose weights were cut off, in a folder with a space in its name."""
    given = causal_lm(tmp_path / "my release")
    weights = given.root / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    (given.root.parent / "intent.json").write_text(json.dumps(given.intent))
    return given


def step(action: dict[str, Any], name: str) -> dict[str, Any]:
    return next(step for step in action["runs"]["steps"] if step.get("name") == name)


def run(step: dict[str, Any], folder: Path, checkout: Path, **variables: str) -> tuple[int, str, dict[str, str]]:
    """Exit code, standard output and outputs of a step in ``folder``, with the shell options of the runner."""
    output = folder / "github-output"
    output.touch()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "RUNNER_TEMP": str(folder / "temp"),
        "GITHUB_OUTPUT": str(output),
        "GITHUB_ACTION_PATH": str(checkout / "deploy" / "github-action"),
        **dict.fromkeys(step["env"], ""),
        **variables,
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, dict(line.split("=", 1) for line in output.read_text().splitlines())


@pytest.mark.usefixtures("given")
def test_the_audit_step(action: dict[str, Any], checkout: Path, tmp_path: Path) -> None:
    if not (checkout / ".venv" / "bin" / "traintriage").exists():
        pytest.skip("the checkout was not set up")
    code, out, outputs = run(
        step(action, "Audit"),
        tmp_path,
        checkout,
        CHECKPOINT="my release/model",
        INTENT="my release/intent.json",
        REPORT_LANG="en",
    )
    assert code == 0  # the reports are uploaded before the last step fails the job
    assert (outputs["status"], outputs["verdict"]) == ("1", "fail")
    assert "::error file=my release/model/model.safetensors" in out
    reports = Path(outputs["reports"])
    assert sorted(path.name for path in reports.iterdir()) == ["audit.html", "audit.json", "audit.sarif", "audit.xml"]
    assert json.loads((reports / "audit.json").read_text())["paradigm"] == "sft"


@pytest.mark.parametrize(
    ("status", "allow", "code"),
    [("0", "false", 0), ("1", "true", 1), ("3", "false", 3), ("3", "true", 0), ("4", "true", 4)],
)
def test_the_last_step_gives_the_verdict(
    action: dict[str, Any], tmp_path: Path, checkout: Path, status: str, allow: str, code: int
) -> None:
    assert run(step(action, "Verdict"), tmp_path, checkout, STATUS=status, ALLOW_INCOMPLETE=allow)[0] == code


def test_no_input_is_written_into_a_script(action: dict[str, Any]) -> None:
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert len(scripts) == 3
    assert not any("${{" in script for script in scripts)


def test_every_input_is_used(action: dict[str, Any]) -> None:
    text = json.dumps(action["runs"])
    for name in action["inputs"]:
        assert f"inputs.{name}" in text, name


def test_the_hook_calls_the_command_as_it_is(checkout: Path) -> None:
    file = checkout / "deploy" / "pre-commit" / ".pre-commit-config.yaml"
    (hook,) = yaml.safe_load(file.read_text("utf-8"))["repos"][0]["hooks"]
    from api.cli.audit import command

    name, subcommand, *arguments = hook["entry"].split()
    assert (name, subcommand) == ("traintriage", "audit")
    with command.make_context("audit", arguments) as context:
        assert context.params["directory"] == Path("release/model")
        assert context.params["intent"] == Path("release/intent.yaml")
