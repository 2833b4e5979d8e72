"""``info``, ``ping``, and the lists: who is there, how far away, and everything that it offers."""

from __future__ import annotations

import statistics

from mcp_tui.cli import session as sessions
from mcp_tui.cli.call import status_of, told_status
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure
from mcp_tui.cli.printer import summary
from mcp_tui.cli.session import HeadlessSession
from mcp_tui.client.catalogue import LISTS, ListFailed, every
from mcp_tui.client.connection import ServerInfo
from mcp_tui.protocol.events import Connected, Pollution
from mcp_tui.protocol.messages import Json, as_list, as_object
from mcp_tui.protocol.requests import State
from mcp_tui.tui.view.text import clean


def run(name: str, given: Words) -> int:
    """Run the command; the exit status."""
    if name in LISTS:
        return sessions.run(given, lambda session: _list(session, name))
    if name == "info":
        return sessions.run(given, _info)
    if given.options.count < 1:
        raise Failure("--count must be at least 1.")
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
    lines = {
        **fields,
        "server": f"{info.title or info.name} {info.version}".strip(),
        "capabilities": ", ".join(info.capabilities),
        "started": f"{started:.2f} s",
    }
    for name, value in lines.items():
        if value:
            session.printer.out(f"{name:<13}{clean(str(value), newlines=True)}")
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
            "median": round(statistics.median(times), 6),
        }
        session.printer.value(made)
    elif len(times) > 1:
        low, middle, high = min(times), statistics.median(times), max(times)
        session.printer.out(f"min {low * 1000:.2f}  median {middle * 1000:.2f}  max {high * 1000:.2f} ms")
    return 0


async def _list(session: HeadlessSession, name: str) -> int:
    try:
        entries = await every(session.client, name)
    except ListFailed as failed:
        if failed.why:
            session.printer.say(f"mcp-tui: Invalid list from the server: {failed.why}.")
            return Exit.SERVER_ERROR
        text = summary(failed.row, session.client.now())
        session.printer.say(f"mcp-tui: {LISTS[name][0]} {text}")
        return told_status(session, failed.row)
    if session.printer.json:
        session.printer.value(entries)
        return 0
    for entry in entries:
        session.printer.out(_line(name, entry))
    if not entries:
        session.printer.say(f"No {name} on this server.")
    return 0


def _line(name: str, entry: dict[str, Json]) -> str:
    title = entry.get({"resources": "uri", "templates": "uriTemplate"}.get(name, ""))
    head = str(title or entry.get("name") or "")
    if name == "tools":
        schema = as_object(entry.get("inputSchema"))
        required = as_list(schema.get("required"))
        head += "".join(
            f" {each}" if each in required else f" [{each}]" for each in as_object(schema.get("properties"))
        )
    described = entry.get("description") or entry.get("title") or (entry.get("name") if title else "")
    first = str(described or "").strip().partition("\n")[0]
    return clean(f"{head:<28}  {first}".rstrip())
