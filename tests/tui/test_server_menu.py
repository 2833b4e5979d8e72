"""``S``: what was set at the start is changed later, and the requests stay."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.protocol.requests import State
from mcp_tui.tui.screens.dialog import InputsScreen, MenuScreen
from mcp_tui.view.server_bar import Link
from tests.tui.driving import Driven, driving

SERVER = """
import json, os, sys
with open(sys.argv[1], "a") as heard:
    print(json.dumps({"environment": os.environ.get("COLOUR")}), file=heard, flush=True)
    for line in sys.stdin:
        print(line.strip(), file=heard, flush=True)
        message = json.loads(line)
        method, params = message["method"], message.get("params", {})
        modern = "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})
        capabilities, result = {"tools": {}}, {"content": []}
        if method == "server/discover":
            result = {"supportedVersions": ["2026-07-28"], "capabilities": capabilities}
        elif method == "initialize":
            result = {"protocolVersion": params["protocolVersion"], "capabilities": capabilities}
            result["serverInfo"] = {"name": "s", "version": "1"}
        elif method == "tools/list":
            result = {"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]}
        elif modern:
            text = "elicitation via server-initiated requests is unavailable on 2026-07-28 connections."
            result = {"content": [{"type": "text", "text": text}], "isError": True}
        if modern:
            result |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        if "id" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def heard(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


async def choose(driven: Driven, line: str, then: str = "") -> None:
    """Opens a line of the menu, and one of the choices behind it."""
    await driven.press("S")
    for wanted in filter(None, (line, then)):
        await driven.until(
            lambda wanted=wanted: isinstance(driven.top, MenuScreen) and wanted in driven.text()
        )
        menu = driven.top
        assert isinstance(menu, MenuScreen)
        texts = [str(menu.list.get_option_at_index(at).prompt) for at in range(menu.list.option_count)]
        menu.list.highlighted = next(at for at, text in enumerate(texts) if text.startswith(wanted))
        await driven.press("enter")
        await driven.until(lambda menu=menu: driven.top is not menu)


async def fill(driven: Driven, *values: str) -> None:
    """Fills the fields of a dialog, and goes on."""
    await driven.until(lambda: isinstance(driven.top, InputsScreen))
    for at, value in enumerate(values):
        await driven.press(*["tab"] * bool(at), "ctrl+u", "end", "ctrl+u")
        await driven.type(value)
    await driven.press("enter")
    await driven.until(lambda: not isinstance(driven.top, InputsScreen))


async def reconnected(driven: Driven, before: object) -> None:
    client = driven.session.client
    await driven.until(lambda: client.connection is not before and driven.session.link is Link.CONNECTED)
    await driven.until(lambda: driven.catalogue_read)


async def test_what_was_set_at_the_start_is_changed_later_and_the_requests_stay(tmp_path: Path):
    log = tmp_path / "heard"
    target = StdioTarget(command=(sys.executable, "-S", "-c", SERVER, str(log)), env={"COLOUR": "red"})
    async with driving(target, size=(120, 36)) as driven:
        client = driven.session.client
        row = driven.row(driven.call("ask"))
        await driven.until(lambda: row.state is State.COMPLETED)
        await driven.until(
            lambda: (
                "This tool needs an older protocol version. S reconnects with 2025-11-25."
                in driven.plain("detail")
            )
        )
        for line, then in (("Protocol version", "2025-11-25"), ("Sampling", "on: you write the answer")):
            before = client.connection
            await choose(driven, line, then)
            await reconnected(driven, before)
        opened = [each["params"] for each in heard(log) if each.get("method") == "initialize"]
        assert [each["protocolVersion"] for each in opened] == ["2025-11-25"] * 2
        assert [("sampling" in each["capabilities"]) for each in opened] == [False, True]
        assert client.requests.get(row.id) is row
        second = driven.row(driven.call("ask"))
        await driven.until(lambda: second.state is State.COMPLETED)
        assert not second.is_error

        await choose(driven, "Timeouts")
        await fill(driven, "5", "0")
        third = driven.row(driven.call("ask"))
        assert (third.limits.timeout, third.limits.max_timeout) == (5.0, None)
        await choose(driven, "Roots", "Add a folder")
        await fill(driven, "/tmp")
        assert driven.session.settings.roots == ["/tmp"]
        changed = "notifications/roots/list_changed"
        await driven.until(lambda: changed in [each.get("method") for each in heard(log)])

        before = client.connection
        await choose(driven, "Environment", "COLOUR")
        await fill(driven, "COLOUR=blue = dark")
        await reconnected(driven, before)
        before = client.connection
        await choose(driven, "Environment", "Set a variable")
        await fill(driven, "COLOUR")
        await reconnected(driven, before)
        starts = [each["environment"] for each in heard(log) if "environment" in each]
        assert starts == ["red"] * 3 + ["blue = dark", None]
        await choose(driven, "Environment", "Set a variable")
        await fill(driven, "not a variable")
        assert "Not NAME=VALUE. Nothing changed." in driven.inside("keys")
        await choose(driven, "Stop")
        await driven.until(lambda: driven.session.link is Link.LOST)
        assert [each for each in (row, second, third) if client.requests.get(each.id) is not each] == []
