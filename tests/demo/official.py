"""The official schemas, as the judge of every frame that the demo server sends."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

FOLDER = Path(__file__).parents[2] / "mcp_tui" / "protocol" / "schemas"

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
MODERN = "2026-07-28"

RESULTS = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "logging/setLevel": "EmptyResult",
    "server/discover": "DiscoverResult",
    "subscriptions/listen": "SubscriptionsListenResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "tasks/get": "GetTaskResult",
    "tasks/cancel": "CancelTaskResult",
    "tasks/result": "CallToolResult",
}
NOTIFICATIONS = {
    "notifications/progress": "ProgressNotification",
    "notifications/message": "LoggingMessageNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
    "notifications/cancelled": "CancelledNotification",
}
REQUESTS = {
    "elicitation/create": "ElicitRequest",
    "sampling/createMessage": "CreateMessageRequest",
    "roots/list": "ListRootsRequest",
}
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


@cache
def schema(revision: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{revision}.json").read_bytes())


@cache
def judge(revision: str, definition: str) -> jsonschema_rs.Validator:
    whole = schema(revision)
    place = "definitions" if "definitions" in whole else "$defs"
    assert definition in whole[place], f"{revision} has no {definition}"
    return jsonschema_rs.validator_for({**whole, "$ref": f"#/{place}/{definition}"})


def check(frame: dict[str, Any], revision: str, method: str | None = None) -> None:
    """Fail where `frame`, sent by a server in answer to `method`, breaks the schema of `revision`."""
    split = revision >= "2025-11-25"
    if "method" in frame and "id" in frame:
        assert revision != MODERN, "a server of 2026-07-28 sends no requests"
        judge(revision, "JSONRPCRequest").validate(frame)
        judge(revision, REQUESTS[frame["method"]]).validate(frame)
    elif "method" in frame:
        judge(revision, NOTIFICATIONS[frame["method"]]).validate(frame)
    elif "error" in frame:
        judge(revision, "JSONRPCErrorResponse" if split else "JSONRPCError").validate(frame)
        if revision == MODERN and (definition := ERRORS.get(frame["error"]["code"])):
            judge(revision, definition).validate(frame)
    else:
        judge(revision, "JSONRPCResultResponse" if split else "JSONRPCResponse").validate(frame)
        assert method is not None
        _check_result(frame["result"], revision, method)


def _check_result(result: dict[str, Any], revision: str, method: str) -> None:
    kind = result.get("resultType")
    if revision == MODERN and (method == "tasks/get" or kind == "task"):
        assert kind == ("complete" if method == "tasks/get" else "task")
        jsonschema_rs.validator_for(TASK, validate_formats=True).validate(result)
    elif revision == MODERN and method.startswith("tasks/"):
        judge(revision, "EmptyResult").validate(result)
        assert result.keys() == {"resultType", "_meta"}
    elif revision == MODERN and kind == "input_required":
        judge(revision, "InputRequiredResult").validate(result)
        for asked in result.get("inputRequests", {}).values():
            judge(revision, REQUESTS[asked["method"]]).validate(asked)
    elif "task" in result:
        judge(revision, "CreateTaskResult").validate(result)
    else:
        judge(revision, RESULTS[method]).validate(result)
