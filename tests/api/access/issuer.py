"""An identity provider of the tests' own: its keys, its tokens, and the set of keys it publishes."""

import json
import time
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

NAME = "https://login.example.org/realms/train"
AUDIENCE = "traintriage"


class Issuer:
    """Signs tokens with a key of each kind; the file holds the public halves."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.private: dict[str, Any] = {
            "RS256": rsa.generate_private_key(65537, 2048),
            "ES256": ec.generate_private_key(ec.SECP256R1()),
            "EdDSA": ed25519.Ed25519PrivateKey.generate(),
        }
        self.publish(*self.private)

    def public(self, algorithm: str) -> dict[str, Any]:
        """The public half as a JWK, under the name of its algorithm."""
        forms = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}
        form = next(forms[name] for name in forms if algorithm.startswith(name))
        entry = json.loads(form.to_jwk(self.private[algorithm].public_key()))
        return {**entry, "kid": algorithm, "use": "sig"}

    def publish(self, *algorithms: str) -> None:
        self.path.write_text(json.dumps({"keys": [self.public(algorithm) for algorithm in algorithms]}))

    def pem(self, algorithm: str) -> bytes:
        """The public half as text: what an attacker would use as the secret of HMAC."""
        return self.private[algorithm].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def token(self, algorithm: str = "EdDSA", *, header: dict[str, Any] | None = None, **claims: Any) -> str:
        """A good token, but for what is given; a claim that is None is left out."""
        now = time.time()
        said = {
            "iss": NAME, "aud": AUDIENCE, "sub": "u-1", "iat": now, "exp": now + 300, "scope": "openid diagnose",
            **claims,
        }  # fmt: skip
        kept = {name: value for name, value in said.items() if value is not None}
        return jwt.encode(kept, self.private[algorithm], algorithm[:5], headers={"kid": algorithm, **(header or {})})

    def settings(self) -> dict[str, Any]:
        return {"oidc_issuer": NAME, "oidc_audience": AUDIENCE, "oidc_jwks_file": self.path}
