"""Each fault of a file: no crash, no hang, and the right words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_tui.config.files import ConfigError
from mcp_tui.config.servers import discover
from mcp_tui.config.settings import load
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from tests.config.placing import surroundings


def servers(file: Path) -> str:
    found = discover(surroundings(file.parent, file.parent), config=file)
    told = [f"{each.name}: {each.find_problem()}" for each in found.servers]
    return "\n".join([*found.problems, *told, f"{len(found.servers)} servers"])


def settings(file: Path) -> str:
    loaded = load({}, file)
    return "\n".join((*loaded.problems, *loaded.wrong))


def recording(file: Path) -> str:
    read = Recording.read(file)
    return f"{read.skipped} skipped, {read.unknown} unknown, torn {read.torn}, {len(read.table)} events"


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
        pytest.param(servers, b"{", "JSON", id="a config that is half"),
        pytest.param(servers, b"\xff\xfe{}", "UTF-8", id="a config that is not UTF-8"),
        pytest.param(servers, b"[]", "object", id="a config that is a list"),
        pytest.param(servers, b'{"mcpServers": 5}', "mcpServers", id="servers that are a number"),
        pytest.param(servers, b'{"mcpServers": {"a": 5}}', "a", id="a server that is a number"),
        pytest.param(servers, b'{"mcpServers": {"a": {}}}', "a", id="a server without a command"),
        pytest.param(
            servers, b'{"mcpServers": {"a": {"command": 5}}}', "command", id="a command that is a number"
        ),
        pytest.param(
            servers,
            b'{"mcpServers": {"a": {"url": "ftp://x"}}}',
            "unsupported URL scheme",
            id="a URL of another kind",
        ),
        pytest.param(servers, b"[" * 5000, "", id="a config of five thousand brackets"),
        pytest.param(settings, b"\xff", "UTF-8", id="settings that are not UTF-8"),
        pytest.param(settings, b"a = ", "TOML", id="settings that are half"),
        pytest.param(settings, b"nonsense = 1", "nonsense", id="a setting nobody knows"),
        pytest.param(settings, b"timeout = 'soon'", "timeout", id="a setting of another kind"),
        pytest.param(recording, b"", "", id="a recording that is empty"),
        pytest.param(recording, b"hello\n", "", id="a recording that is none"),
        pytest.param(recording, b"GOOD\x00\xff\n", "1 skipped", id="a broken line in a recording"),
        pytest.param(recording, b"GOOD{}\n", "1 skipped", id="a line that is no record"),
        pytest.param(recording, b'GOOD{"k":"ev', "torn True", id="a recording that was cut"),
        pytest.param(recording, b"GOODGOOD", "4 events", id="two recordings in one file"),
    ],
)
def test_fault(read: Callable[[Path], str], raw: bytes, says: str, tmp_path: Path):
    file = tmp_path / ("x.toml" if read is settings else "x.json")
    file.write_bytes(raw.replace(b"GOOD", recorded(tmp_path)))
    try:
        said = read(file)
    except (ConfigError, RecordingError) as error:
        said = str(error)
    assert said
    assert says in said, said
