from __future__ import annotations

import pytest

from mcp_tui.client.official_schema import problems
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.revisions import REVISIONS

TEXT: Json = {"type": "text", "text": "x"}


def said(message: Json, revision: str, method: str = "") -> list[str]:
    return [str(each) for each in problems(message, revision, method=method)]


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_every_revision_demands(revision: str):
    ping: Json = {"jsonrpc": "2.0", "method": "tools/list", "id": 1}
    if revision < "2026":
        assert said(ping, revision) == []
        assert said({"jsonrpc": "2.0", "id": 1, "result": {}}, revision, "ping") == []
    assert said({"jsonrpc": "1.0", "method": "x"}, revision) == ['jsonrpc: "2.0" was expected']
    assert said({"jsonrpc": "2.0", "id": 1, "error": {"code": "x", "message": "y"}}, revision) == [
        'error.code: "x" is not of type "integer"'
    ]
    assert said({"jsonrpc": "2.0", "method": "tools/call"}, revision) == [
        "method: is a request: the id is missing"
    ]
    assert said({"jsonrpc": "2.0", "method": "notifications/progress", "id": 4}, revision) == [
        "method: is a notification: it has no id"
    ]
    assert said("text", revision) == ["is not a JSON object"]


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_result_of_a_method_is_held_to_its_definition(revision: str):
    result: dict[str, Json] = {"content": [TEXT]}
    if revision >= "2026":
        result["resultType"] = "complete"
    answer: Json = {"jsonrpc": "2.0", "id": 1, "result": result}
    assert said(answer, revision, "tools/call") == []
    del result["content"]
    assert said(answer, revision, "tools/call") == ["result.content is required"]
    assert said(answer, revision) == []
    assert said(answer, revision, "x/unknown") == []
