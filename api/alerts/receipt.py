"""What a webhook is answered: that its alerts are kept, and will be worked on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from api.alerts.work import KIND
from api.store import jobs
from engine.model.base import Frozen, Lang

if TYPE_CHECKING:
    from api.alerts.model import Notification
    from api.jobs import Worker
    from api.store import Store

MAX_KEY = 400


class Receipt(Frozen):
    """The answer to a webhook."""

    alerts: int = Field(description="Alerts that were taken, firing or resolved.")
    repeated: bool = Field(description="Whether the same was sent before; then nothing follows from it.")


async def take(
    store: Store, worker: Worker, tenant: str, note: Notification | None, lang: Lang, key: str = ""
) -> Receipt:
    """Keep a notification as one job; when this returns, it is on disk.

    Args:
        note: None for news that no case needs.
        key: what is equal if the sender repeats itself, if the sender says so; else what the notification says.

    Raises:
        StoreError: if it cannot be kept; senders repeat what is answered with a status of 500 and above.
    """
    if note is None or not note.alerts:
        return Receipt(alerts=0, repeated=False)
    payload = {"notification": note.model_dump(mode="json"), "lang": lang}
    unique = f"{KIND}/{tenant}/{note.source}/{key or note.key}"[:MAX_KEY]
    is_new = await store.run(lambda connection: jobs.enqueue(connection, KIND, payload, tenant=tenant, key=unique))
    worker.wake()
    return Receipt(alerts=len(note.alerts), repeated=not is_new)
