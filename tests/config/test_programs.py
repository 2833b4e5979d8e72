"""The program that a config file starts: whether it stays where it is, and whether it is there at all."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from mcp_tui.config.own_program import tap_problem, vanishing
from mcp_tui.config.servers import discover
from tests.config.placing import surroundings

LAUNCHER = Path(__file__).parents[2] / "launcher" / "mcp-tui"
PLACES = {
    "home/.cache/uv/archive-v0/x/bin": (("uv/CACHEDIR.TAG", "x/pyvenv.cfg"), "uv's cache"),
    "moved/environments-v2/x/bin": (("moved/CACHEDIR.TAG", "x/pyvenv.cfg"), "uv's cache"),
    "moved/builds-v0/.tmpx/bin": (("moved/CACHEDIR.TAG", ".tmpx/pyvenv.cfg"), "uv's cache"),
    "pipx/.cache/x/bin": (("x/pipx_metadata.json", "x/pyvenv.cfg"), "the cache of pipx run"),
    "kept/pipx/x/bin": (
        ("pipx/CACHEDIR.TAG", "x/pipx_metadata.json", "x/pyvenv.cfg"),
        "the cache of pipx run",
    ),
    "home/.npm/_npx/x/bin": ((), "a cache"),
    "cache/x": ((), "a cache"),
    "temporary/x/bin": (("x/pyvenv.cfg",), "a temporary folder"),
    "temporary/x": ((), "a temporary folder"),
    "temporary/uv/tools/x/bin": (("x/pyvenv.cfg", "x/CACHEDIR.TAG", "x/uv-receipt.toml"), ""),
    "temporary/pipx/venvs/x/bin": (("x/pyvenv.cfg", "x/pipx_metadata.json"), ""),
    "temporary/project/.venv/bin": ((".venv/pyvenv.cfg", ".venv/CACHEDIR.TAG", "project/pyproject.toml"), ""),
    "home/project/.venv/bin": ((".venv/pyvenv.cfg", ".venv/CACHEDIR.TAG"), ""),
    "opt/bin": ((), ""),
}
"""What is in a folder of a program, or above it, and what is said of it."""


@pytest.mark.parametrize("place", PLACES)
def test_a_program_that_will_be_deleted_is_recognised(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("mcp_tui.config.own_program._TEMPORARY", ())  # in which the tests are themselves
    folder = tmp_path / place
    folder.mkdir(parents=True)
    marks, said = PLACES[place]
    for mark in marks:
        above, name = mark.split("/")
        next(each for each in (folder, *folder.parents) if each.name == above).joinpath(name).touch()
    program, link = folder / "mcp-tui", tmp_path / "mcp-tui"
    program.touch()
    link.symlink_to(program)
    around = surroundings(
        tmp_path / "home",
        tmp_path,
        {"TMPDIR": str(tmp_path / "temporary"), "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    assert (vanishing(program, around), vanishing(link, around)) == (said, said)
    script = tmp_path / "script"
    script.write_text(f"#!{folder}/python\n")
    assert vanishing(script, around) == said


def test_a_home_in_a_temporary_folder_is_a_home(tmp_path: Path):
    around = surroundings(tmp_path / "home", tmp_path, {"TMPDIR": str(tmp_path)})
    assert vanishing(tmp_path / "home" / "bin" / "mcp-tui", around) == ""
    assert vanishing(tmp_path / "home2" / "mcp-tui", around) == "a temporary folder"


def test_a_tap_that_cannot_start_is_named(tmp_path: Path):
    good, no_python = tmp_path / "mcp-tui", tmp_path / "old" / "mcp-tui"
    good.write_text(f"#!{sys.executable} -I\n")
    no_python.parent.mkdir()
    no_python.write_text("#!/no/python3\n")
    in_cache = tmp_path / ".cache" / "mcp-tui"
    in_cache.parent.mkdir()
    in_cache.write_text(good.read_text())
    spaced = tmp_path / "a b" / "mcp-tui"
    spaced.parent.mkdir()
    spaced.write_text(f"#!/bin/sh\n'''exec' '{spaced.parent}/python' \"$0\" \"$@\"\n' '''\n")
    launcher, no_client = tmp_path / "new" / "mcp-tui", tmp_path / "half" / "mcp-tui"
    for each in (launcher, no_client):
        each.parent.mkdir()
        each.write_bytes(LAUNCHER.read_bytes())
    launcher.with_name("mcp-tui-client").write_text("#!/no/python3\n")
    programs = {
        "its launcher's python is gone": str(launcher),
        "its launcher is alone": str(no_client),
        "good": str(good),
        "its python is gone": str(no_python),
        "a path with blanks": str(spaced),
        "gone": "/no/bin/mcp-tui",
        "by a variable": "${BASE}/mcp-tui",
        "gone, by a variable": "${BASE}/no/mcp-tui",
        "a variable of the client's": "${UNKNOWN}/mcp-tui",
        "by name": "mcp-tui",
        "in a cache": str(in_cache),
    }
    for each in (good, no_python, in_cache, spaced, launcher, no_client):
        each.chmod(0o755)
    servers = {name: {"command": path, "args": ["tap", "--", "x"]} for name, path in programs.items()}
    servers["no tap"] = {"command": "/no/server"}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    around = surroundings(tmp_path, tmp_path, {"BASE": str(tmp_path)})
    found = {each.name: tap_problem(each) for each in discover(around, file).servers}
    by_name = found.pop("by name")
    assert by_name in ("", "Command not found: mcp-tui"), "it depends on the PATH of the test"
    assert {name: said for name, said in found.items() if said} == {
        "its launcher's python is gone": f"{launcher} needs /no/python3, which does not exist",
        "its launcher is alone": f"{no_client} needs {no_client}-client, which does not exist",
        "its python is gone": f"{no_python} needs /no/python3, which does not exist",
        "a path with blanks": f"{spaced} needs {spaced.parent}/python, which does not exist",
        "gone": "No such file: /no/bin/mcp-tui",
        "gone, by a variable": f"No such file: {tmp_path}/no/mcp-tui",
        "in a cache": f"{in_cache} is in a cache and will be deleted",
    }
    assert os.access(good, os.X_OK)
