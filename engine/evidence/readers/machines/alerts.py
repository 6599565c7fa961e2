"""Alerts as Alertmanager (webhook version 4) and Grafana send them: one line of text for each that is firing.

``endsAt`` in the year 1 means still firing. A resolved alert is told once more and is no trouble any longer. Alerts
that fire always on purpose (Watchdog, DeadMansSwitch, InfoInhibitor) say that the alerting itself works.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, Any

from engine.evidence.readers.format import Format
from engine.evidence.readers.lines import Limits, Notes
from engine.evidence.readers.machines.snapshot import cell, fact, record, text_of
from engine.evidence.series import LogEvent, RunRecord
from engine.model.evidence import FactReading, Reading

_ALWAYS = frozenset({"watchdog", "deadmansswitch", "deadmanssnitch", "infoinhibitor"})
_KEYS = frozenset({"alerts", "groupKey", "groupLabels", "commonLabels"})
_MAX_ALERTS = 2_000
_NAMES, _MAX_NAMES = "alert.names", 8
_BLANKS = re.compile(r"\s+")


def read_alerts(stream: IO[bytes], label: str, limits: Limits) -> RunRecord:
    """Read the alerts of one notification; the line of an alert is its place in the list."""
    notes = Notes([])
    try:
        document = json.loads(text_of(stream, limits, notes))
    except (ValueError, RecursionError) as error:
        notes.add(f"JSON is damaged or nested too deeply ({type(error).__name__})")
        document = None
    events: list[LogEvent] = []
    readings: list[Reading] = []
    names: dict[str, None] = {}
    count = resolved = 0
    for number, alert in enumerate(_alerts(document), 1):
        labels = _texts(alert.get("labels"))
        name = labels.get("alertname", "")
        count += 1
        if name.replace(" ", "").lower() in _ALWAYS:
            continue
        if _is_resolved(alert):
            resolved += 1
            continue
        names[name or "unnamed"] = None
        text = _text(labels, _texts(alert.get("annotations")))
        events.append(LogEvent(number, text[: limits.event_chars]))
        code = cell(labels.get("xid") or labels.get("err_code") or "")
        if code is not None and 1 <= code < 1000:
            readings.append(fact("gpu.xid", code, f"{label}:{number}", text))
    if resolved:
        notes.add(f"{resolved} alerts are resolved and were left out")
    if isinstance(document, Mapping) and document.get("truncatedAlerts"):
        notes.add(f"{document['truncatedAlerts']} further alerts were cut off by the sender")
    if isinstance(document, Mapping) and document.get("leftOutAlerts"):
        notes.add(f"{document['leftOutAlerts']} further alerts were cut off by the service that took them")
    if names:
        listed = ", ".join([*names][:_MAX_NAMES])
        readings.append(fact(_NAMES, listed, f"{label}:1", events[0].text))
    return record("alerts", label, count, count, readings, events, notes=notes.texts)


def joined(facts: Sequence[FactReading]) -> list[FactReading]:
    """One fact of the alerts that all notifications of a case name: they say more, not something else."""
    told = [one for one in facts if one.fact == _NAMES]
    if len(told) < 2:
        return list(facts)
    names = dict.fromkeys(name for one in told for name in str(one.value).split(", "))
    whole = replace(told[0], value=", ".join([*names][:_MAX_NAMES]))
    return [whole if one is told[0] else one for one in facts if one is told[0] or one.fact != _NAMES]


def _alerts(document: Any) -> Iterator[Mapping[str, Any]]:
    found = document.get("alerts") if isinstance(document, Mapping) else document
    for item in found[:_MAX_ALERTS] if isinstance(found, list) else ():
        if isinstance(item, Mapping):
            yield item


def _is_resolved(alert: Mapping[str, Any]) -> bool:
    status = alert.get("status")
    state = status.get("state") if isinstance(status, Mapping) else status
    return str(state).lower() in {"resolved", "suppressed", "normal", "inactive"}


def _texts(given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping):
        return {}
    return {str(key): str(value) for key, value in given.items() if isinstance(value, str | int | float)}


def _text(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """One line: name, labels, then what the alert says for people."""
    first = f'alertname="{labels.get("alertname", "")}"'
    rest = [f'{key}="{value}"' for key, value in labels.items() if key != "alertname"]
    words = [annotations[key] for key in ("summary", "description", "message") if annotations.get(key)]
    return _BLANKS.sub(" ", " ".join([first, *rest, *words]).replace("\\t", " ").replace("\\n", " "))


def _recognises(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start == b"{":
        return b'"alerts"' in head and sum(f'"{key}"'.encode() in head for key in _KEYS) >= 2
    return start == b"[" and b'"alertname"' in head and b'"startsAt"' in head


ALERTS = Format("alerts", _recognises, read_alerts)
