"""The lists of a server: tools, resources, resource templates, and prompts, read page by page.

A cursor is opaque, and an empty string is valid (pagination, 2026-07-28). Everything that may make a list shorter
than the server intended is reported as a violation: a repeated cursor, one that is not a string, endless pages, and
entries that are not objects.
"""

from __future__ import annotations

from typing import Final

from mcp_tui.client.client_port import Requester
from mcp_tui.client.connection import InvalidAnnotation, header_annotations
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.errors import McpError
from mcp_tui.protocol.evidence import ended, failure
from mcp_tui.protocol.messages import Json, ResponseFrame, as_list, as_object, number
from mcp_tui.protocol.requests import Request

LISTS: Final = {
    "tools": ("tools/list", "tools", "tools"),
    "resources": ("resources/list", "resources", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates", "resources"),
    "prompts": ("prompts/list", "prompts", "prompts"),
}
"""The lists: the method, the member of its result, and the capability that a server declares for it."""


CHANGED_LISTS: Final = {
    "notifications/tools/list_changed": ("tools",),
    "notifications/resources/list_changed": ("resources", "templates"),
    "notifications/prompts/list_changed": ("prompts",),
}
"""The list that each notification reports as changed."""


PAGES: Final = 1000
"""The maximum number of pages of one list: a server that always returns a new cursor has no last page."""


class ListFailed(McpError):
    """A page that failed: ``tools/list failed: database is down (error -32603)``.

    ``row`` is its request; ``why`` says what its answer lacks. A list that failed is not an empty list.
    """

    def __init__(self, row: Request, why: str = "") -> None:
        state = ended(row)
        text = failure(row) if state == "failed" else row.error or row.reason
        super().__init__(why or f"{row.method} {state.replace('_', ' ')}{f': {text}' if text else ''}")
        self.row = row
        self.why = why


async def every(client: Requester, what: str) -> list[dict[str, Json]]:
    """Returns all entries of one of :data:`LISTS`, every page, as the server sent them; values that are not objects are
    left out.

    Raises:
        ListFailed: a page failed, timed out, was cancelled or lost, or has no list.
    """
    return (await _read(client, what))[0]


async def _read(client: Requester, what: str) -> tuple[list[dict[str, Json]], float]:
    """Returns the same, and the time in seconds for which it may be cached; 0 if the server gives no valid time."""
    method, member, _ = LISTS[what]
    entries: list[dict[str, Json]] = []
    cursors: set[str] = set()
    params: dict[str, Json] = {}
    life = float("inf")
    while True:
        row = await client.begin(method, params or None, internal=True)
        id_ = row.id
        page = _result(row, await client.wait(id_), member)
        life = min(life, max(0.0, number(page.get("ttlMs")) or 0.0) / 1000)
        items = as_list(page.get(member))
        objects = [as_object(item) for item in items if isinstance(item, dict)]
        entries += objects
        if len(objects) < len(items):
            left_out = f"skipped {len(items) - len(objects)} of {len(items)} {what} that are not objects"
            _violation(client, "malformed-entry", f"{method}: {left_out}", id_)
        cursor = page.get("nextCursor")
        if cursor is None:
            break
        if not isinstance(cursor, str):
            text = f"the cursor {str(cursor)[:40]} is not a string, so no further page is requested"
            _violation(client, "malformed-cursor", f"{method} gave {text}", id_)
            break
        if cursor in cursors:
            _violation(client, "repeated-cursor", f"{method} gave the cursor {cursor[:40]!r} twice", id_)
            break
        cursors.add(cursor)
        if len(cursors) == PAGES:
            text = f"{method} has more than {PAGES:,} pages; the rest is not requested"
            _violation(client, "endless-list", text, id_)
            break
        params = {"cursor": cursor}
    return (_usable(client, entries) if what == "tools" else entries), life


def _violation(client: Requester, rule: str, text: str, id_: ev.RequestId | None = None) -> None:
    client.report(ev.Violation(at=client.now(), rule=rule, detail=text, id=id_))


def _usable(client: Requester, tools: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """Returns the tools without those with invalid header annotations, and stores the annotations of the others.

    This applies only to HTTP in 2026-07-28. A tool that is left out is reported as a violation (streamable HTTP,
    2026-07-28).
    """
    for tool in tools:
        support = as_object(tool.get("execution")).get("taskSupport")
        client.task_support[str(tool.get("name"))] = support if isinstance(support, str) else "forbidden"
    info = client.info
    if info is None or not info.revision.method_headers or info.transport != "http":
        return tools
    kept: list[dict[str, Json]] = []
    for tool in tools:
        name = str(tool.get("name"))
        try:
            client.mirrors[name] = header_annotations(tool.get("inputSchema"))
        except InvalidAnnotation as error:
            _violation(client, "header-annotation", f"skipped the tool {name!r}: {error}")
        else:
            kept.append(tool)
    return kept


def _result(row: Request, frame: ResponseFrame | None, member: str) -> dict[str, Json]:
    if frame is None or frame.error is not None:
        raise ListFailed(row)
    page = as_object(frame.result)
    items = page.get(member)
    if items and not isinstance(items, list):  # Some languages write null or {} for an empty list.
        raise ListFailed(row, f"the response to {row.method} has no list {member!r}")
    return page


def offers(client: Requester, what: str) -> bool:
    """Whether the server declared the capability that a list needs."""
    return client.info is not None and LISTS[what][2] in client.info.capabilities


def difference(before: list[dict[str, Json]], after: list[dict[str, Json]]) -> str:
    """Returns the differences between two lists in words; empty if there are none. Names are the server's, and hostile."""
    old, new = {_name(each): each for each in before}, {_name(each): each for each in after}
    changes = {
        "added": [name for name in new if name not in old],
        "removed": [name for name in old if name not in new],
        "changed": [name for name in new if name in old and old[name] != new[name]],
    }
    return ", ".join(
        f"{word} {', '.join(names[:10])}{f' and {len(names) - 10} more' if len(names) > 10 else ''}"
        for word, names in changes.items()
        if names
    )


def _name(entry: dict[str, Json]) -> str:
    return str(entry.get("uri") or entry.get("uriTemplate") or entry.get("name"))


class Lists:
    """The lists of one connection, cached as long as the server permits (caching, 2026-07-28).

    A list is read again if the server reported a change or gave no time to live, as up to 2025-11-25. The cache ends
    with the connection, so ``cacheScope`` does not matter here.
    """

    def __init__(self, client: Requester) -> None:
        self._client = client
        self._kept: dict[str, tuple[list[dict[str, Json]], float]] = {}
        client.listen(self._take)

    def _take(self, event: ev.Event) -> None:
        if isinstance(event, (ev.Connected, ev.Disconnected)):
            self._kept.clear()
        elif isinstance(event, ev.Notified):
            for kind in CHANGED_LISTS.get(event.method, ()):
                self._kept.pop(kind, None)

    async def read(self, what: str) -> list[dict[str, Json]]:
        """Returns all entries of one of :data:`LISTS`, from the cache while they are fresh, else from the server.

        Raises:
            ListFailed: a page failed, timed out, was cancelled or lost.
        """
        kept, now = self._kept.setdefault(what, ([], 0.0)), self._client.now()
        entries, until = kept
        if now >= until:
            entries, life = await _read(self._client, what)
            # Otherwise the list changed meanwhile, and some pages may be older than the change.
            if self._kept.get(what) is kept:
                self._kept[what] = entries, now + life
        return entries
