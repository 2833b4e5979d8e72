from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_tui.client.opening import RecordingError, open_store, shown
from mcp_tui.client.settings import HttpTarget, StdioTarget
from mcp_tui.journal.files import open_parts
from mcp_tui.journal.folder import journal_folder, journals
from mcp_tui.journal.recording import Recording
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


async def test_how_much_is_kept_is_the_caller_s_to_say() -> None:
    for part_bytes in (2_000, None):
        store = open_store(TARGET, part_bytes=part_bytes, keep_bytes=None, keep_days=None)
        for at in range(100):
            store.event(Note(at=float(at), text="x" * 100))
        store.close()
    parts = sorted(len(journal.paths) for journal in journals(journal_folder()))
    assert parts[0] == 1
    assert parts[1] > 4
    for journal in journals(journal_folder()):
        with open_parts(journal.paths[0]) as file:
            assert file.read().count(b'"record":"event"') == 100
        assert len(list(Recording.read(journal.paths[0]).events())) == 100
    store = open_store(TARGET, keep_bytes=0)
    assert [journal.paths[0] for journal in journals(journal_folder())] == [store.writers[0].path]
    store.close()


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
    assert shown(TARGET) == "npx server --api-key ‹redacted›"
    assert shown(HttpTarget(url="https://me:pw@example.com/mcp?api_key=x")).count("‹redacted›") == 2
