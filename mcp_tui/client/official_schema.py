"""Checks messages against the official schema of a protocol revision, when a message is shown."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, cast

from mcp_tui.client.schemas import Problem, first_problems
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.revisions import REVISIONS

if TYPE_CHECKING:
    import jsonschema_rs

_Definitions = dict[str, dict[str, Json]]


def problems(message: Json, revision: str, *, method: str = "") -> list[Problem]:
    """Returns the places where a message breaks the schema of ``revision``; empty if the schema does not cover it.

    Args:
        message: the parsed message.
        revision: the name of the negotiated revision.
        method: for a response, the method of its request; empty if unknown.
    """
    if revision not in REVISIONS:
        return []
    if isinstance(message, list):
        batches = REVISIONS[revision].batches
        return [] if batches else [Problem((), "is an array (this revision has no batches)")]
    if not isinstance(message, dict):
        return [Problem((), "is not a JSON object")]
    frame = cast("dict[str, Json]", message)
    asked = frame.get("method")
    if isinstance(asked, str):
        return _of_request(frame, asked, revision)
    return _of_response(frame, method, revision)


def _of_request(frame: dict[str, Json], method: str, revision: str) -> list[Problem]:
    kind = "Request" if "id" in frame else "Notification"
    found = _check(frame, revision, f"JSONRPC{kind}")
    definition = _by_method(revision).get(method)
    if found or definition is None:
        return found
    if not definition.endswith(kind):
        asks = kind == "Notification"
        text = "is a request: the id is missing" if asks else "is a notification: it has no id"
        return [Problem(("method",), text)]
    return _check(frame, revision, definition)


def _of_response(frame: dict[str, Json], method: str, revision: str) -> list[Problem]:
    envelope, older = "JSONRPCResultResponse", "JSONRPCResponse"
    if "error" in frame:
        envelope, older = "JSONRPCErrorResponse", "JSONRPCError"
    found = _check(frame, revision, envelope if envelope in _definitions(revision) else older)
    definition = _result_of(as_object(frame.get("result")), method, revision)
    if found or not definition or "error" in frame:
        return found
    broken = _check(frame.get("result"), revision, definition)
    return [Problem(("result", *each.path), each.text, each.advisory) for each in broken]


def _result_of(result: dict[str, Json], method: str, revision: str) -> str:
    """Returns the name of the definition for the result of a method; empty if there is none."""
    known = _definitions(revision)
    asked = _by_method(revision).get(method)
    if asked is None:
        return ""
    if result.get("resultType") == "input_required" and "InputRequiredResult" in known:
        return "InputRequiredResult"
    if method == "tools/call" and "task" in result and "CreateTaskResult" in known:
        return "CreateTaskResult"
    named = f"{asked.removesuffix('Request')}Result"
    return named if named in known else "EmptyResult"


@cache
def _whole(revision: str) -> dict[str, Json]:
    text = (files("mcp_tui.protocol") / "schemas" / f"{revision}.json").read_bytes()
    return as_object(json.loads(text))


@cache
def _definitions(revision: str) -> _Definitions:
    whole = _whole(revision)
    return cast("_Definitions", whole.get("$defs") or whole.get("definitions"))


@cache
def _by_method(revision: str) -> dict[str, str]:
    """Returns the name of the definition for each method's request or notification."""
    found: dict[str, str] = {}
    for name, definition in _definitions(revision).items():
        method = as_object(as_object(definition.get("properties")).get("method")).get("const")
        if isinstance(method, str) and name not in {"ClientNotification", "ServerNotification"}:
            found[method] = name
    return found


@cache
def _validator(revision: str, definition: str) -> jsonschema_rs.Validator:
    # Imported after the first answer: the validator takes time to load.
    import jsonschema_rs

    whole = _whole(revision)
    place = "$defs" if "$defs" in whole else "definitions"
    return jsonschema_rs.validator_for({**whole, "$ref": f"#/{place}/{definition}"})


def _check(value: Json, revision: str, definition: str) -> list[Problem]:
    return first_problems(_validator(revision, definition), value)
