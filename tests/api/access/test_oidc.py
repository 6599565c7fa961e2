"""Tokens of an identity provider: which are taken, whose they are, and where the keys to check them come from."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.access import Caller, Scope
from api.access.oidc import KEPT_SECONDS, REFRESH_SECONDS, RENEW_SECONDS, Provider
from api.access.refusals import REASONS, RefusedError
from api.outbound import Answer, OutboundError
from api.problem import Problem
from api.settings import Settings, SettingsError
from tests.api.access.issuer import Issuer

URL = "https://login.example.org/keys"


class Clock:
    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


class Wire:
    """Stands for the way to the provider: counts what is asked, answers what it is told to."""

    def __init__(self, content: bytes = b"", status: int = 200) -> None:
        self.content, self.status = content, status
        self.asked = 0

    async def send(self, method: str, url: str, **_: Any) -> Answer:
        assert (method, url) == ("GET", URL)
        self.asked += 1
        await asyncio.sleep(0)
        if self.status == 0:
            raise OutboundError("no answer")
        return Answer(self.status, {}, self.content)


def a_provider(issuer: Issuer, **more: Any) -> Provider:
    return Provider(Settings(**{**issuer.settings(), **more}), Wire(), Clock())


def caller(provider: Provider, token: str) -> Caller:
    return asyncio.run(provider.caller(token))[0]


def refusal(provider: Provider, token: str) -> str:
    with pytest.raises(RefusedError) as refused:
        caller(provider, token)
    assert str(refused.value) in REASONS
    return str(refused.value)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_a_good_token_says_who_it_is(issuer: Issuer, algorithm: str) -> None:
    found = caller(a_provider(issuer), issuer.token(algorithm, name="Ada", scope="cases:read nonsense diagnose"))
    assert found == Caller("default", "person:u-1", "Ada", frozenset({Scope.CASES_READ, Scope.DIAGNOSE}))


def test_a_name_cannot_move_a_cursor_or_turn_a_line(issuer: Issuer) -> None:
    name = caller(a_provider(issuer), issuer.token(name="Eve\x1b[2J\u202egnp" + "x" * 200)).name
    assert len(name) < 200
    assert not set(name) & {"\x1b", "\u202e"}


def b64(data: Any) -> str:
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def hs256_with_public_key(issuer: Issuer, secret: bytes) -> str:
    """The confusion of RFC 8725, 2.1, by hand, because the library refuses to make it."""
    _, claims, _ = issuer.token("RS256").split(".")
    signed = f"{b64({'alg': 'HS256', 'typ': 'JWT', 'kid': 'RS256'})}.{claims}"
    return f"{signed}.{b64(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"


def resigned(token: str, **header: Any) -> str:
    """The token with another header and its old signature."""
    head, claims, signature = token.split(".")
    old = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    return ".".join((b64({**old, **header}), claims, signature))


NOW = time.time()
BAD: dict[str, tuple[Any, str]] = {
    # name: token of an issuer, reason
    "none": (lambda i: resigned(i.token(), alg="none"), "bad-algorithm"),
    "none without signature": (lambda i: resigned(i.token(), alg="none").rsplit(".", 1)[0] + ".", "bad-algorithm"),
    "None": (lambda i: resigned(i.token(), alg="None"), "bad-algorithm"),
    "no algorithm": (lambda i: resigned(i.token(), alg=None), "bad-algorithm"),
    "HS256 with the public key": (lambda i: hs256_with_public_key(i, i.pem("RS256")), "bad-algorithm"),
    "HS256 with the public JWK": (
        lambda i: hs256_with_public_key(i, json.dumps(i.public("RS256")).encode()), "bad-algorithm",
    ),
    "PS256": (
        lambda i: jwt.encode({"sub": "x"}, i.private["RS256"], "PS256", headers={"kid": "RS256"}), "bad-algorithm",
    ),
    "RS512": (
        lambda i: jwt.encode({"sub": "x"}, i.private["RS256"], "RS512", headers={"kid": "RS256"}), "bad-algorithm",
    ),
    "key of another algorithm": (lambda i: i.token("ES256", header={"kid": "RS256"}), "bad-algorithm"),
    "signature of another key": (lambda i: resigned(i.token("EdDSA"), iat=1), "bad-signature"),
    "signature cut off": (lambda i: i.token()[:-4], "malformed-token"),
    "no signature": (lambda i: i.token().rsplit(".", 1)[0] + ".", "bad-signature"),
    "unknown kid": (lambda i: i.token(header={"kid": "other"}), "unknown-signer"),
    "no kid": (lambda i: jwt.encode({"sub": "x"}, i.private["RS256"], "RS256"), "unknown-signer"),
    "kid is null": (lambda i: resigned(i.token(), kid=None), "malformed-token"),
    "kid is a path": (lambda i: i.token(header={"kid": "../../etc/passwd"}), "unknown-signer"),
    "own key in the header": (lambda i: i.token(header={"kid": "x", "jwk": i.public("RS256")}), "unknown-signer"),
    "own keys by address": (lambda i: i.token(header={"kid": "x", "jku": "https://evil.example"}), "unknown-signer"),
    "critical header": (lambda i: i.token(header={"crit": ["x"], "x": 1}), "malformed-token"),
    "expired": (lambda i: i.token(exp=NOW - 60), "expired-token"),
    "expires never": (lambda i: i.token(exp=None), "missing-claim"),
    "expires at 1e999": (lambda i: i.token(exp=float("inf")), "malformed-token"),
    "expires at a word": (lambda i: i.token(exp="tomorrow"), "malformed-token"),
    "not yet": (lambda i: i.token(nbf=time.time() + 90), "early-token"),
    "issued in the future": (lambda i: i.token(iat=time.time() + 90), "early-token"),
    "no iat": (lambda i: i.token(iat=None), "missing-claim"),
    "other audience": (lambda i: i.token(aud="another"), "other-audience"),
    "no audience": (lambda i: i.token(aud=None), "missing-claim"),
    "audiences without ours": (lambda i: i.token(aud=["a", "b"]), "other-audience"),
    "part of the audience": (lambda i: i.token(aud="traintriage.evil"), "other-audience"),
    "other issuer": (lambda i: i.token(iss="https://evil.example"), "other-issuer"),
    "issuer with a slash": (lambda i: i.token(iss="https://login.example.org/realms/train/"), "other-issuer"),
    "no issuer": (lambda i: i.token(iss=None), "missing-claim"),
    "no subject": (lambda i: i.token(sub=None), "missing-claim"),
    "empty subject": (lambda i: i.token(sub=""), "bad-subject"),
    "long subject": (lambda i: i.token(sub="x" * 201), "bad-subject"),
    "subject with a line break": (lambda i: i.token(sub="a\nb"), "bad-subject"),
    "encrypted": (lambda _: "a.b.c.d.e", "malformed-token"),
    "no token": (lambda _: "nonsense", "malformed-token"),
    "two dots": (lambda _: "..", "malformed-token"),
    "header is a list": (lambda i: f"{b64([1])}.{i.token().split('.', 1)[1]}", "malformed-token"),
    "deep header": (lambda i: f"{b64(b'[' * 5000)}.{i.token().split('.', 1)[1]}", "malformed-token"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_token_is_refused_with_one_reason(issuer: Issuer, name: str) -> None:
    make, reason = BAD[name]
    assert refusal(a_provider(issuer), make(issuer)) == reason


@given(st.text(st.characters(codec="ascii"), max_size=200) | st.binary(max_size=60).map(b64))
def test_no_text_makes_it_fail(text: str) -> None:
    provider = Provider(
        Settings(oidc_issuer="i", oidc_audience="a", oidc_jwks_file=Path("/nowhere")), Wire(), Clock()
    )  # fmt: skip
    for token in (text, f"{b64({'alg': 'RS256', 'kid': 'k'})}.{text}.{text}", f"{text}.{text}.{text}"):
        with pytest.raises((RefusedError, Problem)):
            caller(provider, token)


@pytest.mark.parametrize("away", [-25, 25])
def test_the_clocks_may_differ_a_little(issuer: Issuer, away: float) -> None:
    now = time.time() + away
    caller(a_provider(issuer), issuer.token(iat=now, nbf=now, exp=now + 1 + (0 if away > 0 else 10)))


def test_only_the_algorithms_of_the_settings_are_taken(issuer: Issuer) -> None:
    provider = a_provider(issuer, oidc_algorithms=("ES256",))
    caller(provider, issuer.token("ES256"))
    assert refusal(provider, issuer.token("RS256")) == "bad-algorithm"


def test_keys_that_are_too_weak_or_not_for_signatures_are_not_used(issuer: Issuer, tmp_path: Path) -> None:
    entries = [
        {"kty": "oct", "k": b64(b"x" * 32), "kid": "oct", "alg": "HS256"},
        {**issuer.public("RS256"), "kid": "enc", "use": "enc"},
        {**issuer.public("RS256"), "kid": "ps", "alg": "PS256"},
        {"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "weak"},
        "no key", {"kty": "new"}, {"kid": 5, "kty": "RSA"}, {"kty": "EC", "crv": "P-256", "kid": "half"},
        issuer.public("EdDSA"),
    ]  # fmt: skip
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": entries}))
    provider = a_provider(issuer, oidc_jwks_file=path)
    caller(provider, issuer.token("EdDSA"))
    assert set(provider._keys) <= {"EdDSA", "weak"}
    assert refusal(provider, issuer.token("RS256", header={"kid": "weak"})) in {"malformed-token", "unknown-signer"}


@pytest.mark.parametrize(
    ("claims", "tenant"),
    [({"org": "team-a"}, "team-a"), ({"org": None}, None), ({"org": "a b"}, None), ({"org": ["a"]}, None)],
)
def test_the_tenant_is_what_the_claim_says(issuer: Issuer, claims: dict[str, Any], tenant: str | None) -> None:
    provider = a_provider(issuer, oidc_tenant_claim="org")
    if tenant is None:
        assert refusal(provider, issuer.token(**claims)) == "no-tenant"
    else:
        assert caller(provider, issuer.token(**claims)).tenant == tenant


@pytest.mark.parametrize(
    ("name", "claims"),
    [
        ("scope", {"scope": "oncall other"}),
        ("groups", {"groups": ["oncall", 5, None, "other"]}),
        ("realm_access.roles", {"realm_access": {"roles": ["oncall"]}}),
        ("https://example.org/roles", {"https://example.org/roles": ["oncall"]}),
    ],
)
def test_roles_give_scopes(issuer: Issuer, name: str, claims: dict[str, Any]) -> None:
    provider = a_provider(issuer, oidc_scope_claim=name, oidc_roles={"oncall": ("cases:read", "cases:write")})
    assert caller(provider, issuer.token(**claims)).scopes == {Scope.CASES_READ, Scope.CASES_WRITE}


@pytest.mark.parametrize("claim", [None, 5, {"a": 1}, "", [], [["diagnose"]], "admin2"])
def test_a_claim_that_means_nothing_gives_nothing(issuer: Issuer, claim: Any) -> None:
    assert caller(a_provider(issuer), issuer.token(scope=claim)).scopes == frozenset()


def test_with_roles_the_names_of_scopes_give_nothing(issuer: Issuer) -> None:
    provider = a_provider(issuer, oidc_roles={"oncall": ("cases:read",)})
    assert caller(provider, issuer.token(scope="admin diagnose")).scopes == frozenset()


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"oidc_audience": ""}, "OIDC_AUDIENCE"),
        ({"oidc_jwks_file": None}, "OIDC_JWKS_URL"),
        ({"oidc_jwks_url": URL}, "OIDC_JWKS_FILE"),
        ({"oidc_roles": {"a": ("cases:raed",)}}, "cases:raed"),
    ],
)
def test_settings_that_do_not_fit_are_named(issuer: Issuer, more: dict[str, Any], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        a_provider(issuer, **more)


class TestKeysFromTheProvider:
    """How often it is asked, and what happens if it does not answer."""

    @pytest.fixture
    def wire(self, issuer: Issuer) -> Wire:
        return Wire(json.dumps({"keys": [issuer.public("EdDSA")]}).encode())

    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def provider(self, issuer: Issuer, wire: Wire, clock: Clock) -> Provider:
        settings = Settings(**{**issuer.settings(), "oidc_jwks_file": None, "oidc_jwks_url": URL})
        return Provider(settings, wire, clock)

    def test_many_tokens_ask_once(self, provider: Provider, wire: Wire, issuer: Issuer) -> None:
        async def run() -> None:
            await asyncio.gather(*(provider.caller(issuer.token()) for _ in range(20)))

        asyncio.run(run())
        assert wire.asked == 1

    def test_unknown_keys_ask_at_a_bounded_rate(
        self, provider: Provider, wire: Wire, clock: Clock, issuer: Issuer
    ) -> None:
        for number in range(100):
            assert refusal(provider, issuer.token(header={"kid": f"made up {number}"})) == "unknown-signer"
        assert wire.asked == 1
        clock.now += REFRESH_SECONDS + 1
        refusal(provider, issuer.token(header={"kid": "made up"}))
        assert wire.asked == 2

    def test_a_new_key_is_found_and_an_old_one_goes(
        self, provider: Provider, wire: Wire, clock: Clock, issuer: Issuer
    ) -> None:
        caller(provider, issuer.token())
        wire.content = json.dumps({"keys": [issuer.public("ES256")]}).encode()
        clock.now += REFRESH_SECONDS + 1
        caller(provider, issuer.token("ES256"))
        assert refusal(provider, issuer.token("EdDSA")) == "unknown-signer"

    def test_a_withdrawn_key_goes_although_nobody_asks_for_another(
        self, provider: Provider, wire: Wire, clock: Clock, issuer: Issuer
    ) -> None:
        caller(provider, issuer.token())
        wire.content = json.dumps({"keys": [issuer.public("ES256")]}).encode()
        clock.now += RENEW_SECONDS + 1
        assert refusal(provider, issuer.token(exp=clock.now + 60)) == "unknown-signer"

    @pytest.mark.parametrize(
        "broken", [b"", b"[]", b"{}", b'{"keys": 5}', b"<html>", b"[" * 100_000, b"\xff", b'{"keys": []}']
    )
    def test_without_keys_it_is_a_503(self, provider: Provider, wire: Wire, issuer: Issuer, broken: bytes) -> None:
        wire.content = broken
        with pytest.raises(Problem) as problem:
            caller(provider, issuer.token())
        assert problem.value.kind.status == 503
        assert problem.value.headers == {"Retry-After": "30"}

    @pytest.mark.parametrize("status", [0, 302, 404, 500])
    def test_old_keys_are_good_for_a_day_if_the_provider_is_away(
        self, provider: Provider, wire: Wire, clock: Clock, issuer: Issuer, status: int
    ) -> None:
        caller(provider, issuer.token())
        wire.status = status
        start = clock.now
        clock.now = start + KEPT_SECONDS - 1
        caller(provider, issuer.token())
        clock.now = start + KEPT_SECONDS + REFRESH_SECONDS
        with pytest.raises(Problem):
            caller(provider, issuer.token())
