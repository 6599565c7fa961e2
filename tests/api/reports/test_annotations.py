"""Annotations: one command a line, whatever a checkpoint holds; roots before what is missing."""

from __future__ import annotations

from api.reports.annotations import workflow_commands
from tests.api.reports.results import hostile, result


def test_roots_then_missing_then_the_verdict() -> None:
    lines = workflow_commands(result(), "en", "out").splitlines()
    assert [line.split(" ", 1)[0] for line in lines] == ["::error", "::warning", "::warning", "::error"]
    assert lines[0].startswith("::error file=out/model.safetensors,title=container/st-file-length (blocker)::")
    assert "names/tensors-present" in lines[0]
    assert lines[-1] == "::error title=traintriage audit::Summary of a fail."


def test_a_pass_is_a_notice() -> None:
    assert workflow_commands(result((), "pass"), "en") == "::notice title=traintriage audit::Summary of a pass.\n"


def test_an_incomplete_audit_is_an_error() -> None:
    assert workflow_commands(result((), "incomplete"), "en").startswith("::error ")


def test_nothing_can_forge_a_command() -> None:
    text = workflow_commands(hostile(), "en")
    lines = text.splitlines()
    assert len(lines) == 3
    assert not any(line.startswith("::error::") for line in lines)
    # A percent sign of a checkpoint is no escape: decoding gives back the text.
    assert "forged %250A" in text
    file = lines[0].removeprefix("::error ").split("::", 1)[0].split(",title=")[0]
    assert ":" not in file
    text.encode()
