from __future__ import annotations

from engine.evidence.readers import read


def nvlink(*cards: str) -> bytes:
    """One text a card: ``+`` an active link, ``-`` an inactive one."""
    lines = []
    for number, states in enumerate(cards):
        lines.append(f"GPU {number}: NVIDIA A100-SXM4-80GB (UUID: GPU-5269b708-678a-b1a8-60f0-c9040653748{number})")
        lines += [f"\t Link {at}: {'25 GB/s' if one == '+' else '<inactive>'}" for at, one in enumerate(states)]
    return "\n".join(lines).encode()


def test_inactive_links_beside_active_ones(facts, place):
    record = read(nvlink("++++", "++-+", "++++"), "nvlink.txt")
    assert record.read.format == "nvlink_status"
    assert facts(record) == {"nvlink.inactive_links": 1.0}
    assert place(record, "nvlink.inactive_links") == "nvlink.txt:9"
    assert "GPU 1 Link 2" in record.readings[0].source.quote


def test_cards_without_any_bridge_are_not_at_fault(facts):
    assert facts(read(nvlink("++", "--"), "nvlink.txt")) == {"nvlink.inactive_links": 0.0}
    assert facts(read(nvlink("++", "++"), "nvlink.txt")) == {"nvlink.inactive_links": 0.0}


def ibstat(**ports: tuple[str, str]) -> bytes:
    text = ""
    for name, (state, physical) in ports.items():
        text += (
            f"CA '{name}'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: {state}\n"
            f"\t\tPhysical state: {physical}\n\t\tRate: 400\n\t\tLink layer: InfiniBand\n"
        )
    return text.encode()


def test_a_port_that_looks_for_its_peer(findings, place):
    record = read(ibstat(mlx5_0=("Active", "LinkUp"), mlx5_1=("Down", "Polling")), "ibstat.txt")
    assert record.read.format == "ibstat"
    assert findings(record) == ["network.port-down"]
    assert place(record, "network.port-down") == "ibstat.txt:13"


def test_a_port_that_is_switched_off(findings):
    assert findings(read(ibstat(mlx5_0=("Active", "LinkUp"), mlx5_9=("Down", "Disabled")), "ibstat.txt")) == []


def lspci(device: str, now: int) -> bytes:
    return (
        f"9b:00.0 {device}\n\tSubsystem: x\n\tCapabilities: [60] Express\n"
        f"\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
        f"\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x{now}\n"
    ).encode()


def test_lanes_of_a_card(facts):
    card = "3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev a1)"
    assert facts(read(lspci(card, 8), "lspci.txt")) == {"gpu.pcie_width_ratio": 0.5}
    assert facts(read(lspci(card, 16), "lspci.txt")) == {"gpu.pcie_width_ratio": 1.0}
    assert facts(read(lspci("Ethernet controller: Intel Corporation", 8), "lspci.txt")) == {}
