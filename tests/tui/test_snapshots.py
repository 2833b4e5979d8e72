"""Every screen and state as it was when somebody last looked at it and found it good."""

from __future__ import annotations

import pytest

from tests.tui.snapshots.scenes import SCENES, taken
from tests.tui.snapshots.text import FOLDER, difference


@pytest.mark.usefixtures("painted")
@pytest.mark.sends_anything  # the far end is a script, and a probe of it is only told
@pytest.mark.parametrize("name", SCENES)
async def test_the_screen_is_as_in_its_snapshot(name: str):
    made = await taken(name)
    assert made
    differences = "\n\n".join(filter(None, (difference(each, text) for each, text in made.items())))
    if differences:
        pytest.fail(differences, pytrace=False)


def test_sizes_and_versions_and_a_number_that_one_can_look_through():
    heads = [file.read_text().partition("\n")[0] for file in FOLDER.glob("*.txt")]
    assert 12 <= len(heads) <= 33
    assert {head.partition(":")[0] for head in heads} == {"80 × 24", "120 × 36", "140 × 40", "200 × 60"}
    versions = "mcp-tui-dark | mcp-tui-light | 256 colours | no colours"
    assert all(head.endswith(versions) for head in heads)
