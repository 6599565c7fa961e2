"""The dialogue of ``traintriage ask`` about a kept case: the one that REST, Slack and MCP go on with."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from api.access import LOCAL
from api.cases.events import Said, Source
from api.cli import Problem
from api.problem import Problem as Refusal
from api.submission import StoredFile, Submission
from engine.dialogue import Reply
from engine.dialogue.commands import read_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fastapi import FastAPI

    from api.cases.conversation import Conversation
    from api.cases.service import Cases
    from engine.evidence.inputs import EvidenceFile
    from engine.model.base import Lang
    from engine.model.case import Case

NEW = "new"


class KeptTalk:
    """A dialogue whose every message is an event of a case in the store."""

    def __init__(self, runner: asyncio.Runner, app: FastAPI, case_id: str, lang: Lang) -> None:
        self._run = runner.run
        self._cases: Cases = app.state.cases
        self._conversation: Conversation = app.state.conversation
        self._knowledge = app.state.expert.knowledge
        self.case_id = case_id
        self.lang = lang
        self.is_over = False
        self.diagnosis: dict[str, Any] = {}

    def begin(self) -> Reply:
        """What stands so far, and the next question."""
        view = self._run(self._cases.get(LOCAL, self.case_id))
        self.diagnosis = view.ranked.data(self.lang)
        return self._conversation.first(view, self.lang)

    def say(self, message: str) -> tuple[Said, Reply]:
        """Make an event of a message, and answer it; what is refused changes nothing, and the talk goes on."""
        wanted = read_command(message, self._knowledge, self.lang)
        self.is_over = wanted is not None and wanted.command is not None and wanted.command.kind == "stop"
        said = Said(text=message, lang=self.lang)
        if self.is_over:
            return said, Reply(lang=self.lang, paragraphs=())
        try:
            view, answer = self._run(self._conversation.say(LOCAL, self.case_id, message))
        except Refusal as refusal:
            return said, Reply(lang=self.lang, paragraphs=(refusal.detail.get(self.lang),))
        self.lang, self.diagnosis = answer.lang, view.ranked.data(answer.lang)
        self.is_over = view.state.is_resolved
        last = view.events[-1].body
        assert isinstance(last, Said)
        return last.model_copy(update={"reply": {}}), answer


@contextmanager
def kept_talk(case_id: str, case: Case, files: Sequence[EvidenceFile], lang: Lang) -> Iterator[KeptTalk]:
    """A dialogue about the case ``case_id`` of the store in the settings, or about a new one.

    What was given at the start opens the new case, or is added to the old one.

    Raises:
        Problem: if the store cannot be used, or there is no such case.
    """
    from api.app import create_app
    from api.settings import Settings, SettingsError

    quiet = None if "TRAINTRIAGE_LOG_LEVEL" in os.environ else "error"
    try:
        app = create_app(Settings.from_env(os.environ, log_level=quiet))
    except SettingsError as error:
        raise Problem("wrong use", str(error)) from None
    with asyncio.Runner() as runner:
        lifespan = app.router.lifespan_context(app)
        try:
            runner.run(lifespan.__aenter__())
        except Refusal as refusal:
            raise Problem("the store cannot be used", refusal.detail.get("en")) from None
        try:
            yield KeptTalk(runner, app, runner.run(_begun(app.state.cases, case_id, case, files, lang)), lang)
        except Refusal as refusal:
            raise Problem("the case cannot be used", refusal.detail.get("en")) from None
        finally:
            runner.run(lifespan.__aexit__(None, None, None))


async def _begun(cases: Cases, case_id: str, case: Case, files: Sequence[EvidenceFile], lang: Lang) -> str:
    given = bool(files) or not case.is_empty
    if case_id != NEW:
        if given:
            await cases.add_evidence(LOCAL, case_id, _submission(case, files), Source(kind="cli"))
        return case_id
    if not given:
        raise Problem("a case begins with something", "say with -r what is wrong, or name a log")
    view = await cases.open(LOCAL, _submission(case, files), lang=lang, source=Source(kind="cli"))
    return view.id


def _submission(case: Case, files: Sequence[EvidenceFile]) -> Submission:
    text = b"" if case.is_empty else json.dumps(case.model_dump(exclude_defaults=True), ensure_ascii=False).encode()
    return Submission(text, "json", tuple(StoredFile(file.name, file.path) for file in files if file.path is not None))
