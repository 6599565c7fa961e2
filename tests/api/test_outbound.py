"""What the service itself may call: the addresses in its settings, and from them no more than was asked for."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from api.outbound import Answer, ForbiddenAddressError, Outbound, OutboundError
from api.settings import Settings, SettingsError

PROMETHEUS = "http://prometheus.internal:9090/api"
HOOK = "https://hooks.example.org/in"
ELSEWHERE = (
    "http://prometheus.internal/",  # another port
    "http://prometheus.internal:9091/",
    "http://prometheus.internal:0/",
    "https://prometheus.internal:9090/",  # another scheme
    "http://prometheus.internal:9090@evil.example/",
    "http://prometheus.internal:9090@evil.example:9090/",
    "http://evil.example#@prometheus.internal:9090/",
    "http://evil.example?@prometheus.internal:9090/",
    "http://evil.example/@prometheus.internal:9090/",
    "http://evil.example;@prometheus.internal:9090/",
    "http://user:password@prometheus.internal:9090/",
    "http://user@prometheus.internal:9090/",
    "http://prometheus.internal:9090.evil.example/",
    "http://prometheus.internal.evil.example:9090/",
    "http://evil.example\\@prometheus.internal:9090/",
    "http:\\\\prometheus.internal:9090/",
    "http://prometheus.internal%2eevil.example:9090/",
    "http://prometheus.internal%00.evil.example:9090/",
    "http://prometheus.internal\t:9090/",
    "http://prometheus.internal:9090\r\nHost: evil.example/",
    "http://ｐrometheus.internal:9090/evil",
    "http://prometheus。internal:9090@evil.example/",
    "http://prometheus.internal.:9090/",
    "http://127.0.0.1:9090/",
    "http://2130706433:9090/",
    "http://0x7f.1:9090/",
    "http://[::1]:9090/",
    "http://[::ffff:127.0.0.1]:9090/",
    "http://169.254.169.254/latest/meta-data/",
    "http://localhost:9090/",
    "//prometheus.internal:9090/",
    "prometheus.internal:9090/",
    "/api",
    "",
    "file:///etc/passwd",
    "gopher://prometheus.internal:9090/",
    "ftp://prometheus.internal:9090/",
    "http:prometheus.internal:9090/",
    "http://:9090/",
    "http://[prometheus.internal]:9090/",
    "https://hooks.example.org:444/in",
    "https://hooks.example.org.evil.example/in",
    "http://hooks.example.org/in",
)
HERE = (
    PROMETHEUS,
    "http://prometheus.internal:9090",
    "HTTP://PROMETHEUS.internal:9090/api/v1/query?query=up",
    "http://prometheus.internal:09090/",
    HOOK,
    "https://hooks.example.org:443/other",
)


def answer(status: int, content: bytes = b"ok", **headers: str) -> httpx2.Response:
    """An answer whose body still has to be read, as one from the wire."""
    return httpx2.Response(status, headers=headers, stream=httpx2.ByteStream(content))


def outbound(handler: Any = None, **more: Any) -> Outbound:
    transport = httpx2.MockTransport(handler or (lambda _: answer(200)))
    return Outbound((PROMETHEUS, HOOK), transport=transport, **more)


def send(client: Outbound, url: str = PROMETHEUS, **request: Any) -> Answer:
    return asyncio.run(client.send("GET", url, **request))


@pytest.mark.parametrize("url", ELSEWHERE)
def test_nothing_else_is_reached(url: str) -> None:
    asked = []

    def note(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url)
        return answer(200)

    with pytest.raises(ForbiddenAddressError):
        send(outbound(note), url)
    assert asked == []


@pytest.mark.parametrize("url", HERE)
def test_the_addresses_of_the_settings_are_reached(url: str) -> None:
    hosts = []

    def note(request: httpx2.Request) -> httpx2.Response:
        hosts.append(request.url.host)
        return answer(200)

    assert send(outbound(note), url).content == b"ok"
    assert hosts[0] in {"prometheus.internal", "hooks.example.org"}


def test_a_redirect_is_an_answer() -> None:
    asked = []

    def redirect(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        return answer(307, Location="http://169.254.169.254/latest/meta-data/")

    assert send(outbound(redirect)).status == 307
    assert asked == [PROMETHEUS]


async def endless() -> AsyncIterator[bytes]:
    while True:
        yield b"x" * 1000


async def slow() -> AsyncIterator[bytes]:
    yield b"x"
    await asyncio.sleep(60)


def test_an_endless_answer_is_given_up() -> None:
    with pytest.raises(OutboundError, match="larger than 5,000 bytes"):
        send(outbound(lambda _: httpx2.Response(200, content=endless())), most_bytes=5000)


def test_a_slow_answer_is_given_up() -> None:
    with pytest.raises(OutboundError, match=r"within 0\.05 seconds"):
        send(outbound(lambda _: httpx2.Response(200, content=slow())), seconds=0.05)


def test_a_compressed_answer_is_not_inflated() -> None:
    bomb = httpx2.ByteStream(gzip.compress(b"0" * 10_000_000))
    with pytest.raises(OutboundError, match="compressed"):
        send(outbound(lambda _: httpx2.Response(200, headers={"Content-Encoding": "gzip"}, stream=bomb)))


@pytest.mark.parametrize(
    "sent",
    [b"", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf", b"HTTP/1.1 " + b"2" * 200_000],
)
def test_a_hostile_server_is_an_error_of_ours(sent: bytes) -> None:
    async def run() -> None:
        async def hostile(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(sent)
            writer.close()

        async with await asyncio.start_server(hostile, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            client = Outbound((url,))
            with pytest.raises(OutboundError):
                await client.send("GET", url, seconds=20)
            await client.close()

    asyncio.run(run())


def test_no_answer_says_nothing_of_the_url() -> None:
    def fail(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError(f"cannot reach {request.url}", request=request)

    with pytest.raises(OutboundError) as failed:
        send(outbound(fail))
    assert "prometheus" not in str(failed.value)


def test_a_service_with_nothing_to_call_calls_nothing() -> None:
    with pytest.raises(ForbiddenAddressError):
        send(Outbound.of(Settings()))


def test_proxies_and_passwords_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://evil.example:1")
    client = Outbound((PROMETHEUS,))
    assert client._client is not None
    assert client._client.trust_env is False
    assert client._client._mounts == {}


def test_every_setting_that_is_an_address_can_be_called() -> None:
    client = Outbound.of(Settings(oidc_jwks_url="https://login.example.org/keys"))
    assert ("https", b"login.example.org", 443) in client._allowed


@pytest.mark.parametrize("value", ["ftp://x", "x", "https://", "https://u:p@x/", "https://x/#y", "file:///etc/passwd"])
def test_what_is_no_address_is_no_setting(value: str) -> None:
    with pytest.raises(SettingsError, match="OIDC_JWKS_URL"):
        Settings.from_env({"TRAINTRIAGE_OIDC_JWKS_URL": value})
