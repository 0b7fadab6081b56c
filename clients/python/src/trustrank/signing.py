"""Ed25519 signatures over outcomes: detached JWS (RFC 7515 appendix F with RFC 7797 `b64: false`).

Needs the package `cryptography` (`pip install trustrank[signing]`).
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
import uuid
from typing import Callable

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def generate_signing_key() -> dict[str, str]:
    """A new private key as a JSON Web Key (RFC 8037). Store it as a secret."""
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption()
    )
    return {"kty": "OKP", "crv": "Ed25519", "x": _base64url(_public(key)), "d": _base64url(secret)}


class OutcomeSigner:
    """Signs request bodies: give `signer` itself as `sign` to a client.

    `audience` is the service's id (`GET /healthz`): other services refuse the signature.
    """

    def __init__(
        self, jwk: dict[str, str], audience: str, *, now: Callable[[], float] = time.time
    ) -> None:
        if jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519":
            raise TypeError("the key must be Ed25519")
        self._key = Ed25519PrivateKey.from_private_bytes(_bytes(jwk["d"]))
        self._audience = audience
        self._now = now
        x = _base64url(_public(self._key))
        self.public_jwk = {"kty": "OKP", "crv": "Ed25519", "x": x}
        # RFC 7638 3.2: the required members only, in lexicographic order, without white space.
        canonical = f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'
        #: RFC 7638 thumbprint of the public key.
        self.kid = _base64url(hashlib.sha256(canonical.encode()).digest())

    def __call__(self, body: str) -> str:
        """Value of `X-JWS-Signature` for exactly this body; different at every call."""
        now = self._now()
        header = {
            "alg": "Ed25519",
            "kid": self.kid,
            "typ": "outcome+jws",
            "b64": False,
            "crit": ["b64"],
            "iat": int(now),
            "jti": str(uuid7(now)),
            "aud": self._audience,
        }
        head = _base64url(json.dumps(header, separators=(",", ":")).encode())
        return f"{head}..{_base64url(self._key.sign(f'{head}.{body}'.encode()))}"

    def key_proof(self, nonce: str) -> str:
        """Compact JWS over a nonce of the service: proof of possession, for registering the key."""
        header = {"alg": "Ed25519", "kid": self.kid, "typ": "key-proof+jws", "aud": self._audience}
        return self._compact(header, nonce)

    def attest(self, transaction: dict[str, object]) -> str:
        """Value of an outcome's `attestation`, by the subject's owner or a mediator.

        `transaction` has `transaction_id`, and `subject`, `reporter`, `outcome`, `stakes` and
        `settled_at` as the outcome has them. It must be reported within seven days.
        """
        header = {
            "alg": "Ed25519",
            "kid": self.kid,
            "typ": "transaction+jws",
            "iat": int(self._now()),
            "aud": self._audience,
        }
        return self._compact(header, json.dumps(transaction, separators=(",", ":")))

    def _compact(self, header: dict[str, object], text: str) -> str:
        head = _base64url(json.dumps(header, separators=(",", ":")).encode())
        payload = _base64url(text.encode())
        return f"{head}.{payload}.{_base64url(self._key.sign(f'{head}.{payload}'.encode()))}"


def uuid7(now: float) -> uuid.UUID:
    """A time-ordered identifier (RFC 9562); Python's own begin with 3.14. `now` in epoch seconds."""
    chance = int.from_bytes(os.urandom(10), "big")
    value = int(now * 1000) << 80 | chance & ~(0xF << 76 | 0x3 << 62)
    return uuid.UUID(int=value | 0x7 << 76 | 0x2 << 62)


def _public(key: Ed25519PrivateKey) -> bytes:
    raw, form = serialization.Encoding.Raw, serialization.PublicFormat.Raw
    return key.public_key().public_bytes(raw, form)


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
