"""Questions in their queue, and the answers that are made of what a person typed."""

from __future__ import annotations

import asyncio
import json
import sys
import time
import uuid
from pathlib import Path
from typing import Literal

import pytest

from mcp_tui.client.client import Client
from mcp_tui.client.client_settings import ClientSettings, StdioTarget
from mcp_tui.client.interactions import Answer, Inquiry
from mcp_tui.client.roots import rooted
from mcp_tui.config.settings import SamplingSettings, Settings
from mcp_tui.protocol.requests import State
from mcp_tui.transport.base import spawn
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.screens import interaction
from mcp_tui.tui.screens.interaction import RootsScreen, drafted, proposed_roots
from mcp_tui.tui.sources.live_session import Session
from mcp_tui.tui.sources.questions import Question, respond
from tests.servers.stdio_scripted import processes
from tests.tui.driving import driving
from tests.waiting import HANG

PYTHON = (sys.executable, "-S", "-c")


async def test_a_second_answer_is_none() -> None:
    queue: list[Question] = []
    over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    inquiry = Inquiry(method="elicitation/create", params={}, server="s", at=time.monotonic(), over=over)
    told: list[Answer | None] = []

    async def ask() -> None:
        told.append(await respond(queue, inquiry))

    asked = spawn(ask(), name="asked")
    await asyncio.sleep(0)
    question = queue[0]
    assert question.answer({"action": "accept", "content": {}})
    assert not question.answer({"action": "decline"})
    await asked
    assert told == [{"action": "accept", "content": {}}]
    assert queue == []


# -- consents --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "offered"), [("off", False), ("ask", True), ("command", True)])
def test_sampling_is_offered_where_it_was_switched_on(
    mode: Literal["off", "ask", "command"], offered: bool
) -> None:
    session = Session(Client(StdioTarget(command=("x",))))
    session.apply(Settings(sampling=SamplingSettings(mode=mode)))
    offers = session.client.settings.offers
    assert offers.sampling is offered
    assert offers.elicitation == {"form", "url"}
    assert offers.roots


def test_the_roots_that_are_proposed_are_the_folder_here_or_those_that_were_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert proposed_roots([]) == [tmp_path.as_uri()]
    assert proposed_roots(["/a b", "file:///c", "~/d"]) == [
        "file:///a%20b",
        "file:///c",
        (Path.home() / "d").as_uri(),
    ]


async def test_folders_of_the_command_line_are_proposed_before_those_that_were_set(
    tmp_path: Path,
) -> None:
    given = ClientSettings(roots=(tmp_path.as_uri(),))
    chosen = Preferences(settings=Settings(roots=["/elsewhere"]))
    async with driving(settings=given, preferences=chosen) as driven:
        asked = driven.row(driven.call("ask", what="roots"))
        await driven.until(lambda: isinstance(driven.top, RootsScreen))
        screen = driven.top
        assert isinstance(screen, RootsScreen)
        assert screen.editor.text == tmp_path.as_uri()
        await driven.press("ctrl+s")
        await driven.until(lambda: not asked.open)
        assert asked.state is State.COMPLETED


# -- answers ---------------------------------------------------------------------------------------------------


def test_roots_are_folders_or_uris() -> None:
    assert rooted(["/a", "file:///b/"]) == {
        "roots": [{"uri": "file:///a", "name": "a"}, {"uri": "file:///b/", "name": "b"}]
    }


# -- a command that drafts -------------------------------------------------------------------------------------


async def test_a_command_gets_the_request_on_stdin_and_prints_the_draft() -> None:
    code = "import json,sys; print(json.load(sys.stdin)['maxTokens'] + 1)"
    assert await drafted((*PYTHON, code), {"maxTokens": 41}) == ("42", "")


async def test_a_command_s_words_are_not_the_shell_s(tmp_path: Path) -> None:
    code = "import sys; print(sys.argv[1:])"
    words = ["$(touch x)", "; rm -rf /", "*"]
    text, problem = await drafted((*PYTHON, code, *words), {})
    assert (text, problem) == (repr(words), "")


async def test_what_goes_wrong_with_a_command_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    text, problem = await drafted(("/nonexistent/x",), {})
    assert text == ""
    assert "/nonexistent/x cannot be started" in problem
    assert (await drafted((*PYTHON, "raise SystemExit(3)"), {}))[1].endswith("ended with 3")
    monkeypatch.setattr(interaction, "SAMPLING_SECONDS", 0.2)
    text, problem = await drafted((*PYTHON, "import time; time.sleep(60)"), {})
    assert text == ""
    assert "said nothing for 0.2 s" in problem


async def test_a_command_that_never_stops_printing_is_cut_and_that_is_said() -> None:
    # A large pipe (where there is one) has more in it at the end than an event loop reads without being asked.
    code = (
        "import fcntl; size = getattr(fcntl, 'F_SETPIPE_SZ', 0); size and fcntl.fcntl(1, size, 1 << 20)\n"
        "while True: print('x' * 100_000, end='')"
    )
    text, problem = await drafted((*PYTHON, code), {})
    assert problem.endswith("wrote more than 1.0 MB. The rest was dropped.")
    assert len(text) == interaction.OUTPUT_BYTES
    assert json.dumps(text).isascii()


async def test_a_command_that_is_not_waited_for_ends_with_all_that_it_started(tmp_path: Path) -> None:
    mark, ready = f"draft-{uuid.uuid4()}", tmp_path / "ready"
    sleep = (sys.executable, "-S", "-c", "import time; time.sleep(60)", mark)
    code = (
        f"import subprocess, pathlib, time; subprocess.Popen({sleep!r})\n"
        f"pathlib.Path({str(ready)!r}).touch(); time.sleep(60)"
    )

    async def draft() -> None:
        await drafted((*PYTHON, code, mark), {})

    drafting = spawn(draft(), name="draft")
    async with asyncio.timeout(HANG):
        while not ready.exists():
            await asyncio.sleep(0.02)
    assert len(processes(mark)) == 2
    drafting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await drafting
    async with asyncio.timeout(HANG):
        while processes(mark):
            await asyncio.sleep(0.02)
