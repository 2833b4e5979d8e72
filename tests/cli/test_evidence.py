"""What is said of a cancel over HTTP agrees with what the server did (issue 12)."""

from __future__ import annotations

import json

from mcp_tui.cli.output import Exit
from tests.cli.running import HANDSHAKE, running
from tests.servers.http_scripted import Call, HttpScript, is_rpc, served, silent

OPTIONS = ("--json", "--protocol", HANDSHAKE, "--cancel-after", "0.1", "--linger", "0.3")


SERVED = served(HANDSHAKE, silent)


async def unconfirming(call: Call) -> None:
    """Leave calls and the POST of a cancel without an answer."""
    await (silent if call.rpc == "notifications/cancelled" else SERVED)(call)


async def test_a_cancel_whose_post_is_not_answered_is_sent_and_not_confirmed():
    words = ("request", "tools/call", "--params", '{"name":"odd"}')
    async with HttpScript(unconfirming) as server:
        ran = await running(*words, *OPTIONS, server.url)
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
