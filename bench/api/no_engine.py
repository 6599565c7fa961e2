"""``python -m bench.api.no_engine serve ...``: the service with an engine that always gives one small answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from fastapi import FastAPI

import api.serve
from api.app import create_app
from api.cli import main
from api.reader import Source
from api.settings import Settings
from engine.inference.rules import EngineStats
from engine.knowledge.knowledge import Knowledge
from engine.knowledge.load import load_knowledge
from engine.model.base import Lang
from engine.model.diagnosis import CoverageOut, Diagnosis, UnknownOut


class NoEngine:
    """Reads nothing, concludes nothing: what is left of a request is the service's own."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.stats = EngineStats()
        self._answer = Diagnosis(
            kb_version=knowledge.version,
            kb_digest=knowledge.digest,
            engine_version="none",
            input_digest="none",
            answered_by="durable-rules",
            summary="",
            causes=[],
            unknown=UnknownOut(probability=1.0, why=""),
            coverage=CoverageOut(),
        )
        self._data = self._answer.model_dump(by_alias=True)

    def collect(self, *_: Any) -> None:
        """Nothing."""

    def answers(self, _observed: None, langs: Sequence[Lang], **_: Any) -> dict[Lang, dict[str, Any]]:
        """The one answer, in each language the same."""
        return dict.fromkeys(langs, self._data)

    def diagnose(self, *_: Any, **__: Any) -> Diagnosis:
        """The one answer."""
        return self._answer

    def close(self) -> None:
        """Nothing."""


def application(settings: Settings) -> FastAPI:
    """The application with this engine."""
    return create_app(settings, source=Source(load=partial(load_knowledge, None), build=NoEngine))  # type: ignore[arg-type]


if __name__ == "__main__":
    api.serve.application = application
    main()
