"""A ledger whose port records what it would have done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from inspect import Signature, signature
from types import SimpleNamespace
from typing import Any, cast

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.evidence import late_answer
from mcp_tui.protocol.ledger import Ledger
from mcp_tui.protocol.ports import LedgerPort
from mcp_tui.protocol.requests import Requests
from mcp_tui.protocol.states import GRACE, LISTEN, TERMINAL, Cause, State


class Action(SimpleNamespace):
    """One call of the port: its ``name``, and each of its arguments by name."""


class Recorder:
    """A port that does nothing but keep what it is told, in order."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def event(self, event: ev.Event) -> None:
        self.said.append(event)

    def __getattr__(self, name: str) -> Callable[..., None]:
        parameters = _parameters(name)

        def did(*args: Any, **more: Any) -> None:
            told = parameters.bind(None, *args, **more)
            told.apply_defaults()
            del told.arguments["self"]
            self.said.append(Action(name=name, **told.arguments))

        did.__name__ = name
        return did


@cache
def _parameters(name: str) -> Signature:
    return signature(getattr(LedgerPort, name))


class RecordedLedger(Ledger):
    """A ledger with such a port."""

    def __init__(self, *, transport: str = "stdio", grace: float = GRACE, **agreed: Any) -> None:
        self.recorder = Recorder()
        super().__init__(cast("LedgerPort", self.recorder), transport=transport, grace=grace)
        self.agree(**agreed)

    def agree(self, **changes: Any) -> None:
        """Change what was negotiated."""
        self.negotiated = replace(self.negotiated, **changes)

    def take(self) -> list[Any]:
        """All events and actions since the last call, in order."""
        self.perform()
        said, self.recorder.said = self.recorder.said, []
        return said


def agrees_with_its_rows(requests: Requests) -> None:
    """What Requests knows without their rows is what the fold of each says."""
    rows = list(requests.order)
    assert [requests.index.state(place) for place in range(len(requests.index))] == [
        row.state for row in rows
    ]
    assert [requests.is_over(place) for place in range(len(rows))] == [row.state in TERMINAL for row in rows]
    assert requests.counts() == (
        sum(row.open and not row.listening for row in rows),
        sum(row.state is State.CANCEL_REQUESTED for row in rows),
        sum(late_answer(row) is not None and not row.cancel_is_internal for row in rows),
    )
    assert list(requests.internal) == [place for place, row in enumerate(rows) if row.internal]
    assert sorted(requests.cancelled) == [
        place
        for place, row in enumerate(rows)
        if not (row.internal or row.method == LISTEN)
        and any(
            isinstance(event, ev.CancelRequested) and event.cause is not Cause.SHUTDOWN
            for event in row.history
        )
    ]
