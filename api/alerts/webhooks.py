"""Outgoing webhooks: changes of cases, signed as Standard Webhooks 1.0 says, sent until they arrive."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from api.alerts.signatures import standard_signature
from api.alerts.summary import summary
from api.outbound import OutboundError
from api.store import jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from api.cases.view import Change
    from api.outbound import Outbound
    from api.settings import Webhook
    from api.store.jobs import Job

KIND = "webhook"
SECONDS = 10.0  # for an answer
MOST_BYTES = 64 * 1024  # of an answer, which nobody reads


class DeliveryError(Exception):
    """It was not taken, and is sent again; the text says why, without the URL, which may be secret."""


class WebhookWork:
    """Orders the sending of changes to the webhooks of the settings, and sends them.

    Args:
        base_url: of the service, for links.
        clock: seconds since 1970, UTC.
    """

    def __init__(self, outbound: Outbound, hooks: Sequence[Webhook], base_url: str, clock: Callable[[], float]) -> None:
        self._outbound = outbound
        self._hooks = {hook_id(hook): hook for hook in hooks}
        self._base_url = base_url
        self._clock = clock

    def order(self, connection: Connection, change: Change) -> None:
        """Let a change be told; for the outbox of the cases. What is sent is settled here: every try is equal."""
        for name, hook in self._hooks.items():
            event = f"case.{change.event.body.kind}"
            if hook.tenant != change.caller.tenant or event not in hook.events:
                continue
            data = summary(change, hook.lang, self._base_url)
            body = json.dumps({"type": event, "timestamp": data["event"]["at"], "data": data}, ensure_ascii=False)
            payload = {"hook": name, "body": body}
            key = f"{KIND}/{change.after.id}/{change.event.seq}/{name}"
            jobs.enqueue(connection, KIND, payload, tenant=change.caller.tenant, key=key)

    async def __call__(self, job: Job) -> None:
        """Send one.

        Raises:
            DeliveryError: if it was not taken.
        """
        hook = self._hooks.get(job.payload["hook"])
        if hook is None:  # not in the settings any more
            return
        body, now = job.payload["body"].encode(), int(self._clock())
        message_id = f"msg_{job.id}"
        headers = {
            "Content-Type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": str(now),
            "webhook-signature": " ".join(standard_signature(message_id, now, body, key) for key in hook.secrets),
        }
        try:
            answer = await self._outbound.send(
                "POST", hook.url, content=body, headers=headers, seconds=SECONDS, most_bytes=MOST_BYTES
            )
        except OutboundError as error:
            raise DeliveryError(str(error)) from error
        if not 200 <= answer.status < 300:
            raise DeliveryError(f"answered with HTTP status {answer.status}")


def hook_id(hook: Webhook) -> str:
    """Names a webhook in the queue, where its URL, which may be secret, does not stand."""
    return hashlib.sha256(f"{hook.tenant} {hook.url}".encode()).hexdigest()[:16]
