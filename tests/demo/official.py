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
}
NOTIFICATIONS = {
    "notifications/progress": "ProgressNotification",
    "notifications/message": "LoggingMessageNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
}
ERRORS = {-32020: "HeaderMismatchError", -32022: "UnsupportedProtocolVersionError"}


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
    if "method" in frame:
        assert "id" not in frame, "no revision is used here in which the server asks something"
        judge(revision, NOTIFICATIONS[frame["method"]]).validate(frame)
    elif "error" in frame:
        judge(revision, "JSONRPCErrorResponse" if split else "JSONRPCError").validate(frame)
        if revision == MODERN and (definition := ERRORS.get(frame["error"]["code"])):
            judge(revision, definition).validate(frame)
    else:
        judge(revision, "JSONRPCResultResponse" if split else "JSONRPCResponse").validate(frame)
        assert method is not None
        judge(revision, RESULTS[method]).validate(frame["result"])
