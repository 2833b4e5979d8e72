"""What is told of a connection that does not come about: how far it came, and what is unanswered."""

from __future__ import annotations

import pytest

from mcp_tui.client import connecting
from mcp_tui.client.settings import ClientSettings, HttpTarget
from tests.client.test_connecting import client, refused, scripted
from tests.servers.http_scripted import Call, HttpScript


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is taken for silence after a fraction of a second."""
    monkeypatch.setattr(connecting, "PROBE_WAIT", 0.3)


async def test_a_timeout_names_what_is_unanswered_since_when_and_the_last_words():
    text = await refused("mute", ClientSettings(connect_timeout=3.0))
    assert text.startswith("no session after 3 s (waiting for an answer to initialize); unanswered: ")
    assert "server/discover for " in text
    assert "initialize for " in text
    assert "last words: waiting for the database" in text
    assert text.endswith("raise --connect-timeout or check the command")


async def test_a_url_that_answers_nothing_is_told_as_one_from_which_nothing_was_heard():
    async def silence(call: Call) -> None:
        await call.disconnected()

    async with HttpScript(silence) as server:
        made, _ = client(HttpTarget(url=server.url), ClientSettings(connect_timeout=0.6))
        with pytest.raises(Exception, match="nothing was heard of it") as caught:
            await made.connect()
    text = str(caught.value)
    assert "unanswered: server/discover for 0." in text
    assert text.endswith("check the URL")


async def test_a_stdout_that_is_framed_otherwise_is_told_by_its_first_line():
    text = await refused("framed", ClientSettings(connect_timeout=1.0))
    assert "; its stdout is not one JSON message a line, but: Content-Length: 2; " in text


async def test_what_was_refused_is_not_told_as_unanswered_and_the_wait_for_the_endpoint_is():
    async def script(call: Call) -> None:
        if call.method == "POST":
            await call.respond(405)
        else:
            await call.stream()
            await call.disconnected()

    async with HttpScript(script) as server:
        made, _ = client(HttpTarget(url=server.url), ClientSettings(connect_timeout=0.6))
        with pytest.raises(Exception, match="no session after") as caught:
            await made.connect()
    assert str(caught.value) == (
        "no session after 0.6 s (waiting for the endpoint event); raise --connect-timeout or check the URL"
    )


@pytest.mark.usefixtures("impatient")
async def test_the_steps_of_a_fallback_are_told_in_order():
    made, _ = client(scripted("silent-to-probe"))
    await made.connect()
    await made.close()
    assert [step.text for step in made.steps] == [
        "starting the server",
        "waiting for an answer to server/discover",
        "no answer to server/discover: trying initialize",
        "waiting for an answer to initialize",
        "sending notifications/initialized",
    ]
    assert [step.at for step in made.steps] == sorted(step.at for step in made.steps)
