"""A session that is always the same: the real client on a scripted server and a clock that stands still between two lines.

What it brings about can be looked at on the workbench or, by way of the recording that it writes, in the replay.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from mcp_tui.client import connecting
from mcp_tui.client.client import Client
from mcp_tui.client.client_settings import ClientSettings, StdioTarget, Target
from mcp_tui.journal.records import Header
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol.events import Limits, RequestId
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.revisions import Revision
from mcp_tui.transport import base

START: Final = 1000.0
"""Monotonic seconds at which the session begins."""

WALL: Final = 1_795_262_640.0005
"""The same moment in seconds since the epoch: 2026-11-21 12:04 UTC, and half a millisecond that keeps off rounding."""

TARGET: Final = StdioTarget(command=("atlas-mcp", "--database", "shop"), name="atlas")


def _tool(
    name: str, description: str, *required: str, hint: str = "", **properties: dict[str, Any]
) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    annotations = {"annotations": {hint: True}} if hint else {}
    return {"name": name, "description": description, "inputSchema": schema, **annotations}


TEXT: Final = {"type": "string"}
NUMBER: Final = {"type": "integer", "minimum": 0}

TOOLS: Final = [
    _tool(
        "slow_sql",
        "Run one SQL statement and return its rows.",
        "statement",
        hint="readOnlyHint",
        statement={**TEXT, "description": "one statement, without a semicolon"},
        limit={**NUMBER, "default": 100, "description": "rows at most"},
        format={**TEXT, "enum": ["json", "csv", "markdown"]},
        explain={"type": "boolean"},
    ),
    _tool("count_rows", "Count the rows of a table.", "table", table=TEXT),
    _tool("crawl", "Follow links and store pages.", "url", url=TEXT),
    _tool("export_csv", "Write a table to a file.", "table", table=TEXT, path=TEXT),
    _tool("reindex", "Build every index anew."),
    _tool("drop_table", "Delete a table and all that is in it.", "table", hint="destructiveHint", table=TEXT),
    _tool("vacuum", "Give back what is not used."),
]

ANSWERS: Final[dict[str, dict[str, Any]]] = {
    "server/discover": {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {}},
        "serverInfo": {"name": "atlas-mcp", "version": "2.4.0"},
        "instructions": "Ask count_rows before you run a slow_sql.",
    },
    "tools/list": {"tools": TOOLS},
    "resources/list": {
        "resources": [
            {"uri": "atlas://schema", "name": "schema", "mimeType": "application/json"},
            {"uri": "atlas://log", "name": "log", "mimeType": "text/plain"},
        ]
    },
    "resources/templates/list": {
        "resourceTemplates": [{"uriTemplate": "atlas://table/{name}", "name": "table"}]
    },
    "prompts/list": {
        "prompts": [{"name": "explain", "arguments": [{"name": "statement", "required": True}]}]
    },
}
"""What the server answers by itself."""

FORM: Final = {
    "message": "Drop the table orders, with 1,204 rows in it?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "confirm": {"type": "boolean", "title": "I am sure"},
            "backup": {"type": "string", "enum": ["none", "dump", "snapshot"], "title": "Backup first"},
            "mail": {"type": "string", "format": "email", "title": "Tell whom"},
        },
        "required": ["confirm"],
    },
}
LINK: Final = {
    "mode": "url",
    "elicitationId": "e-1",
    "message": "Sign in to the warehouse.",
    "url": "https://login.warehouse.example/authorize?client=atlas",
}
SAMPLING: Final = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Name the three largest tables."}}],
    "systemPrompt": "You are terse.",
    "maxTokens": 200,
}


class Server:
    """The far end of one connection: it answers what it knows by itself, all else when the script says so."""

    kind = "stdio"

    def __init__(self, pid: int, *, silent: bool = False) -> None:
        self.pid: int | None = pid
        self.silent = silent
        self.sink: base.Sink = base.SILENCE
        self._closed = False

    async def open(self, sink: base.Sink) -> None:
        self.sink = sink

    def send(self, message: base.Outgoing) -> None:
        if b'"vacuum"' in message.raw:
            return  # its pipe is full from here on
        self.sink.written(message=message)
        result = ANSWERS.get(message.method)
        if message.method == "tasks/get":
            result = {"resultType": "complete", **task("working", "12 of 40 shards")}
        if message.id is not None and result is not None and not self.silent:
            self.say({"id": message.id, "result": {"resultType": "complete", **result}})

    def say(self, message: dict[str, Any]) -> None:
        self.sink.received(raw=json.dumps({"jsonrpc": "2.0", **message}).encode())

    def signal(self, message: base.Outgoing) -> None:
        self.sink.written(message=message)

    def withdraw(self, id: RequestId) -> None: ...

    def unhandled_since(self) -> float | None: ...

    def unfinished(self) -> list[base.Unfinished]:
        return []

    def release(self, id: RequestId) -> bool:
        return False

    def negotiated(self, revision: Revision) -> None: ...

    async def initialized(self, message: base.Outgoing) -> None:
        self.send(message)

    async def close(self) -> None:
        self.end("the connection was closed", expected=True)

    async def terminate(self) -> None:
        await self.close()

    def end(self, detail: str, code: int | None = None, *, expected: bool = False) -> None:
        if not self._closed:
            self._closed = True
            self.sink.closed(detail=detail, code=code, expected=expected)


def task(status: str, message: str = "") -> dict[str, Any]:
    """A task as ``tasks/get`` tells it (tasks extension, 2026-07-28)."""
    return {
        "taskId": "t-81c0",
        "status": status,
        "statusMessage": message,
        "createdAt": "2026-11-21T12:04:40Z",
        "lastUpdatedAt": "2026-11-21T12:04:52Z",
        "ttlMs": 3_600_000,
        "pollIntervalMs": 5000,
    }


class Play:
    """One session under a clock of its own. ``path`` is the recording that it writes."""

    def __init__(self, path: Path | None = None, *, silent: bool = False) -> None:
        self.time = START
        self.path = path
        self.silent = silent
        self.servers: list[Server] = []
        self.made: Client | None = None

    def now(self) -> float:
        return self.time

    @property
    def client(self) -> Client:
        assert self.made is not None
        return self.made

    @property
    def server(self) -> Server:
        return self.servers[-1]

    def make(self, target: Target) -> Client:
        """A client as the app makes one."""
        header = Header(
            id="5be1f20c9a44", wall=WALL, mono=START, app="1.0.0", target="atlas-mcp --database shop"
        )
        writer = None if self.path is None else Writer(self.path, header=header)
        settings = ClientSettings(protocol="2026-07-28")
        self.made = Client(target, settings, store=Store(writer), now=self.now)
        return self.made

    def transport(self, _client: Client, _kind: str = "") -> base.Transport:
        self.servers.append(Server(4711 + len(self.servers), silent=self.silent))
        return self.server

    def at(self, seconds: float) -> None:
        """Let the time come that many seconds after the start; what falls due on the way is done."""
        while True:
            due = self.client.ledger.deadlines.next()
            if due is None or due >= START + seconds:
                break
            self.time = max(self.time, due)
            self._tick()
        self.time = START + seconds
        self._tick()

    def _tick(self) -> None:
        self.client._tick()  # pyright: ignore[reportPrivateUsage]

    def call(self, name: str, limits: Limits | None = None, **arguments: Any) -> Request:
        id_ = self.client.call_tool(name, arguments, limits=limits or Limits())
        row = self.client.requests.get(id_)
        assert row is not None
        return row

    def result(self, row: Request, text: str, **more: Any) -> None:
        content = [{"type": "text", "text": text}]
        self.server.say({"id": row.wire_id, "result": {"resultType": "complete", "content": content, **more}})

    def error(self, row: Request, code: int, message: str) -> None:
        self.server.say({"id": row.wire_id, "error": {"code": code, "message": message}})

    def progress(self, row: Request, done: float, total: float, message: str = "") -> None:
        meta = json.loads(self.client.store.payload(row.request_seq) or b"{}")["params"]["_meta"]
        params = {
            "progressToken": meta["progressToken"],
            "progress": done,
            "total": total,
            "message": message,
        }
        self.server.say({"method": "notifications/progress", "params": params})

    def ask(self, row: Request, method: str, params: dict[str, Any]) -> None:
        asks = {"q": {"method": method, "params": params}}
        self.server.say(
            {"id": row.wire_id, "result": {"resultType": "input_required", "inputRequests": asks}}
        )

    def log(self, level: str, text: str) -> None:
        params = {"level": level, "logger": "planner", "data": text}
        self.server.say({"method": "notifications/message", "params": params})

    def stderr(self, text: str) -> None:
        self.server.sink.stderr_line(text=text)


@contextmanager
def standing(play: Play) -> Generator[None]:
    """Have clients connect to the script, and the clocks of the screen stand with its clock."""
    from mcp_tui.tui.screens.interaction import InteractionScreen

    def now(_: object) -> float:
        return play.time

    with (
        patch.object(connecting, "make_transport", play.transport),
        patch("mcp_tui.clock.origin", lambda: WALL - START),
        patch(
            "mcp_tui.transport.suspension.LATE_SECONDS", math.inf
        ),  # a busy machine is no part of the script
        patch.object(InteractionScreen, "now", now),
    ):
        yield


async def story(play: Play, connect: Callable[[], Any]) -> dict[str, Request]:
    """One working morning: with :func:`ending` every badge, by the name of its row. ``connect`` connects anew."""
    rows: dict[str, Request] = {}
    play.at(1)
    rows["lost"] = play.call("crawl", url="https://shop.example/")
    play.at(3.2)
    play.progress(rows["lost"], 41, 500, "https://shop.example/shoes")
    play.stderr("MemoryError: cannot allocate 2147483648 bytes")
    play.at(4.25)
    play.server.end("server exited with code 137", 137)
    play.at(6)
    await connect()

    play.at(8)
    rows["completed"] = play.call("count_rows", table="orders")
    play.at(8.042)
    play.result(rows["completed"], "1204", structuredContent={"table": "orders", "rows": 1204})
    rows["tool error"] = play.call("count_rows", table="ordres")
    play.at(8.051)
    play.result(rows["tool error"], "there is no table ordres; did you mean orders?", isError=True)
    rows["failed"] = play.call("export_csv", table="orders", path="/root/orders.csv")
    play.at(8.3)
    play.error(rows["failed"], -32602, "path is outside of the export folder")

    play.at(11)
    rows["late"] = play.call("slow_sql", statement="select * from orders join items using (id)", limit=5)
    play.at(12.5)
    play.progress(rows["late"], 1, 4, "reading orders")
    play.log("info", "plan: hash join, 41,203 rows estimated")
    play.at(14.2)
    play.client.cancel(rows["late"].id, reason="wrong table")
    play.at(15)
    play.progress(rows["late"], 2, 4, "reading items")
    play.at(16.112)
    found = [{"id": number, "total": number * 1250, "customer": f"c-{number:04}"} for number in range(1, 6)]
    play.result(rows["late"], json.dumps({"rows": found}), structuredContent={"rows": found})

    play.at(18)
    rows["timed out"] = play.call(
        "export_csv", Limits(timeout=5, max_timeout=60), table="items", path="items.csv"
    )
    play.at(19.5)
    play.progress(rows["timed out"], 10, 100)
    play.at(25)
    rows["cancelled"] = play.call("crawl", url="https://shop.example/archive")
    play.at(27)
    play.client.cancel(rows["cancelled"].id, reason="too many pages")

    play.at(64)
    play.server.sink.received(raw=b"connecting to postgres://shop ...")
    rows["task"] = play.call("reindex")
    play.at(64.2)
    play.server.say({"id": rows["task"].wire_id, "result": {"resultType": "task", **task("working")}})
    play.at(66)
    rows["overdue"] = play.call(
        "crawl", Limits(timeout=10, max_timeout=None, ask=60), url="https://shop.example/blog"
    )
    play.at(70)
    rows["waiting"] = play.call("drop_table", table="orders")
    play.at(70.4)
    play.ask(rows["waiting"], "elicitation/create", FORM)
    await asyncio.sleep(0)
    play.at(72)
    rows["in flight"] = play.call(
        "slow_sql", statement="select count(*) from items group by shop", format="csv"
    )
    play.at(74)
    play.progress(rows["in flight"], 37, 100, "grouping")
    play.log("warning", "no index on items.shop")
    play.at(76.5)
    return rows


def ending(play: Play, rows: dict[str, Request]) -> None:
    """The last moments of :func:`story`, after the question about what is overdue was put."""
    play.at(77.6)
    rows["cancelling"] = play.call("slow_sql", statement="select 1")
    play.at(78.1)
    play.client.cancel(rows["cancelling"].id, reason="typed the wrong thing")
    rows["queued"] = play.call("vacuum")
    play.at(79.35)
