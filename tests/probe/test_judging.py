"""From what was seen to a verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_tui.probe import judging
from mcp_tui.probe.judging import BEATS, LOG, PROGRESS, Answer, ControlRun, LateResponse, Observation
from mcp_tui.probe.report import EvidenceItem, Verdict
from mcp_tui.probe.rules import Strength
from tests.cases import cases

TENTHS = tuple(step / 10 for step in range(1, 11))

CONTROL = ControlRun(duration=1.0, watched=1.0, signs={PROGRESS: TENTHS})
"""Progress ten times in a second."""

STOPPED = Observation(cancel=0.4, signs={PROGRESS: TENTHS[:4]}, watched=1.5)


def answer(after: float, *, result: bool = True) -> LateResponse:
    words = "result" if result else "error -32800"
    return LateResponse(words, 0.4 + after, result, EvidenceItem(words))


PASS, FAIL, WARNING, UNSEEN = Verdict.PASS, Verdict.FAIL, Verdict.WARNING, Verdict.NOT_OBSERVABLE
SHOULD, MUST = Strength.SHOULD, Strength.MUST
LOST = "server exited with code 3"
LATE = replace(STOPPED, answers=(answer(0.6),))


def then(*progress: float) -> Observation:
    return replace(STOPPED, signs={PROGRESS: (*TENTHS[:4], *progress)})


def beating(*beats: float) -> Observation:
    return replace(STOPPED, signs={BEATS: beats, **STOPPED.signs})


@cases(
    ("observation", "level", "verdict", "words"),
    [
        (STOPPED, MUST, PASS, "no response within 1.1 s"),
        (LATE, SHOULD, WARNING, "a result arrived 0.60 s after the cancel"),
        (LATE, MUST, FAIL, "a result arrived 0.60 s after the cancel"),
        (
            replace(STOPPED, answers=(answer(0.6, result=False),)),
            SHOULD,
            WARNING,
            "error -32800 arrived 0.60 s after",
        ),
        # a result that comes with the cancel may have crossed it; an error answers it
        (replace(STOPPED, answers=(answer(0.05),)), MUST, UNSEEN, "may have crossed the cancel"),
        (replace(STOPPED, answers=(answer(0.05),), is_reaction=True), MUST, FAIL, "0.05 s after the cancel"),
        (replace(STOPPED, answers=(answer(0.01, result=False),)), MUST, FAIL, "0.01 s after the cancel"),
        # nothing is claimed where nothing could come
        (replace(STOPPED, early="result"), MUST, UNSEEN, "ended before the cancel (result)"),
        (replace(STOPPED, closed_stream=True), MUST, UNSEEN, "closed the stream"),
        (replace(STOPPED, lost=LOST), MUST, UNSEEN, f"no response, but {LOST}"),
        (replace(STOPPED, unread=((0.2, "half an event"),)), MUST, PASS, "no response within 1.1 s"),
        (replace(STOPPED, unread=((0.6, "half an event"),)), MUST, UNSEEN, "half an event, which no client"),
        # a ping behind the cancel says whether the server has read it
        (
            replace(STOPPED, is_unread=True),
            MUST,
            UNSEEN,
            "none to a ping behind the cancel: the server has not",
        ),
        (
            replace(LATE, is_unread=True),
            MUST,
            FAIL,
            "after the cancel, which the server had not read by then",
        ),
        (replace(LATE, read=1.01), MUST, FAIL, "after the cancel, which the server had not read by then"),
        (replace(LATE, read=0.41), MUST, FAIL, "a result arrived 0.60 s after the cancel"),
    ],
)
def test_a_response_weighs_as_much_as_the_clause(
    observation: Observation, level: Strength, verdict: Verdict, words: str
):
    found = judging.response("P-01", observation, CONTROL, level)
    assert found.verdict is verdict
    assert words in found.sentence
    assert ("had not read" in words) is ("had not read" in found.sentence)
    assert bool(found.evidence) is bool(observation.answers)


@cases(
    ("observation", "level", "verdict", "words"),
    [
        (STOPPED, MUST, PASS, "sent 3 more"),
        (
            then(*TENTHS[4:]),
            SHOULD,
            WARNING,
            "3 progress messages arrived after the cancel, the last 0.60 s after it",
        ),
        (then(*TENTHS[4:]), MUST, FAIL, "3 progress messages"),
        # what was in transit proves nothing, unless the server is known to have read the cancel before all of it
        (then(0.5, 0.6), MUST, PASS, "2 progress messages in transit, then none"),
        (replace(then(0.5, 0.6), read=0.41), MUST, FAIL, "2 progress messages arrived after the cancel"),
        (replace(then(0.5), read=0.41), MUST, PASS, "1 progress message in transit, then none"),
        # past that one is enough, whatever the revision
        (
            then(0.95),
            SHOULD,
            WARNING,
            "1 progress message arrived after the cancel, the last 0.55 s after it",
        ),
        (then(0.95), MUST, FAIL, "1 progress message arrived"),
        (then(0.698, 0.998), SHOULD, WARNING, "1 progress message arrived after the cancel, the last 0.60 s"),
        (
            then(0.702, 1.002),
            SHOULD,
            WARNING,
            "2 progress messages arrived after the cancel, the last 0.60 s",
        ),
        # quiet is what lasts longer than anything seen
        (replace(STOPPED, watched=0.85), MUST, UNSEEN, "not quiet within 0.4 s"),
        # what no client reads may be progress
        (
            replace(STOPPED, unread=((0.2, "an event named 'x'"),)),
            MUST,
            UNSEEN,
            "an event named 'x', which no client",
        ),
    ],
)
def test_progress_after_the_cancel(observation: Observation, level: Strength, verdict: Verdict, words: str):
    found = judging.progress("P-02", observation, CONTROL, level)
    assert found.verdict is verdict
    assert words in found.sentence


@cases("progress", [(), (0.1,), (0.25, 0.5)])
def test_silence_proves_nothing_where_the_control_run_was_as_silent(progress: tuple[float, ...]):
    control = replace(CONTROL, signs={PROGRESS: progress})
    found = judging.progress("P-02", replace(STOPPED, signs={PROGRESS: progress[:1]}), control, MUST)
    assert found.verdict is UNSEEN


BEATING = replace(CONTROL, signs={BEATS: TENTHS, PROGRESS: TENTHS})
LOGGING = ControlRun(duration=1.0, watched=1.0, signs={LOG: TENTHS})
ENDING = ControlRun(duration=1.0, watched=1.0, lost=LOST)
SILENT = Observation(cancel=0.4, watched=1.5)
READ = 0.41
CLEANED = replace(beating(*TENTHS[:4], 0.95), answers=(answer(0.55, result=False),))
CLOSED = replace(STOPPED, closed_stream=True, signs={BEATS: ()})


@cases(
    ("observation", "control", "verdict", "words"),
    [
        # that nothing more arrives shows no end of the work: many SDKs send nothing more of a cancelled request
        (
            STOPPED,
            CONTROL,
            UNSEEN,
            "nothing about this request arrives after its cancel (mcp-tui probe --heartbeat FILE",
        ),
        (replace(STOPPED, read=READ), CONTROL, UNSEEN, "nothing about this request arrives after its cancel"),
        (CLEANED, BEATING, PASS, "the heartbeat stopped 0.55 s after the cancel (3 more without it)"),
        # but what arrives when the cancel was read shows that something would
        (
            replace(then(0.95), watched=3.0, read=READ),
            CONTROL,
            PASS,
            "progress stopped 0.55 s after the cancel",
        ),
        (replace(then(0.95), watched=3.0, read=0.96), CONTROL, UNSEEN, "nothing about this request arrives"),
        (replace(then(0.95), watched=3.0), CONTROL, UNSEEN, "nothing about this request arrives"),
        (replace(then(0.95), read=READ), CONTROL, UNSEEN, "not quiet within 1.1 s"),
        (LATE, CONTROL, WARNING, "the tool worked to its end"),
        # a result of what was done until then shows no work to the end, and no end of the work
        (
            replace(STOPPED, answers=(answer(0.02),)),
            CONTROL,
            UNSEEN,
            "whether the work continues after the result",
        ),
        # the heartbeat tells where the stream is closed, and outweighs progress that ceased
        (CLOSED, CONTROL, UNSEEN, "the stream is closed"),
        (replace(CLOSED, signs={BEATS: TENTHS[:4]}), BEATING, PASS, "the heartbeat stopped"),
        (replace(CLOSED, signs={BEATS: TENTHS}), BEATING, WARNING, "the heartbeat continued"),
        (beating(*TENTHS), BEATING, WARNING, "the heartbeat continued"),
        (beating(), BEATING, UNSEEN, "the heartbeat did not begin before the cancel"),
        (
            replace(beating(*TENTHS[:4]), unread=((0.6, "x"),)),
            BEATING,
            PASS,
            "the heartbeat stopped at the cancel",
        ),
        (
            replace(SILENT, signs={LOG: TENTHS[:4]}, read=READ),
            LOGGING,
            UNSEEN,
            "nothing about this request arrives",
        ),
        (
            replace(SILENT, signs={LOG: (*TENTHS[:4], 0.95)}, watched=3.0, read=READ),
            LOGGING,
            PASS,
            "the log stopped",
        ),
        (replace(SILENT, signs={LOG: TENTHS}), LOGGING, WARNING, "the log continued"),
        (SILENT, ControlRun(duration=1.0, watched=1.0), UNSEEN, "--heartbeat FILE"),
        # a tool that ends the server by itself, and does so again, worked on
        (replace(SILENT, watched=1.0, lost=LOST), ENDING, WARNING, "as it does uncancelled"),
        (replace(SILENT, watched=0.5, lost=LOST), ENDING, UNSEEN, LOST),
    ],
)
def test_signs_show_whether_the_work_stopped(
    observation: Observation, control: ControlRun, verdict: Verdict, words: str
):
    found = judging.work("P-03", observation, control)
    assert found.verdict is verdict
    assert words in found.sentence


USUAL = Answer(1.0, "result", steps=10)


@cases(
    ("answer", "usual", "words"),
    [
        (USUAL, USUAL, ""),
        (replace(USUAL, took=0.8, steps=5), USUAL, ""),
        (replace(USUAL, took=3.4), USUAL, ""),
        (replace(USUAL, words='tool error: "no"', fails=True), USUAL, 'tool error: "no" after 1.00 s'),
        # an end far from the length of the uncancelled run
        (replace(USUAL, took=0.7, steps=7), USUAL, "result after 0.70 s"),
        (replace(USUAL, took=0.7), USUAL, ""),  # it reported every step
        (replace(USUAL, took=3.6), USUAL, "result after 3.60 s"),
        (Answer(0.0, "result"), Answer(0.15, "result"), ""),
        (Answer(0.0, "result"), Answer(0.2, "result"), "result after 0.00 s"),
        (replace(USUAL, is_filled=False), USUAL, "a result without content after 1.00 s"),
        (replace(USUAL, type="task"), USUAL, "task after 1.00 s"),
        (replace(USUAL, steps=4), USUAL, "result after 1.00 s, with 4 progress messages instead of 10"),
        # a tool that fails in any case is not harmed by that
        (replace(USUAL, words="tool error", fails=True), replace(USUAL, fails=True), ""),
        (replace(USUAL, took=0.1, steps=0, fails=True), replace(USUAL, fails=True), "result after 0.10 s"),
    ],
)
def test_an_answer_is_compared_with_that_of_the_uncancelled_run(answer: Answer, usual: Answer, words: str):
    assert judging.harm(answer, usual) == words


def test_a_call_that_is_not_answered_fails_whatever_the_level():
    how = judging.amiss(None, USUAL, "no answer within 6.0 s")
    found = judging.harmed("P-04", "the next call", how, replace(CONTROL, lost=LOST))
    assert found.verdict is FAIL
    assert found.sentence == (
        f"the next call was not answered: no answer within 6.0 s (the uncancelled run as well: {LOST})"
    )


def test_nothing_more_means_neither_a_response_nor_progress():
    def verdict(observation: Observation) -> Verdict:
        return judging.nothing_more("P-05", observation, CONTROL, MUST).verdict

    assert verdict(STOPPED) is PASS
    assert verdict(then(*TENTHS[4:])) is FAIL
    assert verdict(LATE) is FAIL
    assert verdict(replace(STOPPED, closed_stream=True)) is UNSEEN


def test_the_silence_of_a_tool_that_never_answers_shows_nothing():
    found = judging.response("P-01", STOPPED, replace(CONTROL, duration=None), MUST)
    assert (found.verdict, found.sentence) == (
        UNSEEN,
        "no response, but the uncancelled run got none within 1.0 s either",
    )
    assert judging.response("P-01", LATE, replace(CONTROL, duration=None), MUST).verdict is FAIL


@cases("where", ["seen", "control"])
def test_progress_under_an_unknown_token_lets_no_rule_about_it_pass(where: str):
    foreign = {where: "'x'"}
    observation = replace(STOPPED, foreign=foreign.get("seen", ""))
    control = replace(CONTROL, foreign=foreign.get("control", ""))
    for found in (
        judging.progress("P-02", observation, control, MUST),
        judging.work("P-03", observation, control),
        judging.nothing_more("P-05", observation, control, MUST),
    ):
        assert (found.verdict, found.sentence) == (UNSEEN, "progress under the unknown token 'x'")
    assert judging.response("P-01", observation, control, MUST).verdict is PASS
    late = replace(observation, signs=then(*TENTHS[4:]).signs)
    assert judging.progress("P-02", late, control, MUST).verdict is FAIL


def test_work_that_was_done_before_the_cancel_is_no_work_that_stopped():
    control = ControlRun(duration=4.0, watched=4.0, signs={judging.BEATS: (2.2, 2.6, 3.0, 3.4, 3.8)})
    warm = Observation(cancel=1.6, watched=4.5, signs={judging.BEATS: (0.2, 0.6, 1.0, 1.4, 1.8)})
    assert judging.work("P-03", warm, control).verdict is UNSEEN
    cut = replace(warm, signs={judging.BEATS: (0.2, 0.6, 1.0, 1.4)})
    assert judging.work("P-03", cut, control).verdict is PASS


def test_a_call_is_cancelled_between_two_signs_of_its_work():
    assert judging.middle(CONTROL, 0.4) == pytest.approx(0.35)
    assert judging.middle(ControlRun(duration=1.0, watched=1.0), 0.4) == 0.4
    begins = ControlRun(duration=1.0, watched=1.0, signs={judging.LOG: (0.01, 0.05)})
    assert judging.middle(begins, 0.4) == 0.4
