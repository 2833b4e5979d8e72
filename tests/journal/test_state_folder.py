from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_tui.journal.state_folder import remove_unfinished, replace_file

UNFINISHED = """
import os, signal, sys
from pathlib import Path
from mcp_tui.journal.state_folder import replace_file
def stops(self, target):
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    print("writing", flush=True)
    sys.stdin.read()
    return self.rename(target)
Path.replace = stops
replace_file(Path(sys.argv[1]), "token")
"""


def unfinished(path: Path, how: str) -> subprocess.Popen[str]:
    """A process that has written all of a file but its name."""
    words = [sys.executable, "-c", UNFINISHED, str(path), how]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_what_a_killed_process_left_is_removed_and_what_is_being_written_is_not(tmp_path: Path):
    others = (".a.json.swp", ".a.json.abcd1234", ".a.mcp-tui-short", "a.mcp-tui-abcd1234")
    for other in others:
        (tmp_path / other).write_text("another program's")
    (tmp_path / ".l.mcp-tui-abcd1234").symlink_to(tmp_path / others[0])
    with unfinished(tmp_path / "b.json", "alive") as writing:
        assert writing.stdout is not None
        assert writing.stdout.readline() == "writing\n"
        unfinished(tmp_path / "a.json", "killed").communicate()
        left = set(names(tmp_path)) - {*others, ".l.mcp-tui-abcd1234"}
        assert sorted(each[:16] for each in left) == [".a.json.mcp-tui-", ".b.json.mcp-tui-"]
        replace_file(tmp_path / "c.json", "new")  # any file of the folder
        assert remove_unfinished(tmp_path) == 0
        writing.communicate()
    assert names(tmp_path) == sorted([*others, ".l.mcp-tui-abcd1234", "b.json", "c.json"])
    assert (tmp_path / "b.json").read_text() == "token"


def test_a_file_is_on_the_disk_before_its_name_and_the_name_before_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    order: list[str] = []
    sync, replace = os.fsync, Path.replace

    def synced(number: int) -> None:
        order.append(Path(f"/dev/fd/{number}").resolve().name[:7])
        sync(number)

    def replaced(self: Path, target: Path) -> Path:
        order.append("renamed")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    replace_file(tmp_path / "folder" / "a.json", "x")
    assert order == [tmp_path.name[:7], ".a.json", "renamed", "folder"]
    order.clear()
    replace_file(tmp_path / "folder" / "a.json", "x", durable=False)
    assert order == ["renamed"]
