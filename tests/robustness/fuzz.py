"""A coverage-guided fuzzer over all readers: ``python fuzz.py FOLDER [options of libFuzzer]``, with atheris installed.

FOLDER gets the seeds (a valid file of each format) and what the fuzzer learns. The first byte of an input chooses: 0 is
``read`` with its recognition, any other number one reader directly, since damage to the head would send most inputs to
the console reader. An exception, a hang or too much memory ends the run with a code that is not 0.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["engine.evidence"]):
    from engine.evidence.readers import FORMATS, Limits, read
    from engine.evidence.readers.console.reader import read_console
    from engine.evidence.series import RunRecord

from tests.robustness.valid import CONSOLES, FILES

LIMITS = Limits(json_bytes=1 << 20, line_bytes=1 << 16, inflated_bytes=4 << 20, unsuspected_bytes=1 << 20)
READERS = [read_console, *(one.read for one in FORMATS)]


def seeds(folder: Path) -> None:
    """Write every valid file for ``read`` and for its own reader."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = {one.id: number for number, one in enumerate(FORMATS, 2)}
    for name, content in (FILES | CONSOLES).items():
        (folder / f"read-{name}").write_bytes(b"\0" + content)
        (folder / f"own-{name}").write_bytes(bytes([numbers.get(name, 1)]) + content)


def one_input(data: bytes) -> None:
    """Read one input in the way its first byte says."""
    kind, content = data[:1], data[1:]
    number = kind[0] % (len(READERS) + 1) if kind else 0
    # a label as trackers have it: some formats are told apart by their folder
    label = "mlruns/0/1f2e/metrics/loss"
    record = READERS[number - 1](BytesIO(content), label, LIMITS) if number else read(content, label, LIMITS)
    assert isinstance(record, RunRecord)


def main() -> None:
    """Run libFuzzer until its options tell it to stop."""
    seeds(Path(sys.argv[1]))
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
