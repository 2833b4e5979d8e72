"""The page of findings about clients: it is made of the reports beside it, and each verdict has its evidence."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from mcp_tui.judge.client_rules import CLIENT_RULES
from tests.real import page as pages
from tests.real.clients import findings
from tests.real.clients.findings import DATA, PAGE, TRANSPORTS, evidence, page, title
from tests.real.clients.table import JUDGED, Client
from tests.real.install import Part

FOUND = json.loads(DATA.read_text(encoding="utf-8"))
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_is_made_of_the_reports_beside_it():
    assert page(FOUND) == TEXT, "run make findings"
    assert len(TEXT.splitlines()) <= 150


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_client_has_its_row_or_is_named_as_not_run(transport: str):
    made = {(run["name"], run["transport"]): run for run in FOUND["clients"]}
    for client in JUDGED:
        run = made.get((client.name, transport))
        assert run or f"{client.name} over {transport}" in FOUND["not run"], "run make findings"
        if run:
            judged = [rule["id"] for rule in run["rules"]]
            assert judged == [*CLIENT_RULES][: len(judged)], (
                "rules that are newer than the run stand at the end"
            )
            assert f"| [{title(run)}](clients/" in page(FOUND, site=True)


def test_every_cell_leads_to_evidence_and_no_verdict_is_without_it():
    texts = {str(path): text for path, text in evidence(FOUND).items()}
    places = {
        f"{name}#{place}" for name, text in texts.items() for place in re.findall(r'<a id="([^"]+)">', text)
    }
    links = set(re.findall(r"\]\((clients/[^)]+)\)", page(FOUND, site=True)))
    assert len(links) > len(FOUND["clients"])
    assert links <= places
    for run in FOUND["clients"]:
        for rule in run["rules"]:
            seen = rule["evidence"] or rule["verdict"] not in ("pass", "fail", "warning")
            assert rule["sentence"], (run["name"], rule["id"])
            assert seen, (run["name"], rule["id"])


def test_a_client_that_cannot_be_judged_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pages, "PARTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["findings"])
    absent = Part("absent", "", "nothing", lambda _: None, lambda: "npm is not on the PATH")
    assert findings.make(Client("some", "", absent, ("some",)), "stdio") == "npm is not on the PATH"
    unstartable = findings.make(Client("mcp-tui", "", None, ("/no/such",)), "http")
    assert "Cannot start '/no/such': program not found" in unstartable
    told = page({"with": "Python", "clients": [], "not run": {"some over stdio": "it hung"}})
    assert "- Not run: some over stdio: it hung." in told
