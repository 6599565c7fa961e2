"""Alerts as this service understands them, whoever sent them, and the texts in them made harmless."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from api.hidden import HIDDEN_IN_LINES
from engine.model.base import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SourceName = Literal["alertmanager", "grafana", "pagerduty"]
MAX_ALERTS = 500
MAX_LABELS = 100
MAX_NAME, MAX_VALUE = 200, 2_000
MAX_REF = 300


class Alert(Frozen):
    """One alert; times are seconds since 1970, UTC, and None if they are not known."""

    name: str
    firing: bool
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    values: dict[str, float] = {}
    started: float | None = None
    ended: float | None = None
    fingerprint: str
    url: str = ""

    @property
    def id(self) -> str:
        """Of this time it fires: an alert that ended and fires again is another one."""
        return f"{self.fingerprint} {told_time(self.started)}"

    @property
    def place(self) -> str:
        """Where it fires, as far as its labels tell."""
        names = ("instance", "node", "hostname", "Hostname", "host", "pod", "job", "service")
        return next((self.labels[name] for name in names if self.labels.get(name)), "")


class Notification(Frozen):
    """What one request says about the alerts of one group.

    Args:
        group: what the source calls the group; all of its alerts belong into one case.
        cut_off: number of alerts that the source left out.
        left_out: number of those it sent that are too many here.
        url: leads people back to the source.
        about: the id of the case that the source was told of, if that is what it tells back.
    """

    source: SourceName
    group: str
    alerts: tuple[Alert, ...]
    cut_off: int = 0
    left_out: int = 0
    url: str = ""
    about: str = ""

    @property
    def ref(self) -> str:
        """The group in a form that fits into a link: itself, or its digest if it is long or holds odd characters."""
        if len(self.group) <= MAX_REF and self.group.isprintable() and self.group:
            return self.group
        return "sha256:" + hashlib.sha256(self.group.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def firing(self) -> tuple[Alert, ...]:
        return tuple(alert for alert in self.alerts if alert.firing)

    @property
    def ended(self) -> tuple[Alert, ...]:
        return tuple(alert for alert in self.alerts if not alert.firing)

    @property
    def key(self) -> str:
        """Equal for requests that say the same: source, group, and of each alert fingerprint, start and state."""
        states = sorted((alert.id, alert.firing) for alert in self.alerts)
        return hashlib.sha256(json.dumps([self.source, self.group, states]).encode()).hexdigest()

    def titled(self) -> str:
        """The alerts in a few words: names, and the place of the first."""
        alerts = self.firing or self.alerts
        names = list(dict.fromkeys(alert.name for alert in alerts))
        title = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        place = alerts[0].place if alerts else ""
        more = f" (+{len(alerts) - 1})" if len(alerts) > 1 else ""
        return one_line(f"{title}: {place}{more}" if place else f"{title}{more}", MAX_NAME)


def told_time(seconds: float | None) -> str:
    """RFC 3339, UTC; empty if not known."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def seconds_of(moment: datetime | None) -> float | None:
    """Seconds since 1970, UTC; None for "no time", which senders in Go write as year 1."""
    if moment is None or not 1971 <= moment.year <= 2500:
        return None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def fingerprint_of(labels: Mapping[str, str]) -> str:
    """What stands for an alert whose source gave it no fingerprint."""
    return hashlib.sha256(json.dumps(sorted(labels.items())).encode()).hexdigest()[:16]


def clean(text: str, length: int) -> str:
    """``text`` without characters that control terminals, databases or the direction of reading, cut to ``length``."""
    text = HIDDEN_IN_LINES.sub(" ", text[: 4 * length]).strip()
    return text if len(text) <= length else text[: length - 1] + "…"


def one_line(text: str, length: int) -> str:
    """:func:`clean`, in one line."""
    return clean(" ".join(text.split()), length)


def texts(given: Any) -> dict[str, str]:
    """Labels or annotations: names and texts. None is nothing; what is no scalar is left out.

    Raises:
        ValueError: if ``given`` is no object.
    """
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise ValueError("must be an object of names and texts")
    scalars = [(name, value) for name, value in given.items() if isinstance(value, str | int | float)]
    return {clean(name, MAX_NAME): clean(str(value), MAX_VALUE) for name, value in scalars[:MAX_LABELS]}


def numbers(given: Any) -> dict[str, float]:
    """Names and numbers; what is no number is left out, as is everything if ``given`` is no object."""
    if not isinstance(given, dict):
        return {}
    found: dict[str, float] = {}
    for name, value in [*given.items()][:MAX_LABELS]:
        try:
            found[clean(name, MAX_NAME)] = float(value)
        except (TypeError, ValueError, OverflowError):
            continue
    return found


def limited(alerts: Sequence[Alert]) -> tuple[tuple[Alert, ...], int]:
    """At most ``MAX_ALERTS``, and how many were left out; those that ended go first."""
    kept = sorted(alerts, key=lambda alert: not alert.firing)[:MAX_ALERTS]
    return tuple(kept), len(alerts) - len(kept)
