"""What the screen showed and what its journal says are one: the folded file draws the same rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tui.client.settings import ClientSettings
from mcp_tui.journal.recording import Recording
from mcp_tui.protocol.events import Limits
from mcp_tui.protocol.requests import fold
from mcp_tui.tui.view.cancellations import Cancellations
from tests.control import Control
from tests.tui.driving import driving
from tests.tui.making import cells
from tests.tui.widgets.host import show_book


def aside(text: str) -> str:
    """The text without the mark of the cursor: where a person stands is no part of what happened."""
    return text.replace("›", " ")


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
async def test_the_folded_journal_draws_the_rows_that_were_on_the_screen(
    control: Control, tmp_path: Path, size: tuple[int, int]
) -> None:
    file = tmp_path / "journal.jsonl"
    settings = ClientSettings(limits=Limits(timeout=30.0), grace=0.2)
    async with driving(control.demo(), size=size, settings=settings, record=file) as driven:
        client = driven.session.client
        bench = driven.bench
        driven.call("add", a=2, b=3)
        driven.call("add", a=2)
        twice = driven.call("twice")
        silent = await driven.in_flight("silent")
        late = await driven.in_flight("stubborn")
        grumpy = await driven.in_flight("grumpy")
        client.cancel(silent.id, reason="nobody answers")
        client.cancel(late.id, reason="wrong table")
        client.cancel(grumpy.id, reason="too slow")
        running = await driven.in_flight("count", seconds=20, steps=40)
        control.release("twice", "stubborn", "grumpy")
        control.step("count", 3)
        await driven.until(
            lambda: (
                late.late
                and grumpy.late
                and silent.settled_at
                and driven.row(twice).duplicates
                and running.progress
            )
        )
        await driven.press("3")
        now = client.now()
        bench.table.now = lambda: now
        bench.table.show_internal = True
        await driven.press("g")
        # from here to the reading of the file nothing is awaited, so nothing happens
        bench.table.refresh_rows()
        bench.cancellations.refresh_source()
        client.store.flush()
        live = [cells(row, now) for row in client.book.order]
        shown, log = aside(driven.inside("requests")), aside(driven.inside("cancellations"))
        recording = Recording.read(file)
        assert (recording.skipped, recording.unknown, recording.table.misfits) == (0, 0, 0)
        replayed = fold(list(recording.events()))
        assert replayed is not client.book
        show_book(bench.table, replayed)
        bench.cancellations.source = Cancellations(replayed, origin=driven.session.cancellations.origin)
        bench.table.refresh_rows()
        bench.cancellations.refresh_source()
        await driven.pilot.pause()
        assert aside(driven.inside("cancellations")) == log
        assert aside(driven.inside("requests")) == shown
        # those that the screen has no room for
        assert [cells(row, now) for row in replayed.order] == live
        for words in ("late, ignored", "cancelled", "in flight", "count"):
            assert words in shown, shown
        assert "wrong table" in log
