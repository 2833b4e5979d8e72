"""What the headers of a request say: where it comes from, its era, what it takes, whether it mirrors its body."""

from __future__ import annotations

import base64
import binascii
from typing import Final

from mcp_tui.demo.callers import VERSION_KEY, DemoCaller, modern_caller, unsupported
from mcp_tui.demo.frames import (
    HANDSHAKE,
    HEADER_MISMATCH,
    SUPPORTED,
    DemoRefusal,
    Object,
    as_object,
    params_of,
)
from mcp_tui.demo.http1 import HttpRequest

_HOSTS: Final = frozenset({"127.0.0.1", "localhost"})
_LOGGED: Final = (
    "accept",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "origin",
)
"""Headers that the server's log keeps."""

_NAMED: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""Methods that want ``Mcp-Name``, and the parameter that it mirrors (streamable HTTP, 2026-07-28; tasks extension)."""


def logged(request: HttpRequest) -> Object:
    """What the server's log keeps of an HTTP request beside its body."""
    headers = {name: request.headers[name] for name in _LOGGED if name in request.headers}
    return {"http_method": request.method, "headers": headers}


def accepts(request: HttpRequest, media_type: str) -> bool:
    """Whether the client takes `media_type`. Without an ``Accept`` it takes anything."""
    ranges = {
        part.partition(";")[0].strip().lower() for part in request.headers.get("accept", "*/*").split(",")
    }
    return not ranges.isdisjoint({media_type, media_type.partition("/")[0] + "/*", "*/*"})


def is_local(request: HttpRequest) -> bool:
    """Whether a request comes from this machine, and from no page of another site (transports, "Security Warning")."""
    host = request.headers.get("host", "")
    scheme, _, authority = request.headers.get("origin", f"http://{host}").partition("://")
    names = {host.partition(":")[0].lower(), authority.partition(":")[0].lower()}
    return names <= _HOSTS and scheme in {"http", "https"}


def is_modern(request: HttpRequest, frame: Object) -> bool:
    """Whether a message opens in the way of 2026-07-28: by its ``_meta``, or by a header no earlier era has."""
    meta = as_object((as_object(frame.get("params")) or {}).get("_meta")) or {}
    header = request.headers.get("mcp-protocol-version")
    return VERSION_KEY in meta or (header is not None and header not in HANDSHAKE)


def checked_caller(request: HttpRequest, frame: Object) -> DemoCaller:
    """Who sends this 2026-07-28 request. Raises `DemoRefusal` where ``_meta`` is incomplete or a header does not mirror
    the body (streamable HTTP, "Server Validation").
    """
    params = params_of(frame)
    version = (as_object(params.get("_meta")) or {}).get(VERSION_KEY)
    header = request.headers.get("mcp-protocol-version")
    if version is not None and header != version:
        raise _mismatch("MCP-Protocol-Version", header, version)
    if version is None and header is not None and header not in SUPPORTED:
        raise unsupported(header)
    caller = modern_caller(frame)
    method = request.headers.get("mcp-method")
    if method != frame["method"]:
        raise _mismatch("Mcp-Method", method, frame["method"])
    if frame["method"] in _NAMED:
        named, name = params.get(_NAMED[frame["method"]]), request.headers.get("mcp-name")
        if name is None or _decoded(name) != named:
            raise _mismatch("Mcp-Name", name, named)
    return caller


def _mismatch(name: str, header: str | None, body: object) -> DemoRefusal:
    found = "is missing" if header is None else f"value {header!r} does not match body value {body!r}"
    return DemoRefusal(HEADER_MISMATCH, f"Header mismatch: {name} header {found}")


def _decoded(value: str) -> str | None:
    """A header value as the body has it (streamable HTTP, 2026-07-28, "Value Encoding"); ``None`` if malformed."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
