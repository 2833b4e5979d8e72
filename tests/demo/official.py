"""The official schemas, as the judge of every frame that the demo server sends."""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from mcp_tui.client.official_schema import problems
from tests.frames_sent import judge

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
MODERN = "2026-07-28"

SENT = {
    "notifications/progress",
    "notifications/message",
    "notifications/subscriptions/acknowledged",
    "notifications/cancelled",
    "elicitation/create",
    "sampling/createMessage",
    "roots/list",
}
"""The methods of what the server sends of its own accord."""

ERRORS = {
    -32020: "HeaderMismatchError",
    -32021: "MissingRequiredClientCapabilityError",
    -32022: "UnsupportedProtocolVersionError",
}

TASK: dict[str, Any] = {
    "type": "object",
    "required": ["resultType", "taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs"],
    "properties": {
        "taskId": {"type": "string"},
        "status": {"enum": ["working", "input_required", "completed", "cancelled", "failed"]},
        "statusMessage": {"type": "string"},
        "createdAt": {"type": "string", "format": "date-time"},
        "lastUpdatedAt": {"type": "string", "format": "date-time"},
        "ttlMs": {"type": ["integer", "null"]},
        "pollIntervalMs": {"type": "integer"},
        "result": {"type": "object"},
        "error": {"type": "object", "required": ["code", "message"]},
    },
    "allOf": [
        {"if": {"properties": {"status": {"const": status}}}, "then": {"required": [field]}}
        for status, field in (("completed", "result"), ("failed", "error"))
    ],
}
"""A task of the extension (SEP-2663), which is not in the official schemas."""


def check(frame: dict[str, Any], revision: str, method: str | None = None) -> None:
    """Fails where `frame`, sent by a server in answer to `method`, breaks the schema of `revision`."""
    result = frame.get("result", {})
    kind = result.get("resultType")
    if "method" in frame:
        assert frame["method"] in SENT
        assert revision != MODERN or "id" not in frame, "a server of 2026-07-28 sends no requests"
    elif "result" in frame:
        assert method is not None
    if revision == MODERN and (method == "tasks/get" or kind == "task") and "result" in frame:
        assert kind == ("complete" if method == "tasks/get" else "task")
        jsonschema_rs.validator_for(TASK, validate_formats=True).validate(result)
    elif revision == MODERN and (method or "").startswith("tasks/") and "result" in frame:
        judge(revision, "EmptyResult").validate(result)
        assert result.keys() == {"resultType", "_meta"}
    else:
        assert problems(frame, revision, method=method or "") == []
    if revision == MODERN and (definition := ERRORS.get(frame.get("error", {}).get("code", 0))):
        judge(revision, definition).validate(frame)
    for asked in result.get("inputRequests", {}).values():
        assert problems({"jsonrpc": "2.0", "id": 1, **asked}, "2025-11-25") == []
