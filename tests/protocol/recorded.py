"""A ledger whose port records what it would have done."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.protocol.ledger import Ledger
from mcp_tui.protocol.messages import Json, ResponseFrame
from mcp_tui.protocol.states import GRACE


class Action(SimpleNamespace):
    """One call of the port: its ``name``, and each of its arguments by name."""


class Recorder:
    """A port that does nothing but keep what it is told, in order."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def _did(self, name: str, **arguments: Any) -> None:
        self.said.append(Action(name=name, **arguments))

    def event(self, event: ev.Event) -> None:
        self.said.append(event)

    def send(self, id: RequestId, method: str, message: dict[str, Json]) -> None:
        self._did("send", id=id, method=method, message=message)

    def signal(self, id: RequestId, signal: Signal, message: dict[str, Json] | None) -> None:
        self._did("signal", id=id, signal=signal, message=message)

    def unqueue(self, id: RequestId) -> None:
        self._did("unqueue", id=id)

    def recall(self, id: RequestId) -> None:
        self._did("recall", id=id)

    def release(self, id: RequestId) -> None:
        self._did("release", id=id)

    def reply(self, message: dict[str, Json]) -> None:
        self._did("reply", request_id=message["id"], message=message)

    def prompt(
        self, request_id: RequestId, method: str, params: dict[str, Json], parent: RequestId | None
    ) -> None:
        self._did("prompt", request_id=request_id, method=method, params=params, parent=parent)

    def prompt_over(self, request_id: RequestId, why: str) -> None:
        self._did("prompt_over", request_id=request_id, why=why)

    def gather(
        self, id: RequestId, requests: dict[str, dict[str, Json]], *, wait: float = 0.0, task: bool = False
    ) -> None:
        self._did("gather", id=id, requests=requests, wait=wait, task=task)

    def gather_over(self, id: RequestId, why: str, keys: frozenset[str] | None = None) -> None:
        self._did("gather_over", id=id, why=why, keys=keys)

    def relist(self, id: RequestId) -> None:
        self._did("relist", id=id)

    def resolve(self, id: RequestId, frame: ResponseFrame | None) -> None:
        self._did("resolve", id=id, frame=frame)


class RecordedLedger(Ledger):
    """A ledger with such a port."""

    def __init__(self, *, transport: str = "stdio", grace: float = GRACE, **agreed: Any) -> None:
        self.recorder = Recorder()
        super().__init__(self.recorder, transport=transport, grace=grace)
        self.agree(**agreed)

    def agree(self, **changes: Any) -> None:
        """Change what was negotiated."""
        self.negotiated = replace(self.negotiated, **changes)

    def take(self) -> list[Any]:
        """All events and actions since the last call, in order."""
        self.perform()
        said, self.recorder.said = self.recorder.said, []
        return said
