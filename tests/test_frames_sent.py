"""The judge of every frame that is sent must be able to say no."""

from __future__ import annotations

import json
from typing import Any

from tests.cases import cases
from tests.frames_sent import Sent

META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def judged(*frames: tuple[str, dict[str, Any]], revision: str | None = None) -> list[str]:
    sent = Sent()
    sent.revision = revision
    for direction, frame in frames:
        sent.frame(direction, json.dumps({"jsonrpc": "2.0", **frame}))
    return sent.problems


@cases(
    ("frame", "revision"),
    [
        ({"id": 1, "method": "tools/call", "params": {"name": "a", "_meta": META}}, None),
        ({"id": 1, "method": "tools/call", "params": {"name": "a"}}, "2025-11-25"),
        ({"method": "notifications/cancelled", "params": {"requestId": 1, "reason": "no"}}, "2024-11-05"),
        ({"id": 1, "result": {"action": "accept", "content": {}}}, "2025-06-18"),
        ({"id": 1, "error": {"code": -1, "message": "no"}}, "2025-11-25"),
        ({"id": 1, "method": "of/a/stranger", "params": {"a": 1}}, "2025-11-25"),
    ],
)
def test_what_is_right_passes(frame: dict[str, Any], revision: str | None) -> None:
    assert judged(("out", frame), revision=revision) == []


@cases(
    ("frame", "revision"),
    [
        ({"id": 1, "method": "tools/call", "params": {"_meta": META}}, None),
        ({"id": 1, "method": "tools/call", "params": {"name": 7}}, "2025-11-25"),
        ({"id": True, "method": "ping"}, "2025-11-25"),
        ({"method": "notifications/cancelled", "params": {"requestId": 1, "reason": 7}}, "2024-11-05"),
        ({"id": 1, "result": {"action": "perhaps"}}, "2025-06-18"),
        ({"id": 1, "result": {"action": "accept"}}, "2025-03-26"),
        ({"id": 1, "error": {"message": "no"}}, "2025-11-25"),
    ],
)
def test_what_is_wrong_does_not(frame: dict[str, Any], revision: str | None) -> None:
    assert judged(("out", frame), revision=revision)


def test_the_answer_to_initialize_says_in_which_revision_it_goes_on() -> None:
    client = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "n", "version": "1"},
    }
    opening = [
        ("out", {"id": 1, "method": "initialize", "params": client}),
        ("in", {"id": 1, "result": {"protocolVersion": "2024-11-05"}}),
    ]
    elicited: dict[str, Any] = {"id": 9, "result": {"action": "accept"}}

    assert judged(*opening) == []
    assert judged(*opening, ("out", elicited))[0].startswith("2024-11-05: 2024-11-05 has no ElicitResult")
