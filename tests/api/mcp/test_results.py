"""Results are cut to their limit, the least important first, and texts from outside are harmless in them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.mcp.results import LIMIT, CaseResult, CauseEntry, CheckEntry, Reason, Unread, cut, fitted

text = st.text(max_size=400)


def a_case(causes: int, reasons: int, checks: int, unread: int) -> CaseResult:
    reason = Reason(finding="loss.nan", bits=1.0, because="b" * 100, input_quote="q" * 100)
    cause = CauseEntry(id="a/b", title="t", probability=0.2, meaning="m" * 100, because=[reason] * reasons)
    check = CheckEntry(id="c", kind="check", title="t", how="h" * 200, minutes=1, asks={"loss.nan": "x"})
    return CaseResult(
        case_id="0" * 32,
        status="open",
        summary="s" * 200,
        causes=[cause] * causes,
        unknown=0.1,
        next_checks=[check] * checks,
        not_understood=[Unread(where="w", why="y" * 100)] * unread,
        kb_version="1.0.0",
    )


def test_what_fits_is_left_alone() -> None:
    data = fitted(a_case(1, 1, 1, 0), LIMIT)
    assert "left_off" not in data
    assert len(data["causes"][0]["because"]) == 1


def test_explanations_go_before_causes_and_checks() -> None:
    data = fitted(a_case(3, 2, 2, 1), LIMIT)
    assert len(data["causes"]) == 3
    assert len(data["next_checks"]) == 2
    assert next(iter(data["left_off"])) == "causes.meaning"
    assert data["left_off"]["causes.because"] >= 1


def test_empty_values_are_not_sent() -> None:
    assert "moved" not in fitted(a_case(0, 0, 0, 0), LIMIT)


@given(st.integers(0, 8), st.integers(0, 6), st.integers(0, 5), st.integers(0, 20), st.sampled_from([700, 2000, 8000]))
def test_every_result_fits(causes: int, reasons: int, checks: int, unread: int, limit: int) -> None:
    data = fitted(a_case(causes, reasons, checks, unread), limit)
    assert len(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()) <= limit
    if causes:
        CaseResult.model_validate(data)


@given(text, st.integers(10, 300))
def test_a_cut_text_is_one_line_within_its_size(value: str, size: int) -> None:
    shown = cut(value, size)
    assert len(shown.encode()) <= size
    assert len(shown.splitlines()) <= 1
    assert cut(shown, size) == shown


@pytest.mark.parametrize(
    "hidden", ["\x1b[2J", "\u202e", "\u200b", "\U000e0041", "\x00", "\r\n", "\u2028", "\ufeff", "\ue000"]
)
def test_characters_that_hide_or_control_do_not_get_through(hidden: str) -> None:
    shown = cut(f"before{hidden}after", 100)
    assert shown.startswith("before ")
    assert shown.endswith("after")
    assert shown.isprintable()


def test_a_cut_text_ends_with_a_mark() -> None:
    assert cut("损失" * 50, 20) == "损失损失损…"
