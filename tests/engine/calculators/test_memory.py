from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from engine.calculators.memory import ComponentMemory, MemoryRequest, MemoryResult, parse_parameters, training_memory
from engine.calculators.state import OPTIMIZER_STATE_BYTES, Mode, OptimizerName, shard_counts, static_bytes_per_card

EXAMPLE: dict[str, Any] = {"parameters": "7B", "gpus": 8}
MODES: tuple[Mode, ...] = get_args(Mode)
SHARDED: tuple[Mode, ...] = ("zero1", "zero2", "zero3", "fsdp")
OPTIMIZERS: tuple[OptimizerName, ...] = get_args(OptimizerName)
PARAMETERS = st.floats(1e3, 1e13)
GPUS = st.integers(1, 4096)


def compute(**changes: Any) -> MemoryResult:
    return training_memory(MemoryRequest.model_validate(EXAMPLE | changes))


def english(result: MemoryResult) -> str:
    return "\n".join(note.en for note in result.notes)


@pytest.mark.parametrize(
    ("mode", "card", "cluster", "percent"),
    [
        ("dp", 112.0, 896.0, 0.0),
        ("zero1", 38.5, 308.0, 65.6),
        ("zero2", 26.25, 210.0, 76.6),
        ("zero3", 14.0, 112.0, 87.5),
        ("fsdp", 14.0, 112.0, 87.5),
    ],
)
def test_worked_example(mode: Mode, card: float, cluster: float, percent: float) -> None:
    result = compute(mode=mode)
    assert result.per_card.total_gb == card
    assert result.cluster.total_gb == cluster
    assert result.percent_less_than_dp == percent
    assert result.bytes_per_parameter == 16
    assert [row.per_card.total_gb for row in result.comparison] == [112.0, 38.5, 26.25, 14.0, 14.0]


def test_components_of_plain_data_parallelism() -> None:
    assert compute().per_card == ComponentMemory(
        weights_gb=14.0, gradients_gb=14.0, master_gb=28.0, optimizer_gb=56.0, total_gb=112.0
    )


@pytest.mark.parametrize(
    ("optimizer", "card"),
    [
        ("adamw", 112.0),
        ("adam8bit", 70.0),
        ("sgd_momentum", 84.0),
        ("lion", 84.0),
        ("sgd", 56.0),
        ("adafactor", 56.014),
    ],
)
def test_optimizer_sets_the_state(optimizer: OptimizerName, card: float) -> None:
    assert compute(optimizer=optimizer).per_card.total_gb == card


def test_given_state_bytes_replace_the_usual_ones() -> None:
    result = compute(optimizer="adafactor", optimizer_state_bytes=4.002)
    assert result.per_card.total_gb == 84.014
    assert any("as given: 4.002 bytes" in text.en for text in result.assumptions)


@pytest.mark.parametrize(
    ("strategy", "group", "card"),
    [("full", None, 14.0), ("shard_grad_op", None, 26.25), ("no_shard", None, 112.0), ("hybrid", 4, 28.0)],
)
def test_fsdp_strategies(strategy: str, group: int | None, card: float) -> None:
    result = compute(mode="fsdp", sharding_strategy=strategy, shard_group_size=group)
    assert result.per_card.total_gb == card
    assert result.comparison[-1].per_card.total_gb == card


@pytest.mark.parametrize(
    ("changes", "card"),
    [
        ({"parameter_bytes": 4, "gradient_bytes": 4}, 112.0),
        ({"master_weights": False}, 84.0),
        ({"gradient_bytes": 4}, 126.0),
        ({"tensor_parallel": 2, "pipeline_parallel": 2}, 28.0),
    ],
)
def test_precision_and_model_parallelism(changes: dict[str, Any], card: float) -> None:
    assert compute(**changes).per_card.total_gb == card


def test_cluster_counts_all_cards() -> None:
    result = compute(tensor_parallel=2, pipeline_parallel=2)
    assert result.cards == 32
    assert result.cluster.total_gb == 896.0


def test_frozen_weights_carry_no_state() -> None:
    result = compute(trainable_parameters="40M", frozen_parameter_bytes=0.5)
    assert result.per_card.gradients_gb == 0.08
    assert result.per_card.master_gb == 0.16
    assert result.per_card.optimizer_gb == 0.32
    assert result.per_card.weights_gb == 3.56  # 6.96e9 * 0.5 + 40e6 * 2
    assert "activations shrink far less" in english(result)


@pytest.mark.parametrize(
    ("card_memory_gb", "fits"),
    [(None, None), (111.9, "no"), (112.0, "too_close"), (139.9, "too_close"), (140.1, "yes")],
)
def test_fits_leaves_a_fifth_free(card_memory_gb: float | None, fits: str | None) -> None:
    assert compute(card_memory_gb=card_memory_gb).fits == fits


def test_accumulation_cannot_help_when_the_state_does_not_fit() -> None:
    assert "more accumulation cannot help. Shard" in english(compute(card_memory_gb=80))
    assert "Accumulation does not change this figure" in english(compute(card_memory_gb=160))
    assert "Accumulation does not change this figure" in english(compute())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mode": "zero3"}, "half as much again"),
        ({"mode": "zero2", "pipeline_parallel": 2}, "refuses ZeRO-2 and ZeRO-3"),
        ({"mode": "fsdp"}, "one FP32 shard"),
        ({"mode": "fsdp", "sharding_strategy": "shard_grad_op"}, "from forward to backward"),
        ({"mode": "fsdp", "sharding_strategy": "hybrid", "shard_group_size": 2}, "within a shard group"),
    ],
)
def test_notes_fit_the_mode(changes: dict[str, Any], said: str) -> None:
    assert said in english(compute(**changes))
    assert said not in english(compute())


def test_what_is_not_counted_is_named() -> None:
    text = " ".join(part.en for part in compute().not_counted)
    for word in ("Activations", "Communication buffers", "Fragmentation", "workspace"):
        assert word in text


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("7B", 7e9),
        ("6.7b", 6.7e9),
        ("350 M", 350e6),
        ("1.2T", 1.2e12),
        ("7,000,000,000", 7e9),
        ("1.5e9", 1.5e9),
        (7_000_000_000, 7e9),
    ],
)
def test_parameters_are_read(said: str | int, number: float) -> None:
    assert parse_parameters(said) == pytest.approx(number, rel=1e-12)


@pytest.mark.parametrize("said", ["8x7B", "", "B", "-7B", "seven", "7GB", True, None, float("nan"), [7]])
def test_other_spellings_are_explained(said: Any) -> None:
    with pytest.raises(ValidationError, match="Give the number of parameters, such as"):
        compute(parameters=said)


@pytest.mark.parametrize("said", [7, 0, -7, float("inf"), 10**400, "1e999", "9999T"])
def test_implausible_counts_are_explained(said: Any) -> None:
    with pytest.raises(ValidationError, match="between 1000 and 1e15"):
        compute(parameters=said)


@pytest.mark.parametrize(
    ("changes", "lesson"),
    [
        ({"gpus": 0}, "counts cards"),
        ({"sharding_strategy": "full"}, "belongs to mode fsdp, not to dp"),
        ({"mode": "fsdp", "sharding_strategy": "hybrid"}, "go together"),
        ({"mode": "fsdp", "shard_group_size": 4}, "go together"),
        ({"mode": "fsdp", "sharding_strategy": "hybrid", "shard_group_size": 3}, "does not divide gpus 8"),
        ({"trainable_parameters": "8B"}, "exceed parameters"),
        ({"frozen_parameter_bytes": 0.5}, "nothing is frozen"),
        ({"parameter_bytes": 4, "master_weights": True}, "twice"),
        ({"parameter_bytes": 16}, "bytes per number"),
        ({"headroom": 20}, "15 percent is 0.15"),
        ({"micro_batch": 4}, "Extra inputs are not permitted"),
    ],
)
def test_bad_input_is_explained(changes: dict[str, Any], lesson: str) -> None:
    with pytest.raises(ValidationError, match=lesson):
        compute(**changes)


@pytest.mark.parametrize(
    "numbers",
    [
        {"gpus": 0},
        {"gpus": 8, "tensor_parallel": 0},
        {"gpus": 8, "trainable_parameters": 8e9},
        {"gpus": 8, "trainable_parameters": -1},
    ],
)
def test_plain_function_refuses_impossible_numbers(numbers: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"at least 1|between 0 and all"):
        static_bytes_per_card(7e9, mode="dp", **numbers)


@pytest.mark.parametrize("names", [{"mode": "ddp"}, {"mode": "dp", "optimizer": "adamw_torch"}])
def test_plain_function_refuses_unknown_names(names: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="modes: dp, zero1"):
        static_bytes_per_card(7e9, 8, **names)


def test_hybrid_needs_its_group() -> None:
    with pytest.raises(ValueError, match="needs shard_group_size"):
        shard_counts("fsdp", 8, "hybrid")


@given(PARAMETERS, st.sampled_from(OPTIMIZERS), st.sampled_from(MODES))
def test_one_rank_has_nothing_to_shard(parameters: float, optimizer: OptimizerName, mode: Mode) -> None:
    assert static_bytes_per_card(parameters, 1, mode, optimizer) == static_bytes_per_card(
        parameters, 1, "dp", optimizer
    )


@given(PARAMETERS, GPUS, GPUS, st.sampled_from(OPTIMIZERS), st.sampled_from(SHARDED))
def test_more_ranks_never_hold_more(
    parameters: float, one: int, other: int, optimizer: OptimizerName, mode: Mode
) -> None:
    fewer, more = sorted((one, other))
    assert static_bytes_per_card(parameters, more, mode, optimizer) <= static_bytes_per_card(
        parameters, fewer, mode, optimizer
    )


@given(PARAMETERS, GPUS, st.sampled_from(OPTIMIZERS))
def test_each_stage_shards_more(parameters: float, gpus: int, optimizer: OptimizerName) -> None:
    stages: tuple[Mode, ...] = ("dp", "zero1", "zero2", "zero3")
    held = [static_bytes_per_card(parameters, gpus, mode, optimizer) for mode in stages]
    assert held == sorted(held, reverse=True)


@given(PARAMETERS, GPUS, st.sampled_from(OPTIMIZERS))
def test_full_sharding_stores_the_state_once(parameters: float, gpus: int, optimizer: OptimizerName) -> None:
    over_all = static_bytes_per_card(parameters, gpus, "zero3", optimizer) * gpus
    assert over_all == pytest.approx(static_bytes_per_card(parameters, 1, "dp", optimizer))


@given(PARAMETERS, st.floats(0, 1), GPUS, st.sampled_from(MODES))
def test_freezing_never_costs(parameters: float, share: float, gpus: int, mode: Mode) -> None:
    some = static_bytes_per_card(parameters, gpus, mode, trainable_parameters=parameters * share)
    assert some <= static_bytes_per_card(parameters, gpus, mode) * (1 + 1e-12)


@given(
    parameters=PARAMETERS,
    gpus=st.integers(1, 512),
    tensor_parallel=st.integers(1, 8),
    mode=st.sampled_from(MODES),
    optimizer=st.sampled_from(OPTIMIZERS),
)
def test_result_is_consistent(**request: Any) -> None:
    result = compute(**request)
    card = result.per_card
    parts = card.weights_gb + card.gradients_gb + card.master_gb + card.optimizer_gb
    assert card.total_gb == pytest.approx(parts, abs=0.0026)  # five numbers, each rounded by at most 0.0005
    assert result.cluster.total_gb == pytest.approx(card.total_gb * result.cards, abs=0.0005 * (result.cards + 1.1))
    assert 0 <= result.percent_less_than_dp < 100
    plain = static_bytes_per_card(
        request["parameters"],
        request["gpus"],
        request["mode"],
        request["optimizer"],
        tensor_parallel=request["tensor_parallel"],
    )
    assert card.total_gb == round(plain / 1e9, 3)


def test_every_optimizer_has_its_bytes() -> None:
    assert set(OPTIMIZER_STATE_BYTES) == set(OPTIMIZERS)
