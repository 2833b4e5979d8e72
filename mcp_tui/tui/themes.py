"""Themes on their way into the app: the one that it starts with at once, all others when its first frame stands.

Checking a theme takes a library that costs more than a tenth of the start, so the shipped theme, which tests check, is
taken as it is.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

from textual.theme import Theme

FIRST: Final = "mcp-tui-dark"
"""The theme that the app starts with."""


def first_theme() -> Theme | None:
    """The shipped theme :data:`FIRST`; ``None`` where an installation lacks it."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "themes", package.parent / "themes"):
        try:
            return Theme(**tomllib.loads((folder / f"{FIRST}.toml").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            continue
    return None


def all_themes(own: Path | None) -> tuple[list[Theme], list[str]]:
    """Every theme, the person's own from a folder among them, and a sentence for each file that is left out."""
    from mcp_tui.config.themes import load_themes

    found, problems = load_themes(own)
    return [Theme(**spec.model_dump()) for spec in found], problems
