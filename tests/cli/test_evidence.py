"""What is said of a cancel agrees with what the server did, for servers whose time is the test's (issue 12)."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from typing import Any

import pytest

from mcp_tui.cli.output import Exit
from mcp_tui.client import ClientSettings, HttpTarget
from mcp_tui.journal.files import journal_folder
from mcp_tui.protocol import evidence
from mcp_tui.protocol.events import Signal
from tests.cli.running import HANDSHAKE, HANG, SERVERS, Command, Ran, run, running, scripted
from tests.client.connected import client
from tests.control import Control
from tests.servers.http_scripted import Call, HttpScript, is_rpc

RESULT = '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}'
NAMELESS = '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Bad Request"}}'
NUMBER = '{"jsonrpc":"2.0","id":ID,"result":3}'
WORDED = '{"jsonrpc":"2.0","id":ID,"error":"no"}'
NAN = '{"jsonrpc":"2.0","id":ID,"result":{"content":[],"n":NaN}}'


def words(control: Control, when: str, *steps: str) -> tuple[str, ...]:
    """A call of the tool of ``late_server.py`` that takes these steps."""
    server = (sys.executable, "-S", str(SERVERS / "late_server.py"), when, *steps)
    return "call", "odd", *control.options, "--", *server


async def cancelled(control: Control, *steps: str) -> tuple[Ran, dict[str, Any]]:
    """Cancel such a call, watch on until the server ends; what was printed, and the entry of the log."""
    control.release("odd")
    options = ("--json", "--protocol", HANDSHAKE, "--cancel-after", "0.1", "--linger", "600")
    command, subject, *rest = words(control, "cancel", *steps)
    ran = await running(command, subject, *options, *rest)
    assert ran.status == Exit.CANCELLED, ran
    assert (await control.came("cancelled"))["id"] == ran.outcome["id"]
    (entry,) = json.loads((await running("log", "--json")).out)
    for name in ("signal", "delivery", "late", "reason_delivered"):
        assert entry[name] == ran.outcome[name], name
    return ran, entry


# -- on stdio --------------------------------------------------------------------------------------------------


async def test_an_error_without_an_id_after_a_cancel_leaves_the_late_result_the_first(control: Control):
    ran, entry = await cancelled(control, NAMELESS, RESULT, "exit 0")
    assert [each["kind"] for each in ran.outcome["late"]] == ["result"]
    (unknown,) = ran.of("unknown")
    assert (unknown["response_id"], unknown["id_type"], unknown["code"]) == (None, "null", -32600)
    assert unknown["cancelled"] == ran.outcome["id"]
    assert not ran.of("duplicate")
    assert entry["outcome"] == "late_result"


async def test_a_server_that_exits_after_a_late_answer_is_told_with_both(control: Control):
    ran, entry = await cancelled(control, RESULT, "exit 4")
    (lost,) = ran.of("disconnected")
    assert (lost["detail"], lost["ids"]) == ("server exited with code 4", [])
    assert lost["after"] >= ran.outcome["late"][0]["after"]
    assert ran.outcome["disconnected"]["detail"] == "server exited with code 4"
    assert ran.events[-2:] == [lost, ran.outcome]
    assert [each["kind"] for each in ran.outcome["late"]] == ["result"]
    assert "server exited with code 4" in entry["details"]
    assert "late result" in entry["details"]
    for named in ("disconnected", "late_result"):
        assert len(json.loads(run("log", "--json", "--outcome", named).out)) == 1


@pytest.mark.parametrize(("step", "more"), [("exit 4", ""), ("torn 4", " in the middle of a message")])
async def test_a_server_that_exits_on_its_cancel_is_no_silence(control: Control, step: str, more: str):
    ran, entry = await cancelled(control, step)
    (lost,) = ran.of("disconnected")
    assert (lost["ids"], lost["detail"]) == ([ran.outcome["id"]], f"server exited with code 4{more}")
    assert ran.outcome["disconnected"]["detail"] == lost["detail"]
    assert ran.outcome["late"] == []
    assert entry["outcome"] == "disconnected"
    assert lost["detail"] in entry["details"]
    assert json.loads(run("log", "--sums", "--json").out)[0]["outcomes"] == {"disconnected": {"count": 1}}


@pytest.mark.parametrize("line", [NUMBER, WORDED, NAN], ids=["number", "text", "NaN"])
async def test_what_is_neither_result_nor_error_is_late_and_malformed(control: Control, line: str):
    ran, entry = await cancelled(control, line, "exit 0")
    (late,) = ran.outcome["late"]
    assert (late["kind"], "code" in late) == ("malformed", False)
    assert [each["kind"] for each in ran.of("late")] == ["malformed"]
    assert entry["outcome"] == "late_malformed"
    assert "late malformed message at +" in entry["details"]


# -- over HTTP -------------------------------------------------------------------------------------------------


class Blocking:
    """A server whose tool blocks it: neither the call nor the POST of its cancel is answered before the tool ``ends``."""

    def __init__(self, *, gone: bool = False) -> None:
        self.ends = asyncio.Event()
        self.gone = gone
        """Whether it knows the session no more once a cancel came."""

    async def __call__(self, call: Call) -> None:
        match call.rpc:
            case "initialize":
                result: dict[str, Any] = {"protocolVersion": HANDSHAKE, "capabilities": {"tools": {}}}
                await call.answer(result, {"Mcp-Session-Id": "s-1"})
            case "tools/list":
                await call.answer({"tools": [{"name": "odd", "inputSchema": {"type": "object"}}]})
            case "tools/call":
                await self.ends.wait()
                await call.answer({"content": []})
            case "notifications/cancelled" if self.gone:
                await call.respond(404)
            case "notifications/cancelled":
                await self.ends.wait()
                await call.respond(202)
            case _:
                await call.respond(405 if call.method == "GET" else 202)


async def test_a_cancel_whose_post_is_not_answered_is_sent_and_not_confirmed():
    async with HttpScript(Blocking()) as server:
        options = ("--json", "--protocol", HANDSHAKE, "--cancel-after", "0.1", "--linger", "0.3")
        ran = await running("call", "odd", *options, server.url)
        await server.until(is_rpc("notifications/cancelled"))
    assert ran.status == Exit.CANCELLED
    told = ran.outcome
    assert (told["signal"], told["delivery"], told["reason_delivered"]) == ("notification", "written", True)
    assert told["unconfirmed"] == told["watched"] >= 0.3
    assert (ran.of("undelivered"), ran.of("cancel_accepted")) == ([], [])
    assert len(ran.of("cancel_signalled")) == 1
    (entry,) = json.loads((await running("log", "--json")).out)
    assert entry["details"].startswith("sent, not confirmed for ")
    assert entry["outcome"] == "no_reply"


async def test_an_unconfirmed_cancel_is_accepted_when_its_post_is_answered():
    async with HttpScript(served := Blocking()) as server:
        made, _ = client(HttpTarget(url=server.url), ClientSettings(protocol=HANDSHAKE, grace=0.1))
        async with asyncio.timeout(HANG):
            await made.connect()
            id_ = made.call_tool("odd", {})
            await server.until(is_rpc("tools/call"))
            made.cancel(id_)
            await server.until(is_rpc("notifications/cancelled"))
            await made.wait(id_)
            row = made.book.get(id_)
            assert row is not None
            told = evidence.as_json(row, made.now())
            assert (row.signal, told["delivery"], told["late"]) == (Signal.NOTIFICATION, "written", [])
            assert evidence.delivery_words(row, made.now()).startswith("sent, not confirmed for ")
            served.ends.set()
            while row.accepted_at is None or not row.late:
                await asyncio.sleep(0.005)
            told = evidence.as_json(row, made.now())
            assert (told["delivery"], told["unconfirmed"]) == ("accepted", None)
            assert [each["kind"] for each in told["late"]] == ["result"]
            assert evidence.summary_words(row, made.now()).startswith("sent, accepted; late result at +")
            await made.close()


async def test_a_cancel_that_costs_the_session_is_told_in_every_form():
    async with HttpScript(Blocking(gone=True)) as server:
        options = ("--json", "--protocol", HANDSHAKE, "--cancel-after", "0.1", "--linger", "600")
        ran = await running("call", "odd", *options, server.url)
    over = "the server ended the session (HTTP 404)"
    assert ran.status == Exit.CANCELLED
    (lost,) = ran.of("disconnected")
    assert (lost["detail"], lost["ids"]) == (over, [ran.outcome["id"]])
    assert ran.outcome["disconnected"] == {"detail": over, "after": lost["after"]}
    assert (ran.outcome["signal"], ran.outcome["delivery"]) == ("notification", "refused")
    assert [each["detail"] for each in ran.of("undelivered")] == ["HTTP 404"]
    (entry,) = json.loads((await running("log", "--json", "--outcome", "disconnected")).out)
    assert entry["details"].startswith(f"sent, refused: HTTP 404; {over} ")


# -- the client's own ------------------------------------------------------------------------------------------


def test_the_cancels_of_the_client_itself_are_in_no_log_and_no_sum(control: Control):
    ran = run("call", "ok", "--json", *scripted("silent-to-probe"))
    assert ran.status == Exit.COMPLETED
    command = Command("call", "silent", "--json", "--demo", *control.options)
    control.wait("received", method="tools/call")
    command.process.send_signal(signal.SIGTERM)
    command.end()
    assert command.lines[-1]["cause"] == "shutdown"
    kept = [path.read_bytes() for path in sorted(journal_folder().glob("*.jsonl"))]
    assert [b'"cancel_requested"' in each for each in kept] == [True, True]
    for words in (("log",), ("log", "--sums")):
        assert json.loads(run(*words, "--json").out) == []
    told = [(each["method"], each["cause"]) for each in json.loads(run("log", "--internal", "--json").out)]
    assert sorted(told) == [("server/discover", "timeout"), ("tools/call", "shutdown")]
