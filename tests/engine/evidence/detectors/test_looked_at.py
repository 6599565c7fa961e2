"""How long the last record is ago, in every format that tells when its records were written."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from engine.evidence.detectors import context_of, detect
from engine.evidence.readers import read

MINUTES = range(40)
LOSS = [3.0 - at / 100 for at in MINUTES]
START = datetime(2026, 3, 2, 11, 0, tzinfo=UTC).timestamp()
LOGS = {
    "json lines": [json.dumps({"step": at, "loss": LOSS[at], "timestamp": START + 60 * at}) for at in MINUTES],
    "json lines, ISO": [
        json.dumps({"step": at, "loss": LOSS[at], "time": f"2026-03-02T11:{at:02d}:00Z"}) for at in MINUTES
    ],
    "csv": ["time,step,loss", *(f"2026-03-02 11:{at:02d}:00,{at},{LOSS[at]}" for at in MINUTES)],
    "csv, milliseconds": [
        "timestamp,step,loss",
        *(f"{1000 * (START + 60 * at):.0f},{at},{LOSS[at]}" for at in MINUTES),
    ],
    "trainer": [
        f"2026-03-02 11:{at:02d}:00,123 - INFO - {{'loss': {LOSS[at]:.2f}, 'learning_rate': 1e-4, 'epoch': {at / 10}}}"
        for at in MINUTES
    ],
    "megatron": [
        f" [2026-03-02 11:{at:02d}:00] iteration {at + 1:8d}/ 100 | lm loss: {LOSS[at]:.4E} | grad norm: 1.000 |"
        for at in MINUTES
    ],
    "glog": [f"I0302 11:{at:02d}:00.000000 71 loop.py:8] step {at} | loss {LOSS[at]:.3f} | lr 3e-4" for at in MINUTES],
}


def silence(lines, looked_at):
    record = read("\n".join(lines).encode(), "log")
    found = detect(record.series, context_of(record, {"run.looked_at": looked_at} if looked_at else {}))
    return found.value("run.silent_s"), found.value("run.stalled")


@pytest.mark.parametrize("name", LOGS)
def test_a_log_without_news_for_hours(name):
    seconds, stalled = silence(LOGS[name], "2026-03-02T15:39:00")
    assert seconds == pytest.approx(4 * 3600, abs=1)
    assert stalled is True


@pytest.mark.parametrize("name", LOGS)
def test_a_log_that_was_looked_at_at_once(name):
    assert silence(LOGS[name], "2026-03-02T12:40:00+01:00")[1] is False


@pytest.mark.parametrize("name", LOGS)
def test_without_the_time_nothing_is_said(name):
    assert silence(LOGS[name], None) == (None, None)


def test_a_time_before_the_last_record_says_nothing():
    assert silence(LOGS["glog"], "2026-03-02T11:00:00")[1] is not True


def test_a_log_that_ended_is_not_stalled():
    assert silence([*LOGS["glog"], "Training completed"], "2026-03-02T15:39:00") == (None, None)


def test_what_is_no_time_is_left_out():
    assert silence(LOGS["csv"], "this afternoon") == (None, None)


def test_times_since_the_start_tell_no_age():
    lines = ["elapsed,step,loss", *(f"{60 * at},{at},{LOSS[at]}" for at in MINUTES)]
    assert silence(lines, "2026-03-02T15:39:00") == (None, None)
