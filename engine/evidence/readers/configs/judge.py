"""What is certainly wrong in a configuration, and what only counts beside a symptom."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from engine.model.evidence import FactReading, FindingReading, Source, Value

CONTRADICTION = "config.values-contradict"

# An option left off, or at the default of its tool: no fault by itself.
_LEFT_OFF: dict[str, Callable[[Value], bool]] = {
    "dataloader.workers": lambda value: isinstance(value, float) and value <= 1,
    "memory.activation_checkpointing": lambda value: value is False,
    "run.flash_attention": lambda value: value is False,
    "lr.warmup_steps": lambda value: value == 0,
    "lr.warmup_share": lambda value: value == 0,
    "clip.max_norm": lambda value: value == 0,
    "model.init_std": lambda _: True,  # every configuration carries one, and most are loaded over
}

Taken = Mapping[str, FactReading]


def is_left_off(reading: FactReading) -> bool:
    """Whether the fact is the absence of a setting, which healthy runs share."""
    test = _LEFT_OFF.get(reading.fact)
    return test is not None and test(reading.value)


def contradictions(taken: Taken) -> list[FindingReading]:
    """Values of one configuration that cannot hold at the same time: the tool refuses them, or one has no effect."""
    return [
        FindingReading(CONTRADICTION, "present", Source("measured", readings[0].source.where, _quote(readings)))
        for readings in (*_both_halves(taken), *_batch(taken), *_ranks(taken))
    ][:1]


def _quote(readings: tuple[FactReading, ...]) -> str:
    return "; ".join(reading.source.quote for reading in readings)[:300]


def _numbers(taken: Taken, *facts: str) -> list[float] | None:
    """Positive values of all the facts, or None if one is missing."""
    values = [reading.value for fact in facts if (reading := taken.get(fact)) is not None]
    numbers = [value for value in values if isinstance(value, float) and value > 0]
    return numbers if len(numbers) == len(facts) else None


def _both_halves(taken: Taken) -> Iterator[tuple[FactReading, ...]]:
    """The trainers raise on fp16 and bf16 together."""
    flags = [taken[fact] for fact in ("run.fp16_flag", "run.bf16_flag") if fact in taken]
    if len(flags) == 2 and all(flag.value is True for flag in flags):
        yield tuple(flags)


def _batch(taken: Taken) -> Iterator[tuple[FactReading, ...]]:
    """Global batch = micro batch x accumulation x data-parallel size, the last a whole number: DeepSpeed asserts it."""
    facts = ("batch.global", "batch.micro", "batch.accumulation")
    if numbers := _numbers(taken, *facts):
        whole, micro, rounds = numbers
        if whole % (micro * rounds):
            yield tuple(taken[fact] for fact in facts)


def _ranks(taken: Taken) -> Iterator[tuple[FactReading, ...]]:
    """The world divides by the product of the model-parallel sizes."""
    sizes = [fact for fact in ("parallel.tp", "parallel.pp", "parallel.cp") if _numbers(taken, fact)]
    world = _numbers(taken, "parallel.world_size")
    if not world or not sizes:
        return
    product = 1.0
    for value in _numbers(taken, *sizes) or []:
        product *= value
    if world[0] % product:
        yield tuple(taken[fact] for fact in ("parallel.world_size", *sizes))
