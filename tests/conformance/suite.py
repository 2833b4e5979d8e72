"""The official conformance suite in client mode: what it asks for, one scenario run alone, and what its verdict is worth.

The suite is lenient. A client that does nothing passes some of its scenarios, a scenario that does not apply is left out
with exit status 0, and what a client did not exercise is *skipped*. :func:`faults` is not.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema_rs

from tests.conformance.scenarios import Scenario
from tests.demo.official import judge
from tests.real.install import NPM, NPM_PART, conformance_node
from tests.real.registry import environment

INDEX = NPM / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
CLIENT = shlex.join((sys.executable, str(Path(__file__).with_name("client.py"))))

CLIENT_ENDS_WITHIN = 30  # seconds; only to tell a hang from a slow machine
SUITE_ENDS_WITHIN = 60.0

Check = dict[str, Any]


def missing() -> str | None:
    """Why the suite cannot run here, as one sentence, or None when it can."""
    reason = NPM_PART.missing()
    if reason is None and conformance_node() is None:
        reason = "it needs Node 22: run tests/real/install.py"
    return f"The conformance suite is left out: {reason}." if reason else None


def suite(*words: str, home: Path, within: float = SUITE_ENDS_WITHIN) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (str(conformance_node()), str(INDEX), *words),
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=within,
        env=environment(home),
    )


def listed(*words: str) -> set[str]:
    """The client scenarios that `list` names with those options."""
    with tempfile.TemporaryDirectory() as folder:
        done = suite("list", *words, home=Path(folder))
    assert done.returncode == 0, done.stderr
    of_clients = done.stdout[done.stdout.index("Client scenarios") :]
    return {
        name
        for name, kind in re.findall(r"^ +- (\S+)(?: \[(\w*))?", of_clients, re.MULTILINE)
        if kind != "server"
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the suite made of a client: its exit status, its checks, what it said, and what the client printed."""

    status: int
    said: str
    checks: list[Check] = field(default_factory=list[Check])
    printed: str = ""

    def named(self, *statuses: str) -> list[str]:
        """The checks that ended so, each with the reason that it has."""
        return [
            f"{check['id']} ({check['description']}): {check.get('errorMessage', check['status'])}"
            for check in self.checks
            if check["status"] in statuses
        ]


def run(scenario: Scenario, revision: str, command: str = CLIENT) -> Verdict:
    """Run one scenario, alone, at a revision; `command` is the shell's."""
    with tempfile.TemporaryDirectory() as folder:
        home, results = Path(folder) / "home", Path(folder) / "results"
        home.mkdir()
        done = suite(
            *("client", "--command", command, "--scenario", scenario.name, "--spec-version", revision),
            *(("--force",) if scenario.forced else ()),
            *("--timeout", str(CLIENT_ENDS_WITHIN * 1000), "--output-dir", str(results)),
            home=home,
        )
        found = [*results.rglob("checks.json")]
        return Verdict(
            status=done.returncode,
            said=done.stdout + done.stderr,
            checks=[check for path in found for check in json.loads(path.read_text())],
            printed="".join(path.with_name("stdout.txt").read_text() for path in found),
        )


def faults(scenario: Scenario, revision: str, verdict: Verdict) -> list[str]:
    """Why this run is no pass, one sentence each; empty for a pass.

    A pass needs more than the suite's word: something has to have been checked and nothing skipped that could have
    been run, and the client has to have sent every message of the dialogue, each valid by the official schema.
    """
    found: list[str] = []
    if verdict.status != 0:
        found.append(f"the suite ended with {verdict.status}")
    if not verdict.named("SUCCESS"):
        found.append("nothing was checked")
    found += [f"failed: {text}" for text in verdict.named("FAILURE", "WARNING")]
    skipped = [text for text in verdict.named("SKIPPED") if not re.search(scenario.may_skip, text)]
    found += [f"skipped: {text}" for text in skipped]
    if scenario.wire_checked and not any(check["id"] == "wire-schema-valid" for check in verdict.checks):
        found.append("the suite saw no message that it could hold against the schema")
    sent = [json.loads(line) for line in verdict.printed.splitlines()]
    said = [message["method"] for message in sent if "method" in message]
    found += [f"{method} was never sent" for method in scenario.says[revision] if method not in said]
    found += [fault for message in sent for fault in _invalid(message, revision)]
    return found


def _invalid(message: dict[str, Any], revision: str) -> list[str]:
    if "method" not in message:
        definition = "JSONRPCResponse"
    else:
        definition = "ClientRequest" if "id" in message else "ClientNotification"
    try:
        judge(revision, definition).validate(message)
    except jsonschema_rs.ValidationError as error:
        return [f"invalid by the schema: {json.dumps(message)}: {error.message}"]
    return []
