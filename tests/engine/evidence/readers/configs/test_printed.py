"""Settings that logs print, and the logs around them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.evidence.configuration import read_config
from engine.evidence.readers.configs.printed import PrintedSettings, literal
from engine.evidence.series import RunRecord
from engine.evidence.vocabulary import Vocabulary

ARGUMENTS = """using world size: 8, data-parallel size: 2, tensor-model-parallel size: 4
------------------------ arguments ------------------------
  adam_beta2 ...................................... 0.95
  bf16 ............................................ True
  clip_grad ....................................... 1.0
  data_parallel_size .............................. 2
  fp16 ............................................ False
  global_batch_size ............................... 64
  hidden_size ..................................... 4096
  load ............................................ None
  lr .............................................. 0.00015
  micro_batch_size ................................ 4
  num_layers ...................................... 32
  padded_vocab_size ............................... 50304
  params_dtype .................................... torch.bfloat16
  recompute_granularity ........................... selective
  seq_length ...................................... 4096
  tensor_model_parallel_size ...................... 4
  train_iters ..................................... 1000
  use_distributed_optimizer ....................... True
  world_size ...................................... 8
-------------------- end of arguments ---------------------
"""
TRAINING_ARGUMENTS = """
06/01/2026 10:00:00 - INFO - __main__ - Training/evaluation parameters TrainingArguments(
_n_gpu=1,
adam_beta2=0.999,
bf16=True,
eval_strategy=IntervalStrategy.NO,
eval_steps=None,
fp16=False,
fsdp=[],
gradient_accumulation_steps=2,
gradient_checkpointing=True,
learning_rate=5e-05,
num_train_epochs=3.0,
optim=OptimizerNames.ADAMW_TORCH,
output_dir=/data/out,
per_device_train_batch_size=8,
warmup_ratio=0.0,
warmup_steps=0,
)
{'loss': 2.1, 'learning_rate': 5e-05, 'epoch': 0.1}
"""
DEEPSPEED = """
[2026-01-01 10:00:00,000] [INFO] [config.py:1002:print] DeepSpeedEngine configuration:
[2026-01-01 10:00:00,001] [INFO] [config.py:1006:print]   bfloat16_enabled ............. True
[2026-01-01 10:00:00,001] [INFO] [config.py:1006:print]   gradient_accumulation_steps .. 2
[2026-01-01 10:00:00,001] [INFO] [config.py:1006:print]   train_micro_batch_size_per_gpu  4
[2026-01-01 10:00:00,001] [INFO] [config.py:1006:print]   world_size ................... 4
[2026-01-01 10:00:00,001] [INFO] [config.py:1006:print]   zero_optimization_stage ...... 2
"""


@pytest.fixture
def printed(record: Callable[[str], RunRecord], vocabulary: Vocabulary) -> Callable[[str], dict[str, object]]:
    def get(text: str) -> dict[str, object]:
        read = read_config("log", record(text).config, vocabulary)
        return {one.fact: one.value for one in [*read.facts, *read.held]}

    return get


def test_the_argument_table_of_megatron(printed: Callable[[str], dict[str, object]]) -> None:
    assert printed(ARGUMENTS) == {
        "optimizer.beta2": 0.95, "run.bf16_flag": True, "clip.max_norm": 1.0, "parallel.dp": 2.0,
        "run.fp16_flag": False, "batch.global": 64.0, "model.hidden_size": 4096.0, "lr.peak": 0.00015,
        "batch.micro": 4.0, "model.layers": 32.0, "model.vocab_size": 50304.0,
        "memory.activation_checkpointing": True, "batch.sequence_length": 4096.0, "parallel.tp": 4.0,
        "run.total_steps": 1000.0, "parallel.sharding": "zero1", "parallel.world_size": 8.0,
    }  # fmt: skip


def test_a_printed_argument_object_and_the_log_behind_it(
    record: Callable[[str], RunRecord], printed: Callable[[str], dict[str, object]]
) -> None:
    assert printed(TRAINING_ARGUMENTS) == {
        "optimizer.beta2": 0.999, "run.bf16_flag": True, "run.fp16_flag": False, "batch.accumulation": 2.0,
        "memory.activation_checkpointing": True, "lr.peak": 5e-05, "data.epochs": 3.0, "optimizer.name": "adamw",
        "batch.micro": 8.0, "lr.warmup_share": 0.0,
    }  # fmt: skip
    assert next(one.name for one in record(TRAINING_ARGUMENTS).series) == "loss"


def test_what_the_engine_of_deepspeed_prints(printed: Callable[[str], dict[str, object]]) -> None:
    assert printed(DEEPSPEED) == {
        "run.bf16_flag": True, "batch.accumulation": 2.0, "parallel.dp": 4.0, "parallel.sharding": "zero2",
    }  # fmt: skip


def test_a_namespace_on_one_line() -> None:
    settings = PrintedSettings()
    assert settings.take("args: Namespace(lr=0.0003, name='a, b', layers=[1, 2], resume=None, amp=True)")
    assert settings.options == {"lr": 0.0003, "name": "a, b", "layers": [1, 2], "resume": None, "amp": True}
    assert settings.open_lines == 0


def test_a_launch_line_in_a_log(printed: Callable[[str], dict[str, object]]) -> None:
    text = "+ torchrun --nproc_per_node=4 train.py --per_device_train_batch_size 2 --output_dir o --bf16\nstep 1\n"
    assert printed(text) == {
        "parallel.gpus_per_node": 4.0, "batch.micro": 2.0, "run.bf16_flag": True, "parallel.world_size": 4.0,
    }  # fmt: skip


def test_an_open_object_ends_with_the_next_other_line() -> None:
    settings = PrintedSettings()
    settings.take("TrainingArguments(")
    assert settings.take("bf16=True,")
    assert not settings.take("step 1 of 10: loss 2.0")
    assert not settings.take("fp16=True,")
    assert settings.options == {"bf16": True}


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-4", 1e-4), ("True", True), ("None", None), ("torch.float16", "torch.float16"), ("(0.9, 0.95)", [0.9, 0.95]),
     ("'a b'", "a b"), ("((((", "(((("), ("1or 2", "1or 2"), ("'\\d'", "\\d")],
)  # fmt: skip
def test_values_as_python_prints_them(text: str, value: object) -> None:
    assert literal(text) == value
