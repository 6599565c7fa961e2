from __future__ import annotations

import pytest

from engine.evidence.readers import read

HEADER = "index, utilization.gpu [%], power.draw [W], temperature.gpu, clocks.sm [MHz]"


def rows(shares: list[int], clocks: list[int], units: bool) -> str:
    lines = [
        f"{i}, {share} %, {90 + i}.5 W, 4{i}, {clock} MHz" if units else f"{i}, {share}, {90 + i}.5, 4{i}, {clock}"
        for i, (share, clock) in enumerate(zip(shares, clocks, strict=True))
    ]
    return "\n".join([HEADER, *lines]) + "\n"


@pytest.mark.parametrize("units", [True, False])
def test_units_in_cells_or_not(units, facts):
    record = read(rows([100, 100, 100, 0], [1410, 1400, 1395, 210], units).encode(), "smi.csv")
    assert (record.read.format, record.read.records) == ("nvidia_smi_csv", 4)
    said = facts(record)
    assert (said["gpu.one_idle"], said["gpu.odd"]) == (True, "3")
    assert "gpu.clock_ratio" not in said  # only three cards are busy


def test_slow_clock(facts, place):
    record = read(rows([100] * 4, [1410, 1400, 900, 1395], True).encode(), "smi.csv")
    assert facts(record)["gpu.clock_ratio"] == pytest.approx(0.638)
    assert place(record, "gpu.clock_ratio") == "smi.csv:4"


def test_command_line_above_and_cells_not_available(facts):
    text = "$ nvidia-smi --query-gpu=utilization.gpu,fan.speed --format=csv\nutilization.gpu [%], fan.speed [%]\n"
    record = read((text + "97 %, [N/A]\n" * 4).encode(), "smi.csv")
    assert record.read.format == "nvidia_smi_csv"
    assert facts(record) == {"gpu.one_idle": False}


def test_states(facts):
    head = "index, clocks_throttle_reasons.hw_slowdown, pcie.link.width.current, pcie.link.width.max\n"
    text = head + "0, Not Active, 16, 16\n1, Active, 4, 16\n2, Not Active, 16, 16\n"
    assert facts(read(text.encode(), "smi.csv")) == {"gpu.slowdown": True, "gpu.pcie_width_ratio": 0.25}


def test_a_loop_gives_series_of_means(column, facts):
    head = "timestamp, index, utilization.gpu [%], temperature.gpu\n"
    lines = [
        f"2026/03/02 10:00:{second:02}.250, {card}, {second if card else 0} %, 5{card}\n"
        for second in range(0, 30, 5)
        for card in (0, 1)
    ]
    record = read((head + "".join(lines)).encode(), "smi.csv")
    assert column(record, "gpu_utilisation")[:3] == [(0.0, 0.0), (5.0, 2.5), (10.0, 5.0)]
    assert facts(record)["gpu.temperature"] == 51.0


def test_broken_rows_are_told():
    record = read((rows([100] * 4, [1410] * 4, True) + "4, 100 %\n").encode(), "smi.csv")
    assert record.read.records == 4
    assert "line 6 has 2 cells and the header 5" in record.not_understood[0]


def test_a_table_of_metrics_is_none_of_it():
    assert read(b"step,loss,grad_norm\n1,2.5,0.3\n2,2.4,0.3\n", "m.csv").read.format != "nvidia_smi_csv"
