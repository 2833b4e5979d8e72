"""What a server offers: lists, page by page.

A cursor is opaque and an empty string is a valid one (pagination, 2026-07-28); a cursor that comes a second time would
loop for ever and is told as a violation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from mcp_tui.client.mirroring import InvalidAnnotation, header_annotations
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.messages import Json, ResponseFrame, as_object

if TYPE_CHECKING:
    from mcp_tui.client.client import Client
    from mcp_tui.protocol.requests import Request

LISTS: Final = {
    "tools": ("tools/list", "tools", "tools"),
    "resources": ("resources/list", "resources", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates", "resources"),
    "prompts": ("prompts/list", "prompts", "prompts"),
}
"""What can be listed: the method, the member of its result, and the capability that a server declares for it."""


class ListFailed(Exception):
    """A page did not come. ``row`` is its request, with all that is known of it."""

    def __init__(self, row: Request) -> None:
        super().__init__(row.error or row.reason or row.state.value)
        self.row = row


async def every(
    client: Client, what: str, *, limits: ev.Limits | None = None, own: bool = True
) -> list[dict[str, Json]]:
    """All entries of one of :data:`LISTS`, every page, as the server sent them; what is no object is left out.

    Raises:
        ListFailed: a page failed, timed out, was cancelled or lost.
    """
    method, member, _ = LISTS[what]
    entries: list[dict[str, Json]] = []
    seen: set[str] = set()
    params: dict[str, Json] = {}
    while True:
        id_ = client.call(method, params or None, limits=limits, own=own)
        frame = await client.wait(id_)
        page = _result(client, id_, frame)
        items = page.get(member)
        if isinstance(items, list):
            entries.extend(as_object(item) for item in cast("list[Json]", items) if isinstance(item, dict))
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str):
            break
        if cursor in seen:
            text = f"{method} gave the cursor {cursor[:40]!r} twice"
            client.tell(ev.Violation(at=client.now(), rule="repeated-cursor", detail=text, id=id_))
            break
        seen.add(cursor)
        params = {"cursor": cursor}
    return _usable(client, entries) if what == "tools" else entries


def _usable(client: Client, tools: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """The tools without those whose header annotations are invalid, and the annotations of the others noted.

    Only over HTTP in 2026-07-28; a tool that is left out is told as a violation (streamable HTTP, 2026-07-28).
    """
    for tool in tools:
        support = as_object(tool.get("execution")).get("taskSupport")
        client.task_support[str(tool.get("name"))] = support if isinstance(support, str) else "forbidden"
    revision = client.revision
    if revision is None or not revision.method_headers or client.ledger.transport != "http":
        return tools
    kept: list[dict[str, Json]] = []
    for tool in tools:
        name = str(tool.get("name"))
        try:
            client.mirrors[name] = header_annotations(tool.get("inputSchema"))
        except InvalidAnnotation as error:
            text = f"the tool {name!r} is left out: {error}"
            client.tell(ev.Violation(at=client.now(), rule="header-annotation", detail=text))
        else:
            kept.append(tool)
    return kept


def _result(client: Client, id_: ev.RequestId, frame: ResponseFrame | None) -> dict[str, Json]:
    if frame is None or frame.error is not None:
        row = client.book.get(id_)
        if row is None:
            raise KeyError(id_)
        raise ListFailed(row)
    return as_object(frame.result)


def offers(client: Client, what: str) -> bool:
    """Whether the server declared the capability that a list needs."""
    return client.info is not None and LISTS[what][2] in client.info.capabilities
