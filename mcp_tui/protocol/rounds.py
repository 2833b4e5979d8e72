"""Requests that take more than one message: input that the server asks for, and headers that it wants otherwise.

A request of 2026-07-28 may be answered by a wish for input. That answer ends the request on the wire; the same row goes
on with a new round under a new id, which brings the input and the server's state along (multi round-trip requests).
"""

from __future__ import annotations

from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.effects import Gather, GatherOver, Relist
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json, ResponseFrame, as_object, shown
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.sending import ROUNDS, Sending

ROUND_CAP: Final = 10
"""Times that a server may ask for input for one request: one that never stops would go on for ever (C-67)."""

BACKOFF: Final = 0.1
"""Seconds before the first retry that nothing but the server's state asks for; twice as long each time."""

HEADER_MISMATCH: Final = -32020


class Rounds(Sending):
    """The part of a ledger that sends requests again."""

    def _input_required(self, row: Request, frame: ResponseFrame, at: float, seq: int) -> str:
        """Take in an ``input_required`` result; why it cannot be one, or nothing."""
        fields = as_object(frame.result)
        asks, state = fields.get("inputRequests"), fields.get("requestState")
        if row.method not in ROUNDS:
            return f"input may not be asked for by an answer to {row.method}"
        if asks is None and state is None:
            return "input is required, but neither inputRequests nor requestState says which"
        if (asks is not None and not isinstance(asks, dict)) or not isinstance(state, str | None):
            return f"input is required with inputRequests {shown(asks)} and requestState {shown(state)}"
        requests = {key: as_object(value) for key, value in as_object(asks).items()}
        named = ", ".join(dict.fromkeys(str(each.get("method"))[:80] for each in requests.values()))
        round_ = row.rounds + 1
        self.deadlines.arm(row.id, None)
        self._emit(
            ev.InputRequired(at=at, id=row.id, round=round_, asks=named[:200], size=frame.size, seq=seq)
        )
        if round_ > ROUND_CAP:
            self._give_up(row, f"stopped after {ROUND_CAP} rounds of input", "rounds", at)
            return ""
        self._states[row.id] = state
        self._gathering[row.id] = asks is not None
        wait = 0.0 if requests else min(2.0, BACKOFF * 2.0 ** (round_ - 1))
        self._emit(Gather(id=row.id, requests=requests, round=round_, wait=wait))
        return ""

    def supply(self, id: RequestId, responses: dict[str, Json], *, at: float) -> bool:
        """Go on with a request whose input was gathered; false when it waits for none any more.

        The state comes back as it was, and only if there was one (multi round-trip requests, "Client Requirements").
        """
        row = self._live.get(id)
        if row is None or row.state is not State.AWAITING_INPUT:
            return False
        params: dict[str, Json] = dict(self._asked_for.get(id, {}))
        if self._gathering.pop(id, False):
            params["inputResponses"] = responses
        state = self._states.pop(id, None)
        if state is not None:
            params["requestState"] = state
        self._round(row, params, "input given" if responses else "asked to try again", at)
        return True

    def give_up(self, id: RequestId, text: str, *, at: float, rule: str = "unsupported") -> bool:
        """End a request that waits between two rounds, for a reason of ours; false when it does not wait."""
        row = self._live.get(id)
        if row is None or (row.state is not State.AWAITING_INPUT and id not in self._held):
            return False
        self._give_up(row, text, rule, at)
        return True

    def _give_up(self, row: Request, text: str, rule: str, at: float) -> None:
        self._over(row, ev.Failed(at=at, id=row.id, message=text, origin=ev.Origin.CLIENT, rule=rule))

    def _corrects(self, row: Request, code: int, at: float) -> bool:
        """Whether an error is that of headers which a fresh list of tools may mend: then it is sent once more."""
        wanted = code == HEADER_MISMATCH and self.modern and self.transport == "http"
        if not wanted or row.method != "tools/call" or row.round_ids:
            return False
        self._round(row, self._asked_for.get(row.id), "the server wants other headers", at, held=True)
        self._emit(Relist(id=row.id))
        return True

    def _stop_gathering(self, row: Request, why: str) -> None:
        if row.state is State.AWAITING_INPUT or row.task_status == "input_required":
            self._emit(GatherOver(id=row.id, why=why))

    def _forget(self, row: Request) -> None:
        """Let go of what only an open request needs."""
        super()._forget(row)
        self._asked_for.pop(row.id, None)
        self._states.pop(row.id, None)
        self._gathering.pop(row.id, None)
        self._held.pop(row.id, None)
