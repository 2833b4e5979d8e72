"""What ``--watch`` looks at where no path is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.config.files import ConfigError
from mcp_tui.config.watched_files import watched


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        (("python", "src/server.py", "--db", "x.db"), "src"),
        (("uv", "run", "server.py"), "."),
        (("python", "-m", "package"), "."),
        (("npx", "somewhere/missing.js"), "."),
    ],
)
def test_the_folder_of_the_script_or_else_the_working_directory(
    tmp_path: Path, command: tuple[str, ...], folder: str
):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "server.py").touch()
    (tmp_path / "server.py").touch()
    found = watched(StdioTarget(command=command, cwd=tmp_path), [])
    assert found.paths == ((tmp_path / folder).resolve(),)
    assert found.counts("a/b.py")
    assert not found.counts("a/b.log")  # which the server may write itself


def test_a_named_path_counts_whole_and_must_exist(tmp_path: Path):
    found = watched(StdioTarget(command=("x",)), [str(tmp_path)])
    assert found.counts(str(tmp_path / "data.json"))
    with pytest.raises(ConfigError, match="Path not found: no/such"):
        watched(StdioTarget(command=("x",)), ["no/such"])


def test_a_home_is_not_watched_whole():
    with pytest.raises(ConfigError, match="Name what to watch"):
        watched(StdioTarget(command=("x",), cwd=Path.home()), [])
