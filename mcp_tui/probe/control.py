"""The control run: the tool at work, uncancelled. What a cancel changes is told by what happened without one."""

from __future__ import annotations

import asyncio
from typing import Final

from mcp_tui.probe.judging import Control
from mcp_tui.probe.line import Heard, Line, Trace
from mcp_tui.probe.setup import REASON, Setup
from mcp_tui.probe.tools import Choice

TOO_QUICK: Final = 0.3
"""Seconds below which a call cannot be cancelled in the middle of its work."""

ASIDE: Final = 0.15
"""Seconds after which the server is asked for something else, to see whether it answers while the tool works."""

BLOCKED: Final = 0.5
"""Seconds that an answer must have waited for the tool to be taken as waiting for it."""


async def controlled(
    line: Line, setup: Setup, choice: Choice, limit: float, *, asked: bool
) -> tuple[Control, str]:
    """Run a tool to its end, or for ``limit`` seconds; and why it is no use for a probe, or nothing.

    ``asked``: a person named it, so it may be odd.
    """
    trace = setup.calling(line, choice.name, choice.arguments)
    await trace.written()
    sent = trace.sent_at
    await line.until(trace.over, sent + ASIDE)
    aside = line.ask() if not trace.over() else None
    heard = await trace.answered(sent + limit)
    ended_at = line.now() if heard is None else heard.at
    if heard is None and line.ended is None and trace.row.open:
        line.client.cancel(trace.id, reason=REASON)
    await asyncio.sleep(0.05)  # an answer that waited for the tool comes now
    lost = "" if line.ended is None else line.ended.detail
    if not lost and heard is None and trace.row.cause is None:
        lost = trace.trouble()
    control = Control(
        duration=None if heard is None and not lost else ended_at - sent,
        watched=line.now() - sent,
        progress=tuple(each.at - sent for each in trace.progress()),
        logs=tuple(each.at - sent for each in line.heard if each.kind == "log" and each.at > sent),
        beats=tuple(beat - sent for beat in setup.heartbeat.beats if sent < beat <= ended_at),
        blocks=_blocks(aside, heard),
        lost=lost,
    )
    return control, _unfit(control, heard, asked=asked)


def _blocks(aside: Trace | None, heard: Heard | None) -> bool:
    if aside is None or heard is None:
        return False
    answers = aside.responses
    return not answers or (answers[0].at >= heard.at - 0.05 and heard.at - aside.sent_at > BLOCKED)


def _unfit(control: Control, heard: Heard | None, *, asked: bool) -> str:
    if control.lost:
        return "" if asked else f"ended the connection ({control.lost})"
    if heard is None:
        return "" if asked else f"did not end within {control.watched:.0f} s"
    if heard.type:
        return f"was answered with {heard.type.replace('_', ' ')[:40]}, which is no result yet"
    if heard.kind == "error":
        return f"was answered with error {heard.code}"
    if heard.is_error and (not asked or control.length < TOO_QUICK):
        return "answered that it failed"
    if control.length < TOO_QUICK:
        return f"took {control.length:.2f} s, too little to be cancelled in the middle of it"
    return ""
