"""Facts of a configuration that take more than the name of an option: (path, fact, value)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

Options = Mapping[str, object]
Found = tuple[str, str, object]

_ZERO_FILE = re.compile(r"z(?:ero)?[-_]?(?:stage)?[-_]?([123])(?!\d)", re.IGNORECASE)
_FSDP_NUMBERS = {"1": "fsdp", "2": "zero2", "3": "none", "4": "fsdp"}  # torch.distributed.fsdp.ShardingStrategy
_LONGEST_NUMBER = 40  # characters
_HEADS = ("lm_head", "embed_tokens", "wte", "output_layer")


def nothing(_options: Options) -> Iterator[Found]:
    """Nothing beyond the names."""
    return iter(())


def last(options: Options, name: str) -> tuple[str, object]:
    """The path that ends in ``name`` and its value, the outermost; ("", None) if there is none."""
    paths = [path for path in options if path == name or path.endswith(f".{name}")]
    path = min(paths, key=lambda one: one.count("."), default="")
    return path, options.get(path)


def number(value: object) -> float | None:
    """A number, also one written as text ("1e-4", "10_000"); None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and len(value) > _LONGEST_NUMBER:
        return None
    match = re.fullmatch(r"\s*([-+]?\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?)\s*", f"{value}")
    return float(match[1].replace("_", "")) if match else None


def truth(value: object) -> bool | None:
    """True or false, as YAML, JSON, Python and command lines write them."""
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else None


def _positive(options: Options, name: str, fact: str) -> Iterator[Found]:
    path, value = last(options, name)
    parsed = number(value)
    if parsed is not None and parsed > 0:
        yield path, fact, parsed


def _warmup(options: Options, total: tuple[str, ...] = ("max_steps",)) -> Iterator[Found]:
    """Warm-up in steps or as a share: one of the two is left at zero, and then says nothing."""
    steps_path, steps = last(options, "warmup_steps")
    share_path, share = last(options, "warmup_ratio")
    given_steps, given_share = number(steps), number(share)
    if given_steps is not None and 0 < given_steps < 1:  # since transformers 5 a fraction is a share
        yield steps_path, "lr.warmup_share", given_steps
    elif given_steps or (given_share is None and given_steps is not None):
        yield steps_path, "lr.warmup_steps", given_steps
    elif given_share is not None:
        yield share_path, "lr.warmup_share", given_share
    for name in total:
        yield from _positive(options, name, "run.total_steps")


def _sharding(options: Options) -> Iterator[Found]:
    """ZeRO by the name of the configuration file that is passed, FSDP by its strategy."""
    path, value = last(options, "deepspeed")
    if isinstance(value, str) and (stage := _ZERO_FILE.search(value)):
        yield path, "parallel.sharding", f"zero{stage[1]}"
        return
    for name in ("fsdp_sharding_strategy", "sharding_strategy", "fsdp"):
        path, value = last(options, name)
        words = " ".join(map(str, value)) if isinstance(value, list) else str(value or "")
        if found := fsdp(words):
            yield path, "parallel.sharding", found
            return


def fsdp(strategy: str) -> str:
    """The sharding of an FSDP strategy: "full_shard auto_wrap", SHARD_GRAD_OP, or its number; "" if none is named."""
    words = strategy.strip().lower()
    if words in _FSDP_NUMBERS:
        return _FSDP_NUMBERS[words]
    if "full_shard" in words or "hybrid_shard" in words or words == "true":
        return "fsdp"
    return "zero2" if "shard_grad_op" in words else "none" if "no_shard" in words else ""


def _checkpointing(options: Options) -> Iterator[Found]:
    path, value = last(options, "gradient_checkpointing")
    if path and value not in (None, ""):
        said = truth(value)  # axolotl also takes the name of a method
        yield path, "memory.activation_checkpointing", said if said is not None else True


def _adapter_kind(options: Options) -> Iterator[Found]:
    for name in ("adapter", "finetuning_type"):
        path, value = last(options, name)
        if isinstance(value, str) and value:
            yield path, "run.lora", value.lower() in ("lora", "qlora", "dora")
            if value.lower() == "qlora":
                yield path, "run.quantised_base", True
    path, bits = last(options, "quantization_bit")
    if number(bits):
        yield path, "run.quantised_base", True


def hugging_face(options: Options) -> Iterator[Found]:
    """Trainer arguments, also those of TRL, LLaMA-Factory and axolotl: what is in force depends on other options."""
    yield from _warmup(options)
    yield from _sharding(options)
    yield from _checkpointing(options)
    yield from _adapter_kind(options)
    if (number(last(options, "max_steps")[1]) or 0) <= 0:  # a limit in steps overrides the epochs
        yield from _positive(options, "num_train_epochs", "data.epochs")
    for what, fact in (("save", "checkpoint.interval_steps"), ("eval", "eval.interval_steps")):
        strategy = last(options, f"{what}_strategy")[1] or last(options, "evaluation_strategy")[1]
        path, every = last(options, f"{what}_steps")
        steps = number(every)
        if (strategy is None or "steps" in str(strategy).lower()) and steps is not None and steps >= 1:
            yield path, fact, steps
    path, resumed = last(options, "resume_from_checkpoint")
    if resumed not in (None, "", False, "None", "none", "false", "False"):
        yield path, "run.resumed", True
    for flag in ("train_on_inputs", "train_on_prompt"):
        path, value = last(options, flag)
        if (said := truth(value)) is not None:
            yield path, "labels.assistant_only", not said


def deepspeed(options: Options) -> Iterator[Found]:
    """ZeRO stage as a number, and beta2 of the optimizer."""
    path, betas = last(options, "optimizer.params.betas")
    if isinstance(betas, list) and len(betas) == 2 and (second := number(betas[1])) is not None:
        yield path, "optimizer.beta2", second
    path, stage = last(options, "zero_optimization.stage")
    if not path:  # as its engine prints it
        path, stage = last(options, "zero_optimization_stage")
    if (level := number(stage)) is not None:
        yield path, "parallel.sharding", "none" if level == 0 else f"zero{level:g}"


def accelerate(options: Options) -> Iterator[Found]:
    """One of DeepSpeed, FSDP or plain DDP, by the distributed type."""
    kind = str(last(options, "distributed_type")[1]).upper()
    path, stage = last(options, "zero_stage")
    if kind == "DEEPSPEED" and (level := number(stage)) is not None:
        yield path, "parallel.sharding", "none" if level == 0 else f"zero{level:g}"
    elif kind == "FSDP":
        found = list(_sharding(options))
        yield from found or [("distributed_type", "parallel.sharding", "fsdp")]
    elif kind in ("MULTI_GPU", "NO", "FALSE"):
        yield "distributed_type", "parallel.sharding", "none"
    path, precision = last(options, "mixed_precision")
    if isinstance(precision, str) and precision.lower() not in ("no", "none"):
        yield path, "run.precision", precision


def tracked(options: Options) -> Iterator[Found]:
    """The trainer's arguments beside the model's configuration."""
    yield from hugging_face(options)
    yield from model(options)
    yield from _positive(options, "vocab_size", "model.vocab_size")


def megatron(options: Options) -> Iterator[Found]:
    """Sharding, recomputation, warm-up by whichever option is set, rows of the padded vocabulary."""
    stage_path, stage = next(
        (found for name in ("zero_stage", "zero_optimization_stage") if (found := last(options, name))[0]), ("", None)
    )
    if (level := number(stage)) is not None and level > 0:
        yield stage_path, "parallel.sharding", f"zero{level:g}"
    share, iterations = last(options, "lr_warmup_fraction"), last(options, "lr_warmup_iters")
    if number(share[1]):
        yield share[0], "lr.warmup_share", number(share[1])
    elif number(iterations[1]) or (number(iterations[1]) == 0 and not number(last(options, "lr_warmup_samples")[1])):
        yield iterations[0], "lr.warmup_steps", number(iterations[1])
    path, value = last(options, "use_distributed_optimizer")
    if truth(value):
        yield path, "parallel.sharding", "zero1"
    path, value = last(options, "recompute_granularity")
    if path:
        yield path, "memory.activation_checkpointing", value not in (None, "None", "", "none")
    for name in ("padded_vocab_size", "vocab_size"):
        yield from _positive(options, name, "model.vocab_size")
    yield from _positive(options, "max_position_embeddings", "model.max_positions")


def torchtitan(options: Options) -> Iterator[Found]:
    """Degrees of -1 mean "what is left"; activation checkpointing by mode."""
    yield from _positive(options, "global_batch_size", "batch.global")
    path, mode = last(options, "activation_checkpoint.mode")
    if isinstance(mode, str):
        yield path, "memory.activation_checkpointing", mode.lower() != "none"
    path, shards = last(options, "data_parallel_shard_degree")
    degree = number(shards)
    if degree is not None and degree != 1:
        yield path, "parallel.sharding", "fsdp"
    yield from _positive(options, "warmup_steps", "lr.warmup_steps")


def llm_foundry(options: Options) -> Iterator[Found]:
    """Durations such as 100ba (batches): only batches are steps."""
    for name, fact in (("t_warmup", "lr.warmup_steps"), ("max_duration", "run.total_steps")):
        path, value = last(options, name)
        batches = number(value[:-2]) if isinstance(value, str) and value.endswith("ba") else None
        if batches is not None:
            yield path, fact, batches
    path, betas = last(options, "optimizer.betas")
    if isinstance(betas, list) and len(betas) == 2 and (second := number(betas[1])) is not None:
        yield path, "optimizer.beta2", second


def nanogpt(options: Options) -> Iterator[Found]:
    """Its accumulation is a total, divided over the ranks when the run starts: the global batch is certain."""
    batch, rounds = number(options.get("batch_size")), number(options.get("gradient_accumulation_steps"))
    if batch and rounds:
        yield "gradient_accumulation_steps", "batch.global", batch * rounds


def adapter(options: Options) -> Iterator[Found]:
    """Kind of adapter, and whether embedding or head are trained in full."""
    path, kind = last(options, "peft_type")
    if isinstance(kind, str):
        yield path, "run.lora", kind.upper() == "LORA"
    path, saved = last(options, "modules_to_save")
    if isinstance(saved, list) and any(str(name).endswith(_HEADS) for name in saved):
        yield path, "lora.head_trained", True


def model(options: Options) -> Iterator[Found]:
    """Positions the model was built for, unless they are stretched by a rotary scaling."""
    stretched = any(".rope_scaling." in f".{path}" for path in options)
    for name in ("max_position_embeddings", "n_positions", "max_seq_len"):
        if not stretched and name in options:
            yield from _positive({name: options[name]}, name, "model.max_positions")


def tokenizer(options: Options) -> Iterator[Found]:
    """The largest id of an added token."""
    added = [int(part[1]) for path in options if (part := re.match(r"added_tokens_decoder\.(\d{1,9})\.", path))]
    if added:
        yield f"added_tokens_decoder.{max(added)}", "tokenizer.id_max", float(max(added))


def pooling(options: Options) -> Iterator[Found]:
    """The one pooling mode that is on; several or none say nothing."""
    modes = {
        "cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max", "lasttoken": "last",
        "weightedmean_tokens": "weighted_mean",
    }  # fmt: skip
    on = [(f"pooling_mode_{key}", mode) for key, mode in modes.items() if truth(options.get(f"pooling_mode_{key}"))]
    if len(on) == 1:
        yield on[0][0], "embedding.pooling_train", on[0][1]
    yield from _positive(options, "word_embedding_dimension", "embedding.pooling_dimension")
