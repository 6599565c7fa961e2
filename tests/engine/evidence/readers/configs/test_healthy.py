"""A configuration alone is no complaint: five that healthy runs use, and what is certainly wrong in two."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.diagnose import Diagnoser
from engine.evidence.normalise import Readings
from engine.model.case import Case

TRAINER = """{"output_dir": "o", "per_device_train_batch_size": 8, "gradient_accumulation_steps": 4, "bf16": true,
  "fp16": false, "learning_rate": 2e-5, "warmup_steps": 0, "warmup_ratio": 0.0, "dataloader_num_workers": 0,
  "gradient_checkpointing": false, "max_grad_norm": 0.0, "adam_beta2": 0.999, "adam_epsilon": 1e-8,
  "num_train_epochs": 3.0, "max_steps": -1, "logging_nan_inf_filter": true, "torch_compile": false,
  "eval_strategy": "no", "lr_scheduler_type": "linear"}"""
DEEPSPEED = """{"train_batch_size": 512, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2,
  "fp16": {"enabled": true, "loss_scale": 0, "initial_scale_power": 16}, "zero_optimization": {"stage": 1},
  "optimizer": {"type": "Adam", "params": {"lr": 1e-4}}, "gradient_clipping": 1.0}"""
MEGATRON = """#!/bin/bash
#SBATCH --nodes=16
#SBATCH --gpus-per-node=8
srun python pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --num-layers 48 \\
  --hidden-size 8192 --micro-batch-size 1 --global-batch-size 512 --seq-length 4096 --lr 1e-4 --bf16 \\
  --max-position-embeddings 4096 --init-method-std 0.02 --train-iters 10000 --lr-warmup-iters 0 --num-workers 2
"""
AXOLOTL = """
base_model: org/model
adapter: lora
lora_r: 8
lora_alpha: 16
sequence_len: 2048
micro_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 2e-4
optimizer: adamw_bnb_8bit
flash_attention: false
gradient_checkpointing: false
warmup_steps: 10
bf16: auto
num_epochs: 1
train_on_inputs: true
"""
MODEL = """{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 8192, "vocab_size": 128256,
  "num_hidden_layers": 80, "max_position_embeddings": 8192, "torch_dtype": "bfloat16", "initializer_range": 0.02,
  "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2, "temperature": 1.5, "max_length": 20}"""


def as_case(read: Readings) -> Case:
    stated: dict[str, object] = {one.fact: one.value for one in read.facts}
    stated |= {one.finding: one.state for one in read.findings}
    return Case.model_validate({"facts": stated})


@pytest.mark.parametrize("text", [TRAINER, DEEPSPEED, MEGATRON, AXOLOTL, MODEL])
def test_a_healthy_configuration_is_silent(
    diagnoser: Diagnoser, readings: Callable[[str], Readings], text: str
) -> None:
    read = readings(text)
    assert read.facts
    found = diagnoser.diagnose(as_case(read), [])
    assert [one.id for one in found.findings] == []
    assert [one.id for one in found.causes] == []


@pytest.mark.parametrize(
    ("before", "after", "finding"),
    [
        ('"fp16": false', '"fp16": true', "config.values-contradict"),
        ('"warmup_steps": 0, "warmup_ratio": 0.0', '"warmup_steps": 900', "schedule.warmup-beyond-run"),
    ],
)
def test_what_is_certainly_wrong_is_told(
    diagnoser: Diagnoser, readings: Callable[[str], Readings], before: str, after: str, finding: str
) -> None:
    text = TRAINER.replace(before, after).replace('"max_steps": -1', '"max_steps": 500')
    assert text != TRAINER
    found = diagnoser.diagnose(as_case(readings(text)), [])
    assert finding in [one.id for one in found.findings]
