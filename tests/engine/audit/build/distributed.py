"""Sharded training state: DeepSpeed's folders and those of torch.distributed.checkpoint, with whole weights beside."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from tests.engine.audit.build import pickled, weights
from tests.engine.audit.build.pickled import Call, Name
from tests.engine.audit.build.weights import Raw, f32
from tests.engine.audit.given import Given

RANKS = 2
_DCP = "torch.distributed.checkpoint."


def model_weights(seed: int = 0) -> dict[str, Raw]:
    random = np.random.default_rng(seed)
    return {name: f32(random.normal(size=shape)) for name, shape in (("a.weight", (4, 3)), ("b.weight", (6,)))}


def optimizer_state(count: int | list[int] = RANKS, stage: int = 2) -> dict[str, Any]:
    """What one rank of DeepSpeed saves of its optimizer."""
    parts = {"single_partition_of_fp32_groups": [f32(np.arange(9))], "loss_scaler": None}
    stage_member = Call(Name("deepspeed.runtime.zero.config", "ZeroStageEnum"), (stage,))
    return {"optimizer_state_dict": {"zero_stage": stage_member, "partition_count": count, **parts}, "ds_version": "1"}


def rank_file(tag: Path, rank: int) -> Path:
    return tag / f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt"


def write_tag(root: Path, step: int, stage: int, saved: dict[str, Raw], ranks: int = RANKS) -> Path:
    """One state of DeepSpeed."""
    tag = root / f"global_step{step}"
    for rank in range(ranks):
        pickled.save(rank_file(tag, rank), optimizer_state([ranks, ranks], stage))
        if stage == 3:
            empty = {name: f32(np.zeros(0)) for name in saved}
            state = {"module": pickled.state_dict(empty), "global_steps": step}
            pickled.save(tag / f"zero_pp_rank_{rank}_mp_rank_00_model_states.pt", state)
    if stage < 3:
        state = {"module": pickled.state_dict(saved), "global_steps": step}
        pickled.save(tag / "mp_rank_00_model_states.pt", state)
    return tag


def deepspeed(folder: Path, stage: int = 2) -> Given:
    """Two states, ``latest``, and the whole weights of the later one."""
    root = folder / "model"
    saved = model_weights(1)
    write_tag(root, 5, stage, model_weights(0))
    write_tag(root, 10, stage, saved)
    (root / "latest").write_text("global_step10\n")
    weights.save(root / "model.safetensors", saved)
    return Given(root, {"paradigm": "pretrain", "release_kind": "internal"})


def deepspeed3(folder: Path) -> Given:
    """The same at ZeRO stage 3, where only shards of the weights are in the state."""
    return deepspeed(folder, 3)


def resume(folder: Path) -> Given:
    """A state to go on from: no whole weights are asked for."""
    given = deepspeed(folder)
    (given.root / "model.safetensors").unlink()
    return Given(given.root, {"paradigm": "pretrain", "release_kind": "resume"})


def metadata(tensors: dict[str, tuple[tuple[int, ...], list[tuple[tuple[int, ...], tuple[int, ...]]]]],
             places: dict[tuple[str, tuple[int, ...]], tuple[str, int, int]]) -> Call:  # fmt: skip
    """A ``.metadata``: shape and pieces of each tensor, and where each piece lies."""

    def made(name: str, module: str = "metadata", **state: Any) -> Call:
        return Call(Name(f"{_DCP}{module}", name), (), state, new=True)

    def size(shape: tuple[int, ...]) -> Call:
        return Call(Name("torch", "Size"), (shape,))

    return made(
        "Metadata",
        state_dict_metadata={
            name: made(
                "TensorStorageMetadata",
                size=size(shape),
                chunks=[made("ChunkStorageMetadata", offsets=size(o), sizes=size(s)) for o, s in chunks],
            )
            for name, (shape, chunks) in tensors.items()
        },
        planner_data=None,
        storage_data={
            made("MetadataIndex", fqn=name, offset=size(offset), index=0): made(
                "_StorageInfo", "filesystem", relative_path=path, offset=begin, length=length
            )
            for (name, offset), (path, begin, length) in places.items()
        },
    )


def dcp(folder: Path) -> Given:
    """Two shards, each with half of the rows of one tensor, and whole weights beside them."""
    root = folder / "model"
    state = root / "step-10"
    state.mkdir(parents=True)
    whole = f32(np.arange(24.0).reshape(8, 3))
    places = {}
    for rank in range(2):
        half = f32(whole.floats()[4 * rank : 4 * rank + 4])
        piece, step = pickled.torch_zip(half), pickled.torch_zip({"step": 10})
        (state / f"__{rank}_0.distcp").write_bytes(piece + step)
        places["a.weight", (4 * rank, 0)] = (f"__{rank}_0.distcp", 0, len(piece))
    pieces = [((0, 0), (4, 3)), ((4, 0), (4, 3))]
    write_metadata(state, {"a.weight": ((8, 3), pieces)}, places)
    weights.save(root / "model.safetensors", {"a.weight": whole})
    return Given(root, {"paradigm": "pretrain", "release_kind": "internal"})


def write_metadata(state: Path, *layout: Any) -> None:
    (state / ".metadata").write_bytes(pickled.Writer().dumps(metadata(*layout)))


def age(path: Path, hours: float) -> None:
    """Let a file be so much older."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - int(hours * 3.6e12)))
