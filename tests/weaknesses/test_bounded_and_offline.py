"""Memory stays flat on a large log, and no input, however wrong, opens a connection. Each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.robustness.valid import CONSOLES, FILES

LOG_MEGABYTES = 60
MOST_MEGABYTES = 160
"""Above what a small log took: blocks of text, 2^18 points of each series, events. A tenth of it is not the log."""

PEAK = """
import json, resource, sys
from pathlib import Path
from engine.diagnose import Diagnoser, EvidenceFile
from engine.knowledge.load import load_knowledge
from engine.model.case import Case

diagnoser = Diagnoser(load_knowledge(), keep=True)

def peak(name):
    diagnosis = diagnoser.diagnose(Case(), [EvidenceFile("train.log", path=Path(name))])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, diagnosis

before, _ = peak(sys.argv[1])
after, diagnosis = peak(sys.argv[2])
read = diagnosis.coverage.read[0]
print(json.dumps([after - before, read["records"], read["lines"], [finding.id for finding in diagnosis.findings]]))
"""

OFFLINE = """
import json, sys
from pathlib import Path

opened = []
sys.addaudithook(lambda event, arguments: opened.append(f"{event} {arguments!r}"[:200])
                 if event.startswith(("socket.", "urllib.", "http.", "ftplib.", "smtplib.")) else None)

from engine.diagnose import Diagnoser, EvidenceFile
from engine.knowledge.load import load_knowledge
from engine.model.case import Case

diagnoser = Diagnoser(load_knowledge(), keep=True)
URL = "http://127.0.0.1:9/run/train.log"
files = [EvidenceFile(path.name, path=path) for path in sorted(Path(sys.argv[1]).iterdir())]
for one in files:
    diagnoser.collect(Case(), [EvidenceFile(f"{URL}/{one.name}", path=one.path)])
for name in (URL, "https://example.org/x.json", "s3://bucket/run", "//host/share/log", "file:///etc/hostname"):
    diagnoser.diagnose(Case(), [EvidenceFile(name, path=Path(name))])
case = Case(report=f"see {URL} and wandb: View run at https://wandb.ai/x/y", log=[f"wandb: Syncing to {URL}"],
            files={"adapter_config.json": {"base_model_name_or_path": URL}, URL: f"!!python/object:x {URL}"})
diagnoser.diagnose(case, files)
print(json.dumps({"files": len(files), "opened": opened}))
"""


def run(script: str, *arguments: str) -> object:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=300, check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def large_log(path: Path, megabytes: int) -> int:
    """A Megatron log of about that size, with lines of other programs between; returns the count of its records."""
    records = megabytes * (1 << 20) // 410
    with path.open("w") as out:
        for at in range(records):
            out.write(
                f" iteration {at * 10 + 10:8d}/{records * 10:8d} | consumed samples: {at * 2560:12d} | elapsed time "
                f"per iteration (ms): {1500 + at % 7}.0 | learning rate: 6.000E-05 | global batch size:   256 | "
                f"lm loss: {2 + 6 / (1 + at / 900) + at % 13 / 500:.6E} | loss scale: 1.0 | "
                f"grad norm: 0.{300 + at % 40} | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
                f"worker {at % 64} of shard {at}: read {at * 4096} bytes in {at % 17} ms, queue holds {at % 9} batches "
                f"and waits for nobody at all\n"
            )
    return records


def test_10_memory_is_bounded_on_a_large_log(tmp_path: Path) -> None:
    large_log(tmp_path / "small.log", 1)
    records = large_log(tmp_path / "large.log", LOG_MEGABYTES)
    assert (tmp_path / "large.log").stat().st_size > (LOG_MEGABYTES - 8) << 20
    grown, read, lines, findings = run(PEAK, str(tmp_path / "small.log"), str(tmp_path / "large.log"))
    assert (read, lines) == (records, 2 * records)
    assert findings == []
    assert grown < MOST_MEGABYTES


def test_12_nothing_opens_a_connection(tmp_path: Path) -> None:
    addressed = b"\nhttp://127.0.0.1:9/x https://huggingface.co/org/model s3://bucket/key\n"
    for name, content in (FILES | CONSOLES).items():
        (tmp_path / name).write_bytes(content + addressed)
    told = run(OFFLINE, str(tmp_path))
    assert told == {"files": len(FILES | CONSOLES), "opened": []}
