"""What is posted: every change of a case that has a thread, whoever made it, ordered in the change's transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slack_sdk.errors import SlackApiError

from api.access import Caller, Scope
from api.cases.events import Added, Answered, Doubted, Opened, Reopened, Resolved, Retracted, Said
from api.cases.wording import told
from api.problem import Problem
from api.slack.blocks import Message, diagnosis_message, mention, note_message
from api.slack.replies import reply_message, resolved_message
from api.slack.text import bold
from api.slack.words import say
from api.store import cases as rows
from api.store import jobs
from engine.dialogue import Reply, Turn, reply
from engine.dialogue.commands import read_command

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient
    from sqlalchemy import Connection
    from structlog.typing import FilteringBoundLogger

    from api.cases.events import Event
    from api.cases.service import Cases
    from api.cases.view import CaseView, Change
    from api.expert import Expert
    from api.slack.config import SlackConfig
    from api.slack.deliveries import Thread
    from api.store import Store
    from api.store.jobs import Job
    from engine.knowledge.knowledge import Knowledge
    from engine.model.base import Lang

POST = "slack.post"  # kind of job
THREAD = "slack"  # kind of link from a thread to its case
FORM = "slack-form"  # source of evidence that came with answers, which are posted for both
ALERTS = frozenset({"alertmanager", "grafana", "pagerduty"})
# What another try will not mend: the channel is gone, or the bot is not in it (docs.slack.dev, chat.postMessage).
FINAL = frozenset({
    "channel_not_found", "not_in_channel", "is_archived", "thread_not_found", "message_not_found",
    "cant_update_message",
    "restricted_action", "restricted_action_thread_only_channel", "user_not_found", "invalid_blocks", "msg_too_long",
    "msg_blocks_too_long", "cannot_dm_bot", "channel_is_archived", "edit_window_closed",
})  # fmt: skip
# Slack's own trouble, which is over soon; an answer that is no JSON has no error at all.
PASSING = frozenset({"", "ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"})
_OUTSIDE = frozenset({"channel_not_found", "not_in_channel"})
_METADATA = "traintriage_post"


def reason_of(error: SlackApiError) -> str:
    """Slack's word for what went wrong; empty if its answer was no JSON, such as a page of a gateway."""
    data = getattr(error.response, "data", None)
    return str(data.get("error", "")) if isinstance(data, dict) else ""


def ref_of(thread: Thread) -> str:
    """What links a thread to its case."""
    return f"{thread.workspace}/{thread.channel}/{thread.ts}"


def spoken(view: CaseView) -> Lang:
    """The language of the last reply in a case, or that in which it was opened."""
    last = view.state.reply
    return last["lang"] if last is not None else view.state.lang


def is_worth_posting(said: Said, knowledge: Knowledge) -> bool:
    """Whether a message in a thread was to us: people also talk to each other there, and ask each other things."""
    answer = Reply.model_validate(said.reply)
    # Any words shift the likeness to descriptions a little; only findings are reasons.
    if not said.answers.is_empty or said.retracts or said.outcome is not None or any(move.by for move in answer.moved):
        return True
    is_question = said.text.rstrip().endswith(("?", "？"))
    return bool(answer.wished) and not (is_question and read_command(said.text, knowledge, said.lang) is None)


@dataclass(frozen=True)
class Outbox:
    """Orders a post for each change of a case that has a thread, or is to get one."""

    config: SlackConfig
    expert: Expert

    def notice(self, connection: Connection, change: Change) -> None:
        """Called in the transaction of the change."""
        case_id, event = change.after.id, change.event
        places = [ref for kind, ref in rows.links_of(connection, case_id) if kind == THREAD]
        if not places and isinstance(event.body, Opened):
            places = self._channels(change.caller.tenant, event.body)
        if not _is_posted(change, self.expert.knowledge):
            return
        for place in places:
            payload = {"case": case_id, "seq": event.seq, "place": place}
            key = f"slack.post:{case_id}/{event.seq}/{place}"
            jobs.enqueue(connection, POST, payload, tenant=change.caller.tenant, key=key)

    def _channels(self, tenant: str, opened: Opened) -> list[str]:
        """Where a case without a thread gets one: where it was asked for, or the channel for alerts."""
        if opened.source.kind == THREAD:
            return [opened.source.ref]
        if opened.source.kind in ALERTS and self.config.channel:
            return [f"{team}/{self.config.channel}/" for team, of in self.config.tenants.items() if of == tenant][:1]
        return []


def _is_posted(change: Change, knowledge: Knowledge) -> bool:
    body = change.event.body
    if isinstance(body, Said):
        return is_worth_posting(body, knowledge)
    if isinstance(body, Added) and body.source.kind == FORM:
        return False
    if isinstance(body, Added) and body.source.kind in ALERTS and change.before is not None:
        # An alert that goes on is no news; a change of the lead is.
        return _lead(change.before.data("en")) != _lead(change.after.ranked.data("en"))
    return True


def _lead(diagnosis: dict[str, Any]) -> str | None:
    return diagnosis["causes"][0]["id"] if diagnosis["causes"] else None


@dataclass(frozen=True)
class Poster:
    """Does what the outbox ordered."""

    client: AsyncWebClient
    store: Store
    cases: Cases
    expert: Expert
    logger: FilteringBoundLogger

    async def work(self, job: Job) -> None:
        """Post what happened; in a channel, as the first message of the case's thread.

        Raises:
            SlackApiError: for another try.
        """
        case_id, seq = str(job.payload["case"]), int(job.payload["seq"])
        team, channel, ts = str(job.payload["place"]).split("/")
        bot = Caller(job.tenant, f"slack:{team}", "Slack", frozenset({Scope.CASES_READ, Scope.CASES_WRITE}))
        try:
            view = await self.cases.get(bot, case_id)
        except Problem:
            return  # deleted meanwhile
        event = view.events[seq - 1]
        mark = {"case": case_id, "seq": seq}
        if job.attempts > 1 and await self._is_there(channel, ts, mark):
            return
        message = await self._message(view, event)
        posted = await self.post(channel, ts, message, mark, otherwise=event.by.id if not ts else "")
        if posted is not None and not ts:
            await self.cases.link(bot, case_id, THREAD, f"{team}/{posted}")

    async def post(
        self, channel: str, ts: str, message: Message, mark: dict[str, Any] | None = None, otherwise: str = ""
    ) -> str | None:
        """Post a message.

        Args:
            mark: goes with the message unseen, so that a second try can tell whether the first came through.
            otherwise: id of a caller whom to write to if the channel is not open to the bot.

        Returns:
            Where it is, as channel/ts; None if it cannot be posted, and never will be.

        Raises:
            SlackApiError: for another try.
        """
        arguments: dict[str, Any] = {"text": message.text, "blocks": message.blocks}
        if mark is not None:
            arguments["metadata"] = {"event_type": _METADATA, "event_payload": mark}
        if ts:
            arguments["thread_ts"] = ts
        try:
            answer = await self.client.chat_postMessage(
                channel=channel, unfurl_links=False, unfurl_media=False, **arguments
            )
        except SlackApiError as error:
            reason = reason_of(error)
            user = otherwise.rpartition("/")[2] if otherwise.startswith("slack:") else ""
            if reason in _OUTSIDE and user and user != channel:
                return await self.post(user, "", message, mark)
            if reason not in FINAL:
                raise
            self.logger.error("Slack takes no message", reason=reason, channel=channel)
            return None
        return f"{answer['channel']}/{answer['ts']}"

    async def _is_there(self, channel: str, ts: str, mark: dict[str, Any]) -> bool:
        """Whether an earlier try came through and only its end was not written down."""
        arguments: dict[str, Any] = {"channel": channel, "limit": 50, "include_all_metadata": True}
        try:
            answer = await (
                self.client.conversations_replies(ts=ts, **arguments)
                if ts
                else self.client.conversations_history(**arguments)
            )
        except SlackApiError:
            return False
        found = [message.get("metadata") or {} for message in answer.get("messages") or ()]
        return any(item.get("event_type") == _METADATA and item.get("event_payload") == mark for item in found)

    async def _message(self, view: CaseView, event: Event) -> Message:
        lang, body = spoken(view), event.body
        who = mention(event.by.id, event.by.name)
        if isinstance(body, Resolved) or (isinstance(body, Said) and body.outcome is not None):
            assert body.outcome is not None
            return resolved_message(body.outcome, self._titles(lang), who, lang)
        if isinstance(body, Doubted):
            what = bold(self._titles(lang).get(body.cause, body.cause))
            return note_message(say(f"doubted-{body.verdict}", lang, who=who, what=what))
        if isinstance(body, Said):
            answer = Reply.model_validate(body.reply)
            return reply_message(view.id, answer, answer.understood, "", answer.lang)
        before, after = await self._diagnoses(view, event.seq, lang)
        knowledge = self.expert.knowledge
        answer = reply(before, after, Turn(text="", lang=lang), knowledge, lang, passed=len(view.state.passed))
        if isinstance(body, Opened):
            return diagnosis_message(view.id, after, answer, lang)
        assert isinstance(body, Added | Answered | Retracted | Reopened)
        return reply_message(view.id, answer, (told(body, knowledge, lang),), who, lang)

    async def _diagnoses(self, view: CaseView, seq: int, lang: Lang) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """The diagnoses before and after an event."""
        numbers = (seq - 1, seq)
        kept = await self.store.read(lambda connection: [rows.ranking(connection, view.id, n) for n in numbers])
        before, after = (None if item is None else _data(item, lang) for item in kept)
        assert after is not None
        return before, after

    def _titles(self, lang: Lang) -> dict[str, str]:
        return {id_: cause.title.get(lang) for id_, cause in self.expert.knowledge.causes.items()}


def _data(ranking: rows.Ranking, lang: Lang) -> dict[str, Any]:
    import json

    data: dict[str, Any] = json.loads(ranking.zh if lang == "zh" else ranking.en)
    return data
