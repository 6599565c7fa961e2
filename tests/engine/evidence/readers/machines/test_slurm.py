from __future__ import annotations

import pytest

from engine.evidence.readers import read

PARSABLE = "JobID|JobName|State|ExitCode|Elapsed|MaxRSS|ReqMem|NNodes|NodeList\n"
WIDE = """       JobID    JobName      State ExitCode     MaxRSS     ReqMem
------------ ---------- ---------- -------- ---------- ----------
70133             train {state:>10} {code:>8}                   64G
70133.batch       batch  CANCELLED    0:15   8123456K
"""


def parsable(state: str, code: str = "0:0") -> bytes:
    rows = [
        f"70133|train|{state}|{code}|1-00:00:12||512G|1|gpu012",
        f"70133.0|python|CANCELLED|{code}|1-00:00:01|510G|||",
    ]
    return (PARSABLE + "\n".join(rows) + "\n").encode()


@pytest.mark.parametrize(
    ("state", "found", "end"),
    [
        ("COMPLETED", [], "finished"),
        ("TIMEOUT", ["job.killed-by-scheduler"], "cancelled"),
        ("PREEMPTED", ["job.killed-by-scheduler"], "cancelled"),
        ("NODE_FAIL", ["node.lost"], "crashed"),
        ("OUT_OF_MEMORY", ["host.memory-exhausted"], "crashed"),
        ("CANCELLED by 20114", ["job.cancelled-by-person"], "cancelled"),
        ("CANCELLED by 0", [], "cancelled"),
        ("RUNNING", [], "unknown"),
    ],
)
def test_states_of_the_job(state, found, end, findings):
    record = read(parsable(state), "sacct.txt")
    assert record.read.format == "sacct"
    assert findings(record) == found
    assert record.end.kind == end


@pytest.mark.parametrize(
    ("code", "value", "found"),
    [
        ("1:0", 1.0, []),
        ("0:9", 137.0, ["host.process-killed"]),
        ("137:0", 137.0, ["host.process-killed"]),
        ("0:11", 139.0, ["process.crashed-natively"]),
        ("0:15", 143.0, []),
    ],
)
def test_exit_codes(code, value, found, facts, findings):
    record = read(parsable("FAILED", code), "sacct.txt")
    assert facts(record)["run.exit_code"] == value
    assert findings(record) == found


def test_memory_of_the_fullest_step(facts, place):
    record = read(parsable("OUT_OF_MEMORY", "0:125"), "sacct.txt")
    assert facts(record)["host.ram_used_ratio"] == pytest.approx(510 / 512, abs=1e-3)
    assert place(record, "host.ram_used_ratio") == "sacct.txt:3"


def test_the_wide_form(findings):
    record = read(WIDE.format(state="TIMEOUT", code="0:0").encode(), "sacct.txt")
    assert record.read.format == "sacct"
    assert findings(record) == ["job.killed-by-scheduler"]
    assert findings(read(WIDE.format(state="COMPLETED", code="0:0").encode(), "sacct.txt")) == []


def test_scontrol_job_and_node(findings, facts):
    job = (
        "JobId=70133 JobName=train\n   UserId=u(1) GroupId=g(1)\n   JobState=FAILED Reason=NonZeroExitCode\n"
        "   RunTime=01:00:00 ExitCode=1:0\n   NodeList=gpu012\n"
    )
    record = read(job.encode(), "job.txt")
    assert (record.read.format, record.end.kind) == ("scontrol", "crashed")
    assert facts(record) == {"run.exit_code": 1.0}
    node = "NodeName=gpu012 Arch=x86_64\n   State=DOWN*+DRAIN ThreadsPerCore=1\n   Reason=Not responding [slurm@now]\n"
    assert findings(read(node.encode(), "node.txt")) == ["node.lost"]
    idle = "NodeName=gpu012 Arch=x86_64\n   State=MIXED ThreadsPerCore=1\n"
    assert findings(read(idle.encode(), "node.txt")) == []


def test_prose_is_no_table():
    text = b"JobID and State are columns of sacct, as everybody knows\nthe job has ended\n"
    assert read(text, "note.txt").read.format != "sacct"
