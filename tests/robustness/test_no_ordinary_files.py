"""Pipes, links, folders, forbidden files, bombs and depth: a reason, in bounded memory, and it ends."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
import zstandard

from engine.evidence.inputs import EvidenceFile
from engine.evidence.readers import FORMATS, Limits, read
from engine.evidence.readers.console.reader import read_console
from engine.model.case import Case
from tests.robustness.valid import CONSOLES, FILES

LIMITS = Limits(json_bytes=1 << 20, line_bytes=1 << 16, inflated_bytes=8 << 20, unsuspected_bytes=1 << 20)
HEAD = 1 << 16
# what a pattern may try from each of its places, up to the next and the next but one
UNITS = [b"\n", b" \n", b"\n\t", b" ", b"a", b"0", b"a ", b"a=", b"a: ", b"a:\n", b"- ", b"|", b"[", b"{", b"(", b'"',
         b"\\", b",", b".. ", b"\r", b"--a ", b"[0] ", b"Config(", b"Thread 1 (", b"GPU 0: UUID ", b"1:", b"%|",
         b"a,b\n", b"Tasks ", b"JobID ", b"\x1b[", b'{"a": ', b"&a [*a]\n"]  # fmt: skip


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def forbidden(folder: Path) -> Path:
    path = folder / "forbidden"
    path.write_bytes(b"x")
    path.chmod(0)
    return path


def loop(folder: Path) -> Path:
    (folder / "loop").symlink_to(folder / "loop")
    return folder / "loop"


def dangling(folder: Path) -> Path:
    (folder / "dangling").symlink_to(folder / "nowhere")
    return folder / "dangling"


def link_to_device(folder: Path) -> Path:
    (folder / "zero").symlink_to("/dev/zero")
    return folder / "zero"


@pytest.mark.parametrize("make", [pipe, forbidden, loop, dangling, link_to_device, lambda folder: folder])
def test_what_is_no_readable_file(make: Callable[[Path], Path], tmp_path: Path, collector, ends) -> None:
    path = make(tmp_path)
    if path.name == "forbidden" and os.access(path, os.R_OK):
        pytest.skip("root may read everything")
    with ends():
        record = read(path)
        observed = collector.collect(Case(), [EvidenceFile("run.log", path=path)])
    assert record.read.format == "unreadable"
    assert record.not_understood
    assert [item["format"] for item in observed.read] == ["unreadable"]
    assert observed.not_understood


def test_a_link_to_a_file_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_bytes(CONSOLES["megatron"])
    (tmp_path / "link").symlink_to("train.log")
    assert read(tmp_path / "link").read.records == 10


@pytest.mark.parametrize("unit", UNITS)
def test_no_head_takes_absurdly_long(unit: bytes, ends) -> None:
    """64 KiB of the same again and again: what is quadratic in the length shows as hours."""
    content = (unit * HEAD)[:HEAD]
    with ends():
        for one in FORMATS:
            one.recognises(content)
            one.read(BytesIO(content), "x", LIMITS)
        read_console(BytesIO(content), "x", LIMITS)


BOUNDED = """
import json, resource, sys
from pathlib import Path
from engine.evidence.readers import Limits, read

limits = Limits(**json.loads(sys.argv[2]))
read(b"step 1 loss 2.0\\n", "warm", limits)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
told = {}
for path in sorted(Path(sys.argv[1]).iterdir()):
    record = read(path, path.name, limits)
    told[path.name] = [record.read.format, list(record.not_understood)]
print(json.dumps([(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, told]))
"""
MOST_MEGABYTES = 120


def test_bombs_and_depth_take_bounded_memory(tmp_path: Path) -> None:
    """Each would take some hundred megabytes or more if it were held whole."""
    size = 256 << 20
    packer = zstandard.ZstdCompressor()
    bombs = {
        "zeros.gz": gzip.compress(bytes(size), compresslevel=1),
        "lines.zst": packer.compress(b"step 1 loss 2.0\n" * (size // 16)),
        "line.zst": packer.compress(b"x" * size),
        "state.zst": packer.compress(FILES["trainer_state"][:-2] + b"," + b'{"step": 1, "loss": 2.0},' * (size // 25)),
        "deep.json": b'{"log_history": ' + b"[" * (4 << 20),
        "deep.yaml": b"learning_rate: 1\nper_device_train_batch_size: 1\nx: " + b"[" * 100_000,
    }
    for name, content in bombs.items():
        (tmp_path / name).write_bytes(content)
    limits = {"json_bytes": 1 << 20, "line_bytes": 1 << 16, "inflated_bytes": 32 << 20, "unsuspected_bytes": 1 << 20}
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED, str(tmp_path), json.dumps(limits)], capture_output=True, text=True, timeout=300,
        check=False, env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    grown, told = json.loads(done.stdout)
    assert grown < MOST_MEGABYTES
    assert {name for name, (_, why) in told.items() if why} == set(bombs)
