"""The program of mcp-tui in other programs' config files: whether it stays where it is, and whether it is still there."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.config.definitions import Definition
from mcp_tui.config.files import ConfigError
from mcp_tui.config.sources import Surroundings
from mcp_tui.transport.base import TransportError
from mcp_tui.transport.launching import find_program

_TEMPORARY: Final = (
    "/tmp", "/var/tmp", "/dev/shm", "/run/user", "/private/tmp", "/private/var/tmp", "/var/folders",  # noqa: S108
    "/private/var/folders",
)  # fmt: skip
_TEMPORARY_VARIABLES: Final = ("TMPDIR", "TMP", "TEMP", "XDG_RUNTIME_DIR")
_UV_PART: Final = re.compile(r"(archive|builds|environments)-v\d+")


def vanishing(program: Path, around: Surroundings | None = None) -> str:
    """Returns what a program is in that will be deleted, such as ``uv's cache``; empty if it stays.

    Looks at the path as it is written, at the file that it is a link to, and at what a script needs.
    """
    around = around or Surroundings.now()
    paths = (Path(os.path.abspath(program)), program.resolve(), *_needs(program))  # noqa: PTH100 - as it is written
    return next(filter(None, (_vanishing(each, around) for each in paths)), "")


def _vanishing(program: Path, around: Surroundings) -> str:
    home = [each for each in _with_real(around.home) if program.is_relative_to(each)]
    named = [each for name in _TEMPORARY_VARIABLES if (each := around.env.get(name))]
    temporary = {each for path in (*_TEMPORARY, *named) for each in _with_real(Path(path))}
    caches = _with_real(around.named("XDG_CACHE_HOME", around.home / ".cache"))
    cache, in_project = "a cache", False
    for folder in program.parents:
        if (folder / "pyvenv.cfg").exists():
            # An environment for a tool, or the one of a project: people keep these, wherever they are.
            if (folder / "uv-receipt.toml").exists():
                return ""
            if (folder / "pipx_metadata.json").exists():
                if folder.parent.name == "venvs":
                    return ""
                cache = "the cache of pipx run"
            in_project = any((folder.parent / name).exists() for name in ("pyproject.toml", ".git"))
        # uv and pipx tag their caches, wherever these are, and uv its environments too
        elif (folder / "CACHEDIR.TAG").exists() or folder.name in (".cache", "_npx") or folder in caches:
            return "uv's cache" if any(map(_UV_PART.fullmatch, program.parts)) else cache
        if folder in temporary and not in_project and not any(each.is_relative_to(folder) for each in home):
            return "a temporary folder"
    return ""


def _with_real(path: Path) -> tuple[Path, Path]:
    return path, path.resolve()


def tap_problem(server: Definition) -> str:
    """Returns why the tap in front of a server cannot start, or soon cannot, without a full stop; empty if it can.

    A client may have another ``PATH``: of a program without a folder only its name is looked up here.
    """
    target: StdioTarget | None = None
    with suppress(ConfigError):
        target = server.launched()
    try:
        words = tuple(map(server.filled, server.tap[:1]))
    except ConfigError:  # its variable is set for the client alone
        words = ()
    if not words:
        return ""
    try:
        path = Path(
            find_program(replace(target or StdioTarget(command=words, cwd=server.folder), command=words))
        )
    except TransportError as error:
        return str(error).partition(". ")[0]
    missing = next((each for each in _needs(path) if not each.exists()), None)
    if missing is not None:
        return f"{path} needs {missing}, which does not exist"
    place = vanishing(path, server.around) if os.sep in words[0] else ""
    return f"{path} is in {place} and will be deleted" if place else ""


def tap_version(server: Definition) -> str | None:
    """Returns the version of the mcp-tui in front of a server, as it is installed; ``None`` if nothing says so.

    It is not asked: a config file could name any program.
    """
    with suppress(ConfigError, TransportError, IndexError):
        words = (server.filled(server.tap[0]),)
        program = Path(find_program(StdioTarget(command=words, cwd=server.folder))).resolve()
        found = program.parents[1].glob("lib/python3*/site-packages/mcp_tui_client-*.dist-info")
        return next((each.name.split("-")[1].removesuffix(".dist") for each in found), None)
    return None


def _needs(program: Path) -> list[Path]:
    """Returns the files without which a script cannot start: its interpreter, and what ``launcher/mcp-tui`` starts."""
    try:
        with program.open("rb") as stream:
            first, second = stream.readline(4096), stream.readline(4096)
    except OSError:
        return []
    beside = program.resolve().with_name
    if second.startswith(b"# Starts mcp-tui"):
        return [beside("mcp-tui-client"), *_needs(beside("mcp-tui-client"))]
    if second.startswith(b"'''exec'"):  # the path of an environment's interpreter is long or has blanks
        return [beside("python")]
    words = first[2:].split() if first.startswith(b"#!") else []
    return [Path(os.fsdecode(each)) for each in words[:1]]
