"""Options of launch commands."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.evidence.readers.configs import flags_of

WORLD = base64.urlsafe_b64encode(json.dumps({"a": [0, 1, 2, 3], "b": [0, 1, 2, 3]}).encode()).decode()


@pytest.mark.parametrize(
    ("line", "options"),
    [
        (
            "+ torchrun --nproc_per_node=8 --nnodes 2 train.py --micro-batch-size 4 --lr 1e-4 --bf16 --betas 0.9 0.95",
            {"nproc_per_node": "8", "nnodes": "2", "micro_batch_size": "4", "lr": "1e-4", "bf16": True,
             "betas": ["0.9", "0.95"], "world_size": 16},
        ),
        ("$ python train.py --name='a run' --lr 3e-4", {"name": "a run", "lr": "3e-4"}),
        ("python train.py trainer.max_steps=100 +model.dim=512 --seed 1",
         {"trainer.max_steps": "100", "model.dim": "512", "seed": "1"}),
        ("srun --nodes=4 --ntasks-per-node 8 python -u pretrain.py --fp16 --seq-length 2048",
         {"nodes": "4", "ntasks_per_node": "8", "fp16": True, "seq_length": "2048", "world_size": 32}),
        ("accelerate launch --num_processes 8 --mixed_precision bf16 sft.py --learning_rate 2e-5",
         {"num_processes": "8", "mixed_precision": "bf16", "learning_rate": "2e-5"}),
        (f"cmd = /usr/bin/python3 -u -m deepspeed.launcher.launch --world_info={WORLD} main.py --zero_stage 3",
         {"world_info": WORLD, "zero_stage": "3", "world_size": 8, "nnodes": 2}),
        ("torchrun --nproc_per_node 8 --nnodes 1:4 train.py", {"nproc_per_node": "8", "nnodes": "1:4"}),
        ("deepspeed --num_gpus 4 train.py --bf16 | tee log", {"num_gpus": "4", "bf16": True, "world_size": 4}),
    ],
)  # fmt: skip
def test_flags_of_a_launch_line(line: str, options: dict[str, object]) -> None:
    assert dict(flags_of(line)) == options


@pytest.mark.parametrize(
    "line",
    [
        "iteration 10 --weird thing",
        "Traceback: file train.py --lr 1e-4",
        "we don't train with python here - really",
        "",
    ],
)
def test_other_lines_launch_nothing(line: str) -> None:
    assert not flags_of(line)


@given(st.text(max_size=200))
def test_any_text_behind_a_launcher_is_read_or_left(text: str) -> None:
    assert all(isinstance(name, str) and name for name in flags_of(f"torchrun --x 1 {text}"))
