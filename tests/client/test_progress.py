"""What is told of a connection that does not come about: how far it came, and what is unanswered."""

from __future__ import annotations

import pytest

from mcp_tui.client.settings import ClientSettings, HttpTarget
from tests.client.test_connecting import client, refused
from tests.servers.http_scripted import Call, HttpScript


async def test_a_timeout_names_what_is_unanswered_since_when_and_the_last_words():
    text = await refused("mute", ClientSettings(connect_timeout=3.0))
    assert text == (
        "No connection after 3 s (waiting for the response to initialize); last stderr line: waiting for the database. "
        "Check the command or raise --connect-timeout."
    )


async def test_a_stdout_that_is_framed_otherwise_is_told_by_its_first_line():
    text = await refused("framed", ClientSettings(connect_timeout=1.0))
    assert "; unexpected stdout: Content-Length: 2. " in text


async def test_what_was_refused_is_not_told_as_unanswered_and_the_wait_for_the_endpoint_is():
    async def script(call: Call) -> None:
        if call.method == "POST":
            await call.respond(405)
        else:
            await call.stream()
            await call.disconnected()

    async with HttpScript(script) as server:
        made, _ = client(HttpTarget(url=server.url), ClientSettings(connect_timeout=0.6))
        with pytest.raises(Exception, match="No connection after") as caught:
            await made.connect()
    assert str(caught.value) == (
        "No connection after 0.6 s (waiting for the endpoint event). Check the URL or raise --connect-timeout."
    )
