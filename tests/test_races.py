"""Every race is played wherever it applies or has a reason, every test that is named exists, and the document says so."""

from __future__ import annotations

import pytest

from tests.protocol.playbook import MODERN_HTTP
from tests.races_rows import NUMBERS, RACES
from tests.races_table import DOCUMENT, document, exists, words
from tests.races_where import (
    ALL,
    LEGACY,
    NEW_HTTP,
    NEW_STDIO,
    POSTED,
    UNSETTLED,
    WHERE,
    Places,
    Played,
    Where,
    excused,
    missing,
    played,
    said,
)


@pytest.fixture(scope="module")
def found() -> dict[str, Played]:
    return played()


def test_every_number_is_in_the_table_once():
    assert [race.number for race in RACES] == [f"C-{number:02}" for number in NUMBERS]


def test_every_number_has_a_test_or_a_reason(found: dict[str, Played]):
    bare = [race.number for race in RACES if not (race.number in found or race.tests or race.later)]
    assert not bare, f"neither a test nor a reason: {bare}"


def test_a_reason_is_given_only_where_there_is_no_test(found: dict[str, Played]):
    both = [race.number for race in RACES if race.later and (race.number in found or race.tests)]
    assert not both, f"these have tests by now: {both}"


def test_every_test_that_the_table_names_exists():
    missed = [test for race in RACES for test in race.tests if not exists(test)]
    assert not missed


def test_no_test_names_a_number_that_is_not_in_the_table(found: dict[str, Played]):
    assert set(found) <= {race.number for race in RACES}


def test_every_race_that_is_built_has_words():
    silent = [race.number for race in RACES if not race.later and not words(race)]
    assert not silent


# -- where -----------------------------------------------------------------------------------------------------


def test_every_number_says_where_it_applies():
    assert list(WHERE) == [race.number for race in RACES]
    assert all(where.places for where in WHERE.values())


@pytest.mark.parametrize("race", [race for race in RACES if not race.later], ids=lambda race: race.number)
def test_a_race_is_played_wherever_it_applies(race: object, found: dict[str, Played]):
    number = getattr(race, "number", "")
    bare = missing(WHERE[number], found.get(number, Played()))
    assert not bare, f"{number} applies and is not played: {bare}"


def test_a_place_is_left_out_only_where_the_race_applies_and_is_not_played(found: dict[str, Played]):
    stale = {
        number: excused(where, found.get(number, Played()))
        for number, where in WHERE.items()
        if excused(where, found.get(number, Played()))
    }
    assert not stale


def test_a_place_that_no_test_plays_is_missed():
    tests = Played()
    tests.add("protocol/test_x.py::test_c01_x", ALL[1:])
    tests.add("races/test_y.py::test_c01_y", ALL[2:])
    assert missing(Where(ALL), tests) == [str(ALL[0])]
    assert missing(Where(ALL, real=True), tests) == [
        str(ALL[0]),
        f"{ALL[0]}, really",
        f"{ALL[1]}, really",
    ]
    assert not missing(Where(ALL, real=True, but=((ALL[:2], "because"),)), tests)


def test_what_is_played_in_the_ledger_alone_is_not_really_played():
    tests = Played()
    tests.add("races/test_matrix_ledger.py::test_c01_x", ALL)
    assert missing(Where(NEW_HTTP, real=True), tests) == [f"{MODERN_HTTP}, really"]


def test_an_excuse_for_what_is_played_is_noticed():
    tests = Played()
    tests.add("races/test_y.py::test_c01_y", ALL)
    assert excused(Where(ALL, real=True, but=((NEW_HTTP, "because"),)), tests) == [str(MODERN_HTTP)]
    assert excused(Where(LEGACY, but=((NEW_HTTP, "because"),)), Played()) == [str(MODERN_HTTP)]


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (ALL, "everywhere"),
        (NEW_STDIO, "stdio 2026-07-28"),
        (POSTED, "http 2025-03-26…2025-11-25, sse 2024-11-05"),
        (LEGACY, "everywhere before 2026-07-28"),
        ((ALL[0], ALL[2]), "stdio 2024-11-05, stdio 2025-06-18"),
        (UNSETTLED[:1], "stdio before the revision is known"),
    ],
)
def test_places_in_words(places: Places, words: str):
    assert said(places) == words


def test_the_document_is_up_to_date():
    assert DOCUMENT.read_text("utf-8") == document(), "run: python -m tests.races_table"
