"""Completion over a real pipe: debounced, taken back by a newer keystroke, with the context that the revision allows."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_tui.client import Client, ClientSettings, StdioTarget
from mcp_tui.client.argument_completion import SUPERSEDED, Completer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Request, State
from tests.client.connected import Told, connected

SERVER = Path(__file__).parents[1] / "servers" / "completing_server.py"


@dataclass
class ServerRequestReceived:
    client: Client
    told: Told
    completer: Completer
    found: list[tuple[str, Sequence[str]]]

    def heard(self, method: str) -> list[dict[str, Any]]:
        lines = [json.loads(event.line) for event in self.told.of(ev.Stderr) if event.line.startswith("{")]
        heard = [line["params"] for line in lines if line["method"] == method]
        return [{name: value for name, value in each.items() if name != "_meta"} for each in heard]

    @property
    def rows(self) -> list[Request]:
        return [row for row in self.client.requests.order if row.method == "completion/complete"]

    async def until(self, true: Callable[[], object]) -> None:
        while not true():
            await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def asking(mode: str, revision: str = "2025-11-25") -> AsyncGenerator[ServerRequestReceived]:
    target = StdioTarget(command=(sys.executable, "-S", str(SERVER), mode))
    async with connected(target, ClientSettings(protocol=revision)) as (client, told):
        found: list[tuple[str, Sequence[str]]] = []

        def report(name: str, values: Sequence[str]) -> None:
            found.append((name, values))

        completer = Completer(client, {"type": "ref/prompt", "name": "visit"}, report)
        yield ServerRequestReceived(client, told, completer, found)


async def test_values_come_for_what_is_typed_with_what_was_given_before():
    async with asking("quick") as asked:
        asked.completer.ask("city", "pa", {"street": "x"})
        await asked.until(lambda: asked.found)
        assert (asked.found[0][0], asked.found[0][1][:2]) == ("city", ["Paris", "Parma"])
        assert asked.rows[0].internal
        await asked.until(lambda: asked.heard("completion/complete"))
        assert asked.heard("completion/complete") == [
            {
                "ref": {"type": "ref/prompt", "name": "visit"},
                "argument": {"name": "city", "value": "pa"},
                "context": {"arguments": {"street": "x"}},
            }
        ]


async def test_only_the_last_of_quick_keystrokes_is_asked():
    async with asking("quick") as asked:
        for typed in ("p", "pa", "par"):
            asked.completer.ask("city", typed, {})
        await asked.until(lambda: asked.found and asked.heard("completion/complete"))
        assert [each["argument"]["value"] for each in asked.heard("completion/complete")] == ["par"]
        assert len(asked.rows) == 1


async def test_a_newer_keystroke_cancels_the_older_request_by_a_signal_and_its_values_are_not_offered():
    async with asking("slow") as asked:
        asked.completer.ask("city", "p", {})
        await asked.until(lambda: asked.rows and asked.rows[0].state is State.IN_FLIGHT)
        asked.completer.ask("city", "os", {})
        await asked.until(lambda: len(asked.rows) == 2)
        first = asked.rows[0]
        assert (first.cause, first.reason) == (ev.Cause.USER, SUPERSEDED)
        await asked.until(lambda: first.late)
        asked.client.notify("notifications/roots/list_changed")  # the server answers before what comes next
        await asked.until(lambda: asked.found)
        assert asked.found == [("city", ["Oslo"])]
        assert asked.heard("notifications/cancelled") == [{"requestId": first.id, "reason": SUPERSEDED}]
