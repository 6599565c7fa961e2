"""Slack: cases opened, answered and resolved in threads. Needs the extra ``slack``."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from api.settings import SettingsError
from api.slack.config import config_of

if TYPE_CHECKING:
    from fastapi import FastAPI

    from api.slack.config import SlackConfig

__all__ = ["config_of", "install", "require_libraries"]


def require_libraries() -> None:
    """Make sure that the optional libraries are there.

    Raises:
        SettingsError: if not; the text says what to install.
    """
    if importlib.util.find_spec("slack_bolt") is None or importlib.util.find_spec("aiohttp") is None:
        raise SettingsError("the libraries for Slack are missing: pip install 'traintriage[slack]'")


def install(app: FastAPI, config: SlackConfig) -> None:
    """Let ``app`` hear and answer Slack: a route, two kinds of jobs, and a notice of every change of a case.

    Raises:
        SettingsError: if the libraries are not installed.
    """
    require_libraries()
    from api.slack.connect import connect

    connect(app, config)
