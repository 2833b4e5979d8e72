"""Every race has a test or a reason, every test that is named exists, and the document says what is so."""

from __future__ import annotations

from tests.races_table import DOCUMENT, NUMBERS, RACES, document, exists, named_tests, words


def test_every_number_is_in_the_table_once():
    assert [race.number for race in RACES] == [f"C-{number:02}" for number in NUMBERS]


def test_every_number_has_a_test_or_a_reason():
    named = named_tests()
    bare = [race.number for race in RACES if not (named.get(race.number) or race.tests or race.later)]
    assert not bare, f"neither a test nor a reason: {bare}"


def test_a_reason_is_given_only_where_there_is_no_test():
    named = named_tests()
    both = [race.number for race in RACES if race.later and (named.get(race.number) or race.tests)]
    assert not both, f"these have tests by now: {both}"


def test_every_test_that_the_table_names_exists():
    missing = [test for race in RACES for test in race.tests if not exists(test)]
    assert not missing


def test_no_test_names_a_number_that_is_not_in_the_table():
    assert set(named_tests()) <= {race.number for race in RACES}


def test_every_race_that_is_built_has_words():
    silent = [race.number for race in RACES if not race.later and not words(race)]
    assert not silent


def test_the_document_is_up_to_date():
    assert DOCUMENT.read_text("utf-8") == document(), "run: python -m tests.races_table"
