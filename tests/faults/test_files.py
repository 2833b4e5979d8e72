"""Faults of whole files; those of one definition, setting, or record are in ``tests/config`` and ``tests/journal``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_tui.config.files import ConfigError
from mcp_tui.config.servers import discover
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from tests.config.placing import surroundings


def servers(file: Path) -> str:
    found = discover(surroundings(file.parent, file.parent), config=file)
    return "\n".join([*found.problems, f"{len(found.servers)} servers"])


def recording(file: Path) -> str:
    read = Recording.read(file)
    return f"{read.skipped} skipped, {read.unknown} unknown, {len(read.table)} events"


def recorded(folder: Path) -> bytes:
    """A good recording of one request."""
    file = folder / "good.jsonl"
    store = Store(Writer(file))
    store.event(ev.Called(at=1.0, id=1, method="ping"))
    store.event(ev.Sent(at=2.0, id=1))
    store.close()
    return file.read_bytes()


@pytest.mark.parametrize(
    ("read", "raw", "says"),
    [
        pytest.param(servers, b"", "0 servers", id="a config that is empty"),
        pytest.param(servers, b"[" * 5000, "nested too deeply", id="a config of five thousand brackets"),
        pytest.param(recording, b"", "is not a recording", id="a recording that is empty"),
        pytest.param(recording, b"hello\n", "is not a recording", id="a recording that is none"),
        pytest.param(recording, b"GOOD{}\n", "1 skipped", id="a line that is no record"),
        pytest.param(recording, b"GOODGOOD", "4 events", id="two recordings in one file"),
    ],
)
def test_fault(read: Callable[[Path], str], raw: bytes, says: str, tmp_path: Path):
    file = tmp_path / "x.json"
    file.write_bytes(raw.replace(b"GOOD", recorded(tmp_path)))
    try:
        said = read(file)
    except (ConfigError, RecordingError) as error:
        said = str(error)
    assert says in said, said
