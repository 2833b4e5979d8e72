"""The pictures that people see first show the program as it is."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Protocol, cast

import pytest

from tests.tui.snapshots.scenes import at_noon

FOLDER = Path(__file__).parents[1] / "screenshots"
REMAKE = "remake them all: pip install resvg-py && python screenshots/make.py"


class Make(Protocol):
    KEY: bytes
    MOVING: str
    moving: Callable[[], Awaitable[str]]
    pictures: Callable[[], AsyncGenerator[tuple[str, str]]]
    stamp: Callable[[str], bytes]


def make() -> Make:
    spec = importlib.util.spec_from_file_location("screenshots_make", FOLDER / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Make", module)


@pytest.mark.slow
@pytest.mark.sends_anything  # the far end is a script
async def test_no_picture_is_stale():
    script = make()
    stale: list[str] = []
    names = {script.MOVING}
    with at_noon():
        if (FOLDER / f"{script.MOVING}.svg").read_text(encoding="utf-8") != await script.moving():
            stale.append(script.MOVING)
        async for name, drawn in script.pictures():
            names.add(name)
            file, image = FOLDER / f"{name}.svg", FOLDER / f"{name}.png"
            if not file.exists() or file.read_text(encoding="utf-8") != drawn:
                stale.append(file.name)
            mark = script.KEY + b"\0" + script.stamp(drawn)
            if not image.exists() or mark not in image.read_bytes():
                stale.append(image.name)
    assert not stale, f"{', '.join(stale)} show what is no more; {REMAKE}"
    assert {file.stem for file in FOLDER.iterdir() if file.suffix in {".svg", ".png"}} == names


def test_the_readmes_show_them():
    shown = (FOLDER.parent / "README.md").read_text() + (FOLDER / "README.md").read_text()
    for file in (*FOLDER.glob("*.png"), *FOLDER.glob("cancel-*.svg")):
        assert file.name in shown
