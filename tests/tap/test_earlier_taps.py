"""Calls that repeat one of an earlier tap with the same command."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tui.journal.journal_files import journal_folder, journals
from mcp_tui.journal.recording import Recording
from mcp_tui.live.running import sessions
from mcp_tui.protocol import events as ev
from tests.tap.test_tap import Client, tap
from tests.waiting import wait

SERVER = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize" or "id" in message and os.path.exists({answers!r}):
        print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "result": {{}}}}), flush=True)
"""

Named = list[tuple[ev.RequestId, str, str]]
"""The calls that are repeated: the id, the recording, and the first outcome."""


class Taps:
    """Taps with the same command, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.answers = folder / "answers"
        """The server answers calls if this file exists."""
        self.recordings: list[str] = []

    def call(self, id: int, *, killed: bool = False) -> Named:
        """Calls the tool in a new tap, ends the tap, and returns what the call repeats."""
        client = Client(tap("--name", "letters", code=SERVER.format(answers=str(self.answers))))
        try:
            client.connect()
            client.call(id, "pay", to="a-secret-name")
            if self.answers.exists():
                assert client.read()["id"] == id
            else:
                wait(lambda: any(each.summary.requests for each in sessions()[0]))
            if killed:
                client.process.kill()
            else:
                client.end()
        finally:
            client.process.kill()
            client.process.__exit__(None, None, None)
        # The socket is closed last.
        wait(lambda: len(self.new()) == 1 and not sessions()[0])
        (new,) = self.new()
        self.recordings.append(new.stem)
        events = Recording.read(new).events()
        return [
            (each.repeat_of, each.session, each.first_outcome)
            for each in events
            if isinstance(each, ev.Repeat)
        ]

    def new(self) -> list[Path]:
        """The new recordings of sessions that are over."""
        new = [
            each.paths[0] for each in journals(journal_folder()) if each.paths[0].stem not in self.recordings
        ]
        return [each for each in new if b'"event":"disconnected"' in each.read_bytes()]


@pytest.mark.parametrize("killed", [False, True], ids=["ended", "killed"])
def test_a_call_that_repeats_one_of_an_earlier_tap_is_named(tmp_path: Path, *, killed: bool) -> None:
    taps = Taps(tmp_path)
    assert taps.call(1, killed=killed) == []
    assert taps.call(3) == [(1, taps.recordings[0], "lost")]
    taps.answers.touch()
    assert taps.call(5) == [(3, taps.recordings[1], "lost")]
    taps.answers.unlink()
    assert taps.call(7) == []  # the last one was answered
    (file,) = (journal_folder().parent / "unknown-outcomes").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert not any(word in file.read_text() for word in ("a-secret-name", "pay"))
