"""Themes as TOML files: those that ship with mcp-tui, and the user's own.

A broken file costs its theme and one sentence, never the start of the app. What a file may say is
narrower than what a style sheet may: literal colours and text styles, because anything else would
break the style sheet only later, when something is drawn with it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from mcp_tui.config.documents import parse_toml
from mcp_tui.config.files import ConfigError, read_text, shipped_folder

MAX_BYTES: Final = 64 * 1024
"""A theme file above this size is not read."""

_COLOUR: Final = re.compile(r"#(?:[0-9a-f]{3}|[0-9a-f]{4}|[0-9a-f]{6}|[0-9a-f]{8})", re.IGNORECASE)
_ANSI: Final = re.compile(r"ansi_(?:default|(?:bright_)?(?:black|red|green|yellow|blue|magenta|cyan|white))")
_STYLE: Final = r"(?:not )?(?:bold|dim|italic|none|reverse|strike|underline)"
_STYLES: Final = re.compile(rf"{_STYLE}(?: {_STYLE})*")
_VARIABLE: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


def _colour(value: str) -> str:
    if not (_COLOUR.fullmatch(value) or _ANSI.fullmatch(value)):
        raise ValueError(f"{value!r} is not a colour such as #82b1ff")
    return value


def _text_style(value: str) -> str:
    if not _STYLES.fullmatch(value):
        raise ValueError(f"{value!r} is not a text style such as 'bold underline'")
    return value


Colour = Annotated[str, AfterValidator(_colour)]


class ThemeSpec(BaseModel):
    """One theme, field by field what `textual.theme.Theme` takes: ``Theme(**spec.model_dump())`` makes it.

    Colours are hexadecimal: ``#rgb``, ``#rrggbb``, or either with an alpha. A colour left out is derived
    by Textual from the others. With ``ansi`` they are the terminal's own, by name: ``ansi_red``, ``ansi_default``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str = Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    dark: bool
    ansi: bool = False
    primary: Colour
    secondary: Colour | None = None
    warning: Colour | None = None
    error: Colour | None = None
    success: Colour | None = None
    accent: Colour | None = None
    foreground: Colour | None = None
    background: Colour | None = None
    surface: Colour | None = None
    panel: Colour | None = None
    boost: Colour | None = None
    luminosity_spread: float = Field(default=0.15, ge=0.0, le=1.0)
    text_alpha: float = Field(default=0.95, ge=0.0, le=1.0)
    variables: dict[str, str] = Field(default_factory=dict)
    """Single variables of the style sheet: ``…-style`` takes text styles, every other one a colour or
    ``transparent``."""

    @model_validator(mode="after")
    def _values_are_literal(self) -> ThemeSpec:
        values = [self.primary, self.background or "", *self.variables.values()]
        if not self.ansi and any(value.startswith("ansi_") for value in values):
            raise ValueError("terminal colours need ansi = true")
        if self.ansi:
            # Textual's own style sheets do not parse without them
            self.variables.setdefault("ansi-background", "ansi_black")
            self.variables.setdefault("ansi-foreground", "ansi_white")
        for name, value in self.variables.items():
            if not _VARIABLE.fullmatch(name):
                raise ValueError(f"{name!r} is not a variable name such as text-muted")
            try:
                if "style" in name.split("-"):
                    _text_style(value)
                elif value != "transparent":
                    _colour(value)
            except ValueError as error:
                raise ValueError(f"variables.{name}: {error}") from None
        return self


def theme_files() -> list[Path]:
    """Return the theme files that ship with mcp-tui, sorted by name."""
    return sorted(shipped_folder().glob("*.toml"))


def load_themes(extra_folder: Path | None) -> tuple[list[ThemeSpec], list[str]]:
    """Load the shipped themes, then the ``*.toml`` of `extra_folder`, if it exists.

    Returns the themes, sorted by name, and one sentence for each file that could not be used. A theme of
    the user's replaces a shipped one of the same name; of two with one name in the user's folder, the
    first file in the order of their names counts. Raises nothing.
    """
    themes: dict[str, ThemeSpec] = {}
    own_files: list[Path] = []
    problems: list[str] = []
    if extra_folder is not None:
        try:
            own_files = sorted(file for file in extra_folder.iterdir() if file.suffix == ".toml")
        except FileNotFoundError:
            pass
        except OSError as error:
            problems.append(f"Skipped the themes in {extra_folder}: {error.strerror}.")
    for files in (theme_files(), own_files):
        found: dict[str, Path] = {}
        for file in files:
            try:
                theme = ThemeSpec.model_validate(parse_toml(read_text(file, MAX_BYTES), file))
            except ConfigError as error:
                problems.append(f"Skipped theme {error}.")
                continue
            except ValidationError as error:
                said = "; ".join(
                    _sentence(part["loc"], part["msg"]) for part in error.errors(include_url=False)
                )
                problems.append(f"Skipped theme {file}: {said}.")
                continue
            if theme.name in found:
                problems.append(
                    f"Skipped theme {file}: {found[theme.name].name} has the same name, {theme.name}."
                )
            else:
                found[theme.name] = file
                themes[theme.name] = theme
    return [themes[name] for name in sorted(themes)], problems


def _sentence(where: tuple[int | str, ...], what: str) -> str:
    what = what.removeprefix("Value error, ")
    return f"{'.'.join(map(str, where))}: {what}" if where else what
