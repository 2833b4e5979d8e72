from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from mcp_tui.journal import recording as recordings
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import Header
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind, Signal
from mcp_tui.protocol.requests import State
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.screens.replay import TailScreen
from mcp_tui.view import outline
from tests.tui.hostile import PAYLOADS, assert_harmless
from tests.tui.replaying import Replayed, replaying

CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"slow_sql","arguments":{"query":"select %d"}}}'
RESULT = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}'


def told(store: Store, calls: int, *, start: int = 1) -> None:
    """Calls, a second each: of three the second is cancelled, and answered late."""
    for id_ in range(start, start + calls):
        at = 10.0 + id_
        store.event(ev.Called(at=at, id=id_, method="tools/call", name="slow_sql"))
        seq = store.frame("out", CALL % (id_, id_), at=at, method="tools/call", id=id_)
        store.event(ev.Sent(at=at, id=id_, seq=seq))
        if id_ % 3 == 2:
            store.event(ev.CancelRequested(at=at + 0.25, id=id_, cause=Cause.USER, reason=f"reason {id_}"))
            signal = Signal.NOTIFICATION
            store.event(ev.CancelSignalled(at=at + 0.21, id=id_, signal=signal, reason_delivered=True))
            seq = store.frame("in", RESULT % (id_, b"too late"), at=at + 0.5, id=id_)
            store.event(ev.Late(at=at + 0.5, id=id_, kind=Kind.RESULT, after=0.25, size=60, seq=seq))
            store.event(ev.Settled(at=at + 0.5, id=id_, detail="answered late"))
        else:
            seq = store.frame("in", RESULT % (id_, b"in time"), at=at + 0.5, id=id_)
            store.event(ev.Completed(at=at + 0.5, id=id_, size=60, seq=seq))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A session of 9 calls: 32 events."""
    path = tmp_path / "session.jsonl"
    header = Header(id="abc", wall=1_700_000_000.0, mono=10.0, app="0.1.0", target="python server.py")
    store = Store(Writer(path, header=header))
    store.event(ev.Connected(at=10.5, transport="stdio", revision="2025-11-25", server="sql 1.0", pid=4711))
    told(store, 9)
    store.event(ev.Disconnected(at=30.0, detail="the server exited with 0"))
    store.close()
    return path


async def test_it_opens_at_its_end_and_stands_still(path: Path) -> None:
    async with replaying(path, size=(140, 60)) as driven:
        recorded = driven.bench.recorded
        assert recorded.position == recorded.events == 38
        assert "event 38 of 38" in driven.text()
        assert "paused" in driven.inside("position")
        assert "late" in driven.inside("requests")
        assert driven.bench.table.selected is recorded.requests.order[-1]
        assert "the server exited" in driven.inside("server")
        await driven.press("0", "z")
        await driven.until(lambda: driven.bench.maximized is not None)
        assert "event 38 of 38" in driven.text()
        await driven.press("z")
        driven.bench.details.open_message(1)
        await driven.until(lambda: ":13:21.000" in driven.inside("detail"))
        await driven.press("question_mark")
        assert "go to the next cancellation" in driven.text()
        assert "call a tool" not in driven.text()


async def test_the_clock_is_the_recordings_and_stands_while_it_is_paused(path: Path) -> None:
    async with replaying(path) as driven:
        await driven.press("{", *["."] * 7)
        row = driven.bench.recorded.requests.get(2)
        assert row is not None
        assert row.state is State.CANCEL_REQUESTED
        line = next(line for line in driven.inside("requests").splitlines() if "cancelling" in line)
        assert "0.2s" in line
        driven.bench.look()
        assert line in driven.inside("requests")
        assert ":13:22" in driven.inside("position")
        await driven.press("6")
        await driven.until(lambda: "━✓" in driven.inside("timeline"))
        assert "now" in driven.inside("timeline")
        assert "↯" not in driven.inside("timeline")
        await driven.press("}")
        await driven.until(lambda: "↯ +250 ms" in driven.inside("timeline"))


async def test_it_jumps_to_the_next_cancellation_and_to_the_one_before(path: Path) -> None:
    async with replaying(path) as driven:
        selected: list[object] = []
        for key in ("{", "]", "]", "]", "]", "[", "[", "["):
            await driven.press(key)
            row = driven.bench.table.selected
            selected.append(row and (row.id, row.state.value))
        requested = "cancel_requested"
        assert selected[1:4] == [(2, requested), (5, requested), (8, requested)]
        assert selected[4] == (8, requested)
        assert selected[5:] == [(5, requested), (2, requested), (2, requested)]
        assert "No earlier cancellation" in driven.inside("keys")
        await driven.press("}", "[")
        assert "reason 8" in driven.inside("detail")


async def test_it_plays_and_stands_still_and_plays_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    async with replaying(path) as driven:
        await driven.press("{")
        monkeypatch.setattr(time, "monotonic", lambda: now)
        bench = driven.bench
        bench.playback.play()
        assert bench.playback.playing
        now += 1.2
        bench.look()
        assert (driven.position, bench.recorded.clock) == (3, pytest.approx(11.2))
        assert bench.recorded.requests.order[0].elapsed(bench.scene.now()) == pytest.approx(0.2)
        bench.playback.play()
        now += 50
        bench.look()
        assert (driven.position, bench.playback.playing) == (3, False)
        bench.playback.play()
        for _ in range(2):
            bench.playback.change_speed(1)
        assert bench.playback.speed == 4.0
        now += 0.3
        bench.look()
        assert bench.recorded.clock == pytest.approx(12.4)
        now += 60
        bench.look()
        assert (driven.position, bench.playback.playing, bench.playback.at_end) == (38, False, True)
        assert bench.recorded.clock == 30.0
        bench.playback.play()
        assert (driven.position, bench.playback.playing) == (0, True)


async def test_a_text_is_found_in_events_and_in_frames_in_both_directions(path: Path) -> None:
    async with replaying(path) as driven:
        await driven.press("{", "f")
        await driven.type("select 4")
        await driven.press("enter")
        await driven.until(lambda: driven.position == 1 + 3 + 6 + 3 + 2)
        row = driven.bench.table.selected
        assert row is not None
        assert row.id == 4
        await driven.press("enter")
        await driven.until(lambda: "from the start" in driven.inside("keys"))
        assert driven.bench.table.selected is row
        driven.bench.find_input.value = "nowhere"
        await driven.press("enter")
        await driven.until(lambda: "Not found in this recording: nowhere" in driven.inside("keys"))
        driven.bench.find_input.value = "TOO LATE"
        await driven.press("down")
        await driven.until(
            lambda: driven.bench.table.selected is not None and driven.bench.table.selected.id == 5
        )
        at = driven.position
        await driven.press("down")
        await driven.until(lambda: driven.position > at)
        await driven.press("up")
        await driven.until(lambda: driven.position == at)
        assert driven.bench.recorded.requests.order[4].late
        await driven.press("escape")
        assert not driven.bench.find_input.display
        await driven.press(".")
        assert driven.position == at + 1


@pytest.mark.slow
async def test_a_filter_goes_through_many_rows_without_holding_up_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outline, "FILTER_SECONDS", 0.002)
    path = tmp_path / "many.jsonl"
    store = Store(Writer(path))
    told(store, 600)
    store.close()
    async with replaying(path) as driven:
        table = driven.bench.table
        table.refilter("state:late")
        assert len(table.outline) < 200
        await driven.until(lambda: len(table.outline) == 200)
        assert [table.requests.order[place].id for place in (1, 4)] == [2, 5]
        assert table.select(599)
        assert not table.select(600)


async def test_what_is_damaged_is_told_in_the_log_and_on_the_bar(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[4] = lines[4][:20] + b"\n"
    lines[8] = b"\x00\xff" + lines[8]
    path.write_bytes(b"".join(lines) + b'{"record":"fra')
    async with replaying(path, size=(140, 40)) as driven:
        assert "skipped" in driven.inside("position")
        assert "of this recording" in driven.inside("keys")
        await driven.press("4")
        assert "2 damaged lines skipped" in driven.inside("log")
        assert "the last line of this" in driven.inside("log")
        assert len(driven.bench.table.outline) == 9


async def test_what_is_appended_appears_for_one_who_stands_at_the_end(path: Path) -> None:
    async with replaying(path) as driven:
        with path.open("ab") as file:
            more = path.with_name("more.jsonl")
            store = Store(Writer(more))
            told(store, 2, start=10)
            store.close()
            file.write(more.read_bytes().partition(b"\n")[2])
        await driven.until(lambda: len(driven.bench.table.outline) == 11)
        await driven.press("{")
        with path.open("ab") as file:
            file.write(b'{"record":"event","event":"note","mono":99.0,"text":"x"}\n')
        await driven.until(lambda: driven.bench.recorded.events == 47)
        assert driven.position == 0


async def test_nothing_that_a_server_wrote_reaches_the_terminal_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "hostile.jsonl"
    store = Store(Writer(path, header=Header(id="x", mono=1.0, wall=2.0, target="".join(PAYLOADS.values()))))
    for payload in PAYLOADS.values():
        store.event(ev.Connected(at=1.0, transport=payload, revision=payload, server=payload))
        store.event(ev.Called(at=1.0, id=payload, method=payload, name=payload))
        store.event(ev.Sent(at=1.0, id=payload))
        store.event(ev.Stderr(at=1.0, line=payload))
        store.event(ev.CancelRequested(at=1.0, id=payload, cause=Cause.USER, reason=payload))
        store.frame("in", payload.encode("utf-8", "surrogatepass"), at=1.0, method=payload, id=payload)
    store.close()
    async with replaying(path, size=(140, 80)) as driven:
        for key in ("5", "4", "3", "1", *["down"] * 12):
            await driven.press(key)
            for line in driven.text().splitlines():
                assert_harmless(line)


@pytest.mark.slow
async def test_a_long_recording_shows_what_is_read_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "STRICT_BYTES", 0)
    monkeypatch.setattr(recordings, "READ_BYTES", 20_000)
    monkeypatch.setattr("mcp_tui.tui.screens.replay.READING_SECONDS", 0.0)
    path = tmp_path / "long.jsonl"
    store = Store(Writer(path))
    told(store, 3000)
    store.close()
    async with replaying(path) as driven:
        assert len(driven.bench.table.outline) == 3000
        assert driven.bench.table.selected is not None
        assert driven.bench.table.selected.id == 3000
    shares = list(Recording(path).scan())
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


async def test_esc_never_leaves_a_recording_that_was_opened_by_itself(path: Path) -> None:
    async with replaying(path) as driven:
        await driven.press("escape", "escape")
        assert driven.bench.is_current
        await driven.press("ctrl+q")
        assert driven.app._exit  # pyright: ignore[reportPrivateUsage]


async def test_playing_from_the_start_in_another_order_reads_no_row_that_is_gone(path: Path) -> None:
    async with replaying(path) as driven:
        await driven.press("s", "home")
        assert driven.bench.table.selected is not None
        await driven.press("space")
        await driven.until(lambda: driven.bench.recorded.position < driven.bench.recorded.events)
        assert driven.bench.playback.playing


async def test_the_end_of_a_long_recording_is_shown_while_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    header = Header(id="abc", wall=1_700_000_000.0, mono=10.0, target="python server.py")
    store = Store(Writer(path, header=header))
    store.event(ev.Connected(at=10.5, transport="stdio", revision="2025-11-25", server="sql 1.0", pid=4711))
    told(store, 600)
    store.close()
    whole, read_on = Recording(path), asyncio.Event()
    scan = whole.scan

    def slowly() -> Iterator[float]:
        while not read_on.is_set():
            yield 0.25
        yield from scan()

    whole.scan = slowly
    app = WorkbenchApp(None, opening=partial(TailScreen, whole, Recording(path, tail=20_000)))
    async with app.run_test(size=(140, 40)) as pilot:
        driven = Replayed(app, pilot)
        await driven.until(lambda: isinstance(app.screen, TailScreen) and "reading 25%" in driven.text())
        tail = driven.bench
        rows = [row.id for row in tail.recorded.requests.order]
        assert rows == [*range(600 - len(rows) + 1, 601)]
        assert 10 < len(rows) < 100
        assert f"of the last {tail.recorded.events:,}" in driven.text()
        assert "skipped" not in driven.text(), "that their calls are not there is no fault of the file"
        await driven.press("end")  # keys act on what is shown
        assert tail.table.selected is not None
        assert tail.table.selected.id == rows[0]
        await driven.press("slash", *"slow", "enter")
        await driven.press("question_mark")
        await driven.until(lambda: not tail.on_top)
        read_on.set()
        await driven.until(lambda: whole.frame_count == 1200)
        assert not tail.on_top, "the help stays open"
        await driven.press("escape")
        await driven.until(lambda: app.screen is not tail and driven.bench.table.selected is not None)
        bench = driven.bench
        await driven.until(lambda: bench.table.selected is not None and bench.table.selected.id == rows[0])
        assert (len(bench.table.outline), bench.table.wanted) == (600, "slow")
        assert "reading" not in driven.text()
        assert "sql 1.0" in driven.text()
