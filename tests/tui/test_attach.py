"""A running session of another process on the screen: what its keys do there, and that it may end."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from mcp_tui.client.client import DEFAULT_REASON, Client
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.live import control
from mcp_tui.live.control import Problem
from mcp_tui.live.running import Running, Unknown, sessions
from mcp_tui.live.serving import ClientControlSocket
from mcp_tui.live.sockets import ask, sockets
from mcp_tui.tap.once import NOT_SENT
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.screens import picker
from mcp_tui.tui.screens.attach import AttachScreen
from tests.control import Control
from tests.tap.test_once import Mail, over
from tests.tui.driving import Hands
from tests.waiting import HANG, until, wait

CHECKS: Final = {
    "request.cancel": ("c", *"why", "enter"),
    "request.cancel-now": ("C",),
    "request.cancel-all": ("X", *"why", "enter"),
}
ALLOW: Final = {"request.allow": ("A",)}
"""What is pressed for each key that acts."""


async def _session(name: str, path: Path) -> Running:
    """The session of a client in this process."""
    answers = await asyncio.to_thread(ask, {name: path}, control.LIST, HANG)
    summary = control.read_summary(answers[name].line)
    assert isinstance(summary, control.Summary)
    return Running(name, path, summary)


class Attached(Hands[WorkbenchApp, AttachScreen]):
    kind = AttachScreen


async def test_every_key_that_acts_cancels_in_the_session(control: Control, tmp_path: Path):
    client = Client(control.demo(), store=Store(Writer(tmp_path / "session.jsonl")))
    control_socket = ClientControlSocket(client, "workbench")
    await client.connect()
    ((name, path),) = sockets().items()
    session = await _session(name, path)
    app = WorkbenchApp(None, opening=partial(AttachScreen, session, Recording(session.summary.recording)))
    async with app.run_test(size=(80, 24)) as pilot:
        shown = Attached(app, pilot)
        await shown.until(lambda: f"workbench ({name})" in shown.text())
        await shown.until(lambda: shown.bench.resting)  # and shows a call that begins, nevertheless
        for keys in CHECKS.values():
            row = client.ledger.row(client.call_tool("silent", {}))
            await shown.until(lambda row=row: (at := shown.bench.table.selected) and at.id == row.id)
            app.guard.release()
            await shown.press(*keys)
            await shown.until(lambda row=row: not row.open)
            assert row.reason == ("why" if "enter" in keys else DEFAULT_REASON)
        await shown.until(lambda: re.search(rf"workbench \({name}\) +\d\d:", shown.text()))
        await shown.press(*ALLOW["request.allow"])
        await shown.until(lambda: "Only a call that tap --once refused" in shown.text())
        await shown.press("r")
        await shown.until(lambda: "Not from here" in shown.text())
        control_socket.close()
        await client.close()
        client.store.close()
        await shown.until(lambda: "has ended" in shown.text())
        await shown.press("X")
        await shown.until(lambda: f"({name}) has ended" in shown.text())


async def test_a_refused_repeat_is_let_through_by_its_key(tmp_path: Path):
    mail = Mail(tmp_path, "--once")
    with mail.client() as client:
        client.call(1, "send")
        await until(lambda: mail.works)
        client.process.kill()
        client.process.wait()
    mail.go.touch()
    over()  # the session of the killed tap is listed no longer
    with mail.client() as client:
        client.call(2, "send")
        assert NOT_SENT in client.read()["result"]["_meta"]
        opened: list[tuple[Running, Recording]] = []

        def is_open() -> bool:
            for session in sessions()[0]:
                with suppress(RecordingError):  # its file gets another name when the server has said its own
                    opened.append((session, Recording(session.summary.recording)))
            return bool(opened)

        wait(is_open)
        (one,) = opened
        app = WorkbenchApp(None, opening=partial(AttachScreen, *one))
        async with app.run_test(size=(80, 24)) as pilot:
            shown = Attached(app, pilot)
            await shown.until(
                lambda: (at := shown.bench.table.selected) and at.guard and at.guard.how == "refused"
            )
            app.guard.release()  # as if the row had been there for long enough
            await shown.press(*ALLOW["request.allow"])
            # what is said, not what is still on the screen: on a busy machine a look may come after its 6 s
            await shown.until(lambda: "The next call that is equal to 2" in shown.bench.keys.said)
        client.call(3, "send")
        assert "_meta" not in client.read()["result"]
        assert client.end() == 0
    assert mail.works == ["mail"] * 2


async def test_what_comes_first_leaves_the_cursor_where_a_person_put_it(
    control: Control, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    client = Client(control.demo(), store=Store(Writer(tmp_path / "session.jsonl")))
    control_socket = ClientControlSocket(client, "workbench")
    await client.connect()
    rows = [client.ledger.row(client.call_tool("silent", {})) for _ in range(2)]
    ((name, path),) = sockets().items()
    session = await _session(name, path)
    silent = Unknown("beef", Problem.SILENT, "did not answer. Its process 7 is stopped.")
    monkeypatch.setattr(picker, "sessions", lambda: ([session], [silent]))
    app = WorkbenchApp(None)
    async with app.run_test(size=(80, 24)) as pilot:
        shown = Attached(app, pilot)
        await until(lambda: "did not answer. Its process 7 is stopped" in shown.text())
        await pilot.press("enter")  # the first is the one that answers
        await shown.until(lambda: (at := shown.bench.table.selected) and at.id == rows[1].id)
        await shown.press("j")
        newest = client.ledger.row(client.call_tool("silent", {}))
        await shown.until(lambda: shown.bench.recorded.requests.get(newest.id) is not None)
        assert (at := shown.bench.table.selected)
        assert at.id == rows[0].id
    control_socket.close()
    await client.close()
    client.store.close()
