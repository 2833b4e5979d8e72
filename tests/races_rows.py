"""The races between a request, its answer, its cancel and its connection, by their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Event, Kind
from mcp_tui.protocol.inbound import CROSSED
from tests.races_events import (
    CALLED,
    CANCEL,
    CANCELLING,
    CANCELLING_TASK,
    CLOSED_STREAM,
    DONE,
    HELD,
    IN_FLIGHT,
    LISTENING,
    MAXIMUM,
    NOTIFIED,
    RUNNING_TASK,
    SECOND_LEG,
    SETTLED,
    SHUTDOWN,
    TASK,
    TASK_CANCELLED,
    TIMEOUT,
    UNSIGNALLED,
    UNSUBSCRIBING,
    WANTS_INPUT,
    broken,
    initialize,
    late,
    lost,
    settled,
    status,
    undelivered,
)


@dataclass(frozen=True, slots=True)
class Race:
    """One number. ``events`` make a row; ``note`` stands where a race shows elsewhere than in one.

    ``tests`` are those whose names do not say the number, as ``file.py::test``; ``later`` is why there is none yet.
    """

    number: str
    title: str
    events: tuple[Event, ...] = ()
    note: str = ""
    tests: tuple[str, ...] = ()
    later: str = ""


HTTP: Final = "transport/test_http.py"
POSTS: Final = "transport/test_http_posts.py"
EXCHANGE: Final = "transport/test_http_exchange.py"
RESUMING: Final = "transport/test_http_resuming.py"
SSE: Final = "transport/test_sse.py"
STDIO: Final = "transport/test_stdio.py"


RACES: Final = (
    Race(
        "C-01",
        "Cancel in flight",
        CANCELLING,
        tests=(
            "client/test_bars.py::test_bar_5_each_of_a_thousand_is_told_once",
            "client/test_bars.py::test_bar_4_a_cancel_that_hangs_holds_up_no_call",
        ),
    ),
    Race("C-02", "Cancel in flight, stdio of 2026-07-28", CANCELLING),
    Race(
        "C-03",
        "Cancel in flight, HTTP of 2026-07-28",
        CLOSED_STREAM,
        tests=(f"{POSTS}::test_closing_does_not_touch_other_requests",),
    ),
    Race(
        "C-04",
        "The same before there are response headers",
        CLOSED_STREAM,
        tests=(f"{POSTS}::test_closing_the_stream_closes_the_socket_headers_or_not",),
    ),
    Race(
        "C-05",
        "Cancel while the request's own POST is being written",
        (CALLED, CANCEL),
        tests=(
            f"{POSTS}::test_a_cancel_waits_until_the_request_itself_has_left_and_can_be_recalled_until_then",
        ),
    ),
    Race(
        "C-06",
        "Cancel before any byte was written",
        (CALLED, CANCEL, UNSIGNALLED, settled("cancelled before it was sent")),
        tests=(
            f"{STDIO}::test_what_a_blocked_pipe_does_not_take_stays_queued_and_can_be_taken_back",
            f"{POSTS}::test_a_request_can_be_taken_back_while_its_connection_is_made",
        ),
    ),
    Race(
        "C-07",
        "Cancel while a line is half written",
        CANCELLING,
        tests=(f"{STDIO}::test_a_signal_comes_after_the_line_being_written_and_before_all_that_is_queued",),
    ),
    Race(
        "C-08",
        "The server does not read its stdin",
        (*IN_FLIGHT, CANCEL, undelivered("not written after 2 s")),
        tests=(f"{STDIO}::test_a_signal_to_a_server_that_does_not_read_waits_and_can_be_recalled",),
    ),
    Race("C-09", "Cancel twice", CANCELLING),
    Race(
        "C-10", "The response crosses the cancel", (*CANCELLING, late(Kind.RESULT), settled("answered late"))
    ),
    Race("C-11", "The response was there before the key", (*IN_FLIGHT, DONE)),
    Race("C-12", "A late error", (*CANCELLING, late(Kind.ERROR, code=-32800), settled("answered late"))),
    Race(
        "C-13",
        "A late result in 2026-07-28",
        (*CANCELLING, late(Kind.RESULT), settled("answered late")),
        note="with a violation `late-response` in the log",
    ),
    Race("C-14", "Progress after the cancel", (*CANCELLING, late(Kind.PROGRESS), SETTLED)),
    Race("C-15", "A log message after the cancel", note="in the log, of no request"),
    Race(
        "C-16", "A late `input_required`", (*CANCELLING, late(Kind.INPUT_REQUIRED), settled("answered late"))
    ),
    Race(
        "C-17",
        "A late task handle",
        (*CANCELLING, late(Kind.TASK), TASK),
        note="the task is cancelled at once, by a request of its own",
    ),
    Race("C-18", "Timeout", (*IN_FLIGHT, TIMEOUT, NOTIFIED)),
    Race(
        "C-19",
        "Timeout, then the response",
        (*IN_FLIGHT, TIMEOUT, NOTIFIED, late(Kind.RESULT), settled("answered late")),
    ),
    Race("C-20", "Progress resets the idle clock, the maximum hits", (*IN_FLIGHT, MAXIMUM, NOTIFIED)),
    Race("C-21", "Timeout and person together", CANCELLING),
    Race(
        "C-22",
        "`initialize` is cancelled",
        initialize(),
        note="refused: `initialize cannot be cancelled: disconnect?`",
    ),
    Race("C-23", "The probe is cancelled or times out", (*IN_FLIGHT, TIMEOUT, UNSIGNALLED, SETTLED)),
    Race(
        "C-24", "A late answer to the probe", (*IN_FLIGHT, TIMEOUT, UNSIGNALLED, SETTLED, late(Kind.RESULT))
    ),
    Race("C-25", "A duplicate response", (*IN_FLIGHT, DONE, ev.Duplicate(at=3.0, id=7, kind=Kind.RESULT))),
    Race("C-26", "A response with an unknown id", note="a line of the log: unknown response"),
    Race(
        "C-27",
        'The id `"7"` for 7',
        (*IN_FLIGHT, DONE),
        note="with a violation `response-id-type` in the log",
    ),
    Race(
        "C-28",
        "An error without an id",
        (*IN_FLIGHT, ev.Failed(at=2.0, id=7, message="Parse error", code=-32700)),
    ),
    Race(
        "C-29",
        "HTTP: a wrong id on the request's own stream",
        (*IN_FLIGHT, broken("mismatched-id", "the response has the id 9 on the stream of 7")),
    ),
    Race(
        "C-30",
        "HTTP: 202 to a request",
        (*IN_FLIGHT, broken("http", "the server accepted the request (HTTP 202), and so will not answer it")),
        tests=(f"{EXCHANGE}::test_a_response_that_is_no_answer_is_told_in_a_sentence",),
    ),
    Race("C-31", "HTTP: 202 to the cancel", CANCELLING),
    Race(
        "C-32",
        "HTTP: the cancel is refused or does not arrive",
        (*IN_FLIGHT, CANCEL, undelivered("HTTP 503")),
        tests=(f"{POSTS}::test_a_cancel_that_is_refused", f"{POSTS}::test_a_cancel_that_finds_no_server"),
    ),
    Race(
        "C-33",
        "HTTP: 404 to the cancel",
        (*IN_FLIGHT, lost("the server ended the session (HTTP 404)")),
        tests=(f"{HTTP}::test_404_to_a_cancel_is_the_end_of_the_session_too",),
    ),
    Race(
        "C-34",
        "The stream drops, no event ids, before 2026-07-28",
        (*IN_FLIGHT, lost("connection closed before the answer; the server may still be running it")),
    ),
    Race(
        "C-35",
        "The stream drops, with event ids",
        IN_FLIGHT,
        note="the log says when it is resumed; the timer runs",
        tests=(
            f"{RESUMING}::test_a_stream_that_ends_before_its_answer_is_resumed",
            f"{RESUMING}::test_a_stream_that_cannot_be_resumed_is_lost",
        ),
    ),
    Race(
        "C-36",
        "Cancel while reconnecting",
        CANCELLING,
        tests=(
            f"{RESUMING}::test_a_cancel_stops_the_resuming",
            f"{RESUMING}::test_a_cancelled_stream_that_drops_is_not_resumed",
        ),
    ),
    Race(
        "C-37",
        "The server leaves the stream open after the cancel",
        (*CANCELLING, SETTLED),
        tests=(f"{POSTS}::test_release_closes_what_the_server_keeps_open",),
    ),
    Race("C-38", "The stream drops in 2026-07-28", (*IN_FLIGHT, lost("connection closed before the answer"))),
    Race(
        "C-39",
        "The same, with event ids",
        (*IN_FLIGHT, lost("connection closed before the answer")),
        tests=(f"{RESUMING}::test_the_modern_era_never_resumes",),
    ),
    Race(
        "C-40",
        "The stream ends after the cancel, without a response",
        (*CANCELLING, settled("the stream ended without a response")),
    ),
    Race(
        "C-41",
        "The server exits",
        (*IN_FLIGHT, lost("server exited (code 137)")),
        tests=(f"{STDIO}::test_a_server_that_exits_is_read_to_its_last_byte",),
    ),
    Race(
        "C-42",
        "HTTP+SSE of 2024-11-05: the stream drops",
        (*IN_FLIGHT, lost("the server closed its event stream")),
        tests=(f"{SSE}::test_the_end_of_the_stream_is_the_end_of_the_connection",),
    ),
    Race(
        "C-43",
        "A batch of late and live responses",
        (*CANCELLING, late(Kind.RESULT), settled("answered late")),
    ),
    Race(
        "C-44",
        "Quit with requests in flight",
        (*IN_FLIGHT, SHUTDOWN, NOTIFIED, settled("closed")),
        tests=(
            f"{HTTP}::test_a_cancel_that_is_just_leaving_leaves_before_the_end",
            f"{HTTP}::test_close_is_bounded_whatever_the_server_does",
            f"{STDIO}::test_closing_a_deaf_server_takes_five_seconds_at_most_for_all_who_ask",
        ),
    ),
    Race("C-45", "A `ping` of ours times out", (*IN_FLIGHT, TIMEOUT, NOTIFIED)),
    Race(
        "C-50",
        "The server takes its request back while it is answered",
        note="the prompt: `Withdrawn by the server`, and no answer leaves",
    ),
    Race("C-51", "The answer and that cross", note=f"a line of the log: `{CROSSED}`"),
    Race("C-52", "A cancel of the server's with an id of ours", IN_FLIGHT),
    Race("C-53", "A malformed cancel of the server's", note="a line of the log"),
    Race("C-54", "A cancel for a request of the server's that is over", note="a line of the log"),
    Race("C-55", "A cancel for what was answered at once", note="a line of the log"),
    Race("C-56", "2026-07-28: the server ends a subscription", (*LISTENING, DONE)),
    Race(
        "C-57",
        "2026-07-28: it names anything else",
        IN_FLIGHT,
        note="with a violation `server-cancelled` in the log",
    ),
    Race("C-58", "2026-07-28: both the result and a cancel of a subscription", (*LISTENING, DONE)),
    Race(
        "C-59",
        "The client ends a subscription",
        (*UNSUBSCRIBING, late(Kind.RESULT), settled("answered late")),
    ),
    Race(
        "C-60",
        "The stream of a subscription drops",
        (*LISTENING, lost("connection closed before the answer")),
    ),
    Race(
        "C-61",
        "A subscription is never acknowledged",
        LISTENING,
        note="with a violation `not-acknowledged` in the log",
    ),
    Race(
        "C-62",
        "The call is cancelled while its prompt is open",
        CANCELLING,
        note="the prompt says so, and the server's request is answered with cancel",
    ),
    Race(
        "C-63",
        "The prompt alone is cancelled",
        IN_FLIGHT,
        note="the server's request is answered with cancel",
    ),
    Race("C-64", "2026-07-28: the prompt alone is cancelled", (*IN_FLIGHT, WANTS_INPUT, *SECOND_LEG)),
    Race(
        "C-65",
        "2026-07-28: the call is given up during its prompt",
        (
            *IN_FLIGHT,
            WANTS_INPUT,
            CANCEL,
            UNSIGNALLED,
            settled("abandoned: nothing to cancel"),
        ),
    ),
    Race(
        "C-66",
        "2026-07-28: cancel during the second round",
        (*IN_FLIGHT, WANTS_INPUT, *SECOND_LEG, CANCEL, NOTIFIED),
    ),
    Race(
        "C-67",
        "2026-07-28: rounds without end",
        (*IN_FLIGHT, WANTS_INPUT, broken("rounds", "stopped after 10 rounds of input")),
    ),
    Race("C-68", "A person thinks, the clocks stand", (*IN_FLIGHT, ev.Paused(at=1.0, id=7))),
    Race(
        "C-69",
        "The server uses a capability that was not declared",
        note="answered with -32601; a line of the log",
    ),
    Race(
        "C-70",
        "2026-07-28: the server sends a request",
        note="a violation `server-request` in the log; never answered",
    ),
    Race("C-80", "Cancel before the task's handle", HELD),
    Race(
        "C-81",
        "The same with the extension of 2026-07-28",
        (*CANCELLING, late(Kind.TASK), TASK),
        note="the task is cancelled at once, by a request of its own",
    ),
    Race(
        "C-82",
        "Cancel a running task of 2025-11-25",
        (*CANCELLING_TASK, status("cancelled"), settled("the server says that the task is cancelled")),
    ),
    Race(
        "C-83",
        "Cancel a running task of the extension",
        (*CANCELLING_TASK, settled("cancel acknowledged – not guaranteed")),
    ),
    Race(
        "C-84",
        "`-32602` to `tasks/cancel`",
        (*CANCELLING_TASK, settled("the server knows the task no more")),
    ),
    Race("C-85", "The server cannot cancel tasks", RUNNING_TASK, note="refused"),
    Race(
        "C-86",
        "Cancel the waiting `tasks/result`",
        RUNNING_TASK,
        note="that stops the wait, and not the task",
    ),
    Race(
        "C-87",
        "Cancel a task that waits for input",
        (*RUNNING_TASK, status("input_required"), CANCEL, TASK_CANCELLED),
        note="the prompts say so, and no answer leaves",
    ),
    Race(
        "C-88",
        "A task that finishes after its cancel",
        (*CANCELLING_TASK, status("completed"), late(Kind.RESULT), settled("the task finished anyway")),
    ),
    Race(
        "C-89",
        "A task that expired",
        (*RUNNING_TASK, broken("expired", "the server knows the task no more: it expired")),
    ),
    Race(
        "C-90", "The client starts again", RUNNING_TASK, note="a task is taken up by `tasks/get` with its id"
    ),
)
"""Every race, in order of its number."""

NUMBERS: Final = (*range(1, 46), *range(50, 71), *range(80, 91))
"""The numbers there are; those between are not given."""
