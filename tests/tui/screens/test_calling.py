"""Calling through the workbench on a real server: prompts, templates, completion, earlier arguments, broken promises."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.screens.call_form import CallScreen
from mcp_tui.tui.screens.result import ResultScreen
from mcp_tui.view.catalogue_entries import Entry
from tests.tui.driving import Driven, driving

SERVER = Path(__file__).parents[2] / "servers" / "completing_server.py"
TARGET = StdioTarget(command=(sys.executable, "-S", str(SERVER), "quick"), name="completing")


def entry(driven: Driven, kind: str, name: str) -> Entry:
    return next(each for each in driven.session.catalogue.entries[kind] if each.name == name)


async def opened(driven: Driven, kind: str, name: str) -> None:
    await driven.until(lambda: kind in driven.session.catalogue.entries)
    await driven.bench.calling.entry(entry(driven, kind, name))
    await driven.until(lambda: isinstance(driven.top, CallScreen))


async def sent(driven: Driven, method: str) -> tuple[Request, object]:
    await driven.until(lambda: any(row.method == method for row in driven.session.client.requests.order))
    row = [row for row in driven.session.client.requests.order if row.method == method][-1]
    await driven.until(lambda: not row.open)
    params = driven.bench.payloads.params(row)
    assert params is not None
    return row, params


@pytest.mark.slow
async def test_a_prompt_is_filled_in_with_what_the_server_completes() -> None:
    async with driving(TARGET) as driven:
        await opened(driven, "prompts", "visit")
        assert "Get visit" in driven.text()
        assert "required · text" in driven.text()
        await driven.type("pa")
        await driven.until(lambda: "Parma" in driven.text())
        assert "Oslo" not in driven.text()
        assert "hidden" not in driven.text()
        await driven.press("down", "down", "enter", "ctrl+s")
        row, params = await sent(driven, "prompts/get")
        assert params == {"name": "visit", "arguments": {"city": "Parma"}}
        assert driven.bench.table.selected is row
        assert all(
            each.internal
            for each in driven.session.client.requests.order
            if each.method == "completion/complete"
        )


@pytest.mark.slow
async def test_a_template_is_expanded_as_it_is_filled_in() -> None:
    async with driving(TARGET) as driven:
        await opened(driven, "templates", "map")
        await driven.type("a b")
        await driven.until(lambda: "map://a%20b" in driven.text())
        await driven.press("tab", "7", "tab")
        await driven.type("x")
        await driven.press("enter")
        await driven.type("y")
        await driven.press("ctrl+s")
        _, params = await sent(driven, "resources/read")
        assert params == {"uri": "map://a%20b?zoom=7&layers=x&layers=y"}


async def test_a_template_without_a_uri_is_refused() -> None:
    async with driving(TARGET) as driven:
        await driven.until(lambda: "templates" in driven.session.catalogue.entries)
        await driven.bench.calling.entry(entry(driven, "templates", "nowhere"))
        await driven.until(lambda: "This resource has no URI" in driven.text())
        assert driven.top is driven.bench


async def test_what_was_called_before_is_recalled() -> None:
    async with driving() as driven:
        for text in ("one", "two"):
            await driven.press("n")
            await driven.type("echo")
            await driven.press("enter")
            await driven.type(text)
            await driven.press("ctrl+s")
            await driven.until(lambda: driven.top is driven.bench)
        await driven.press("n")
        await driven.type("echo")
        await driven.press("enter")
        assert "^r Earlier" in driven.text()
        await driven.press("ctrl+r", "ctrl+r", "ctrl+s")
        await driven.until(lambda: driven.top is driven.bench)
        row = driven.session.client.requests.order[-1]
        await driven.until(lambda: not row.open)
        assert row.method == "tools/call"
        assert driven.bench.payloads.params(row) == {"name": "echo", "arguments": {"text": "one"}}


async def test_a_broken_promise_is_in_the_log_and_beside_the_result() -> None:
    async with driving(TARGET, size=(140, 40)) as driven:
        id_ = driven.call("liar")
        await driven.until(lambda: not driven.row(id_).open)
        await driven.until(lambda: "Does not match the output" in driven.inside("detail"))
        await driven.press("4")
        await driven.until(lambda: "output-schema" in driven.inside("log"))
        await driven.press("1", "enter")
        await driven.until(lambda: isinstance(driven.top, ResultScreen))
        await driven.until(lambda: 'n: "not a number" is not of type "number"' in driven.text())
