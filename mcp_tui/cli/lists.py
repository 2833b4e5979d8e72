"""``tools``, ``resources``, ``templates``, ``prompts``: everything that a server lists, every page."""

from __future__ import annotations

from mcp_tui.cli import session as sessions
from mcp_tui.cli.call import told_status
from mcp_tui.cli.grammar import Usage, Words, two_urls
from mcp_tui.cli.output import summary
from mcp_tui.cli.session import HeadlessSession
from mcp_tui.cli.status import Exit
from mcp_tui.client.catalogue import LISTS, ListFailed, every
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.tui.view.text import clean


def run(name: str, given: Words) -> int:
    """Run the command; the exit status."""
    if given.words:
        two_urls(given.words[0])
        text = f"mcp-tui: {name} takes no {given.words[0]!r}; a server's command stands behind --"
        raise Usage(text)
    return sessions.run(given, lambda session: _list(session, name))


async def _list(session: HeadlessSession, name: str) -> int:
    try:
        entries = await every(session.client, name)
    except ListFailed as failed:
        if failed.why:
            session.printer.say(f"mcp-tui: {failed.why}: that is for the server to mend")
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
        session.printer.say(f"the server lists no {name}")
    return 0


def _line(name: str, entry: dict[str, Json]) -> str:
    title = (
        entry.get("uri") if name == "resources" else entry.get("uriTemplate") if name == "templates" else None
    )
    head = str(title or entry.get("name") or "")
    if name == "tools":
        schema = as_object(entry.get("inputSchema"))
        required = schema.get("required")
        head += "".join(
            f" {each}" if isinstance(required, list) and each in required else f" [{each}]"
            for each in as_object(schema.get("properties"))
        )
    described = entry.get("description") or entry.get("title") or (entry.get("name") if title else "")
    first = str(described or "").strip().partition("\n")[0]
    return clean(f"{head:<28}  {first}".rstrip())
