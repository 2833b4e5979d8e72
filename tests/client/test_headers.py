"""The headers of the protocol's own (streamable HTTP, 2025-06-18 and 2026-07-28)."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.client.connection import headers, mirrored
from mcp_tui.protocol.revisions import REVISIONS

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


@pytest.mark.parametrize("name", ["a\r\nX: y", "tést", " padded ", "\x00", "=?base64?eA==?="])
def test_what_must_not_stand_there_is_encoded(name: str):
    assert mirrored(name).startswith("=?base64?")
    assert mirrored(name) != name
