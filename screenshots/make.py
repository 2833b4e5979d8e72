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
import tempfile
import zlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, Literal
from unittest.mock import patch

FOLDER: Final = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

from mcp_tui.journal.recording import Recording  # noqa: E402 - the folder above is not installed
from mcp_tui.journal.records import Header  # noqa: E402
from mcp_tui.journal.store import Store  # noqa: E402
from mcp_tui.journal.writer import Writer  # noqa: E402
from mcp_tui.live.control import Summary  # noqa: E402
from mcp_tui.live.running import Running  # noqa: E402
from mcp_tui.protocol import events as ev  # noqa: E402
from mcp_tui.protocol import messages  # noqa: E402
from mcp_tui.protocol.events import Limits  # noqa: E402
from mcp_tui.protocol.messages import Json  # noqa: E402
from mcp_tui.tui.app import WorkbenchApp  # noqa: E402
from mcp_tui.tui.screens import replay  # noqa: E402
from mcp_tui.tui.screens.attach import AttachScreen  # noqa: E402
from tests.protocol.test_observing import Watched  # noqa: E402
from tests.tui.playing import START, WALL, Play  # noqa: E402
from tests.tui.snapshots.scenes import DARK, LIGHT, Stage, at_noon, staged  # noqa: E402

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
    async with attached() as stage:
        yield "attach-120x30", await svg(stage)


class Tapped(Watched):
    """What a tap writes down: the session of somebody else's client, one of whose calls hangs."""

    def __init__(self, store: Store) -> None:
        self.store = store
        super().__init__(
            Limits(timeout=None, max_timeout=600.0), revision="2026"
        )  # it begins below, at its own time
        self._calls()

    def _calls(self) -> None:
        name, version = CLIENT
        hello: dict[str, Json] = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": name, "version": version},
        }
        self.asks("call-0", "initialize", at=START, **hello)
        name, version = SERVER
        told: dict[str, Json] = {
            "protocolVersion": "2025-11-25",
            "serverInfo": {"name": name, "version": version},
            "capabilities": {"tools": {}},
        }
        self.answers("call-0", told, at=START + 0.3)
        self.asks("call-1", "tools/list", at=START + 0.4)
        self.answers(
            "call-1",
            {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]},
            at=START + 0.5,
        )
        self.asks("call-2", at=START + 2, name="find_order", arguments={"number": 1204})
        self.answers("call-2", {"content": [{"type": "text", "text": "1 order"}]}, at=START + 2.3)
        self.asks("call-3", at=START + 9, name="export_orders", arguments={"year": 2025})
        self.cancels("call-3", at=START + 19, reason="the user pressed Stop")
        self.answers("call-3", {"content": [{"type": "text", "text": "12,040 orders"}]}, at=START + 22.5)
        query = "select * from orders join lines using (order_id)"
        self.asks("call-4", at=START + 23, name="query", arguments={"sql": query}, _meta={"progressToken": 4})
        for done in (25, 40):
            params = {"progressToken": 4, "progress": done, "total": 100, "message": "joining"}
            self.server(START + 23 + done / 2, method="notifications/progress", params=params)

    def event(self, event: ev.Event) -> None:
        self.store.event(event)

    def client(self, at: float = 0.0, **message: Json) -> None:
        self._requests("out", self.observer.sent, at, message)

    def server(self, at: float = 0.0, **message: Json) -> None:
        self._requests("in", self.observer.received, at, message)

    def _requests(
        self, way: Literal["in", "out"], take: Callable[..., None], at: float, message: dict[str, Json]
    ) -> None:
        raw = messages.encode({"jsonrpc": "2.0", **message})
        id_, method = messages.storable_id(message.get("id")), str(message.get("method", ""))
        take(messages.parse(raw), at=at, seq=self.store.frame(way, raw, at=at, method=method, id=id_))
        self.ledger.perform()


TOOLS: Final = ("export_orders", "find_order", "query", "refund")
CLIENT: Final = ("acme-agent", "2.1.3")
SERVER: Final = ("orders", "1.4.0")


@asynccontextmanager
async def attached() -> AsyncGenerator[Stage]:
    """That session in the workbench, a minute after its start."""
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(replay, "time", SimpleNamespace(monotonic=lambda: START + 64.2)),
    ):
        path = Path(folder, "session.jsonl")
        header = Header(id="cf43", wall=WALL, mono=START, app="1.0.0", target="orders-mcp", purpose="tap")
        store = Store(Writer(path, header=header))
        Tapped(store)
        store.flush()
        session = Running("cf43", path, Summary("tap", " ".join(CLIENT), SERVER[0], 4711, str(path), ()))
        app = WorkbenchApp(None, opening=partial(AttachScreen, session, Recording(path)))
        async with app.run_test(size=(120, 30)) as pilot:
            app.load_themes()
            app.theme = DARK
            stage = Stage(app, pilot, Play(), {}, {})
            await stage.until(lambda: isinstance(app.screen, AttachScreen) and app.screen.playback.live)
            assert isinstance(app.screen, AttachScreen)
            await stage.press("5", "0")
            app.screen.keys.hush()
            yield stage
        store.close()


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
        (row,) = (each for each in stage.session.client.requests.order if not each.internal)
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
