"""The healthy side of sharded training state, and what cannot be said of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.audit.decide import Auditor
from engine.audit.pickles.dcp import Layout
from engine.model.audit import AuditedGate
from tests.engine.audit.build import pickled, weights
from tests.engine.audit.build.distributed import (
    age,
    dcp,
    deepspeed,
    deepspeed3,
    model_weights,
    optimizer_state,
    rank_file,
    resume,
    write_metadata,
    write_tag,
)
from tests.engine.audit.given import Given, audited

GROUP = "distributed/"


def gates_of(auditor: Auditor, given: Given) -> dict[str, AuditedGate]:
    gates = audited(auditor, given).gates
    return {gate.id.removeprefix(GROUP): gate for gate in gates if gate.id.startswith(GROUP)}


@pytest.mark.parametrize("build", [deepspeed, deepspeed3, dcp, resume])
def test_a_whole_state_passes_every_gate_that_applies(tmp_path: Path, auditor: Auditor, build: object) -> None:
    gates = gates_of(auditor, build(tmp_path))  # type: ignore[operator]
    assert {gate.status for gate in gates.values()} <= {"pass", "not_applicable"}
    assert "pass" in {gate.status for gate in gates.values()}


def test_nothing_applies_without_sharded_state(tmp_path: Path, auditor: Auditor) -> None:
    weights.save(tmp_path / "model.safetensors", model_weights())
    assert {gate.status for gate in gates_of(auditor, Given(tmp_path)).values()} == {"not_applicable"}


def test_groups_of_parameters_may_be_spread_over_fewer_ranks(tmp_path: Path, auditor: Auditor) -> None:
    given = deepspeed(tmp_path)
    for rank in range(2):
        pickled.save(rank_file(given.root / "global_step10", rank), optimizer_state([1, 2]))
    assert gates_of(auditor, given)["ds-rank-files"].status == "pass"


def test_a_state_that_says_no_number_of_ranks_is_not_enough_evidence(tmp_path: Path, auditor: Auditor) -> None:
    given = deepspeed(tmp_path)
    for rank in range(2):
        pickled.save(rank_file(given.root / "global_step10", rank), {"optimizer_state_dict": {}})
    assert gates_of(auditor, given)["ds-rank-files"].status == "not_enough_evidence"


def test_without_optimizer_files_no_rank_is_missing(tmp_path: Path, auditor: Auditor) -> None:
    given = deepspeed(tmp_path)
    for path in given.root.rglob("*_optim_states.pt"):
        path.unlink()
    gates = gates_of(auditor, given)
    assert (gates["ds-rank-files"].status, gates["ds-model-states"].status) == ("not_applicable", "pass")


def test_a_newer_state_that_is_not_whole_is_not_the_one_to_name(tmp_path: Path, auditor: Auditor) -> None:
    given = deepspeed(tmp_path)
    tag = write_tag(given.root, 15, 2, model_weights(2))
    (given.root / "latest").write_text("global_step15")
    weights.save(given.root / "model.safetensors", model_weights(2))
    assert gates_of(auditor, given)["ds-latest"].status == "pass"
    rank_file(tag, 1).unlink()
    (given.root / "latest").write_text("global_step10")
    assert gates_of(auditor, given)["ds-latest"].status == "pass"


@pytest.mark.parametrize("name", ["../other", "", "/etc", "global_step10/../../x", "\x00"])
def test_latest_names_a_folder_beside_it(tmp_path: Path, auditor: Auditor, name: str) -> None:
    given = deepspeed(tmp_path)
    (given.root / "latest").write_text(name)
    assert gates_of(auditor, given)["ds-latest"].status == "fail"


def test_a_file_named_latest_that_is_of_something_else_says_nothing(tmp_path: Path, auditor: Auditor) -> None:
    weights.save(tmp_path / "model.safetensors", model_weights())
    (tmp_path / "latest").write_text("v1.2")
    assert gates_of(auditor, Given(tmp_path))["ds-latest"].status == "not_applicable"


def test_a_file_named_metadata_that_is_no_pickle_says_nothing(tmp_path: Path, auditor: Auditor) -> None:
    weights.save(tmp_path / "model.safetensors", model_weights())
    (tmp_path / ".metadata").write_text("written by hand")
    assert {gate.status for gate in gates_of(auditor, Given(tmp_path)).values()} == {"not_applicable"}


def test_without_latest_there_is_not_enough_evidence(tmp_path: Path, auditor: Auditor) -> None:
    given = deepspeed(tmp_path)
    (given.root / "latest").unlink()
    assert gates_of(auditor, given)["ds-latest"].status == "not_enough_evidence"


@pytest.mark.parametrize(("hours", "status"), [(0.9, "pass"), (1.1, "fail")])
def test_weights_that_cannot_be_compared_may_be_an_hour_older(
    tmp_path: Path, auditor: Auditor, hours: float, status: str
) -> None:
    given = deepspeed3(tmp_path)
    age(given.root / "model.safetensors", hours)
    assert gates_of(auditor, given)["dist-consolidated-fresh"].status == status


def test_weights_with_the_same_numbers_may_be_as_old_as_they_like(tmp_path: Path, auditor: Auditor) -> None:
    given = deepspeed(tmp_path)
    age(given.root / "model.safetensors", 100)
    assert gates_of(auditor, given)["dist-consolidated-fresh"].status == "pass"


def test_weights_in_another_folder_than_the_state_may_be_of_a_later_step(tmp_path: Path, auditor: Auditor) -> None:
    given = deepspeed(tmp_path)
    state = given.root / "checkpoint-10"
    state.mkdir()
    for name in ("global_step5", "global_step10", "latest"):
        shutil.move(given.root / name, state / name)
    weights.save(given.root / "model.safetensors", model_weights(7))
    assert gates_of(auditor, given)["dist-consolidated-fresh"].status == "pass"


def test_an_unknown_use_is_not_enough_evidence_for_what_must_be_released(tmp_path: Path, auditor: Auditor) -> None:
    given = deepspeed(tmp_path)
    gates = gates_of(auditor, Given(given.root, {"paradigm": "pretrain"}))
    assert gates["dist-consolidated-fresh"].status == "not_enough_evidence"


def test_metadata_of_another_version_is_not_enough_evidence(tmp_path: Path, auditor: Auditor) -> None:
    given = dcp(tmp_path)
    other = pickled.Call(pickled.Name("torch.distributed.checkpoint.metadata", "MetadataV2"), (), {}, new=True)
    (given.root / "step-10" / ".metadata").write_bytes(pickled.Writer().dumps(other))
    assert gates_of(auditor, given)["dcp-extents"].status == "not_enough_evidence"


def test_metadata_that_leads_out_of_the_folder_is_a_failure(tmp_path: Path, auditor: Auditor) -> None:
    given = dcp(tmp_path)
    (tmp_path / "secret").write_bytes(b"x" * 1000)
    places = {("a.weight", (0, 0)): ("../../secret", 0, 10)}
    write_metadata(given.root / "step-10", {"a.weight": ((8, 3), [((0, 0), (8, 3))])}, places)
    gate = gates_of(auditor, given)["dcp-extents"]
    assert (gate.status, gate.observed) == ("fail", "absent")


@pytest.mark.parametrize(
    ("shape", "chunks", "wrong"),
    [
        ((), [((), ())], False),
        ((4,), [((0,), (2,)), ((2,), (2,)), ((4,), (0,))], False),
        ((4, 4), [((0, 0), (2, 4)), ((2, 0), (2, 2)), ((2, 2), (2, 2))], False),
        ((4, 4), [((0, 0), (2, 4)), ((2, 0), (2, 2))], True),
        ((4,), [((0,), (2,)), ((1,), (2,))], True),
        ((4,), [((0,), (2,)), ((0,), (2,))], True),
        ((4,), [((3,), (4,))], True),
        ((4,), [], True),
        ((0,), [], False),
    ],
)  # fmt: skip
def test_pieces_cover_a_tensor_exactly_once(
    shape: tuple[int, ...], chunks: list[tuple[tuple[int, ...], tuple[int, ...]]], wrong: bool
) -> None:
    layout = Layout({"w": shape}, {"w": chunks}, {})
    assert bool(list(layout.badly_tiled())) is wrong
