"""The proof that a request is Slack's: nothing else passes, and nothing malformed is more than a refusal."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from api.problem import Problem
from api.slack.verify import signature, verify
from tests.api.slack.payloads import PATH, SECRET, command, event, signed

NOW = 1_700_000_000.0
BODY = b'{"type":"event_callback"}'
KEY = SECRET.encode()
GOOD = signature(KEY, str(int(NOW)), BODY)
STAMP, SIGN = "x-slack-request-timestamp", "x-slack-signature"


def is_accepted(timestamp: str, sent: str, body: bytes = BODY, secrets: tuple[bytes, ...] = (KEY,)) -> bool:
    try:
        verify({STAMP: timestamp, SIGN: sent}, body, secrets, NOW)
    except Problem:
        return False
    return True


def test_the_documented_example_of_slack_is_accepted() -> None:
    """docs.slack.dev, "Verifying requests from Slack"."""
    secret = b"8f742231b10e8888abcd99yyyzzz85a5"
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name="
        b"foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2F"
        b"hooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015."
        b"47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    expected = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    assert signature(secret, "1531420618", body) == expected
    verify({STAMP: "1531420618", SIGN: expected}, body, (secret,), 1531420618.0)


@pytest.mark.parametrize(
    ("age", "accepted"), [(0, True), (299, True), (300, True), (301, False), (-300, True), (-301, False)]
)
def test_a_request_is_good_for_five_minutes(age: int, accepted: bool) -> None:
    timestamp = str(int(NOW) - age)
    assert is_accepted(timestamp, signature(KEY, timestamp, BODY)) is accepted


def test_while_the_secret_is_changed_both_are_good() -> None:
    old = b"the old secret"
    sent = signature(old, str(int(NOW)), BODY)
    assert is_accepted(str(int(NOW)), sent, secrets=(KEY, old))
    assert not is_accepted(str(int(NOW)), sent, secrets=(KEY,))
    assert not is_accepted(str(int(NOW)), sent, secrets=())


@given(st.text(), st.text(), st.binary())
@settings(max_examples=300)
def test_nothing_made_up_passes_or_raises_anything_else(timestamp: str, sent: str, body: bytes) -> None:
    assert not is_accepted(timestamp, sent, body)


@given(st.integers(0, len(BODY) - 1), st.integers(1, 255))
def test_one_changed_byte_is_noticed(place: int, change: int) -> None:
    changed = bytearray(BODY)
    changed[place] ^= change
    assert not is_accepted(str(int(NOW)), GOOD, bytes(changed))


STAMPS = (
    None, b"", b"abc", b"1e9", b"0x10", b"-1", b"+1700000000", b"1700000000.0", b" ", b"\xff\xfe", b"NaN", b"inf",
    "１７０００００００".encode(), b"1" * 13, b"1" * 4000, b"1,2", b"None", b"0", b"99999999999", b"1_700_000_000",
)  # fmt: skip
SIGNS = (
    None, b"", b"v0=", b"v0", b"v1=" + b"0" * 64, b"v0=" + b"0" * 63, b"v0=" + b"0" * 65, b"v0=" + b"g" * 64,
    b"\xff" * 67, b"v0=" + "０".encode() * 64, b"v0=" + b"A" * 64, b"0" * 64, b"V0=" + b"0" * 64, b"v0=" + b"0" * 64,
    b"v0=" + b"0" * 64 + b",v0=" + b"1" * 64, b"v0 = " + b"0" * 64, b"v0=" + b"0" * 64 + b" ", b"sha256=" + b"0" * 64,
    b"v0=" + b"0" * 1000,
)  # fmt: skip


def malformed() -> Iterator[tuple[bytes | None, bytes | None, bytes]]:
    now = str(int(time.time())).encode()
    good = signature(KEY, now.decode(), BODY).encode()
    for stamp in STAMPS:
        yield stamp, good, BODY
    for sign in SIGNS:
        yield now, sign, BODY
    yield now, good, BODY + b" "
    yield now, good, b""
    yield now, good, b"\xff\xfe\x00"


@pytest.mark.parametrize("content_type", ["application/json", "application/x-www-form-urlencoded"])
def test_malformed_headers_are_refused(client: TestClient, content_type: str) -> None:
    tried = list(malformed())
    assert len(tried) >= 40
    for stamp, sign, body in tried:
        headers: list[tuple[bytes, bytes]] = [(b"Content-Type", content_type.encode())]
        headers += [(b"X-Slack-Request-Timestamp", stamp)] if stamp is not None else []
        headers += [(b"X-Slack-Signature", sign)] if sign is not None else []
        answer = client.post(PATH, content=body, headers=headers)
        assert answer.status_code == 401, (stamp, sign)
        assert answer.headers["content-type"] == "application/problem+json"


JSON, FORM = "application/json", "application/x-www-form-urlencoded"
BODIES = (
    (JSON, b""), (JSON, b"{"), (JSON, b"[]"), (JSON, b"null"), (JSON, b'"x"'), (JSON, b"1"), (JSON, b"\xff\xfe{}"),
    (JSON, b"[" * 100_000), (JSON, b'{"a":' * 50_000), (JSON, b"9" * 5000), (JSON, b'{"event": "x"}'), (JSON, b"NaN"),
    (JSON, b'{"event": []}'), (JSON, b'{"type": 1}'), (JSON, b'{"authorizations": {}}'), (JSON, b'{"actions": [1]}'),
    (JSON, b'{"event": {"user": false}, "team_id": "T0TEST"}'), (JSON, b'{"team_id": "T0TEST", "response_urls": 1}'),
    (JSON, b'{"team_id": {}}'), (JSON, b'{"user": "U1"}'), (JSON, b'{"view": 3}'), (JSON, b'{"message": "m"}'),
    (FORM, b'{"type": "x"}'), (FORM, b"payload="), (FORM, b"payload=x"), (FORM, b"payload=[]"), (FORM, b"payload=%FF"),
    (FORM, b"payload={"), (FORM, b"\xff\xfe"), (FORM, b"&".join(b"a=1" for _ in range(300))),
    ("text/plain", b"{}"), ("application/xml", b"<x/>"), ("multipart/form-data; boundary=x", b"--x--"), ("", b"{}"),
)  # fmt: skip


@pytest.mark.parametrize(("kind", "body"), BODIES)
def test_signed_bodies_that_are_none_of_slack_are_refused(client: TestClient, kind: str, body: bytes) -> None:
    answer = client.post(PATH, content=body, headers=signed(body, kind))
    assert answer.status_code in (400, 415)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_large_body_is_refused(client: TestClient) -> None:
    body = b'{"x": "' + b"x" * 1024 * 1024 + b'"}'
    assert client.post(PATH, content=body, headers=signed(body, JSON)).status_code == 413


SCRAP = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8), st.just("T0TEST"))
NAMES = st.sampled_from(
    ["type", "event", "team_id", "team", "user", "channel", "message", "actions", "view", "trigger_id", "callback_id",
     "command", "text", "ts", "thread_ts", "files", "state", "values", "value", "action_id", "private_metadata", "id",
     "selected_option", "authorizations", "container", "blocks", "subtype", "bot_id", "channel_type", "enterprise"]
)  # fmt: skip
KINDS = st.sampled_from(
    ["event_callback", "block_actions", "view_submission", "block_suggestion", "message_action", "shortcut",
     "view_closed", "app_mention", "message", "diagnose", "resolve", "ran", "cause", "url_verification", "/triage"]
)  # fmt: skip
TREES = st.recursive(
    st.one_of(SCRAP, KINDS),
    lambda inner: st.one_of(st.dictionaries(NAMES, inner, max_size=6), st.lists(inner, max_size=3)),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, TREES, max_size=8), st.booleans())
@settings(max_examples=60)
def test_signed_scrap_is_never_a_fault_of_ours(client: TestClient, data: dict[str, object], as_form: bool) -> None:
    text = json.dumps({"team_id": "T0TEST", **data})
    body = urlencode({"payload": text}).encode() if as_form else text.encode()
    answer = client.post(PATH, content=body, headers=signed(body, FORM if as_form else JSON))
    assert answer.status_code < 500


@pytest.mark.parametrize(
    "data",
    [
        {"type": "block_actions", "actions": []},
        {"type": "block_actions", "actions": None},
        {"type": "block_actions", "actions": [{"type": "button", "action_id": 1, "block_id": "b"}]},
        {"type": "view_submission", "view": None},
        {"type": "view_submission"},
    ],
)
def test_a_signed_click_or_form_without_what_it_is_about_is_refused(
    client: TestClient, data: dict[str, object]
) -> None:
    payload = {"team": {"id": "T0TEST"}, "user": {"id": "U0ANNA", "team_id": "T0TEST"}, "trigger_id": "1.2.3", **data}
    body = urlencode({"payload": json.dumps(payload)}).encode()
    answer = client.post(PATH, content=body, headers=signed(body, FORM))
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/bad-request")


def test_the_url_is_confirmed_at_once(client: TestClient) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "abc", "token": "x"}).encode()
    answer = client.post(PATH, content=body, headers=signed(body, JSON))
    assert (answer.status_code, answer.json()) == (200, {"challenge": "abc"})
    assert client.post(PATH, content=body, headers={"Content-Type": JSON}).status_code == 401


def test_a_check_of_the_certificate_and_unknown_events_are_no_errors(client: TestClient) -> None:
    body = b"ssl_check=1&token=x"
    assert client.post(PATH, content=body, headers=signed(body, FORM)).status_code == 200
    for data in (event("reaction_added"), {"type": "block_suggestion", "action_id": "x", "team_id": "T0TEST"}):
        body = json.dumps(data).encode()
        assert client.post(PATH, content=body, headers=signed(body, JSON)).status_code == 200
    body = urlencode(command("x", command="/other")).encode()
    assert client.post(PATH, content=body, headers=signed(body, FORM)).status_code == 200
