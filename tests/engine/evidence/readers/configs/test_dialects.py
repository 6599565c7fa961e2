"""Configurations of each trainer, as facts: the same name means different things in different tools."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.evidence.configuration import read_config
from engine.evidence.normalise import Readings
from engine.evidence.readers.configs.dialects import DIALECTS, dialect_of
from engine.evidence.vocabulary import Vocabulary

Facts = Callable[[str], dict[str, object]]

DEEPSPEED = """{
  "train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4,
  "fp16": {"enabled": false, "loss_scale": 0}, "bf16": {"enabled": true}, "gradient_clipping": 1.0,
  "optimizer": {"type": "AdamW", "params": {"lr": "1e-4", "betas": [0.9, 0.95], "eps": 1e-8}},
  "scheduler": {"params": {"warmup_num_steps": 100, "warmup_max_lr": 1e-4, "total_num_steps": "auto"}},
  "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "none"}}
}"""
AUTO = """{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "fp16": {"enabled": "auto"},
  "gradient_clipping": "auto", "zero_optimization": {"stage": 2}}"""
TRAINER = """
output_dir: out
per_device_train_batch_size: 4
gradient_accumulation_steps: 8
learning_rate: 2.0e-5
lr_scheduler_type: cosine
warmup_ratio: 0.03
warmup_steps: 0
num_train_epochs: 3
max_steps: -1
bf16: true
tf32: true
gradient_checkpointing: true
fsdp: "full_shard auto_wrap"
max_grad_norm: 1.0
save_strategy: epoch
save_steps: 500
optim: adamw_torch
resume_from_checkpoint: null
"""
ACCELERATE = """
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_sharding_strategy: SHARD_GRAD_OP
  fsdp_activation_checkpointing: true
machine_rank: 0
mixed_precision: bf16
num_machines: 2
num_processes: 16
"""
TORCHTITAN = """
[job]
description = "test"  # a note
[optimizer]
name = "AdamW"
lr = 3e-4
[lr_scheduler]
warmup_steps = 200
[training]
local_batch_size = 8
seq_len = 8192
max_norm = 1.0
steps = 1000
[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 4
[activation_checkpoint]
mode = "selective"
[compile]
enable = true
"""
AXOLOTL = """
base_model: org/model
datasets:
  - path: data.jsonl
    type: chat_template
sequence_len: 4096
sample_packing: true
adapter: qlora
lora_r: 32
lora_alpha: 16
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 2
learning_rate: 0.0002
warmup_steps: 10
bf16: auto
load_in_4bit: true
gradient_checkpointing: unsloth
deepspeed: deepspeed_configs/zero2.json
train_on_inputs: false
"""
LLAMA_FACTORY = """
stage: sft
finetuning_type: lora
lora_rank: 8
cutoff_len: 2048
per_device_train_batch_size: 1
learning_rate: 1.0e-4
warmup_ratio: 0.1
deepspeed: examples/deepspeed/ds_z3_config.json
"""
FOUNDRY = """
max_seq_len: 2048
global_train_batch_size: 256
device_train_microbatch_size: 8
model: {d_model: 768, n_layers: 12, vocab_size: 50368}
train_loader: {num_workers: 8, drop_last: true}
optimizer: {name: decoupled_adamw, lr: 6.0e-4, betas: [0.9, 0.95]}
scheduler: {name: cosine_with_warmup, t_warmup: 100ba}
max_duration: 4800ba
precision: amp_bf16
fsdp_config: {sharding_strategy: FULL_SHARD, mixed_precision: PURE, activation_checkpointing: false}
algorithms: {gradient_clipping: {clipping_type: norm, clipping_threshold: 1.0}}
"""
NANOGPT = """
# a comment
batch_size = 12
block_size = 1024
gradient_accumulation_steps = 5 * 8
n_layer = 12
learning_rate = 6e-4
max_iters = 600000
warmup_iters = 2000
dtype = 'bfloat16'
compile = True
out_dir = open('x')
"""
ADAPTER = """{"peft_type": "LORA", "r": 16, "lora_alpha": 32, "base_model_name_or_path": "org/model",
  "modules_to_save": ["lm_head"], "target_modules": ["q_proj", "v_proj"]}"""
MODEL = """{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "vocab_size": 32000,
  "num_hidden_layers": 32, "max_position_embeddings": 4096, "torch_dtype": "float16", "rope_scaling": null,
  "max_length": 20, "initializer_range": 0.02}"""
TOKENIZER = """{"tokenizer_class": "LlamaTokenizer", "model_max_length": 1000000000000000019884624838656,
  "eos_token": {"content": "</s>", "lstrip": false}, "pad_token": "<pad>",
  "added_tokens_decoder": {"0": {"content": "<unk>"}, "32000": {"content": "<pad>"}}}"""
POOLING = """{"word_embedding_dimension": 384, "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true,
  "pooling_mode_max_tokens": false}"""
CARD = "train_batch_size: 8\ntotal_train_batch_size: 64\nlearning_rate: 5e-05\n"

EXPECTED = {
    "deepspeed": (DEEPSPEED, {
        "batch.global": 64.0, "batch.micro": 2.0, "batch.accumulation": 4.0, "run.fp16_flag": False,
        "run.bf16_flag": True, "clip.max_norm": 1.0, "optimizer.name": "adamw", "lr.peak": 1e-4,
        "optimizer.beta2": 0.95, "optimizer.eps": 1e-8, "lr.warmup_steps": 100.0, "parallel.sharding": "zero3",
    }),
    "deepspeed, auto": (AUTO, {"parallel.sharding": "zero2"}),
    "trainer": (TRAINER, {
        "batch.micro": 4.0, "batch.accumulation": 8.0, "lr.peak": 2e-5, "lr.warmup_share": 0.03, "data.epochs": 3.0,
        "run.bf16_flag": True, "memory.activation_checkpointing": True, "parallel.sharding": "fsdp",
        "clip.max_norm": 1.0, "optimizer.name": "adamw",
    }),
    "accelerate": (ACCELERATE, {
        "parallel.sharding": "zero2", "memory.activation_checkpointing": True, "run.precision": "bf16",
        "parallel.nodes": 2.0, "parallel.world_size": 16.0,
    }),
    "torchtitan": (TORCHTITAN, {
        "optimizer.name": "adamw", "lr.peak": 3e-4, "lr.warmup_steps": 200.0, "batch.micro": 8.0,
        "batch.sequence_length": 8192.0, "clip.max_norm": 1.0, "run.total_steps": 1000.0, "parallel.sharding": "fsdp",
        "parallel.tp": 4.0, "memory.activation_checkpointing": True, "run.compiled": True,
    }),
    "axolotl": (AXOLOTL, {
        "batch.sequence_length": 4096.0, "run.packing": True, "run.lora": True, "run.quantised_base": True,
        "lora.rank": 32.0, "lora.alpha": 16.0, "batch.micro": 2.0, "batch.accumulation": 4.0, "data.epochs": 2.0,
        "lr.peak": 2e-4, "lr.warmup_steps": 10.0, "memory.activation_checkpointing": True,
        "parallel.sharding": "zero2", "labels.assistant_only": True,
    }),
    "llama_factory": (LLAMA_FACTORY, {
        "run.lora": True, "lora.rank": 8.0, "batch.sequence_length": 2048.0, "batch.micro": 1.0, "lr.peak": 1e-4,
        "lr.warmup_share": 0.1, "parallel.sharding": "zero3",
    }),
    "llm_foundry": (FOUNDRY, {
        "batch.sequence_length": 2048.0, "batch.global": 256.0, "batch.micro": 8.0, "model.hidden_size": 768.0,
        "model.vocab_size": 50368.0, "dataloader.workers": 8.0, "optimizer.name": "adamw", "lr.peak": 6e-4,
        "optimizer.beta2": 0.95, "lr.warmup_steps": 100.0, "run.total_steps": 4800.0, "run.precision": "bf16",
        "parallel.sharding": "fsdp", "memory.activation_checkpointing": False, "clip.max_norm": 1.0,
    }),
    "nanogpt": (NANOGPT, {
        "batch.micro": 12.0, "batch.sequence_length": 1024.0, "batch.global": 480.0, "model.layers": 12.0,
        "lr.peak": 6e-4, "run.total_steps": 600000.0, "lr.warmup_steps": 2000.0, "run.precision": "bf16",
        "run.compiled": True,
    }),
    "adapter": (ADAPTER, {"run.lora": True, "lora.rank": 16.0, "lora.alpha": 32.0, "lora.head_trained": True}),
    "model": (MODEL, {
        "model.hidden_size": 4096.0, "model.vocab_size": 32000.0, "model.layers": 32.0, "model.max_positions": 4096.0,
        "export.dtype_requested": "fp16",
    }),
    "tokenizer": (TOKENIZER, {
        "tokenizer.eos_token": "</s>", "tokenizer.pad_token": "<pad>", "tokenizer.id_max": 32000.0,
    }),
    "pooling": (POOLING, {"embedding.pooling_train": "mean", "embedding.pooling_dimension": 384.0}),
    "model card": (CARD, {"batch.micro": 8.0, "batch.global": 64.0, "lr.peak": 5e-5}),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_the_facts_of_a_configuration(facts: Facts, name: str) -> None:
    text, expected = EXPECTED[name]
    assert facts(text) == expected


@pytest.mark.parametrize("name", EXPECTED)
def test_nothing_of_a_known_configuration_is_a_riddle(readings: Callable[[str], Readings], name: str) -> None:
    read = readings(EXPECTED[name][0])
    assert read.not_understood == []
    assert read.findings == []
    assert all(one.source.where.startswith("file: ") for one in read.facts)


def test_the_source_is_the_option_as_it_stands(readings: Callable[[str], Readings]) -> None:
    stage = next(one for one in readings(DEEPSPEED).facts if one.fact == "parallel.sharding")
    assert stage.source.where == "file: zero_optimization.stage"
    assert stage.source.quote == "zero_optimization.stage: 3"


@pytest.mark.parametrize(
    ("text", "told", "quiet"),
    [
        ('{"output_dir": "o", "per_device_train_batch_size": 1, "warmup_steps": 0, "warmup_ratio": 0.1}',
         {"lr.warmup_share": 0.1}, {"lr.warmup_steps"}),
        ('{"output_dir": "o", "per_device_train_batch_size": 1, "num_train_epochs": 3, "max_steps": 500}',
         {"run.total_steps": 500.0}, {"data.epochs"}),
        ('{"output_dir": "o", "per_device_train_batch_size": 1, "eval_strategy": "no", "eval_steps": 500}',
         {}, {"eval.interval_steps"}),
        ('{"output_dir": "o", "per_device_train_batch_size": 1, "resume_from_checkpoint": "out/checkpoint-500"}',
         {"run.resumed": True}, set()),
        ('{"tokenizer_class": "X", "eos_token": "</s>", "model_max_length": 4096}', {}, {"batch.sequence_length"}),
        ('{"model_type": "qwen2", "vocab_size": 9, "max_position_embeddings": 9, "rope_scaling": {"factor": 4}}',
         {}, {"model.max_positions"}),
    ],
)  # fmt: skip
def test_options_that_are_not_in_force(facts: Facts, text: str, told: dict[str, object], quiet: set[str]) -> None:
    found = facts(text)
    assert told.items() <= found.items()
    assert not quiet & found.keys()


def test_what_is_left_off_is_held_until_there_is_a_symptom(readings: Callable[[str], Readings]) -> None:
    text = """{"output_dir": "o", "per_device_train_batch_size": 8, "dataloader_num_workers": 0,
      "gradient_checkpointing": false, "warmup_steps": 0, "max_grad_norm": 0.0, "bf16": true}"""
    read = readings(text)
    held = {"dataloader.workers", "memory.activation_checkpointing", "lr.warmup_steps", "clip.max_norm"}
    assert {one.fact for one in read.held} == held
    assert {one.fact for one in read.facts} == {"batch.micro", "run.bf16_flag"}


@pytest.mark.parametrize(
    ("text", "contradicts"),
    [
        ('{"output_dir": "o", "learning_rate": 1, "fp16": true, "bf16": true}', True),
        ('{"output_dir": "o", "learning_rate": 1, "fp16": true, "bf16": false}', False),
        ('{"train_batch_size": 30, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}', True),
        ('{"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}', False),
        ('{"tensor_model_parallel_size": 4, "pipeline_model_parallel_size": 2, "world_size": 12}', True),
        ('{"tensor_model_parallel_size": 4, "pipeline_model_parallel_size": 2, "world_size": 16}', False),
    ],
)
def test_values_that_cannot_hold_together(readings: Callable[[str], Readings], text: str, contradicts: bool) -> None:
    found = [one.finding for one in readings(text).findings]
    assert found == (["config.values-contradict"] if contradicts else [])


def test_each_fact_of_the_dialects_is_declared(vocabulary: Vocabulary) -> None:
    named = {fact for dialect in DIALECTS for fact in dialect.facts.values() if fact}
    assert named <= vocabulary.facts.keys()


def test_other_mappings_have_no_dialect(vocabulary: Vocabulary) -> None:
    assert dialect_of(["name", "version", "dependencies"]) is None
    assert read_config("x", {"learning_rate": 1e-4}, vocabulary).facts[0].fact == "lr.last"
