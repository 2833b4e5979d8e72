"""A server that ends its session over HTTP: the call is lost, nothing hangs, and what has not left yet goes to a new one."""

from __future__ import annotations

import json

import pytest

from mcp_tui.cli.output import Exit
from tests.cli.running import HANDSHAKE, running
from tests.client.test_reconnecting import OVER, Sessions
from tests.servers.http_scripted import Call, HttpScript


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
    async with HttpScript(served := Forgetful(method)) as server:
        options = ("--json", "--no-journal", "--protocol", HANDSHAKE)
        ran = await running("call", "ok", *options, server.url)
    assert (ran.status, ran.err, served.dead) == (status, "", {"s-1"})
    (sent,) = [call for call in server.calls if call.rpc == "tools/call"]  # never sent again
    if status is Exit.LOST:
        assert (ran.outcome["state"], ran.outcome["error"]["message"]) == ("lost", OVER)
    else:
        assert ran.outcome["result"]["content"][0]["text"] == "ok"
        assert (sent.headers["mcp-session-id"], served.made) == ("s-2", 2)


async def test_a_cancel_that_costs_the_session_is_told_in_every_form():
    options = ("--json", "--protocol", HANDSHAKE, "--cancel-after", "0.1", "--linger", "600")
    async with HttpScript(Forgetful("notifications/cancelled")) as server:
        ran = await running("call", "silent", *options, server.url)
    assert ran.status == Exit.CANCELLED
    (lost,) = ran.of("disconnected")
    assert (lost["detail"], lost["ids"]) == (OVER, [ran.outcome["id"]])
    assert ran.outcome["disconnected"] == {"detail": OVER, "after": lost["after"]}
    assert (ran.outcome["signal"], ran.outcome["delivery"]) == ("notification", "refused")
    assert [each["detail"] for each in ran.of("undelivered")] == ["HTTP 404"]
    (entry,) = json.loads((await running("log", "--json", "--outcome", "disconnected")).out)
    assert entry["details"].startswith(f"sent, refused: HTTP 404; {OVER} ")
