"""Errors over HTTP, in one sentence for a person."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import Final, cast
from urllib.parse import urljoin

import httpx

from mcp_tui.protocol.messages import read_json
from mcp_tui.transport.addresses import readable

EXPECTED: Final = (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, UnicodeError)
"""Exceptions that a server or a network can cause. Any other is a defect of ours."""

REFUSED: Final = "connection refused"

_REPR: Final = re.compile(r"\bbytearray\(b(.*)\)")
"""A quotation of received bytes in an error of h11's."""

_SCOPES: Final = re.compile(r"scope=\"([\x21\x23-\x26\x28-\x5b\x5d-\x7e ]{1,200})\"")
"""The scopes of a challenge, in their quotation marks."""

_ALERT: Final = r"\x15\x03"
"""The first bytes of a TLS alert, as h11 quotes them."""

_HTTPS_PORT: Final = re.compile(rb"https (?:port|server)|ssl-enabled server port", re.IGNORECASE)
"""Words of servers that got plain HTTP at a port of TLS."""

_TRUST: Final = "To trust it, name a file with the certificate of its authority in SSL_CERT_FILE; --insecure skips the check"

_CUT: Final = ("Server disconnected", "peer closed connection")


def cause(error: BaseException) -> str:
    """Returns the reason in a few words: ``connection refused``, ``certificate has expired``. Never raises."""
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        return "connection timed out"  # the only wait that httpx is told to limit
    links = list(_chain(error))
    for link in links:
        if isinstance(link, ssl.SSLCertVerificationError):
            return f"{readable(link.verify_message)} (TLS). {_TRUST}"
        # asyncio's TLS waits are errors too, in whose handling the one that counts was raised
        if isinstance(link, ssl.SSLError) and not isinstance(
            link, (ssl.SSLWantReadError, ssl.SSLWantWriteError)
        ):
            reason = (link.reason or str(link)).replace("_", " ").lower()
            return f"TLS failed: {readable(reason)}{_tls_hint(link.reason or reason)}"
    for link in links:
        if isinstance(link, socket.gaierror):
            return "unknown host name"
        if isinstance(link, ConnectionRefusedError):
            return REFUSED
        if isinstance(link, (ConnectionResetError, ConnectionAbortedError, BrokenPipeError)):
            return "connection reset by the server"
        if isinstance(link, OSError) and link.errno is not None:
            return os.strerror(link.errno).lower() if link.errno in errno.errorcode else readable(str(link))
    return _http_cause(error)


def _tls_hint(reason: str) -> str:
    """Returns what to do about an error of TLS other than a certificate that is not trusted."""
    reason, certificate = reason.upper().replace(" ", "_"), "--client-cert FILE --client-key FILE"
    if any(each in reason for each in ("CERTIFICATE_REQUIRED", "HANDSHAKE_FAILURE", "BAD_CERTIFICATE")):
        return f". If the server wants a client certificate: {certificate}"
    if "EOF" in reason:
        return f". Does it speak TLS? If so, it may want a client certificate: {certificate}"
    plain = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH")
    return ". Does it speak TLS? If not, use http://" if any(each in reason for each in plain) else ""


def _http_cause(error: BaseException) -> str:
    text = readable(_REPR.sub(r"\1", str(error)))
    match error:
        case httpx.ProxyError():
            return f"the proxy refused: {text}"
        case httpx.RemoteProtocolError() if text.startswith(_CUT):
            return "connection closed before the response"
        case httpx.RemoteProtocolError() if _ALERT in str(error):
            return "the port answers with TLS. Use https://"
        case httpx.RemoteProtocolError():
            return f"invalid HTTP from the server: {text}"
        case httpx.LocalProtocolError():
            return f"not valid as HTTP: {text}"
        case httpx.NetworkError() | EOFError():
            return "connection closed before the response"
        case _:
            return f"{type(error).__name__}: {text}" if text else type(error).__name__


def is_refused_or_reset(error: BaseException) -> bool:
    """Returns whether a connection was refused or reset, as an overloaded listener does."""
    refusals = (ConnectionRefusedError, ConnectionResetError, ConnectionAbortedError)
    return any(isinstance(link, refusals) for link in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yields an error and all its causes, nearest first."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        link = waiting.pop(0)
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", link).exceptions
        waiting += [link.__cause__, link.__context__]


def refusal(status: int, headers: Mapping[str, str], address: str, body: bytes = b"") -> str:
    """Returns why a response from ``address`` is not an answer to a message."""
    if status in (401, 403):
        challenge = headers.get("www-authenticate", "")
        if status == 403:
            scopes = _SCOPES.search(challenge) if "insufficient_scope" in challenge else None
            what = f"requires the scopes {readable(scopes[1])!r}" if scopes else "denies access"
            return f"the server {what} (HTTP 403)"
        basic = "basic" in challenge.lower() and "bearer" not in challenge.lower()
        return f"the server requires {'a user and a password' if basic else 'sign-in'} (HTTP 401)"
    if 300 <= status < 400:
        location = headers.get("location", "").partition("?")[0]
        with contextlib.suppress(ValueError):  # it is no URL, and shown as it is
            location = location and urljoin(address, location)
        target = readable(location) or "nowhere"
        return (
            f"{address} redirects to {target} (HTTP {status}). Redirects are not followed; use the new URL."
        )
    if status == 202:
        return "the server accepted the request without a response (HTTP 202)"
    if status >= 400:
        what = f"the server answered HTTP {status} {httpx.codes.get_reason_phrase(status)}".rstrip()
        if status == 400 and _HTTPS_PORT.search(body):
            return f"{what}. This port speaks TLS: use https://"
        if status in (404, 405):
            return f"{what}. Is this the MCP endpoint?"
        wait = readable(headers.get("retry-after", ""), 40)
        if wait:
            return f"{what}. Retry {f'after {wait} s' if wait.isdigit() else f'from {wait} on'}"
        return what
    kind = media_type(headers)
    if kind == "application/json" and body:
        return f"the server answered HTTP {status} with JSON instead of {'an event stream' if status == 200 else 'HTTP 200'}"
    if not kind and status == 200 and (body or headers.get("content-length", "0") != "0"):
        what = "without a Content-Type, which must be application/json or text/event-stream"
    elif kind in ("", "application/json"):
        what = "with an empty body"
    else:
        what = f"with {readable(kind, 80)} instead of JSON or an event stream"
    return f"the server answered HTTP {status} {what}. Is this the MCP endpoint?"


def error_message(body: bytes, headers: Mapping[str, str]) -> str:
    """Returns the message in the body of a refusal, for the end of a sentence; empty if it has none."""
    kind = media_type(headers)
    if kind != "text/plain" and not kind.endswith("json"):
        return ""
    text = body.decode("utf-8", "replace")
    with contextlib.suppress(ValueError):
        value = read_json(text)
        while isinstance(value, dict):
            fields = cast("dict[str, object]", value)
            names = ("error_description", "message", "detail", "error")
            value = next((fields[name] for name in names if fields.get(name)), None)
        text = value if isinstance(value, str) else ""
    return readable(" ".join(text.split()))


def media_type(headers: Mapping[str, str]) -> str:
    """Returns the ``Content-Type`` without its parameters, in lower case; empty if there is none."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def foreign_encoding(headers: Mapping[str, str]) -> str:
    """Returns the content encoding of a response that is not ``identity``, else nothing."""
    encoding = headers.get("content-encoding", "").strip().lower()
    return "" if encoding in ("", "identity") else readable(encoding, 40)
