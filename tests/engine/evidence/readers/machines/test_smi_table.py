from __future__ import annotations

import pytest

from engine.evidence.readers import read

OLD_HEAD = """Tue Mar  3 10:00:00 2026
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 515.65.01    Driver Version: 515.65.01    CUDA Version: 11.7     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
"""
NEW_HEAD = """+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 570.86.10              Driver Version: 570.86.10      CUDA Version: 12.8     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================+========================+======================|
"""


def old_card(number: int, share: int = 99, degrees: int = 55, ecc: str = "0", watts: int = 300) -> str:
    return (
        f"|   {number}  NVIDIA A100-SXM...  On   | 00000000:{number + 7:02X}:00.0 Off | {ecc:>20} |\n"
        f"| N/A   {degrees}C    P0   {watts}W / 400W |  70000MiB / 81920MiB | {share:>6}%      Default |\n"
        "|                               |                      |             Disabled |\n"
        "+-------------------------------+----------------------+----------------------+\n"
    )


def new_card(number: int, share: int = 99, degrees: int = 55) -> str:
    return (
        f"|   {number}  NVIDIA H100 80GB HBM3       On  |   00000000:{number + 7:02X}:00.0 Off |               0 |\n"
        f"| N/A   {degrees}C    P0            672W /  700W |   70000MiB /  81559MiB | {share:>6}%      Default |\n"
        "|                                         |                        |             Disabled |\n"
    )


@pytest.mark.parametrize(("head", "card"), [(OLD_HEAD, old_card), (NEW_HEAD, new_card)])
def test_both_layouts_name_the_idle_card(head, card, facts, place):
    text = head + "".join(card(number, 0 if number == 2 else 100) for number in range(8))
    record = read(text.encode(), "smi.txt")
    assert record.read.format == "nvidia_smi"
    assert record.read.records == 8
    said = facts(record)
    assert said["gpu.one_idle"] is True
    assert said["gpu.odd"] == "2"
    line = text.splitlines()[int(place(record, "gpu.odd").split(":")[1]) - 1]
    assert line.startswith("|   2 ")


@pytest.mark.parametrize("shares", [[0] * 8, [100] * 8, [0, 0, 0, 0, 100, 100, 100, 100], [0, 100, 100]])
def test_load_that_is_no_straggler(shares, facts):
    text = NEW_HEAD + "".join(new_card(number, share) for number, share in enumerate(shares))
    assert facts(read(text.encode(), "smi.txt")).get("gpu.one_idle") is not True


@pytest.mark.parametrize(("degrees", "odd"), [(88, True), (64, False)])
def test_one_hot_card(degrees, odd, facts):
    text = NEW_HEAD + "".join(new_card(n, degrees=degrees if n == 5 else 54 + n % 3) for n in range(8))
    said = facts(read(text.encode(), "smi.txt"))
    assert said["gpu.hotter_than_peers"] is odd
    assert said["gpu.temperature"] == degrees


def test_errors_in_cells(facts, findings):
    broken = (
        "|   1  NVIDIA A100-SXM...  On   | 00000000:0B:00.0 Off |                 ERR! |\n"
        "| ERR!  ERR! ERR!    ERR! / ERR! |      0MiB / 81920MiB |     ERR!      Default |\n"
    )
    record = read((OLD_HEAD + old_card(0) + broken + old_card(2, ecc="3")).encode(), "smi.txt")
    assert sorted(findings(record)) == ["device.hardware-errors", "gpu.memory-errors"]
    assert facts(record)["gpu.memory_gb"] == pytest.approx(85.9)


def test_healthy_cards_have_no_finding(findings):
    assert findings(read((OLD_HEAD + old_card(0) + old_card(1)).encode(), "smi.txt")) == []


def test_not_available_cells(facts):
    line = "|   0  Tesla P4            Off  | 00000000:07:00.0 Off |                  N/A |\n"
    second = "| N/A   N/A    P8    N/A /  N/A |   1000MiB /  7611MiB |     N/A      Default |\n"
    said = facts(read((OLD_HEAD + line + second).encode(), "smi.txt"))
    assert set(said) == {"gpu.memory_gb"}


PROCESSES = """+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|=============================================================================|
"""


def process(gpu: int, kind: str = "C") -> str:
    return f"|    {gpu}   N/A  N/A    4{gpu}058      {kind}   .../bin/python                   22374MiB |\n"


def test_strayed_ranks_on_card_zero(facts):
    text = OLD_HEAD + old_card(0) + old_card(1) + PROCESSES
    even = text + process(0) + process(1) + process(0, "G")
    strayed = text + process(0) * 2 + process(1)
    assert "memory.processes_on_gpu0" not in facts(read(even.encode(), "smi.txt"))
    assert facts(read(strayed.encode(), "smi.txt"))["memory.processes_on_gpu0"] == 2.0


def test_the_last_of_several_tables_counts(facts):
    text = OLD_HEAD + "".join(old_card(n, 100 if n else 0) for n in range(4))
    text += OLD_HEAD + "".join(old_card(n, 100) for n in range(4))
    assert facts(read(text.encode(), "smi.txt"))["gpu.one_idle"] is False
