"""``--root``: the folders that a server gets where there is no person to ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tui.cli.output import Exit
from tests.cli.running import HANDSHAKE, MODERN, run


@pytest.mark.parametrize("revision", [HANDSHAKE, MODERN])
def test_a_server_that_asks_gets_the_folders_that_were_offered(revision: str, tmp_path: Path):
    (tmp_path / "a b").mkdir()
    folders = (str(tmp_path / "a b"), tmp_path.as_uri())
    words = [word for each in folders for word in ("--root", each)]
    ran = run("call", "ask", "what=roots", *words, "--protocol", revision, "--demo")
    assert ran.status == Exit.COMPLETED
    for uri in ((tmp_path / "a b").as_uri(), tmp_path.as_uri()):
        assert f'"uri": "{uri}"' in ran.out


def test_a_folder_that_does_not_exist_is_told_and_nothing_is_started(tmp_path: Path):
    run("info", "--root", str(tmp_path / "x"), "--demo").sentence(Exit.USAGE, "No such folder:", "(--root)")
