"""Themes as TOML files: those of mcp-tui, and the user's own.

A broken file loses its theme and causes one sentence, but never stops the start of the app. A file may contain only
literal colours and text styles: anything else would break the style sheet later, when something is drawn with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from textual.color import Color
from textual.theme import Theme

from mcp_tui.config.documents import parse_toml
from mcp_tui.config.files import ConfigError, read_text, shipped_folder, why
from mcp_tui.protocol.patterns import late

AUTO: Final = "auto"
"""The name of the automatic theme, which suits the terminal."""

FIRST_THEME: Final = "mcp-tui-dark"
"""The theme of a dark terminal, and the replacement of a missing one."""

THEME_FILE_BYTES: Final = 64 * 1024
"""The maximum size of a theme file in bytes."""

_THEME_COLOUR: Final = late(
    "#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})"
    "|ansi_(?:default|(?:bright_)?(?:black|red|green|yellow|blue|magenta|cyan|white))"
)
_STYLE: Final = r"(?:not )?(?:bold|dim|italic|none|reverse|strike|underline)"
_STYLE_LIST: Final = late(rf"{_STYLE}(?: {_STYLE})*")
_THEME_FIELD: Final = late(r"[a-z_]+|variables\.[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_THEME_NAME: Final = late(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FIELDS: Final = {each.name for each in fields(Theme)}


def load_themes(own: Path) -> tuple[list[Theme], list[str]]:
    """Returns the themes, sorted by name, and one sentence for each file that cannot be used.

    A theme in the user's folder ``own`` replaces a shipped one with the same name. Of two with one name in that
    folder, the first by file name counts.
    """
    themes: dict[str, Theme] = {}
    problems: list[str] = []
    own_files: list[Path] = []
    try:
        own_files = theme_files(own)
    except OSError as error:
        problems.append(f"Skipped the themes in {own}: {why(error)}.")
    for files, read in ((theme_files(shipped_folder()), _shipped_theme), (own_files, read_theme)):
        found: dict[str, Path] = {}
        for file in files:
            try:
                theme = read(file)
            except ConfigError as error:
                problems.append(f"Skipped theme {error}.")
                continue
            first = found.setdefault(theme.name, file)
            if first is file:
                themes[theme.name] = theme
            else:
                problems.append(f"Skipped theme {file}: {first.name} has the same name, {theme.name}.")
    return [themes[name] for name in sorted(themes)], problems


def automatic(system: str | None, *, light: bool) -> str:
    """Returns the name of the theme for the colour system of a Rich console, on a light or a dark background."""
    if system == "standard":
        return "terminal-light" if light else "terminal"
    return "mcp-tui-light" if light else FIRST_THEME


def shown(theme: Theme, system: str | None, *, light: bool) -> Theme:
    """Returns a theme as a terminal can show it: with 16 colours, the terminal's own colours replace the theme's."""
    if theme.ansi or system != "standard":
        return theme
    own = read_theme(shipped_folder() / f"{automatic(system, light=light)}.toml")
    return replace(own, name=theme.name)


def first_theme(name: str, own: Path) -> Theme | None:
    """Returns the theme to start with: the one called ``name``, else :data:`FIRST_THEME`; ``None`` if that is missing."""
    files = [shipped_folder() / f"{each}.toml" for each in (name, FIRST_THEME)]
    with suppress(OSError):
        files = [*(theme_files(own) if name != FIRST_THEME else ()), *files]
    for file in files:
        with suppress(ConfigError):
            theme = read_theme(file)
            if theme.name == name or file is files[-1]:
                return theme
    return None


def theme_files(folder: Path) -> list[Path]:
    """Returns the theme files in a folder, sorted by name.

    Raises:
        OSError: the folder exists but cannot be read.
    """
    with suppress(FileNotFoundError):
        return sorted(file for file in folder.iterdir() if file.suffix == ".toml")
    return []


def stamp(own: Path) -> tuple[tuple[str, int, int], ...]:
    """Returns the name, time, and size of each theme file in the user's folder, to notice changes."""
    found: list[tuple[str, int, int]] = []
    with suppress(OSError):
        for file in theme_files(own):
            status = file.stat()
            found.append((file.name, status.st_mtime_ns, status.st_size))
    return tuple(found)


# -- one file ----------------------------------------------------------------------------------------------------


def read_theme(file: Path) -> Theme:
    """Returns the theme in a file, whose fields are those of Textual's ``Theme``.

    Raises:
        ConfigError: the file cannot be read, or a field is missing, unknown, or wrong.
    """
    table: dict[str, Any] = parse_toml(read_text(file, THEME_FILE_BYTES), file)
    if problems := list(_problems(table)):
        raise ConfigError(f"{file}: {'; '.join(problems)}")
    theme = Theme(**table)
    if theme.ansi:
        # Textual's own style sheets do not parse without them
        theme.variables.setdefault("ansi-background", "ansi_black")
        theme.variables.setdefault("ansi-foreground", "ansi_white")
    elif "block-cursor-background" not in theme.variables:
        # Textual's own colour is that of requests in flight, which would be unreadable on it.
        colours = theme.to_color_system().generate()
        below, text = (Color.parse(colours[name]) for name in ("background", "foreground"))
        theme.variables["block-cursor-foreground"] = text.hex
        theme.variables["block-cursor-background"] = below.blend(Color.parse(theme.primary), 0.2).hex
        theme.variables.setdefault("block-cursor-blurred-background", below.blend(text, 0.1).hex)
    return theme


_shipped_theme: Final = cache(read_theme)
"""Reads a shipped theme, once."""


def _problems(table: dict[str, Any]) -> Iterator[str]:
    yield from (f"{name}: missing" for name in ("name", "dark", "primary") if name not in table)
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in _FIELDS:
            yield f"{name}: unknown field"
        elif name == "variables" and isinstance(value, dict):
            values |= {
                f"variables.{variable}": each for variable, each in cast("dict[str, Any]", value).items()
            }
        else:
            values[name] = value
    for name, value in values.items():
        good, kind = _check(name, value)
        if not _THEME_FIELD.fullmatch(name):
            yield f"variables: {name.partition('.')[2]!r} is not a variable name such as text-muted"
        elif not good:
            yield f"{name}: {value!r} is not {kind}"
        elif isinstance(value, str) and value.startswith("ansi_") and table.get("ansi") is not True:
            yield f"{name}: terminal colours need ansi = true"


def _check(name: str, value: Any) -> tuple[bool, str]:
    """Returns whether the value of a field is allowed, and which values are."""
    if name in ("dark", "ansi"):
        return isinstance(value, bool), "true or false"
    if name in ("luminosity_spread", "text_alpha"):
        return isinstance(value, float) and 0 <= value <= 1, "a number from 0.0 to 1.0"
    text = value if isinstance(value, str) else ""
    if name == "variables":
        return False, "a table"
    if name == "name":
        return bool(_THEME_NAME.fullmatch(text)), "a name such as my-theme"
    _, variable, variable_name = name.partition(".")
    if variable and "style" in variable_name.split("-"):
        return bool(_STYLE_LIST.fullmatch(text)), "a text style such as 'bold underline'"
    return bool(
        _THEME_COLOUR.fullmatch(text) or (variable and text == "transparent")
    ), "a colour such as #82b1ff"
