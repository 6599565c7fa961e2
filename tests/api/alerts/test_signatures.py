"""Signatures: of any secret in use, over the very bytes, by a clock that is right."""

import base64
import hashlib
import hmac

import pytest
from pydantic import SecretStr

from api.alerts.signatures import TOLERANCE, require_grafana, require_pagerduty, standard_signature
from api.problem import Problem
from tests.api.alerts.sent import NEXT_SECRET, SECRET, signed

BODY = '{"a": "é"}'.encode()
SECRETS = (SecretStr(SECRET), SecretStr(NEXT_SECRET))
NOW = 1_796_032_940


def hexed(text: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()


@pytest.mark.parametrize(
    "header",
    [
        signed(BODY, SECRET),
        signed(BODY, NEXT_SECRET),
        signed(BODY, "a secret that is gone", NEXT_SECRET),
        signed(BODY, SECRET).upper().replace("V1=", "v1="),
        f"v0=abc, {signed(BODY, SECRET)}",
    ],
)
def test_any_secret_in_use_will_do(header: str) -> None:
    require_pagerduty(BODY, header, SECRETS)


@pytest.mark.parametrize(
    "header",
    [
        None, "", "v1=", "v1", "=", ",", ",,,,", "v1=zz", "v1=" + "0" * 64, "v1=" + "0" * 63, "v1=" + "0" * 65,
        "v2=" + hexed(BODY), hexed(BODY), "V1=" + hexed(BODY), "v1 = " + hexed(BODY), signed(BODY + b" ", SECRET),
        signed(b"", SECRET), signed(BODY, "another"), "v1=\u00e9" + hexed(BODY)[1:], "v1=" + "\u0660" * 64,
        "v1=\x00" + hexed(BODY), "v1=" * 10_000, "v1=" + "a" * 100_000, signed(BODY, SECRET).replace("v1=", "v1=0x"),
        ",".join(["v1=" + "0" * 64] * 20 + [signed(BODY, SECRET)]),
    ],
)  # fmt: skip
def test_what_is_no_signature(header: str | None) -> None:
    with pytest.raises(Problem) as caught:
        require_pagerduty(BODY, header, SECRETS)
    assert caught.value.kind.slug == "bad-signature"


def test_without_a_secret_nothing_fits() -> None:
    with pytest.raises(Problem):
        require_pagerduty(BODY, signed(BODY, ""), ())


@pytest.mark.parametrize("age", [-299, 0, 299, TOLERANCE])
def test_grafana_with_a_time(age: int) -> None:
    then = str(NOW - age)
    require_grafana(BODY, hexed(then.encode() + b":" + BODY), then, SECRETS, NOW)
    require_grafana(BODY, hexed(BODY), None, SECRETS, NOW)


@pytest.mark.parametrize(
    "then", [str(NOW - 301), str(NOW + 301), "", "abc", "1e9", "-5", "١٢٣", f" {NOW}", f"{NOW}.5", "9" * 400, "0x10"]
)
def test_grafana_with_a_time_that_is_wrong(then: str) -> None:
    with pytest.raises(Problem):
        require_grafana(BODY, hexed(then.encode() + b":" + BODY), then, SECRETS, NOW)


def test_a_signature_of_the_body_alone_does_not_carry_a_time() -> None:
    with pytest.raises(Problem):
        require_grafana(BODY, hexed(BODY), str(NOW), SECRETS, NOW)


def test_standard_webhooks() -> None:
    key = base64.b64encode(b"k" * 24).decode()
    expected = base64.b64encode(hmac.new(b"k" * 24, b"msg_1.1614265330.{}", hashlib.sha256).digest()).decode()
    assert standard_signature("msg_1", 1614265330, b"{}", SecretStr(f"whsec_{key}")) == f"v1,{expected}"
    # The example of the specification.
    published = standard_signature(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
        SecretStr("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
    )
    assert published == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
