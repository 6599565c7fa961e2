"""Alerts in and out: webhooks that open cases, series of Prometheus, and news of cases to other services."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from api.alerts import pagerduty, prometheus, webhooks, work
from api.alerts.queries import QueriesError, load
from api.settings import SettingsError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from api.outbound import Outbound
    from api.settings import Settings


def install(app: FastAPI, outbound: Outbound) -> None:
    """Let the worker of ``app`` take alerts, and its cases tell others, as the settings say.

    Args:
        outbound: reaches the addresses of the settings.

    Raises:
        SettingsError: if the settings do not fit together.
    """
    state: Any = app.state
    settings: Settings = state.settings
    handlers, cases = state.worker_handlers, state.cases
    handlers[work.KIND] = work.AlertWork(cases, state.expert)
    if settings.prometheus_url:
        series = prometheus.SeriesWork(
            cases,
            outbound,
            _queries(settings),
            settings.prometheus_url,
            settings.prometheus_token,
            settings.prometheus_seconds,
            time.time,
        )
        handlers[prometheus.KIND] = series
        cases.outbox.append(series.order)
    if settings.webhooks:
        hooks = webhooks.WebhookWork(outbound, settings.webhooks, settings.public_url, time.time)
        handlers[webhooks.KIND] = hooks
        cases.outbox.append(hooks.order)
    if settings.pagerduty_routing_key is not None:
        if not settings.pagerduty_events_url:
            raise SettingsError(
                "TRAINTRIAGE_PAGERDUTY_EVENTS_URL: say where to send, https://events.pagerduty.com/v2/enqueue, or in "
                "the EU https://events.eu.pagerduty.com/v2/enqueue"
            )
        events = pagerduty.PagerDutyWork(
            cases,
            outbound,
            settings.pagerduty_events_url,
            settings.pagerduty_routing_key,
            settings.pagerduty_tenant,
            settings.public_url,
        )
        handlers[pagerduty.KIND] = events
        cases.outbox.append(events.order)


def _queries(settings: Settings) -> Any:
    if settings.prometheus_queries is None:
        raise SettingsError("TRAINTRIAGE_PROMETHEUS_QUERIES: name the file of queries; without it nothing is asked")
    try:
        return load(settings.prometheus_queries)
    except QueriesError as error:
        raise SettingsError(f"TRAINTRIAGE_PROMETHEUS_QUERIES: {error}") from error
