"""Two hundred secrets that a person gave, and pictures of every pane of the workbench: none is in any of them."""

from __future__ import annotations

import html
import json
import re
import sys

import pytest

from mcp_tui.client.client_settings import HttpTarget, StdioTarget, Target
from mcp_tui.protocol.messages import Json
from mcp_tui.tui.widgets.request_table import RequestTable
from mcp_tui.view.server_bar import Link
from tests.cli.test_secrets import ENV_NAMES, MEMBERS, SHAPES, Planted, oauth
from tests.tui.driving import Driven, driving

PLAIN = "no-secret-at-all"

SIZE = (240, 400)
"""So much that the longest pane stands on the screen as a whole."""


async def pictures(driven: Driven) -> str:
    """All that can be seen of the session, as text of the pictures that Textual makes."""
    seen: list[str] = []

    async def look(*keys: str) -> None:
        await driven.press(*keys)
        await driven.pilot.pause()
        svg = driven.app.export_screenshot()
        seen.append(html.unescape(re.sub(r"<[^>]+>", "", svg)).replace("\xa0", " "))

    driven.bench.query_one(RequestTable).focus()
    for row in driven.session.client.requests.order[-2:]:
        driven.bench.query_one(RequestTable).select(row.id)
        for pane in "12345":
            await look(pane)
    await look("o")
    await look("question_mark")
    await look("escape", "ctrl+p")
    await look(*"cancel")
    await driven.press("escape")
    return "\n".join(seen)


def assert_unseen(planted: Planted, seen: str) -> None:
    """No secret is there, also where it is broken into lines."""
    unbroken = re.sub(r"\s+", "", seen)
    found = [each for each in planted.canaries if each in seen or each in unbroken]
    assert found == []
    assert "‹redacted›" in seen


def arguments(planted: Planted, count: int) -> dict[str, Json]:
    made: dict[str, Json] = {"note": PLAIN, **oauth(planted)}
    made |= {
        f"{name}_{number}": planted.secret() for number in range(count) for name in ("token", "password")
    }
    return made


async def called(target: Target, planted: Planted, count: int) -> str:
    async with driving(target, size=SIZE) as driven:
        sent = arguments(planted, count)
        row = driven.row(driven.call("silent", **sent))
        await driven.until(lambda: not row.open)
        seen = await pictures(driven)
    assert len(planted.canaries) >= 100
    assert PLAIN in seen  # what was sent is on the pictures
    return seen


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("painted")
async def test_over_stdio_no_picture_shows_a_secret_that_was_given():
    planted = Planted()
    env = {name: planted.secret(shape) for name, shape in zip(ENV_NAMES, [*SHAPES, *SHAPES], strict=False)}
    env |= {f"{name}_{number}": planted.secret() for number in range(4) for name in ENV_NAMES}
    env["DATABASE_URL"] = f"postgres://me:{planted.secret()}@db.example.com/x?sslpassword={planted.secret()}"
    harmless = ("-c", "from mcp_tui.demo.demo_server import main; main(None, None)")
    secret = (
        "--api-key", planted.secret(), f"--token={planted.secret()}", "--header",
        f"Authorization: Bearer {planted.secret()}", f"https://u:{planted.secret()}@example.com/?api_key={planted.secret()}",
        *(f"--{name.lower().replace('_', '-')}={planted.secret()}" for name in ENV_NAMES),
        json.dumps({name: planted.secret() for name in MEMBERS}),
    )  # fmt: skip
    target = StdioTarget(command=(sys.executable, *harmless, *secret), env=env)
    seen = await called(target, planted, 40)
    assert len(planted.canaries) >= 200
    assert_unseen(planted, seen)


SECRET = "c0ffee0123456789abcd"


@pytest.mark.parametrize(
    "target",
    [
        HttpTarget(url=f"http://me:{SECRET}@127.0.0.1:9/mcp?token={SECRET}"),
        StdioTarget(command=("/no/such/program", f"--token={SECRET}"), env={"API_TOKEN": SECRET}),
    ],
    ids=["refused", "no program"],
)
async def test_a_connection_that_fails_says_so_without_the_secret(target: Target):
    async with driving(target, size=(200, 60), link=None) as driven:
        await driven.until(lambda: driven.session.link is Link.LOST and driven.session.trouble)
        seen = await pictures(driven)
    assert SECRET not in re.sub(r"\s+", "", seen)


async def test_what_is_copied_has_no_token_of_a_sign_in():
    async with driving() as driven:
        driven.session.client.store.learn({"a-token-of-a-sign-in"})
        id_ = driven.call("echo", text="say a-token-of-a-sign-in")
        await driven.until(lambda: not driven.row(id_).open)
        kinds = ("y", "enter"), ("y", "down", "down", "enter"), ("y", "end", "enter"), ("Y",)
        for keys in (*kinds, ("1", "enter", "y")):
            driven.app.copy_to_clipboard("")
            await driven.press(*keys)
            await driven.until(lambda: "say " in driven.app.clipboard)
            assert "a-token" not in driven.app.clipboard, keys
