from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mcp_tui.config.files import ConfigError, read_bytes, read_own, read_text, write_own
from mcp_tui.config.servers import discover
from tests.config.placing import surroundings


def test_a_pipe_a_device_and_a_folder_are_refused_without_waiting(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zeros").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match=r"pipe: not a regular file$"):
        read_bytes(tmp_path / "pipe")
    with pytest.raises(ConfigError, match=r"zeros: not a regular file$"):
        read_bytes(tmp_path / "zeros")
    with pytest.raises(ConfigError, match=r"folder: cannot be read \(Is a directory\)$"):
        read_bytes(tmp_path / "folder")


def test_links_are_followed_to_a_file_but_not_in_circles(tmp_path: Path):
    (tmp_path / "real").write_text("x")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "nowhere").symlink_to("absent")
    assert read_text(tmp_path / "link") == "x"
    with pytest.raises(ConfigError, match=r"round: cannot be read \(Too many levels of symbolic links\)$"):
        read_text(tmp_path / "round")
    with pytest.raises(ConfigError, match=r"nowhere: cannot be read \(No such file or directory\)$"):
        read_text(tmp_path / "nowhere")


def test_bytes_that_are_no_utf_8_are_told_with_their_line(tmp_path: Path):
    (tmp_path / "latin").write_bytes(b"\n\ncaf\xe9")
    with pytest.raises(ConfigError, match=r"latin:3: not UTF-8$"):
        read_text(tmp_path / "latin")
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbf{}")
    assert read_text(tmp_path / "marked") == "{}"


def test_a_pipe_in_a_known_place_is_a_problem_and_the_others_are_listed(tmp_path: Path):
    os.mkfifo(tmp_path / ".mcp.json")
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").symlink_to("/dev/zero")
    (tmp_path / ".vscode").mkdir()
    (tmp_path / ".vscode" / "mcp.json").write_text('{"servers": {"a": {"command": "x"}}}')
    found = discover(surroundings(tmp_path / "home", tmp_path))
    assert [each.name for each in found.servers] == ["a"]
    assert found.problems == [
        f"{tmp_path}/.mcp.json: not a regular file",
        f"{tmp_path}/.cursor/mcp.json: not a regular file",
    ]


@pytest.mark.parametrize("umask", [0, 0o777])
def test_what_is_written_is_whole_and_its_owner_s_alone(tmp_path: Path, umask: int):
    before = os.umask(umask)
    try:
        write_own(tmp_path / "a" / "b" / "file", "one")
        write_own(tmp_path / "a" / "b" / "file", "two")
    finally:
        os.umask(before)
    file = tmp_path / "a" / "b" / "file"
    assert read_own(file, 100) == "two"
    assert [path.name for path in file.parent.iterdir()] == ["file"]
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, file.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_a_link_in_place_of_our_file_is_replaced_not_followed(tmp_path: Path):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "file").symlink_to("victim")
    write_own(tmp_path / "file", "new")
    assert (tmp_path / "victim").read_text() == "mine"
    assert read_own(tmp_path / "file", 100) == "new"


def test_a_file_above_the_cap_is_not_read(tmp_path: Path):
    (tmp_path / "large").write_bytes(b" " * 3000)
    with pytest.raises(ConfigError, match="larger than 2 kB"):
        read_bytes(tmp_path / "large", 2048)
    assert len(read_bytes(tmp_path / "large", 3000)) == 3000
