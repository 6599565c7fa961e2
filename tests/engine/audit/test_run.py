"""Logs of the stages before release at their thresholds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.audit.checkpoint import Checkpoint
from engine.audit.folder import Folder
from engine.audit.intent import parse_intent
from engine.audit.ledger import Ledger
from engine.audit.probes import run
from tests.engine.audit.build.evidence import metrics, small_run, write_rows


def seen(folder: Path, **stages: Any) -> Ledger:
    """What the probe states of these logs."""
    (folder / "model").mkdir(exist_ok=True)
    intent = parse_intent(json.dumps({"stages": stages}).encode())
    ledger = Ledger()
    run.probe(Checkpoint(Folder.of(folder / "model"), intent, folder), ledger)
    return ledger


def test_no_stages_state_nothing(tmp_path: Path) -> None:
    ledger = Ledger()
    run.probe(Checkpoint(Folder.of(tmp_path)), ledger)
    assert ledger == Ledger()


def test_a_batch_is_overfitted_by_the_end_not_by_one_step(tmp_path: Path) -> None:
    rows = metrics(60, lambda step: 5.0 if step < 59 else 0.0)
    write_rows(tmp_path / "a.jsonl", rows)
    last = seen(tmp_path, single_batch_overfit="a.jsonl").value("release.single_batch_last_loss")
    assert last == pytest.approx(10 / 3)


def test_a_text_log_is_read_like_any(tmp_path: Path) -> None:
    lines = [f"step {step} | loss {4 * 0.8**step:.6f} | lr 1e-4 | grad_norm 1.0\n" for step in range(40)]
    (tmp_path / "train.log").write_text("".join(lines), "utf-8")
    ledger = seen(tmp_path, single_batch_overfit="train.log")
    assert ledger.value("release.single_batch_first_loss") == pytest.approx(4.0)
    assert ledger.value("release.single_batch_last_loss") == pytest.approx(4 * 0.8**38, rel=0.05)


@pytest.mark.parametrize(
    ("names", "share"),
    [
        ({"dataloader_time": 0.09}, 0.1),
        ({"data_wait_s": 0.09}, 0.1),
        ({"dataloader_wait": 0.09}, 0.1),
        ({"loader_wait_share": 0.1}, 0.1),
        ({"data_loading_share": 12.0}, 0.12),
        ({"dataloader_time": 2.0}, 1.0),
    ],
)
def test_waiting_is_a_share_of_the_step(tmp_path: Path, names: dict[str, float], share: float) -> None:
    rows = [{k: v for k, v in row.items() if k != "dataloader_time"} | names for row in small_run()]
    write_rows(tmp_path / "small.jsonl", rows)
    assert seen(tmp_path, small_run="small.jsonl").value("release.small_run_wait") == pytest.approx(share)


def test_what_a_small_run_does_not_record_is_said(tmp_path: Path) -> None:
    write_rows(tmp_path / "small.jsonl", [{k: row[k] for k in ("step", "loss", "grad_norm")} for row in small_run()])
    ledger = seen(tmp_path, small_run="small.jsonl")
    assert "tokens/s, step time, loader wait" in ledger.missing["release.small_run_complete"].en
    assert ledger.value("release.small_run_grad_norm") == pytest.approx(1.3)


@pytest.mark.parametrize("name", ["save_time", "checkpoint_save_time", "ckpt_seconds", "checkpoint_time_s"])
def test_the_cost_of_saving(tmp_path: Path, name: str) -> None:
    """Two saves of 5 s beside 200 steps of 0.9 s."""
    write_rows(tmp_path / "small.jsonl", [row | {name: 5.0 * (row["step"] % 100 == 99)} for row in small_run()])
    share = seen(tmp_path, small_run="small.jsonl").value("audit.run.save_share")
    assert share == pytest.approx(10 / 190)


@pytest.mark.parametrize(
    ("name", "value", "share"),
    [("truncated_share", 0.01, 0.01), ("truncation_rate", 3.0, 0.03), ("truncated_pct", 0.5, 0.005)],
)
def test_samples_that_are_cut(tmp_path: Path, name: str, value: float, share: float) -> None:
    rows = [{k: v for k, v in row.items() if k != "truncated_share"} | {name: value} for row in small_run()]
    write_rows(tmp_path / "small.jsonl", rows)
    assert seen(tmp_path, small_run="small.jsonl").value("audit.run.truncated_share") == pytest.approx(share)


def test_a_resume_repeats_its_losses(tmp_path: Path) -> None:
    rows = small_run()
    write_rows(tmp_path / "small.jsonl", rows[:150] + rows[100:])
    assert seen(tmp_path, small_run="small.jsonl").value("audit.run.resume_loss_difference") == 0


@pytest.mark.parametrize(("factor", "difference"), [(1.009, 0.009), (1.011, 0.011)])
def test_layouts_are_compared_step_by_step(tmp_path: Path, factor: float, difference: float) -> None:
    """The worst of several logs counts; steps after the first twenty may drift apart."""
    write_rows(tmp_path / "a.jsonl", metrics(50, lambda step: 5.0 - 0.02 * step))
    write_rows(tmp_path / "b.jsonl", metrics(50, lambda step: (5.0 - 0.02 * step) * (factor if step < 20 else 2.0)))
    write_rows(tmp_path / "c.jsonl", metrics(50, lambda step: 5.0 - 0.02 * step))
    ledger = seen(tmp_path, scale_up=["a.jsonl", "b.jsonl", "c.jsonl"])
    assert ledger.value("release.scale_up_loss_difference") == pytest.approx(difference)
    assert ledger.seen["release.scale_up_loss_difference"].places[0].file == "b.jsonl"


@pytest.mark.parametrize(
    ("stages", "fact", "said"),
    [
        ({"single_batch_overfit": "none.jsonl"}, "release.single_batch_loss_fell", "which is not there"),
        ({"single_batch_overfit": "model"}, "release.single_batch_loss_fell", "a folder"),
        ({"single_batch_overfit": "../x"}, "release.single_batch_loss_fell", "leads out"),
        ({"single_batch_overfit": "binary"}, "release.single_batch_loss_fell", "no series of the loss"),
        ({"scale_up": ["a.jsonl"]}, "release.scale_up_loss_difference", "two logs"),
        ({"scale_up": ["a.jsonl", "late.jsonl"]}, "release.scale_up_loss_difference", "no step in common"),
    ],
)
def test_useless_logs_are_no_evidence(tmp_path: Path, stages: dict[str, Any], fact: str, said: str) -> None:
    write_rows(tmp_path / "a.jsonl", metrics(9, lambda _: 1.0))
    write_rows(tmp_path / "late.jsonl", [{"step": 100 + n, "loss": 1.0} for n in range(9)])
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 9)
    ledger = seen(tmp_path, **stages)
    assert said in ledger.missing[fact].en
    assert ledger.value(fact) is None
