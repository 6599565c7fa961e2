"""One run written by six tools gives the same series, and the same facts at the same steps."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path

import numpy as np
import pytest

from engine.evidence.detectors import context_of, detect
from engine.evidence.readers import read

_SPEC = importlib.util.spec_from_file_location("writers", Path(__file__).parent / "trackers" / "conftest.py")
assert _SPEC is not None
assert _SPEC.loader is not None
writers = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(writers)

TOTAL, EVERY = 2000, 10


def run_of(kind: str) -> list[dict[str, float]]:
    """Rows of a healthy run, or of one that spikes at 1200 and is NaN from 1500; the numbers are exact in float32."""
    rng = np.random.default_rng(5)
    rows = []
    for step in range(EVERY, TOTAL + EVERY, EVERY):
        loss = 1.5 + 6.0 * math.exp(-step / 400) + rng.normal(0, 0.02)
        norm = math.exp(rng.normal(-0.5, 0.2))
        if kind == "trouble" and step >= 1200:
            loss, norm = (math.nan, math.nan) if step >= 1500 else (loss + 6.0, norm * 40)
        row = {"loss": loss, "grad_norm": norm, "learning_rate": 1e-4 * (1 - step / TOTAL / 2), "step_time": 0.5}
        rows.append({"step": float(step), **{key: float(np.float32(value)) for key, value in row.items()}})
        if step % 200 == 0:
            rows.append({"step": float(step), "eval_loss": float(np.float32(1.6 + 6.0 * math.exp(-step / 400)))})
    return rows


def trainer_state(rows):
    return json.dumps({"max_steps": TOTAL, "log_history": rows}, indent=2).encode()


def console(rows):
    out = []
    for row in rows:
        step = int(row["step"])
        out.append(f" {100 * step // TOTAL:2d}%|####      | {step}/{TOTAL} [00:10<00:20,  2.00it/s]")
        out.append(str({key: value for key, value in row.items() if key != "step"}))
    return "\n".join(out).encode()


def table(rows):
    names = ["step", "loss", "grad_norm", "learning_rate", "step_time", "eval_loss"]
    cells = (",".join(repr(row[name]) if name in row else "" for name in names) for row in rows)
    return "\n".join([",".join(names), *cells]).encode()


def json_lines(rows):
    return "\n".join(map(json.dumps, rows)).encode()


def spaced(row):
    """The names under which the Trainer's callbacks log."""
    names = ((key, key.replace("eval_", "eval/") if key.startswith("eval_") else f"train/{key}") for key in row)
    return {name: row[key] for key, name in names if key != "step"}


def tensorboard(rows):
    return writers.event_file(writers.event(int(row["step"]), spaced(row)) for row in rows)


def wandb(rows):
    history = [{**spaced(row), "train/global_step": row["step"], "_step": at} for at, row in enumerate(rows)]
    config = writers.packed(6, writers.items({"max_steps": TOTAL}))
    return writers.wandb_file([config, *(writers.packed(2, writers.items(row)) for row in history)])


FORMATS = {
    "trainer_state": trainer_state,
    "hf_console": console,
    "table": table,
    "json_lines": json_lines,
    "tensorboard": tensorboard,
    "wandb": wandb,
}


@pytest.mark.parametrize("kind", ["healthy", "trouble"])
def test_the_same_run_in_six_formats(kind):
    rows = run_of(kind)
    facts = {}
    for name, write in FORMATS.items():
        record = read(write(rows), name)
        assert record.read.format == name
        series = {one.name: one for one in record.series}
        assert set(series) == {"loss", "grad_norm", "learning_rate", "step_time", "eval_loss"}, name
        for metric, one in series.items():
            expected = [(row["step"], row[metric]) for row in rows if metric in row]
            assert one.steps.tolist() == [step for step, _ in expected], (name, metric)
            np.testing.assert_array_equal(one.values, [value for _, value in expected])
        context = context_of(record, total_steps=float(TOTAL), end=None)
        facts[name] = [(fact.fact, fact.value, fact.source.step) for fact in detect(record.series, context).facts]
    assert all(found == facts["trainer_state"] for found in facts.values())
    values = {fact: value for fact, value, _ in facts["trainer_state"]}
    assert values["loss.nan"] is (kind == "trouble")
    assert values.get("loss.nan_step") == (1500 if kind == "trouble" else None)
