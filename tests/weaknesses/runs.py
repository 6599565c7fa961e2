"""Runs as rows, and the files in which tools write them; everything is made here."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from tests.robustness.valid import writers

Row = dict[str, float]
EVERY = 10


def rows(losses: Iterable[float], /, **columns: Callable[[int], float] | float) -> list[Row]:
    """One row every ten steps; a column is a constant or a function of the step."""
    result = []
    for at, loss in enumerate(losses, 1):
        step = at * EVERY
        row: Row = {"step": step, "loss": float(np.float32(loss))}
        for name, value in columns.items():
            row[name] = float(np.float32(value(step) if callable(value) else value))
        result.append(row)
    return result


def falling(count: int, noise: float = 0.02, start: float = 8.0, floor: float = 2.0, seed: int = 7) -> list[float]:
    """A loss that falls exponentially over a third of the run, with noise in proportion."""
    rng = np.random.default_rng(seed)
    return [(floor + (start - floor) * math.exp(-3 * at / count)) * (1 + rng.normal(0, noise)) for at in range(count)]


def trainer_state(run: list[Row], left: int = 1000) -> bytes:
    """The state of a run that has ``left`` steps to go, as in a checkpoint."""
    done = int(run[-1]["step"])
    return json.dumps({"global_step": done, "max_steps": done + left, "log_history": run}, indent=2).encode()


def hf_console(run: list[Row], left: int = 1000) -> bytes:
    """What the Trainer prints on a terminal: bars, and a dict for each record."""
    total = int(run[-1]["step"]) + left
    lines = []
    for row in run:
        step = int(row["step"])
        lines.append(f" {100 * step // total:3d}%|####      | {step}/{total} [00:10<00:20,  2.00it/s]")
        lines.append(str({name: value for name, value in row.items() if name != "step"}))
    return "\n".join(lines).encode() + b"\n"


def table(run: list[Row]) -> bytes:
    """A CSV with a column for each metric."""
    names = list(run[0])
    return "\n".join([",".join(names), *(",".join(repr(row[name]) for name in names) for row in run)]).encode() + b"\n"


def json_lines(run: list[Row]) -> bytes:
    """One JSON object a line."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in run)


def tensorboard(run: list[Row]) -> bytes:
    """An event file, with the tags of the Trainer's callback."""

    def tagged(row: Mapping[str, float]) -> dict[str, float]:
        return {f"train/{name}": value for name, value in row.items() if name != "step"}

    encode = writers()
    return bytes(encode.event_file(encode.event(int(row["step"]), tagged(row)) for row in run))


def megatron(run: list[Row], total: int | None = None) -> bytes:
    """Megatron's lines; a row without ``loss`` is a window in which every step was skipped."""
    total = total or int(run[-1]["step"])
    lines = []
    for row in run:
        loss = f"lm loss: {row['loss']:.6E} | " if "loss" in row else ""
        lines.append(
            f" iteration {int(row['step']):8d}/{total:8d} | consumed samples: {int(row['step']) * 256:12d} | "
            f"elapsed time per iteration (ms): {row.get('ms', 1500.0):.1f} | "
            f"learning rate: {row.get('learning_rate', 1e-4):.3E} | global batch size:   256 | {loss}"
            f"loss scale: {row.get('loss_scale', 1.0):.1f} | grad norm: {row.get('grad_norm', 0.5):.3f} | "
            f"number of skipped iterations: {0 if loss else EVERY:3d} | number of nan iterations:   0 |"
        )
    return "\n".join(lines).encode() + b"\n"
