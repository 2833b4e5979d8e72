"""What the wire says of its messages."""

from __future__ import annotations

from mcp_tui.journal.records import FrameHead
from tests.tui.driving import driving


async def test_a_response_says_what_it_answers_and_one_of_ours_is_none_to_a_request_of_ours():
    async with driving(size=(140, 40)) as driven:
        await driven.press("5")
        await driven.until(lambda: "response 2 tools/list" in driven.inside("wire"))
        theirs = FrameHead(seq=9, at=1.0, direction="in", id=2)
        ours = FrameHead(seq=9, at=1.0, direction="out", id=2)
        assert driven.bench.messages.row_of(theirs) is driven.row(2)
        assert driven.bench.messages.row_of(ours) is None
