from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from mcp_tui.client.client_settings import HttpTarget, StdioTarget
from mcp_tui.client.session_store import open_store, shown
from mcp_tui.journal.journal_files import journal_folder, journals
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError
from mcp_tui.protocol.events import Note

TARGET = StdioTarget(command=("npx", "server", "--api-key", "hunter2-hunter2"), env={"TOKEN": "abcdef-12345"})


async def test_journal_and_recording_are_written_and_neither_has_the_target_s_secrets(tmp_path: Path) -> None:
    store = open_store(TARGET, record=str(tmp_path / "x.jsonl"))
    store.event(Note(at=1.0, text="it said hunter2-hunter2 and abcdef-12345"))
    store.close()
    (journal,) = journals(journal_folder())
    assert journal.name.endswith(f"-npx-{os.getpid()}")
    for path in (journal.paths[0], tmp_path / "x.jsonl"):
        raw = path.read_text()
        assert "it said " in raw
        assert "hunter2" not in raw
        assert "abcdef-12345" not in raw


async def test_older_journals_are_deleted_only_as_the_caller_says() -> None:
    folder = journal_folder()
    folder.mkdir(parents=True)
    ancient = folder / "2020-01-01T000000-npx-1.jsonl"
    ancient.write_text("{}\n")
    os.utime(ancient, (0, 0))
    open_store(TARGET).close()
    assert ancient.exists(), "the probe of a workbench has no limits of its own"
    store = open_store(TARGET, keep_days=30)
    assert not ancient.exists()
    store.close()
    store = open_store(TARGET, keep_bytes=0)
    assert [journal.paths[0] for journal in journals(folder)] == [store.writers[0].path]
    store.close()


async def test_the_limits_hold_for_the_session_itself() -> None:
    store = open_store(TARGET, keep_days=30, keep_bytes=200_000)
    for at in range(600):
        store.frame("in", b'{"text":"%s"}' % (b"x" * 1_000), at=float(at))
        await asyncio.sleep(0)
    (journal,) = journals(journal_folder())
    assert journal.size < 250_000
    store.close()
    assert Recording.read(journal.paths[0]).removed


async def test_a_recording_that_exists_is_kept_and_the_other_name_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    stores = [open_store(TARGET, journal=False, record=str(path)) for _ in range(2)]
    assert [event.text for store in stores for event in store.log if isinstance(event, Note)] == [
        f"recording to {tmp_path}/x-2.jsonl, because {path} exists"
    ]
    assert [store.writers[0].path.name for store in stores] == ["x.jsonl", "x-2.jsonl"]


async def test_a_journal_that_cannot_be_made_is_told_and_a_recording_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("a file")
    monkeypatch.setenv("MCP_TUI_STATE", str(tmp_path / "state"))
    store = open_store(TARGET)
    (note,) = store.log
    assert isinstance(note, Note)
    assert note.text.startswith("no journal: Cannot ")
    with pytest.raises(RecordingError, match="Cannot write"):
        open_store(TARGET, record=str(tmp_path / "no" / "folder"))


def test_a_target_is_shown_without_its_secrets() -> None:
    assert shown(TARGET) == "npx server --api-key '‹redacted›'"
    assert shown(HttpTarget(url="https://me:pw@example.com/mcp?api_key=x")).count("‹redacted›") == 2
