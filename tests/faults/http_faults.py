"""Faults of servers behind a URL: the bytes that each sends for a call or for ``initialize``, and what a person reads of it.

``%d`` in the bytes stands for the id of the request.
"""

# ruff: noqa: E501 - one line a fault
from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One bad thing: what is sent instead of a good answer, and the words about it. The connection is closed after it."""

    name: str
    sends: bytes
    says: str
    state: str
    when: str = "odd"


ANSWER: Final = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"came"}]}}'
EVENT: Final = b"data: " + ANSWER + b"\n\n"
JSON: Final = b"application/json"
SLACK: Final = 20
"""An id takes at most so many bytes; what is promised too much of a body is filled up with spaces."""


def plain(
    status: bytes = b"200 OK", body: bytes = ANSWER, kind: bytes = JSON, more: bytes = b"", length: int = 0
) -> bytes:
    """A response with a length."""
    body += b" " * SLACK if b"%d" in body else b""
    size = (
        b"content-length: @@"
        if b"%d" in body and not length
        else b"content-length: %d" % (length or len(body))
    )
    head = b"HTTP/1.1 " + status + b"\r\ncontent-type: " + kind + b"\r\n" + more
    return (head + size.replace(b"%d", b"%%d") + b"\r\n\r\n" + body).replace(b"%%d", b"%d")


def stream(body: bytes, more: bytes = b"") -> bytes:
    """An event stream that ends with the connection."""
    return (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n" + more + b"connection: close\r\n\r\n" + body
    )


def _rows(when: str, *rows: tuple[str, bytes, str, str]) -> list[Fault]:
    return [
        Fault(name=name, sends=sends, state=state, says=says, when=when) for name, sends, state, says in rows
    ]


HTML: Final = b"<html><body>It works!</body></html>"

CALLS = _rows(
    "odd",
    ("a page of HTML for an answer", plain(body=HTML, kind=b"text/html; charset=utf-8"), "failed", "HTTP 200 with text/html instead of JSON"),
    ("nothing for an answer", plain(body=b""), "failed", "with an empty body. Is this the MCP endpoint?"),
    ("202 for a request", plain(b"202 Accepted", b""), "failed", "without a response (HTTP 202)"),
    ("201 for a request", plain(b"201 Created", b"{}"), "failed", "HTTP 201 with JSON instead of HTTP 200"),
    ("204 for a request", b"HTTP/1.1 204 No Content\r\n\r\n", "failed", "HTTP 204 with an empty body"),
    ("400 with an error in JSON", plain(b"400 Bad Request", b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"so not"}}'), "failed", "so not"),
    ("500 with an error in JSON", plain(b"500 Internal Server Error", b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"so not"}}', b"text/plain"), "failed", "so not"),
    ("a body above the cap", plain(body=ANSWER.replace(b"came", b"y" * 300_000)), "failed", "above the cap"),
    ("401", plain(b"401 Unauthorized", b"who are you", b"text/plain", b"www-authenticate: Bearer realm=x\r\n"), "failed", "requires sign-in (HTTP 401)"),
    ("403", plain(b"403 Forbidden", b"go away", b"text/plain"), "failed", "denies access (HTTP 403)"),
    ("403 with a page", plain(b"403 Forbidden", b"<style>p {}</style><p>Editors&nbsp;only</p>", b"text/html"), "failed", "denies access (HTTP 403) (it says: Editors only)"),
    ("403 in JSON of its own", plain(b"403 Forbidden", b'{"errors":["role"]}'), "failed", '(HTTP 403) (it says: {"errors":["role"]})'),
    ("400 in plain words", plain(b"400 Bad Request", b"no \x1b\n way", b"text/plain"), "failed", "HTTP 400 Bad Request (it says: no \ufffd way)"),
    ("404", plain(b"404 Not Found", HTML, b"text/html"), "failed", "HTTP 404 Not Found. Is this the MCP endpoint?"),
    ("405", plain(b"405 Method Not Allowed", b"", b"text/plain"), "failed", "HTTP 405 Method Not Allowed"),
    ("413", plain(b"413 Content Too Large", b"", b"text/plain"), "failed", "413"),
    ("429", plain(b"429 Too Many Requests", b"", b"text/plain", b"retry-after: 7\r\n"), "failed", "HTTP 429 Too Many Requests. Retry after 7 s"),
    ("500 that says why", plain(b"500 Internal Server Error", b'{"detail":"oops"}'), "failed", "HTTP 500 Internal Server Error (it says: oops)"),
    ("500 that says why in depth", plain(b"500 Oh", b'{"error":{"message":"deep"}}', b"application/problem+json"), "failed", "(it says: deep)"),
    ("500 with a page", plain(b"500 Internal Server Error", HTML, b"text/html"), "failed", "500"),
    ("502 of a proxy", plain(b"502 Bad Gateway", HTML, b"text/html"), "lost", "a gateway answered HTTP 502 Bad Gateway, not the server; the server may still be running it"),
    ("504 of a gateway", plain(b"504 Gateway Timeout", b"", b"text/plain"), "lost", "HTTP 504 Gateway Timeout, not the server; the server may"),
    ("503 of Varnish", plain(b"503 Backend fetch failed", HTML, b"text/html", b"server: Varnish\r\nretry-after: 5\r\n"), "lost", "a gateway answered HTTP 503 Service Unavailable, not the server; the server may"),
    ("503", plain(b"503 Service Unavailable", b"<p>", b"text/html", b"retry-after: Sat, 21 Nov 2026 20:00:00 GMT\r\n"), "failed", "Retry from Sat, 21 Nov"),
    ("a status that there is not", plain(b"799 Odd", b"", b"text/plain"), "failed", "799"),
    ("a redirect to another host", plain(b"302 Found", b"", more=b"location: http://127.0.0.2:9/mcp?key=hidden\r\n"), "failed", "redirects to http://127.0.0.2:9/mcp?… (HTTP 302), which is not followed"),
    ("a redirect on the same host", plain(b"301 Moved", b"", more=b"location: sub/mcp\r\n"), "failed", "/sub/mcp (HTTP 301)"),
    ("307 to another port", plain(b"307 Temporary Redirect", b"", more=b"location: http://ann:pw@127.0.0.1:9/mcp\r\n"), "failed", "redirects to http://127.0.0.1:9/mcp (HTTP 307)"),
    ("307 again and again", plain(b"307 Temporary Redirect", b"", more=b"location: /other\r\n"), "failed", "/other redirects to http://127.0.0.1:"),
    ("a redirect to no URL", plain(b"307 Temporary Redirect", b"", more=b"location: http://[broken\r\n"), "failed", "redirects to http://[broken"),
    ("a redirect to a file", plain(b"307 Temporary Redirect", b"", more=b"location: file:///etc/passwd\r\n"), "failed", "redirect"),
    ("a redirect to nowhere", plain(b"308 Permanent Redirect", b""), "failed", "redirects to nowhere"),
    ("half of a JSON text", plain(body=b'{"jsonrpc":"2.0","id":'), "failed", "malformed"),
    ("a JSON number", plain(body=b"7"), "failed", ""),
    ("an empty object for an answer", plain(body=b"{}"), "failed", "malformed"),
    ("an answer to another request", plain(body=b'{"jsonrpc":"2.0","id":987654,"result":{}}'), "failed", "987654"),
    ("JSON that says it is text", plain(kind=b"text/plain"), "failed", "text/plain"),
    ("no content type", b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + ANSWER, "failed", "without a Content-Type"),
    ("a compressed answer", plain(body=b"\x1f\x8b\x08\x00", more=b"content-encoding: gzip\r\n"), "failed", "compressed its answer (gzip)"),
    ("an answer that is cut", plain(body=b'{"jsonrpc":', length=5000), "lost", ""),
    ("a length that is a word", b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: many\r\n\r\n{}", "lost", ""),
    ("a length below nothing", b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: -5\r\n\r\n{}", "lost", ""),
    ("HTTP/1.0 without a length", b"HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n" + ANSWER, "completed", "came"),
    ("no HTTP at all", b"220 mail.example ESMTP\r\n", "lost", ""),
    ("a header without a colon", b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", "lost", ""),
    ("headers of a megabyte", b"HTTP/1.1 200 OK\r\n" + b"x-much: %s\r\n" % (b"y" * 1000) * 1000, "lost", ""),
    ("the connection closed without a word", b"", "lost", ""),
    ("a handshake of TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "lost", ""),
    ("chunks without a size", b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", "lost", ""),
    ("chunks that stop", b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"a"', "lost", ""),
)  # fmt: skip

STREAMS = _rows(
    "odd",
    ("a compressed stream", stream(EVENT, b"content-encoding: br\r\n"), "failed", "compressed its answer (br)"),
    ("a stream that ends without an answer", stream(b": hello\n\n"), "lost", "stream ended"),
    ("an event that is no JSON", stream(b"data: ping\n\n" + EVENT), "completed", "ping"),
    ("an event of an empty object", stream(b"data: {}\n\n" + EVENT), "completed", "{}"),
    ("an event without data", stream(b"event: message\n\n" + EVENT), "completed", "came"),
    ("an id with a NUL", stream(b"id: a\0b\n" + EVENT), "completed", "came"),
    ("an id of 100 kB", stream(b"id: " + b"i" * 100_000 + b"\n" + EVENT), "completed", "came"),
    ("an event of another name", stream(b'event: progress\ndata: {"jsonrpc":"2.0","method":"x"}\n\n' + EVENT), "completed", "an event named 'progress', which no client reads"),
    ("a field nobody knows", stream(b"colour: red\n" + EVENT), "completed", "came"),
    ("an answer without its blank line", stream(EVENT[:-1]), "lost", ""),
    ("a response sent twice", stream(EVENT + EVENT), "completed", "came"),
    ("ten thousand comments", stream(b": x\n" * 10_000 + EVENT), "completed", "came"),
    ("bytes that are not UTF-8", stream(b"data: \xff\xfe\n\n" + EVENT), "completed", "came"),
    ("an event above the cap", stream(b"data: " + b"x" * 300_000 + b"\n\n" + EVENT), "failed", "above the cap"),
    ("an answer above the cap", stream(EVENT.replace(b"came", b"y" * 300_000)), "failed", "above the cap"),
    ("an answer with an id that is no number", stream(EVENT.replace(b"%d", b"0%d")), "failed", "invalid number"),
    ("progress for the token as a text", stream(b'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"%d","progress":1}}\n\n' + EVENT), "completed", "the progress token '"),
    ("progress for a token that is made up", stream(b'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"nobody","progress":1}}\n\n' + EVENT), "completed", "the unknown token 'nobody'"),
    ("a request with the id of ours", stream(b'data: {"jsonrpc":"2.0","id":%d,"method":"ping"}\n\n' + EVENT), "completed", "asks ping"),
)  # fmt: skip

CONNECTING = _rows(
    "initialize",
    ("a page for initialize", plain(body=HTML, kind=b"text/html"), "", "text/html"),
    ("500 for initialize", plain(b"500 Internal Server Error", b"boom", b"text/plain"), "", "500"),
    ("401 for initialize", plain(b"401 Unauthorized", b"", b"text/plain"), "", "401"),
    ("no HTTP for initialize", b"SSH-2.0-OpenSSH_9.6\r\n", "", ""),
    ("nothing for initialize", b"", "", ""),
    ("a redirect for initialize", plain(b"301 Moved", b"", more=b"location: https://127.0.0.2:9/\r\n"), "", "redirect"),
    ("an error for initialize", plain(body=b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"no license"}}'), "", "no license"),
)  # fmt: skip

HTTP = [*CALLS, *STREAMS, *CONNECTING]
