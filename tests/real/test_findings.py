"""The page of findings about servers: it is made of the reports beside it, and each verdict has its evidence."""

from __future__ import annotations

import json
import re

from mcp_tui.probe.rules import RULES
from tests.real.findings import DATA, FINDINGS, jobs, page, pages

FOUND = json.loads(DATA.read_text(encoding="utf-8"))
TEXT = FINDINGS.read_text(encoding="utf-8")


def test_the_page_is_made_of_the_reports_beside_it():
    assert page(FOUND) == TEXT, "run make findings"
    assert len(TEXT.splitlines()) <= 150


def test_every_server_has_its_row_or_is_named_as_not_judged():
    made = {(run["name"], run["over"], run["call"]): run for run in FOUND["servers"]}
    for job in jobs():
        run = made.get((job.name, job.over, job.call))
        told = any(each.startswith(f"{job.title}, {job.over}, {job.call}: ") for each in FOUND["not run"])
        assert (run is not None) is not told, f"{job.key}: run make findings"
        if run is not None:
            assert run["title"] == job.title, "run make findings"
            judged = [rule["id"] for rule in run["rules"]]
            assert judged == [*RULES][: len(judged)], "rules that are newer than the run stand at the end"


def test_every_link_leads_somewhere():
    rules = (FINDINGS.parent / "rules.md").read_text(encoding="utf-8")
    texts = {"rules.md": rules, **{str(path): text for path, text in pages(FOUND).items()}}
    places = {
        f"{name}#{place}" for name, text in texts.items() for place in re.findall(r'<a id="([^"]+)">', text)
    }
    for text in (TEXT, page(FOUND, site=True), *texts.values()):
        links = {link.removeprefix("../") for link in re.findall(r"\]\((\S+\.md#[^)]+)\)", text)}
        assert links <= places | set(re.findall(r"\]\((\S+\.md#[^)]+)\)", rules))
    cells = sum(len(run["rules"]) for run in FOUND["servers"])
    assert page(FOUND, site=True).count("](servers/") > cells


def test_no_verdict_is_without_evidence():
    for run in FOUND["servers"]:
        for rule in run["rules"]:
            seen = rule["evidence"] or rule["verdict"] not in ("pass", "fail", "warning")
            assert rule["sentence"], (run["title"], run["over"], rule["id"])
            assert seen, (run["title"], run["over"], rule["id"])
