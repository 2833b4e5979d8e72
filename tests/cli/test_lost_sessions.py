"""Servers over HTTP that end their session, or leave a cancel without an answer: what is said is what they did."""

from __future__ import annotations

import json

import pytest

from mcp_tui.cli.output import Exit
from tests.cli.running import HANDSHAKE, running
from tests.client.test_reconnecting import OVER, Sessions
from tests.servers.http_scripted import Call, HttpScript, is_rpc, served, silent

OPTIONS = ("--json", "--protocol", HANDSHAKE, "--cancel-after", "0.1", "--linger")


class Forgetful(Sessions):
    """Ends its first session at the first request of one ``method``."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method

    async def __call__(self, call: Call) -> None:
        if call.rpc == self.method and self.made == 1:
            self.forget()
        await super().__call__(call)


@pytest.mark.parametrize(("method", "status"), [("tools/call", Exit.LOST), ("tools/list", Exit.COMPLETED)])
async def test_a_call_is_lost_with_its_session_or_goes_to_the_next_one(method: str, status: Exit):
    async with HttpScript(forgetful := Forgetful(method)) as server:
        options = ("--json", "--no-journal", "--protocol", HANDSHAKE)
        ran = await running("call", "ok", *options, server.url)
    told = f"mcp-tui: tools/list lost: {OVER}. Calling the tool without its definition.\n"
    assert (ran.status, ran.err, forgetful.dead) == (status, told if method == "tools/list" else "", {"s-1"})
    (sent,) = [call for call in server.calls if call.rpc == "tools/call"]  # never sent again
    if status is Exit.LOST:
        assert (ran.outcome["state"], ran.outcome["error"]["message"]) == ("lost", OVER)
    else:
        assert ran.outcome["result"]["content"][0]["text"] == "ok"
        assert (sent.headers["mcp-session-id"], forgetful.made) == ("s-2", 2)


async def test_a_cancel_that_costs_the_session_is_told_in_every_form():
    async with HttpScript(Forgetful("notifications/cancelled")) as server:
        ran = await running("call", "silent", *OPTIONS, "600", server.url)
    assert ran.status == Exit.CANCELLED
    (lost,) = ran.of("disconnected")
    assert (lost["detail"], lost["ids"]) == (OVER, [ran.outcome["id"]])
    assert ran.outcome["disconnected"] == {"detail": OVER, "after": lost["after"]}
    assert (ran.outcome["signal"], ran.outcome["delivery"]) == ("notification", "refused")
    assert [each["detail"] for each in ran.of("undelivered")] == ["HTTP 404"]
    (entry,) = json.loads((await running("log", "--json", "--outcome", "disconnected")).out)
    assert entry["details"].startswith(f"sent, refused: HTTP 404; {OVER} (")


SERVED = served(HANDSHAKE, silent)


async def unconfirming(call: Call) -> None:
    """Leave calls and the POST of a cancel without an answer."""
    await (silent if call.rpc == "notifications/cancelled" else SERVED)(call)


async def test_a_cancel_whose_post_is_not_answered_is_sent_and_not_confirmed():
    words = ("request", "tools/call", "--params", '{"name":"odd"}')
    async with HttpScript(unconfirming) as server:
        ran = await running(*words, *OPTIONS, "0.3", server.url)
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
