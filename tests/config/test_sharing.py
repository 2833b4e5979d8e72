"""Who else gets a config file."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from mcp_tui.config.sharing import Sharing, sharing
from tests.config.placing import surroundings


def _repository(folder: Path, *tracked: Path) -> None:
    for words in (("init", "-q"), ("add", *tracked)):
        subprocess.run(("git", *words), cwd=folder, check=True, capture_output=True)


def test_a_file_of_a_project_is_told_from_one_s_own(tmp_path: Path):
    home, project = tmp_path / "home", tmp_path / "home" / "code" / "project"
    around = surroundings(home, project)
    shared = (
        ".mcp.json",
        ".vscode/mcp.json",
        ".gemini/settings.json",
        ".cursor/mcp.json",
        ".qwen/settings.json",
    )
    assert [sharing(Path(name), around) for name in shared] == [Sharing.PROJECT] * len(shared)
    assert sharing(tmp_path / "elsewhere" / ".mcp.json", around) is Sharing.PROJECT
    own = (
        ".claude.json",
        ".gemini/settings.json",
        ".cursor/mcp.json",
        ".codex/config.toml",
        ".qwen/settings.json",
    )
    assert [sharing(home / name, around) for name in own] == [Sharing.OWN] * len(own)
    assert sharing(Path("some.json"), around) is Sharing.OWN


def test_git_says_whether_it_tracks_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    around = surroundings(tmp_path, tmp_path / "project")
    folder, ran = tmp_path / "project" / "below", tmp_path / "ran"
    folder.mkdir(parents=True)
    names = (".mcp.json", "some.json", ":odd *.json", "untracked.json")
    files = [folder / name for name in names]
    for each in files:
        each.write_text("{}")
    link = tmp_path / "own.json"
    link.symlink_to(files[1])
    _repository(tmp_path / "project", *(f":(literal)below/{each.name}" for each in files[:3]))  # type: ignore[arg-type]
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    subprocess.run(("git", "config", "core.fsmonitor", hook), cwd=folder, check=True)
    (tmp_path / "other").mkdir()
    _repository(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_GLOB_PATHSPECS", "1")
    index = (tmp_path / "project" / ".git" / "index").read_bytes()
    expected = [Sharing.TRACKED, Sharing.TRACKED, Sharing.TRACKED, Sharing.OWN, Sharing.TRACKED]
    assert [sharing(each, around) for each in (*files, link)] == expected
    assert (ran.exists(), (tmp_path / "project" / ".git" / "index").read_bytes()) == (False, index)
    monkeypatch.setenv("PATH", os.devnull)
    assert sharing(files[3], around) is Sharing.MAYBE_TRACKED
