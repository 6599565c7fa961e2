"""Files that people put into a thread, fetched from Slack's own file host and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slack_sdk.errors import SlackApiError
from starlette.concurrency import run_in_threadpool

from api.messages import Words
from api.outbound import ForbiddenAddressError, Outbound, OutboundError, TooLargeError
from api.slack.posts import PASSING, reason_of
from api.slack.text import clean
from api.slack.words import words
from api.submission import StoredFile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from slack_sdk.web.async_client import AsyncWebClient

SECONDS = 60.0  # for one file
_NAME = 200


class NotReadError(Exception):
    """A file that cannot be had; ``why`` is for the person who sent it."""

    def __init__(self, name: str, why: Words) -> None:
        super().__init__(name, why)
        self.name = name
        self.why = why


@dataclass(frozen=True)
class Files:
    """Fetches files with the bot's token.

    Args:
        outbound: reaches Slack's file host only.
        most_bytes: of one file.
    """

    client: AsyncWebClient
    outbound: Outbound
    token: str
    most_bytes: int

    async def fetch(self, ids: Sequence[str], folder: Path) -> tuple[list[StoredFile], list[NotReadError]]:
        """The files on disk, and those that could not be had.

        Raises:
            SlackApiError: if Slack does not answer as it should, for another try.
            OutboundError: likewise.
        """
        files: list[StoredFile] = []
        refused: list[NotReadError] = []
        for number, file_id in enumerate(ids):
            try:
                files.append(await self._one(file_id, folder / str(number)))
            except NotReadError as error:
                refused.append(error)
        return files, refused

    async def _one(self, file_id: str, path: Path) -> StoredFile:
        # The file in an event may be a stub, or out of date: files.info is what holds (docs.slack.dev, "File object").
        info = await self._info(file_id)
        name = " ".join(clean(str(info.get("name") or file_id)).split())[-_NAME:]
        if info.get("mode") in ("external", "tombstone", "hidden_by_limit") or info.get("is_external"):
            raise NotReadError(name, words("file-elsewhere"))
        if int(info.get("size") or 0) > self.most_bytes:
            raise NotReadError(name, words("file-large", limit=self.most_bytes))
        content = await self._content(str(info.get("url_private_download") or info.get("url_private") or ""), name)
        await run_in_threadpool(path.write_bytes, content)
        return StoredFile(name, path)

    async def _info(self, file_id: str) -> dict[str, Any]:
        try:
            answer = await self.client.files_info(file=file_id)
        except SlackApiError as error:
            if reason_of(error) in PASSING:
                raise
            raise NotReadError(file_id, words("file-denied")) from None
        info: dict[str, Any] = answer.get("file") or {}
        return info

    async def _content(self, url: str, name: str) -> bytes:
        try:
            answer = await self.outbound.send(
                "GET",
                url,
                headers={"Authorization": f"Bearer {self.token}"},
                seconds=SECONDS,
                most_bytes=self.most_bytes,
            )
        except ForbiddenAddressError:
            raise NotReadError(name, words("file-elsewhere")) from None
        except TooLargeError:
            raise NotReadError(name, words("file-large", limit=self.most_bytes)) from None
        if answer.status >= 500 or answer.status == 429:
            raise OutboundError(f"status {answer.status}")
        # Without the right to read it, Slack leads to a page for signing in instead of saying so.
        page = answer.headers.get("content-type", "").startswith("text/html") and not name.endswith((".html", ".htm"))
        if answer.status != 200 or page:
            raise NotReadError(name, words("file-denied"))
        return answer.content
