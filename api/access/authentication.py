"""From a request to its caller: an API key or a token of the identity provider, in the Authorization header."""

from __future__ import annotations

import base64
import binascii
import hashlib
import time
from typing import TYPE_CHECKING

from api.access import keys
from api.access.refusals import RefusedError, too_many, unauthenticated
from api.rates import Meter

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from api.access.caller import Caller
    from api.access.oidc import Provider
    from api.outbound import Outbound
    from api.settings import Settings
    from api.store import Store

# How long a key or token that was found good is not looked at again: so late is a revocation seen.
FRESH_SECONDS = 5.0
MOST_FRESH = 4096
MOST_CHARACTERS = 8192


class Authenticator:
    """Knows callers by what they send.

    Args:
        settings: the rate of failures.
        store: where the keys are.
        provider: who vouches for tokens; ``None`` if no tokens are taken.
        clock: seconds since 1970.
    """

    def __init__(
        self, settings: Settings, store: Store, provider: Provider | None, clock: Callable[[], float] = time.time
    ) -> None:
        self._rate = settings.rate_failures
        self._store = store
        self._provider = provider
        self._clock = clock
        self._failures = Meter()
        self._fresh: dict[bytes, tuple[Caller, float]] = {}

    async def caller(self, request: Request, address: str) -> Caller | None:
        """Who sent ``request`` from ``address``; ``None`` if it does not say.

        Raises:
            Problem: 401 for what is not a valid key or token, 429 if too many such came from the address, 503 if the
                identity provider's keys cannot be had.
        """
        sent = request.headers.getlist("authorization")
        if not sent:
            return None
        now = self._clock()
        # Kept under a digest, so that no copy of the memory holds what opens the service.
        mark = hashlib.sha256("\n".join(sent).encode("utf-8", "surrogateescape")).digest()
        known = self._fresh.get(mark)
        if known is not None and now < known[1]:
            return known[0]
        wait = self._failures.wait(self._rate, "failures", address)
        if wait:
            raise too_many(wait)
        try:
            caller, until = await self._verified(_credential(sent), now)
        except RefusedError as error:
            self._failures.count(self._rate, "failures", address)
            raise unauthenticated(request, str(error)) from error
        self._remember(mark, caller, min(until, now + FRESH_SECONDS), now)
        return caller

    async def _verified(self, credential: str, now: float) -> tuple[Caller, float]:
        """The caller, and until when the credential is good."""
        if credential.startswith(keys.PREFIX):
            caller, used = await self._store.read(lambda connection: keys.verify(connection, credential, now=now))
            if used is not None:
                await self._store.run(lambda connection: keys.note_use(connection, used, now=now))
            return caller, now + FRESH_SECONDS
        if self._provider is None:
            raise RefusedError("malformed-key")
        return await self._provider.caller(credential)

    def _remember(self, mark: bytes, caller: Caller, until: float, now: float) -> None:
        if len(self._fresh) >= MOST_FRESH:
            self._fresh = {key: entry for key, entry in self._fresh.items() if now < entry[1]}
        if len(self._fresh) < MOST_FRESH:
            self._fresh[mark] = (caller, until)


def provider_of(settings: Settings, outbound: Outbound, clock: Callable[[], float]) -> Provider | None:
    """Who vouches for tokens, if the settings name somebody.

    Raises:
        SettingsError: if they say too little, or something that does not fit.
    """
    if not settings.oidc_issuer:
        return None
    from api.access.oidc import Provider  # its signatures take a while to load

    return Provider(settings, outbound, clock)


def _credential(sent: list[str]) -> str:
    """What stands behind ``Bearer``, or the password behind ``Basic``: Alertmanager can send either."""
    scheme, _, value = sent[0].strip().partition(" ")
    value = value.strip()
    if len(sent) > 1 or not value or len(value) > MOST_CHARACTERS or not value.isascii():
        raise RefusedError("malformed-authorization")
    if scheme.lower() == "bearer":
        return value
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode("ascii").partition(":")[2]
        except (binascii.Error, UnicodeDecodeError) as error:
            raise RefusedError("malformed-authorization") from error
    raise RefusedError("malformed-authorization")
