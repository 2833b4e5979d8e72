"""The pane Timeline on a session and on a recording: opened, zoomed, and in step with the table."""

from __future__ import annotations

from pathlib import Path

from mcp_tui.journal.records import Header
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from tests.tui.driving import driving
from tests.tui.making import cancelled, completed, late, started
from tests.tui.replaying import replaying


async def test_the_key_of_another_pane_leaves_the_zoom() -> None:
    async with driving() as driven:
        await driven.press("z", "6")
        assert driven.bench.maximized is None
        assert driven.bench.focused is driven.bench.timeline
        await driven.until(lambda: "[Timeline]" in driven.text())
        await driven.press("z", "6")
        assert driven.bench.maximized is None
        assert driven.bench.focused is driven.bench.table


async def test_a_recording_has_its_own_clock(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    store = Store(Writer(path, header=Header(id="abc", wall=1_700_000_000.0, mono=0.0, target="server")))
    for told in (
        *started(1, at=1.0),
        *started(2, at=2.0),
        *cancelled(id=2, at=4.0),
        late(id=2, after=1.5, at=5.5),
        completed(id=1, at=9.0),
    ):
        store.event(told)
    store.close()
    async with replaying(path) as replayed:
        await replayed.press("6")
        await replayed.until(lambda: "↯ +1.5 s" in replayed.inside("timeline"))
        assert "━✓" in replayed.inside("timeline")
        await replayed.press("comma")
        assert "━▸" in replayed.inside("timeline")
        assert "now" in replayed.inside("timeline")
