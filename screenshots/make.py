"""Make the pictures of this folder from the real app on the real demo server: ``python screenshots/make.py``.

Writes an SVG for each scene and, where the package ``resvg-py`` is installed, a PNG beside it.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp_tui.client import Client, StdioTarget
from mcp_tui.protocol import events as ev
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.widgets.request_table import RequestTable

FOLDER = Path(__file__).parent
DEMO = StdioTarget(command=("mcp-tui", "demo"), name="demo", env={"PATH": str(Path(sys.executable).parent)})
FONT = "DejaVu Sans Mono"


async def until(pilot: Any, condition: Callable[[], bool]) -> None:
    """Let the app go on until the condition holds, for ten seconds at most."""
    for _ in range(200):
        if condition():
            return
        await pilot.pause(0.05)
    raise TimeoutError(condition)


async def scene(size: tuple[int, int], theme: str, name: str, *, prompt: bool) -> None:
    """One session: tools in every state, one cancelled with a reason, its late result, and perhaps an open prompt."""
    clients: list[Client] = []

    def client(target: Any) -> Client:
        clients.append(Client(target))
        return clients[0]

    app = WorkbenchApp(DEMO, client)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: theme in app.available_themes)
        app.theme = theme
        await until(pilot, lambda: bool(clients) and clients[0].connected)
        made = clients[0]
        await pilot.pause(0.5)
        made.call_tool("add", {"a": 2, "b": 3})
        made.call_tool("add", {"a": 2})
        made.call_tool("silent", {}, limits=ev.Limits(idle=0.4))
        grumpy = made.call_tool("grumpy", {"seconds": 9})
        late = made.call_tool("stubborn", {"seconds": 2.2})
        gone = made.call_tool("count", {"seconds": 30})
        await pilot.pause(0.8)
        made.cancel(grumpy, reason="taking too long")
        made.cancel(late, reason="wrong table")
        made.cancel(gone, reason="wrong database")
        await pilot.pause(2.4)
        running = made.call_tool("count", {"seconds": 8, "steps": 20})
        chatty = made.call_tool("chatty", {"seconds": 20})
        made.call_tool("racer", {"milliseconds": 60000})
        await pilot.pause(1.6)
        made.cancel(chatty, reason="wrong environment")
        await pilot.press("5", "3")
        await pilot.pause(0.6)
        if prompt:
            app.screen.query_one(RequestTable).select(running)
            await pilot.press("c")
            await pilot.pause(0.3)
            await pilot.press(*"not", "space", *"needed")
            await pilot.pause(0.3)
        save(name, app.export_screenshot(title="mcp-tui"))
        await pilot.press("escape")
        await made.close()


def save(name: str, svg: str) -> None:
    """Write the SVG, with fonts by name alone, and the PNG."""
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL).replace("Fira Code", FONT)
    (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")
    try:
        import resvg_py
    except ImportError:
        print(f"{name}.svg; for the PNG: pip install resvg-py")
        return
    image = resvg_py.svg_to_bytes(svg_string=svg, monospace_family=FONT, font_family=FONT, zoom=1)
    (FOLDER / f"{name}.png").write_bytes(bytes(image))
    print(f"{name}.svg {name}.png")


async def main() -> None:
    """Make every picture."""
    await scene((80, 24), "mcp-tui-dark", "workbench-80x24", prompt=False)
    await scene((140, 40), "mcp-tui-dark", "workbench-140x40", prompt=True)
    await scene((140, 40), "mcp-tui-light", "workbench-140x40-light", prompt=False)


if __name__ == "__main__":
    asyncio.run(main())
