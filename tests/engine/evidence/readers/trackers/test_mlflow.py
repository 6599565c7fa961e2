from __future__ import annotations

import math
import sqlite3

import pytest

from engine.evidence.readers import read, sniff

RUN = "mlruns/0/1f2e"
SCHEMA = """
CREATE TABLE runs (run_uuid VARCHAR(32), name VARCHAR(250), status VARCHAR(9), start_time BIGINT);
CREATE TABLE params (key VARCHAR(250), value VARCHAR(8000), run_uuid VARCHAR(32));
CREATE TABLE metrics (key VARCHAR(250), value FLOAT, timestamp BIGINT, run_uuid VARCHAR(32), step BIGINT,
                      is_nan BOOLEAN);
"""


def test_a_metric_is_named_by_its_path(column):
    lines = b"".join(
        b"%d %s %d\n" % (1_700_000_000_000 + n * 2100, b"nan" if n == 9 else b"2.5", n * 4) for n in range(10)
    )
    assert sniff(lines) == "mlflow_metric"
    record = read(lines, f"{RUN}/metrics/train/loss")
    assert record.run == f"mlflow:{RUN}"
    assert column(record, "loss")[:2] == [(0, 2.5), (4, 2.5)]
    assert math.isnan(column(record, "loss")[-1][1])
    assert column(record, "step_time")[0] == (4, pytest.approx(0.525))
    assert [one.name for one in read(lines, f"{RUN}/metrics/eval_accuracy").series] == ["eval_accuracy"]


def test_forms_of_a_point(column):
    record = read(b"1700000000000 2.5\n1700000001000 2.0\n", "m/metrics/loss")
    assert column(record, "loss") == [(1, 2.5), (2, 2.0)]
    assert column(read(b"1700000000000 2.5 7 data 0a1b\n", "m/metrics/loss"), "loss") == [(7, 2.5)]
    odd = read(b"1700000000000 2.5 7\n" * 3 + b"1700000000000 2.5 7 8\n", "m/metrics/loss")
    assert any("1 lines" in why for why in odd.not_understood)


@pytest.mark.parametrize(
    ("status", "kind"),
    [("3", "finished"), ("4", "crashed"), ("5", "cancelled"), ("1", "unknown"), ("FAILED", "crashed")],
)
def test_status_of_a_run(status, kind):
    meta = f"artifact_uri: file:///a\nend_time: null\nlifecycle_stage: active\nrun_id: 1f2e\nstatus: {status}\n"
    record = read(meta.encode(), f"{RUN}/meta.yaml")
    assert record.end.kind == kind
    assert record.run == f"mlflow:{RUN}"


def test_parameters_are_configuration():
    record = read(b"5e-05", f"{RUN}/params/learning_rate")
    assert record.config == {"learning_rate": "5e-05"}
    assert record.run == f"mlflow:{RUN}"
    assert read(b"None", f"{RUN}/params/seed").config == {}
    assert read(b"root", f"{RUN}/tags/mlflow.user").config == {}
    assert read(b"Killed", "notes.txt").config == {}
    assert [event.text for event in read(b"Killed", "notes.txt").events] == ["Killed"]


@pytest.fixture
def store(tmp_path):
    """Return a function that writes a database and gives its path."""

    def write(script: str = "", schema: str = SCHEMA):
        path = tmp_path / "mlflow.db"
        with sqlite3.connect(path) as connection:
            connection.executescript(schema)
            connection.executescript(script)
        connection.close()
        return path

    return write


def test_the_latest_run_with_metrics_of_a_store(store, column):
    points = "".join(
        f"INSERT INTO metrics VALUES ('train/loss', {2.0 / n}, {1_700_000_000_000 + n * 1100}, 'b', {n * 10}, 0);"
        for n in range(1, 11)
    )
    path = store(
        "INSERT INTO runs VALUES ('a', 'old', 'FINISHED', 1), ('b', 'new', 'FAILED', 2), ('c', 'empty', 'RUNNING', 3);"
        "INSERT INTO metrics VALUES ('loss', 9, 5, 'a', 1, 0), ('grad_norm', 0, 6, 'b', 20, 1),"
        "('grad_norm', 1.7976931348623157e308, 5, 'b', 10, 0);"
        "INSERT INTO params VALUES ('lr', '5e-05', 'b'), ('x', 'None', 'b');" + points
    )
    for source in (path, path.read_bytes()):
        record = read(source, "mlflow.db")
        assert record.read.format == "mlflow_database"
        assert column(record, "loss")[0] == (10, 2.0)
        assert column(record, "step_time")[0] == (20, pytest.approx(0.11))
        assert str(column(record, "grad_norm")) == "[(10.0, inf), (20.0, nan)]"
        assert record.end.kind == "crashed"
        assert record.config == {"lr": "5e-05"}
        assert "3 runs" in record.not_understood[0]


def test_a_finished_run_without_metrics_is_said(store):
    record = read(store("INSERT INTO runs VALUES ('a', 'x', 'FINISHED', 1);"))
    assert record.series == ()
    assert "status FINISHED and no metrics" in record.not_understood[0]
    assert "no runs" in read(store(schema="DELETE FROM runs;")).not_understood[0]


def test_foreign_damaged_and_hostile_databases(store, tmp_path):
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE kernels (name)")
    connection.commit()
    connection.close()
    assert "cannot be read as a store of MLflow" in read(other).not_understood[0]
    content = bytearray(store("INSERT INTO runs VALUES ('a', 'x', 'FINISHED', 1);").read_bytes())
    assert read(bytes(content[:5000])).not_understood
    content[4096:] = b"\xff" * (len(content) - 4096)
    assert read(bytes(content)).not_understood


def test_an_endless_view_is_left(store, monkeypatch):
    from engine.evidence.readers.trackers import mlflow_database

    monkeypatch.setattr(mlflow_database, "_MOST_TURNS", 2)
    endless = (
        "CREATE VIEW runs AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        " SELECT i AS run_uuid, 'x' AS name, 'FINISHED' AS status, -i AS start_time FROM n;"
        "CREATE TABLE metrics (run_uuid); CREATE TABLE params (run_uuid);"
    )
    assert "cannot be read" in read(store(schema=endless)).not_understood[0]
