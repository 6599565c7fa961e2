"""API keys: what is kept of them, and how long they are good."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from api.access import Scope, keys
from api.access.refusals import REASONS, RefusedError
from api.store import Store
from api.store.audit_log import LOG
from tests.api.access.conftest import id_of

NOW = 1_000_000.0
HOUR = 3600.0


def on(url: str, *steps: Callable[[Any], Any]) -> list[Any]:
    """What each step comes to, one after the other, each in a transaction of its own."""

    async def run() -> list[Any]:
        store = Store(url)
        await store.start()
        try:
            return [await store.run(step) for step in steps]
        finally:
            await store.close()

    return asyncio.run(run())


def a_key(connection: Any, expiry: float | None = None) -> str:
    scopes = (Scope.DIAGNOSE, Scope.CASES_READ)
    return keys.create(connection, tenant="t", name="bot", scopes=scopes, expiry=expiry, now=NOW)[1]


def refusal(connection: Any, token: str, now: float = NOW) -> str:
    with pytest.raises(RefusedError) as refused:
        keys.verify(connection, token, now=now)
    assert str(refused.value) in REASONS
    return str(refused.value)


def test_a_key_opens_what_it_was_made_for(store_url: str) -> None:
    def work(connection: Any) -> None:
        token = a_key(connection)
        caller, _ = keys.verify(connection, token, now=NOW)
        assert (caller.tenant, caller.id, caller.name) == ("t", f"key:{id_of(token)}", "bot")
        assert caller.scopes == {Scope.DIAGNOSE, Scope.CASES_READ}

    on(store_url, work)


def test_the_secret_is_nowhere_in_the_store(store_url: str) -> None:
    def work(connection: Any) -> None:
        secret = a_key(connection).rsplit("_", 1)[1]
        assert len(bytes.fromhex(secret)) == 32
        rows = [*connection.execute(select(keys.KEYS)), *connection.execute(select(LOG))]
        assert len(rows) == 2
        assert secret not in repr(rows)

    on(store_url, work)


def test_two_keys_have_nothing_in_common(store_url: str) -> None:
    first, second = on(store_url, a_key, a_key)
    assert not set(first.split("_")[1:]) & set(second.split("_")[1:])


def test_an_end_is_kept_to_the_second(store_url: str) -> None:
    def work(connection: Any) -> None:
        token = a_key(connection, expiry=NOW + HOUR)
        keys.verify(connection, token, now=NOW + HOUR - 1)
        assert refusal(connection, token, NOW + HOUR) == "expired-key"

    on(store_url, work)


NO_KEYS = (
    "", "tt_", "tt_a", "TT_{id}_{secret}", "tt_{id}_{secret}0", " tt_{id}_{secret}", "tt_{id}_{upper}", "tt_%_{secret}"
)  # fmt: skip


def test_what_is_not_written_like_a_key_is_not_looked_up(store_url: str) -> None:
    def work(connection: Any) -> None:
        _, key_id, secret = a_key(connection).split("_")
        for bad in NO_KEYS:
            assert refusal(connection, bad.format(id=key_id, secret=secret, upper="A" + secret[1:])) == "malformed-key"

    on(store_url, work)


def test_a_wrong_secret_says_no_more_than_an_unknown_id(store_url: str) -> None:
    def work(connection: Any) -> None:
        token = a_key(connection)
        keys.revoke(connection, id_of(token), now=NOW)
        wrong = token[:-1] + ("0" if token[-1] != "0" else "1")
        assert refusal(connection, wrong) == refusal(connection, f"tt_{'0' * 12}_{'0' * 64}") == "wrong-key"
        assert refusal(connection, token) == "revoked-key"

    on(store_url, work)


def test_a_rotated_key_keeps_its_id_and_its_old_secret_for_a_while(store_url: str) -> None:
    def work(connection: Any) -> None:
        old = a_key(connection, expiry=NOW + 100 * HOUR)
        _, new = keys.rotate(connection, id_of(old), overlap=HOUR, expiry=None, now=NOW)
        assert id_of(new) == id_of(old)
        before, after = (keys.verify(connection, token, now=NOW + HOUR - 1)[0] for token in (old, new))
        assert before == after
        assert refusal(connection, old, NOW + HOUR) == "expired-key"
        keys.verify(connection, new, now=NOW + 1000 * HOUR)

    on(store_url, work)


def test_the_overlap_never_makes_the_old_secret_live_longer(store_url: str) -> None:
    def work(connection: Any) -> None:
        old = a_key(connection, expiry=NOW + 10)
        keys.rotate(connection, id_of(old), overlap=HOUR, expiry=None, now=NOW)
        assert refusal(connection, old, NOW + 11) == "expired-key"

    on(store_url, work)


def test_a_second_rotation_ends_the_first_secret(store_url: str) -> None:
    def work(connection: Any) -> None:
        tokens = [a_key(connection)]
        for _ in range(2):
            tokens.append(keys.rotate(connection, id_of(tokens[0]), overlap=HOUR, expiry=None, now=NOW)[1])
        assert refusal(connection, tokens[0]) == "wrong-key"
        keys.verify(connection, tokens[1], now=NOW)
        keys.verify(connection, tokens[2], now=NOW)

    on(store_url, work)


def test_revoking_ends_both_secrets(store_url: str) -> None:
    def work(connection: Any) -> None:
        old = a_key(connection)
        _, new = keys.rotate(connection, id_of(old), overlap=HOUR, expiry=None, now=NOW)
        keys.revoke(connection, id_of(old), now=NOW)
        assert [refusal(connection, token) for token in (old, new)] == ["revoked-key"] * 2

    on(store_url, work)


def test_only_a_valid_key_can_be_rotated_or_revoked(store_url: str) -> None:
    def work(connection: Any) -> None:
        revoked, expired = (id_of(a_key(connection, expiry=NOW + 1)) for _ in range(2))
        keys.revoke(connection, revoked, now=NOW)
        for key_id in ("0" * 12, revoked, expired):
            with pytest.raises(keys.NoSuchKeyError):
                keys.rotate(connection, key_id, overlap=1, expiry=None, now=NOW + 2)
            with pytest.raises(keys.NoSuchKeyError):
                keys.revoke(connection, key_id, now=NOW + 2)

    on(store_url, work)


def test_the_last_use_is_kept_by_the_hour(store_url: str) -> None:
    def work(connection: Any) -> None:
        token = a_key(connection)
        assert keys.verify(connection, token, now=NOW)[1] == id_of(token)
        keys.note_use(connection, id_of(token), now=NOW)
        assert keys.verify(connection, token, now=NOW + HOUR)[1] is None
        assert keys.verify(connection, token, now=NOW + HOUR + 1)[1] == id_of(token)
        assert [key.last_used for key in keys.every(connection)] == [NOW]

    on(store_url, work)


def test_what_is_done_to_keys_is_in_the_audit_log(store_url: str) -> None:
    def work(connection: Any) -> None:
        key_id = id_of(a_key(connection))
        keys.rotate(connection, key_id, overlap=HOUR, expiry=None, now=time.time())
        keys.revoke(connection, key_id, now=time.time())
        rows = connection.execute(select(LOG).order_by(LOG.c.seq)).all()
        assert [row.action for row in rows] == ["key.created", "key.rotated", "key.revoked"]
        assert {(row.tenant, row.actor, row.subject) for row in rows} == {("t", "local", f"key:{key_id}")}

    on(store_url, work)
