"""One defect for every gate of sharded training state, on both sides of what decides it."""

from __future__ import annotations

import shutil

import numpy as np

from tests.engine.audit.build import pickled, weights
from tests.engine.audit.build.distributed import (
    RANKS,
    age,
    dcp,
    deepspeed,
    deepspeed3,
    model_weights,
    optimizer_state,
    rank_file,
    resume,
    write_metadata,
)
from tests.engine.audit.build.weights import f32
from tests.engine.audit.given import Defect, Given

_PIECES = [((0, 0), (4, 3)), ((4, 0), (4, 3))]


def _latest_is_gone(given: Given) -> None:
    shutil.rmtree(given.root / "global_step10")


def _latest_is_old(given: Given) -> None:
    (given.root / "latest").write_text("global_step5")


def _rank_is_lost(given: Given) -> None:
    rank_file(given.root / "global_step10", 1).unlink()


def _rank_of_a_larger_run(given: Given) -> None:
    tag = given.root / "global_step10"
    shutil.copy(rank_file(tag, 1), rank_file(tag, 2))


def _parts_of_two_saves(given: Given) -> None:
    pickled.save(rank_file(given.root / "global_step10", 1), optimizer_state(1))


def _stage_differs(given: Given) -> None:
    pickled.save(rank_file(given.root / "global_step10", 1), optimizer_state(2, stage=1))


def _model_file_is_lost(given: Given) -> None:
    (given.root / "global_step10" / "mp_rank_00_model_states.pt").unlink()


def _model_file_of_a_rank_is_lost(given: Given) -> None:
    (given.root / "global_step10" / "zero_pp_rank_1_mp_rank_00_model_states.pt").unlink()


def _model_file_is_cut(given: Given) -> None:
    path = given.root / "global_step10" / "mp_rank_00_model_states.pt"
    path.write_bytes(path.read_bytes()[:-100])


def _metadata_is_lost(given: Given) -> None:
    (given.root / "step-10" / ".metadata").unlink()


def _shard_is_lost(given: Given) -> None:
    (given.root / "step-10" / "__1_0.distcp").unlink()


def _shard_is_short(given: Given) -> None:
    state = given.root / "step-10"
    size = (state / "__1_0.distcp").stat().st_size
    places = {("a.weight", (4 * rank, 0)): (f"__{rank}_0.distcp", 0, size + rank) for rank in range(2)}
    write_metadata(state, {"a.weight": ((8, 3), _PIECES)}, places)


def _layout(pieces: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> object:
    def spoil(given: Given) -> None:
        places = {("a.weight", offset): ("__0_0.distcp", 0, 100) for offset, _ in pieces}
        write_metadata(given.root / "step-10", {"a.weight": ((8, 3), pieces)}, places)

    return spoil


def _piece_without_place(given: Given) -> None:
    places = {("a.weight", (0, 0)): ("__0_0.distcp", 0, 100)}
    write_metadata(given.root / "step-10", {"a.weight": ((8, 3), _PIECES)}, places)


def _only_shards(given: Given) -> None:
    (given.root / "model.safetensors").unlink()


def _weights_of_another_step(given: Given) -> None:
    weights.save(given.root / "model.safetensors", model_weights(0))


def _weights_are_older(given: Given) -> None:
    age(given.root / "model.safetensors", 1.1)


def _shard_with_nan(given: Given) -> None:
    """One number of the second shard, changed in place; the whole weights are those of another place."""
    path = given.root / "step-10" / "__1_0.distcp"
    content, number = path.read_bytes(), np.float32(14.0).tobytes()
    assert content.count(number) == 1
    path.write_bytes(content.replace(number, np.float32(np.nan).tobytes()))


def _shards_of_zeros(given: Given) -> None:
    for rank in range(2):
        path = given.root / "step-10" / f"__{rank}_0.distcp"
        numbers = np.arange(12.0 * rank, 12.0 * rank + 12, dtype=np.float32).tobytes()
        content = path.read_bytes()
        assert content.count(numbers) == 1
        path.write_bytes(content.replace(numbers, bytes(len(numbers))))


def _master_weights_with_inf(given: Given) -> None:
    state = optimizer_state([RANKS, RANKS])
    numbers = np.array([1.0, np.inf, 3.0])
    state["optimizer_state_dict"]["single_partition_of_fp32_groups"] = [f32(numbers)]
    pickled.save(rank_file(given.root / "global_step10", 1), state)


DEFECTS: tuple[Defect, ...] = (
    Defect("distributed/state-finite", dcp, _shard_with_nan),
    Defect("distributed/state-finite", dcp, _shards_of_zeros),
    Defect("distributed/state-finite", deepspeed, _master_weights_with_inf),
    Defect("distributed/ds-latest", deepspeed, _latest_is_gone, frozenset({"distributed/dist-consolidated-fresh"})),
    Defect("distributed/ds-latest", deepspeed, _latest_is_old),
    Defect("distributed/ds-latest", resume, _latest_is_old),
    Defect("distributed/ds-rank-files", deepspeed, _rank_is_lost),
    Defect("distributed/ds-rank-files", deepspeed, _rank_of_a_larger_run),
    Defect("distributed/ds-rank-files", deepspeed, _parts_of_two_saves),
    Defect("distributed/ds-rank-files", deepspeed, _stage_differs),
    Defect("distributed/ds-model-states", deepspeed, _model_file_is_lost),
    Defect("distributed/ds-model-states", deepspeed3, _model_file_of_a_rank_is_lost),
    Defect("distributed/ds-model-states", deepspeed, _model_file_is_cut, frozenset({"security/sec-pickle-parse"})),
    Defect("distributed/dcp-metadata", dcp, _metadata_is_lost),
    Defect("distributed/dcp-extents", dcp, _shard_is_lost),
    Defect("distributed/dcp-extents", dcp, _shard_is_short),
    Defect("distributed/dcp-extents", dcp, _layout([((0, 0), (4, 3)), ((4, 0), (3, 3))]), name="hole"),
    Defect("distributed/dcp-extents", dcp, _layout([((0, 0), (4, 3)), ((3, 0), (4, 3))]), name="overlap"),
    Defect("distributed/dcp-extents", dcp, _layout([((0, 0), (4, 3)), ((5, 0), (4, 3))]), name="beyond"),
    Defect("distributed/dcp-extents", dcp, _piece_without_place),
    Defect("distributed/dist-consolidated-fresh", deepspeed, _only_shards),
    Defect("distributed/dist-consolidated-fresh", dcp, _only_shards),
    Defect("distributed/dist-consolidated-fresh", deepspeed, _weights_of_another_step),
    Defect("distributed/dist-consolidated-fresh", deepspeed3, _weights_are_older),
    Defect("distributed/dist-consolidated-fresh", dcp, _weights_are_older),
)
