"""JSON-RPC messages as the demo server reads and writes them, and the protocol revisions it speaks."""

from __future__ import annotations

import json
from dataclasses import field
from typing import Any, Final, NoReturn, TypeAlias

from mcp_tui import __version__
from mcp_tui.protocol import error_codes
from mcp_tui.protocol.json_values import as_object, is_request_id, object_or_none
from mcp_tui.protocol.revisions import META_SERVER_INFO
from mcp_tui.protocol.states import LOG_LEVELS, RequestId
from mcp_tui.protocol.values import frozen

Object: TypeAlias = dict[str, Any]
"""A JSON object."""

HANDSHAKE: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The revisions that open with ``initialize``, newest first. They compare as strings."""

MODERN: Final = "2026-07-28"
SUPPORTED: Final = (MODERN, *HANDSHAKE)

CORE_TASKS: Final = "2025-11-25"
"""The one revision with tasks of its own; in the next they are an extension."""

TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"


class DemoRefusal(Exception):
    """A request is answered with ``error``, of JSON-RPC: its code, its message and, where not ``None``, its data."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.error: Object = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


def bad_params(why: object) -> DemoRefusal:
    """Returns the error for invalid params."""
    return DemoRefusal(error_codes.INVALID_PARAMS, f"Invalid params: {why}")


def bad_request(why: str) -> DemoRefusal:
    """Returns the error for an invalid message."""
    return DemoRefusal(error_codes.INVALID_REQUEST, f"Invalid request: {why}")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def decode(raw: bytes | bytearray) -> object:
    """Parses one message or batch. Raises `DemoRefusal` with the code of a parse error."""
    try:
        return json.loads(str(raw, "utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise DemoRefusal(error_codes.PARSE_ERROR, "Parse error: not JSON") from error


def encode(frame: Object) -> bytes:
    """Returns one message as UTF-8 on one line without a line end.

    A lone surrogate, which UTF-8 cannot encode, is escaped.
    """
    text = json.dumps(frame, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(frame, separators=(",", ":")).encode()


def checked(message: object) -> Object:
    """Returns `message` if it is a request, notification, or response, else raises `DemoRefusal`."""
    frame = object_or_none(message)
    if frame is None or frame.get("jsonrpc") != "2.0":
        raise bad_request("not a JSON-RPC 2.0 message")
    if "method" not in frame:
        if "result" in frame or "error" in frame:
            return frame
        raise bad_request("no method, result, or error")
    if not isinstance(frame["method"], str):
        raise bad_request("method must be a string")
    if "id" in frame and not is_request_id(frame["id"]):
        raise bad_request("id must be a string or an integer")
    return frame


def is_request(frame: Object) -> bool:
    """Whether a checked frame is a request."""
    return "method" in frame and "id" in frame


def params_of(frame: Object) -> Object:
    """Returns the parameters of a request or a notification. Raises `DemoRefusal`."""
    params = object_or_none(frame.get("params", {}))
    if params is None:
        raise bad_params("params must be an object")
    return params


def result_frame(request_id: RequestId, result: Object) -> Object:
    """Returns a result response."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_frame(request_id: RequestId | None, refusal: DemoRefusal) -> Object:
    """Returns an error response. Without an id it is for a message whose id could not be read."""
    identity: Object = {} if request_id is None else {"id": request_id}
    return {"jsonrpc": "2.0", **identity, "error": refusal.error}


VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
_LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"


@frozen
class DemoCaller:
    """The sender of a request: revision, minimum log level (``None``: no logs), and declared capabilities."""

    revision: str
    log_level: str | None
    capabilities: Object = field(default_factory=dict[str, object])

    @property
    def modern(self) -> bool:
        """Whether the request described itself by its ``_meta`` (2026-07-28)."""
        return self.revision == MODERN

    def declares(self, capability: str) -> bool:
        """Whether the client declares ``elicitation`` (by form), ``sampling``, or ``roots``."""
        declared = object_or_none(self.capabilities.get(capability))
        if capability != "elicitation" or declared is None:
            return declared is not None
        # one without modes has the form (elicitation, "Capabilities"; modes from 2025-11-25)
        return self.revision >= "2025-06-18" and (not declared or "form" in declared)

    def extends(self, extension: str) -> bool:
        """Whether the client speaks an extension (2026-07-28)."""
        extensions = as_object(self.capabilities.get("extensions"))
        return self.modern and object_or_none(extensions.get(extension)) is not None

    def need_tasks(self) -> None:
        """Raises `DemoRefusal` if the client speaks 2026-07-28 without the tasks extension."""
        if self.modern and not self.extends(TASKS_EXTENSION):
            raise missing({"extensions": {TASKS_EXTENSION: {}}})


def unknown_method(method: str, caller: DemoCaller) -> DemoRefusal:
    """Returns the error for a method that this revision does not have."""
    return DemoRefusal(error_codes.METHOD_NOT_FOUND, f"Method not found: {method} (in {caller.revision})")


def missing(capabilities: Object) -> DemoRefusal:
    """Returns the error for a missing client capability (basic, 2026-07-28, "_meta")."""
    data = {"requiredCapabilities": capabilities}
    return DemoRefusal(error_codes.MISSING_CAPABILITY, "Missing required client capability", data)


def unsupported(requested: str) -> DemoRefusal:
    """Returns the error for an unsupported revision in ``_meta`` (versioning, 2026-07-28, "Negotiation")."""
    message = "Unsupported protocol version"
    if requested in HANDSHAKE:
        message += f": {requested} starts with initialize"
    return DemoRefusal(
        error_codes.UNSUPPORTED_VERSION, message, {"supported": list(SUPPORTED), "requested": requested}
    )


def modern_caller(frame: Object) -> DemoCaller:
    """Returns the sender of a 2026-07-28 request. Raises `DemoRefusal` for an incomplete ``_meta`` (basic, "_meta")."""
    meta = as_object(params_of(frame).get("_meta"))
    version = meta.get(VERSION_KEY)
    if not isinstance(version, str):
        raise bad_params(f"_meta needs {VERSION_KEY}, or initialize must come first")
    if version != MODERN:
        raise unsupported(version)
    capabilities = object_or_none(meta.get(CAPABILITIES_KEY))
    if capabilities is None:
        raise bad_params(f"_meta needs {CAPABILITIES_KEY}, an object")
    level = meta.get(_LOG_LEVEL_KEY)
    if level is not None and level not in LOG_LEVELS:
        raise bad_params(f"unknown {_LOG_LEVEL_KEY}")
    return DemoCaller(MODERN, level, capabilities)


def server_info(revision: str) -> Object:
    """Returns the ``Implementation`` of this server (lifecycle; ``title`` from 2025-06-18)."""
    titled = {"title": "mcp-tui demo server"} if revision >= "2025-06-18" else {}
    return {"name": "mcp-tui-demo", "version": __version__, **titled}


def complete(result: Object, revision: str) -> Object:
    """Returns `result` with the members that 2026-07-28 requires: the type (default ``complete``) and the server."""
    if revision < MODERN:
        return result
    meta: Object = {META_SERVER_INFO: server_info(revision), **result.get("_meta", {})}
    return {"resultType": "complete", **result, "_meta": meta}
