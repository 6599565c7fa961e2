"""Series written by hand into a case document: ``{name, values, steps?, unit?}``.

Values may be numbers, "nan", "inf", null, or what people write ("3+", "~2.5"); one value or a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from engine.evidence.readers.columns import number
from engine.evidence.readers.names import canonical
from engine.evidence.series import Floats, Series

_LOOSE = re.compile(r"^[~≈<>=\s]*([+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?:\+|%|[A-Za-z/]{0,8})$")


def series_from_case(given: Iterable[Mapping[str, object]]) -> tuple[list[Series], list[str]]:
    """Return the series of a case and remarks on what was not understood; never raises on content."""
    series: list[Series] = []
    remarks: list[str] = []
    for position, entry in enumerate(given):
        place = f"series[{position}]"
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            remarks.append(f"{place}: wants an object with name and values")
            continue
        one = _one(entry, str(entry["name"]), place, remarks)
        if one is not None:
            series.append(one)
    return series, remarks


def _one(entry: Mapping[str, object], name: str, place: str, remarks: list[str]) -> Series | None:
    values = _numbers(entry.get("values"), f"{place}.values", remarks)
    if not len(values):
        remarks.append(f"{place}: {name!r} has no values")
        return None
    unit = entry.get("unit")
    known = canonical(name, unit if isinstance(unit, str) else None)
    if not known.known:
        remarks.append(f"{place}: {name!r} is no metric known here; kept under its own name")
    steps = np.arange(1, len(values) + 1, dtype=np.float64)
    if entry.get("steps") is not None:
        stated = _numbers(entry["steps"], f"{place}.steps", remarks)
        if len(stated) == len(values) and bool(np.isfinite(stated).all()):
            steps = stated
        else:
            remarks.append(f"{place}: steps do not match the {len(values)} values; the points are counted instead")
    series = Series(known.name, steps, values * known.scale, known.unit, place)
    given = entry.get("values")
    # null is a gap in the record, not a value that was NaN; its step is left out as well
    gaps = [item is None for item in given] if isinstance(given, list | tuple) else []
    return series.take(~np.array(gaps)) if any(gaps) and len(gaps) == len(series) else series


def _numbers(given: object, place: str, remarks: list[str]) -> Floats:
    items = (
        given
        if isinstance(given, list | tuple)
        else re.split(r"[;\s]+|,\s+", given)
        if isinstance(given, str)
        else [given]
    )
    values: list[float] = []
    for at, item in enumerate(items):
        value = _loose(item)
        if item is None:
            value = float("nan")  # keeps the places of the others until the gaps are taken out
        elif value is None:
            remarks.append(f"{place}[{at}]: {str(item)[:40]!r} is no number")
        if value is not None:
            values.append(value)
    return np.array(values, dtype=np.float64)


def _loose(item: object) -> float | None:
    if isinstance(item, bool) or item is None or not isinstance(item, int | float | str):
        return None
    if not isinstance(item, str):
        try:
            return float(item)
        except OverflowError:
            return float("inf")
    exact = number(item)
    loose = _LOOSE.match(item.strip()) if exact is None else None
    return number(loose[1]) if loose is not None else exact
