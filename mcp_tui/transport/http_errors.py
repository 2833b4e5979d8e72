"""Errors of HTTP requests as sentences for the user."""

from __future__ import annotations

import contextlib
import html
import re
from collections.abc import Mapping
from typing import Final, cast

import httpx

from mcp_tui.protocol import messages
from mcp_tui.protocol.error_codes import INVALID_PARAMS
from mcp_tui.protocol.messages import bytes_text, read_json
from mcp_tui.protocol.states import RequestId
from mcp_tui.transport.addresses import Address, parse
from mcp_tui.transport.base import RefusedResponse, TransportError
from mcp_tui.transport.network_errors import chain, network_cause
from mcp_tui.transport.unreachable import readable

EXPECTED: Final = (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, UnicodeError)
"""The exceptions that a server or a network can cause. Any other exception is a defect of mcp-tui."""

CLOSED: Final = "connection closed before the response"

_REPR: Final = re.compile(r"\bbytearray\(b(.*)\)")
"""Received bytes that an error of h11 quotes."""

_GATEWAY: Final = (502, 504)

_GONE: Final = (
    r"(?:not (?:be )?(?:found|known|valid|exist|recogni[sz]ed|active|initiali[sz]ed)|(?:does|did)(?: not|n't) exist|unknown"
    r"|expired|invalid|terminated|closed|gone|deleted|evicted|removed|destroyed|forgotten|lost|no longer|ended|timed out"
    r"|missing|unrecogni[sz]ed|stale|bad)"
)
_SESSION_WORDS: Final = r"(?:mcp[- _]?)?session(?:[- _]?id)?"
_LOST_SESSION: Final = re.compile(
    rf"\b{_SESSION_WORDS}\b(?:(?!\. )[^;{{}}\n]){{0,120}}?\b{_GONE}\b"
    rf"|\b(?:no (?:valid |active |such |known |matching )?|(?:cannot|can't|could not|couldn't|unable to) find (?:the |a )?"
    rf"|not (?:know|recogni[sz]e|have|find) (?:the |this |that |your |a |any )?"
    rf"|{_GONE}[: ]{{1,2}}(?:mcp )?){_SESSION_WORDS}\b",
    re.IGNORECASE,
)
"""A clause that says that a session is gone."""
_REASON_BYTES: Final = 4096
"""The first bytes of a refusal in which a reason is searched."""
_MARKUP: Final = re.compile(r"<!--.*?-->|<(script|style|head)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)
"""The parts of an HTML page that are not text."""
_SESSION_NOT_FOUND: Final = -32001
"""The error code of the official SDKs for a session that is gone."""

_SCOPE_PARAMETER: Final = re.compile(r"scope=\"([\x21\x23-\x26\x28-\x5b\x5d-\x7e ]{1,200})\"")
"""The scopes in a challenge, within quotation marks."""

_ALERT: Final = r"\x15\x03"
"""The first bytes of a TLS alert, in the form in which h11 quotes them."""

_HTTPS_PORT: Final = re.compile(rb"https (?:port|server)|ssl-enabled server port", re.IGNORECASE)
"""Texts of servers that got plain HTTP on a port for TLS."""

_CUT_SHORT: Final = ("Server disconnected", "peer closed connection")


def cause(error: BaseException) -> str:
    """Returns the cause of an error in a few words: ``connection refused``, ``certificate has expired``. Never raises."""
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        return "connection timed out"  # httpx has no other time limit
    if isinstance(error, httpx.ProxyError):
        return readable(str(error), 400)  # the text already says who failed, and why
    return network_cause(error) or _http_cause(error)


def _http_cause(error: BaseException) -> str:
    text = readable(_REPR.sub(r"\1", str(error)))
    match error:
        case httpx.RemoteProtocolError() if text.startswith(_CUT_SHORT):
            return CLOSED
        case httpx.RemoteProtocolError() if _ALERT in str(error):
            return "the port answers with TLS. Use https://"
        case httpx.RemoteProtocolError() if "buffer too long" in text:
            return "the headers of the server's response are too long (about 100 kB are accepted)"
        case httpx.RemoteProtocolError():
            return f"invalid HTTP from the server: {text}"
        case httpx.LocalProtocolError():
            return f"not valid as HTTP: {text}"
        case httpx.NetworkError() | EOFError():
            return CLOSED
        case _:
            return f"{type(error).__name__}: {text}" if text else type(error).__name__


def is_never_connected(error: BaseException) -> bool:
    """Returns whether the connection was never made, so that no request was sent."""
    return any(isinstance(link, (httpx.ConnectError, httpx.ConnectTimeout)) for link in chain(error))


def is_refused_or_reset(error: BaseException) -> bool:
    """Returns whether a connection was refused or reset, for example by an overloaded listener."""
    refusals = (ConnectionRefusedError, ConnectionResetError, ConnectionAbortedError)
    return any(isinstance(link, refusals) for link in chain(error))


def is_gateway(status: int, headers: Mapping[str, str]) -> bool:
    """Returns whether a gateway has no answer from the server behind it, which may still be working.

    Varnish says so with a 503 under its own name, as after its limit for a silent server.
    """
    return status in _GATEWAY or (status == 503 and headers.get("server", "").lower().startswith("varnish"))


def refusal(
    status: int,
    headers: Mapping[str, str],
    address: Address,
    body: bytes = b"",
    *,
    speaker: str = "the server",
) -> str:
    """Returns the reason why a response is not an answer to a message. ``speaker`` names who may have written it."""
    if status in (401, 403):
        challenge = headers.get("www-authenticate", "")
        if status == 403:
            scopes = _SCOPE_PARAMETER.search(challenge) if "insufficient_scope" in challenge else None
            what = f"requires the scopes {readable(scopes[1])!r}" if scopes else "denies access"
            return f"{speaker} {what} (HTTP 403)"
        basic = "basic" in challenge.lower() and "bearer" not in challenge.lower()
        return f"{speaker} requires {'a user and a password' if basic else 'sign-in'} (HTTP 401)"
    if 300 <= status < 400:
        target = _destination(headers.get("location", ""), address)
        return (
            f"{address.shown} redirects to {target} (HTTP {status}), which is not followed: use the new URL"
        )
    if status == 202:
        return f"{speaker} accepted the request without a response (HTTP 202)"
    if status >= 400:
        what = f"{speaker} answered HTTP {status} {httpx.codes.get_reason_phrase(status)}".rstrip()
        if status == 400 and _HTTPS_PORT.search(body):
            return f"{what}; this port speaks TLS, so use https://"
        if is_gateway(status, headers):
            between = speaker.removeprefix("the server or ")
            gateway = "a gateway" if between == speaker else f"{between} or a gateway"
            return f"{gateway} answered HTTP {status} {httpx.codes.get_reason_phrase(status)}, not the server"
        if status in (404, 405):
            return f"{what}. Is this the MCP endpoint?"
        wait = readable(headers.get("retry-after", ""), 40)
        if wait:
            return f"{what}. Retry {f'after {wait} s' if wait.isdigit() else f'from {wait} on'}"
        return what
    kind = media_type(headers)
    if kind == "application/json" and body:
        return f"{speaker} answered HTTP {status} with JSON instead of {'an event stream' if status == 200 else 'HTTP 200'}"
    if not kind and status == 200 and (body or headers.get("content-length", "0") != "0"):
        what = "without a Content-Type, which must be application/json or text/event-stream"
    elif kind in ("", "application/json"):
        what = "with an empty body"
    else:
        what = f"with {readable(kind, 80)} instead of JSON or an event stream"
    return f"{speaker} answered HTTP {status} {what}. Is this the MCP endpoint?"


def _destination(location: str, address: Address) -> str:
    """Returns the URL of a redirect for the user, without credentials, and with the query as ``?…``."""
    if not location.strip():
        return "nowhere"
    try:
        return parse(str(address.url.join(location.strip()))).shown
    except (TransportError, httpx.InvalidURL, ValueError):
        bare, query, _ = location.partition("?")  # not a valid URL, so its text is shown
        return readable(f"{bare}{'?…' if query else ''}")


def is_session_over(response: RefusedResponse, id: RequestId | None = None) -> bool:
    """Returns whether the refusal of a message says that its session has ended. ``id`` is the id of a request.

    Status 404 says so (transports, "Session Management"). Some servers answer with another status, and a text about the
    session. A tool may report a missing session of its own, so a 500 with the answer to the request does not count.
    """
    if response.status == 404:
        return True
    if not names_lost_session(response) or (response.challenge is not None and response.challenge.header):
        return False
    frame = messages.parse(response.body)
    if id is None or not isinstance(frame, messages.ResponseFrame) or frame.id != id or frame.error is None:
        return True
    code = frame.error.code
    return code == _SESSION_NOT_FOUND or (response.status != 500 and code != INVALID_PARAMS)


def names_lost_session(response: RefusedResponse) -> bool:
    """Returns whether the text of a refusal seems to say that the session is gone."""
    text = response.body[:_REASON_BYTES].decode("utf-8", "replace")
    return response.status in (400, 401, 404, 409, 410, 500) and _LOST_SESSION.search(text) is not None


def session_over(status: int) -> str:
    """Returns the sentence about a session that the server ended with ``status``."""
    return f"the server ended the session (HTTP {status})"


def error_message(body: bytes, headers: Mapping[str, str], *, pages: bool = False) -> str:
    """Returns the message in the body of a refusal, for the end of a sentence; empty without one.

    With ``pages``, the text of an HTML page, or of JSON in any form, also counts.
    """
    kind, text = media_type(headers), bytes_text(body)
    if pages and "html" in kind:
        return readable(" ".join(html.unescape(_MARKUP.sub(" ", text[:_REASON_BYTES])).split()))
    if kind not in ("text/plain", "" if pages else "text/plain") and not kind.endswith("json"):
        return ""
    with contextlib.suppress(ValueError):
        value = read_json(text)
        while isinstance(value, dict):
            fields = cast("dict[str, object]", value)
            names = ("error_description", "message", "detail", "error")
            value = next((fields[name] for name in names if fields.get(name)), None)
        text = value if isinstance(value, str) else text if pages else ""
    return readable(" ".join(text.split()))


def media_type(headers: Mapping[str, str]) -> str:
    """Returns the ``Content-Type`` without parameters, in lower case; empty without one."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def foreign_encoding(headers: Mapping[str, str]) -> str:
    """Returns the content encoding of a response; empty for none and for ``identity``."""
    encoding = headers.get("content-encoding", "").strip().lower()
    return "" if encoding in ("", "identity") else readable(encoding, 40)
