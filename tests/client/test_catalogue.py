"""Lists, page by page, over a socket: cursors are opaque, and a server may give any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_tui.client.catalogue import PAGES, ListFailed, Lists, every
from mcp_tui.client.client import Client
from mcp_tui.protocol import events as ev
from tests.client.connected import serving
from tests.servers.http_scripted import Call, Script, served

Pages = Callable[[Any], dict[str, Any] | None]


def listing(pages: Pages) -> Script:
    """A modern server whose pages depend on the params; ``None`` is an error."""

    async def work(call: Call) -> None:
        page = pages(call.message["params"])
        if page is None:
            body = b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"no such page"}}' % call.id
            await call.respond(200, body, "application/json")
        else:
            await call.answer({"resultType": "complete", **page})

    return served("2026-07-28", work)


async def listed(pages: Pages) -> tuple[list[str], list[Any], list[ev.Violation]]:
    """The names, the cursors that were asked for, and the violations."""
    async with serving(listing(pages)) as (server, client, told):
        entries = await every(client, "tools")
        asked = [call.message["params"].get("cursor") for call in server.calls if call.rpc.endswith("/list")]
    return [str(entry["name"]) for entry in entries], asked, told.of(ev.Violation)


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}}


async def test_every_page_is_asked_for():
    pages: dict[Any, dict[str, Any]] = {
        None: {"tools": [tool("a")], "nextCursor": "p 2"},
        "p 2": {"tools": [tool("b"), tool("c")], "nextCursor": "p 3"},
        "p 3": {"tools": [tool("d")]},
    }
    names, asked, violations = await listed(lambda params: pages[params.get("cursor")])
    assert names == ["a", "b", "c", "d"]
    assert asked == [None, "p 2", "p 3"]
    assert violations == []


@pytest.mark.parametrize("cursor", ["again", ""])
async def test_a_cursor_that_comes_again_ends_the_list_and_is_told(cursor: str):
    names, asked, violations = await listed(lambda _: {"tools": [tool("a")], "nextCursor": cursor})
    assert names == ["a", "a"]
    assert asked == [None, cursor]
    assert [each.rule for each in violations] == ["repeated-cursor"]


@pytest.mark.slow
async def test_a_list_without_end_is_ended_and_told():
    def pages(params: Any) -> dict[str, Any]:
        page = int(params.get("cursor", 0))
        return {"tools": [tool(f"t{page}")], "nextCursor": str(page + 1)}

    names, asked, violations = await listed(pages)
    assert (len(names), len(asked)) == (PAGES, PAGES)
    assert [each.detail for each in violations] == [
        "tools/list has more than 1,000 pages; the rest is not requested"
    ]


async def test_a_list_that_changed_while_it_was_read_is_read_again():
    reads: list[Client] = []

    def pages(_: Any) -> dict[str, Any]:
        if len(reads) == 1:
            reads[0].ledger.emit(ev.Disconnected(at=0.0, detail="gone", expected=False, after=None, ids=()))
            reads[0].ledger.emit(ev.Notified(at=0.0, method="notifications/tools/list_changed"))
        reads.append(reads[0])
        return {"tools": [tool("a")], "ttlMs": 60_000}

    async with serving(listing(pages)) as (server, client, _):
        reads.append(client)
        lists = Lists(client)
        for _ in range(3):
            await lists.read("tools")
        assert [call.rpc for call in server.calls].count("tools/list") == 2


async def test_a_page_that_fails_fails_the_list():
    def pages(params: Any) -> dict[str, Any] | None:
        return None if "cursor" in params else {"tools": [tool("a")], "nextCursor": "2"}

    with pytest.raises(ListFailed) as failed:
        await listed(pages)
    assert failed.value.row.code == -32603
    assert "no such page" in str(failed.value)
