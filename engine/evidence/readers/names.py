"""The names of metric series: every spelling of the tools to one canonical name, unit and scale.

Spellings are those of the tools' own logs: Megatron-LM and Megatron-DeepSpeed, Hugging Face Trainer, TRL, verl,
axolotl, LLaMA-Factory, and what people write into a chat.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType

MIB, GIB = float(2**20), float(2**30)


@dataclass(frozen=True, slots=True)
class Canonical:
    """A canonical series name with its unit and the factor that turns the given value into that unit."""

    name: str
    unit: str = ""
    scale: float = 1.0
    known: bool = True


UNITS = MappingProxyType({
    "step_time": "s", "dataloader_time": "s", "tokens_per_second": "tokens/s", "samples_per_second": "samples/s",
    "steps_per_second": "steps/s", "tflops": "TFLOP/s", "gpu_utilisation": "%", "gpu_memory_used": "bytes",
    "host_memory_used": "bytes", "sequence_length": "tokens", "global_batch": "samples",
    "skipped_steps": "steps", "nan_steps": "steps",
})  # fmt: skip

_ALIASES = {
    "loss": "loss train_loss lm_loss training_loss ce_loss cross_entropy total_loss loss_train avg_train_loss "
    "train_loss_epoch loss_epoch epoch_loss",
    "eval_loss": "eval_loss val_loss valid_loss validation_loss test_loss loss_val loss_eval lm_loss_validation "
    "loss_validation loss_valid eval_epoch_loss val_loss_epoch",
    "grad_norm": "grad_norm gradient_norm gnorm global_grad_norm total_norm grad_norms gradnorm train_grad_norm",
    "learning_rate": "learning_rate lr lr_avg actor_lr",
    "loss_scale": "loss_scale scaler_scale amp_scale grad_scale cur_scale",
    "skipped_steps": "skipped_steps number_of_skipped_iterations skipped_iterations overflow_steps",
    "nan_steps": "nan_steps number_of_nan_iterations nan_iterations",
    "epoch": "epoch epochs",
    "step_time": "step_time iter_time iteration_time time_per_iteration time_per_step elapsed_time_per_iteration "
    "seconds_per_iteration seconds_per_step sec_per_step s_it s_per_it step_seconds batch_time dt",
    "steps_per_second": "steps_per_second it_s its iterations_per_second iter_s train_steps_per_second "
    "train_speed_iter_s",
    "tokens_per_second": "tokens_per_second tokens_s tok_s tps tokens_sec tokens_sec_gpu wps throughput_tokens "
    "tokens_per_sec tokens_train_per_sec_per_gpu tgs",
    "samples_per_second": "samples_per_second samples_s samples_sec samples_per_sec train_samples_per_second ips",
    "tflops": "tflops throughput_per_gpu_tflop_s_gpu tflop_s throughput_per_gpu",
    "gpu_utilisation": "gpu_utilisation gpu_utilization gpu_util gpu_usage gpu_utilization_pct sm_util gpu_busy",
    "gpu_memory_used": "gpu_memory_used gpu_mem gpu_memory mem memory cuda_memory memory_used vram max_allocated "
    "memory_max_active memory_max_alloc memory_allocated peak_memory",
    "host_memory_used": "host_memory_used host_memory host_mem ram rss cpu_memory",
    "dataloader_time": "dataloader_time data_time batch_load_time data_loading_time data_wait",
    "batch_loading_share": "batch_loading_share dataloader_share data_share data_loading_share time_has_been_loading",
    "global_batch": "global_batch global_batch_size gbs",
    "sequence_length": "sequence_length seq_len seqlen sequence_len max_sequence_length length",
    "kl": "kl kl_div approx_kl mean_kl objective_kl",
    "entropy": "entropy policy_entropy policy_entropy_avg objective_entropy actor_entropy",
    "reward": "reward rewards reward_mean mean_reward average_reward average_reward_score objective_scores "
    "critic_score_mean critic_rewards_mean ppo_mean_scores env_reward_mean",
    "policy_loss": "policy_loss actor_loss act_loss pg_loss actor_pg_loss loss_policy_avg ppo_loss_policy",
    "value_loss": "value_loss critic_loss cri_loss vf_loss critic_vf_loss loss_value_avg ppo_loss_value",
    "clip_ratio": "clip_ratio clip_ratio_region_mean policy_clipfrac_avg actor_pg_clipfrac pg_clipfrac clipfrac "
    "ppo_policy_clipfrac",
    "completions/mean_length": "completions_mean_length completion_length response_length_mean mean_response_length",
    "completions/clipped_ratio": "completions_clipped_ratio response_length_clip_ratio",
}
_BY_ALIAS = MappingProxyType({alias: name for name, text in _ALIASES.items() for alias in text.split()})
# A terminal that wraps lines eats the blank at the break: "number of naniterations".
_BY_LETTERS = MappingProxyType({alias.replace("_", ""): name for alias, name in _BY_ALIAS.items() if len(alias) > 3})

# Words after a known name that keep its meaning. Others ("after_fix", "initial_", "step100") name another
# quantity.
_QUALIFIERS = frozenset({
    "attempt", "second", "first", "third", "run", "faulty", "bad", "mean", "avg", "average", "smoothed", "train",
    "training", "value", "values", "series", "curve", "log", "of", "the", "per", "step", "steps",
})  # fmt: skip
# unit in brackets or as the last word -> factor into the canonical unit
_SCALES = MappingProxyType({
    "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0, "gib": GIB, "mib": MIB, "gb": GIB, "mb": MIB, "kb": 1024.0,
    "bytes": 1.0, "b": 1.0, "pct": 1.0, "%": 1.0, "percent": 1.0,
})  # fmt: skip
_SCALED = frozenset({"step_time", "dataloader_time", "gpu_memory_used", "host_memory_used"})


def canonical(name: str, unit: str | None = None) -> Canonical:
    """Return the canonical name of a series; an unknown name is kept as it is, with ``known`` False."""
    text, found_unit = _split_unit(name)
    given = (unit or found_unit).strip().lower()
    words = [word for word in re.split(r"[^a-z0-9%]+", text.lower()) if word]
    known = _match(words)
    if known is None and len(words) > 1 and words[-1] in _SCALES:
        given, known = given or words[-1], _match(words[:-1])
    if known == "step_time" and given in {"it/s", "iter/s", "steps/s"}:
        known = "steps_per_second"
    if known is None:
        return Canonical(name.strip(), (unit or "").strip(), known=_is_family(name))
    scale = _SCALES.get(given, 1.0) if known in _SCALED else 1.0
    return Canonical(known, UNITS.get(known, ""), scale)


def _split_unit(name: str) -> tuple[str, str]:
    bracket = re.search(r"[(\[]\s*([A-Za-z%/]{1,12})\s*[)\]]\s*$", name)
    if bracket is None or bracket[1].lower() not in _SCALES:
        return name, ""
    return name[: bracket.start()], bracket[1]


def _match(words: list[str]) -> str | None:
    """Match exactly, then with meaningless words after or before the known name."""
    joined = "_".join(words)
    if joined in _BY_ALIAS:
        return _BY_ALIAS[joined]
    if joined.replace("_", "") in _BY_LETTERS:
        return _BY_LETTERS[joined.replace("_", "")]
    for end in range(len(words) - 1, 0, -1):
        if all(word in _QUALIFIERS for word in words[end:]) and "_".join(words[:end]) in _BY_ALIAS:
            return _BY_ALIAS["_".join(words[:end])]
    return None


def _is_family(name: str) -> bool:
    """Tell whether an unmapped name belongs to a family that keeps its own names (evaluation, preference, RL)."""
    families = "eval_|rewards/|logps/|logits/|completions/|objective/|policy/|(?:reward_std|frac_reward_zero_std)$"
    return bool(re.match(families, name.strip()))
