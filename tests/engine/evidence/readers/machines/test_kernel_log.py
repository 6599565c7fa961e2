from __future__ import annotations

import pytest

from engine.evidence.readers import read, sniff

FORMS = [
    "[6781741.548779] ",
    "[Sun Feb 22 16:24:18 2026] ",
    "kern  :warn  : 2026-01-21T04:41:44,283302+00:00 ",
    "kern  :warn  : [   12.345678] ",
    "2026-01-17T17:10:43+0000 gpu-7 kernel: ",
    "2026-01-17T17:10:43+0000 gpu-7 kernel: [  912.331201] ",
    "May 19 07:08:57 gpu-7 kernel: ",
    "May 19 07:08:57 gpu-7 kernel: [  912.331201] ",
    "4,1812,912331201,-;",
    "<4>[    2.608284] ",
]
XID = "NVRM: Xid (PCI:0000:9b:00): {code}, pid=4121, name=python, Ch 00000018"


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_time(form, facts):
    lines = [form + "usb 1-1: new device", form + XID.format(code=79), form + "eth0: link is up"]
    record = read("\n".join(lines).encode(), "dmesg")
    assert record.read.format == "kernel_log"
    assert facts(record) == {"gpu.xid": 79.0}
    assert [(event.line, event.text) for event in record.events] == [(2, XID.format(code=79))]


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-17T17:10:43 INFO train.py step 10 loss 2.31\n" * 5,
        "[2026-01-17 17:10:43,100] [INFO] [engine.py:91] ready\n" * 5,
        "[rank0]: Traceback (most recent call last):\n" * 5,
        "1,2,3\n4,5,6\n",
        "[1.234567] NVRM: one line of a paste\nthe rest is prose\nand more prose\nand more\n",
    ],
)
def test_other_logs_are_not_the_kernels(text):
    assert sniff(text.encode()) != "kernel_log"


def test_a_storm_is_one_event_a_second(facts):
    stamp = "kern  :warn  : 2026-01-21T02:21:{second:02},49{n:04}+00:00 "
    lines = [stamp.format(second=s, n=n) + XID.format(code=13) for s in (33, 34) for n in range(300)]
    record = read("\n".join(lines).encode(), "dmesg")
    assert record.read.records == 2
    assert [event.line for event in record.events] == [1, 301]
    assert record.events[0].text.endswith("[300 lines in this second]")
    assert facts(record) == {}  # a fault of the program first: no code of the hardware


@pytest.mark.parametrize(
    ("codes", "said"), [([48], 48.0), ([48, 45], 48.0), ([48, 79], None), ([13, 43], None), ([63], None)]
)
def test_which_code_becomes_a_fact(codes, said, facts):
    lines = [f"[{n}.000000] " + XID.format(code=code) for n, code in enumerate(codes)]
    record = read("\n".join(lines).encode(), "dmesg")
    assert facts(record).get("gpu.xid") == said
    assert len(record.events) == len(codes)


def test_a_blocked_task_names_its_file_system(findings, place):
    blocked = [
        "INFO: task python:280058 blocked for more than 120 seconds.",
        "Call Trace:",
        " __schedule+0x2d1/0x860",
        " ? nfs_wait+0x10/0x20 [nfs]",
        " ll_file_io_generic+0x4f/0xb0 [lustre]",
        " vfs_write+0xa5/0x1b0",
    ]
    once = ["INFO: task epilog.sh:7 blocked for more than 120 seconds.", " nfs4_wait+0x1/0x2 [nfsv4]"]
    lines = [*once, *(blocked * 3)]
    record = read("\n".join(f"[{n}.000000] {line}" for n, line in enumerate(lines)).encode(), "dmesg")
    assert findings(record) == ["io.blocked-process", "storage.not-responding"]
    assert place(record, "io.blocked-process") == "dmesg:3"
    assert "python blocked in the file system (lustre), 3 times" in record.readings[0].source.quote


def test_a_blocked_task_elsewhere_names_none(findings):
    lines = ["INFO: task kworker:7 blocked for more than 120 seconds.", " schedule+0x1/0x2", " foo+0x1/0x2 [drm]"]
    assert findings(read("\n".join(f"[{n}.000000] {x}" for n, x in enumerate(lines)).encode(), "dmesg")) == []


def test_noise_is_left_out():
    lines = [
        "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
        "nvidia-nvswitch2: open (major=240)",
        "IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready",
    ]
    record = read("\n".join(f"[{n}.000000] {x}" for n, x in enumerate(lines)).encode(), "dmesg")
    assert record.read.format == "kernel_log"
    assert record.events == ()
    assert record.not_understood in ((), ("dmesg (kernel_log) holds nothing that is known here",))


def test_repeated_lines_do_not_push_out_a_rare_one():
    lines = [f"[{n}.000000] foo 0000:{n % 256:02x}: error {n}" for n in range(5000)]
    lines.insert(2500, "[9.000000] Out of memory: Killed process 21411 (python3) total-vm:482310212kB")
    record = read("\n".join(lines).encode(), "dmesg")
    assert len(record.events) < 10
    assert any("Killed process 21411" in event.text for event in record.events)
    assert record.not_understood == ("4997 lines that repeat others were counted, not kept",)
