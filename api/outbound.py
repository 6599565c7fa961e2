"""The only HTTP client of the service. It reaches the addresses in the settings and nothing else."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from api.settings import OUTGOING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import httpx2

    from api.settings import Settings

MB = 1024 * 1024
MOST_CONNECTIONS = 20
_PORTS = {"http": 80, "https": 443}


class ForbiddenAddressError(Exception):
    """The URL does not lie at an address that the settings name."""


class OutboundError(Exception):
    """No answer that can be used: no connection, too slow, too large, or compressed."""


class TooLargeError(OutboundError):
    """The answer has more bytes than were asked for; another try would not change that."""


@dataclass(frozen=True)
class Answer:
    """What the other side answered, whatever its status."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Outbound:
    """Sends requests to the schemes, hosts and ports of ``addresses`` only.

    A request goes where its URL says: redirects are answers like any other, and proxies and credentials of the
    environment are not looked at. What a URL means is read by the parser that also makes the connection.

    Args:
        addresses: URLs from the settings; only scheme, host and port count.
        proxy: to go through this one.
        ca: a file of certificates to trust instead of the system's.
        transport: for tests.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        *,
        proxy: str | None = None,
        ca: str | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._client: httpx2.AsyncClient | None = None
        self._allowed: frozenset[tuple[str, bytes, int | None]] = frozenset()
        if not addresses:
            return
        import ssl

        import httpx2  # both take a while to load, and most services call nobody

        self._allowed = frozenset(_place(httpx2.URL(address)) for address in addresses)
        self._client = httpx2.AsyncClient(
            verify=ssl.create_default_context(cafile=ca),
            trust_env=False,
            follow_redirects=False,
            proxy=proxy,
            transport=transport,
            limits=httpx2.Limits(max_connections=MOST_CONNECTIONS),
            headers={"User-Agent": "traintriage", "Accept-Encoding": "identity"},
        )

    @classmethod
    def of(cls, settings: Settings) -> Outbound:
        """A client for all settings that are addresses to call."""
        fields = type(settings).model_fields
        named = [getattr(settings, name) for name, field in fields.items() if OUTGOING in field.metadata]
        named += [hook.url for hook in settings.webhooks]
        ca = str(settings.outbound_ca) if settings.outbound_ca else None
        return cls([url for url in named if url], proxy=settings.outbound_proxy or None, ca=ca)

    async def send(
        self,
        method: str,
        url: str,
        *,
        seconds: float = 10.0,
        most_bytes: int = 4 * MB,
        **request: Any,
    ) -> Answer:
        """The answer to a request.

        Args:
            method: GET, POST.
            url: absolute, at an allowed address.
            seconds: for all of it, from the connection to the last byte.
            most_bytes: of the answer's body.
            request: ``params``, ``headers``, ``content``, ``json``, as httpx2 takes them.

        Raises:
            ForbiddenAddressError: before anything is sent.
            OutboundError: the text says what happened, and holds no part of the URL.
        """
        if self._client is None:
            raise ForbiddenAddressError("the settings name no address to call")
        import httpx2

        try:
            made = self._client.build_request(method, url, timeout=seconds, **request)
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise ForbiddenAddressError("this is not a URL") from error
        if made.url.userinfo or _place(made.url) not in self._allowed:
            raise ForbiddenAddressError("the settings do not name this address")
        try:
            async with asyncio.timeout(seconds):
                return await self._answer(self._client, made, most_bytes)
        except TimeoutError as error:
            raise OutboundError(f"no whole answer within {seconds:g} seconds") from error
        except httpx2.HTTPError as error:
            raise OutboundError(f"no answer: {type(error).__name__}") from error

    async def _answer(self, client: httpx2.AsyncClient, request: httpx2.Request, most_bytes: int) -> Answer:
        response = await client.send(request, stream=True)
        try:
            # Inflated, a few bytes may be more than fits into memory, before they can be counted.
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                raise OutboundError("the answer is compressed, which was not asked for")
            content = bytearray()
            async for piece in response.aiter_raw():
                content += piece
                if len(content) > most_bytes:
                    raise TooLargeError(f"the answer is larger than {most_bytes:,} bytes")
            return Answer(response.status_code, dict(response.headers), bytes(content))
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.aclose()


def _place(url: httpx2.URL) -> tuple[str, bytes, int | None]:
    """Scheme, host and port: what must be equal."""
    return url.scheme, url.raw_host, _PORTS.get(url.scheme) if url.port is None else url.port
