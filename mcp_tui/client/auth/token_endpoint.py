"""Requests to a trusted authorization server: registrations, codes, refresh tokens, and secrets."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import secrets
import shlex
from dataclasses import field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote_plus, urlencode

from mcp_tui import clock
from mcp_tui.client.auth.discovery import (
    AuthorizationError,
    AuthorizationServer,
    Discovery,
    ProtectedResource,
    as_document,
    instead,
    issuer_id,
    json_object,
    scopes_in,
    shown,
)
from mcp_tui.protocol.messages import Json, as_object, as_text, read_json, texts_in
from mcp_tui.protocol.values import fact, frozen
from mcp_tui.transport.addresses import Address, parse
from mcp_tui.transport.base import TransportError
from mcp_tui.transport.http_fetch import Fetched
from mcp_tui.transport.unreachable import readable

AUTHORIZATION_CODE: Final = "authorization_code"
"""The grant type of a person who signs in (RFC 6749, section 4.1)."""
CLIENT_CREDENTIALS: Final = "client_credentials"
"""The grant type of a client that signs in itself (RFC 6749, section 4.4)."""

JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
"""The grant type of a workload, or of a person for whom an identity provider vouches (RFC 7523, section 2.1)."""

DEFAULT_REDIRECT: Final = "http://127.0.0.1:17623/callback"
"""The default redirect URI. It never changes, because many servers compare it exactly."""

_ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_IDENTITY_GRANT: Final = "urn:ietf:params:oauth:token-type:id-jag"

LONGEST_TOKEN: Final = 64 * 1024
_ACCESS_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""The syntax of a bearer token (RFC 6750, section 2.1)."""
_CREDENTIAL: Final = re.compile(r"[\x20-\x7e]{1,4096}")
"""A client id or secret (RFC 6749, appendix A)."""
NONCE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,2048}")
"""A nonce for proofs of possession (RFC 9449, section 8.1)."""
_CODE: Final = re.compile(r"[a-z0-9_.:/ -]{1,100}", re.IGNORECASE)

_WRONG_REDIRECT: Final = "invalid_redirect_uri"
"""The error of a server that rejects such a redirect URI (RFC 7591, section 3.2.2)."""
_PASSING_CODES: Final = ("temporarily_unavailable", "server_error", "slow_down")
"""The errors that may be temporary."""

ASSERTION_SECONDS: Final = 60
"""Seconds for which a signed assertion is valid; it is made for one request."""

VARIABLE_PREFIX: Final = "env:"
"""The prefix of the name of an environment variable with an assertion, instead of a file."""

_PROOF_KEYS: Final = {"ES256": ("EC", "P-256"), "ES384": ("EC", "P-384"), "PS256": ("RSA", 2048)}


@fact
class ClientRegistration:
    """The client as an authorization server knows it, and the ``grant`` type by which it gets tokens there.

    Only ``issuer`` gets its secret. An empty ``issuer``, possible only in the Python API, trusts the first one that
    the MCP server names. ``auth_method`` is one of ``token_endpoint_auth_methods_supported``, empty for the first
    that fits. ``private_key`` is in PEM. ``assertion`` is the place of the JWT with which this client signs in: a
    file, or ``env:NAME``. It is sent only to the identity provider ``idp_issuer``, if there is one, which knows the
    client as ``idp_client_id``.
    """

    client_id: str = ""
    issuer: str = ""
    grant: str = AUTHORIZATION_CODE
    client_secret: str = field(default="", repr=False)
    private_key: str = field(default="", repr=False)
    algorithm: str = "ES256"
    auth_method: str = ""
    redirect_uri: str = ""
    """The registered redirect URI; of a configured client, the one that a person chose."""
    assertion: str = ""
    idp_issuer: str = ""
    idp_client_id: str = ""
    idp_client_secret: str = field(default="", repr=False)
    given: bool = False
    """A person configured it, so it is never replaced."""
    stale: bool = False
    """A sign-in with it was refused or got no redirect, so the next one registers again."""


@fact
class Token:
    """An issued token. ``expires_at`` is in seconds since the epoch, 0 if unknown.

    ``proof_key`` is the secret of the :class:`ProofKey` that it is bound to, empty for a bearer token.
    """

    access: str = field(default="", repr=False)
    refresh: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ()
    expires_at: float = 0.0
    proof_key: str = field(default="", repr=False)
    asked: tuple[str, ...] = ()
    """The requested scopes, granted or not."""
    refused: str = ""
    """Why the authorization server refused to renew it, so that it is not asked again."""


# -- JWTs -----------------------------------------------------------------------------------------------------


def _library(need: str) -> tuple[Any, Any, tuple[type[Exception], ...]]:
    """Returns the modules ``jwt`` and ``jwk`` of joserfc, and the errors that they raise.

    Raises:
        AuthorizationError: the extra ``jwt`` is not installed.
    """
    try:
        jwt, jwk, errors = (import_module(f"joserfc.{name}") for name in ("jwt", "jwk", "errors"))
    except ImportError:
        raise AuthorizationError(f"{need} needs the extra jwt; install mcp-tui-client[jwt]") from None
    return jwt, jwk, (errors.JoseError, ValueError, TypeError, KeyError)


def signed_assertion(client_id: str, private_key: str, algorithm: str, issuer: str) -> str:
    """Returns a JWT that proves a key in PEM, for one issuer and one minute (RFC 7523, section 3).

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
        "exp": now + ASSERTION_SECONDS,
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
        AuthorizationError: the extra ``jwt`` is not installed, or the secret is not such a key.
    """

    def __init__(self, secret: str) -> None:
        self.secret = secret
        self._jwt, jwk, errors = _library("DPoP, which this server requires,")
        try:
            self._key = jwk.import_key(as_object(read_json(secret)))
            self._header = {"typ": "dpop+jwt", "alg": self._key.alg, "jwk": self._key.as_dict(private=False)}
        except errors:
            text = "the stored DPoP key cannot be used, so its token cannot either"
            raise AuthorizationError(text) from None
        self.thumbprint: str = self._key.thumbprint()

    @classmethod
    def drawn(cls, algorithms: Json) -> ProofKey:
        """Returns a new key for the first of our algorithms that the server lists (RFC 9449, section 5.1)."""
        _, jwk, _ = _library("DPoP, which this server requires,")
        listed = texts_in(algorithms)
        algorithm = next((each for each in _PROOF_KEYS if each in listed), None)
        if algorithm is None:
            raise AuthorizationError(
                "this server requires DPoP, but its authorization server lists no algorithm that mcp-tui has: "
                f"{', '.join(_PROOF_KEYS)}"
            )
        key = jwk.generate_key(*_PROOF_KEYS[algorithm], {"alg": algorithm}, private=True)
        return cls(json.dumps(key.as_dict(private=True)))

    def proof(self, method: str, url: str, *, token: str = "", nonce: str = "") -> str:
        """Returns a proof for one request; a proof is used only once (RFC 9449, section 4.2)."""
        claims: dict[str, Json] = {
            "jti": secrets.token_urlsafe(16),
            "htm": method,
            "htu": url.partition("#")[0].partition("?")[0],
            "iat": int(clock.wall()),
        }
        if token:
            claims["ath"] = digest(token)
        if nonce:
            claims["nonce"] = nonce
        return self._jwt.encode(self._header, claims, self._key, algorithms=[self._key.alg])


def digest(text: str) -> str:
    """Returns the SHA-256 of a secret, sent instead of it (RFC 7636, section 4.2; RFC 9449, section 4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode("ascii")).digest()).rstrip(b"=").decode()


def read_assertion(source: str) -> str:
    """Returns the current JWT in a file, or in a variable as ``env:NAME``.

    Raises:
        AuthorizationError: there is none.
    """
    name = source.removeprefix(VARIABLE_PREFIX)
    try:
        if name != source:
            text = os.environ.get(name, "")
        else:
            with Path(source).open("rb") as file:
                text = file.read(LONGEST_TOKEN).decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a JWT"
        raise AuthorizationError(f"the assertion in {readable(source)!r} cannot be read: {why}") from None
    if not claims_of(text := text.strip()):
        raise AuthorizationError(f"no assertion (a JWT) in {readable(source)!r}")
    return text


def claims_of(token: str) -> dict[str, Json]:
    """Returns the claims of a token, unverified; empty if it is not a JWT."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        return json_object(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))) or {}
    except ValueError:
        return {}


def audiences(token: str) -> list[str]:
    """Returns the audiences that a token names."""
    named = claims_of(token).get("aud")
    return [named] if isinstance(named, str) else texts_in(named)


def by_hand(redirect_uri: str) -> str:
    """Returns the advice for an authorization server that does not register clients for everybody."""
    same = "" if redirect_uri == DEFAULT_REDIRECT else f" --redirect-uri {shlex.quote(redirect_uri)}"
    by = f"give its id with mcp-tui login --client-id ID{same}"
    return f"Register mcp-tui there by hand with the redirect URI {redirect_uri}, and {by}"


# -- checks ----------------------------------------------------------------------------------------------------


def credentials_are_the_issuers(registration: ClientRegistration, issuer: str) -> None:
    """Rejects sending credentials to another issuer than theirs ("Authorization Server Binding", 2026-07-28)."""
    if registration.issuer and issuer_id(registration.issuer) != issuer_id(issuer):
        raise AuthorizationError(
            f"the server now names the authorization server {shown(issuer)}, but the client "
            f"{readable(registration.client_id, 60)!r} belongs to {shown(registration.issuer)}, so nothing was sent there"
        )


def token_type_is_known(kind: Json, wanted: str) -> None:
    """Rejects a token of another type (RFC 6749, section 7.1; RFC 9449, section 5)."""
    if not isinstance(kind, str) or kind.lower() != wanted.lower():
        raise AuthorizationError(
            f"the authorization server issued a token of type {shown(kind)}, not {wanted}, so it is not used"
        )


def token_is_bound_to_the_key(token: str, key: ProofKey) -> None:
    """Rejects a token that names another key (RFC 9449, section 6.1)."""
    named = as_object(claims_of(token).get("cnf")).get("jkt", key.thumbprint)
    if named != key.thumbprint:
        raise AuthorizationError("the authorization server issued a token for another key, so it is not used")


def assertion_is_for_the_issuer(assertion: str, server: AuthorizationServer) -> None:
    """Rejects sending an assertion to an issuer that its ``aud`` does not name (RFC 7523, section 3)."""
    named = audiences(assertion)
    if not {issuer_id(server.issuer), server.endpoint("token_endpoint")} & set(map(issuer_id, named)):
        raise AuthorizationError(
            f"the assertion is for {shown(', '.join(named) or 'nobody')}, but the server names the authorization "
            f"server {shown(server.issuer)}, so it was not sent there; name its issuer with --issuer"
        )


def audience_is_the_server(token: str, resource: ProtectedResource, issuer: str) -> None:
    """Rejects a token whose audience is another server (RFC 8707, section 2; RFC 9068).

    Tokens are opaque. But a JWT that names only URLs elsewhere would let this server use the token at another one.
    """
    own = [parse(resource.identifier), parse(issuer)]
    named = [each for each in audiences(token) if each.startswith(("http://", "https://"))]
    others = [each for each in named if not any(_same_origin(each, address) for address in own)]
    if named and len(others) == len(named):
        raise AuthorizationError(
            f"the authorization server issued a token for another server, {shown(others[0])}, so it is not used"
        )


def _same_origin(url: str, address: Address) -> bool:
    try:
        return parse(url).same_origin(address)
    except TransportError:
        return False


# -- requests --------------------------------------------------------------------------------------------------


@frozen
class TokenEndpoint:
    """The token endpoint of one authorization server, for one resource. New tokens are bound to ``key``, if it is set."""

    discovery: Discovery
    server: AuthorizationServer
    resource: ProtectedResource
    scopes: tuple[str, ...] = ()
    """The scopes to request."""
    key: ProofKey | None = None

    async def register(self, redirect_uri: str) -> ClientRegistration:
        """Registers this client (RFC 7591; ``application_type`` by "Dynamic Client Registration", 2026-07-28).

        Raises:
            AuthorizationError: the server refuses, or its answer has no client.
        """
        method = self._supported("none", "client_secret_basic", "client_secret_post")
        metadata: dict[str, Json] = {
            "client_name": "mcp-tui",
            "application_type": "native",
            "redirect_uris": [redirect_uri],
            "grant_types": [AUTHORIZATION_CODE, "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
            **self.scope,
        }
        body, headers = json.dumps(metadata).encode(), {"Content-Type": "application/json"}
        answer = await self.discovery.fetched(self.server.endpoint("registration_endpoint"), body, headers)
        try:
            return self._read_client(self._accepted(answer, "register mcp-tui"), redirect_uri)
        except AuthorizationError as error:
            # The request had no secret, so the answer cannot repeat one.
            reason = as_text((json_object(answer.body) or {}).get("error_description"))
            text = str(error).removesuffix(".") + (f' (it says: "{readable(reason)}")' if reason else "")
            advice = by_hand(redirect_uri)
            if error.refused == _WRONG_REDIRECT:
                advice = f"Choose another redirect URI with --redirect-uri. {advice}"
            raise AuthorizationError(f"{text}. {advice}") from None

    def _read_client(self, made: dict[str, Json], redirect_uri: str) -> ClientRegistration:
        client_id, secret = made.get("client_id"), made.get("client_secret", "")
        if not isinstance(client_id, str) or not _CREDENTIAL.fullmatch(client_id):
            raise AuthorizationError("the authorization server registered mcp-tui without a client id")
        if not isinstance(secret, str) or (secret and not _CREDENTIAL.fullmatch(secret)):
            raise AuthorizationError("the authorization server gave a client secret that cannot be sent")
        given = made.get("token_endpoint_auth_method")
        return ClientRegistration(
            client_id=client_id,
            client_secret=secret,
            issuer=self.server.issuer,
            auth_method=given if isinstance(given, str) else "" if secret else "none",
            redirect_uri=redirect_uri,
        )

    async def redeem(self, client: ClientRegistration, code: str, verifier: str, redirect_uri: str) -> Token:
        """Returns the token for a code (RFC 6749, section 4.1.3; RFC 7636, section 4.5; RFC 8707, section 2.2)."""
        fields = {
            "grant_type": AUTHORIZATION_CODE,
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        return self._read_token(await self._granted(client, fields))

    async def refresh(self, client: ClientRegistration, token: Token) -> Token:
        """Returns a new token for a refresh token; that stays valid if the answer has no new one (RFC 6749, section 6)."""
        fields = {"grant_type": "refresh_token", "refresh_token": token.refresh}
        renewed = self._read_token(await self._granted(client, fields), refresh=token.refresh)
        return replace(renewed, asked=token.asked)

    async def issue(self, client: ClientRegistration, assertion: str) -> Token:
        """Returns a token for the client itself (RFC 6749, section 4.4), or for an ``assertion`` (RFC 7523, section 2.1)."""
        fields = {"grant_type": CLIENT_CREDENTIALS}
        if assertion:
            fields = {"grant_type": JWT_BEARER, "assertion": assertion}
        return self._read_token(await self._granted(client, fields | self.scope))

    async def exchange(self, client: ClientRegistration, assertion: str, audience: str) -> str:
        """Returns an identity provider's grant for the authorization server ``audience``, in exchange for an assertion.

        (RFC 8693, section 2; enterprise-managed authorization, section 4.)
        """
        fields = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "requested_token_type": _IDENTITY_GRANT,
            "audience": audience,
            "subject_token": assertion,
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        }
        answer = await self._granted(client, fields | self.scope, "exchange the assertion")
        grant = answer.get("access_token")
        if answer.get("issued_token_type") != _IDENTITY_GRANT or not isinstance(grant, str):
            text = "the identity provider gave something other than an identity grant (ID-JAG)"
            raise AuthorizationError(text)
        return grant

    @property
    def scope(self) -> dict[str, str]:
        """The form field that requests scopes."""
        return {"scope": " ".join(self.scopes)} if self.scopes else {}

    async def _granted(
        self, client: ClientRegistration, fields: dict[str, str], what: str = "issue a token", nonce: str = ""
    ) -> dict[str, Json]:
        """Returns the answer of the token endpoint, which may request a nonce once (RFC 9449, section 8)."""
        # Checked here, because every secret is sent from here, whoever chose this authorization server.
        credentials_are_the_issuers(client, self.server.issuer)
        url = self.server.endpoint("token_endpoint")
        headers, more = self._authenticated(client)
        form = urlencode({**fields, **more, "resource": self.resource.identifier}).encode()
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        if self.key is not None:
            headers["DPoP"] = self.key.proof("POST", url, nonce=nonce)
        answer = await self.discovery.fetched(url, form, headers)
        wanted = answer.headers.get("dpop-nonce", "")
        asked = self.key is not None and not nonce and _error(answer) == "use_dpop_nonce"
        if asked and NONCE.fullmatch(wanted):
            return await self._granted(client, fields, what, wanted)
        return self._accepted(answer, what)

    def _authenticated(self, client: ClientRegistration) -> tuple[dict[str, str], dict[str, str]]:
        """Returns headers and fields that authenticate a client ("Token Endpoint Authentication", RFC 6749, 2.3)."""
        method = client.auth_method
        if not method and client.private_key:
            method = "private_key_jwt"
        if not method and client.client_secret:
            method = self._supported("client_secret_basic", "client_secret_post", "none")
        match method:
            case "client_secret_basic" if client.client_secret:
                pair = f"{quote_plus(client.client_id)}:{quote_plus(client.client_secret)}"
                return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}, {}
            case "client_secret_post" if client.client_secret:
                return {}, {"client_id": client.client_id, "client_secret": client.client_secret}
            case "private_key_jwt" if client.private_key:
                key, issuer = client.private_key, self.server.issuer
                assertion = signed_assertion(client.client_id, key, client.algorithm, issuer)
                return {}, {"client_assertion": assertion, "client_assertion_type": _ASSERTION}
            case "" | "none":
                return {}, {"client_id": client.client_id} if client.client_id else {}
            case _:
                text = f"the token endpoint requires {readable(method, 60)!r}, which mcp-tui cannot do"
                raise AuthorizationError(text)

    def _supported(self, *methods: str) -> str:
        """Returns the first of these methods that the server supports, else simply the first."""
        listed = texts_in(self.server.metadata.get("token_endpoint_auth_methods_supported"))
        known = listed or ["client_secret_basic"]
        return next((each for each in methods if each in known), methods[0])

    def _accepted(self, answer: Fetched, what: str) -> dict[str, Json]:
        """Returns the object in an answer. Its error has the server's error code, but no other text, which may repeat a
        secret.
        """
        document = as_document(answer)
        if document is not None and "error" not in document:
            return document
        code = _error(answer)
        why = code or (f"it {instead(answer)}" if document is None else "no reason given")
        passing = answer.status >= 500 or answer.status in (408, 429) or code in _PASSING_CODES
        error = AuthorizationError(
            f"the authorization server {shown(self.server.issuer)} refused to {what}: {why}"
            f"{'. Try again later' if passing else ''}"
        )
        error.refused = "" if passing else code or f"HTTP {answer.status}"
        raise error

    def _read_token(self, answer: dict[str, Json], refresh: str = "") -> Token:
        token_type_is_known(answer.get("token_type"), "Bearer" if self.key is None else "DPoP")
        access, renewed = answer.get("access_token"), answer.get("refresh_token")
        if not isinstance(access, str) or len(access) > LONGEST_TOKEN or not _ACCESS_TOKEN.fullmatch(access):
            raise AuthorizationError("the authorization server issued a token that cannot be sent")
        audience_is_the_server(access, self.resource, self.server.issuer)
        if self.key is not None:
            token_is_bound_to_the_key(access, self.key)
        seconds = lifetime(answer.get("expires_in"))
        usable = isinstance(renewed, str) and 0 < len(renewed) <= LONGEST_TOKEN and renewed.isprintable()
        return Token(
            access=access,
            refresh=renewed if usable and isinstance(renewed, str) else refresh,
            scopes=scopes_in(answer.get("scope")) or self.scopes,
            asked=self.scopes,
            expires_at=clock.wall() + seconds if seconds else 0.0,
            proof_key="" if self.key is None else self.key.secret,
        )


def lifetime(value: Json) -> float:
    """Returns the seconds of ``expires_in``, which some servers send as text; 0 if the value cannot be used."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return 0.0
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return 0.0
    return seconds if 0 < seconds < 1e10 else 0.0


def _error(answer: Fetched) -> str:
    """Returns the error in an answer (RFC 6749, section 5.2); empty if it cannot be shown."""
    error = (json_object(answer.body) or {}).get("error")
    return error if isinstance(error, str) and _CODE.fullmatch(error) else ""
