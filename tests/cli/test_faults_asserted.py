"""Each fault that one can see in a recording fails the assertion that one would write for it, and a sound one holds."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mcp_tui.cli.check import Findings, assertions, judge
from mcp_tui.cli.output import Exit
from mcp_tui.journal.recording import Recording
from mcp_tui.protocol import events as ev
from tests.cases import cases
from tests.cli.keeping import ONE, called, cancelled, connected, keep, report
from tests.cli.running import SERVERS, run

SOUND = "good"

FAULTS: dict[str, str] = {
    # of faulty_server.py: what is asserted, several ways between bars
    "iserror": "state:failed | state:tool_error | -state:completed | text:boom",
    "invalid": "-32602 | state:failed | result:-32602",
    "internal": '"Internal error" | -32603',
    "schema": "violation:output-schema | schema | violation:server",
    "unstructured": "violation:output-schema",
    "nothing": "violation:malformed-response | malformed",
    "both": "violation:malformed",
    "nan": "violation:malformed",
    "large": "size:>10kb",
    "secret": "text:redacted",
    "trace": "text:/^Traceback/ | Traceback",
    "late-text": "NEEDLE | result:/NEEDLE/",
    "noise": "pollution | violation:pollution | source:pollution",
    "stderr": "source:stderr | Traceback | stderr | 'source:stderr KeyError'",
    "stranger": "violation:unknown-response | unknown | 4711",
    "nameless": "violation:unknown-response | -32600",
    "backwards": "violation:progress-not-increasing",
    "foreign": "violation:unknown-progress-token",
    "cancels": "violation:server-cancelled",
    "asks": "method:sampling | state:refused | sampling",
    "changed": "list_changed",
    "logs": 'level:error | "database is down"',
    "batch": "violation:batch",
    "text-id": "violation:response-id-type",
    "twice": "duplicate | violation:duplicate-response",
    "stray": "violation:stray-progress",
    "cut": "violation:repeated-cursor",
    "exit": 'state:lost | exited | "code 3" | disconnected | -state:completed',
    "mute": "state:timed_out | cause:timeout | outcome:no_reply",
    "after": "state:late | state:cancelled | outcome:late_result | late",
    "after-error": "outcome:late_error | late",
    "on": "outcome:still_progressing | state:progressing | progressing",
    "oversize": "oversize | violation:oversize | state:failed",
}
"""The assertions that find the fault of a mode of ``faulty_server.py``."""

WORDS = {
    "mute": ("--timeout", "0.2"),
    "oversize": ("--max-message", "0.01"),
    **dict.fromkeys(("after", "after-error", "on"), ("--cancel-after", "0.1", "--linger", "0.8")),
}
"""The options of the call that show it."""


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a call with each fault, and of one without."""
    folder = tmp_path_factory.mktemp("faults")

    def record(fault: str) -> None:
        mode = "large" if fault == "oversize" else fault
        server = ("--", sys.executable, "-S", str(SERVERS / "faulty_server.py"), mode)
        kept = ("--no-journal", "--record", str(folder / f"{fault}.jsonl"))
        run("call", "work", *WORDS.get(fault, ()), *kept, *server)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(record, (SOUND, *FAULTS)))
    return folder


def test_what_one_would_assert_finds_each_fault_and_none_in_a_sound_session(
    recordings: Path, capfd: pytest.CaptureFixture[str]
):
    wrong: list[object] = []
    for fault, ways in FAULTS.items():
        for way in map(str.strip, ways.split(" | ")):
            given = ("--fail-on", way.strip("'"))
            found = [
                report(capfd, "check", str(recordings / f"{name}.jsonl"), *given).status
                for name in (fault, SOUND)
            ]
            if found != [Exit.BROKEN_RULE, Exit.COMPLETED]:
                wrong.append((fault, way, found))
    assert wrong == []


CALL: list[ev.Event] = [*called(1), ev.Completed(at=100.5, id=1)]
CANCEL: list[ev.Event] = [*called(1), *cancelled(1)]
ASKED = ev.ServerRequestReceived(at=100.1, request_id="q", method="elicitation/create")


@cases(
    ("events", "ways"),
    [
        (
            [*CALL, ev.Violation(at=101.0, rule="cancel-over", detail="1", id=1, by=ev.Origin.CLIENT)],
            "violation:client | violation:cancel-over | cancel-over",
        ),
        ([ASKED, *CALL], "method:elicitation state:open | method:elicitation -state:answered"),
        (
            [ASKED, ev.ServerRequestWithdrawn(at=100.2, request_id="q", reason="no longer"), *CALL],
            "method:elicitation state:withdrawn | method:elicitation -state:answered",
        ),
        (
            [ASKED, ev.ServerRequestAnswered(at=130.0, request_id="q", code=None), *CALL],
            "method:elicitation took:>10",
        ),
        ([*CANCEL, ev.Undelivered(at=102.1, id=1, detail="HTTP 401", refused=True)], "outcome:refused"),
        ([*CANCEL, ev.Undelivered(at=102.1, id=1, detail="broken pipe")], "outcome:failed"),
        ([*called(1), ev.Lost(at=102.5, id=1, detail="gone")], "state:lost | gone"),
        ([*called(1), ev.Completed(at=100.8, id=1)], "took:>0.6 | name:slow_sql took:>=600ms"),
        ([*CALL, ev.Disconnected(at=101.0, detail="HTTP 404")], "disconnected | 404"),
        ([*CALL, ev.Degraded(at=101.0, detail="no notifications")], '"no notifications"'),
        ([*CALL, ev.ProcessesEnded(at=101.0, count=2)], "process | /2 processes/"),
    ],
)
def test_what_stands_in_a_recording_alone_is_found(events: list[ev.Event], ways: str):
    with TemporaryDirectory() as folder:
        faulty = Recording.read(keep(ONE, connected(), events, path=Path(folder) / "faulty.jsonl"))
        sound = Recording.read(keep(ONE, connected(), CALL, path=Path(folder) / "sound.jsonl"))
        for way in ways.split(" | "):
            findings = [Findings(assertions([way], ())) for _ in range(2)]
            judge(findings[0], faulty, "faulty")
            judge(findings[1], sound, "sound")
            assert [each.assertions[0].passes for each in findings] == [False, True], way


def test_what_many_calls_do_wrong_is_counted(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    def session(name: str, *ids: int) -> str:
        calls = [
            [*called(id, 2 * at + 1), ev.Completed(at=100.5, id=id, seq=2 * at + 2)]
            for at, id in enumerate(ids)
        ]
        return str(keep(ONE, connected(), *calls, path=tmp_path / f"{name}.jsonl"))

    sound = session("sound", 1, 2)
    for name, path, given in [
        ("a call is missing", session("missing", 1), ("--expect", 'args:{"n":2}')),
        ("a call is missing", session("fewer", 1), ("--at-least", "2", "name:slow_sql")),
        ("too many calls", session("many", 1, 2, 3), ("--at-most", "2", "name:slow_sql")),
        ("one is slow", session("within", 1, 2), ("--expect", "name:slow_sql", "--within", "0.4")),
    ]:
        assert report(capfd, "check", path, *given).status == Exit.BROKEN_RULE, name
        if "--within" not in given:
            assert report(capfd, "check", sound, *given).status == Exit.COMPLETED, name
