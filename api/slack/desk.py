"""Does what deliveries ask: opens cases and changes them. What follows from a change is posted by the outbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json
from slack_sdk.errors import SlackApiError

from api.access import Scope
from api.access.caller import require_scope
from api.cases.events import Added, Answered, Answers, Doubted, Said, Source
from api.problem import Problem
from api.slack import deliveries
from api.slack.blocks import answered_blocks, mention, note_message, why_message
from api.slack.deliveries import Click, Form, Message, Report
from api.slack.posts import FINAL, FORM, PASSING, THREAD, is_worth_posting, reason_of, ref_of, spoken
from api.slack.replies import reply_message
from api.slack.text import escape, said
from api.slack.words import say
from api.submission import Submission
from engine.dialogue import Turn, understand

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slack_sdk.web.async_client import AsyncWebClient
    from structlog.typing import FilteringBoundLogger

    from api.access import Caller
    from api.cases.conversation import Conversation
    from api.cases.events import Event
    from api.cases.service import Cases
    from api.cases.view import CaseView
    from api.expert import Expert
    from api.messages import Words
    from api.slack.config import SlackConfig
    from api.slack.deliveries import Delivery
    from api.slack.files import Files, NotReadError
    from api.slack.posts import Poster
    from api.store.jobs import Job
    from api.submission import StoredFile
    from engine.model.base import Lang

REQUEST = "slack-request"  # kind of link from a slash command to its case
_CONTEXT = 100  # messages of a thread that are read
_REPORT = 200_000  # characters, as many as a case document takes


@dataclass(frozen=True)
class Desk:
    """Works off deliveries, each of which may come more than once: what an earlier run did is not done again."""

    config: SlackConfig
    client: AsyncWebClient
    cases: Cases
    conversation: Conversation
    expert: Expert
    files: Files
    poster: Poster
    logger: FilteringBoundLogger

    async def work(self, job: Job) -> None:
        """Do what one delivery asks. A person is told what cannot be done; other trouble is for another try.

        Raises:
            Exception: for another try.
        """
        delivery = deliveries.unpack(job.payload)
        caller = self.config.caller(delivery.who.team, delivery.who.user, delivery.who.name)
        if caller is None:
            return  # the workspace was let in when it was delivered
        again = job.attempts > 1
        try:
            if isinstance(delivery, Report):
                await self._report(delivery, caller, again)
            elif isinstance(delivery, Message):
                await self._message(delivery, caller, again)
            elif isinstance(delivery, Click):
                await self._click(delivery, caller, again)
            else:
                await self._form(delivery, caller, again)
        except Problem as problem:
            if problem.kind.status >= 500 or problem.kind.slug == "case-changed":
                raise
            await self._tell(delivery, problem.detail)

    async def _report(self, delivery: Report, caller: Caller, again: bool) -> None:
        require_scope(caller, Scope.CASES_WRITE)
        ref = ref_of(delivery.thread)
        in_thread = bool(delivery.thread.ts)
        link = (THREAD, ref) if in_thread else (REQUEST, delivery.key)
        case_id = await self.cases.linked(caller, *link)
        view = await self.cases.get(caller, case_id) if case_id is not None else None
        if view is not None and view.state.source.ref == (delivery.key if in_thread else ref):
            return  # an earlier run opened it
        if view is not None and not view.state.is_resolved:
            await self._add(view, delivery, caller, again, addressed=True)
            return
        with TemporaryDirectory(prefix="traintriage-") as folder:
            files, refused = await self.files.fetch(delivery.files, Path(folder))
            text = await self._all_said(delivery)
            turn = understand(text[:_REPORT], None, self.expert.knowledge, "en")
            if not turn.tells_anything and not files:
                await self._tell(delivery, None)
            else:
                submission = _submission(turn, files)
                source = Source(kind=THREAD, ref=delivery.key if in_thread else ref, url=_url(delivery))
                await self.cases.open(caller, submission, lang=turn.lang, source=source, link=link)
            await self._tell_refused(delivery, refused, turn.lang)

    async def _all_said(self, delivery: Report) -> str:
        """What was written to us, and what else stands in the thread, such as the alert it began with."""
        if not (delivery.context and delivery.thread.ts):
            return delivery.text
        try:
            answer = await self.client.conversations_replies(
                channel=delivery.thread.channel, ts=delivery.thread.ts, limit=_CONTEXT
            )
            me = (await self.client.auth_test()).get("user_id")
        except SlackApiError as error:
            if reason_of(error) in PASSING:
                raise
            # The bot may not read here: what was written to it has to do.
            self.logger.info("Slack thread not read", reason=reason_of(error))
            return delivery.text
        found = [message for message in answer.get("messages") or () if message.get("user") != me]
        return "\n\n".join(filter(None, map(deliveries.text_of, found))) or delivery.text

    async def _message(self, delivery: Message, caller: Caller, again: bool) -> None:
        case_id = await self.cases.linked(caller, THREAD, ref_of(delivery.thread))
        if case_id is None:
            return
        view = await self.cases.get(caller, case_id)
        if view.state.is_resolved:
            if delivery.mentioned:  # the mention itself may come second, and is then the same delivery
                await self._report(_as_report(delivery), caller, again)
            return  # people go on talking after it
        if Scope.CASES_WRITE not in caller.scopes and not delivery.addressed:
            return
        require_scope(caller, Scope.CASES_WRITE)
        await self._add(view, delivery, caller, again, addressed=delivery.addressed)

    async def _add(
        self, view: CaseView, delivery: Report | Message, caller: Caller, again: bool, *, addressed: bool
    ) -> None:
        """What somebody wrote and put into the thread of a case, into the case."""
        source = Source(kind=THREAD, ref=delivery.key)
        if delivery.files and not _has(view, lambda event: _source_of(event) == source):
            with TemporaryDirectory(prefix="traintriage-") as folder:
                files, refused = await self.files.fetch(delivery.files, Path(folder))
                if files:
                    await self.cases.add_evidence(caller, view.id, Submission(b"", "json", tuple(files)), source)
                await self._tell_refused(delivery, refused, spoken(view))
        if not delivery.text or (again and _has(view, lambda event: _was_said(event, delivery.text, caller))):
            return
        after, reply = await self.conversation.say(caller, view.id, delivery.text)
        body = after.events[-1].body
        if addressed and isinstance(body, Said) and not is_worth_posting(body, self.expert.knowledge):
            message = reply_message(view.id, reply, reply.understood, "", reply.lang)
            await self.poster.post(delivery.thread.channel, delivery.thread.ts, message)

    async def _click(self, delivery: Click, caller: Caller, again: bool) -> None:
        if delivery.action == "answer":
            await self._answer(delivery, caller, again)
        elif delivery.action == "why":
            require_scope(caller, Scope.CASES_READ)
            lang = spoken(await self.cases.get(caller, delivery.case))
            told = await self.cases.explain(caller, delivery.case, delivery.cause, lang)
            titles = {item["cause"]: self._title(item["cause"], lang) for item in told["outweighed_by"]}
            await self.poster.post(delivery.thread.channel, delivery.thread.ts, why_message(told, titles, lang))
        else:
            require_scope(caller, Scope.CASES_WRITE)
            view = await self.cases.get(caller, delivery.case)
            if delivery.cause not in view.state.doubted:
                await self.cases.feedback(caller, delivery.case, Doubted(cause=delivery.cause))

    def _title(self, cause: str, lang: Lang) -> str:
        known = self.expert.knowledge.causes.get(cause)
        return cause if known is None else known.title.get(lang)

    async def _answer(self, delivery: Click, caller: Caller, again: bool) -> None:
        require_scope(caller, Scope.CASES_WRITE)
        passed = () if delivery.answers else (delivery.question,)
        answers = Answers.model_validate({"asked": delivery.question, "findings": delivery.answers, "passed": passed})
        view = await self.cases.get(caller, delivery.case)
        if not (again and _has(view, lambda event: _was_answered(event, answers, caller))):
            view = await self.cases.answer(caller, delivery.case, answers)
        who = mention(caller.id, caller.name)
        note = f"✓ {say('answered-by', spoken(view), answer=said(delivery.said), who=who)}"
        blocks = answered_blocks(delivery.blocks, note)
        try:
            await self.client.chat_update(
                channel=delivery.thread.channel, ts=delivery.message, blocks=blocks, text=note_message(note).text
            )
        except SlackApiError as error:  # the answer is kept; only the buttons stay
            self.logger.warning("message not updated", reason=reason_of(error))

    async def _form(self, delivery: Form, caller: Caller, again: bool) -> None:
        if delivery.outcome is not None:
            require_scope(caller, Scope.CASES_RESOLVE)
            view = await self.cases.get(caller, delivery.case)
            if view.state.outcome != delivery.outcome:
                await self.cases.resolve(caller, delivery.case, delivery.outcome)
            return
        require_scope(caller, Scope.CASES_WRITE)
        view = await self.cases.get(caller, delivery.case)
        answers = delivery.answers
        source = Source(kind=FORM if answers is not None else THREAD, ref=delivery.key)
        if delivery.output and not _has(view, lambda event: _source_of(event) == source):
            turn = understand(delivery.output, None, self.expert.knowledge, spoken(view))
            if turn.evidence:
                await self.cases.add_evidence(caller, delivery.case, _submission(turn, ()), source)
        if answers is not None and not (again and _has(view, lambda event: _was_answered(event, answers, caller))):
            await self.cases.answer(caller, delivery.case, answers)

    async def _tell_refused(self, delivery: Delivery, refused: Sequence[NotReadError], lang: Lang) -> None:
        if refused:
            lines = [say("file-failed", lang, name=said(item.name), why=item.why.get(lang)) for item in refused]
            await self._whisper(delivery, "\n".join(lines))

    async def _tell(self, delivery: Delivery, detail: Words | None) -> None:
        """Say to one person what cannot be done; without a detail, that there is nothing to go by."""
        lang: Lang = "en"
        if not isinstance(delivery, Report | Message):
            lang = await self._lang_of(delivery)
        elif understand(delivery.text, None, self.expert.knowledge, "en").lang == "zh":
            lang = "zh"
        await self._whisper(delivery, say("nothing", lang) if detail is None else escape(detail.get(lang)))

    async def _lang_of(self, delivery: Click | Form) -> Lang:
        caller = self.config.caller(delivery.who.team, delivery.who.user, "")
        assert caller is not None
        try:
            return spoken(await self.cases.get(caller, delivery.case))
        except Problem:
            return "en"

    async def _whisper(self, delivery: Delivery, text: str) -> None:
        """A message that only one person sees."""
        arguments: dict[str, Any] = {"thread_ts": delivery.thread.ts} if delivery.thread.ts else {}
        message = note_message(text)
        try:
            await self.client.chat_postEphemeral(
                channel=delivery.thread.channel,
                user=delivery.who.user,
                text=message.text,
                blocks=message.blocks,
                **arguments,
            )
        except SlackApiError as error:
            if reason_of(error) not in FINAL | {"user_not_in_channel"}:
                raise
            await self.poster.post(delivery.who.user, "", message)


def _as_report(message: Message) -> Report:
    return Report(key=message.key, who=message.who, thread=message.thread, text=message.text, files=message.files)


def _submission(turn: Turn, files: Sequence[StoredFile]) -> Submission:
    document: dict[str, Any] = dict(turn.evidence)
    stated = {**turn.facts, **{id_: state == "present" for id_, state in turn.findings.items() if state != "unknown"}}
    if stated:
        document["facts"] = {**document.get("facts", {}), **stated}
    return Submission(to_json(document) if document else b"", "json", tuple(files))


def _url(delivery: Report) -> str:
    return f"https://slack.com/app_redirect?team={delivery.thread.workspace}&channel={delivery.thread.channel}"


def _has(view: CaseView, matches: Callable[[Event], bool]) -> bool:
    return any(matches(event) for event in view.events)


def _source_of(event: Event) -> Source | None:
    return event.body.source if isinstance(event.body, Added) else None


def _was_said(event: Event, text: str, caller: Caller) -> bool:
    return isinstance(event.body, Said) and event.body.text == text and event.by.id == caller.id


def _was_answered(event: Event, answers: Answers, caller: Caller) -> bool:
    return isinstance(event.body, Answered) and event.body.answers == answers and event.by.id == caller.id
