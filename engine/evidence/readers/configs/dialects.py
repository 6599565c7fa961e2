"""What the options of each tool mean: one name stands for different quantities in different tools.

``batch_size`` is samples of one rank in nanoGPT and of all ranks elsewhere, ``model_max_length`` a limit of the
tokenizer in its own file and the training length in a trainer's. A dialect is recognised by options that only its tool
has; options it does not name are read by their aliases in the vocabulary. Sources: the argument classes and example
configurations of each tool (releases of 2023 to 2026).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from engine.evidence.readers.configs import computed

Options = Mapping[str, object]
"""Values by dotted path."""

NOTHING = ""
"""Instead of a fact: the option is known and says nothing of the run."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """``marks``: sets of options, of which one set must be there; ``facts``: fact ids by path or its last parts.

    ``computed`` gives (path, fact, value) of what takes more than one option, or another reading of its value.
    """

    id: str
    marks: tuple[frozenset[str], ...]
    facts: Mapping[str, str]
    computed: Callable[[Options], Iterator[computed.Found]] = computed.nothing

    def fact(self, path: str) -> str | None:
        """The fact of an option, NOTHING, or None if the dialect does not name it; the longest path wins.

        A name that ends in ``.*`` is a whole section.
        """
        parts = path.split(".")
        if len(parts) > 1 and f"{parts[0]}.*" in self.facts:
            return self.facts[f"{parts[0]}.*"]
        return next((self.facts[key] for at in range(len(parts)) if (key := ".".join(parts[at:])) in self.facts), None)


def _dialect(
    id_: str,
    marks: str,
    facts: dict[str, str],
    nothing: str = "",
    compute: Callable[[Options], Iterator[computed.Found]] = computed.nothing,
) -> Dialect:
    sets = tuple(frozenset(one.split()) for one in marks.split("|"))
    return Dialect(id_, sets, MappingProxyType({**dict.fromkeys(nothing.split(), NOTHING), **facts}), compute)


# In every trainer: the configured rate is the peak, and the working copy is not what the optimizer updates.
_TRAINER = {"learning_rate": "lr.peak", "lr": "lr.peak", "optimizer.name": "optimizer.name"}
_NEVER = (
    "param_dtype params_dtype loss_scale initial_loss_scale logging_nan_inf_filter eval_batch_size"
    " per_device_eval_batch_size"
)

# Generation defaults and initialisation that every model configuration carries.
_MODEL_ONLY = (
    "max_length min_length temperature repetition_penalty initializer_range init_std hidden_dim"
    " max_position_embeddings n_positions"
)
_HUGGING_FACE = (
    f"{_NEVER} warmup_steps warmup_ratio num_train_epochs max_steps save_steps eval_steps fsdp deepspeed"
    " fsdp_config.min_num_params train_batch_size resume_from_checkpoint max_prompt_length temperature"
    " gradient_checkpointing"
)

# The first that is recognised counts: those with the rarest marks come first.
DIALECTS = (
    _dialect(  # W&B keeps the trainer's arguments and the model's configuration in one
        "tracked_hugging_face", "model_type per_device_train_batch_size", _TRAINER,
        f"{_HUGGING_FACE} {_MODEL_ONLY} torch_dtype dtype vocab_size", computed.tracked,
    ),
    _dialect(
        "megatron",
        "tensor_model_parallel_size|train_iters global_batch_size|micro_batch_size train_iters|"
        "pipeline_model_parallel_size|train_samples lr_warmup_samples",
        _TRAINER | {"train_iters": "run.total_steps", "init_method_std": "model.init_std", "rank": NOTHING},
        f"{_NEVER} max_length num_experts dataloader_type recompute_activations vocab_size model_size"
        " train_batch_size lr_warmup_iters lr_warmup_fraction lr_warmup_samples zero_stage",
        computed.megatron,
    ),
    _dialect(
        "deepspeed",
        "zero_optimization|train_micro_batch_size_per_gpu|zero_optimization_stage",
        _TRAINER
        | {
            "fp16.enabled": "run.fp16_flag", "bf16.enabled": "run.bf16_flag", "bfloat16.enabled": "run.bf16_flag",
            "zero_optimization.stage": "parallel.sharding", "optimizer.type": "optimizer.name",
            "fp16_enabled": "run.fp16_flag", "bfloat16_enabled": "run.bf16_flag", "optimizer_name": "optimizer.name",
            "optimizer.params.lr": "lr.peak", "optimizer.params.eps": "optimizer.eps",
            "scheduler.params.warmup_max_lr": "lr.peak", "scheduler.params.warmup_num_steps": "lr.warmup_steps",
            "scheduler.params.total_num_steps": "run.total_steps",
        },
        f"{_NEVER} aio.* aio_config.* data_efficiency.* data_efficiency_config.* dynamic_train_config.* autotuning.*"
        " autotuning_config.* elasticity.* curriculum_learning.* flops_profiler.*",
        computed.deepspeed,
    ),
    _dialect(
        "tokenizer", "tokenizer_class|added_tokens_decoder|cls_token eos_token|unk_token eos_token",
        {"eos_token.content": "tokenizer.eos_token", "pad_token.content": "tokenizer.pad_token",
         "bos_token.content": "tokenizer.bos_token"},
        "model_max_length max_length vocab_size normalized",
        computed.tokenizer,
    ),
    _dialect(
        "adapter", "peft_type",
        {"r": "lora.rank", "lora_alpha": "lora.alpha", "train_config.lr": "lr.peak",
         "train_config.optimizer_kwargs.lr": "lr.peak", "train_config.dtype": "run.precision",
         "train_config.batch_size": "batch.micro", "train_config.grad_norm_clip": "clip.max_norm",
         "train_config.max_steps": "run.total_steps", "train_config.optimizer_type": "optimizer.name",
         "train_config.use_gc": "memory.activation_checkpointing"},
        "modules_to_save batch_size_eval generation_kwargs.max_length query_template dtype alpha",
        computed.adapter,
    ),
    _dialect(
        "model", "model_type architectures|model_type hidden_size|model_type vocab_size|architectures vocab_size",
        {"torch_dtype": "export.dtype_requested", "dtype": "export.dtype_requested", "dim": "model.hidden_size",
         "n_layers": "model.layers"},
        f"{_MODEL_ONLY} max_seq_len"
        " text_config.dtype vision_config.hidden_size",
        computed.model,
    ),
    _dialect(
        "pooling", "pooling_mode_mean_tokens|word_embedding_dimension", {},
        "pooling_mode_cls_token pooling_mode_max_tokens", computed.pooling,
    ),
    _dialect("generation", "_from_model_config|eos_token_id transformers_version", {}, "max_length"),
    _dialect(
        "accelerate", "distributed_type num_processes|distributed_type machine_rank",
        _TRAINER
        | {
            "num_processes": "parallel.world_size", "num_machines": "parallel.nodes",
            "megatron_lm_tp_degree": "parallel.tp", "megatron_lm_pp_degree": "parallel.pp",
            "fsdp_activation_checkpointing": "memory.activation_checkpointing",
        },
        f"{_NEVER} mixed_precision zero_stage zero3_init_flag",
        computed.accelerate,
    ),
    _dialect(
        "torchtitan",
        "training.seq_len training.steps|training.local_batch_size|parallelism.data_parallel_shard_degree|"
        "experimental.pipeline_parallel_degree training",
        _TRAINER
        | {
            "training.batch_size": "batch.micro", "training.local_batch_size": "batch.micro",
            "training.max_norm": "clip.max_norm", "training.steps": "run.total_steps",
            "training.mixed_precision_param": "run.precision", "compile.enable": "run.compiled",
            "checkpoint.interval": "checkpoint.interval_steps",
            "tensor_parallel_degree": "parallel.tp", "pipeline_parallel_degree": "parallel.pp",
            "context_parallel_degree": "parallel.cp",
        },
        f"{_NEVER} training.data_parallel_degree training.dataset",
        computed.torchtitan,
    ),
    _dialect(
        "llm_foundry",
        "device_train_microbatch_size|global_train_batch_size|max_seq_len train_loader|"
        "max_seq_len variables.global_train_batch_size",
        _TRAINER
        | {
            "global_train_batch_size": "batch.global", "device_train_microbatch_size": "batch.micro",
            "clipping_threshold": "clip.max_norm", "fsdp_config.sharding_strategy": "parallel.sharding",
            "fsdp_config.activation_checkpointing": "memory.activation_checkpointing", "model.max_seq_len": NOTHING,
        },
        f"{_NEVER} eval_interval save_interval model_max_length fsdp_config.mixed_precision eval_loader.num_workers"
        " device_eval_batch_size",
        computed.llm_foundry,
    ),
    _dialect(
        "llama_factory", "finetuning_type|cutoff_len stage|cutoff_len template",
        _TRAINER | {"pref_beta": "dpo.beta", "max_steps": "run.total_steps"},
        f"{_NEVER} max_length flash_attn warmup_steps warmup_ratio",
        computed.hugging_face,
    ),
    _dialect(
        "axolotl", "base_model micro_batch_size|base_model sequence_len|sample_packing sequence_len",
        _TRAINER | {"sequence_len": "batch.sequence_length", "max_steps": "run.total_steps"},
        f"{_NEVER} eval_steps save_steps lora_modules_to_save warmup_steps warmup_ratio gradient_checkpointing",
        computed.hugging_face,
    ),
    _dialect(
        "model_card", "total_train_batch_size train_batch_size",
        _TRAINER | {"train_batch_size": "batch.micro", "total_train_batch_size": "batch.global"},
        _NEVER,
    ),
    _dialect(
        "hugging_face",
        "per_device_train_batch_size|per_gpu_train_batch_size|output_dir learning_rate|"
        "gradient_accumulation_steps output_dir|num_train_epochs lr_scheduler_type",
        _TRAINER,
        _HUGGING_FACE,
        computed.hugging_face,
    ),
    _dialect(
        "nanogpt", "block_size n_embd|block_size max_iters|n_embd max_iters|block_size learning_rate",
        _TRAINER | {"batch_size": "batch.micro", "max_iters": "run.total_steps"},
        f"{_NEVER} gradient_accumulation_steps dataset device",
        computed.nanogpt,
    ),
    _dialect("trainer_state", "global_step max_steps|global_step train_batch_size", {"train_batch_size": "batch.micro"},
             "max_steps epoch"),
    _dialect("harness", "model_args|bootstrap_iters", {}, "batch_size dtype limit"),
)  # fmt: skip


def dialect_of(paths: Collection[str]) -> Dialect | None:
    """The dialect of a configuration, by its dotted paths and their parts from either end; None if unknown."""
    present: set[str] = set()
    for path in paths:
        parts = path.split(".")
        present.update(".".join(parts[:at]) for at in range(1, len(parts) + 1))
        present.update(".".join(parts[at:]) for at in range(len(parts)))
    return next((one for one in DIALECTS if any(marks <= present for marks in one.marks)), None)
