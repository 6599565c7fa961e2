"""Trackers tell when their records were written."""

from __future__ import annotations

import sqlite3

from engine.evidence.readers import read
from engine.evidence.series import Times

START = 1.7e9
MINUTES = [60.0 * at for at in range(10)] + [900.0]
TIMES = Times(START + 900.0, 360.0, START + 900.0)


def test_tensorboard(tb_event, tb_file):
    content = tb_file(tb_event(step, {"train/loss": 2.0}, START + after) for step, after in enumerate(MINUTES))
    assert read(content, "runs/a/events.out.tfevents.1.host").times == TIMES


def test_file_of_mlflow():
    lines = b"".join(b"%d 2.5 %d\n" % (1000 * (START + after), step) for step, after in enumerate(MINUTES))
    assert read(lines, "mlruns/0/1f2e/metrics/loss").times == TIMES


def test_database_of_mlflow(tmp_path):
    path = tmp_path / "mlflow.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, start_time BIGINT);"
            "CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);"
            "CREATE TABLE metrics (key TEXT, value FLOAT, timestamp BIGINT, run_uuid TEXT, step BIGINT, is_nan INT);"
            "INSERT INTO runs VALUES ('a', 'n', 'RUNNING', 1);"
        )
        rows = [("loss", 2.5, int(1000 * (START + after)), "a", step, 0) for step, after in enumerate(MINUTES)]
        connection.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.close()
    assert read(path).times == TIMES
