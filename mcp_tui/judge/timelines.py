"""Words about one run of a client: how it ended, and the observations of a call and of its servers, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcp_tui.judge.harm import Sign, end_words, next_call
from mcp_tui.judge.observed_run import SIGNALS, ObservedCall, ObservedRun, signal_name
from mcp_tui.probe.report import EvidenceItem
from mcp_tui.protocol.events import Signal
from mcp_tui.protocol.messages import shown

EXACT_SECONDS: Final = 0.2
"""The maximum error of a time that is shown as exact, in seconds."""


def not_called(observed: ObservedRun) -> str:
    """Returns why there is no call to judge."""
    end = ended(observed)
    if not observed.servers and observed.transport == "stdio":
        return f"it did not start the server{end}"
    if not observed.requests:
        return f"it sent no request{end}"
    others = observed.tools or [each.tool for each in (*observed.calls, *observed.nexts)]
    if others and observed.tool not in others:
        other = others[0] if others[0].isidentifier() else shown(others[0])
        return f"it called {other} instead of {observed.tool}{end}"
    return f"it did not call {observed.tool or 'a tool'}{end}"


def ended(observed: ObservedRun) -> str:
    """Returns how the client ended, as the end of a sentence; empty where the judge ended it."""
    if observed.exit is None or observed.stopped:
        return ""
    return f", and {end_words(observed).removeprefix('it ')}"


def client_ended(observed: ObservedRun) -> str:
    """Returns that the client ended, with its exit status if that is known."""
    return "the client ended" if observed.exit is None else f"the client ended (status {observed.exit})"


def crashed(observed: ObservedRun) -> bool:
    """Returns whether the client was ended by a signal that the judge did not send."""
    signalled = observed.stopped or observed.experiment in SIGNALS
    return observed.exit is not None and observed.exit < 0 and not signalled


def lag(call: ObservedCall) -> str:
    """Returns the seconds between a call and its cancel, as a range where both were read too late to be exact."""
    at = call.cancelled_at or call.at
    least = (call.cancelled_since or at) - call.at
    most = at - (call.since or call.at)
    if most - least > EXACT_SECONDS:
        return f"between {max(0.0, least):.1f} and {most:.1f} s"
    return f"{at - call.at:.2f} s"


def way(call: ObservedCall) -> str:
    """Returns how a call was cancelled."""
    words = {
        Signal.NOTIFICATION: "by notifications/cancelled",
        Signal.STREAM_CLOSED: "by closing its stream",
        Signal.TASKS_CANCEL: "by tasks/cancel",
    }
    return words.get(call.signal or Signal.NONE, "")


def given_up_after(observed: ObservedRun, call: ObservedCall) -> float | None:
    """Returns the seconds after which a call was seen to be given up."""
    sign = observed.sign(call)
    times = [each for each in (call.cancelled_at, None if sign is None else sign[0]) if each is not None]
    return min(times) - call.at if times else None


def went_on_before(observed: ObservedRun, call: ObservedCall, disconnected: float) -> bool:
    """Whether the client made its next call on the same connection, before it ended that."""
    nexts = (each for each in observed.nexts if each.connection == call.connection)
    return any(call.at < each.at < disconnected for each in nexts)


def answered_before(observed: ObservedRun, call: ObservedCall, disconnected: float) -> bool:
    """Whether the client had its answer before it ended its connection and itself."""
    end = min(disconnected, observed.ended_at or disconnected)
    return call.answered_at is not None and call.answered_at < end


def timeline(observed: ObservedRun, call: ObservedCall) -> Iterator[EvidenceItem]:
    """Yields the observations of a call, in order."""
    marks: list[tuple[float, str]] = [(call.at, f"{call.tool} was called")]
    if call.cancelled_at is not None:
        told = f": {shown(call.reason)}" if call.reason is not None else ""
        marks.append((call.cancelled_at, f"cancelled {way(call)}{told}"))
    if (sign := observed.sign(call)) is not None:
        marks.append(sign)
    if (disconnected := observed.disconnected_at(call)) is not None:
        what = "deleted its session" if observed.transport == "http" else "ended the server"
        marks.append((disconnected, f"the client {what}"))
    if call.closed_at is not None:
        marks.append((call.closed_at, "the client closed the stream of the call"))
    elif (answered := call.answered_at) is not None:
        if not any(call.at < at <= answered for at, _ in marks):
            marks.append((answered, "the judge answered"))
        elif observed.transport == "http":
            marks.append((answered, "the stream of the call was still open"))
    for at, what in sorted(marks):
        yield EvidenceItem(what, at - call.at)


def harmed_timeline(
    observed: ObservedRun, call: ObservedCall, what: str, found: list[Sign]
) -> list[EvidenceItem]:
    """Returns what was seen of a call and of its harm, in order; ``what`` is what the judge did."""
    items = [*timeline(observed, call), *(EvidenceItem(each.words, each.at - call.at) for each in found)]
    if observed.acted_at is not None:
        items.append(EvidenceItem(what, observed.acted_at - call.at))
    following = next_call(observed)
    if following is not None and following.answered_at is not None:
        text = f"its next call, {following.tool}, was answered"
        items.append(EvidenceItem(text, following.answered_at - call.at))
    return sorted(items, key=lambda each: each.at or 0.0)


def ends(observed: ObservedRun) -> Iterator[EvidenceItem]:
    """Yields how each server ended, in order; times are since the judge acted, or else since the start of the run."""
    since = observed.acted_at or observed.began
    marks = [] if observed.ended_at is None else [(observed.ended_at, client_ended(observed))]
    for each in observed.servers:
        if each.stdin_closed_at is not None:
            marks.append((each.stdin_closed_at, f"stdin of process {each.pid} was closed"))
        marks += [(at, f"process {each.pid} got {signal_name(number)}") for at, number in each.signals]
        if each.ended_at is not None and not each.left:
            marks.append((each.ended_at, f"process {each.pid} was killed"))
    for at, what in sorted(marks):
        yield EvidenceItem(what, at - since)
    for each in observed.servers:
        if each.left:
            yield EvidenceItem(f"process {each.pid} still ran when the judge looked last")
