"""``info`` and ``ping``: who is there, and how far away."""

from __future__ import annotations

import json
import statistics

from mcp_tui.cli import session as sessions
from mcp_tui.cli.call import status_of
from mcp_tui.cli.grammar import Usage, Words, two_urls
from mcp_tui.cli.output import summary
from mcp_tui.cli.session import HeadlessSession
from mcp_tui.client.connection import ServerInfo
from mcp_tui.protocol.events import Connected, Pollution
from mcp_tui.protocol.requests import State


def run(name: str, given: Words) -> int:
    """Run the command; the exit status."""
    if given.words:
        two_urls(given.words[0])
        text = f"mcp-tui: Unexpected argument {given.words[0]!r}. Put the server command after --"
        raise Usage(text)
    if name == "info":
        return sessions.run(given, _info)
    if given.options.count < 1:
        text = "mcp-tui: --count must be at least 1"
        raise Usage(text)
    return sessions.run(given, _ping)


async def _info(session: HeadlessSession) -> int:
    info, log = session.client.info, session.client.store.log
    if info is None:
        return 0
    connected = next((event.at for event in log if isinstance(event, Connected)), log[0].at)
    started = connected - log[0].at
    fields = {**_fields(info), "started": round(started, 3), **_said(session)}
    if session.printer.json:
        session.printer.value(fields)
        return 0
    fields["started"] = f"{started:.2f} s"
    for name, value in fields.items():
        if isinstance(value, dict):
            shown = ", ".join(str(key) for key in value) if name == "capabilities" else json.dumps(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        else:
            shown = "" if value is None else str(value)
        if name == "server":
            shown = f"{info.title or info.name} {info.version}".strip()
        if shown:
            from mcp_tui.tui.view.text import clean

            session.printer.out(f"{name:<13}{clean(shown, newlines=True)}")
    return 0


def _fields(info: ServerInfo) -> dict[str, object]:
    return {
        "transport": info.transport,
        "revision": info.revision.name,
        "server": {"name": info.name, "version": info.version, "title": info.title or None},
        "capabilities": info.capabilities,
        "instructions": info.instructions or None,
        "pid": info.pid,
    }


def _said(session: HeadlessSession) -> dict[str, object]:
    """What the server wrote beside messages: lines on stdout, which it must not, and its last line on stderr."""
    noise = [event.line for event in session.client.store.log if isinstance(event, Pollution)]
    last = next((line for line in reversed(session.client.stderr_tail) if line.strip()), None)
    stdout = None
    if noise:
        count = "1 line is not a message" if len(noise) == 1 else f"{len(noise)} lines are not messages"
        stdout = f"{count} (a MUST is broken): {noise[0][:200]}"
    return {"stdout": stdout, "stderr": last}


async def _ping(session: HeadlessSession) -> int:
    client = session.client
    revision = client.revision
    method = "server/discover" if revision is not None and revision.modern else "ping"
    times: list[float] = []
    for _ in range(session.given.options.count):
        id_ = client.call(method, {} if method != "ping" else None, internal=True)
        await client.wait(id_)
        row = client.book.get(id_)
        if row is None:
            raise KeyError(id_)
        if row.state is not State.COMPLETED:
            session.printer.say(f"mcp-tui: {method} {summary(row, client.now())}")
            return status_of(session, row)
        times.append(row.elapsed(client.now()))
        if not session.printer.json:
            session.printer.out(f"{method}: {times[-1] * 1000:.2f} ms")
    if session.printer.json:
        made = {
            "method": method,
            "seconds": [round(each, 6) for each in times],
            "median": statistics.median(times),
        }
        session.printer.value(made)
    elif len(times) > 1:
        low, middle, high = min(times), statistics.median(times), max(times)
        session.printer.out(f"min {low * 1000:.2f}  median {middle * 1000:.2f}  max {high * 1000:.2f} ms")
    return 0
