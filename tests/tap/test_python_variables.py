"""What decides how a Python starts is the server's: the tap does not heed it, and hands it on unchanged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from mcp_tui.journal.journal_files import journal_folder, journals
from tests.cli.running import MCP_TUI
from tests.tap.test_tap import OBEDIENT, Client
from tests.waiting import HANG, wait

LAUNCHER: Final = Path(__file__).parents[2] / "launcher" / "mcp-tui"

ODD: Final = {
    b"a.b": b"1",
    b"BASH_FUNC_x%%": b"() { :; }",
    b"1x": b"\xff",
    b"PWD": b"/nowhere",
    b"SHLVL": b"7",
}
"""Variables that shells drop or change."""

FATAL: Final[dict[bytes, bytes]] = {
    b"PYTHONHASHSEED": b"?",
    b"PYTHONINTMAXSTRDIGITS": b"?",
    b"PYTHONMALLOC": b"?",
    b"PYTHONTRACEMALLOC": b"?",
    b"PYTHONUTF8": b"?",
}
"""Variables with values at which a Python does not start."""

OTHERS: Final = {
    b"PYTHONHOME": b"/nowhere",
    b"PYTHONPLATLIBDIR": b"nowhere",
    b"PYTHONINSPECT": b"1",
    b"PYTHONOPTIMIZE": b"2",
    b"PYTHONPROFILEIMPORTTIME": b"1",
    b"PYTHONSAFEPATH": b"1",
    b"PYTHONSTARTUP": b"/nowhere",
    b"PYTHONVERBOSE": b"1",
    b"PYTHONWARNINGS": b"error",
    b"PYTHON_OF_TOMORROW": b"1",
}


def broken_modules(folder: Path) -> dict[bytes, bytes]:
    """A folder with modules of common names that raise, as PYTHONPATH."""
    for name in ("email", "json", "select", "signal", "sitecustomize", "struct", "typing"):
        (folder / f"{name}.py").write_text("raise SystemExit('a module of the server')")
    return {b"PYTHONPATH": os.fsencode(folder)}


def installed(folder: Path, shell: str, *, blanks: bool) -> Path:
    """``mcp-tui`` as installers put it into a folder, behind a link. With ``blanks`` they write another first line."""
    (folder / "of programs").mkdir()
    program = folder / "of programs" / "mcp-tui-client"
    python = (
        f"#!/bin/sh\n'''exec' \"{sys.executable}\" \"$0\" \"$@\"\n' '''" if blanks else f"#!{sys.executable}"
    )
    program.write_text(f"{python}\nfrom mcp_tui.__main__ import run\nrun()\n")
    launcher = program.with_name("mcp-tui")
    launcher.write_text(LAUNCHER.read_text().replace("#!/bin/sh\n", f"#!{shell}\n", 1))
    for each in (program, launcher):
        each.chmod(0o755)
    link = folder / "mcp-tui"
    link.symlink_to("of programs/mcp-tui")
    return link


def environment(*more: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """A short environment, as clients give it to a server: without the locale that Python adds."""
    names = (b"PATH", b"HOME", b"XDG_STATE_HOME", b"XDG_RUNTIME_DIR")
    found = {name: os.environb[name] for name in names}
    for each in more:
        found |= each
    return found


def seen_by_server(command: list[str], given: dict[bytes, bytes]) -> dict[bytes, bytes]:
    ran = subprocess.run(
        [*command, "tap", "--", "env", "-0"], env=given, capture_output=True, timeout=HANG, check=True
    )
    assert ran.stderr == b""
    pairs = (entry.split(b"=", 1) for entry in ran.stdout.split(b"\0") if entry)
    return dict(pairs)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a shell's changes of the environment stay")
@pytest.mark.parametrize("blanks", [False, True], ids=["path", "path with blanks"])
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash --posix"])
def test_the_server_alone_gets_what_decides_how_a_python_starts(shell: str, blanks: bool, tmp_path: Path):
    if not shutil.which(shell.split(maxsplit=1)[0]):
        pytest.skip(f"{shell} is missing")
    program = installed(tmp_path, shell, blanks=blanks)
    given = environment(ODD, FATAL, OTHERS, broken_modules(tmp_path))
    assert seen_by_server([str(program)], given) == given
    wait(lambda: len(journals(journal_folder())) == 1)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the locale that Python adds stays")
def test_a_tap_started_as_a_module_heeds_no_python_variables_either(tmp_path: Path):
    given = environment(broken_modules(tmp_path), {b"PYTHONWARNINGS": b"error"})
    (tmp_path / "typing.py").unlink()  # before a line of ours runs
    (tmp_path / "sitecustomize.py").unlink()
    assert seen_by_server([*MCP_TUI], given) == given
    wait(lambda: len(journals(journal_folder())) == 1)


def test_a_limit_holds_beside_the_server_s_modules(tmp_path: Path):
    given = environment(broken_modules(tmp_path))
    command = [str(installed(tmp_path, "/bin/sh", blanks=False)), "tap", "--max-timeout", "0.2", "--"]
    client = Client([*command, sys.executable, "-I", "-c", OBEDIENT], env=given)
    with client.process:
        client.connect()
        client.call(1, "silent")
        assert client.read()["result"]["isError"]
        assert client.end() == 0
