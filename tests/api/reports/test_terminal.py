"""The report on a terminal: verdict first, then what to mend, and nothing from a checkpoint moves the cursor."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from api.reports.terminal import render_audit
from engine.model.audit import AuditResult
from engine.model.base import Lang
from tests.api.reports.results import hostile, result


def rendered(audit: AuditResult, lang: Lang = "en", verbose: bool = False) -> str:
    out = Console(file=io.StringIO(), width=300, color_system=None)
    render_audit(audit, lang, out, verbose)
    file = out.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_verdict_then_failures_then_what_is_missing() -> None:
    text = rendered(result())
    order = [
        "Summary of a fail.",
        "container/st-file-length",
        "template/tmpl-renders",
        "evaluation/eval-target",
        "security/no-pickle",
        "Passed: 1",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_a_failure_says_where_what_and_what_to_do() -> None:
    text = rendered(result())
    for part in ("model.safetensors: bytes 0..8", "observed 123", "expected 456", "from format", "6 more places"):
        assert part in text
    for part in ("→ Copy it again.", "wc -c model.safetensors", "checkpoint/truncated-file", "names/tensors-present"):
        assert part in text


def test_gates_that_nothing_requires_are_counted_and_listed_on_request() -> None:
    assert "evaluation/contamination" not in rendered(result())
    assert "Because of evaluation/contamination." in rendered(result(), verbose=True)


def test_a_waiver_shows_who_answers_for_it() -> None:
    assert "Ada, 2027-01-31: needed by the old server" in rendered(result())


def test_chinese() -> None:
    text = rendered(result(), "zh")
    assert "未通过 (2)" in text
    assert "Required" not in text


@pytest.mark.parametrize("verbose", [False, True])
def test_hostile_texts_are_written_out(verbose: bool) -> None:
    text = rendered(hostile(), verbose=verbose)
    assert not {"\x1b", "\x00", "\u202e"} & set(text)
    assert not any(line.lstrip().startswith("::error") for line in text.splitlines())
    assert "\\u001b[31m" in text
