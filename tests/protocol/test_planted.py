"""Planted bugs that a playbook notices."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests import planted
from tests.planted import Bug
from tests.protocol import (
    test_evidence,
    test_limits,
    test_races_answers,
    test_races_cancel,
    test_races_rounds,
    test_races_tasks,
)
from tests.protocol.playbook import MODERN, MODERN_HTTP, Wire

STDIO = Wire("stdio", MODERN)

NOTICED: dict[Bug, Callable[[], None]] = {
    planted.true_is_taken_for_one: lambda: (
        test_races_answers.test_c27_where_another_id_could_be_meant_nothing_is_applied(STDIO, True)
    ),
    planted.a_pause_stops_no_clock: test_limits.test_the_countdown_stands_still_during_a_pause,
    planted.a_signal_that_cannot_leave_is_settled_in_silence: lambda: (
        test_races_cancel.test_c08_a_signal_that_cannot_be_written_is_said_to_wait(STDIO)
    ),
    planted.an_error_without_an_id_answers_what_was_cancelled: lambda: (
        test_races_answers.test_c28_right_after_a_cancel_it_rejects_a_message_and_the_late_result_is_the_first(
            STDIO
        )
    ),
    planted.a_poll_re_arms_the_timeout: lambda: test_races_tasks.test_only_news_of_a_task_re_arm_its_timeout(
        STDIO
    ),
    planted.a_message_in_transit_counts_as_still_progressing: lambda: (
        test_evidence.test_what_is_seen_has_its_words(test_evidence.AFTER["two messages in transit"])
    ),
    planted.a_task_that_asks_stops_no_clock: lambda: (
        test_races_tasks.test_c68_a_person_who_thinks_about_what_a_task_asks_stops_its_clocks(STDIO)
    ),
    planted.progress_of_an_earlier_round_re_arms: lambda: (
        test_races_rounds.test_progress_of_an_answered_leg_is_a_stray_and_moves_no_clock(MODERN_HTTP)
    ),
}


@pytest.mark.parametrize("bug", NOTICED, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_noticed_by_a_playbook(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    NOTICED[bug]()
    bug(monkeypatch)
    with pytest.raises(AssertionError):
        NOTICED[bug]()
