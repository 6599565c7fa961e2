"""The page on evidence says what the code does: its tables are held against it."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from engine.evidence import detectors
from engine.evidence.readers import FORMATS, Limits
from engine.evidence.readers.builder import MAX_POINTS

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-\d+)?")


@pytest.fixture(scope="module")
def page(checkout: Path) -> str:
    return (checkout / "docs" / "evidence.md").read_text(encoding="utf-8")


def rows(page: str, title: str) -> list[list[str]]:
    """The cells of the table whose first column has this title."""
    lines = page.split(f"| {title} |", 1)[1].splitlines()[2:]
    table = []
    for line in lines:
        if not line.startswith("|"):
            break
        table.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
    return table


def test_every_format_in_its_order(page: str) -> None:
    assert [row[0] for row in rows(page, "id")] == [one.id for one in FORMATS]


def test_every_detector_with_its_thresholds(page: str) -> None:
    folder = Path(detectors.__file__).parent
    source = {
        name: path.read_text()
        for path in folder.glob("*.py")
        for name in re.findall(r"^def (detect_\w+)", path.read_text(), re.MULTILINE)
    }
    table = {name: thresholds for name, _, thresholds in rows(page, "detector")}
    assert table.keys() == source.keys() - {"detect"}
    missing = {
        name: absent
        for name, thresholds in table.items()
        if (absent := set(_NUMBER.findall(thresholds)) - set(_NUMBER.findall(source[name])))
    }
    assert missing == {}


def test_every_limit_with_its_value(page: str) -> None:
    limits = Limits()
    stated = {name: float(value) for name, value, _ in rows(page, "limit")}
    numbers = {one.name: getattr(limits, one.name) for one in fields(limits)}
    assert stated == {name: value for name, value in numbers.items() if isinstance(value, int | float)}
    assert f"up to {MAX_POINTS} points" in page
