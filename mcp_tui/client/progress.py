"""How far an attempt to connect came, and what is to be said when the time for it was over."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from mcp_tui.client.ports import Caller
from mcp_tui.client.settings import StdioTarget, Target
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import State

_ERROR: Final = re.compile(r"error|exception|fatal|panic", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Doing:
    """A step of connecting that began ``at`` a moment, in monotonic seconds: what is waited for, or what was found."""

    at: float
    text: str


class Connecting(Caller, Protocol):
    """Whoever tries to connect."""

    target: Target
    stderr_tail: deque[str]
    steps: list[Doing]


def timed_out(client: Connecting) -> str:
    """Why no session came about in time: what was waited for, what is unanswered since when, and what was heard last."""
    now, steps = client.now(), client.steps
    doing, since = (steps[-1].text, steps[0].at) if steps else ("starting", now)
    text = f"no session after {client.settings.connect_timeout:g} s ({doing})"
    asked = [
        row for row in client.book.order if row.internal and row.sent_at is not None and row.sent_at >= since
    ]
    refused = [row for row in asked if row.state is State.FAILED and not row.response_seq]
    waits = [
        f"{row.method} for {now - (row.sent_at or now):.1f} s"
        for row in asked
        if not row.response_seq and row not in refused
    ]
    if waits:
        text += f"; unanswered: {', '.join(waits)}"
    heard = [head.at for head in client.store.frames if head.direction == "in" and head.at >= since]
    noise = [each.line for each in client.store.log if isinstance(each, ev.Pollution) and each.at >= since]
    if noise:
        text += f"; its stdout is not one JSON message a line, but: {noise[0].strip()[:80]}"
    if client.stderr_tail:
        text += f"; the server's last words: {telling(client.stderr_tail)}"
    if heard:
        text += f"; its last message came {now - heard[-1]:.1f} s ago"
    elif not client.stderr_tail and not refused:
        text += "; nothing was heard of it"
    where = "command" if isinstance(client.target, StdioTarget) else "URL"
    return f"{text}; raise --connect-timeout or check the {where}"


def telling(lines: Iterable[str]) -> str:
    """The last line that speaks of an error, else the last one: Node ends a crash with its version, not with the error."""
    said = [line for line in lines if line.strip()] or [""]
    errors = [line for line in said if not line[0].isspace() and _ERROR.search(line)]
    return (errors or said)[-1].strip()[:200]
