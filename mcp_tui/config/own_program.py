"""mcp-tui's own program in other programs' config files: whether it exists, and whether its folder is permanent."""

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
    """Returns the temporary place of a program, such as ``uv's cache``; empty if the place is permanent.

    Checks the path as it is written, the target of a link, and the files that a script needs.
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
            # Users keep the environment of a tool or of a project, even below a temporary folder.
            if (folder / "uv-receipt.toml").exists():
                return ""
            if (folder / "pipx_metadata.json").exists():
                if folder.parent.name == "venvs":
                    return ""
                cache = "the cache of pipx run"
            in_project = any((folder.parent / name).exists() for name in ("pyproject.toml", ".git"))
        # uv and pipx tag their caches; uv also tags its environments, which the branch above handles.
        elif (folder / "CACHEDIR.TAG").exists() or folder.name in (".cache", "_npx") or folder in caches:
            return "uv's cache" if any(map(_UV_PART.fullmatch, program.parts)) else cache
        if folder in temporary and not in_project and not any(each.is_relative_to(folder) for each in home):
            return "a temporary folder"
    return ""


def _with_real(path: Path) -> tuple[Path, Path]:
    return path, path.resolve()


def tap_problem(server: Definition) -> str:
    """Returns why mcp-tui cannot start from an entry, or soon will not; without a full stop, and empty if it can.

    A client may have another ``PATH``, so for a program without a folder the place found here is not judged.
    """
    target: StdioTarget | None = None
    with suppress(ConfigError):
        target = server.launched()
    try:
        words = tuple(map(server.filled, server.own_program))
    except ConfigError:  # the variable in its name is only set for the client
        words = ()
    if not words:
        return ""
    start = replace(target or StdioTarget(command=words, cwd=server.folder), command=words)
    try:
        path = Path(find_program(start))
    except TransportError as error:
        return str(error).partition(". ")[0]
    missing = next((each for each in _needs(path) if not each.exists()), None)
    if missing is not None:
        return f"{path} needs {missing}, which does not exist"
    place = vanishing(path, server.around) if os.sep in words[0] else ""
    return f"{path} is in {place} and will be deleted" if place else ""


def tap_version(server: Definition) -> str | None:
    """Returns the installed version of the mcp-tui that an entry starts; ``None`` if it is not found.

    The program is not run to ask for its version, because a config file could name any program.
    """
    with suppress(ConfigError, TransportError, IndexError):
        words = (server.filled(server.own_program[0]),)
        program = Path(find_program(StdioTarget(command=words, cwd=server.folder))).resolve()
        found = program.parents[1].glob("lib/python3*/site-packages/mcp_tui_client-*.dist-info")
        return next((each.name.split("-")[1].removesuffix(".dist") for each in found), None)
    return None


def _needs(program: Path) -> list[Path]:
    """Returns the files that a script needs to start: its interpreter, and the program that ``launcher/mcp-tui`` starts."""
    try:
        with program.open("rb") as stream:
            first, second = stream.readline(4096), stream.readline(4096)
    except OSError:
        return []
    sibling = program.resolve().with_name
    if second.startswith(b"# Starts mcp-tui"):
        return [sibling("mcp-tui-client"), *_needs(sibling("mcp-tui-client"))]
    if second.startswith(b"'''exec'"):  # pip's form for an interpreter with a long path, or with blanks in it
        return [sibling("python")]
    words = first[2:].split() if first.startswith(b"#!") else []
    return [Path(os.fsdecode(each)) for each in words[:1]]
