from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from rich.color import Color as TerminalColor
from rich.color import ColorSystem
from textual.color import Color
from textual.theme import Theme

from mcp_tui.config.themes import MAX_BYTES, ThemeSpec, load_themes, theme_files
from mcp_tui.tui.view.badges import STYLES
from mcp_tui.tui.widgets.canvas import Canvas

SHIPPED = load_themes(None)[0]
OWN_COLOURS = [theme for theme in SHIPPED if not theme.ansi]
"""Themes whose colours are known: of the terminal's own ones nobody can tell how they look."""

NAMES = [theme.name for theme in SHIPPED]
MINIMAL = 'name = "mine"\ndark = true\nprimary = "#82b1ff"\n'


def _variables(theme: ThemeSpec) -> dict[str, str]:
    """All the variables of the style sheet, as Textual derives them."""
    return Theme(**theme.model_dump()).to_color_system().generate()


def _luminance(color: Color) -> float:
    """Relative luminance, WCAG 2."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in color.normalized]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(ink: str, paper: str) -> float:
    """Contrast ratio, WCAG 2; ink with an alpha is laid on the paper first."""
    below = Color.parse(paper)
    lighter, darker = sorted((_luminance(below), _luminance(below + Color.parse(ink))), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_a_dark_and_a_light_theme_ship_and_load():
    themes, problems = load_themes(None)
    assert problems == []
    assert {"mcp-tui-dark": True, "mcp-tui-light": False}.items() <= {t.name: t.dark for t in themes}.items()
    assert {"high-contrast", "terminal"} <= set(NAMES)
    assert len(themes) >= 6
    assert len(themes) == len(theme_files())


@pytest.mark.parametrize("theme", OWN_COLOURS, ids=lambda theme: theme.name)
def test_every_text_is_readable_where_it_stands(theme: ThemeSpec):
    colours = _variables(theme)
    inks = [
        "foreground",
        "text",
        "text-muted",
        "primary",
        "secondary",
        "accent",
        "warning",
        "error",
        "success",
    ]
    inks += [f"text-{name}" for name in ("primary", "secondary", "accent", "warning", "error", "success")]
    papers = ["background", "surface", "panel", "block-cursor-background", "block-cursor-blurred-background"]
    pairs = list(product(inks, papers))
    pairs += [
        ("block-cursor-foreground", "block-cursor-background"),
        ("block-cursor-blurred-foreground", "block-cursor-blurred-background"),
        ("footer-foreground", "footer-background"),
        ("footer-key-foreground", "footer-background"),
        ("footer-description-foreground", "footer-background"),
        ("input-cursor-foreground", "input-cursor-background"),
        ("input-selection-foreground", "input-selection-background"),
        ("screen-selection-foreground", "screen-selection-background"),
        ("link-color-hover", "link-background-hover"),
        *(("button-color-foreground", name) for name in ("primary", "warning", "error", "success")),
    ]
    weak = {pair: round(_contrast(colours[pair[0]], colours[pair[1]]), 2) for pair in pairs}
    least = 7.0 if theme.name == "high-contrast" else 4.5
    assert {pair: ratio for pair, ratio in weak.items() if ratio < least} == {}


INKS = {badge: re.search(rf"tone--{badge} {{ color: \$([a-z-]+);", Canvas.DEFAULT_CSS) for badge in STYLES}
ROWS = {"plain": ("background", 0.0), "cursor": ("foreground", 0.1), "focused cursor": ("primary", 0.2)}


@pytest.mark.parametrize("theme", OWN_COLOURS, ids=lambda theme: theme.name)
def test_every_badge_is_readable_on_every_row(theme: ThemeSpec):
    colours = _variables(theme)
    weak: dict[tuple[str, str], float] = {}
    for (badge, ink), (row, (tint, share)) in product(INKS.items(), ROWS.items()):
        assert ink is not None, badge
        paper = Color.parse(colours["background"]).blend(Color.parse(colours[tint]), share).hex
        weak[badge, row] = round(_contrast(colours[ink[1]], paper), 2)
    assert {where: ratio for where, ratio in weak.items() if ratio < 4.5} == {}


def _of_256(colour: Color) -> str:
    """The colour that a terminal with 256 of them shows."""
    shown = TerminalColor.from_rgb(*colour.rgb).downgrade(ColorSystem.EIGHT_BIT)
    return Color(*shown.get_truecolor()).hex


@pytest.mark.parametrize("theme", OWN_COLOURS, ids=lambda theme: theme.name)
def test_with_256_colours_the_selected_row_is_coloured_and_every_badge_on_it_readable(theme: ThemeSpec):
    colours = _variables(theme)
    below = Color.parse(colours["background"])
    papers = {
        row: _of_256(below.blend(Color.parse(colours[tint]), share)) for row, (tint, share) in ROWS.items()
    }
    assert papers["plain"] not in (papers["cursor"], papers["focused cursor"])
    inks = {badge: _of_256(Color.parse(colours[ink[1]])) for badge, ink in INKS.items() if ink is not None}
    weak = {
        (badge, row): round(_contrast(inks[badge], paper), 2)
        for badge in inks
        for row, paper in papers.items()
    }
    assert {where: ratio for where, ratio in weak.items() if ratio < 3.0} == {}


def test_the_theme_in_the_terminal_s_colours_has_no_other():
    (theme,) = (theme for theme in SHIPPED if theme.ansi)
    fields = theme.model_dump(
        exclude={"name", "dark", "ansi", "variables", "luminosity_spread", "text_alpha"}
    )
    own = {name: value for name, value in theme.variables.items() if "style" not in name}
    assert {name: value for name, value in (fields | own).items() if not value.startswith("ansi_")} == {}
    badges = [fields[name] for name in ("primary", "accent", "warning", "error", "success")]
    assert len(set(badges)) == len(badges)


BROKEN = {
    "no TOML": ("name = ", "1: not valid TOML"),
    "no name": ('dark = true\nprimary = "#fff"\n', "name: Field required"),
    "unknown field": (MINIMAL + 'primery = "#fff"\n', "primery: Extra inputs are not permitted"),
    "no colour": (MINIMAL + 'accent = "sky"\n', "accent: 'sky' is not a colour such as #82b1ff"),
    "a reference": (
        MINIMAL + '[variables]\nborder = "$accent"\n',
        "variables.border: '$accent' is not a colour",
    ),
    "a style sheet": (MINIMAL + '[variables]\nborder = "#fff; } * { display: none"\n', "variables.border: "),
    "a colour of the terminal": (
        MINIMAL.replace("#82b1ff", "ansi_blue"),
        "terminal colours need ansi = true",
    ),
    "no colour of any terminal": (
        MINIMAL + 'ansi = true\naccent = "ansi_sky"\n',
        "accent: 'ansi_sky' is not a colour",
    ),
    "no style": (
        MINIMAL + '[variables]\nlink-style = "#ffffff"\n',
        "variables.link-style: '#ffffff' is not a text",
    ),
    "no variable": (MINIMAL + '[variables]\n"a b" = "#fff"\n', "'a b' is not a variable name"),
    "no number": (MINIMAL + "text_alpha = 3\n", "text_alpha: "),
    "markup for a name": (MINIMAL.replace("mine", "[b]mine"), "name: "),
    "a line too many": (MINIMAL.replace("#82b1ff", "#82b1ff\\n"), "primary: "),
    "deep": ("a = " + "[" * 30000 + "]" * 30000, "nested too deeply"),
    "large": (MINIMAL + "#" * MAX_BYTES, "larger than 64 kB"),
}


@pytest.mark.parametrize(("text", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_costs_its_theme_and_one_sentence(tmp_path: Path, text: str, words: str):
    file = _write(tmp_path, "broken.toml", text)
    _write(tmp_path, "whole.toml", MINIMAL.replace("mine", "whole"))
    themes, (problem,) = load_themes(tmp_path)
    assert [theme.name for theme in themes] == sorted([*NAMES, "whole"])
    assert problem.startswith((f"Skipped theme {file}: {words}", f"Skipped theme {file}:{words}"))
    assert problem.endswith(".")
    assert "\n" not in problem


@pytest.mark.parametrize("change", [{"primary": None}, {"dark": "yes"}, {"surface": 0xFFFFFF}])
def test_values_of_the_wrong_type_are_refused_not_converted(change: dict[str, Any]):
    with pytest.raises(ValueError, match=next(iter(change))):
        ThemeSpec.model_validate({"name": "mine", "dark": True, "primary": "#fff"} | change)
