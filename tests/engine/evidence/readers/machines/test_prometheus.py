from __future__ import annotations

import json
import math

import pytest

from engine.evidence.readers import read

START = 1_756_000_000


def exposition(**gauges: list[float]) -> bytes:
    lines = []
    for name, values in gauges.items():
        lines += [f"# HELP {name} some text", f"# TYPE {name} gauge"]
        lines += [
            f'{name}{{gpu="{card}",UUID="GPU-{card}",Hostname="gpu-7",pod="a\\"b,c}}"}} {value}'
            for card, value in enumerate(values)
        ]
    return "\n".join(lines).encode()


def test_cards_of_the_exporter_against_each_other(facts):
    record = read(exposition(DCGM_FI_DEV_GPU_UTIL=[100, 100, 0, 100], DCGM_FI_DEV_GPU_TEMP=[50, 51, 40, 52]), "metrics")
    assert (record.read.format, record.read.records) == ("prometheus_text", 8)
    said = facts(record)
    assert (said["gpu.one_idle"], said["gpu.odd"], said["gpu.temperature"]) == (True, "2", 52.0)


def test_an_old_xid_is_told_as_such(facts, place):
    record = read(exposition(DCGM_FI_DEV_XID_ERRORS=[0, 79, 0, 0]), "metrics")
    assert facts(record) == {"gpu.xid": 79.0}
    assert place(record, "gpu.xid") == "metrics:4"
    assert "until the driver is loaded anew" in record.readings[0].source.quote


def test_zeros_of_a_virtual_card_say_nothing(facts, findings):
    zeros = {
        "DCGM_FI_DEV_XID_ERRORS": [0.0],
        "DCGM_FI_DEV_GPU_TEMP": [0.0],
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": [0.0],
        "DCGM_FI_DEV_ROW_REMAP_FAILURE": [0.0],
    }
    record = read(exposition(**zeros), "metrics")
    assert (facts(record), findings(record)) == ({}, [])


@pytest.mark.parametrize(("reasons", "slow"), [(0x1, False), (0x4, False), (0x8, True), (0x44, True), (0x80, True)])
def test_reasons_of_a_slow_clock(reasons, slow, facts):
    record = read(exposition(DCGM_FI_DEV_CLOCKS_EVENT_REASONS=[reasons]), "metrics")
    assert facts(record).get("gpu.slowdown", False) is slow


def test_failing_memory(findings):
    record = read(exposition(DCGM_FI_DEV_ROW_REMAP_FAILURE=[0, 1], DCGM_FI_DEV_ECC_DBE_VOL_TOTAL=[2, 0]), "metrics")
    assert findings(record) == ["gpu.memory-errors", "gpu.memory-errors"]


def test_host_memory(facts):
    text = (
        "# TYPE node_memory_MemTotal_bytes gauge\nnode_memory_MemTotal_bytes 1e+12\n"
        "# TYPE node_memory_MemAvailable_bytes gauge\nnode_memory_MemAvailable_bytes 5e+10\n"
    )
    assert facts(read(text.encode(), "metrics")) == {"host.ram_used_ratio": 0.95}


def result(*tracks: tuple[dict[str, str], list[tuple[float, str]]], kind: str = "matrix") -> bytes:
    key = "values" if kind == "matrix" else "value"
    items = [
        {"metric": labels, key: [list(p) for p in points] if kind == "matrix" else list(points[0])}
        for labels, points in tracks
    ]
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": items}}).encode()


def track(metric: str, values: list[object], **labels: str) -> tuple[dict[str, str], list[tuple[float, str]]]:
    return {"__name__": metric, **labels}, [(START + 60 * n, str(value)) for n, value in enumerate(values)]


def test_a_training_metric_of_several_ranks(column):
    record = read(
        result(
            track("trainer_train_loss", [3, 2, "NaN"], rank="0"),
            track("trainer_train_loss", [3, 4, 1], rank="1"),
            track("trainer_train_loss", [3, 2.5, 1], rank="2"),
        ),
        "query.json",
    )
    assert (record.read.format, record.read.records) == ("prometheus_query", 9)
    loss = column(record, "loss")
    assert loss[:2] == [(0.0, 3.0), (60.0, 2.5)]
    assert math.isnan(loss[2][1])


def test_cards_over_time(column, facts):
    tracks = [
        track("DCGM_FI_DEV_GPU_UTIL", [100, 98, 100] if card else [0, 2, 100], gpu=str(card), Hostname="h")
        for card in range(4)
    ]
    record = read(result(*tracks), "query.json")
    assert column(record, "gpu_utilisation")[0] == (0.0, 75.0)
    assert facts(record)["gpu.odd"] == "0"


def test_memory_in_mebibytes(column):
    record = read(result(track("DCGM_FI_DEV_FB_USED", [1024, 2048], gpu="0")), "query.json")
    assert column(record, "gpu_memory_used") == [(0.0, 2.0**30), (60.0, 2.0**31)]


def test_a_vector(facts):
    tracks = [track("DCGM_FI_DEV_GPU_UTIL", [100 if card else 0], gpu=str(card)) for card in range(4)]
    assert facts(read(result(*tracks, kind="vector"), "query.json"))["gpu.odd"] == "0"


def test_expressions_have_no_name():
    record = read(result(({"mode": "idle"}, [(START, "0.96"), (START + 60, "0.97")])), "query.json")
    assert record.series == ()
    assert "1 series carry no metric name" in record.not_understood[0]


@pytest.mark.parametrize("pair", [[1], ["x", "1"], [1, None], None, [1, 2, 3], {"a": 1}])
def test_broken_points(pair, column):
    document = json.loads(result(track("train_loss", [1, 2])))
    document["data"]["result"][0]["values"].append(pair)
    record = read(json.dumps(document).encode(), "query.json")
    assert len(column(record, "loss")) == 2
    assert record.not_understood == ("some points are no pair of a time and a value",)


def test_cut_document():
    record = read(result(track("train_loss", [1, 2]))[:-20], "query.json")
    assert record.series == ()
    assert "damaged" in record.not_understood[0]
