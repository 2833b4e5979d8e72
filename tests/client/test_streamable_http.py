"""The whole client over HTTP, on servers that use every freedom: when streams end, what comes where, in which form."""

from __future__ import annotations

import asyncio
import base64
import re
from typing import Any

import pytest

from mcp_tui.client import Client, ClientSettings, HttpTarget
from mcp_tui.client.catalogue import every
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence, messages
from mcp_tui.protocol.requests import Request, State
from mcp_tui.transport.base import Challenge, TransportError, Unauthorized
from tests.client.connected import HANG, serving
from tests.servers.http_scripted import RPC_ERROR, Call, HttpScript, Script, served
from tests.waiting import until

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"


def as_of(revision: str) -> ClientSettings:
    return ClientSettings(protocol=revision, grace=0.1)


async def call(made: Client, name: str = "tool", **arguments: Any) -> Request:
    """Call a tool and wait for what becomes of it."""
    id_ = made.call_tool(name, arguments)
    async with asyncio.timeout(HANG):
        await made.wait(id_)
    row = made.requests.get(id_)
    assert row is not None
    return row


def result(id: Any, text: str = "done") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}}


@pytest.mark.parametrize("streams", [False, True], ids=["body", "stream"])
async def test_of_a_large_answer_the_outline_is_made_while_it_comes(
    streams: bool, monkeypatch: pytest.MonkeyPatch
):
    async def work(to: Call) -> None:
        if streams:
            await to.stream()
            await to.event(result(to.id, "x" * 4_000_000))
            await to.end()
        else:
            await to.answer(result(to.id, "x" * 4_000_000)["result"])

    outlines: list[bytes | None] = []
    parse = messages.parse

    def parsed(raw: bytes, outline: bytes | None = None) -> Any:
        outlines.append(outline)
        return parse(raw, outline)

    async with serving(served("2025-11-25", work), as_of("2025-11-25")) as (_, made, _):
        monkeypatch.setattr(messages, "parse", parsed)
        id_ = made.call_tool("tool", {})
        async with asyncio.timeout(HANG):
            found = await made.result(id_)
    assert found == result(id_, "x" * 4_000_000)["result"]
    assert 0 < len(outlines[0] or b"") < 2_000_000


# -- cancels ---------------------------------------------------------------------------------------------------


async def test_c36_a_cancel_while_the_stream_is_away_is_posted_and_nothing_is_polled():
    polled: list[str] = []

    async def work(to: Call) -> None:
        await to.stream()
        await to.chunk(b"id: prime\nretry: 200\ndata:\n\n")
        await to.end()

    async def listen(to: Call) -> None:
        if "last-event-id" in to.headers:
            polled.append(to.headers["last-event-id"])
        await to.respond(405)

    async with serving(served(HANDSHAKE, work, listen), as_of(HANDSHAKE)) as (server, made, told):
        id_ = made.call_tool("tool", {})
        await until(lambda: "resuming in" in told.notes())
        made.cancel(id_)
        cancel = await server.until(lambda to: to.rpc == "notifications/cancelled")
        assert cancel.message["params"]["requestId"] == id_
        row = made.requests.get(id_)
        assert row is not None
        await until(lambda: row.accepted_at is not None)
        accepted = "sent, accepted by a server without sessions"
        seen = f"{accepted}; nothing more can be seen; its stream was closed and is not resumed"
        assert evidence.summary_words(row, made.now() + 9.0) == seen
        assert (
            await call(made, "other")
        ).state is not State.COMPLETED  # that one is polled for, once, and refused
        assert len(polled) == 1


@pytest.mark.parametrize(
    ("status", "said"),
    [*((status, f"HTTP {status}") for status in (400, 401, 403, 503)), (200, "error -32600 Bad Request")],
)
async def test_c32_a_cancel_that_is_refused_is_undelivered_and_the_next_call_works(status: int, said: str):
    async def work(to: Call) -> None:
        if to.message["params"]["name"] == "silent":
            await to.disconnected()
        else:
            await to.answer(result(to.id)["result"])

    script = served(HANDSHAKE, work)

    async def refusing(to: Call) -> None:
        if to.rpc == "notifications/cancelled":
            await to.respond(status, RPC_ERROR, "application/json")
        else:
            await script(to)

    async with serving(refusing, as_of(HANDSHAKE)) as (server, made, told):
        id_ = made.call_tool("silent", {})
        row = made.requests.get(id_)
        assert row is not None
        await until(lambda: row.sent_at is not None)
        made.cancel(id_)
        await until(lambda: row.undelivered)
        assert (row.state, row.undelivered) == (State.CANCEL_REQUESTED, said)
        assert (row.signal, row.accepted_at) == (ev.Signal.NOTIFICATION, None)
        assert await made.wait(id_) is None
        assert (await call(made, "ok")).state is State.COMPLETED
        assert made.connected
        assert not told.of(ev.Disconnected)
    cancels = [to for to in server.calls if to.rpc == "notifications/cancelled"]
    assert [to.message["params"]["requestId"] for to in cancels] == [id_], "it is not sent again"


# -- headers that mirror arguments (2026-07-28) ----------------------------------------------------------------


async def test_annotated_arguments_are_mirrored_and_invalid_annotations_are_left_out_with_a_warning():
    schema = {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "where": {"type": "object", "properties": {"row": {"type": "integer", "x-mcp-header": "Row"}}},
            "dry": {"type": "boolean", "x-mcp-header": "Dry"},
            "plain": {"type": "string"},
        },
    }
    broken = {"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "A"}}}
    tools = [{"name": "good", "inputSchema": schema}, {"name": "bad", "inputSchema": broken}]

    async def work(to: Call) -> None:
        if to.rpc == "tools/list":
            await to.answer({"resultType": "complete", "tools": tools})
        else:
            await to.answer({"resultType": "complete", "content": []})

    async with serving(served(MODERN, work), as_of(MODERN)) as (server, made, told):
        assert [tool["name"] for tool in await every(made, "tools")] == ["good"]
        assert "bad" in told.notes() + "".join(each.detail for each in told.of(ev.Violation))
        await call(made, "good", region="us-west1", where={"row": 7}, dry=False, plain="not this")
        await call(made, "good", region="Zürich ☕")
        await call(made, "good", region=None, dry=True)
    first, second, third = (to.headers for to in server.calls if to.rpc == "tools/call")
    assert [first.get(f"mcp-param-{name}") for name in ("region", "row", "dry", "plain")] == [
        "us-west1",
        "7",
        "false",
        None,
    ]
    encoded = base64.b64encode("Zürich ☕".encode()).decode()
    assert second["mcp-param-region"] == f"=?base64?{encoded}?="
    assert "mcp-param-row" not in second
    assert "mcp-param-region" not in third
    assert third["mcp-param-dry"] == "true"
    assert {each["mcp-name"] for each in (first, second, third)} == {"good"}


async def test_what_http_said_is_kept_of_those_that_were_not_authorized_alone():
    async def work(to: Call) -> None:
        status = to.message["params"]["arguments"]["status"]
        if status == 200:
            await to.answer(result(to.id)["result"])
        else:
            await to.respond(status)

    async with serving(served("2025-11-25", work), as_of("2025-11-25")) as (_, made, _):
        rows = {status: await call(made, status=status) for status in (200, 403, 500)}
        assert [row.state.value for row in rows.values()] == ["completed", "failed", "failed"]
        assert {id_: refusal.status for id_, refusal in made.refusals.items()} == {rows[403].id: 403}


async def test_a_refused_end_of_the_handshake_asks_for_one_token_and_no_second_one(
    monkeypatch: pytest.MonkeyPatch,
):
    asked: list[Challenge] = []

    async def authorized(challenge: Challenge) -> bool:
        asked.append(challenge)
        return True

    async def script(call: Call) -> None:
        if call.rpc == "notifications/initialized":
            await call.respond(401)
        else:
            await served("2025-11-25", call.answer)(call)

    async with HttpScript(script) as server:
        made = Client(HttpTarget(url=server.url), as_of("2025-11-25"))
        monkeypatch.setattr(made.deferred, "authorized", authorized)
        with pytest.raises(Unauthorized, match=r"refused at notifications/initialized: .*HTTP 401"):
            await made.connect()
        await made.close()
    assert [call.rpc for call in server.calls].count("notifications/initialized") == 2
    assert len(asked) == 1


MISSING = b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Missing session ID"}}'
NO_SUCH = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no such method"}}'


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        # aiohttp-mcp 0.7.0 (PyPI) gives no session id, and then asks for one
        (400, MISSING, "HTTP 400 .*Missing session ID.*The server asks for a session id, but gave none"),
        (500, b"", "HTTP 500"),
    ],
)
async def test_a_handshake_that_was_refused_is_no_start(status: int, body: bytes, said: str):
    async def script(call: Call) -> None:
        if call.rpc == "notifications/initialized":
            await call.respond(status, body, "application/json")
        else:
            await served("2025-11-25", call.answer)(call)

    async with HttpScript(script) as server:
        made = Client(HttpTarget(url=server.url), as_of("2025-11-25"))
        with pytest.raises(TransportError, match=f"refused at notifications/initialized: .*{said}"):
            await made.connect()
        assert made.info is None
        await made.close()


async def test_refused_notifications_of_a_server_without_sessions_are_said_as_that():
    async def script(call: Call) -> None:
        match call.rpc:
            case "notifications/initialized":  # an error with 200, as many a server answers: it goes on
                await call.respond(200, NO_SUCH, "application/json")
            case "notifications/roots/list_changed" | "ping":
                await call.respond(400, MISSING, "application/json")
            case "tools/call":
                await call.disconnected()
            case _:
                await served("2025-11-25", call.answer)(call)

    async with serving(script, as_of("2025-11-25")) as (_, made, told):
        violations = [each.detail for each in told.of(ev.Violation)]
        (said,) = violations
        assert said.startswith(
            "HTTP 200 with error -32601 no such method in answer to notifications/initialized"
        )
        made.notify("notifications/roots/list_changed")
        await until(lambda: bool(told.of(ev.Degraded)))
        assert "notifications/roots/list_changed was refused: " in told.of(ev.Degraded)[0].detail
        await made.request("ping")
        assert "asks for a session id, but gave none" in told.of(ev.Degraded)[-1].detail
        id_ = made.call_tool("tool", {})
        await until(lambda: made.ledger.row(id_).sent_at is not None)
        made.cancel(id_)
        await until(lambda: made.ledger.row(id_).accepted_at is not None)
        said = evidence.delivery_words(made.ledger.row(id_), made.now())
        # mcp-handler, xmcp, mcp-lite (npm), and gradio (PyPI) accept a cancel that reaches no call
        assert said == "sent, accepted by a server without sessions"


# -- servers of the registries, as they were seen ---------------------------------------------------------------

NO_METHOD = b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"Method not found"}}'


async def refuses_the_handshake(call: Call) -> None:
    await call.respond(200, NO_METHOD % call.id, "application/json")


async def offers_an_older_one(call: Call) -> None:
    asked = call.message["params"]["protocolVersion"]
    await call.answer(
        {"protocolVersion": asked if asked <= "2025-06-18" else "2025-03-26", "capabilities": {}}
    )


@pytest.mark.parametrize(
    ("initialize", "asked", "came"),
    [
        # flask-mcp-server (PyPI) answers initialize, tools/list, and tools/call with -32601
        (refuses_the_handshake, "auto", r"refused initialize: Method not found \(error -32601\)"),
        # mcp-lite 0.10.0 (npm) offers 2025-06-18, and answers 2025-03-26 when it is asked for a newer one
        (offers_an_older_one, "auto", "2025-03-26"),
        (offers_an_older_one, "2025-06-18", "2025-06-18"),
    ],
)
async def test_a_handshake_of_a_real_server_has_its_sentence_or_its_version(
    initialize: Script, asked: str, came: str
):
    async def script(call: Call) -> None:
        match call.rpc:
            case "server/discover":
                await call.respond(404)
            case "initialize":
                await initialize(call)
            case _:  # @hono/mcp 0.3.2 (npm) answers each notification with a 202 whose body is null
                await call.respond(202, b"null", "application/json")

    async with HttpScript(script) as server:
        made = Client(HttpTarget(url=server.url), ClientSettings(protocol=asked))
        told: list[ev.Event] = []
        made.listen(told.append)
        try:
            name = (await made.connect()).revision.name
        except TransportError as error:
            name = str(error)
        assert re.search(came, name), name
        assert not [each for each in told if isinstance(each, (ev.Violation, ev.Degraded))]
        await made.close()
