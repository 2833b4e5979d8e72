"""Which themes there are, whether everything can be read with them, and how the app takes them up."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
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
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.terminal.background import Answers, Background
from mcp_tui.tui.terminal.pastes import Pastes
from mcp_tui.tui.themes import (
    AUTO,
    FIRST_THEME,
    THEME_FILE_BYTES,
    automatic,
    load_themes,
    read_theme,
    shown,
    theme_files,
)
from tests.cases import cases
from tests.tui.driving import Driven, driving
from tests.tui.snapshots.scenes import at_noon, staged
from tests.tui.snapshots.text import drawn

SHIPPED = load_themes(Path("absent"))[0]
OWN_COLOURS = [theme for theme in SHIPPED if not theme.ansi]
"""Themes whose colours are known: of the terminal's own ones nobody can tell how they look."""

NAMES = [theme.name for theme in SHIPPED]
MINIMAL = 'name = "mine"\ndark = true\nprimary = "#82b1ff"\n'


def _contrast(ink: str, paper: str) -> float:
    """Contrast ratio, WCAG 2; ink with an alpha is laid on the paper first."""
    below = Color.parse(paper)
    lighter, darker = sorted((_luminance(below), _luminance(below + Color.parse(ink))), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: Color) -> float:
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in color.normalized]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _whole(colour: str) -> str:
    """The colour that a terminal with all colours shows."""
    return Color.parse(colour).hex


def _of_256(colour: str) -> str:
    """The colour that a terminal with 256 of them shows, with none of the 16 that people change."""
    shown = TerminalColor.from_rgb(*Color.parse(colour).rgb).downgrade(ColorSystem.EIGHT_BIT)
    assert shown.number is not None
    assert shown.number >= 16
    return Color(*shown.get_truecolor()).hex


SIXTEEN = {
    "xterm": "000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5 "
    "7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff",
    "VGA": "000000 aa0000 00aa00 aa5500 0000aa aa00aa 00aaaa aaaaaa "
    "555555 ff5555 55ff55 ffff55 5555ff ff55ff 55ffff ffffff",
}
"""Palettes that terminals with 16 colours start with."""


def test_a_dark_and_a_light_theme_ship_and_load():
    themes, problems = load_themes(Path("absent"))
    assert problems == []
    assert {"mcp-tui-dark": True, "mcp-tui-light": False}.items() <= {t.name: t.dark for t in themes}.items()
    assert {"high-contrast", "terminal"} <= set(NAMES)
    assert len(themes) >= 6
    assert {theme.name for theme in themes} == {file.stem for file in theme_files(shipped_folder())}


STATES = ("primary", "accent", "warning", "error", "success")


@cases("shown", [_whole, _of_256])
@pytest.mark.parametrize("theme", OWN_COLOURS, ids=lambda theme: theme.name)
def test_every_text_is_readable_where_it_stands(theme: Theme, shown: Callable[[str], str]):
    colours = theme.to_color_system().generate()
    inks = ["foreground", "text", "text-muted", "text-disabled", "secondary", *STATES]
    rows = ["block-cursor-background", "block-cursor-blurred-background"]
    pairs = list(product(inks, ["background", "surface", "panel", *rows]))
    pairs += [
        ("border", "background"),  # the title of what has the focus is written in reverse
        ("border", "surface"),
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
    weak = {pair: round(_contrast(*(shown(colours[name]) for name in pair)), 2) for pair in pairs}
    least = 7.0 if theme.name == "high-contrast" and shown is _whole else 4.5
    assert {pair: ratio for pair, ratio in weak.items() if ratio < least} == {}
    # the selected row, the focus, and each state have colours of their own
    assert shown(colours["background"]) not in {shown(colours[row]) for row in rows}
    own = [shown(colours[name]) for name in (*STATES, "border", "border-blurred", "foreground")]
    assert len(set(own)) == len(own)


@cases("name", ["mcp-tui-dark", "mcp-tui-light"])
def test_with_256_colours_plain_text_has_none(name: str):
    (theme,) = (theme for theme in SHIPPED if theme.name == name)
    colours = theme.to_color_system().generate()
    for ink in ("foreground", "text", "text-muted", "block-cursor-foreground"):
        assert len({*Color.parse(_of_256(colours[ink])).rgb}) == 1, ink


def _named(colours: str, name: str, *, light: bool) -> str:
    """The colour that a palette has for a name such as ``ansi_bright_red``."""
    names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"]
    if name == "ansi_default":
        name = "black" if light else "bright_white"
    number = names.index(name.rpartition("_")[2]) + 8 * ("bright" in name)
    return f"#{colours.split()[number]}"


@pytest.mark.parametrize("colours", SIXTEEN.values(), ids=SIXTEEN)
@cases("light", [False, True])
def test_with_16_colours_every_text_is_readable_on_the_terminal_s_background(colours: str, light: bool):
    name = automatic("standard", light=light)
    (theme,) = (theme for theme in SHIPPED if theme.name == name)
    paper = "#ffffff" if light else "#000000"
    variables = theme.to_color_system().generate() | theme.variables
    inks = ["foreground", "text", "text-muted", "text-disabled", "secondary", "border", *STATES]
    weak = {ink: _contrast(_named(colours, variables[ink], light=light), paper) for ink in inks}
    assert {ink: ratio for ink, ratio in weak.items() if ratio < 4.5} == {}
    selection = [f"input-selection-{ground}ground" for ground in ("fore", "back")]
    pair = [_named(colours, variables[each], light=light) for each in selection]
    assert _contrast(*pair) >= 4.5
    for own in OWN_COLOURS:  # no rounding of 16 colours keeps them apart and readable
        assert replace(shown(own, "standard", light=light), name=name) == theme
        assert shown(own, "256", light=light) == shown(own, "truecolor", light=light) == own


def test_a_theme_of_one_colour_keeps_its_cursor_readable(tmp_path: Path):
    (file := tmp_path / "mine.toml").write_text(MINIMAL)
    theme = read_theme(file)
    colours = theme.to_color_system().generate()
    for ink in ("primary", "block-cursor-foreground"):
        assert _contrast(colours[ink], colours["block-cursor-background"]) >= 4.5


async def test_every_text_on_the_screen_is_readable_in_every_theme():
    with at_noon():
        async with staged((120, 36)) as stage:
            await stage.back()
            await stage.choose("late")
            for theme in OWN_COLOURS:
                stage.app.theme = theme.name
                await stage.still()
                weak: dict[tuple[str, str], str] = {}
                assert theme.background in {
                    each.bgcolor.name for row in drawn(stage.app) for _, each in row if each.bgcolor
                }
                for text, style in (piece for row in drawn(stage.app) for piece in row):
                    if style.color is None or style.bgcolor is None or not re.search(r"\w", text):
                        continue
                    assert not style.dim, text
                    ink, paper = (each.get_truecolor().hex for each in (style.color, style.bgcolor))
                    if min(_contrast(see(ink), see(paper)) for see in (_whole, _of_256)) < 4.5:
                        weak[ink, paper] = text
                assert weak == {}, theme.name


async def test_the_row_of_the_cursor_is_one_piece_in_the_terminal_s_colours() -> None:
    with at_noon():
        async with staged((120, 36)) as stage:
            stage.app.theme = "terminal"
            await stage.still()
            reversed_ = [
                style for row in drawn(stage.app) for text, style in row if style.reverse and "─" not in text
            ]
            assert len(reversed_) > 3
            assert len({(style.color, style.bgcolor) for style in reversed_[-4:]}) == 1


def test_the_themes_in_the_terminal_s_colours_have_no_other():
    for theme in (theme for theme in SHIPPED if theme.ansi):
        fields = {
            name: value for name, value in vars(theme).items() if isinstance(value, str) and name != "name"
        }
        own = {name: value for name, value in theme.variables.items() if "style" not in name}
        assert {name: value for name, value in (fields | own).items() if not value.startswith("ansi_")} == {}
        if theme.dark:  # on white, too few can be read for each state to have its own
            assert len({fields[name] for name in STATES}) == len(STATES)


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
    "large": (MINIMAL + "#" * THEME_FILE_BYTES, "larger than 64 kB"),
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


def app(themes: Path, theme: str = FIRST_THEME) -> WorkbenchApp:
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
        made._check_themes()  # pyright: ignore[reportPrivateUsage] - what its timer calls
        await driven.until(lambda: made.theme_variables["primary"] == "#445566")
        file.write_text("broken")
        made._check_themes()  # pyright: ignore[reportPrivateUsage]
        told = made._notifications  # pyright: ignore[reportPrivateUsage]
        await driven.until(lambda: any("not valid TOML" in each.message for each in told))


async def test_the_palette_shows_a_theme_that_is_looked_at_and_keeps_the_one_that_is_chosen():
    async with driving() as driven:
        app = driven.app
        app.load_themes()
        for key, theme in (("escape", FIRST_THEME), ("enter", "paper")):
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
        assert made.theme == FIRST_THEME


@pytest.mark.parametrize("key", ["n", "question_mark", "ctrl+p"])
async def test_the_workbench_is_seen_behind_dialogs_in_the_colours_of_the_terminal(key: str):
    async with driving() as driven:
        driven.app.load_themes()
        driven.app.theme = "terminal"
        await driven.press(key)
        await driven.until(lambda: driven.top is not driven.bench)
        await driven.until(lambda: driven.text().splitlines()[0].strip().startswith("✓ mcp-tui-demo"))


# -- the theme that suits the terminal ------------------------------------------------------------------

LIGHT = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\"


@cases(
    ("said", "light"),
    [
        (LIGHT, True),
        ("\x1b]11;rgb:fa/f6/ec\x07", True),
        ("\x1b]11;rgba:0000/2b2b/3636/ffff\x1b\\", False),
        ("\x1b]11;teal\x1b\\", None),
    ],
)
def test_an_answer_among_keys_is_taken_out_wherever_it_is_cut(said: str, light: bool | None):
    for cut in range(len(said) + 1):
        answers = Answers()
        # as they come from Pastes, which joins an escape at the end with what follows
        pastes, parts = Pastes(), ("a" + said[:cut], said[cut:] + "r\x1b[A")
        typed = "".join(answers.typed(str(piece)) for part in parts for piece in pastes.sort(part))
        assert typed == "ar\x1b[A"
        assert answers.light is light


def test_keys_that_only_look_like_an_answer_come_as_soon_as_nothing_follows():
    answers = Answers()
    assert (answers.typed("\x1b]1"), answers.typed("2")) == ("", "\x1b]12")
    assert answers.typed("\x1b[200~" + "1;" * 3000) == "\x1b[200~" + "1;" * 3000


async def test_a_light_terminal_gets_the_light_theme_unless_a_person_chose_one(tmp_path: Path):
    for chosen, seen in ((AUTO, ("mcp-tui-light", FIRST_THEME)), ("ember", ("ember", "ember"))):
        made = app(tmp_path, chosen)
        async with made.run_test(size=(80, 24)) as pilot:
            driven = Driven(made, pilot)
            for light, theme in zip((True, False), seen, strict=True):
                made.post_message(Background(light))
                await driven.until(lambda: made.light is light)  # noqa: B023 - awaited here
                assert made.theme == theme


async def test_a_terminal_with_16_colours_gets_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm")
    for background, theme in (("15;0", "terminal"), ("0;15", "terminal-light")):
        monkeypatch.setenv("COLORFGBG", background)
        assert app(tmp_path, AUTO).theme == theme


async def test_a_theme_from_the_palette_is_kept_and_auto_is_the_way_back():
    async with driving() as driven:
        look = driven.app.preferences.look
        await driven.until(lambda: "paper" in driven.app.theme_names)  # they are loaded after the start
        driven.app.choose_theme("paper")
        assert (look.theme, driven.app.theme) == ("paper", "paper")
        driven.app.choose_theme(AUTO)
        assert (look.theme, driven.app.theme) == ("", FIRST_THEME)
