"""Real files beside the project: read without loss, and what their labels say is found."""

from __future__ import annotations

import json

import pytest

from engine.evidence.detectors import context_of, detect
from engine.evidence.readers import read

TROUBLE = {
    "trainer_state/decision_transformer_nan_onset_1000.json": {
        "loss.nan": True,
        "loss.zero_filtered": True,
        "grad_norm.nan": True,
    },
    "trainer_state/llamafactory_lora_overfit_900.json": {
        "eval_loss.rising": True,
        "loss.diverging": False,
        "loss.nan": False,
    },
    "trainer_state/seq2seq_all_labels_masked.json": {
        "loss.zero_filtered": True,
        "eval_loss.nan": True,
        "grad_norm.nan": True,
    },
    "trainer_state/sft_loss_to_2e-4_351.json": {"loss.near_zero": True, "loss.nan": False},
    "console_logs/hf_trainer_nan_from_first_log_lr_frozen.log": {
        "loss.zero_filtered": True,
        "grad_norm.nan": True,
        "lr.frozen": True,
        "run.end": "finished",
    },
    "console_logs/megatron_104b_spike_8741.log": {
        "loss.spike": True,
        "loss.spike_step": 8741.0,
        "grad_norm.exploding": True,
        "grad_norm.leads_loss": True,
    },
    "console_logs/megatron_104b_spike_at_warmup_end_6900.log": {"loss.diverging": True},
    "console_logs/megatron_104b_spike_at_warmup_end_7000.log": {"loss.spike": True, "loss.spike_step": 7010.0},
    "console_logs/megatron_13b_spike_loss_scale_collapse.log": {
        "loss.spike": True,
        "loss.spike_step": 29050.0,
        "loss.spike_recovered": False,
        "amp.scale_collapsed": True,
    },
    "console_logs/megatron_bloom176b_throughput_drop_42783.log": {"throughput.cliff": True, "loss.nan": False},
    "console_logs/megatron_104b_diverged_9026.log": {"amp.skipped_share": 0.5, "amp.loss_scale": 8192.0},
    "console_logs/megatron_13b_watchdog_alerts.log": {"run.end": "stopped"},
}
HEALTHY = (
    "trainer_state/fastchat_lora_1000.json",
    "trainer_state/moslora_llama_200.json",
    "console_logs/llamafactory_running_log_chapterization.txt",
)
ABNORMAL = frozenset(
    [
        "nan",
        "zero_filtered",
        "spike",
        "diverging",
        "plateau",
        "near_zero",
        "rising",
        "exploding",
        "vanishing",
        "scale_collapsed",
        "zero",
        "frozen",
        "restarted",
        "cliff",
        "drift",
    ]
)


@pytest.mark.parametrize("name", TROUBLE)
def test_labelled_trouble(samples, name):
    record = read(samples / name)
    found = {fact.fact: fact.value for fact in detect(record.series, context_of(record)).facts}
    assert {fact: found.get(fact) for fact in TROUBLE[name]} == TROUBLE[name]


@pytest.mark.parametrize("name", HEALTHY)
def test_labelled_healthy(samples, name):
    record = read(samples / name)
    assert record.read.records > 0
    facts = detect(record.series, context_of(record)).facts
    assert [fact.fact for fact in facts if fact.value is True and fact.fact.rpartition(".")[2] in ABNORMAL] == []


def test_every_sample_is_read_or_refused_in_words(samples):
    for path in sorted(samples.rglob("*")):
        if path.is_file():
            record = read(path)
            assert record.read.records or record.events or record.not_understood or record.config, path.name


def test_one_run_in_three_formats_gives_the_same_facts(megatron_line, progress):
    losses = {
        step: 3.0 - step / 1000 if step < 600 else (float("nan") if step >= 700 else 9.0)
        for step in range(10, 1010, 10)
    }
    rows = [{"loss": loss, "learning_rate": 6e-5, "grad_norm": 0.312, "step": step} for step, loss in losses.items()]
    state = json.dumps({"max_steps": 1000, "log_history": rows}).encode()
    console = "".join(
        f"{progress(step, 1000)}\n{{'loss': {loss}, 'grad_norm': 0.312, 'learning_rate': 6e-05}}\n"
        for step, loss in losses.items()
    ).encode()
    megatron = "\n".join(megatron_line(step, loss) for step, loss in losses.items()).encode()
    facts = ("loss.nan", "loss.nan_step", "loss.spike", "loss.spike_step", "loss.diverging", "grad_norm.nan", "lr.zero")
    found = []
    for content in (state, console, megatron):
        record = read(content)
        detected = detect(record.series, context_of(record))
        found.append([detected.value(fact) for fact in facts])
    assert found[0] == found[1] == found[2] == [True, 700, True, 600, True, False, False]
