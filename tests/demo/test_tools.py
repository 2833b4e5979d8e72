"""What each tool answers when nobody cancels; ``tests/cli/test_demo_outcomes.py`` cancels each of them."""

from __future__ import annotations

import pytest

from tests.demo.conftest import Make
from tests.demo.official import REVISIONS


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("revision", REVISIONS)
def test_every_tool_in_every_revision_keeps_to_the_schema(
    connect: Make, transport: str, revision: str
) -> None:
    peer = connect(transport, revision)
    peer.control.release("count", "stubborn", "grumpy", "chatty", "racer", "send", "twice", "research")
    calls = [
        peer.call("echo", text="x"),
        peer.call("add", a=1, b=2),
        peer.call("count", steps=2),
        peer.call("stubborn"),
        peer.call("grumpy"),
        peer.call("chatty"),
        peer.call("racer", milliseconds=1),
        peer.call("twice"),
        peer.call("big", megabytes=0.1),
        peer.call("research"),
        peer.call("send"),
    ]
    for call in calls:
        assert call.text()
    assert len(calls[8].text()) == 100_000
    count = calls[2]
    assert count.progress == [1, 2]
    messages = [frame["params"].get("message") for frame in count.frames if "method" in frame]
    assert messages == ([None, None] if revision == "2024-11-05" else ["step 1 of 2", "step 2 of 2"])
    flood = peer.call("flood", meta={"io.modelcontextprotocol/logLevel": "info"}, count=10)
    assert flood.text() == "flooded with 10"
    assert len(flood.messages) == 10
    assert {m["level"] for m in flood.messages} == {"info"}
