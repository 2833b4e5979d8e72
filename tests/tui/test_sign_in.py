"""Signing in at the workbench: what the screen says, the steps, the whole URL, and what becomes of requests meanwhile."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

from mcp_tui.client.auth.authorization import STEP_UPS, Authorization
from mcp_tui.client.auth.credential_store import CredentialStore
from mcp_tui.client.auth.discovery import HEADER_OPTION
from mcp_tui.client.auth.token_endpoint import ClientRegistration
from mcp_tui.client.client_settings import HttpTarget, StdioTarget
from mcp_tui.protocol.requests import State
from mcp_tui.tui.screens.sign_in_dialog import SignInScreen
from mcp_tui.view.server_bar import Link
from tests.auth.lying_server import Lying, lying
from tests.auth.test_authorization import Person
from tests.slow import slow
from tests.tui.driving import Driven, driving
from tests.tui.test_secrets import SIZE, pictures


@contextlib.asynccontextmanager
async def refused(
    folder: Path, lie: str = "", size: tuple[int, int] = (120, 40)
) -> AsyncGenerator[tuple[Lying, Driven]]:
    """A server behind authorization, and the workbench on it that has been told so."""
    async with lying(lie) as server:
        tokens = Authorization(server.url, store=CredentialStore(folder, storage="file"))
        target = HttpTarget(url=server.url)
        async with driving(target, link=None, tokens=tokens, size=size) as driven:
            tokens.share_secrets(driven.session.client.store.learn)
            await driven.until(lambda: driven.session.sign_in is not None and driven.session.sign_in.waits)
            yield server, driven


async def ends_at(driven: Driven) -> str:
    """Where a browser ends that opens the page."""
    assert driven.session.sign_in is not None
    request = driven.session.sign_in.request
    assert request is not None
    async with httpx.AsyncClient(trust_env=False, verify=False) as browser:
        return (await browser.get(request.url)).headers["location"]


async def signed_in(driven: Driven, *, by_hand: bool = False) -> None:
    """Press L, read the steps and the URL, and end at the redirect."""
    await driven.press("L")
    sign_in = driven.session.sign_in
    assert sign_in is not None
    await driven.until(lambda: isinstance(driven.top, SignInScreen) and sign_in.request is not None)
    await driven.until(lambda: "code_challenge" in driven.text())
    assert "/.well-known/oauth-protected-resource/mcp: 200" in driven.text()
    url = await ends_at(driven)
    if by_hand:
        screen = driven.top
        assert isinstance(screen, SignInScreen)
        screen.field.value = "https://evil.example/?code=1"
        await driven.press("enter")
        assert "Not the redirect URL" in driven.text()
        screen.field.value = url
        await driven.press("enter")
    else:
        async with httpx.AsyncClient(trust_env=False, verify=False) as browser:
            await browser.get(url)
    await driven.until(lambda: not isinstance(driven.top, SignInScreen))


async def test_a_server_that_requires_sign_in_says_so_and_one_key_signs_in(tmp_path: Path):
    async with refused(tmp_path) as (server, driven):
        await driven.until(lambda: "This server requires sign-in." in driven.text())
        assert "Press L to sign in" in driven.text()
        assert "sign-in required" in driven.text().splitlines()[0]
        assert [call.path for call in server.mcp.calls] == ["/mcp"]  # nothing is fetched unasked
        await signed_in(driven)
        await driven.until(lambda: driven.session.link is Link.CONNECTED)
        assert "sign-in required" not in driven.text()


@pytest.mark.slow
async def test_in_the_middle_of_a_session_a_request_waits_and_goes_on_after_a_paste(tmp_path: Path):
    async with refused(tmp_path) as (server, driven):
        await signed_in(driven)
        await driven.until(lambda: "tools" in driven.session.catalogue.entries)
        server.revoke()
        first, second = driven.call("open"), driven.call("open")
        await driven.until(lambda: len(driven.session.client.deferred.waiting) == 2)
        await driven.until(lambda: "sign-in required" in driven.text())
        await driven.until(lambda: "waiting f" in driven.line("open [+1]"))
        await driven.press("C")  # the one under the cursor
        await driven.until(lambda: driven.row(second).state is State.CANCELLED)
        assert driven.row(second).settled == "cancelled before it was sent"
        await signed_in(driven, by_hand=True)
        await driven.until(lambda: driven.row(first).state is State.COMPLETED)
        assert len([call for call in server.mcp.calls if call.rpc == "tools/call"]) == 3


@pytest.mark.slow
async def test_another_server_that_requires_sign_in_is_named_in_the_bar(tmp_path: Path):
    async with refused(tmp_path) as (_, driven):
        first = driven.session
        driven.app.open(StdioTarget(command=("true",), name="other"))
        await driven.until(lambda: driven.session is not first)
        await driven.until(lambda: "! sign-in: http" in driven.text().splitlines()[0])
        await first.client.close()


async def test_who_does_not_sign_in_is_told_why_there_is_no_connection(tmp_path: Path):
    async with refused(tmp_path) as (_, driven):
        sign_in = driven.session.sign_in
        assert sign_in is not None
        await driven.press("L")
        await driven.until(lambda: sign_in.request is not None)
        await driven.press("ctrl+d")
        await driven.until(lambda: driven.session.link is Link.LOST)
        await driven.until(lambda: "Not connected: the server requires sign-in (HTTP 401)" in driven.text())
        assert "Press L to sign in, or S to reconnect." in " ".join(driven.text().split())
        await signed_in(driven)  # L connects again
        await driven.until(lambda: driven.session.link is Link.CONNECTED)


@pytest.mark.slow
async def test_a_client_registered_by_hand_as_the_screen_says_gets_in(tmp_path: Path):
    async with refused(tmp_path, "no registration") as (server, driven):
        await driven.press("L")
        await driven.until(lambda: driven.session.link is Link.LOST)
        said = str(driven.session.trouble)
        (uri,) = re.findall(r"by hand with the redirect URI (\S+), and give its id", said)
        option = re.findall(r"--redirect-uri (\S+)\. ", said)
        server.redirects, server.registered = {uri}, {"mine"}
        mine = ClientRegistration(client_id="mine")
        store = CredentialStore(tmp_path, storage="file")
        made = Authorization(
            server.url, store=store, browser=Person(), registration=mine, redirect_uri="".join(option)
        )
        await made.sign_in()  # as mcp-tui login does
        server.revoke()
        await driven.press("escape")
        await signed_in(driven)
        await driven.until(lambda: driven.session.link is Link.CONNECTED)


@pytest.mark.slow
async def test_more_scopes_are_asked_for_once_and_then_told_as_what_they_are(tmp_path: Path):
    async with refused(tmp_path, "grants too little") as (_, driven):
        await signed_in(driven)
        await driven.until(lambda: "tools" in driven.session.catalogue.entries)
        first = driven.call("write")
        sign_in = driven.session.sign_in
        assert sign_in is not None
        for left in reversed(range(STEP_UPS)):
            await driven.until(lambda: sign_in.waits)
            if left:
                await signed_in(driven)
        await driven.press("L")
        await driven.until(lambda: sign_in.request is not None)
        async with httpx.AsyncClient(trust_env=False, verify=False) as browser:
            await browser.get(await ends_at(driven))
        await driven.until(lambda: driven.row(first).state is State.FAILED)
        assert f"asked for more scopes {STEP_UPS} times" in driven.row(first).error


@pytest.mark.slow
async def test_who_leaves_a_page_that_does_not_know_mcp_tui_registers_again(tmp_path: Path):
    async with refused(tmp_path) as (server, driven):
        await signed_in(driven)
        await driven.until(lambda: "tools" in driven.session.catalogue.entries)
        server.revoke()
        first = driven.call("open")
        sign_in = driven.session.sign_in
        assert sign_in is not None
        await driven.until(lambda: sign_in.waits)  # the renewal was refused
        server.forget()
        await driven.press("L")
        await driven.until(lambda: sign_in.request is not None)
        assert any("stop and sign in again" in step for step in sign_in.steps)
        await driven.press("ctrl+d")
        await driven.until(lambda: driven.row(first).state is State.FAILED)
        second = driven.call("open")
        await driven.until(lambda: sign_in.waits)
        await signed_in(driven)
        await driven.until(lambda: driven.row(second).state is State.COMPLETED)
        assert server.asked.count("/register") == 2


@pytest.mark.parametrize("lie", ["closed registration", *slow("page for metadata", "metadata elsewhere")])
async def test_a_sign_in_that_cannot_work_names_the_option_that_gets_in(lie: str, tmp_path: Path):
    async with refused(tmp_path, lie, size=(120, 50)) as (server, driven):
        await driven.press("L")
        await driven.until(lambda: driven.session.link is Link.LOST)
        assert HEADER_OPTION in str(driven.session.trouble)
        await driven.press("escape")
        await driven.until(lambda: HEADER_OPTION in re.sub(r"[│\s]+", " ", driven.text()))
        server.good.add("mine")
        target = HttpTarget(url=server.url, headers={"Authorization": "Bearer mine"})
        async with driving(target, link=None) as again:
            await again.until(lambda: again.session.link is Link.CONNECTED)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("painted")
async def test_two_hundred_secrets_of_a_sign_in_are_in_no_picture(tmp_path: Path):
    """The server takes each token once. Were it to say one, that would be shown, as all that a server says is."""
    async with refused(tmp_path, "short", size=SIZE) as (server, driven):
        await signed_in(driven)
        await driven.until(lambda: "tools" in driven.session.catalogue.entries)
        while len(server.secrets) < 200:
            row = driven.row(driven.call("open"))
            await driven.until(lambda row=row: not row.open)
            assert row.state is State.COMPLETED
        seen = await pictures(driven)
    unbroken = re.sub(r"\s+", "", seen)
    assert "done" in seen
    assert [secret for secret in server.secrets if secret in seen or secret in unbroken] == []
