"""Make the pictures of this folder from a session that is always the same: ``python screenshots/make.py``.

Writes an SVG for each scene and, where the package ``resvg-py`` is installed, a PNG beside it. The session is the one of
``tests/tui/playing.py``: the real client and the real screen on a scripted server, under a clock that stands still.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import re
import struct
import sys
import zlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

from tests.tui.snapshots.scenes import DARK, LIGHT, Stage, at_noon, staged  # noqa: E402 - the folder above is not installed

FONT: Final = "DejaVu Sans Mono"
KEY: Final = b"svg-sha256"
"""What a PNG says of the SVG that it was made from."""


async def pictures() -> AsyncGenerator[tuple[str, str]]:
    """Each picture's name and its SVG."""
    async with staged((140, 40), DARK) as stage:
        await stage.back()
        await stage.press("6")
        await stage.choose("late")
        yield "workbench-140x40", await svg(stage)
    async with staged((140, 24), DARK) as stage:
        await stage.back()
        await stage.choose("late")
        await stage.press("6", "z")
        yield "timeline-140x24", await svg(stage)
    async with staged((140, 40), LIGHT) as stage:
        await stage.back()
        await stage.choose("task")
        yield "workbench-140x40-light", await svg(stage)
    async with staged((80, 24), DARK) as stage:
        await stage.back()
        await stage.press("3")
        await stage.choose("in flight")
        yield "workbench-80x24", await svg(stage)
        await stage.press("c")
        await stage.type("not needed any more")
        yield "reason-80x24", await svg(stage)


MOVING: Final = "cancel-80x24"
"""The picture that moves: a call, its cancel with a reason, and the late result. It has no PNG."""


async def moving() -> str:
    """An SVG of screens that follow one another, each for as long as it takes to read."""
    frames: list[tuple[float, str]] = []
    async with staged((80, 24), DARK, told=False) as stage:
        play = stage.play

        async def frame(seconds: float) -> None:
            frames.append((seconds, await svg(stage)))

        play.at(1)
        await stage.press("n")
        await frame(1.2)
        await stage.press("enter")
        await stage.type("select * from orders")
        await frame(1.4)
        await stage.press("ctrl+s")
        await frame(0.8)
        (row,) = (each for each in stage.session.client.book.order if not each.internal)
        for at, done in ((1.6, 0), (2.4, 25), (3.1, 40)):
            play.at(at)
            if done:
                play.progress(row, done, 100)
            await frame(0.7)
        await stage.press("c")
        await frame(0.9)
        for word in ("wrong", " table"):
            await stage.type(word)
            await frame(0.5)
        play.at(4.2)
        await stage.press("enter")
        await frame(1.2)
        play.at(6.1)
        await frame(1.6)
        play.at(7.4)
        play.result(row, "1,204 rows")
        await stage.press("1")
        await frame(3.5)
    return film(frames)


def film(frames: list[tuple[float, str]]) -> str:
    """Screens as one SVG, each shown for so many seconds, by a style sheet alone."""
    whole = sum(seconds for seconds, _ in frames)
    box = re.search(r'viewBox="([^"]*)"', frames[0][1])
    assert box is not None
    styles: list[str] = []
    shown: list[str] = []
    start = 0.0
    for number, (seconds, drawn) in enumerate(frames):
        first, last = 100 * start / whole, 100 * (start + seconds) / whole
        off = "visibility: hidden"
        rules = f"0% {{ {off} }} {first:.3f}% {{ visibility: visible }} {last:.3f}%, 100% {{ {off} }}"
        if not number:
            rules = rules.removeprefix(f"0% {{ {off} }} ")
        styles.append(f"@keyframes frame-{number} {{ {rules} }}")
        styles.append(f".frame-{number} {{ animation: frame-{number} {whole:.1f}s step-end infinite }}")
        drawn = re.sub(r"<clipPath.*?</clipPath>\s*| clip-path=\"[^\"]*\"", "", drawn, flags=re.DOTALL)
        shown.append(f'<g class="frame-{number}">\n{drawn.strip()}\n</g>')
        start += seconds
    sheet = "\n".join(styles)
    return (
        f'<svg viewBox="{box[1]}" xmlns="http://www.w3.org/2000/svg">\n<style>\n{sheet}\n</style>\n'
        + "\n".join(shown)
        + "\n</svg>\n"
    )


async def svg(stage: Stage) -> str:
    """What the app shows, as an SVG with fonts by name alone."""
    await stage.still()
    drawn = stage.app.export_screenshot(title="mcp-tui")
    return re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL).replace("Fira Code", FONT)


def png(drawn: str) -> bytes | None:
    """An SVG as a PNG that says which; ``None`` without the package for it."""
    try:
        resvg: Any = importlib.import_module("resvg_py")
    except ImportError:
        return None
    image = bytes(resvg.svg_to_bytes(svg_string=drawn, monospace_family=FONT, font_family=FONT, zoom=1))
    chunk = b"tEXt" + KEY + b"\0" + stamp(drawn)
    head = 8 + 25  # the signature, and the chunk that has to come first
    framed = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return image[:head] + framed + image[head:]


def stamp(drawn: str) -> bytes:
    """What tells one SVG from another."""
    return hashlib.sha256(drawn.encode()).hexdigest().encode()


async def main() -> None:
    """Make every picture."""
    with at_noon():
        (FOLDER / f"{MOVING}.svg").write_text(await moving(), encoding="utf-8", newline="\n")
        async for name, drawn in pictures():
            (FOLDER / f"{name}.svg").write_text(drawn, encoding="utf-8", newline="\n")
            image = png(drawn)
            if image is None:
                print(f"{name}.svg; for the PNG: pip install resvg-py")
            else:
                (FOLDER / f"{name}.png").write_bytes(image)
                print(f"{name}.svg {name}.png")


if __name__ == "__main__":
    asyncio.run(main())
