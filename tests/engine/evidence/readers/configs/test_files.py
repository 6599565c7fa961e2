"""Configuration files: what is one, and what of a damaged one is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.evidence.readers.configs import FORMATS
from engine.evidence.readers.configs.syntax import ConfigSyntaxError, options_of, syntax_of
from engine.evidence.series import RunRecord

SLURM = """#!/bin/bash
#SBATCH --job-name=test
#SBATCH --nodes=4  # all
#SBATCH --gres=gpu:a100:8
#SBATCH --cpus-per-task=12
export NCCL_DEBUG=INFO
MICRO_BATCH=2
LAUNCHER="torchrun --nnodes $SLURM_NNODES --nproc_per_node 8"
GPT_ARGS=(
    --num-layers 32
    --micro-batch-size ${MICRO_BATCH}  # samples
    --tensor-model-parallel-size ${TP:-4}
)
# srun python never.py --lr 9
srun python pretrain_gpt.py \\
    ${GPT_ARGS[@]} \\
    --train-iters 500 --lr 1.5e-4 --bf16
"""


def test_a_batch_script(facts: Callable[[str], dict[str, object]], record: Callable[[str], RunRecord]) -> None:
    assert facts(SLURM) == {
        "parallel.nodes": 4.0, "parallel.gpus_per_node": 8.0, "parallel.world_size": 32.0, "dataloader.cores": 12.0,
        "model.layers": 32.0, "batch.micro": 2.0, "parallel.tp": 4.0, "run.total_steps": 500.0, "lr.peak": 1.5e-4,
        "run.bf16_flag": True,
    }  # fmt: skip
    assert record(SLURM).config["environment"] == {"NCCL_DEBUG": "INFO"}


@pytest.mark.parametrize(
    ("text", "syntax"),
    [
        ('{"a": 1}', "json"), ("a: 1\nb:\n  - c\n", "yaml"), ("[t]\na = 1\n", "toml"), ("a = 1\nb = 'x'\n", "python"),
        ("#!/bin/sh\necho 1\n", "script"), ("", None), ("# only a remark\n", None),
        ("step 1: loss 2.0\nstep 2: loss 1.9\n", None),
        ("INFO: starting\nTraceback (most recent call last):\n  File x\nValueError: no\n", None),
    ],
)  # fmt: skip
def test_the_syntax_of_a_text(text: str, syntax: str | None) -> None:
    assert syntax_of(text) == syntax


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "package", "version": "1.0", "dependencies": {}}',
        "services:\n  web:\n    image: x\n",
        "iteration 1/ 10 | lm loss: 2.0\n",
        "case:\n  report: slow\n  files:\n    config.json: {peft_type: LORA}\n",
        "x = 1\ny = 2\n",
    ],
)
def test_what_is_no_configuration_of_a_trainer(text: str) -> None:
    assert not any(one.recognises(text.encode()) for one in FORMATS)


@pytest.mark.parametrize(
    ("text", "syntax"),
    [
        ('{"a": 1', "json"), ("a: [1\nb: 2\n", "yaml"), ("a = \n[t\n", "toml"), ("a = (1\n", "python"),
        ("[" * 100_000, "json"), ("{" * 5_000 + "}" * 5_000, "yaml"), ("[1]", "json"),
        ("a = " + "-" * 50_000 + "1", "python"),
    ],
)  # fmt: skip
def test_a_damaged_configuration_says_so(text: str, syntax: str) -> None:
    with pytest.raises(ConfigSyntaxError):
        options_of(text, syntax)


def test_nothing_in_a_python_configuration_is_run() -> None:
    text = "a = 2 * 3 + 1\nb = a / 2\nc = __import__('os').getpid()\nd = 1 / 0\ne = 9 ** 9 ** 9\nf: int = 4\n"
    text += "g = 10\n" + "g = g * g\n" * 100
    assert options_of(text, "python") == {"a": 7, "b": 3.5, "f": 4, "g": 10**32}


def test_checkpoint_files_of_the_collection(samples: Path) -> None:
    found = {
        str(path.relative_to(samples / "checkpoints")): any(
            one.recognises(path.read_bytes()[:65536]) for one in FORMATS
        )
        for path in (samples / "checkpoints").rglob("*.json")
    }
    assert found["cpt_large_summarizer/config.json"]
    assert found["cpt_large_summarizer/generation_config.json"]
    assert found["cpt_large_summarizer/tokenizer_config.json"]
    assert found["pythia_410m_chatbot_incomplete/config.json"]
    assert not found["gemma_2b_shards_missing/model.safetensors.index.json"]
    assert not found["git_lfs_pointers_unpulled/adapter_config.json"]
