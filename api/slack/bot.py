"""What Slack sends, heard by Bolt: each delivery becomes one job in the store, and only then is it acknowledged.

Nothing is worked out here, so Slack has its answer at once whatever the engine does. Only forms are opened here, after
the acknowledgement, because the ticket for one lives three seconds.
"""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slack_bolt import BoltResponse
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.error import BoltUnhandledRequestError
from slack_sdk.errors import SlackApiError

from api.access import Scope
from api.problem import Problem
from api.slack import deliveries, modals
from api.slack.deliveries import DELIVERY, Message, Who, pressed, workspace_of
from api.slack.kit import unpacked
from api.slack.posts import THREAD, reason_of, ref_of, spoken
from api.slack.words import say
from api.store import cases as rows
from api.store import jobs
from engine.dialogue import question_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from slack_bolt.context.ack.async_ack import AsyncAck
    from slack_bolt.request.async_request import AsyncBoltRequest
    from slack_sdk.web.async_client import AsyncWebClient
    from sqlalchemy import Connection
    from structlog.typing import FilteringBoundLogger

    from api.access import Caller
    from api.cases.service import Cases
    from api.cases.view import CaseView
    from api.expert import Expert
    from api.jobs import Worker
    from api.slack.config import SlackConfig
    from api.slack.deliveries import Delivery
    from api.store import Store
    from engine.model.base import Lang

Body = dict[str, Any]
UNKNOWN_WORKSPACE = 403
_ANY = re.compile(r"")
_FORMS = frozenset({modals.RAN, modals.RESOLVE})


@dataclass(frozen=True)
class Bot:
    """Hears what happens in Slack."""

    config: SlackConfig
    client: AsyncWebClient
    store: Store
    worker: Worker
    cases: Cases
    expert: Expert
    logger: FilteringBoundLogger
    opening: set[asyncio.Task[None]] = field(default_factory=set)  # the loop itself holds tasks weakly

    def app(self) -> AsyncApp:
        """The Bolt application.

        It answers after its listeners are done, so that an acknowledgement means that the job is stored. Whether a
        request comes from Slack was decided before (:mod:`api.slack.verify`, or Slack's own connection).
        """
        token = self.config.bot_token

        async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
            # One token for all that are let in; asking Slack about it would take time off the three seconds.
            return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token=token)

        app = AsyncApp(
            name="traintriage",
            client=self.client,
            logger=_quiet(),
            signing_secret="",  # not used: see request_verification_enabled
            authorize=authorize,
            before_authorize=self._gate,
            process_before_response=True,
            raise_error_for_unhandled_request=True,  # what Bolt would do otherwise fails where a part is null
            request_verification_enabled=False,
            ignoring_self_events_enabled=False,  # messages of bots are no deliveries anyway
            ssl_check_enabled=False,
            url_verification_enabled=False,
        )
        app.command("/triage")(self._command)
        app.shortcut("diagnose")(self._shortcut)
        app.action(_ANY)(self._action)
        app.options(modals.CAUSE)(self._options)
        app.view(modals.RAN)(self._ran)
        app.view(modals.RESOLVE)(self._resolved)
        app.event(_ANY)(self._event)
        app.error(self._failed)
        return app

    async def _gate(
        self, body: Body, request: AsyncBoltRequest, next_: Callable[[], Awaitable[BoltResponse]]
    ) -> BoltResponse:
        """Nothing of a workspace that is not ours gets further. Over a socket, what is not taken would come again."""
        if workspace_of(body) in self.config.tenants:
            return await next_()
        self.logger.warning("request of an unknown Slack workspace refused")
        return BoltResponse(status=200 if request.mode == "socket_mode" else UNKNOWN_WORKSPACE)

    async def _failed(self, error: Exception) -> BoltResponse:
        """What nothing listens to is no error. Our own trouble, such as a store that is away, is: Slack sends again."""
        if isinstance(error, BoltUnhandledRequestError):
            return BoltResponse(status=200)
        self.logger.error("Slack delivery not taken", reason=type(error).__name__, exc_info=error)
        return BoltResponse(status=503)

    async def _event(self, body: Body) -> None:
        delivery = deliveries.of_event(body)
        if delivery is not None and await self._concerns_us(delivery):
            await self._order(delivery)

    async def _concerns_us(self, delivery: Delivery) -> bool:
        """Whether it is a report, or written in the thread of a case: a channel has many other threads."""
        if not isinstance(delivery, Message):
            return True
        caller = self._caller(delivery.who)
        if caller is None:
            return False
        ref = ref_of(delivery.thread)
        tenant = caller.tenant
        return await self.store.read(lambda connection: rows.linked(connection, tenant, THREAD, ref)) is not None

    async def _command(self, body: Body, ack: AsyncAck) -> None:
        text = str(body.get("text") or "")
        lang: Lang = "zh" if "\u4e00" <= max(text, default="") <= "\u9fff" else "en"
        delivery = deliveries.of_command(body)
        if delivery is None or text.strip().lower() in ("", "help", "帮助"):
            await ack(say("usage", lang))
            return
        await self._order(delivery)
        await ack(say("looking", lang))

    async def _shortcut(self, body: Body, ack: AsyncAck) -> None:
        await self._order(deliveries.of_shortcut(body))
        await ack()

    async def _action(self, body: Body, ack: AsyncAck) -> None:
        what = pressed(_first(body))[0]
        if what in _FORMS:
            # Opened beside the acknowledgement, not before it: Slack may take its time over a form.
            task = asyncio.create_task(self._open(body, what))
            self.opening.add(task)
            task.add_done_callback(self.opening.discard)
        else:
            await self._order(deliveries.of_action(body))
        await ack()

    async def _ran(self, body: Body, view: Body, ack: AsyncAck) -> None:
        await self._form(body, lambda: modals.ran_filled(view, self.expert.knowledge), ack)

    async def _resolved(self, body: Body, view: Body, ack: AsyncAck) -> None:
        await self._form(body, lambda: modals.resolve_filled(view), ack)

    async def _form(self, body: Body, read: Callable[[], dict[str, Any]], ack: AsyncAck) -> None:
        try:
            filled = read()
        except modals.FormError as error:
            await ack(response_action="errors", errors=error.errors)
            return
        await self._order(deliveries.of_form(body, filled))
        await ack()

    async def _order(self, delivery: Delivery | None) -> None:
        """Store the job; a delivery that came before has the same key and orders nothing."""
        caller = None if delivery is None else self._caller(delivery.who)
        if delivery is None or caller is None:
            return
        payload, key, tenant = deliveries.packed(delivery), delivery.key, caller.tenant

        def work(connection: Connection) -> bool:
            return jobs.enqueue(connection, DELIVERY, payload, tenant=tenant, key=key)

        if await self.store.run(work):
            self.worker.wake()

    async def _options(self, body: Body, ack: AsyncAck) -> None:
        """Causes to choose from while somebody types in the form for the outcome."""
        view = await self._case(body, str((body.get("view") or {}).get("private_metadata")))
        lang = spoken(view) if view is not None else "en"
        ranked = view.ranked.data(lang)["causes"] if view is not None else []
        found = [(cause["id"], cause["title"], cause["probability"]) for cause in ranked]
        await ack(option_groups=modals.causes_found(str(body.get("value") or ""), found, self.expert.knowledge, lang))

    async def _open(self, body: Body, what: str) -> None:
        """Open the form that a button stands for."""
        value = pressed(_first(body))[1]
        try:
            view = await self._case(body, value)
            form = None if view is None else self._form_of(what, view, value, deliveries.thread_of(body))
            if form is not None:
                await self.client.views_open(trigger_id=str(body.get("trigger_id")), view=form)
        except SlackApiError as error:  # the person can press again
            self.logger.warning("form not opened", reason=reason_of(error))
        except Exception as error:
            self.logger.error("form not opened", exc_info=error)

    def _form_of(self, what: str, view: CaseView, value: Body, thread: Body) -> Body | None:
        lang, knowledge = spoken(view), self.expert.knowledge
        diagnosis = view.ranked.data(lang)
        if what == modals.RESOLVE:
            cause = str(value.get("k"))
            title = next((item["title"] for item in diagnosis["causes"] if item["id"] == cause), "")
            return modals.resolve_form(view.id, thread, (cause, title) if title else None, lang)
        asked = question_of(str(value.get("q")), diagnosis, knowledge, lang)
        return None if asked is None else modals.ran_form(view.id, thread, asked, knowledge, lang)

    async def _case(self, body: Body, value: Mapping[str, Any] | str) -> CaseView | None:
        """The case that an element speaks of, if whoever uses it may see it."""
        place = unpacked(value) if isinstance(value, str) else value
        who = deliveries.who_of(body)
        caller = self._caller(who) if who is not None else None
        if caller is None or Scope.CASES_READ not in caller.scopes:
            return None
        try:
            return await self.cases.get(caller, str(place.get("c")))
        except Problem:
            return None

    def _caller(self, who: Who) -> Caller | None:
        return self.config.caller(who.team, who.user, who.name)


def _first(body: Body) -> dict[str, Any]:
    return next((item for item in body.get("actions") or () if isinstance(item, dict)), {})


def _quiet() -> logging.Logger:
    """Bolt's log would hold what it was sent; ours says what went wrong."""
    logger = logging.getLogger("traintriage.slack")
    logger.setLevel(logging.CRITICAL + 1)
    return logger
