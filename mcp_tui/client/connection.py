"""The current connection of a client, and the HTTP headers of its messages (streamable HTTP, 2025-06-18 and 2026-07-28)."""

from __future__ import annotations

import base64
import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.framing import is_header_name
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.revisions import NAMING_PARAMETERS, Revision
from mcp_tui.protocol.values import fact
from mcp_tui.transport import base
from mcp_tui.transport.base import TransportError

if TYPE_CHECKING:
    from mcp_tui.transport.http import HttpTransport
    from mcp_tui.transport.stdio import StdioTransport

AnyTransport: TypeAlias = "StdioTransport | HttpTransport | base.Transport"
"""The two classes by name, so that editors can follow a call; the probe has its own transport."""

INITIALIZED: Final = "notifications/initialized"

ANNOTATION: Final = "x-mcp-header"
PREFIX: Final = "Mcp-Param-"

PRIMITIVE: Final = ("string", "integer", "boolean")
"""The types that can be mirrored in headers. ``number`` is not one, because its text differs between languages."""

JSON_DEPTH: Final = 64

Mirrors = dict[tuple[str, ...], str]
"""The header name for each path of property names from the root of the arguments."""


class ConnectError(TransportError):
    """A server was found, but no session could be opened."""


class NoCommonRevision(ConnectError):
    """Client and server have no common protocol revision."""


@fact
class ServerInfo:
    """The server of a connection that is ready. Texts are the server's, and hostile."""

    transport: str
    revision: Revision
    name: str = ""
    version: str = ""
    title: str = ""
    instructions: str = ""
    capabilities: dict[str, Json] = field(default_factory=dict[str, Json])
    pid: int | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Connection:
    """A transport and its revision. Only :mod:`~mcp_tui.client.connecting` changes it.

    ``speaking`` is the revision that the headers of requests name: the negotiated one, or the probe's before that.
    ``info`` is ``None`` until the connection is ready for requests.
    """

    transport: AnyTransport
    speaking: Revision | None = None
    info: ServerInfo | None = None

    def outgoing(
        self, message: dict[str, Json], method: str, id_: RequestId | None, mirrors: dict[str, Mirrors]
    ) -> base.Outgoing:
        """Returns a message for the transport; over HTTP with its headers."""
        made: dict[str, str] = {}
        if self.transport.kind == "http":
            made = headers(self.speaking, message)
            if method == "tools/call" and self.speaking is not None and self.speaking.method_headers:
                params = as_object(message.get("params"))
                mirrored = mirrors.get(str(params.get("name")))
                if mirrored:
                    made.update(param_headers(mirrored, params.get("arguments")))
        return base.Outgoing(raw=messages.encode(message), method=method, id=id_, headers=made)

    async def initialized(self) -> None:
        """Ends the handshake, in revisions that have one.

        Raises:
            TransportError: the server refused it.
        """
        await self.transport.initialized(
            self.outgoing(messages.notification(INITIALIZED), INITIALIZED, None, {})
        )


# -- headers ---------------------------------------------------------------------------------------------------


def headers(revision: Revision | None, message: dict[str, Json]) -> dict[str, str]:
    """Returns ``MCP-Protocol-Version`` and, in 2026-07-28, ``Mcp-Method`` and ``Mcp-Name`` for one message.

    ``revision`` is ``None`` before the handshake, whose messages have none of them.
    """
    if revision is None or not revision.version_header:
        return {}
    made = {"MCP-Protocol-Version": revision.name}
    if not revision.method_headers:
        return made
    method = message.get("method")
    if not isinstance(method, str):
        return made
    made["Mcp-Method"] = method
    name = as_object(message.get("params")).get(NAMING_PARAMETERS.get(method, ""))
    if isinstance(name, str):
        made["Mcp-Name"] = mirrored(name)
    return made


def mirrored(value: str) -> str:
    """Returns a value for a header: unchanged if that is permitted, else in the Base64 form ``=?base64?…?=``."""
    # Text in that form is encoded too, or the server would decode it.
    sentinel = value.startswith("=?base64?") and value.endswith("?=")
    if value.isascii() and value.isprintable() and value == value.strip() and not sentinel:
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode()}?="


def with_trace(params: Json) -> Json:
    """Adds a trace context to params, unless they have one (``traceparent`` in ``_meta``, SEP-414)."""
    if params is not None and not isinstance(params, dict):
        return params
    given = as_object(params)
    meta = {
        "traceparent": f"00-{os.urandom(16).hex()}-{os.urandom(8).hex()}-01",
        **as_object(given.get("_meta")),
    }
    return {**given, "_meta": meta}


class InvalidAnnotation(ValueError):
    """An annotation breaks a rule, so its tool must be left out. The text says which rule."""


def header_annotations(schema: Json) -> Mirrors:
    """Returns the annotated properties of an ``inputSchema``.

    Raises:
        InvalidAnnotation: a name that is empty, not a token, or used twice; a type that cannot be mirrored; or an
            annotation that is not reached from the root by ``properties`` alone.
    """
    found: Mirrors = {}
    pending: list[tuple[Json, tuple[str, ...] | None, int]] = [(schema, (), 0)]
    for value, path, depth in pending:  # the path is None after any step that is not properties
        if depth > JSON_DEPTH:
            raise InvalidAnnotation("the schema is too deep to look for header annotations")
        if isinstance(value, list):
            pending += [(each, None, depth + 1) for each in cast("list[Json]", value)]
            continue
        fields = as_object(value)
        if ANNOTATION in fields:
            found[path or ()] = _header_name(fields, path)
        for key, inner in fields.items():
            if key == "properties" and isinstance(inner, dict):
                for name, property_ in as_object(inner).items():
                    pending.append((property_, None if path is None else (*path, name), depth + 1))
            # These keywords have values, so an annotation in them is data.
            elif key not in ("default", "const", "enum", "examples", ANNOTATION):
                pending.append((inner, None, depth + 1))
    names = [name.lower() for name in found.values()]
    for name, used in Counter(names).items():
        if used > 1:
            raise InvalidAnnotation(f"two parameters use the header {PREFIX}{name}")
    return found


def _header_name(fields: dict[str, Json], path: tuple[str, ...] | None) -> str:
    name = fields[ANNOTATION]
    if not isinstance(name, str) or not is_header_name(name):
        raise InvalidAnnotation(f"{name!r} is not a valid header name")
    if not path:
        raise InvalidAnnotation(f"{name}: a header annotation below something other than properties")
    if fields.get("type") not in PRIMITIVE:
        message = f"{name}: a parameter of type {fields.get('type')!r} cannot be mirrored into a header"
        raise InvalidAnnotation(message)
    return name


def param_headers(mirrors: Mirrors, arguments: Json) -> dict[str, str]:
    """Returns the headers for the arguments of one call; missing and null arguments have none."""
    made: dict[str, str] = {}
    for path, name in mirrors.items():
        value = arguments
        for step in path:
            value = as_object(value).get(step)
        if isinstance(value, (bool, int)):
            made[PREFIX + name] = messages.text(value)
        elif isinstance(value, float):
            made[PREFIX + name] = str(int(value)) if value.is_integer() else repr(value)
        elif isinstance(value, str):
            made[PREFIX + name] = mirrored(value)
    return made
