"""The harm that a message of the judge's did to a client: what its run shows and the control run does not.

A control run is the same without that message. So an exit status, an error, or a missing call is harm only where the same
client has none of it when nothing comes late.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mcp_tui.judge.client_rules import BREAKS
from mcp_tui.judge.observed_run import PERSON, ObservedCall, ObservedRun, signal_name
from mcp_tui.protocol.responses import CROSSING_SECONDS
from mcp_tui.protocol.values import frozen

SURFACED: Final = re.compile(
    r"(?i:traceback|unhandled|uncaught|panick|(?:unknown|unexpected) (?:message|request|response|result|id))"
    r"|\b(?:[A-Z]\w*)?(?:Error|Exception)\b|(?:^|\s)(?i:fatal|error):",
)
"""Words of a line that shows that a message caused an unhandled error."""

CHATTER: Final = re.compile(r".{0,40}\b(?:debug|info)\b", re.IGNORECASE)
"""The start of a line that a client logs for its developers."""

VARIES: Final = re.compile(r"0x[0-9a-f]+|\d+", re.IGNORECASE)
"""The parts of a line that differ from run to run."""

LOST_ANSWER: Final = "lost answer"
"""The kind of a sign: a cancel of a call long after its answer, which the client never had."""

NEXT_FAILED: Final = "its next call failed, as a person saw"


@frozen
class Sign:
    """Something that may be harm. A control run that has a sign of the same ``kind`` shows that it is none.

    ``doubtful``: it is harm only where a control run was made and has it not.
    """

    kind: str
    words: str
    at: float
    doubtful: bool = False


def harm(observed: ObservedRun, control: ObservedRun | None) -> list[Sign]:
    """Returns the signs that only this run has, the most telling first."""
    found = signs(observed)
    if control is None or control.acted_at is None:
        return [each for each in found if not each.doubtful]
    # A line of the control run is no harm, whenever it was printed: the client's abort may print it before or after.
    usual = {each.kind for each in (*signs(control), *_lines(control, 0.0))}
    return [each for each in found if each.kind not in usual]


def signs(observed: ObservedRun | None) -> list[Sign]:
    """Returns what a run shows after the judge acted, the most telling first; nothing where it did not act."""
    if observed is None or observed.acted_at is None:
        return []
    acted, ends = observed.acted_at, _ends(observed)
    return [*ends, *_wrong_messages(observed, acted), *_lines(observed, acted), *_calls(observed)]


def next_call(observed: ObservedRun) -> ObservedCall | None:
    """Returns the next call that the client made: the first one that was not answered before the judge acted."""
    acted = observed.acted_at or 0.0
    return next((each for each in observed.nexts if (each.answered_at or acted) >= acted), None)


def open_call(observed: ObservedRun) -> ObservedCall | None:
    """Returns the call of the experiment, where the client waited for its answer when the judge acted."""
    call, acted = observed.call, observed.acted_at
    if call is None or acted is None or (call.cancelled_at is not None and call.cancelled_at < acted):
        return None
    sign = observed.sign(call)
    return None if sign is not None and sign[0] <= acted else call


def settled(observed: ObservedRun, control: ObservedRun | None) -> str:
    """Returns how the client continued after its next call was answered; empty if it did not."""
    following, call = next_call(observed), open_call(observed)
    if not observed.nexts and call is not None and call.answered_at is not None and observed.exit == 0:
        return "its call was answered, and it ended with status 0"
    if following is None or following.answered_at is None or observed.acted_at is None:
        return ""
    answered, at = following.answered_at, following.connection
    if following.cancelled_at is not None and following.cancelled_at < answered:
        return ""  # The judge withheld its answer for longer than the client's limit.
    if any(each.at > answered and each.connection == at for each in (*observed.calls, *observed.nexts)):
        return "its next call was answered, and it made one more"
    if observed.exit == 0:
        return "its next call was answered, and it ended with status 0"
    usual = None if control is None or observed.stopped or control.stopped else control.exit
    if usual is not None and observed.exit == usual:
        return f"its next call was answered, and it ended with status {observed.exit} as usual"
    if observed.next_shown:
        return "its next call was answered, as a person saw"
    return ""


def end_words(observed: ObservedRun) -> str:
    """Returns how the client ended."""
    if observed.exit is None:
        return "it ended"
    if observed.exit < 0:
        return f"it was ended by {signal_name(-observed.exit)}"
    return f"it ended with status {observed.exit}"


def _ends(observed: ObservedRun) -> Iterator[Sign]:
    """Yields the ways in which a client ended too early, or did not end."""
    assert observed.acted_at is not None
    at = observed.ended_at or observed.stopped_at or observed.acted_at
    if observed.exit is not None and observed.exit < 0 and not observed.stopped:
        yield Sign(f"exit {observed.exit}", end_words(observed), at)
    following = next_call(observed)
    if (gave_up := _gave_up(observed, observed.acted_at)) is not None:
        yield gave_up
    if following is not None and (early := _early(observed, following, observed.acted_at)) is not None:
        yield early
    if observed.stopped:
        yield Sign("hung", "it hung", at, doubtful=True)
    if observed.exit is not None and observed.exit > 0 and not observed.stopped:
        yield Sign(f"exit {observed.exit}", end_words(observed), at, doubtful=True)


def _gave_up(observed: ObservedRun, acted: float) -> Sign | None:
    """Returns a sign that a client gave up a call without reason."""
    call = open_call(observed)
    if call is None:
        return None
    found = _before_its_answer(observed, call, acted)
    if call.cancelled_at is not None and acted < call.cancelled_at <= (call.answered_at or 0.0):
        cancel = call.cancelled_at, "it cancelled its call"
        found = cancel if found is None else min(found, cancel)
    return found and Sign("gave up", f"{found[1]} before its call was answered", found[0])


def _early(observed: ObservedRun, following: ObservedCall, acted: float) -> Sign | None:
    """Returns what the client did before its next call was answered: it took something else for the answer, or died."""
    found = _before_its_answer(observed, following, max(acted, following.at))
    # It does not wait for a call that it cancelled, because the judge withheld the answer for too long.
    if found is None or (observed.cancels(following) and (following.cancelled_at or 0.0) <= found[0]):
        return None
    return Sign("early", f"{found[1]} before its next call was answered", found[0])


def _before_its_answer(observed: ObservedRun, call: ObservedCall, since: float) -> tuple[float, str] | None:
    """Returns the first thing that a client did after a time and before it had the answer of a call."""
    until = float("inf") if call.answered_at is None else call.answered_at
    marks = [
        (each.at, f"it called {each.tool}")
        for each in (*observed.calls, *observed.nexts)
        if each is not call and each.connection == call.connection
    ]
    ended = "" if observed.stopped or observed.ended_at is None else end_words(observed)
    what = "session" if observed.transport == "http" else "server"
    # The end of the client ends its connection as well.
    marks.append((observed.disconnected_at(call) or 0.0, ended or f"it ended its {what}"))
    if ended:
        marks.append((observed.ended_at or 0.0, ended))
    return min((each for each in marks if since < each[0] <= until), default=None)


def _wrong_messages(observed: ObservedRun, acted: float) -> Iterator[Sign]:
    """Yields the messages that a client had no reason to send."""
    began = [each.began for each in (*observed.servers, *observed.sessions) if each.began > acted]
    if began:
        words = "it opened another session" if observed.transport == "http" else "it started its server again"
        disconnected = None if observed.call is None else observed.disconnected_at(observed.call)
        # Some clients open a connection for each call, so a connection that the client ended is followed by another.
        yield Sign("restart", words, began[0], doubtful=disconnected is not None and disconnected < began[0])
    for name, call in (("call", open_call(observed)), ("next call", next_call(observed))):
        if call is not None and call.cancelled_at is not None and call.answered_at is not None:
            late = call.cancelled_at - call.answered_at
            if late > CROSSING_SECONDS:
                words = f"it cancelled its {name} {late:.1f} s after that was answered"
                yield Sign(LOST_ANSWER, words, call.cancelled_at)
    for each in observed.violations():
        # Another rule judges it.
        if each.at >= acted and each.rule not in BREAKS:
            yield Sign(f"sent {each.rule}", f"it sent {each.detail}", each.at)


def _lines(observed: ObservedRun, acted: float) -> Iterator[Sign]:
    """Yields the errors in the client's output."""
    for line in observed.lines:
        said = line.stream == PERSON or (SURFACED.search(line.text) and not CHATTER.match(line.text))
        if line.at >= acted and said:
            kind = f"line {VARIES.sub('#', line.text)}"
            if line.stream == PERSON:
                yield Sign("failed" if line.text == NEXT_FAILED else kind, line.text, line.at)
                continue
            # Lines on stdout are normal output, unless the control run has none like it.
            yield Sign(kind, f"an error surfaced: {line.text}", line.at, doubtful=line.stream == "stdout")


def _calls(observed: ObservedRun) -> Iterator[Sign]:
    """Yields that a client made no next call, or more calls than it was to make."""
    assert observed.acted_at is not None
    last = observed.ended_at or observed.stopped_at or observed.acted_at
    if next_call(observed) is None:
        yield Sign("no next call", "it made no next call", last, doubtful=True)
    count = len(observed.calls) + len(observed.nexts)
    if count > (4 if observed.experiment.startswith("crossing") else 2):
        yield Sign(f"{count} calls", f"it made {count} calls", last, doubtful=True)
