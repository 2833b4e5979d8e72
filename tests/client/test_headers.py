"""The headers of the protocol's own, and arguments mirrored into headers (streamable HTTP, 2025-06-18 and 2026-07-28)."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.client.connection import (
    InvalidAnnotation,
    header_annotations,
    headers,
    mirrored,
    param_headers,
)
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.revisions import REVISIONS
from tests.cases import cases

NEW = REVISIONS["2026-07-28"]


def message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (message("tools/call", name="x"), "x"),
        (message("prompts/get", name="p"), "p"),
        (message("resources/read", uri="demo://a b"), "demo://a b"),
        (message("tasks/cancel", taskId="t-1"), "t-1"),
        (message("tools/list"), None),
        (message("tools/call", name=7), None),
        (message("tools/call"), None),
    ],
    ids=repr,
)
def test_method_and_name(sent: dict[str, Any], expected: str | None):
    made = headers(NEW, sent)
    assert made["MCP-Protocol-Version"] == NEW.name
    assert made["Mcp-Method"] == sent["method"]
    assert made.get("Mcp-Name") == expected


@given(st.text())
def test_whatever_a_name_is_the_header_can_carry_it_and_be_read(name: str):
    made = mirrored(name)
    assert made.isascii()
    assert made.isprintable()
    assert made == made.strip()
    if made != name:
        assert base64.b64decode(made.removeprefix("=?base64?").removesuffix("?=")).decode() == name


# -- mirrored arguments ----------------------------------------------------------------------------------------


def _schema(**properties: Json) -> Json:
    return {"type": "object", "properties": properties}


REGION: Json = {"type": "string", "x-mcp-header": "Region"}


def test_annotated_properties_are_found_at_their_paths() -> None:
    nested: Json = {"type": "object", "properties": {"deep": {"type": "integer", "x-mcp-header": "Deep"}}}
    assert header_annotations(_schema(region=REGION, query={"type": "string"}, nested=nested)) == {
        ("region",): "Region",
        ("nested", "deep"): "Deep",
    }


@cases(
    ("schema", "says"),
    [
        (_schema(a={"type": "string", "x-mcp-header": ""}), "not a valid header name"),
        (_schema(a={"type": "string", "x-mcp-header": "two words"}), "not a valid header name"),
        (_schema(a={"type": "string", "x-mcp-header": "Inject\r\nX"}), "not a valid header name"),
        (_schema(a={"type": "string", "x-mcp-header": 7}), "not a valid header name"),
        (_schema(a={"type": "object", "x-mcp-header": "A"}), "cannot be mirrored"),
        (_schema(a={"type": "number", "x-mcp-header": "A"}), "cannot be mirrored"),
        (_schema(a={"type": ["string", "null"], "x-mcp-header": "A"}), "cannot be mirrored"),
        (_schema(a={"type": "array", "items": REGION}), "other than properties"),
        (_schema(a={"anyOf": [REGION, {"type": "null"}]}), "other than properties"),
        ({"type": "object", "x-mcp-header": "Root"}, "other than properties"),
        ({"$defs": {"r": REGION}, "type": "object"}, "other than properties"),
        (_schema(a=REGION, b={"type": "string", "x-mcp-header": "rEGION"}), "two parameters"),
    ],
)
def test_a_rule_that_is_broken_makes_the_tool_invalid(schema: Json, says: str) -> None:
    with pytest.raises(InvalidAnnotation, match=says):
        header_annotations(schema)


@cases(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("a\r\nX: y", "=?base64?YQ0KWDogeQ==?="),
        ("\x00", "=?base64?AA==?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("two words", "two words"),
    ],
)
def test_values_are_encoded_as_the_examples_say(value: str, header: str) -> None:
    assert mirrored(value) == header
    assert param_headers({("a",): "Text"}, {"a": value}) == {"Mcp-Param-Text": header}


def test_numbers_and_booleans_are_written_out_and_nothing_for_null_or_absent() -> None:
    mirrors = {(name,): name.upper() for name in "abcdef"}
    arguments: Json = {"a": 42, "b": -7, "c": True, "d": False, "e": None}
    assert param_headers(mirrors, arguments) == {
        "Mcp-Param-A": "42",
        "Mcp-Param-B": "-7",
        "Mcp-Param-C": "true",
        "Mcp-Param-D": "false",
    }
