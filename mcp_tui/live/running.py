"""The running sessions of this user, as each tells of itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from mcp_tui.live.doors import ask_all, doors


class Running(NamedTuple):
    """A running session. ``kind`` is ``tap``, ``workbench``, or ``call``; texts of its client and server are hostile.

    ``recording`` is the file that it writes, empty for none; ``door`` its socket; ``busy`` the number of requests in flight.
    """

    name: str
    door: Path
    kind: str
    client: str
    server: str
    recording: str
    pid: int
    busy: int

    @classmethod
    def of(cls, name: str, door: Path, told: dict[str, Any]) -> Running:
        """Returns a session by what it answered to ``list``."""
        from mcp_tui.protocol.messages import as_text  # ps and cancel, which have to be quick, do not need it

        texts = {key: as_text(told.get(key)) for key in ("kind", "client", "recording")}
        busy = len(told.get("requests") or ())
        return cls(
            name=name, door=door, server=as_text(told.get("name")), pid=told["pid"], busy=busy, **texts
        )

    @property
    def whose(self) -> str:
        """Who calls in it: a foreign client, or mcp-tui itself."""
        return whose(self.kind, self.client)


def whose(kind: str, client: str) -> str:
    """Returns who calls in a session: a foreign client, or mcp-tui itself."""
    return (client or "unknown client") if kind == "tap" else f"{client} {kind}"


def running() -> list[Running]:
    """Returns the sessions that answer, but those of this process."""
    known = doors()
    told = {name: each for name, each in ask_all({"ask": "list"}).items() if each is not None}
    found = [Running.of(name, known[name], each) for name, each in told.items() if name in known]
    return [each for each in found if each.pid != os.getpid()]
