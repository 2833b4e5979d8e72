"""Themes on their way into the app: the one that it starts with at once, all others when its first frame stands.

Checking a theme takes a library that costs more than a tenth of the start, so the shipped theme, which tests check, is
taken as it is.
"""

from __future__ import annotations

import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Final

from textual.theme import Theme

from mcp_tui.config.files import shipped_folder

FIRST: Final = "mcp-tui-dark"
"""The theme that the app starts with."""


def first_theme(name: str = FIRST, own: Path | None = None) -> Theme | None:
    """The theme to start with: a shipped one as it is, one of the person's own checked; else :data:`FIRST`.

    ``None`` where an installation lacks that.
    """
    if name != FIRST and _files(own):
        for theme in all_themes(own)[0]:
            if theme.name == name:
                return theme
    return _shipped(name) or _shipped(FIRST)


def _shipped(name: str) -> Theme | None:
    with suppress(OSError, ValueError, TypeError):
        return Theme(**tomllib.loads((shipped_folder() / f"{name}.toml").read_text(encoding="utf-8")))
    return None


def stamp(own: Path | None) -> tuple[tuple[str, int, int], ...]:
    """What changes when a theme in the person's folder does: name, time and size of each file."""
    found: list[tuple[str, int, int]] = []
    for file in _files(own):
        with suppress(OSError):
            status = file.stat()
            found.append((file.name, status.st_mtime_ns, status.st_size))
    return tuple(sorted(found))


def _files(folder: Path | None) -> list[Path]:
    with suppress(OSError):
        return [] if folder is None else [file for file in folder.iterdir() if file.suffix == ".toml"]
    return []


def all_themes(own: Path | None) -> tuple[list[Theme], list[str]]:
    """Every theme, the person's own from a folder among them, and a sentence for each file that is left out."""
    from mcp_tui.config.themes import load_themes

    found, problems = load_themes(own)
    return [Theme(**spec.model_dump()) for spec in found], problems
