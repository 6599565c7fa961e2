"""First, odd and missing ranks; errors that no signature knows; when memory ran out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.evidence import readers
from engine.evidence.ranks import incident
from engine.evidence.signatures import Hit, SignatureScan
from engine.model.evidence import FactReading
from engine.model.kb import Signature

SIGNATURES: tuple[dict[str, Any], ...] = (
    {"id": "watchdog", "pattern": "Watchdog caught collective", "role": "cascade", "finding": "hang.timeout"},
    {"id": "module", "pattern": "No module named", "role": "root", "finding": "package.missing"},
)
OWN = '  File "/home/me/run.py", line 12, in build\n    x = table[key]\n'
LIBRARY = (
    '  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1739, in _call_impl\n    y()\n'
)
BEGIN = "Traceback (most recent call last):\n"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def scan() -> SignatureScan:
    return SignatureScan(Signature(examples=("x",), **one) for one in SIGNATURES)


def judged(scan: SignatureScan, *files: tuple[str, str]) -> dict[str, Any]:
    """Facts with their values, findings with their quotes."""
    records = [readers.read(text.encode(), name) for name, text in files]
    hits: list[Hit] = [hit for record in records for hit in scan.hits(record)]
    found: dict[str, Any] = {}
    for reading in incident(records, hits):
        if isinstance(reading, FactReading):
            found[reading.fact] = reading.value
        else:
            found[reading.finding] = reading.source.quote
    return found


def with_rank(rank: int, text: str) -> str:
    return "".join(f"[rank{rank}]: {line}\n" for line in text.splitlines())


def test_an_unknown_error_is_said_with_its_own_frame(scan: SignatureScan) -> None:
    found = judged(scan, ("log", "loading\n" + BEGIN + OWN + LIBRARY + "my.StrangeError: key 7 of 9\n"))
    assert found["error.unrecognised"] == "my.StrangeError: key 7 of 9 at /home/me/run.py:12 in build"
    assert found["run.end"] == "crashed"


def test_a_known_error_is_not_unrecognised(scan: SignatureScan) -> None:
    found = judged(scan, ("log", BEGIN + OWN + "ModuleNotFoundError: No module named 'fla'\n"))
    assert "error.unrecognised" not in found


def test_a_crash_without_a_traceback_quotes_the_last_lines(scan: SignatureScan) -> None:
    found = judged(scan, ("log", "starting\nreading\nSegmentation fault (core dumped)\n"))
    assert found["error.unrecognised"] == "starting | reading | Segmentation fault (core dumped)"


def test_a_person_who_stops_the_run_is_no_error(scan: SignatureScan) -> None:
    assert "error.unrecognised" not in judged(scan, ("log", BEGIN + OWN + "KeyboardInterrupt\n"))


def test_healthy_text_says_nothing(scan: SignatureScan) -> None:
    assert judged(scan, ("log", "epoch 1 done\nworld_size: 8\n[rank0]: NCCL version 2.21\nsaved\n")) == {}


def test_the_error_of_a_launcher_is_not_the_error(scan: SignatureScan) -> None:
    text = BEGIN + OWN + "ValueError: odd shape\n" + BEGIN + LIBRARY + "torch.distributed.ChildFailedError: \n"
    assert judged(scan, ("log", text))["error.unrecognised"].startswith("ValueError")


def test_interleaved_ranks_and_the_odd_one(scan: SignatureScan) -> None:
    three = with_rank(3, BEGIN + OWN + "KeyError: 'weights'").splitlines()
    five = with_rank(5, BEGIN + LIBRARY + "RuntimeError: aborted").splitlines()
    mixed = "\n".join(line for pair in zip(three, five, strict=True) for line in pair)
    text = mixed + "\n" + with_rank(6, BEGIN + LIBRARY + "RuntimeError: aborted")
    found = judged(scan, ("log", text))
    assert (found["incident.odd_rank"], found["incident.first_rank"], found["incident.failed_ranks"]) == (3.0, 3.0, 3.0)
    assert found["error.unrecognised"].startswith("KeyError")


def test_the_same_error_on_all_ranks_has_no_first(scan: SignatureScan) -> None:
    text = "".join(with_rank(rank, BEGIN + OWN + "ValueError: bad argument") for rank in range(4))
    found = judged(scan, ("log", text))
    assert found["incident.failed_ranks"] == 4.0
    assert "incident.first_rank" not in found
    assert "incident.odd_rank" not in found


def test_a_traceback_stands_before_the_timeouts_of_others(scan: SignatureScan) -> None:
    files = [("rank1.log", "2026-05-20 06:00:00 x\n" + BEGIN + OWN + "KeyError: 3\n")]
    files += [
        (f"rank{rank}.log", f"2026-05-20 06:30:00 [Rank {rank}] Watchdog caught collective\n") for rank in (0, 2, 3)
    ]
    found = judged(scan, *files)
    assert (found["incident.first_rank"], found["incident.failed_ranks"]) == (1.0, 1.0)


TABLE = """Failures:
[1]:
  time      : 2026-05-20_06:32:05
  host      : node-{host}
  rank      : {first} (local_rank: 0)
  exitcode  : {code} (pid: 7)
  error_file: <N/A>
[2]:
  time      : 2026-05-20_06:32:05
  host      : node-{host}
  rank      : {second} (local_rank: 1)
  exitcode  : -15 (pid: 8)
"""


def test_tables_of_several_nodes(scan: SignatureScan) -> None:
    text = TABLE.format(host="a", first=0, second=1, code=1) + TABLE.format(host="b", first=8, second=9, code=1)
    found = judged(scan, ("log", text))
    assert (found["incident.failed_nodes"], found["incident.failed_ranks"]) == (2.0, 2.0)


def test_a_table_of_victims_names_nobody(scan: SignatureScan) -> None:
    found = judged(scan, ("log", TABLE.format(host="a", first=0, second=1, code=-6)))
    assert "incident.failed_ranks" not in found


STEP = (
    " iteration {:8d}/     100 | consumed samples: 8 | elapsed time per iteration (ms): 10.0 | "
    "learning rate: 6.0E-05 | global batch size:     8 | lm loss: 2.5E+00 | loss scale: 1.0 | grad norm: 0.3 | "
    "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
)
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


def frame(file: str, function: str) -> str:
    return f'  File "/opt/venv/lib/python3.11/site-packages/{file}", line 10, in {function}\n    f()\n'


@pytest.mark.parametrize(
    ("steps", "frames", "finding"),
    [
        (
            0,
            frame("torch/optim/adamw.py", "step") + frame("torch/optim/adamw.py", "_init_group"),
            "oom.first-optimizer-step",
        ),
        (
            0,
            frame("transformers/trainer.py", "evaluation_loop") + frame("torch/nn/m.py", "forward"),
            "oom.in-evaluation",
        ),
        (0, frame("transformers/modeling_utils.py", "save_pretrained"), "oom.on-save"),
        (0, frame("transformers/modeling_utils.py", "from_pretrained"), "oom.before-training"),
        (30, frame("torch/_tensor.py", "backward"), "oom.after-many-steps"),
        (3, frame("torch/_tensor.py", "backward"), None),
        (0, frame("torch/_tensor.py", "backward"), None),
    ],
)
def test_the_phase_in_which_memory_runs_out(scan: SignatureScan, steps: int, frames: str, finding: str | None) -> None:
    text = "".join(STEP.format(step + 1) for step in range(steps)) + BEGIN + OWN + frames + OOM
    found = {name for name in judged(scan, ("log", text)) if name.startswith("oom.")}
    assert found == ({finding} if finding else set())
