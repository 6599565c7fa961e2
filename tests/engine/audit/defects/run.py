"""What can be wrong with the runs before release."""

from __future__ import annotations

import json
from typing import Any

from tests.engine.audit.build.evidence import evidenced_lm, metrics, rows_edited, write_rows
from tests.engine.audit.given import Defect, Given


def _loss_stays(given: Given) -> None:
    write_rows(given.root.parent / "logs/overfit.jsonl", metrics(60, lambda step: 6.0 - 0.08 * step))


def _loss_nan(given: Given) -> None:
    rows_edited(given, "logs/overfit.jsonl", lambda row: row.update(loss=float("nan")) if row["step"] > 50 else None)


def _small(**values: Any) -> Any:
    def poor_small_run(given: Given) -> None:
        rows_edited(given, "logs/small.jsonl", lambda row: row.update(values))

    poor_small_run.__name__ = "_".join(values)
    return poor_small_run


def _resume_differs(given: Given) -> None:
    """Steps 150 to 199 are run once more, at another loss."""
    again = [{"step": step, "loss": 3.5} for step in range(150, 260)]
    path = given.root.parent / "logs/small.jsonl"
    write_rows(path, [json.loads(line) for line in path.read_text("utf-8").splitlines()] + again)


def _normalised_otherwise(given: Given) -> None:
    rows_edited(given, "logs/dp8.jsonl", lambda row: row.update(loss=row["loss"] * 1.02))


DEFECTS: tuple[Defect, ...] = (
    Defect("code/single-batch-overfits", evidenced_lm, _loss_stays),
    Defect("code/single-batch-overfits", evidenced_lm, _loss_nan),
    Defect("run/loader-keeps-up", evidenced_lm, _small(dataloader_time=0.2)),
    Defect("run/memory-peak-recorded", evidenced_lm, _small(peak_memory_bytes=0.0)),
    Defect("run/small-run-recorded", evidenced_lm, _small(tokens_per_second=0.0)),
    Defect("run/ev-truncation", evidenced_lm, _small(truncated_share=0.03)),
    Defect("run/ev-save-cost", evidenced_lm, _small(save_time=0.1)),
    Defect("run/ev-save-cost", evidenced_lm, _resume_differs),
    Defect("scale/loss-is-equivalent", evidenced_lm, _normalised_otherwise),
)
