"""Every screen and state as it was when somebody last looked at it and found it good."""

from __future__ import annotations

import pytest

from tests.tui.snapshots.scenes import SCENES, SIZES, Size, taken, without_colours
from tests.tui.snapshots.text import FOLDER, VERSIONS, difference

CASES = [
    pytest.param(name, size, marks=[pytest.mark.slow] if number else [], id=f"{name}-{size[0]}x{size[1]}")
    for name, scene in SCENES.items()
    for number, size in enumerate(scene.sizes)
]


@pytest.mark.usefixtures("painted")
@pytest.mark.sends_anything  # the far end is a script, and a probe of it is only told
@pytest.mark.parametrize(("name", "size"), CASES)
async def test_the_screen_is_as_in_its_snapshot(name: str, size: Size):
    made = await taken(name, size)
    assert made
    differences = "\n\n".join(filter(None, (difference(each, text) for each, text in made.items())))
    if differences:
        pytest.fail(differences, pytrace=False)


@pytest.mark.usefixtures("painted")
@pytest.mark.sends_anything
async def test_no_color_draws_what_the_snapshots_say_of_it():
    assert await without_colours(SIZES[0], {"NO_COLOR": "1"}) == await without_colours(SIZES[0], {})


def test_every_screen_has_a_snapshot_at_its_sizes_in_four_versions():
    sizes: dict[str, set[str]] = {}
    for file in FOLDER.glob("*.txt"):
        screen, _, size = file.stem.rpartition("-")
        sizes.setdefault(screen, set()).add(size)
        assert file.read_text().startswith(f"{size.replace('x', ' × ')}: {' | '.join(VERSIONS)}\n")
    assert VERSIONS == ("mcp-tui-dark", "mcp-tui-light", "256 colours", "no colours")
    alone = {screen for screen, taken in sizes.items() if len(taken) == 1}
    assert alone == {"workbench-ascii", "workbench-task", "workbench-timed-out", "timeline-zoomed"}
    whole = {"80x24", "120x36", "140x40", "200x60"}
    assert all(taken == whole for screen, taken in sizes.items() if screen not in alone)
    assert len(sizes) >= 31
    assert sum(file.stat().st_size for file in FOLDER.glob("*.txt")) < 1_400_000
