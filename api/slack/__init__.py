"""Slack: cases opened, answered and resolved in threads. Needs the extra ``slack``."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from api.settings import SettingsError
from api.slack.config import config_of

if TYPE_CHECKING:
    from fastapi import FastAPI

    from api.slack.config import SlackConfig

__all__ = ["config_of", "install"]


def install(app: FastAPI, config: SlackConfig) -> None:
    """Let ``app`` hear and answer Slack: a route, two kinds of jobs, and a notice of every change of a case.

    Raises:
        SettingsError: if the libraries are not installed.
    """
    if importlib.util.find_spec("slack_bolt") is None or importlib.util.find_spec("aiohttp") is None:
        raise SettingsError(
            "TRAINTRIAGE_SLACK_… is set, but the libraries are missing: pip install 'traintriage[slack]'"
        )
    from api.slack.connect import connect

    connect(app, config)
