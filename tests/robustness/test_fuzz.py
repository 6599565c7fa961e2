"""A minute of coverage-guided fuzzing over all readers, where atheris is installed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 60


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="needs atheris (pip install atheris)")
def test_a_minute_of_fuzzing(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("fuzz.py")), "corpus", f"-max_total_time={SECONDS}",
         "-timeout=20", "-rss_limit_mb=2048", "-max_len=6000"],
        cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS * 10, check=False,
        env=os.environ | {"PYTHONPATH": str(root)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Done " in done.stderr
