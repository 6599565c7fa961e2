"""What engineers say and what must come of it: the sentences of ``phrases/*.yaml``, one test a finding.

Each entry is ``{finding, says: [...], denies: [...], not: [...]}``. Every ``says`` must make the finding present, read
as a report and with the rules applied; no ``denies`` (it is said to be absent) and no ``not`` (another matter) may.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.diagnose import Diagnoser
from engine.model.case import Case

FOLDER = Path(__file__).parent / "phrases"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
KEYS = {"finding", "says", "denies", "not"}


def _entries() -> list[Any]:
    return [
        pytest.param(entry, id=f"{file.stem}-{entry['finding']}")
        for file in sorted(FOLDER.glob("*.yaml"))
        for entry in yaml.load(file.read_bytes(), Loader=LOADER)
    ]


def _present(diagnoser: Diagnoser, text: str) -> set[str]:
    return {known.finding for known in diagnoser.known(diagnoser.collect(Case(report=text))) if known.present}


@pytest.mark.parametrize("entry", _entries())
def test_sentences(diagnoser: Diagnoser, entry: dict[str, Any]) -> None:
    finding = entry["finding"]
    assert entry.keys() <= KEYS, f"unknown keys {entry.keys() - KEYS}"
    assert finding in diagnoser.knowledge.findings, f"there is no finding {finding}"
    missed = [text for text in entry.get("says", []) if finding not in _present(diagnoser, text)]
    false = [text for key in ("denies", "not") for text in entry.get(key, []) if finding in _present(diagnoser, text)]
    assert (missed, false) == ([], []), "said and not read; read and not said"
