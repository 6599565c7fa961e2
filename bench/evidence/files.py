"""Large files in the formats of the tools, made up line by line: the same for every run."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

MB = 1_000_000
ROWS = 1_000_000
_NOISE = [
    "node03:771:812 [3] NCCL INFO Channel 05/0 : 3[3] -> 2[2] via P2P/CUMEM/read",
    "node03:771:812 [3] NCCL INFO Connected all trees",
    "[Rank 3] (after 4 iterations) memory (MB) | allocated: 21000.1 | max allocated: 30100.7 | reserved: 33000.0",
    "time (ms) | forward-compute: 811.22 | backward-compute: 1544.90 | optimizer: 40.13",
    "saving checkpoint at iteration 2000 to /data/run/ckpt",
    "  successfully saved checkpoint at iteration 2000 to /data/run/ckpt",
]


def rows(count: int) -> Iterator[dict[str, float]]:
    """A healthy run: a noisy falling loss, a gradient norm, a cosine learning rate, an evaluation now and then."""
    chance = random.Random(f"rows {count}")
    for step in range(1, count + 1):
        done = step / count
        loss = 2.0 + 6.0 * math.exp(-8.0 * done) + chance.gauss(0, 0.05)
        row = {
            "step": step,
            "loss": round(loss, 4),
            "grad_norm": round(0.4 + abs(chance.gauss(0, 0.08)), 4),
            "learning_rate": round(3e-4 * (0.1 + 0.45 * (1 + math.cos(math.pi * done))), 9),
            "epoch": round(3 * done, 5),
        }
        yield row
        if step % 5_000 == 0:
            yield {"step": step, "eval_loss": round(loss + 0.1, 4), "epoch": round(3 * done, 5)}


def jsonl(path: Path) -> None:
    """One million rows of metrics, one JSON object a line."""
    with path.open("w") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows(ROWS))


def trainer_state(path: Path) -> None:
    """The same rows as the log history of the Hugging Face Trainer."""
    with path.open("w") as out:
        out.write(f'{{"global_step": {ROWS}, "max_steps": {2 * ROWS}, "logging_steps": 1, "log_history": [\n')
        for number, row in enumerate(rows(ROWS)):
            out.write((",\n" if number else "") + json.dumps(row))
        out.write("\n]}\n")


def console(size: int) -> Callable[[Path], None]:
    """A Megatron console of about ``size`` bytes: six records, then a line of something else."""

    def write(path: Path) -> None:
        chance = random.Random(f"console {size}")
        with path.open("w") as out:
            _console(out, size, chance)

    return write


def _console(out: IO[str], size: int, chance: random.Random) -> None:
    written, step = 0, 0
    while written < size:
        lines = []
        for _ in range(2_000):
            step += 1
            loss = 2.0 + 6.0 * math.exp(-step / 20_000) + chance.gauss(0, 0.03)
            lines.append(
                f" iteration {step:8d}/ 9000000 | consumed samples: {step * 512:12d} | "
                f"elapsed time per iteration (ms): {2400 + chance.gauss(0, 9):.1f} | learning rate: 3.000E-04 | "
                f"global batch size:   512 | lm loss: {loss:.6E} | loss scale: 1.0 | "
                f"grad norm: {0.4 + abs(chance.gauss(0, 0.05)):.3f} | "
                "number of skipped iterations:   0 | number of nan iterations:   0 |"
            )
            if step % 6 == 0:
                lines.append(chance.choice(_NOISE))
        text = "\n".join(lines) + "\n"
        out.write(text)
        written += len(text)
