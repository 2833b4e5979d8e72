"""The page about proxies and bridges: it is made of the runs beside it, and without a proxy nothing is lost."""

from __future__ import annotations

import json
import sys

import pytest

from tests.real.proxies import BETWEEN, CASES, DATA, ERAS, PAGE, Direct, is_run, page, progress, seen, when

FOUND = json.loads(DATA.read_text(encoding="utf-8"))
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_is_made_of_the_runs_beside_it():
    assert page(FOUND) == TEXT, "run make proxies"
    assert len(TEXT.splitlines()) <= 150


def test_everything_between_has_its_rows_or_is_named_as_not_run():
    made = {run["name"]: run for run in FOUND["proxies"]}
    for each in BETWEEN:
        assert each.name in made or each.name in FOUND["not run"], "run make proxies"
        for era in ERAS if each.name in made else ():
            needed = {name for name, case in CASES.items() if is_run(each, era, case)}
            assert made[each.name]["runs"][era].keys() == needed
            assert f"| {made[each.name]['title']} | {era} | " in TEXT


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
def test_without_a_proxy_a_cancel_and_each_message_arrive(era: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    assert when(seen(Direct(), era, CASES["cancel, silent"]), ("stopped",)) != "**never**"
    assert progress(seen(Direct(), era, CASES["progress"])) != "**none**"
