"""The sign-in of a person: the request that a browser opens, and the checks of the redirect at its end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hmac
import os
import re
import secrets
from collections.abc import AsyncGenerator, Iterable
from dataclasses import field
from typing import Final, Protocol
from urllib.parse import parse_qs, urlencode, urlsplit

from mcp_tui.client.auth.discovery import (
    LOOPBACK,
    AuthorizationError,
    AuthorizationServer,
    pkce_is_advertised,
    shown,
)
from mcp_tui.client.auth.token_endpoint import ClientRegistration, TokenEndpoint, digest
from mcp_tui.protocol.values import frozen

ANY_PORT: Final = "http://127.0.0.1:0/callback"
"""A redirect URI with any free port."""
SIGN_IN_SECONDS: Final = 600.0
"""Seconds that a person has to sign in."""

LOCAL: Final = "http://127.0.0.1:PORT/PATH (or localhost, or [::1])"
"""The form of a redirect URI, for a sentence."""

_REQUEST_BYTES: Final = 16 * 1024
_REQUEST_SECONDS: Final = 5.0
_ERROR_CODE: Final = re.compile(r"[a-z0-9_]{1,60}", re.IGNORECASE)
# The address of this page contains the code: no cache may store it, and no referrer may send it. The page repeats
# nothing of the request.
_BROWSER_PAGE: Final = (
    b"HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nCache-Control: no-store\r\n"
    b"Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n%s"
)
_DONE: Final = b"<!doctype html><title>mcp-tui</title><p>You can close this page and go back to mcp-tui.</p>"
_NOT_THIS: Final = b"<!doctype html><title>mcp-tui</title><p>Not the redirect that mcp-tui waits for.</p>"


@frozen
class AuthorizationRequest:
    """A URL for the browser, and the values that its redirect must match."""

    url: str = field(repr=False)
    redirect_uri: str
    state: str = field(repr=False)
    verifier: str = field(repr=False)

    @property
    def host(self) -> str:
        """The host where the person signs in."""
        return urlsplit(self.url).netloc

    def is_redirect(self, url: str) -> bool:
        """Whether a pasted URL may be the redirect."""
        begin, mark, _ = url.partition("?")
        return bool(mark) and _as_visited(begin) == _as_visited(self.redirect_uri)


class Browser(Protocol):
    """The person who signs in, as the sign-in sees them: they are asked, and see the URL.

    The screen implements it with :class:`~mcp_tui.tui.sources.sign_in_steps.SignIn`, a terminal with
    :class:`~mcp_tui.cli.login.TerminalBrowser`.
    """

    async def agrees(self, why: str) -> bool:
        """Asks whether the person wants to sign in now; ``why`` is a sentence."""
        ...

    async def visit(self, request: AuthorizationRequest) -> str:
        """Shows the URL, opens it when the person agrees, and returns the URL that they paste; empty to stop.

        It is cancelled when the redirect arrives without a paste.
        """
        ...


def authorization_request(
    endpoint: TokenEndpoint, client: ClientRegistration, redirect_uri: str
) -> AuthorizationRequest:
    """Returns a request to the authorization server (RFC 6749, section 4.1.1; RFC 7636; RFC 8707).

    Raises:
        AuthorizationError: PKCE is not advertised, or the server has no authorization endpoint.
    """
    page = endpoint.server.endpoint("authorization_endpoint")
    pkce_is_advertised(endpoint.server.metadata)
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(64)
    fields = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": digest(verifier),
        "code_challenge_method": "S256",
        "resource": endpoint.resource.identifier,
        **endpoint.scope,
    }
    url = f"{page}{'&' if '?' in page else '?'}{urlencode(fields)}"
    return AuthorizationRequest(url, redirect_uri, state, verifier)


def _as_visited(redirect_uri: str) -> str:
    """Returns a redirect URI as a browser shows it, with ``/`` for an empty path (RFC 3986, section 6.2.3)."""
    return f"{redirect_uri}/" if redirect_uri.count("/") == 2 else redirect_uri


def is_local(redirect_uri: str) -> bool:
    """Whether a redirect URI has the form :data:`LOCAL`, so that only this machine gets the code (RFC 8252, 7.3)."""
    try:
        parts = urlsplit(redirect_uri)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    host = f"[{name}]" if ":" in name else name
    whole = redirect_uri == f"http://{host}:{port}{parts.path}" and name in LOOPBACK and bool(port)
    return whole and redirect_uri.isprintable() and " " not in redirect_uri


# -- the redirect ----------------------------------------------------------------------------------------------


def fields_of(request: AuthorizationRequest, redirected: str) -> dict[str, list[str]]:
    """Returns the fields of a redirect, whose ``state`` must be the one that was sent (RFC 6749, section 10.12).

    Raises:
        AuthorizationError: it is not the redirect of this request.
    """
    begin, _, query = redirected.strip().partition("?")
    try:
        fields = parse_qs(query.partition("#")[0], keep_blank_values=True, max_num_fields=50)
    except ValueError:  # too many fields
        fields = None
    if not request.is_redirect(f"{begin}?") or fields is None:
        text = f"this is not the redirect URL, which begins with {request.redirect_uri}?"
        raise AuthorizationError(text)
    # A pasted text may have lone surrogates, which UTF-8 cannot encode.
    states = [each.encode("utf-8", "surrogatepass") for each in fields.get("state", [])]
    if len(states) != 1 or not hmac.compare_digest(states[0], request.state.encode()):
        text = "the redirect has another state than the one that was sent, so it is not used"
        raise AuthorizationError(text)
    return fields


def issuer_of_response(server: AuthorizationServer, fields: dict[str, list[str]]) -> None:
    """Compares ``iss`` with the issuer, also in errors; it must not be missing if it is advertised (RFC 9207, section
    2.4).

    It is checked before the code is redeemed and before an error is shown.
    """
    found = fields.get("iss", [])
    # A simple string comparison: even the slash of an empty path counts, which metadata may add.
    if found and found != [server.issuer]:
        text = f"the redirect names {shown(found[0])}, not {shown(server.issuer)}, so its code was not used"
        raise AuthorizationError(text)
    if not found and server.metadata.get("authorization_response_iss_parameter_supported") is True:
        text = "the redirect does not name its server although it must, so its code was not used"
        raise AuthorizationError(text)


def code_of_response(server: AuthorizationServer, request: AuthorizationRequest, redirected: str) -> str:
    """Returns the code in a redirect.

    Raises:
        AuthorizationError: it is not the redirect of this request, or the sign-in failed.
    """
    fields = fields_of(request, redirected)
    issuer_of_response(server, fields)
    if "error" in fields:
        code = fields["error"][0]
        why = code if _ERROR_CODE.fullmatch(code) else "no reason given"
        error = AuthorizationError(f"the sign-in failed: {why}")
        error.refused = why
        raise error
    codes = fields.get("code", [])
    if len(codes) != 1 or not codes[0]:
        raise AuthorizationError("the redirect brought no code")
    return codes[0]


class RedirectListener:
    """Waits on this machine for one redirect. Any other request is answered with 400 and changes nothing."""

    def __init__(self) -> None:
        self.redirect_uri = ""
        """The URI that the browser is redirected to."""
        self._request: AuthorizationRequest | None = None
        self._redirected: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @classmethod
    @contextlib.asynccontextmanager
    async def at(cls, wanted: Iterable[str] = (ANY_PORT,)) -> AsyncGenerator[RedirectListener]:
        """Listens at the first of the redirect URIs ``wanted`` with a free port.

        Raises:
            AuthorizationError: no port is free.
        """
        made, why = cls(), ""
        for uri in wanted:
            try:
                servers = await made.listen(uri)
                break
            except OSError as error:
                reason = os.strerror(error.errno or errno.EADDRINUSE)
                why = f"cannot listen at the redirect URI {uri}: {reason}"
        else:
            advice = "End the program that uses the port, or choose another with --redirect-uri."
            raise AuthorizationError(f"{why}. {advice}")
        try:
            yield made
        finally:
            for server in servers:
                server.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    for server in servers:
                        await server.wait_closed()

    async def listen(self, uri: str) -> list[asyncio.Server]:
        """Listens at all addresses that a browser may use for the redirect URI: it tries both of ``localhost``.

        Raises:
            OSError: the port is taken.
        """
        parts, servers = urlsplit(uri), list[asyncio.Server]()
        host, port = parts.hostname or "", parts.port or 0
        try:
            for ip in ("127.0.0.1", "::1") if host == "localhost" else (host,):
                try:
                    servers.append(await asyncio.start_server(self.serve, ip, port, limit=_REQUEST_BYTES))
                except OSError as error:
                    if not servers or error.errno == errno.EADDRINUSE:  # otherwise there is no IPv6
                        raise
        except OSError:
            for server in servers:
                server.close()
            raise
        made = servers[0].sockets[0].getsockname()[1]
        self.redirect_uri = uri if port else uri.replace(":0/", f":{made}/")
        return servers

    async def redirect(self, request: AuthorizationRequest, browser: Browser) -> str:
        """Returns the URL of the redirect, from the browser or pasted by the person.

        Raises:
            AuthorizationError: neither arrived within :data:`SIGN_IN_SECONDS`, or the person stopped it.
        """
        self._request = request
        pasted = asyncio.ensure_future(browser.visit(request))  # noqa: TID251 - cancelled below
        try:
            ways = (self._redirected, pasted)
            done, _ = await asyncio.wait(ways, timeout=SIGN_IN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            pasted.cancel()
        if not done:
            raise AuthorizationError(f"no sign-in within {SIGN_IN_SECONDS / 60:g} minutes")
        url = done.pop().result()
        if not url:
            raise AuthorizationError("this server requires sign-in, which was stopped", declined=True)
        return url

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request."""
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            status, page = (b"200 OK", _DONE) if self._take(head) else (b"400 Bad Request", _NOT_THIS)
            writer.write(_BROWSER_PAGE % (status, len(page), page))
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    def _take(self, head: bytes) -> bool:
        """Whether a request is the redirect: the first GET of this one path with our state."""
        words = head.partition(b"\r\n")[0].split(b" ")
        if len(words) != 3 or words[0] != b"GET" or self._request is None or self._redirected.done():
            return False
        try:
            url = f"http://{urlsplit(self.redirect_uri).netloc}{words[1].decode('ascii')}"
            fields_of(self._request, url)
        except (ValueError, AuthorizationError):
            return False
        self._redirected.set_result(url)
        return True
