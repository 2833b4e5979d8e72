"""The official conformance suite judges ``mcp-tui serve``: stdio behind supergateway, and its conversation over HTTP."""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.conformance.suite import Check, missing, suite
from tests.real.install import SERVER_NPM, conformance_node
from tests.waiting import HANG, wait

pytestmark = [pytest.mark.npm, pytest.mark.real, pytest.mark.timeout(600)]

SERVE: Final = [sys.executable, "-m", "mcp_tui", "serve", "--allow-cancel"]
OVER_HTTP: Final = [sys.executable, "-m", "tests.conformance.serve_over_http"]

NOT_OFFERED: Final = re.compile(
    r"Not testable: |unknown tool|not found\. Available tools: "
    r"|Method not found: (prompts|resources|completion|logging)/"
)
"""The reasons of checks that need tools of the suite, or a feature, that the server does not offer."""

NOT_JUDGED: Final = re.compile(r"sep-2164-resource-not-found|input-required-result-|sse-polling")
"""Scenarios about resources and questions, which it does not offer, and about resuming, which is up to the bridge."""

PASSED: Final = {
    ("supergateway", "2025-11-25"): {
        "server-initialize", "server-session-lifecycle", "ping", "tools-list", "server-sse-multiple-streams",
    },
    ("own", "2025-11-25"): {
        "server-initialize", "server-session-lifecycle", "ping", "tools-list", "server-sse-multiple-streams",
        "dns-rebinding-protection",
    },
    ("own", "2026-07-28"): {
        "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection", "http-header-validation",
    },
}  # fmt: skip
"""The scenarios in which every check passes, by bridge and revision."""


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def _served(bridge: str) -> Generator[str]:
    """``mcp-tui serve`` at a URL."""
    words, port = OVER_HTTP, 0
    if bridge == "supergateway":
        port = _free_port()
        program = SERVER_NPM.folder / "node_modules" / "supergateway" / "dist" / "index.js"
        command = shlex.join(SERVE)
        options = ["--outputTransport", "streamableHttp", "--stateful", "--port", str(port)]
        words = [str(conformance_node()), str(program), "--stdio", command, *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            url = f"http://127.0.0.1:{port}/mcp" if port else process.stdout.readline().strip()
            wait(lambda: _listens(url))
            yield url
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(HANG)


def _listens(url: str) -> bool:
    with suppress(httpx.TransportError):
        return bool(httpx.get(url).status_code)
    return False


@pytest.mark.parametrize(("bridge", "revision"), [*PASSED], ids=[" ".join(each) for each in PASSED])
def test_serve_passes_every_scenario_that_applies(bridge: str, revision: str, tmp_path: Path):
    if reason := missing() or (bridge == "supergateway" and SERVER_NPM.missing()):
        pytest.skip(str(reason))
    with _served(bridge) as url:
        words = ("server", "--url", url, "--suite", "all", "--spec-version", revision)
        suite(*words, "--output-dir", str(tmp_path / "out"), home=tmp_path, within=400)
    found: dict[str, list[Check]] = {
        re.sub(r"^server-(.+?)-\d{4}-\d\d-\d\d.*", r"\1", path.parent.name): json.loads(path.read_text())
        for path in (tmp_path / "out").rglob("checks.json")
    }
    assert len(found) > 30
    failed = [
        f"{name} {check['id']}: {check.get('errorMessage')}"
        for name, checks in found.items()
        for check in checks
        if check["status"] in ("FAILURE", "WARNING") and not NOT_JUDGED.search(name)
        if bridge == "own" or name != "dns-rebinding-protection"  # of supergateway, which accepts any host
        if not NOT_OFFERED.search(check.get("errorMessage", ""))
    ]
    assert not failed, "\n".join(failed)
    # The suite checks each message of the server against the official schema, but in scenarios of plain HTTP.
    checked = [each for checks in found.values() for each in checks if each["id"] == "wire-schema-valid"]
    assert len(checked) > 25
    passed = {
        name
        for name, checks in found.items()
        if {check["status"] for check in checks} - {"SKIPPED", "INFO"} == {"SUCCESS"}
    }
    assert passed >= PASSED[bridge, revision]
