"""The tools of the servers from PyPI, one file for both major versions of `mcp` and for `fastmcp`.

Each works for `seconds` in steps of a tenth of a second, with progress and a line in the heartbeat file at every
step, and differs in what it does when it is cancelled. The heartbeat file is the argument `heartbeat`, else the
environment's HEARTBEAT; its lines read `MONOTONIC-SECONDS TOOL WORD`, the word being one of `started`, `step N/TOTAL`,
`cancelled`, `cleaned`, `done`, `failed KIND`.
"""
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# ruff: noqa: I002
# Annotations are evaluated: mcp up to 1.9 looks for its Context among them.

import inspect
import os
import time
from pathlib import Path

import anyio
from pydantic import BaseModel

try:
    from fastmcp import Context  # stands on mcp 2.x, so it is looked for first
except ImportError:
    try:
        from mcp.server.mcpserver import Context
    except ImportError:
        try:
            from mcp.server.fastmcp import Context
        except ImportError:
            from progress import Progress as Context

STEP = 0.1
MESSAGES = "message" in inspect.signature(Context.report_progress).parameters  # not in mcp 1.2
CLEANING = 0.5


class Work:
    """One call at work; `run` may be entered again after an interruption and goes on where it was."""

    def __init__(self, tool: str, seconds: float, heartbeat: str, ctx: Context | None = None) -> None:
        self.tool = tool
        self.path = heartbeat or os.environ.get("HEARTBEAT", "")
        self.ctx = ctx
        self.step = 0
        self.total = max(1, round(seconds / STEP))
        self.beat("started")

    def beat(self, word: str) -> None:
        if self.path:
            with Path(self.path).open("a", encoding="utf-8") as file:
                file.write(f"{time.monotonic():.3f} {self.tool} {word}\n")

    async def run(self) -> str:
        try:
            while self.step < self.total:
                await anyio.sleep(STEP)
                self.step += 1
                self.beat(f"step {self.step}/{self.total}")
                if self.ctx is not None:
                    message = (f"step {self.step}",) if MESSAGES else ()
                    await self.ctx.report_progress(self.step, self.total, *message)
        except Exception as error:
            self.beat(f"failed {type(error).__name__}")
            raise
        self.beat("done")
        return f"{self.tool} worked to its end"


def echo(text: str) -> str:
    """Answer with the text."""
    return text


async def cooperative(ctx: Context, seconds: float = 3, heartbeat: str = "") -> str:
    """Stop where the cancel finds it."""
    work = Work("cooperative", seconds, heartbeat, ctx)
    try:
        return await work.run()
    except anyio.get_cancelled_exc_class():
        work.beat("cancelled")
        raise


def blocking(seconds: float = 3, heartbeat: str = "") -> str:
    """Work synchronously: nothing can interrupt it, and it cannot send progress."""
    work = Work("blocking", seconds, heartbeat)
    for step in range(1, work.total + 1):
        time.sleep(STEP)
        work.beat(f"step {step}/{work.total}")
    work.beat("done")
    return "blocking worked to its end"


async def swallows(ctx: Context, seconds: float = 3, heartbeat: str = "") -> str:
    """Notice the cancel, swallow it, and work on to the end."""
    work = Work("swallows", seconds, heartbeat, ctx)
    try:
        return await work.run()
    except anyio.get_cancelled_exc_class():
        work.beat("cancelled")
        with anyio.CancelScope(shield=True):
            answer = await work.run()
        return answer  # noqa: RET504 - pyright takes a return inside the scope for one that may not happen


async def cleanup(ctx: Context, seconds: float = 3, heartbeat: str = "") -> str:
    """Clean up for half a second when cancelled, then stop."""
    work = Work("cleanup", seconds, heartbeat, ctx)
    try:
        return await work.run()
    except anyio.get_cancelled_exc_class():
        work.beat("cancelled")
        with anyio.CancelScope(shield=True):
            await anyio.sleep(CLEANING)
        work.beat("cleaned")
        raise


async def raises(ctx: Context, seconds: float = 3, heartbeat: str = "") -> str:
    """Raise an error of its own when cancelled."""
    work = Work("raises", seconds, heartbeat, ctx)
    try:
        return await work.run()
    except anyio.get_cancelled_exc_class():
        work.beat("cancelled")
        raise RuntimeError("raised on cancel") from None


class Name(BaseModel):
    name: str


async def asks(ctx: Context, seconds: float = 0.5) -> str:
    """Ask the person for a name, and give up after so many seconds."""
    try:
        with anyio.fail_after(seconds):
            answer = await ctx.elicit("What is your name?", Name)
    except TimeoutError:
        return "asks gave up"
    return f"asks was told: {answer.action}"


TOOLS = (echo, cooperative, blocking, swallows, cleanup, raises, asks)
