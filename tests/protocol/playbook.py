"""Playbooks: a dialogue with a ledger, written line by line, and a comparison that shows both dialogues where they part.

A script is a list of steps and lines. A step is something that happens to the ledger at a moment: an intent, bytes of
the server's, a report of the transport, the time. The lines behind a step are all that the ledger says to it, in
order: events by their name, the request's id and every field that is not at its default; effects the same, behind an
arrow. Sizes and numbers of frames are left out. A step without lines behind it is one to which the ledger says nothing.
Two things go without saying: a cancel is *requested*, and whoever waits for a request is told right behind its end::

    play(
        Wire("stdio", "2025-11-25").ledger(),
        at(0).calls(1, "ping"),
        at(0).sent(1),
        at(0.2).completes(1),
    )

Frames go through the parser as bytes; times are virtual seconds. Every event must bear the time of its step.
"""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import Cause, Limits, RequestId, Signal
from mcp_tui.protocol.framing import Oversized
from mcp_tui.protocol.ledger import CancelOutcome
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.revisions import REVISIONS
from tests.cases import cases
from tests.protocol.recorded import Action, RecordedLedger

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"


# -- the parties -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wire:
    """A transport and the revision that is spoken over it; ``None`` while none is settled."""

    transport: str
    revision: str | None

    def __str__(self) -> str:
        return f"{self.transport} {self.revision or 'unsettled'}"

    def ledger(self) -> RecordedLedger:
        ledger = RecordedLedger(transport=self.transport)
        ledger.agree(revision=None if self.revision is None else REVISIONS[self.revision])
        return ledger

    def in_flight(self, *methods: str, limits: Limits | None = None) -> RecordedLedger:
        """A ledger with requests ``1``, ``2``, … in flight since second 0; by default one call of the tool ``slow``."""
        ledger = self.ledger()
        for method in methods or ("tools/call",):
            params = {"name": "slow"} if method == "tools/call" else None
            id_ = ledger.call(method, params, limits=limits or ev.DEFAULT_LIMITS, at=0.0)
            ledger.writing(id_)
            ledger.written(id_, at=0.0)
        ledger.take()
        return ledger

    def cancelling(self, *methods: str) -> RecordedLedger:
        """The same, all cancelled by a person at second 2, because of "no", with their signals still queued."""
        ledger = self.in_flight(*methods)
        for row in ledger.requests.order:
            ledger.cancel(row.id, Cause.USER, "no", at=2.0)
        ledger.take()
        return ledger

    def cancelled(self) -> RecordedLedger:
        """The same with one request, and the signal gone at second 2."""
        ledger = self.cancelling()
        ledger.signalled(1, self.signal, at=2.0)
        ledger.take()
        return ledger

    def settles(self, detail: str = "") -> list[str]:
        """What is said when a request that was cancelled settles: nothing where its stream was closed, and it with that."""
        if self.signal is Signal.STREAM_CLOSED:
            return []
        return [f"Settled 1{detail}"]

    def releases(self, id: int) -> list[str]:
        """What is asked for over HTTP when a request ends although its stream may go on."""
        return [f"-> release {id}"] if self.transport == "http" else []

    @property
    def signal(self) -> Signal:
        closes = self.transport == "http" and self.revision in (None, MODERN)
        return Signal.STREAM_CLOSED if closes else Signal.NOTIFICATION


NOTIFYING = [
    *(Wire("stdio", revision) for revision in (*HANDSHAKE, MODERN)),
    *(Wire("http", revision) for revision in HANDSHAKE[1:]),
    Wire("sse", HANDSHAKE[0]),
]
"""Where a cancel leaves as a notification."""

MODERN_HTTP = Wire("http", MODERN)
"""Where it leaves by closing the request's stream."""

EVERYWHERE = [*NOTIFYING, MODERN_HTTP]
ON_STDIO = [wire for wire in EVERYWHERE if wire.transport == "stdio"]
ON_HTTP = [wire for wire in EVERYWHERE if wire.transport == "http"]
HANDSHAKEN = [wire for wire in EVERYWHERE if wire.revision != MODERN]

everywhere = cases("wire", EVERYWHERE)
notifying = cases("wire", NOTIFYING)
handshaken = cases("wire", HANDSHAKEN)
modern = cases("wire", [Wire("stdio", MODERN), MODERN_HTTP])
on_http = cases("wire", ON_HTTP)


# -- what happens ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One thing that happens. ``run`` may return lines of its own: what it looked at. ``expects`` are lines behind it."""

    at: float
    text: str
    run: Callable[[RecordedLedger], list[str] | None]
    expects: tuple[str, ...] = ()


@dataclass(frozen=True)
class Moment:
    """What can happen at a moment."""

    at: float

    def _step(self, text: str, run: Callable[[RecordedLedger], object]) -> Step:
        def silently(ledger: RecordedLedger) -> None:
            run(ledger)

        return Step(self.at, text, silently)

    # intents

    def call(self, method: str, params: Json = None, *, limits: Limits = ev.DEFAULT_LIMITS) -> Step:
        return self._step(f"call {method}", lambda on: on.call(method, params, limits=limits, at=self.at))

    def cancel(
        self, id: RequestId, reason: str = "", *, cause: Cause = Cause.USER, leave: bool = False
    ) -> Step:
        def run(on: RecordedLedger) -> list[str]:
            outcome = on.cancel(id, cause, reason, at=self.at, leave=leave)
            return [] if outcome is CancelOutcome.REQUESTED else [f"= {outcome.name}"]

        return Step(self.at, f"cancel {id!r} {cause.value} {reason!r}", run)

    def calls(self, id: RequestId, method: str) -> Step:
        """A call without parameters, which becomes request ``id``."""
        expects = (f"Called {id!r} method={method}", f"-> send {id!r} {method}")
        return dataclasses.replace(self.call(method), expects=expects)

    def cancels(self, id: RequestId, reason: str = "", *, cause: Cause = Cause.USER) -> Step:
        """A cancel that changes the row."""
        told = f"CancelRequested {id!r} cause={cause.value} reason={_value(reason)}"
        return dataclasses.replace(self.cancel(id, reason, cause=cause), expects=(told,))

    def extend(self, id: RequestId, seconds: float | None) -> Step:
        return self._step(f"extend {id!r} by {seconds}", lambda on: on.clocks.extend(id, seconds, at=self.at))

    def pause(self, id: int, *, paused: bool) -> Step:
        return self._step(
            f"pause {id!r}: {paused}",
            lambda on: on.clocks.pause(on.requests.order[id - 1], self.at, paused=paused),
        )

    def answer(self, request_id: RequestId, value: Json = None, *, code: int | None = None) -> Step:
        def run(on: RecordedLedger) -> list[str]:
            answered = on.inbound.answer(request_id, value, code=code, text="", at=self.at)
            return [] if answered else ["= nobody waits for it"]

        return Step(self.at, f"answer {request_id!r}", run)

    def supply(self, id: RequestId, responses: dict[str, Json] | None = None) -> Step:
        def run(on: RecordedLedger) -> list[str]:
            return [] if on.rounds.supply(id, responses or {}, at=self.at) else ["= nobody waits for it"]

        return Step(self.at, f"supply {id!r}", run)

    def update(self, id: RequestId, responses: dict[str, Json]) -> Step:
        def run(on: RecordedLedger) -> list[str]:
            return [] if on.tasks.update(id, responses, at=self.at) else ["= nobody waits for it"]

        return Step(self.at, f"update {id!r}", run)

    def resend(self, id: RequestId) -> Step:
        return self._step(f"resend {id!r}", lambda on: on.rounds.resend(id))

    def stop_waiting(self, id: RequestId) -> Step:
        return self._step(f"stop waiting for {id!r}", lambda on: on.tasks.stop_waiting(id, at=self.at))

    # the time

    def tick(self) -> Step:
        return self._step("tick", lambda on: on.tick(self.at))

    # reports of the transport

    def writing(self, id: RequestId) -> Step:
        return self._step(f"writing {id!r}", lambda on: on.writing(id))

    def written(self, id: RequestId) -> Step:
        return self._step(f"written {id!r}", lambda on: on.written(id, at=self.at))

    def wrote(self, id: RequestId) -> Step:
        def run(on: RecordedLedger) -> None:
            on.writing(id)
            on.written(id, at=self.at)

        return self._step(f"wrote {id!r}", run)

    def sent(self, id: RequestId) -> Step:
        """The request was written, and the ledger says so."""
        return dataclasses.replace(self.wrote(id), expects=(f"Sent {id!r}",))

    def leaving(self, id: RequestId) -> Step:
        return self._step(f"signal of {id!r} leaving", lambda on: on.signal_leaving(id))

    def signalled(
        self, id: RequestId, signal: Signal = Signal.NOTIFICATION, *, answered: bool = False
    ) -> Step:
        return self._step(
            f"signalled {id!r} {signal.value}",
            lambda on: on.signalled(id, signal, at=self.at, answered=answered),
        )

    def leaves(self, id: RequestId) -> Step:
        """The notification that cancels it was written, which ends the wait for it."""
        told = f"-> resolve {id!r} with nothing"
        expects = (told, f"CancelSignalled {id!r} signal=notification reason_delivered=True")
        return dataclasses.replace(self.signalled(id), expects=expects)

    def signal_accepted(self, id: RequestId) -> Step:
        return self._step(f"signal of {id!r} accepted", lambda on: on.signal_accepted(id, at=self.at))

    def signal_failed(self, id: RequestId, detail: str, *, refused: bool = False) -> Step:
        return self._step(
            f"signal of {id!r} {'refused' if refused else 'failed'}: {detail}",
            lambda on: on.signal_failed(id, detail, at=self.at, refused=refused),
        )

    def stream_ended(self, id: RequestId, detail: str = "") -> Step:
        return self._step(
            f"stream of {id!r} ended {detail}", lambda on: on.stream_ended(id, detail, at=self.at)
        )

    def refused(self, id: RequestId, detail: str, *, status: int = 0) -> Step:
        return self._step(
            f"refused {id!r} {status}: {detail}", lambda on: on.refused(id, detail, status=status, at=self.at)
        )

    def closed(self, detail: str, *, expected: bool = False) -> Step:
        return self._step(f"closed: {detail}", lambda on: on.closed(detail, at=self.at, expected=expected))

    def receiving_ended(self, detail: str) -> Step:
        return self._step(f"unheard: {detail}", lambda on: on.receiving_ended(detail, at=self.at))

    def stop_watching(self) -> Step:
        return self._step("stop watching", lambda on: on.receiving_ended("", at=self.at, expected=True))

    def too_large(self, head: bytes, size: int) -> Step:
        return self._step(
            f"too large: {head[:60]!r} {size}",
            lambda on: on.responses.too_large(Oversized(head=head, size=size), at=self.at),
        )

    # the server

    def raw(self, raw: bytes, *, stream: RequestId | None = None) -> Step:
        where = "" if stream is None else f" on the stream of {stream!r}"
        return self._step(
            f"server: {raw[:200].decode('utf-8', 'replace')}{where}",
            lambda on: on.receive(messages.parse(raw), at=self.at, stream=stream),
        )

    def message(self, members: dict[str, Json], *, stream: RequestId | None = None) -> Step:
        return self.raw(json.dumps({"jsonrpc": "2.0", **members}).encode(), stream=stream)

    def batch(self, *members: dict[str, Json]) -> Step:
        return self.raw(json.dumps([{"jsonrpc": "2.0", **each} for each in members]).encode())

    def result(self, id: Json, result: Json = None, *, stream: RequestId | None = None) -> Step:
        return self.message({"id": id, "result": {} if result is None else result}, stream=stream)

    def completes(self, id: RequestId, result: Json = None, *, stream: RequestId | None = None) -> Step:
        """The result of a request, which ends it."""
        return dataclasses.replace(self.result(id, result, stream=stream), expects=(f"Completed {id!r}",))

    def error(
        self, id: Json, code: int = -32603, text: str = "no", *, stream: RequestId | None = None
    ) -> Step:
        return self.message({"id": id, "error": {"code": code, "message": text}}, stream=stream)

    def notification(self, method: str, params: Json = None, *, stream: RequestId | None = None) -> Step:
        return self.message({"method": method, "params": {} if params is None else params}, stream=stream)

    def progress(self, token: Json, progress: Json, *, stream: RequestId | None = None, **more: Json) -> Step:
        params = {"progressToken": token, "progress": progress, **more}
        return self.notification("notifications/progress", params, stream=stream)

    def request(self, id: Json, method: str, params: Json = None) -> Step:
        return self.message({"id": id, "method": method, "params": {} if params is None else params})

    def withdraws(self, request_id: Json, reason: str | None = None) -> Step:
        params = {"requestId": request_id} if reason is None else {"requestId": request_id, "reason": reason}
        return self.notification("notifications/cancelled", params)

    # looking

    def deadline(self, due: float | None) -> Step:
        expects = (_value(due and float(due)),)
        return Step(self.at, "when next?", lambda on: [_value(on.deadlines.next())], expects)

    def clocks(self, id: RequestId, words: str) -> Step:
        def run(on: RecordedLedger) -> list[str]:
            row = on.requests.get(id)
            assert row is not None
            if row.paused_at is not None:
                assert row.deadlines() == (None, None)
                return ["paused"]
            idle, maximum = row.deadlines()
            running = {"idle": idle, "maximum": maximum}
            return [" ".join(f"{name} {_value(due)}" for name, due in running.items() if due is not None)]

        return Step(self.at, f"clocks of {id!r}", run, (words,))

    def look(self, id: RequestId, words: str) -> Step:
        def run(on: RecordedLedger) -> list[str]:
            row = on.requests.get(id)
            assert row is not None
            return [_row(row, self.at)]

        return Step(self.at, f"look at {id!r}", run, (words,))


def at(seconds: float) -> Moment:
    return Moment(float(seconds))


# -- how it reads ----------------------------------------------------------------------------------------------


def said(item: ev.Event | Action) -> str:
    """An event or an action as a line of a playbook."""
    if isinstance(item, ev.Event):
        return _event(item)
    match item.name:
        case "send":
            params = messages.as_object(item.message.get("params"))
            told = {
                key: value
                for key, value in params.items()
                if key not in ("_meta", "name", "arguments", "uri")
            }
            return f"-> send {item.id!r} {item.method}" + (f" {_value(told)}" if told else "")
        case "signal":
            told = "" if item.message is None else f" {_value(item.message['params'])}"
            return f"-> signal {item.id!r} {item.signal.value}{told}"
        case "resolve":
            with_ = "nothing" if item.frame is None else "an error" if item.frame.error else "a result"
            return f"-> resolve {item.id!r} with {with_}"
        case "reply":
            body = {key: value for key, value in item.message.items() if key in ("result", "error")}
            return f"-> reply {item.message['id']!r} {_value(body)}"
        case "prompt":
            return f"-> prompt {item.request_id!r} {item.method}"
        case "prompt_over":
            return f"-> prompt_over {item.request_id!r} {item.why}"
        case "gather":
            keys = ", ".join(item.requests) or f"nothing, after {_value(item.wait)} s"
            return f"-> gather {item.id!r} {keys}{' for its task' if item.task else ''}"
        case "gather_over":
            keys = "" if item.keys is None else f" {', '.join(sorted(item.keys))}:"
            return f"-> gather_over {item.id!r}{keys} {item.why}"
        case _:
            return f"-> {item.name} {item.id!r}"


def _event(event: ev.Event) -> str:
    words = [type(event).__name__]
    about = getattr(event, "id", None)
    if about is not None:
        words.append(repr(about))
    for field in dataclasses.fields(event):
        value = getattr(event, field.name)
        if field.name not in ("at", "seq", "size", "id") and value != field.default:
            words.append(f"{field.name}={_value(value)}")
    return " ".join(words)


def _row(row: Request, now: float) -> str:
    words = [row.state.value, f"elapsed={_value(row.elapsed(now))}"]
    for name in (
        "cause",
        "reason",
        "signal",
        "delayed",
        "undelivered",
        "settled",
        "error",
        "rule",
        "code",
        "progress",
    ):
        value = getattr(row, name)
        if value is not None and value != "":
            words.append(f"{name}={_value(value)}")
    if row.reason_delivered:
        words.append("reason delivered")
    words += [f"late={e.kind.value}×{e.count}+{_value(e.after)}" for e in row.late]
    if row.duplicates:
        words.append(f"duplicates={row.duplicates}")
    return " ".join(words)


def _value(value: Any) -> str:
    match value:
        case Enum():
            return str(value.value)
        case bool() | None:
            return str(value)
        case float():
            return f"{value:.10g}"
        case Limits():
            return f"{_value(value.timeout)}/{_value(value.max_timeout)}/{_value(value.ask)}"
        case dict():
            return json.dumps(value, separators=(",", ":"))
        case str():
            return value if value and not set(value) & set(" '\"=") else repr(value)
        case _:
            return repr(value)


# -- the comparison --------------------------------------------------------------------------------------------


class Departure(AssertionError):
    """The ledger said something else than the script."""


def play(ledger: RecordedLedger, *script: Step | str) -> RecordedLedger:
    """Plays a script; returns the ledger as it is at the end.

    Raises:
        Departure: with both dialogues, line against line, up to the step at which they part.
    """
    __tracebackhide__ = True
    expected: list[str] = []
    actual: list[str] = []
    for step, lines in _by_step(script):
        said_to_it = f"{step.at:g}  {step.text}"
        looked = step.run(ledger) or []
        outcome = [*_lines(ledger.take(), step.at), *looked]
        expected += [said_to_it, *(f"    {line}" for line in lines)]
        actual += [said_to_it, *(f"    {line}" for line in outcome)]
        if lines != outcome:
            parted = "\n".join(each for each in difflib.ndiff(expected, actual) if not each.startswith("?"))
            raise Departure(f"- the script, + the ledger:\n{parted}")
    return ledger


def after(ledger: RecordedLedger, *steps: Step) -> RecordedLedger:
    """The ledger after some steps, whatever it said to them."""
    for step in steps:
        step.run(ledger)
    ledger.take()
    return ledger


def _by_step(script: tuple[Step | str, ...]) -> list[tuple[Step, list[str]]]:
    steps: list[tuple[Step, list[str]]] = []
    for item in script:
        if isinstance(item, Step):
            steps.append((item, [*item.expects]))
        else:
            steps[-1][1].append(item)
    return steps


def _lines(items: list[ev.Event | Action], now: float) -> Iterator[str]:
    """What the ledger said, without the calls of ``resolve`` that are as the event before them has it."""
    for item, following in itertools.pairwise([*items, None]):
        if item is None:
            continue
        usual = isinstance(item, Action) and getattr(item, "as_usual", False)
        if not usual:
            yield _dated(item, now)
        if isinstance(item, (ev.Completed, ev.Failed, ev.Lost, ev.Settled)):
            told = isinstance(following, Action) and following.name == "resolve" and following.id == item.id
            if not told:
                yield "-> nobody is told yet"
                continue
            assert isinstance(following, Action)
            answered = isinstance(item, ev.Completed) or getattr(item, "origin", None) is ev.Origin.SERVER
            following.as_usual = answered is (following.frame is not None)


def _dated(out: ev.Event | Action, now: float) -> str:
    wrong = isinstance(out, ev.Event) and out.at != now
    return f"{said(out)} (at {out.at:g})" if wrong and isinstance(out, ev.Event) else said(out)
