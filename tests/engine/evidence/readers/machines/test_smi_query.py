from __future__ import annotations

import pytest

from engine.evidence.readers import read

BLOCK = """GPU 00000000:{bus}:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    GPU Reset Status
        Reset Required                    : {reset}
    PCI
        GPU Link Info
            Link Width
                Max                       : 16x
                Current                   : {width}x
    {reasons}
        Idle                              : Active
        SW Power Cap                      : Active
        HW Slowdown                       : {slow}
            HW Thermal Slowdown           : {slow}
            HW Power Brake Slowdown       : Not Active
        SW Thermal Slowdown               : Not Active
    FB Memory Usage
        Total                             : 81920 MiB
    Utilization
        Gpu                               : {share} %
        Memory                            : 12 %
    ECC Errors
        Volatile
            SRAM Uncorrectable            : 0
            DRAM Correctable              : 0
            DRAM Uncorrectable            : {bad}
        Aggregate
            DRAM Correctable              : {corrected}
            DRAM Uncorrectable            : 7
    Remapped Rows
        Correctable Error                 : 1
        Uncorrectable Error               : 0
        Pending                           : {pending}
        Remapping Failure Occurred        : {failed}
    Temperature
        GPU Current Temp                  : {degrees} C
        GPU Slowdown Temp                 : 89 C
    Clocks
        Graphics                          : {clock} MHz
        SM                                : {clock} MHz
    Max Clocks
        SM                                : 1410 MHz
"""
HEALTHY = {
    "bus": "07", "reset": "No", "width": "16", "reasons": "Clocks Event Reasons", "slow": "Not Active", "share": "99",
    "bad": "0", "corrected": "3", "pending": "No", "failed": "No", "degrees": "61", "clock": "1410",
}  # fmt: skip
HEAD = "\n==============NVSMI LOG==============\n\nDriver Version : 550.90.07\nAttached GPUs : 8\n"


def text(*cards: dict[str, str]) -> bytes:
    return (HEAD + "".join(BLOCK.format(**(HEALTHY | card)) for card in cards)).encode()


def test_a_healthy_card(facts, findings):
    record = read(text({}), "q.txt")
    assert (record.read.format, record.read.records) == ("nvidia_smi_q", 1)
    assert findings(record) == []
    assert facts(record) == {
        "gpu.slowdown": False,
        "gpu.remap_pending": False,
        "gpu.pcie_width_ratio": 1.0,
        "gpu.ecc_corrected": 3.0,
        "gpu.temperature": 61.0,
        "gpu.memory_gb": 85.9,
    }


@pytest.mark.parametrize("reasons", ["Clocks Throttle Reasons", "Clocks Event Reasons"])
def test_slowdown_under_the_old_and_the_new_name(reasons):
    data = text({}, {"slow": "Active", "reasons": reasons})
    record = read(data, "q.txt")
    values = [one.value for one in record.readings if getattr(one, "fact", "") == "gpu.slowdown"]
    assert values == [False, True]
    line = next(int(one.source.where.split(":")[1]) for one in record.readings if getattr(one, "value", None) is True)
    assert "Slowdown" in data.decode().splitlines()[line - 1]


@pytest.mark.parametrize(
    ("given", "fact", "value"),
    [
        ({"pending": "Yes"}, "gpu.remap_pending", True),
        ({"width": "8"}, "gpu.pcie_width_ratio", 0.5),
        ({"corrected": "177"}, "gpu.ecc_corrected", 177.0),
    ],
)
def test_what_a_block_states(given, fact, value, facts):
    assert facts(read(text(given), "q.txt"))[fact] == value


@pytest.mark.parametrize(
    ("given", "finding"),
    [
        ({"failed": "Yes"}, "gpu.memory-errors"),
        ({"bad": "2"}, "gpu.memory-errors"),
        ({"reset": "Yes"}, "device.hardware-errors"),
    ],
)
def test_what_is_broken(given, finding, findings):
    assert findings(read(text(given), "q.txt")) == [finding]


def test_a_slow_clock_among_busy_cards(facts):
    cards = [{"bus": f"{number:02}", "clock": "1410"} for number in range(3)]
    assert facts(read(text(*cards, {"clock": "900"}), "q.txt"))["gpu.clock_ratio"] == pytest.approx(0.638)
    assert "gpu.clock_ratio" not in facts(read(text(*cards, {"clock": "210", "share": "0"}), "q.txt"))


def test_cut_in_the_middle(facts):
    data = text({}, {"pending": "Yes"})
    assert facts(read(data[: len(data) - 700], "q.txt"))["gpu.slowdown"] is False
