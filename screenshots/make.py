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
        await stage.press("6", "z")
        yield "timeline-140x40", await svg(stage)
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


async def svg(stage: Stage) -> str:
    """What the app shows, as an SVG with fonts by name alone."""
    await stage.shoot("")
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
