"""Requests that take more than one message: input that the server asks for, and headers that it wants otherwise.

A request of 2026-07-28 may be answered by asking for input. That answer ends the request on the wire; the same row goes
on with a new round under a new id, which brings the input and the server's state along (multi round-trip requests).
"""

from __future__ import annotations

from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.deadlines import Timer
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json, ResponseFrame, as_object, shown
from mcp_tui.protocol.ports import Core
from mcp_tui.protocol.requests import Request, State

ROUNDS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""Methods for which a server may ask for input (multi round-trip requests, 2026-07-28, "Supported Requests")."""

ROUND_CAP: Final = 10
"""Times that a server may ask for input for one request: one that never stops would go on for ever (C-67)."""

BACKOFF: Final = 0.1
"""Seconds before the first retry that nothing but the server's state asks for; twice as long each time."""

HEADER_MISMATCH: Final = -32020


class Rounds:
    """The part of a ledger that decides whether, and with what, a request is sent again."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def input_required(self, row: Request, frame: ResponseFrame, at: float, seq: int) -> str:
        """Take in an ``input_required`` result; returns why it is invalid, or nothing."""
        core = self._core
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
        # nobody's time runs out while a person is asked
        core.deadlines.arm(Timer.LIMIT, row.id, None)
        core.emit(
            ev.InputRequired(at=at, id=row.id, round=round_, asks=named[:200], size=frame.size, seq=seq)
        )
        if round_ > ROUND_CAP:
            core.fail(row, f"stopped after {ROUND_CAP} rounds of input", "rounds", at)
            return ""
        live = core.live[row.id]
        live.request_state, live.gathers = state, asks is not None
        wait = 0.0 if requests else min(2.0, BACKOFF * 2.0 ** (round_ - 1))
        core.do(core.port.gather, row.id, requests, wait=wait)
        return ""

    def supply(self, id: RequestId, responses: dict[str, Json], *, at: float) -> bool:
        """Go on with a request whose input was gathered; false when it waits for none any more.

        The state comes back as it was, and only if there was one (multi round-trip requests, "Client Requirements").
        """
        live = self._core.live.get(id)
        if live is None or live.row.state is not State.AWAITING_INPUT:
            return False
        params: dict[str, Json] = dict(live.params or {})
        if live.gathers:
            params["inputResponses"] = responses
        if live.request_state is not None:
            params["requestState"] = live.request_state
        live.gathers, live.request_state = False, None
        self._core.send_round(live.row, params, "input given" if responses else "asked to try again", at)
        return True

    def resend(self, id: RequestId) -> bool:
        """Let a held round go; false where none waits."""
        live = self._core.live.get(id)
        if live is None or not live.held:
            return False
        live.held = False
        self._core.dispatch(live.row, live.params)
        return True

    def give_up(self, id: RequestId, text: str, *, at: float, rule: str = "unsupported") -> bool:
        """End a request that waits between two rounds, for a reason of ours; false when it does not wait."""
        live = self._core.live.get(id)
        if live is None or (live.row.state is not State.AWAITING_INPUT and not live.held):
            return False
        live.held = False
        self._core.fail(live.row, text, rule, at)
        return True

    def corrects(self, row: Request, code: int, at: float) -> bool:
        """Whether an error is about headers that a fresh list of tools may mend: then the request is sent once more."""
        core, negotiated = self._core, self._core.negotiated
        wanted = code == HEADER_MISMATCH and negotiated.modern and negotiated.transport == "http"
        if not wanted or row.method != "tools/call" or row.round_ids:
            return False
        core.send_round(row, None, "the server requires other headers", at, held=True)
        core.do(core.port.relist, row.id)
        return True

    def stop_gathering(self, row: Request, why: str) -> None:
        """Ask nobody any more for the input of a request."""
        if row.state is State.AWAITING_INPUT or row.task_status == "input_required":
            self._core.do(self._core.port.gather_over, row.id, why)
