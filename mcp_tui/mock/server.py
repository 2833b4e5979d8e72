"""The mock as a server: which recorded run answers a request, in whatever protocol version its client speaks."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from mcp_tui.demo import frames
from mcp_tui.demo.calls import Call, Channel
from mcp_tui.demo.dispatch import WORKING, Conversation, Setting
from mcp_tui.demo.frames import DemoCaller, DemoRefusal, Object, as_object
from mcp_tui.demo.server import main
from mcp_tui.mock.replaying import Replayed, adapted, capabilities, introduction, supported
from mcp_tui.mock.runs import Run, Runs, key_of, shown
from mcp_tui.protocol import error_codes
from mcp_tui.protocol.states import LOG_LEVELS

NAMED: Final = 8
"""Recorded requests that an error names."""


class Mock:
    """What all conversations of a mock share. ``speed`` is ``None`` for no delays; ``refused`` counts requests."""

    def __init__(
        self, runs: Runs, *, speed: float | None, strict: bool = False, nearest: bool = False
    ) -> None:
        self.runs = runs
        self.pace = 0.0 if speed is None else 1.0 / speed
        self.strict = strict
        self.nearest = nearest
        self.refused = 0
        self.told, self.server = introduction(runs.all)
        self.head = 0.0
        self.turns: Counter[str] = Counter()
        """How often each request was answered, outside of sessions."""

    def serve(self, port: int | None) -> int:
        """Serves until the end; returns the exit status, as :func:`mcp_tui.demo.server.main` does."""
        # over stdio, the first answer of a recording has the start of the recorded server in it; that of this one is over
        self.head = time.process_time() if port is None else 0.0
        return main(port, None, self._settle, "mock")

    def _settle(self, setting: Setting) -> Setting:
        return replace(setting, converse=self._converse, streams=self._streams)

    def _converse(self, setting: Setting) -> Conversation:
        return MockConversation(setting, self)

    def _streams(self, frame: Object) -> bool:
        params = as_object(frame.get("params")) or {}
        runs = self.runs.find(str(frame.get("method")), params)
        return frame.get("method") in WORKING or any(not each.is_answer for run in runs for each in run.steps)

    def refusal(self, method: str, params: Object, why: str = "Not recorded") -> DemoRefusal:
        """Returns the error for a request that has no run, and tells it on stderr too."""
        self.refused += 1
        known = self.runs.names(method)
        what = (
            f"Recorded for {method}"
            if any(run.method == method for run in self.runs.all)
            else "Recorded methods"
        )
        more = f", and {len(known) - NAMED} more" if len(known) > NAMED else ""
        sentence = f"{why}: {shown(method, params)}. {what}: {', '.join(known[:NAMED])}{more}."
        with suppress(OSError):  # nobody may read it
            sys.stderr.write(f"mcp-tui mock: {sentence}\n")
            sys.stderr.flush()
        unknown = what == "Recorded methods"
        return DemoRefusal(error_codes.METHOD_NOT_FOUND if unknown else error_codes.INVALID_PARAMS, sentence)


class MockConversation(Conversation):
    """One client of the mock."""

    def __init__(self, setting: Setting, mock: Mock) -> None:
        super().__init__(setting)
        self._mock = mock
        self._turns: Counter[str] = Counter()

    def notify(self, frame: Object) -> None:
        """Takes a notification; what the recorded server sent after it, and for no request, comes again."""
        super().notify(frame)
        params = as_object(frame.get("params")) or {}
        if runs := self._mock.runs.find(frame["method"], params):
            run = self._turn(runs, frame["method"], params, self.client)
            call = self._replayed(run, runs, None, params, self.client, self.aside)
            self._setting.spawn(call.perform(call))

    def handle(self, frame: Object, caller: DemoCaller, channel: Channel) -> Call | None:
        """Begins the recorded run of a request, or answers what every server answers."""
        method, params = frame["method"], frames.params_of(frame)
        runs = self._mock.runs.find(method, params)
        if method == "logging/setLevel" and params.get("level") in LOG_LEVELS:
            self.client = replace(self.client, log_level=params["level"])
        made = None
        if method == "initialize":
            runs, made = self._agree(runs, params)
        elif method == "server/discover" and not runs:
            made = capabilities(self._mock.told, caller) | {"supportedVersions": supported(frames.MODERN)}
        elif method in {"ping", "logging/setLevel"} and not runs:
            made = {}
        if made is not None and not runs:
            run = Run(0.0, method, {})
            result = adapted(run, made, caller, self._mock.server)
            channel.send(frames.result_frame(frame["id"], result))
            return None
        if not runs and self._mock.nearest:
            runs = self._mock.runs.nearest(method, params)
        if not runs:
            raise self._mock.refusal(method, params)
        run = self._turn(runs, method, params, caller)
        self._check_era(run, caller, method, params)
        call = self._replayed(run, runs, frame["id"], params, caller, channel)
        if made is not None:
            version = made
            call.adapt = lambda run, result: adapted(run, {**result, **version}, caller, self._mock.server)
        return self.start(call, call.perform)

    def _agree(self, runs: list[Run], params: Object) -> tuple[list[Run], Object]:
        """Agrees on a protocol version; returns the runs of ``initialize``, and what its result says now."""
        asked = params.get("protocolVersion")
        if not isinstance(asked, str):
            raise frames.bad_params("protocolVersion must be a string")
        if self.revision is not None:
            raise frames.bad_request("already initialized")
        known = {
            str(run.params.get("protocolVersion")): str(run.result.get("protocolVersion"))
            for run in runs
            if run.result
        }
        wanted = asked if asked in frames.HANDSHAKE else frames.HANDSHAKE[0]
        # a server that did not agree once speaks that version alone
        firm = [agreed for each, agreed in known.items() if each != agreed and each in frames.HANDSHAKE]
        if not runs or known:
            self.revision = known.get(asked) or next(iter(firm), wanted)
            self.client = DemoCaller(
                self.revision, LOG_LEVELS[0], as_object(params.get("capabilities")) or {}
            )
        made: Object = {"protocolVersion": self.revision}
        if runs:
            return runs, made
        return [], capabilities(self._mock.told, self.client) | made | {"serverInfo": self._mock.server}

    def _check_era(self, run: Run, caller: DemoCaller, method: str, params: Object) -> None:
        """Raises `DemoRefusal` for a run that asks its client as only the other era can."""
        if run.modern == caller.modern:
            return
        asks = any(each.is_question for each in run.steps) or run.result.get("resultType") == "input_required"
        if asks:
            era = "in 2026-07-28" if run.modern else "before 2026-07-28"
            raise self._mock.refusal(method, params, f"It asks the client, and was recorded {era}")

    def _turn(self, runs: Sequence[Run], method: str, params: Object, caller: DemoCaller) -> Run:
        """Returns the run whose turn it is: each in the recorded order, then the last again."""
        turns = self._mock.turns if caller.modern else self._turns
        key = key_of(method, params)
        turns[key] += 1
        if self._mock.strict and turns[key] > len(runs):
            times = "1 time" if len(runs) == 1 else f"{len(runs)} times"
            raise self._mock.refusal(method, params, f"Recorded {times} only")
        return runs[min(turns[key], len(runs)) - 1]

    def _replayed(
        self, run: Run, runs: Sequence[Run], id_: Any, params: Object, caller: DemoCaller, channel: Channel
    ) -> Replayed:
        mock, log = self._mock, self._setting.log
        call = Replayed(id_, run.name or run.method, caller, params, channel, log, self._questions)
        call.run, call.pace, call.aside = run, mock.pace, self.aside
        call.spare = next((each for each in runs if each.cancelled is None and each.answer is not None), None)
        call.adapt = lambda run, result: adapted(run, result, caller, mock.server)
        call.head, mock.head = mock.head, 0.0

        def reaction(after: float) -> Run | None:
            same = [each for each in runs if each.cancelled is not None]
            cancelled = same or [
                each for each in mock.runs.like(run.method, run.name) if each.cancelled is not None
            ]
            return min(cancelled, key=lambda each: abs((each.cancelled or 0.0) - after), default=None)

        call.reaction = reaction
        return call
