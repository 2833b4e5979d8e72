"""From what was seen to a verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_tui.probe import judging
from mcp_tui.probe.judging import Answer, ControlRun, Observation
from mcp_tui.probe.report import EvidenceItem, Verdict
from mcp_tui.probe.rules import Level

TENTHS = tuple(step / 10 for step in range(1, 11))

CONTROL = ControlRun(duration=1.0, watched=1.0, progress=TENTHS)
"""Progress ten times in a second."""

STOPPED = Observation(cancel=0.4, progress=(0.1, 0.2, 0.3, 0.4), watched=1.5)


def answer(after: float, *, result: bool = True, cancel: float = 0.4) -> Answer:
    words = "result" if result else "error -32800"
    return Answer(words, cancel + after, result, EvidenceItem(words))


class TestResponse:
    def test_none_is_right(self):
        found = judging.response("P-01", STOPPED, Level.SHOULD)
        assert found.verdict is Verdict.PASS
        assert found.sentence == "no response within 1.1 s"

    @pytest.mark.parametrize(
        ("level", "verdict"), [(Level.SHOULD, Verdict.WARNING), (Level.MUST, Verdict.FAIL)]
    )
    @pytest.mark.parametrize("result", [True, False])
    def test_one_weighs_as_much_as_the_clause(self, level: Level, verdict: Verdict, result: bool):
        found = judging.response("P-01", replace(STOPPED, answers=(answer(0.6, result=result),)), level)
        assert found.verdict is verdict
        assert "0.60 s after the cancel" in found.sentence
        assert found.evidence

    def test_a_result_that_comes_with_the_cancel_may_have_crossed_it(self):
        seen = replace(STOPPED, answers=(answer(0.05),))
        assert judging.response("P-01", seen, Level.MUST).verdict is Verdict.NOT_OBSERVABLE

    def test_an_error_that_comes_with_the_cancel_answers_it(self):
        seen = replace(STOPPED, answers=(answer(0.01, result=False),))
        assert judging.response("P-01", seen, Level.MUST).verdict is Verdict.FAIL

    @pytest.mark.parametrize(
        "odd", [{"early": "result"}, {"closed_stream": True}, {"lost": "server exited with code 1"}]
    )
    def test_nothing_is_claimed_where_nothing_could_come(self, odd: dict[str, str | bool]):
        seen = replace(STOPPED, **odd)  # pyright: ignore[reportArgumentType]
        assert judging.response("P-01", seen, Level.MUST).verdict is Verdict.NOT_OBSERVABLE


class TestProgress:
    def test_none_passes_where_the_uncancelled_run_reported_more(self):
        found = judging.progress("P-02", STOPPED, CONTROL, Level.MUST)
        assert found.verdict is Verdict.PASS
        assert "reported 3 more" in found.sentence

    @pytest.mark.parametrize(
        ("level", "verdict"), [(Level.SHOULD, Verdict.WARNING), (Level.MUST, Verdict.FAIL)]
    )
    def test_it_goes_on(self, level: Level, verdict: Verdict):
        seen = replace(STOPPED, progress=TENTHS)
        found = judging.progress("P-02", seen, CONTROL, level)
        assert found.verdict is verdict
        assert "3 progress messages" in found.sentence
        assert "the last 0.60 s after it" in found.sentence

    def test_what_was_on_its_way_proves_nothing(self):
        seen = replace(STOPPED, progress=(*STOPPED.progress, 0.5, 0.6))
        assert judging.progress("P-02", seen, CONTROL, Level.MUST).verdict is Verdict.PASS

    def test_nothing_is_on_its_way_once_the_server_is_known_to_have_read_the_cancel(self):
        seen = replace(STOPPED, read=0.41, progress=(*STOPPED.progress, 0.5, 0.6))
        found = judging.progress("P-02", seen, CONTROL, Level.MUST)
        assert found.verdict is Verdict.FAIL
        assert found.sentence.startswith("2 progress messages came after the cancel")

    @pytest.mark.parametrize(("level", "verdict"), [(Level.SHOULD, Verdict.PASS), (Level.MUST, Verdict.FAIL)])
    def test_a_single_late_one_breaks_a_must_alone(self, level: Level, verdict: Verdict):
        seen = replace(STOPPED, progress=(*STOPPED.progress, 0.95))
        assert judging.progress("P-02", seen, CONTROL, level).verdict is verdict

    @pytest.mark.parametrize("progress", [(), (0.1,), (0.25, 0.5)])
    def test_silence_proves_nothing_where_the_control_run_was_as_silent(self, progress: tuple[float, ...]):
        control = replace(CONTROL, progress=progress)
        found = judging.progress("P-02", replace(STOPPED, progress=progress[:1]), control, Level.MUST)
        assert found.verdict is Verdict.NOT_OBSERVABLE


class TestWork:
    def test_progress_that_ceases_shows_that_it_stopped(self):
        assert judging.work("P-03", STOPPED, CONTROL).verdict is Verdict.PASS

    def test_a_last_sign_of_a_tool_that_cleaned_up_is_no_work_to_its_end(self):
        cleaned = replace(STOPPED, beats=(*TENTHS[:4], 0.95), answers=(answer(0.55, result=False),))
        assert judging.work("P-03", cleaned, replace(CONTROL, beats=TENTHS)).verdict is Verdict.PASS

    def test_a_late_result_shows_that_it_worked_to_its_end(self):
        found = judging.work("P-03", replace(STOPPED, answers=(answer(0.6),)), CONTROL)
        assert found.verdict is Verdict.WARNING
        assert "it worked to its end" in found.sentence

    def test_a_result_of_what_was_done_until_then_does_not(self):
        assert (
            judging.work("P-03", replace(STOPPED, answers=(answer(0.02),)), CONTROL).verdict is Verdict.PASS
        )

    def test_the_heartbeat_tells_where_the_stream_is_closed(self):
        control = replace(CONTROL, beats=TENTHS)
        closed = replace(STOPPED, closed_stream=True)
        assert judging.work("P-03", closed, CONTROL).verdict is Verdict.NOT_OBSERVABLE
        assert judging.work("P-03", replace(closed, beats=TENTHS[:4]), control).verdict is Verdict.PASS
        assert judging.work("P-03", replace(closed, beats=TENTHS), control).verdict is Verdict.WARNING

    def test_the_heartbeat_outweighs_progress_that_ceased(self):
        seen = replace(STOPPED, beats=TENTHS)
        found = judging.work("P-03", seen, replace(CONTROL, beats=TENTHS))
        assert found.verdict is Verdict.WARNING
        assert "the heartbeat went on" in found.sentence

    def test_log_messages_are_signs_of_life_too(self):
        control = ControlRun(duration=1.0, watched=1.0, logs=TENTHS)
        silent = Observation(cancel=0.4, watched=1.5)
        assert judging.work("P-03", replace(silent, logs=TENTHS[:4]), control).verdict is Verdict.PASS
        assert judging.work("P-03", replace(silent, logs=TENTHS), control).verdict is Verdict.WARNING

    def test_without_any_sign_the_way_out_is_told(self):
        found = judging.work(
            "P-03", Observation(cancel=0.4, watched=1.5), ControlRun(duration=1.0, watched=1.0)
        )
        assert found.verdict is Verdict.NOT_OBSERVABLE
        assert "--heartbeat FILE" in found.sentence

    def test_a_tool_that_ends_the_server_by_itself_and_does_so_again_worked_on(self):
        control = ControlRun(duration=1.0, watched=1.0, lost="server exited with code 3")
        seen = Observation(cancel=0.4, watched=1.0, lost="server exited with code 3")
        assert judging.work("P-03", seen, control).verdict is Verdict.WARNING
        assert judging.work("P-03", replace(seen, watched=0.5), control).verdict is Verdict.NOT_OBSERVABLE


def test_a_call_that_is_not_answered_fails_whatever_the_level():
    control = replace(CONTROL, lost="server exited with code 3")
    found = judging.unanswered("P-04", "the next call", "no answer within 6.0 s", control)
    assert found.verdict is Verdict.FAIL
    assert found.sentence == (
        "the next call was not answered: no answer within 6.0 s "
        "(the uncancelled run as well: server exited with code 3)"
    )


def test_nothing_more_means_neither_a_response_nor_progress():
    def verdict(seen: Observation) -> Verdict:
        return judging.nothing_more("P-05", seen, CONTROL, Level.MUST).verdict

    assert verdict(STOPPED) is Verdict.PASS
    assert verdict(replace(STOPPED, progress=TENTHS)) is Verdict.FAIL
    assert verdict(replace(STOPPED, answers=(answer(0.6),))) is Verdict.FAIL
    assert verdict(replace(STOPPED, closed_stream=True)) is Verdict.NOT_OBSERVABLE
