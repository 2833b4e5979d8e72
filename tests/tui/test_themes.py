from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tui.client.client import Client
from mcp_tui.config.themes import theme_files
from mcp_tui.journal.store import Store
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.themes import FIRST, first_theme, stamp
from tests.tui.driving import Driven, driving

MINE = 'name = "mine"\ndark = true\nprimary = "{}"\nbackground = "#000000"\n'


def app(themes: Path, theme: str = "") -> WorkbenchApp:
    return WorkbenchApp(
        None,
        lambda target: Client(target, store=Store()),
        themes=themes,
        preferences=Preferences(theme=theme),
    )


def test_the_app_starts_with_the_theme_that_is_wished_for(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(MINE.format("#112233"))
    for name, got in (("paper", "paper"), ("mine", "mine"), ("nobody", FIRST), ("../../x", FIRST)):
        theme = first_theme(name, tmp_path)
        assert theme is not None
        assert theme.name == got


def test_the_stamp_of_a_folder_changes_with_its_themes(tmp_path: Path):
    seen = {stamp(tmp_path / "absent"), stamp(None)}
    assert seen == {()}
    (tmp_path / "a.toml").write_text("x")
    one = stamp(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    assert stamp(tmp_path) == one != ()
    (tmp_path / "a.toml").write_text("xy")
    assert stamp(tmp_path) != one


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
            await driven.press("down")
            await driven.until(lambda: app.theme == "paper")
            await driven.press(key)
            await driven.until(lambda: driven.top is driven.bench)
            await driven.until(lambda: (app.theme, app.chosen_theme) == (theme, ""))  # noqa: B023 - awaited here


async def test_a_theme_that_there_is_not_is_told_with_those_that_there_are(tmp_path: Path):
    made = app(tmp_path, "moonlight")
    async with made.run_test(size=(80, 24)) as pilot:
        told = made._notifications  # pyright: ignore[reportPrivateUsage]
        await Driven(made, pilot).until(lambda: len(told))
        (toast,) = told
        assert toast.message.startswith("Unknown theme 'moonlight'. Choose from: ember, ")
        assert made.theme == FIRST


@pytest.mark.parametrize("name", [file.stem for file in theme_files()])
async def test_every_shipped_theme_can_be_drawn_with(name: str, tmp_path: Path):
    made = app(tmp_path, name)
    async with made.run_test(size=(80, 24)) as pilot:
        assert made.theme == name
        assert "mcp-tui" in Driven(made, pilot).text()
