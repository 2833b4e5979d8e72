"""Which themes there are, whether everything can be read with them, and how the app takes them up."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from rich.color import Color as TerminalColor
from rich.color import ColorSystem
from textual.color import Color
from textual.theme import Theme

from mcp_tui.client.client import Client
from mcp_tui.config.files import shipped_folder
from mcp_tui.config.settings import Settings
from mcp_tui.journal.store import Store
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.host import STYLESHEET
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.themes import FIRST, MAX_BYTES, load_themes, theme_files
from mcp_tui.tui.view.badges import BADGES
from tests.tui.driving import Driven, driving

SHIPPED = load_themes(Path("absent"))[0]
OWN_COLOURS = [theme for theme in SHIPPED if not theme.ansi]
"""Themes whose colours are known: of the terminal's own ones nobody can tell how they look."""

NAMES = [theme.name for theme in SHIPPED]
MINIMAL = 'name = "mine"\ndark = true\nprimary = "#82b1ff"\n'


def _luminance(color: Color) -> float:
    """Relative luminance, WCAG 2."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in color.normalized]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(ink: str, paper: str) -> float:
    """Contrast ratio, WCAG 2; ink with an alpha is laid on the paper first."""
    below = Color.parse(paper)
    lighter, darker = sorted((_luminance(below), _luminance(below + Color.parse(ink))), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_a_dark_and_a_light_theme_ship_and_load():
    themes, problems = load_themes(Path("absent"))
    assert problems == []
    assert {"mcp-tui-dark": True, "mcp-tui-light": False}.items() <= {t.name: t.dark for t in themes}.items()
    assert {"high-contrast", "terminal"} <= set(NAMES)
    assert len(themes) >= 6
    assert {theme.name for theme in themes} == {file.stem for file in theme_files(shipped_folder())}


@pytest.mark.parametrize("theme", OWN_COLOURS, ids=lambda theme: theme.name)
def test_every_text_is_readable_where_it_stands(theme: Theme):
    colours = theme.to_color_system().generate()
    named = ("primary", "secondary", "accent", "warning", "error", "success")
    inks = ["foreground", "text", "text-muted", *named, *(f"text-{name}" for name in named)]
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


INKS = {
    badge: re.search(rf"tone--{badge} {{ color: \$([a-z-]+);", STYLESHEET.read_text())
    for badge in {each.style for each in BADGES}
}
ROWS = {"plain": ("background", 0.0), "cursor": ("foreground", 0.1), "focused cursor": ("primary", 0.2)}


def _whole(colour: Color) -> str:
    """The colour that a terminal with all colours shows."""
    return colour.hex


def _of_256(colour: Color) -> str:
    """The colour that a terminal with 256 of them shows."""
    shown = TerminalColor.from_rgb(*colour.rgb).downgrade(ColorSystem.EIGHT_BIT)
    return Color(*shown.get_truecolor()).hex


@pytest.mark.parametrize(("shown", "least"), [(_whole, 4.5), (_of_256, 3.0)])
@pytest.mark.parametrize("theme", OWN_COLOURS, ids=lambda theme: theme.name)
def test_the_selected_row_is_coloured_and_every_badge_on_every_row_readable(
    theme: Theme, shown: Callable[[Color], str], least: float
):
    colours = theme.to_color_system().generate()
    below = Color.parse(colours["background"])
    papers = {
        row: shown(below.blend(Color.parse(colours[tint]), share)) for row, (tint, share) in ROWS.items()
    }
    assert papers["plain"] not in (papers["cursor"], papers["focused cursor"])
    weak: dict[tuple[str, str], float] = {}
    for (badge, ink), (row, paper) in product(INKS.items(), papers.items()):
        assert ink is not None, badge
        weak[badge, row] = round(_contrast(shown(Color.parse(colours[ink[1]])), paper), 2)
    assert {where: ratio for where, ratio in weak.items() if ratio < least} == {}


def test_the_theme_in_the_terminal_s_colours_has_no_other():
    (theme,) = (theme for theme in SHIPPED if theme.ansi)
    fields = {name: value for name, value in vars(theme).items() if isinstance(value, str) and name != "name"}
    own = {name: value for name, value in theme.variables.items() if "style" not in name}
    assert {name: value for name, value in (fields | own).items() if not value.startswith("ansi_")} == {}
    badges = [fields[name] for name in ("primary", "accent", "warning", "error", "success")]
    assert len(set(badges)) == len(badges)


BROKEN = {
    "no TOML": ("name = ", "1: not valid TOML"),
    "no name": ('dark = true\nprimary = "#fff"\n', "name: missing"),
    "unknown field": (MINIMAL + 'primery = "#fff"\n', "primery: unknown field"),
    "no colour": (MINIMAL + 'accent = "sky"\n', "accent: 'sky' is not a colour such as #82b1ff"),
    "a reference": (
        MINIMAL + '[variables]\nborder = "$accent"\n',
        "variables.border: '$accent' is not a colour",
    ),
    "a style sheet": (MINIMAL + '[variables]\nborder = "#fff; } * { display: none"\n', "variables.border: "),
    "a colour of the terminal": (
        MINIMAL.replace("#82b1ff", "ansi_blue"),
        "primary: terminal colours need ansi = true",
    ),
    "no colour of any terminal": (
        MINIMAL + 'ansi = true\naccent = "ansi_sky"\n',
        "accent: 'ansi_sky' is not a colour",
    ),
    "no style": (
        MINIMAL + '[variables]\nlink-style = "#ffffff"\n',
        "variables.link-style: '#ffffff' is not a text",
    ),
    "no variable": (MINIMAL + '[variables]\n"a b" = "#fff"\n', "variables: 'a b' is not a variable name"),
    "no number": (MINIMAL + "text_alpha = 3\n", "text_alpha: "),
    "markup for a name": (MINIMAL.replace("mine", "[b]mine"), "name: "),
    "a line too many": (MINIMAL.replace("#82b1ff", "#82b1ff\\n"), "primary: "),
    "no text": (MINIMAL + "surface = 16777215\n", "surface: 16777215 is not a colour"),
    "no truth value": (MINIMAL.replace("true", '"yes"'), "dark: 'yes' is not true or false"),
    "no table": (MINIMAL + "variables = 5\n", "variables: 5 is not a table"),
    "deep": ("a = " + "[" * 30000 + "]" * 30000, "nested too deeply"),
    "large": (MINIMAL + "#" * MAX_BYTES, "larger than 64 kB"),
}


@pytest.mark.parametrize(("text", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_costs_its_theme_and_one_sentence(tmp_path: Path, text: str, words: str):
    (file := tmp_path / "broken.toml").write_text(text, encoding="utf-8")
    (tmp_path / "whole.toml").write_text(MINIMAL.replace("mine", "whole"))
    themes, (problem,) = load_themes(tmp_path)
    assert [theme.name for theme in themes] == sorted([*NAMES, "whole"])
    assert problem.startswith((f"Skipped theme {file}: {words}", f"Skipped theme {file}:{words}"))
    assert problem.endswith(".")
    assert "\n" not in problem


# -- in the app -----------------------------------------------------------------------------------------

MINE = 'name = "mine"\ndark = true\nprimary = "{}"\nbackground = "#000000"\n'


def app(themes: Path, theme: str = FIRST) -> WorkbenchApp:
    return WorkbenchApp(
        None,
        lambda target: Client(target, store=Store()),
        Preferences(settings=Settings(theme=theme), themes=themes),
    )


async def test_a_theme_in_the_person_s_folder_is_loaded_again_when_it_changes(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text(MINE.format("#112233"))
    made = app(tmp_path, "mine")
    async with made.run_test(size=(80, 24)) as pilot:
        driven = Driven(made, pilot)
        assert made.theme_variables["primary"] == "#112233"
        await driven.until(lambda: "mine" in made.theme_names)
        file.write_text(MINE.format("#445566"))
        made._look_at_themes()  # pyright: ignore[reportPrivateUsage] - what its timer calls
        await driven.until(lambda: made.theme_variables["primary"] == "#445566")
        file.write_text("broken")
        made._look_at_themes()  # pyright: ignore[reportPrivateUsage]
        told = made._notifications  # pyright: ignore[reportPrivateUsage]
        await driven.until(lambda: any("not valid TOML" in each.message for each in told))


async def test_the_palette_shows_a_theme_that_is_looked_at_and_keeps_the_one_that_is_chosen():
    async with driving() as driven:
        app = driven.app
        app.load_themes()
        for key, theme in (("escape", FIRST), ("enter", "paper")):
            await driven.press("ctrl+p")
            await driven.type("theme paper")
            await driven.until(lambda: "Theme: paper" in driven.text())
            await driven.until(lambda: app.theme == "paper")
            await driven.press(key)
            await driven.until(lambda: driven.top is driven.bench)
            await driven.until(lambda: (app.theme, app.chosen_theme) == (theme, ""))  # noqa: B023 - awaited here


@pytest.mark.parametrize("name", ["moonlight", "../../x"])
async def test_a_theme_that_there_is_not_is_told_with_those_that_there_are(name: str, tmp_path: Path):
    made = app(tmp_path, name)
    async with made.run_test(size=(80, 24)) as pilot:
        told = made._notifications  # pyright: ignore[reportPrivateUsage]
        await Driven(made, pilot).until(lambda: len(told))
        (toast,) = told
        assert toast.message.startswith(f"Unknown theme '{name}'. Choose from: {min(NAMES)}, ")
        assert made.theme == FIRST


@pytest.mark.parametrize("name", NAMES)
async def test_every_shipped_theme_can_be_drawn_with(name: str, tmp_path: Path):
    made = app(tmp_path, name)
    async with made.run_test(size=(80, 24)) as pilot:
        assert made.theme == name
        assert "mcp-tui" in Driven(made, pilot).text()


@pytest.mark.parametrize("key", ["n", "question_mark", "ctrl+p"])
async def test_the_workbench_is_seen_behind_dialogs_in_the_colours_of_the_terminal(key: str):
    async with driving() as driven:
        driven.app.load_themes()
        driven.app.theme = "terminal"
        await driven.press(key)
        await driven.until(lambda: driven.top is not driven.bench)
        await driven.until(lambda: driven.text().splitlines()[0].strip().startswith("✓ mcp-tui-demo"))
