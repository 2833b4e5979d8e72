"""Faults that a lower place can show: their tests in ``protocol/``, ``client/``, and ``transport/`` are rows here, too."""

from __future__ import annotations

from tests.client.test_client import test_a_listener_that_raises_holds_up_no_cancel_and_starves_no_other
from tests.protocol.test_races_answers import (
    test_a_token_of_another_type_is_progress_of_its_request_and_flagged,
    test_progress_under_an_unknown_token_names_the_only_call_that_is_open_or_watched,
    test_progress_under_an_unknown_token_on_the_stream_of_a_call_names_that_call,
)
from tests.protocol.test_races_late import (
    test_wrong_progress_after_a_cancel_is_evidence_and_each_says_what_it_is,
)
from tests.protocol.test_races_rounds import (
    test_an_answered_leg_is_not_answered_again_by_an_id_of_another_type,
)
from tests.protocol.test_races_tasks import (
    test_a_task_is_polled_at_the_servers_interval_stays_one_row_and_each_answer_re_arms_its_timeout,
    test_an_answer_to_the_cancel_about_another_task_confirms_nothing,
    test_an_answer_to_the_cancel_with_another_status_is_a_status_and_no_result,
)
from tests.transport.test_addresses import test_what_cannot_is_said_in_one_sentence
from tests.transport.test_stdio import (
    hasty,
    test_a_reply_while_closing_does_not_take_back_a_cancel_that_is_leaving,
)

__all__ = [
    "hasty",
    "test_a_listener_that_raises_holds_up_no_cancel_and_starves_no_other",
    "test_a_reply_while_closing_does_not_take_back_a_cancel_that_is_leaving",
    "test_a_task_is_polled_at_the_servers_interval_stays_one_row_and_each_answer_re_arms_its_timeout",
    "test_a_token_of_another_type_is_progress_of_its_request_and_flagged",
    "test_an_answer_to_the_cancel_about_another_task_confirms_nothing",
    "test_an_answer_to_the_cancel_with_another_status_is_a_status_and_no_result",
    "test_an_answered_leg_is_not_answered_again_by_an_id_of_another_type",
    "test_progress_under_an_unknown_token_names_the_only_call_that_is_open_or_watched",
    "test_progress_under_an_unknown_token_on_the_stream_of_a_call_names_that_call",
    "test_what_cannot_is_said_in_one_sentence",
    "test_wrong_progress_after_a_cancel_is_evidence_and_each_says_what_it_is",
]
