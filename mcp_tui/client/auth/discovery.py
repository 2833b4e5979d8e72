"""Finds the issuer of an MCP server's tokens: reads its challenge, its metadata, and its authorization server's.

All of this comes from servers that may lie. It decides where a person signs in and who gets a secret, so a separate
function checks each claim before its use.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field, replace
from typing import Final

from mcp_tui.protocol.framing import HTTP_NAME
from mcp_tui.protocol.messages import Json, as_object, read_json, texts_in
from mcp_tui.protocol.values import frozen
from mcp_tui.transport.addresses import Address, parse
from mcp_tui.transport.base import Challenge, Unauthorized
from mcp_tui.transport.http_fetch import Fetched, Fetcher
from mcp_tui.transport.targets import VERIFIED, Tls
from mcp_tui.transport.unreachable import TransportError, readable, within

StepListener = Callable[[str], None]
"""Is called with each step of an authorization, in words for a person."""

SUCCESS: Final = (200, 201)
"""The HTTP statuses of a successful answer."""

SERVER_TEXT_CHARACTERS: Final = 2048
"""The maximum number of characters of a URL or of scopes from a server; more is a mistake or an attack."""

HEADER_OPTION: Final = "add a token with -H 'Authorization: Bearer TOKEN'"
"""The advice that needs no sign-in."""

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
"""The names of this machine, which servers use interchangeably."""

_EMPTY_PATH: Final = re.compile(r"([a-z]+://[^/?#]+)/")
_PING: Final = b'{"jsonrpc":"2.0","id":0,"method":"ping"}'

_CHALLENGE: Final = re.compile(rf'({HTTP_NAME})(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?')
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")


class AuthorizationError(Unauthorized):
    """No token was issued. The text says in one sentence what happened and what to do."""

    refused = ""
    """The error code, else the HTTP status, of an authorization server whose refusal is final (RFC 6749, section 5.2)."""

    @property
    def unknown_client(self) -> bool:
        """Whether the authorization server refused the client itself, regardless of the person."""
        return self.refused in ("invalid_client", "unauthorized_client")

    def advising(self, advice: str) -> AuthorizationError:
        """Returns this error with one more sentence."""
        made = AuthorizationError(f"{self} {advice}", declined=self.declined)
        made.refused = self.refused
        return made


# -- the challenge ---------------------------------------------------------------------------------------------


@frozen
class TokenChallenge:
    """The challenge in a 401 or 403 that a token could answer (RFC 6750, section 3); empty if there was no refusal."""

    status: int = 0
    scopes: tuple[str, ...] = ()
    resource_metadata: str = ""
    error: str = ""
    bound: bool = False
    """The server accepts only tokens that are bound to a key (scheme ``DPoP``, RFC 9449, section 7.1)."""

    @property
    def wants_nonce(self) -> bool:
        """Whether the proof of possession needs another nonce (RFC 9449, section 9)."""
        return self.status == 401 and self.error == "use_dpop_nonce"

    @property
    def wants_scopes(self) -> bool:
        """Whether the token is valid but permits too little ("Insufficient Scope", authorization, 2025-11-25)."""
        return self.status == 403 and self.error == "insufficient_scope"


def token_challenge(challenge: Challenge) -> TokenChallenge | None:
    """Reads a challenge for access tokens; returns ``None`` if no token would help.

    A 401 without the header comes from an early server (2025-03-26 does not require the header). A header with only
    other schemes, such as Basic, wants something else.
    """
    scheme, schemes = "", dict[str, dict[str, str]]()
    for match in _CHALLENGE.finditer(challenge.header[:8192]):
        name, quoted, plain = match.groups()
        if quoted is None and plain is None:
            scheme = name.lower()
            schemes.setdefault(scheme, {})
        elif scheme:
            value = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            schemes[scheme].setdefault(name.lower(), value)
    named = schemes.keys() & {"bearer", "dpop"}
    if not named and (schemes or challenge.status != 401):
        return None
    fields = schemes.get("bearer", {}) | schemes.get("dpop", {})
    scopes, metadata = scopes_in(fields.get("scope")), fields.get("resource_metadata", "").strip()
    found = TokenChallenge(challenge.status, scopes, metadata, fields.get("error", ""), named == {"dpop"})
    return found if challenge.status == 401 or found.wants_scopes else None


def scopes_in(value: Json) -> tuple[str, ...]:
    """Returns the valid scopes (RFC 6749, section 3.3) in a text or a list, each once."""
    words = value.split() if isinstance(value, str) else texts_in(value)
    return tuple(dict.fromkeys(word for word in words if _SCOPE.fullmatch(word)))[:100]


# -- checks ----------------------------------------------------------------------------------------------------


def metadata_is_on_the_server(url: str, server: Address) -> None:
    """Rejects metadata of a resource from another origin (RFC 9728, section 3: derived from its identifier)."""
    if not parse(url).same_origin(server):
        own = shown(protected_resource_urls(server)[0])
        raise AuthorizationError(
            f"the server keeps its metadata on another origin, {shown(url)}, so it is not read. "
            + (other_name(url, server) or f"Its place is {own}. Report this to the server's operator.")
        )


def resource_names_the_server(resource: Json, server: Address) -> str:
    """Returns the metadata's ``resource``, which is the server's URL or one above it (RFC 9728, section 3.3)."""
    if not isinstance(resource, str):
        raise AuthorizationError("the server's metadata names no resource, so it is not used")
    named = parse(resource) if len(resource) <= SERVER_TEXT_CHARACTERS else None
    path = "" if named is None else named.url.path.rstrip("/")
    below = server.url.path == path or server.url.path.startswith(f"{path}/")
    if named is None or not named.same_origin(server) or not below or named.url.query or "#" in resource:
        way = (below and other_name(resource, server)) or "Check the URL of the server"
        text = f"the server's metadata is for another resource, {shown(resource)}, so it is not used. {way}"
        raise AuthorizationError(text)
    return resource


def other_name(url: str, server: Address) -> str:
    """Returns advice to connect with the name of this machine in ``url``; empty if the names do not differ that way."""
    with suppress(TransportError):
        host = parse(url).url.host
        found = replace(server, url=server.url.copy_with(host=host))
        if {host, server.url.host} <= set(LOOPBACK) and parse(url).same_origin(found):
            return f"Connect to {shown(str(found.url))}"
    return ""


def issuer_id(issuer: str) -> str:
    """Returns an issuer in the form for comparing, character by character: ``https://x/`` as ``https://x``.

    An empty path and ``/`` are the same URI and have the same metadata URL (RFC 3986, section 6.2.3). Google's
    servers and others mix them. Nothing else is normalized, and the ``iss`` of a redirect not at all (RFC 9207, 2.4).
    """
    found = _EMPTY_PATH.fullmatch(issuer)
    return found[1] if found else issuer


def issuer_is_exact(expected: str, named: Json, server: Address) -> str:
    """Returns the ``issuer`` of metadata, which must equal the requested one by :func:`issuer_id` (RFC 8414, section
    3.3).
    """
    if not isinstance(named, str) or issuer_id(named) != issuer_id(expected):
        sentence = f"calls itself {shown(named)}" if isinstance(named, str) else "does not name itself"
        way = other_name(f"{named}", server) or "Report this to the server's operator."
        text = f"the authorization server {shown(expected)} {sentence}, so it is not trusted and was sent nothing. {way}"
        raise AuthorizationError(text)
    return named


def endpoint_is_safe(name: str, url: Json) -> str:
    """Returns an endpoint, which must be an https URL, or http on this machine ("Communication Security", authorization)."""
    if not isinstance(url, str) or not url or len(url) > SERVER_TEXT_CHARACTERS:
        raise AuthorizationError(f"the authorization server names no {name}")
    try:
        Fetcher.permitted(url)
    except TransportError as error:
        raise AuthorizationError(
            f"the {name} of the authorization server cannot be used: {within(str(error))}"
        ) from None
    if "#" in url:
        raise AuthorizationError(f"the {name} of the authorization server has a fragment: {shown(url)}")
    return url


def issuer_is_safe(issuer: str) -> None:
    """Rejects an issuer that is not such a URL, or has a query (RFC 8414, section 2)."""
    endpoint_is_safe("issuer", issuer)
    if "?" in issuer:
        raise AuthorizationError(f"the authorization server {shown(issuer)} has a query in its name")


def pkce_is_advertised(metadata: dict[str, Json]) -> None:
    """Rejects a server that does not list S256, as a client must ("Authorization Code Protection", 2025-11-25)."""
    if "S256" not in texts_in(metadata.get("code_challenge_methods_supported")):
        raise AuthorizationError(
            "the authorization server does not say that it supports PKCE with S256 "
            "(code_challenge_methods_supported), so signing in is not safe"
        )


def shown(value: Json) -> str:
    """Returns a server's URL for a sentence, without its query, which may contain secrets."""
    return readable(str(value).partition("?")[0], 120)


# -- discovery -------------------------------------------------------------------------------------------------


@frozen
class ProtectedResource:
    """The metadata of an MCP server (RFC 9728). ``identifier`` is sent as ``resource``, exactly as published.

    ``bound``: the server accepts only tokens that are bound to a key (``dpop_bound_access_tokens_required``, or its
    challenge). ``legacy``: it has no metadata, so it is its own authorization server (authorization, 2025-03-26).
    """

    identifier: str
    issuers: tuple[str, ...]
    scopes: tuple[str, ...] = ()
    legacy: bool = False
    bound: bool = False

    def named(self, issuer: str) -> str:
        """Returns an issuer as the server writes it, see :func:`issuer_id`; empty if the server does not name it."""
        return next((each for each in self.issuers if issuer_id(each) == issuer_id(issuer)), "")


@frozen
class AuthorizationServer:
    """The issuer of tokens, and its metadata (RFC 8414, OpenID Connect Discovery)."""

    issuer: str
    metadata: dict[str, Json] = field(repr=False)

    def endpoint(self, name: str) -> str:
        """Returns the URL of an endpoint, such as ``token_endpoint``.

        Raises:
            AuthorizationError: it is missing, or not safe.
        """
        return endpoint_is_safe(name, self.metadata.get(name))


class Discovery:
    """Reads metadata in the order that MCP prescribes. ``report`` is called with each request and its answer.

    ``tls`` is the TLS configuration of the server at ``server``.
    """

    def __init__(self, server: Address, report: StepListener, *, tls: Tls = VERIFIED) -> None:
        self._server = server
        self._fetcher = Fetcher(replace(server, authorization=None), tls=tls)
        self._report = report
        self.bound = False
        """Whether the server is known to accept only tokens that are bound to a key."""

    def connected(self, ip: str) -> None:
        """Notes the IP address of a connection to the server, which limits the addresses that the server may name."""
        self._fetcher.connected(ip)

    async def challenge(self) -> TokenChallenge:
        """Sends the server a request without a token and returns its challenge; empty if it accepts that, or is not
        reached.
        """
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        with suppress(AuthorizationError):
            # Some servers require DPoP only in their challenge, and a sign-in without a refusal gets no challenge.
            answer = await self.fetched(str(self._server.url), _PING, headers)
            refusal = Challenge(answer.status, answer.headers.get("www-authenticate", ""))
            return token_challenge(refusal) or TokenChallenge()
        return TokenChallenge()

    async def resource(self, challenge: TokenChallenge) -> ProtectedResource:
        """Returns the metadata of the server, from the URL in its challenge or the well-known ones (2025-11-25).

        Raises:
            AuthorizationError: it cannot be read or used.
        """
        urls, named = protected_resource_urls(self._server), challenge.resource_metadata
        self.bound = challenge.bound
        if named:
            metadata_is_on_the_server(named, self._server)
            urls = [named]
        found, problem, hidden = await self._first(urls)
        if found is None:
            # The metadata exists if it is named or a fault hides it: the defaults of 2025-03-26 might send a person
            # elsewhere.
            if named or hidden:
                raise AuthorizationError(f"the server's metadata cannot be read: {problem}")
            self._report(
                f"The server publishes no metadata ({problem}): treating it as a server of 2025-03-26"
            )
            url = str(self._server.url.copy_with(query=None))
            return ProtectedResource(url, (self._server.origin,), legacy=True, bound=challenge.bound)
        identifier = resource_names_the_server(found.get("resource"), self._server)
        issuers = texts_in(found.get("authorization_servers"))
        if not issuers:
            raise AuthorizationError("the server's metadata names no authorization server")
        scopes = scopes_in(found.get("scopes_supported"))
        self.bound = self.bound or found.get("dpop_bound_access_tokens_required") is True
        return ProtectedResource(identifier, tuple(issuers[:10]), scopes, bound=self.bound)

    async def authorization_server(self, issuer: str, *, legacy: bool) -> AuthorizationServer:
        """Returns the metadata of an issuer: by RFC 8414, else OpenID Connect, else the defaults of 2025-03-26.

        Raises:
            AuthorizationError: there is none, or it cannot be trusted.
        """
        issuer_is_safe(issuer)
        urls = authorization_server_urls(parse(issuer), legacy=legacy)
        found, problem, hidden = await self._first(urls)
        if found is None and legacy and not hidden:
            self._report("It publishes no authorization metadata: using /authorize, /token and /register")
            found = _default_metadata(issuer)
        if found is None:
            raise AuthorizationError(
                f"the authorization server {shown(issuer)} publishes no metadata that can be used: {problem}"
            )
        server = AuthorizationServer(issuer_is_exact(issuer, found.get("issuer"), self._server), found)
        for name in ("token_endpoint", "authorization_endpoint", "registration_endpoint"):
            if name == "token_endpoint" or found.get(name) is not None:
                server.endpoint(name)  # unsafe ones are found before anything is sent
        return server

    async def _first(self, urls: list[str]) -> tuple[dict[str, Json] | None, str, bool]:
        """Returns the first document found; otherwise what was found instead, and whether the document may still exist."""
        parts: list[str] = []
        hidden = False
        for url in urls:
            answer = await self.fetched(url, None, {"MCP-Protocol-Version": "2025-11-25"})
            document = as_document(answer)
            if document is not None:
                return document, "", False
            hidden = hidden or 300 <= answer.status < 400 or answer.status >= 500 or answer.status == 429
            parts.append(f"{shown(url)} {instead(answer)}")
        return None, ", ".join(parts), hidden

    async def fetched(self, url: str, body: bytes | None, headers: dict[str, str]) -> Fetched:
        """Returns the answer to one request of an authorization.

        Raises:
            AuthorizationError: there is none, or the URL is not permitted.
        """
        text = f"{'GET' if body is None else 'POST'} {shown(url)}"
        try:
            answer = await self._fetcher.fetch(url, body, headers)
        except TransportError as error:
            self._report(f"{text}: {error}")
            raise AuthorizationError(str(error)) from None
        self._report(f"{text}: {answer.status}")
        return answer


def protected_resource_urls(server: Address) -> list[str]:
    """Returns the URLs of the metadata of a server: with its path inserted, then at the root (RFC 9728, section 3.1)."""
    root = f"{server.origin}/.well-known/oauth-protected-resource"
    path = server.url.raw_path.decode("ascii").partition("?")[0].rstrip("/")
    return [f"{root}{path}", root] if path else [root]


def authorization_server_urls(issuer: Address, *, legacy: bool) -> list[str]:
    """Returns the URLs of the metadata of an issuer, in order ("Authorization Server Metadata Discovery", 2025-11-25)."""
    origin, path = issuer.origin, issuer.url.raw_path.decode("ascii").rstrip("/")
    oauth, openid = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
    if legacy:
        return [f"{origin}{oauth}"]
    if not path:
        return [f"{origin}{oauth}", f"{origin}{openid}"]
    return [f"{origin}{oauth}{path}", f"{origin}{openid}{path}", f"{origin}{path}{openid}"]


def _default_metadata(origin: str) -> dict[str, Json]:
    """Returns the metadata of a server that has none ("Fallbacks for Servers without Metadata Discovery", 2025-03-26)."""
    return {
        "issuer": origin,
        "authorization_endpoint": f"{origin}/authorize",
        "token_endpoint": f"{origin}/token",
        "registration_endpoint": f"{origin}/register",
        "token_endpoint_auth_methods_supported": ["none", "client_secret_post", "client_secret_basic"],
        "code_challenge_methods_supported": ["S256"],
    }


def instead(answer: Fetched) -> str:
    """Returns a description of an answer that is not a JSON object, as the end of a sentence."""
    if 300 <= answer.status < 400:
        to = shown(answer.headers.get("location", "nowhere"))
        return f"redirects to {to}, and redirects are not followed"
    kind = readable(answer.headers.get("content-type", "").partition(";")[0].strip() or "no Content-Type", 80)
    text = "" if answer.status not in SUCCESS else ", which is not a JSON object"
    return f"answered HTTP {answer.status} with {kind}{text}"


def as_document(answer: Fetched) -> dict[str, Json] | None:
    """Returns the JSON object in a successful answer, else ``None``."""
    found = json_object(answer.body)
    return found if answer.status in SUCCESS else None


def json_object(text: str | bytes) -> dict[str, Json] | None:
    """Returns the JSON object in a text, else ``None``."""
    try:
        value = read_json(text)
    except (ValueError, RecursionError):
        return None
    return as_object(value) if isinstance(value, dict) else None
