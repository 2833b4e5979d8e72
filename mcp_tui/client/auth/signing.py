"""Signed statements (JWT): the client's own, proofs that it has the key of its token (RFC 9449), and given ones."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from mcp_tui import clock
from mcp_tui.client.auth.discovery import AuthorizationError
from mcp_tui.protocol.messages import Json, as_object, read_json, texts_in
from mcp_tui.transport.addresses import readable

ASSERTION_LIFE: Final = 60
"""Seconds for which a signed assertion is valid; it is made for one request."""

VARIABLE: Final = "env:"
"""What stands before the name of an environment variable that holds an assertion, in place of a file."""

_PROOF_KEYS: Final = {"ES256": ("EC", "P-256"), "ES384": ("EC", "P-384"), "PS256": ("RSA", 2048)}
_LONGEST: Final = 64 * 1024


def _library(need: str) -> tuple[Any, Any, tuple[type[Exception], ...]]:
    """The modules ``jwt`` and ``jwk`` of joserfc, and what they raise.

    Raises:
        AuthorizationError: the extra ``jwt`` is not installed.
    """
    try:
        jwt, jwk, errors = (import_module(f"joserfc.{name}") for name in ("jwt", "jwk", "errors"))
    except ImportError:
        raise AuthorizationError(f"{need} needs the extra jwt; install mcp-tui-client[jwt]") from None
    return jwt, jwk, (errors.JoseError, ValueError, TypeError, KeyError)


def signed_assertion(client_id: str, private_key: str, algorithm: str, issuer: str) -> str:
    """A JWT by which a client proves its key, in PEM, for one issuer and one minute (RFC 7523, section 3).

    Raises:
        AuthorizationError: the extra ``jwt`` is not installed, or the key cannot sign.
    """
    jwt, jwk, errors = _library("signing with a key")
    now = int(clock.wall())
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": issuer,
        "iat": now,
        "exp": now + ASSERTION_LIFE,
        "jti": secrets.token_urlsafe(16),
    }
    try:
        kind = {"ES": "EC", "Ed": "OKP", "RS": "RSA", "PS": "RSA"}[algorithm[:2]]
        key = jwk.import_key(private_key, kind)
        return jwt.encode({"alg": algorithm}, claims, key, algorithms=[algorithm])
    except errors:
        raise AuthorizationError(f"the private key cannot sign with {readable(algorithm, 20)}") from None


class ProofKey:
    """The key that tokens are bound to. ``secret`` is its private JWK, with its algorithm, as JSON.

    Raises:
        AuthorizationError: the extra ``jwt`` is not installed, or it is no such key.
    """

    def __init__(self, secret: str) -> None:
        self.secret = secret
        self._jwt, jwk, errors = _library("DPoP, which this server requires,")
        try:
            self._key = jwk.import_key(as_object(read_json(secret)))
            self._header = {"typ": "dpop+jwt", "alg": self._key.alg, "jwk": self._key.as_dict(private=False)}
        except errors:
            raise AuthorizationError(
                "the stored DPoP key cannot be used, so its token cannot either"
            ) from None
        self.thumbprint: str = self._key.thumbprint()

    @classmethod
    def drawn(cls, algorithms: Json) -> ProofKey:
        """A new key, for the first algorithm of ours that the authorization server lists (RFC 9449, section 5.1)."""
        _, jwk, _ = _library("DPoP, which this server requires,")
        listed = texts_in(algorithms)
        algorithm = next((each for each in _PROOF_KEYS if each in listed), None)
        if algorithm is None:
            text = (
                "this server requires DPoP, but its authorization server lists no algorithm that mcp-tui has: "
                f"{', '.join(_PROOF_KEYS)}"
            )
            raise AuthorizationError(text)
        key = jwk.generate_key(*_PROOF_KEYS[algorithm], {"alg": algorithm}, private=True)
        return cls(json.dumps(key.as_dict(private=True)))

    def proof(self, method: str, url: str, *, token: str = "", nonce: str = "") -> str:
        """A proof for one request, never used again (RFC 9449, section 4.2)."""
        claims: dict[str, Json] = {
            "jti": secrets.token_urlsafe(16),
            "htm": method,
            "htu": url.partition("#")[0].partition("?")[0],
            "iat": int(clock.wall()),
        }
        if token:
            digest = hashlib.sha256(token.encode("ascii")).digest()
            claims["ath"] = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if nonce:
            claims["nonce"] = nonce
        return self._jwt.encode(self._header, claims, self._key, algorithms=[self._key.alg])


def read_assertion(source: str) -> str:
    """The JWT that a platform or an identity provider put into a file, or into ``env:NAME``; it may change there.

    Raises:
        AuthorizationError: there is none.
    """
    name = source.removeprefix(VARIABLE)
    try:
        if name != source:
            text = os.environ.get(name, "")
        else:
            with Path(source).open("rb") as file:
                text = file.read(_LONGEST).decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a JWT"
        raise AuthorizationError(f"the assertion in {readable(source)!r} cannot be read: {why}") from None
    if not claims_of(text := text.strip()):
        raise AuthorizationError(f"no assertion (a JWT) in {readable(source)!r}")
    return text


def claims_of(token: str) -> dict[str, Json]:
    """What a token says, unverified; nothing where it is not a JWT."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        return as_object(read_json(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))))
    except (ValueError, RecursionError):
        return {}


def audiences(token: str) -> list[str]:
    """For whom a token says that it is."""
    named = claims_of(token).get("aud")
    return [named] if isinstance(named, str) else texts_in(named)
