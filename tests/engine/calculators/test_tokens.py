from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from engine.calculators.state import data_parallel, input_tokens_per_update
from engine.calculators.tokens import TokenFigures, TokensRequest, TokensResult, tokens_per_update

EXAMPLE: dict[str, Any] = {"data_parallel": 8, "microbatch": 4, "sequence_length": 2048, "accumulation": 8}
SMALL = st.integers(1, 64)


def compute(**changes: Any) -> TokensResult:
    return tokens_per_update(TokensRequest.model_validate(EXAMPLE | changes))


def figures(**changes: Any) -> TokenFigures:
    found = compute(**changes).figures
    assert found is not None
    return found


def english(result: TokensResult) -> str:
    return "\n".join(note.en for note in result.notes)


def test_worked_example() -> None:
    found = figures()
    assert found.input_tokens_per_update == 524_288
    assert found.tokens_per_forward_per_card == 8_192
    assert found.tokens_per_global_microstep == 65_536
    assert found.samples_per_update == 256
    assert found.supervised_tokens_per_update is None
    assert found.optimizer_updates is None


def test_cards_are_not_data_parallelism() -> None:
    result = compute(data_parallel=None, world_size=64, tensor_parallel=2, pipeline_parallel=2, context_parallel=2)
    assert (result.data_parallel, result.cards_per_replica, result.world_size) == (8, 8, 64)
    assert result.figures is not None
    assert result.figures.input_tokens_per_update == 524_288
    assert result.figures.tokens_per_forward_per_replica == 8_192
    assert result.figures.tokens_per_forward_per_card == 4_096
    assert "64 cards, but only 8 read different samples" in english(result)


@pytest.mark.parametrize(
    ("shares", "supervised"),
    [
        ({"supervised_fraction": 0.25}, 131_072),
        ({"padding_fraction": 0.25, "unlabelled_fraction": 0.5}, 131_072),
        ({"padding_fraction": 0.25}, 393_216),
        ({"padding_fraction": 0.4, "unlabelled_fraction": 0.6}, 0),
    ],
)
def test_supervised_tokens(shares: dict[str, float], supervised: int) -> None:
    assert figures(**shares).supervised_tokens_per_update == supervised


def test_token_budget_pays_for_whole_updates() -> None:
    found = figures(token_budget=10_000_000_000)
    assert found.optimizer_updates == 19_073
    assert found.token_budget_left == 10_000_000_000 - 19_073 * 524_288
    assert figures(token_budget=524_287).optimizer_updates == 0


def test_unexplained_batch_size_is_asked_about() -> None:
    result = compute(microbatch=None, batch_size_said=256)
    assert result.figures is None
    assert result.question is not None
    assert "256" in result.question.en
    assert "256" in result.question.zh
    by_meaning = {reading.means: reading.figures for reading in result.readings}
    samples = {meaning: found and found.samples_per_update for meaning, found in by_meaning.items()}
    assert samples == {"micro": 256 * 64, "accumulated": 256 * 8, "global": 256}
    assert {reading.agrees_with_microbatch for reading in result.readings} == {None}


def test_stated_microbatch_is_used_but_the_batch_size_still_asked_about() -> None:
    result = compute(batch_size_said=256)
    assert result.figures is not None
    assert result.figures.microbatch == 4
    assert result.question is not None
    agreeing = [reading.means for reading in result.readings if reading.agrees_with_microbatch]
    assert agreeing == ["global"]


def test_a_reading_that_does_not_divide_has_no_figures() -> None:
    readings = compute(microbatch=None, batch_size_said=24).readings
    assert [reading.means for reading in readings if reading.figures is None] == ["global"]


@pytest.mark.parametrize(("means", "microbatch"), [("micro", 128), ("accumulated", 16), ("global", 2)])
def test_explained_batch_size_sets_the_microbatch(means: str, microbatch: int) -> None:
    result = compute(microbatch=None, batch_size_said=128, batch_size_means=means)
    assert result.figures is not None
    assert result.figures.microbatch == microbatch
    assert result.question is None
    assert result.readings == ()


@pytest.mark.parametrize(
    ("paradigm", "accumulation", "said", "not_said"),
    [
        ("contrastive", 8, "does not enlarge the pool", None),
        ("embedding", 1, "a query meets 3 negatives, or 31", "no_sync"),
        ("dpo", 1, "twice as many tokens", "negatives"),
        ("pretrain", 8, "first 7 under no_sync", "negatives"),
        (None, 8, "fewer optimizer updates", "twice as many tokens"),
    ],
)
def test_notes_fit_the_run(paradigm: str | None, accumulation: int, said: str, not_said: str | None) -> None:
    text = english(compute(paradigm=paradigm, accumulation=accumulation))
    assert said in text
    assert not_said is None or not_said not in text


@pytest.mark.parametrize(
    ("changes", "lesson"),
    [
        ({"data_parallel": None}, "exactly one of data_parallel and world_size"),
        ({"world_size": 8}, "exactly one of data_parallel and world_size"),
        ({"data_parallel": None, "world_size": 12, "tensor_parallel": 8}, "not divisible by tensor_parallel"),
        ({"context_parallel": 3}, "not divisible by context_parallel 3"),
        ({"supervised_fraction": 0.5, "padding_fraction": 0.1}, "not both"),
        ({"padding_fraction": 0.6, "unlabelled_fraction": 0.6}, "exceed 1 together"),
        ({"padding_fraction": 15}, "15 percent is 0.15"),
        ({"padding_fraction": float("nan")}, "15 percent is 0.15"),
        ({"microbatch": None}, "give microbatch"),
        ({"microbatch": 2.5}, "whole number"),
        ({"microbatch": True}, "true/false is not a number"),
        ({"batch_size_means": "global"}, "give that number too"),
        ({"batch_size_said": 100, "batch_size_means": "global"}, "not a multiple of 64"),
        ({"batch_size_said": 128, "batch_size_means": "global"}, "contradicts batch_size_said 128"),
        ({"gradient_accumulation": 4}, "Extra inputs are not permitted"),
    ],
)
def test_bad_input_is_explained(changes: dict[str, Any], lesson: str) -> None:
    with pytest.raises(ValidationError, match=lesson):
        compute(**changes)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [((64, 2, 2, 2), 8), ((8, 1, 1, 1), 8), ((12, 8), None), ((0,), None), ((8, 0), None)],
)
def test_data_parallel(sizes: tuple[int, ...], expected: int | None) -> None:
    assert data_parallel(*sizes) == expected


@given(SMALL, SMALL, SMALL, SMALL)
def test_data_parallel_inverts_the_product(replicas: int, tp: int, pp: int, cp: int) -> None:
    assert data_parallel(replicas * tp * pp * cp, tp, pp, cp) == replicas


@given(replicas=SMALL, microbatch=SMALL, length=st.integers(1, 8192), accumulation=SMALL)
def test_figures_are_consistent(replicas: int, microbatch: int, length: int, accumulation: int) -> None:
    found = figures(data_parallel=replicas, microbatch=microbatch, sequence_length=length, accumulation=accumulation)
    total = input_tokens_per_update(replicas, microbatch, length, accumulation)
    assert found.input_tokens_per_update == total
    assert found.tokens_per_global_microstep * accumulation == total
    assert found.tokens_per_forward_per_card * replicas * accumulation == total
    assert found.samples_per_update * length == total


@given(padding=st.floats(0, 0.5), unlabelled=st.floats(0, 0.5))
def test_supervised_never_exceeds_input(padding: float, unlabelled: float) -> None:
    found = figures(padding_fraction=padding, unlabelled_fraction=unlabelled)
    assert found.supervised_tokens_per_update is not None
    assert 0 <= found.supervised_tokens_per_update <= found.input_tokens_per_update


@given(st.integers(1, 4096))
def test_readings_keep_the_number_that_was_said(said: int) -> None:
    for reading in compute(microbatch=None, batch_size_said=said).readings:
        if reading.figures is None:
            continue
        counted = {
            "micro": reading.figures.microbatch,
            "accumulated": reading.figures.microbatch * 8,
            "global": reading.figures.samples_per_update,
        }
        assert counted[reading.means] == said
