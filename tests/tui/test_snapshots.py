"""Every screen and state as it was when somebody last looked at it and found it good."""

from __future__ import annotations

import pytest

from tests.tui.snapshots.scenes import SCENES, SMALLEST, Size, taken, without_colours
from tests.tui.snapshots.text import FOLDER, VERSIONS, difference

COMMON = {"panes", "lost", "empty", "without_glyphs"}
"""The workbench itself; each dialog has tests of its own words."""

CASES = [
    pytest.param(
        name,
        size,
        marks=[pytest.mark.slow] if number or name not in COMMON else [],
        id=f"{name}-{size[0]}x{size[1]}",
    )
    for name, scene in SCENES.items()
    for number, size in enumerate(scene.sizes)
]


@pytest.mark.sends_anything  # the far end is a script, and a probe of it is only told
@pytest.mark.parametrize(("name", "size"), CASES)
async def test_the_screen_is_as_in_its_snapshot(name: str, size: Size):
    made = await taken(name, size)
    assert made
    differences = "\n\n".join(filter(None, (difference(each, text) for each, text in made.items())))
    if differences:
        pytest.fail(differences, pytrace=False)


@pytest.mark.sends_anything
async def test_no_color_draws_what_the_snapshots_say_of_it():
    assert await without_colours(SMALLEST, {"NO_COLOR": "1"}) == await without_colours(SMALLEST, {})


def test_every_screen_has_a_snapshot_in_four_versions():
    files = sorted(FOLDER.glob("*.txt"))
    for file in files:
        _, _, size = file.stem.rpartition("-")
        assert file.read_text().startswith(f"{size.replace('x', ' × ')}: {' | '.join(VERSIONS)}\n")
    assert VERSIONS == ("mcp-tui-dark", "mcp-tui-light", "256 colours", "no colours")
    assert len({file.stem.rpartition("-")[0] for file in files}) >= 31
