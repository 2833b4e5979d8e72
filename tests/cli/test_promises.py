"""``call`` holds a structured result to the output schema of its tool, and says what differs; the status stays."""

from __future__ import annotations

import json
import sys
from typing import Any

from mcp_tui.cli.output import Exit
from tests.cli.running import SERVERS, Ran, run

TEXT: list[dict[str, Any]] = [{"type": "text", "text": "said"}]
PROMISE = {"type": "object", "properties": {"n": {"type": "number"}}}
TOOL = {"name": "odd", "inputSchema": {"type": "object"}, "outputSchema": PROMISE}


def call(result: dict[str, Any], *options: str) -> Ran:
    """Call a tool that answers what it is told to, and promised a number."""
    results = json.dumps({"tools/list": {"tools": [TOOL]}, "tools/call": result})
    server = (sys.executable, "-S", str(SERVERS / "results_server.py"), results)
    return run("call", "odd", *options, "--", *server)


def test_what_was_not_promised_is_told_on_stderr_and_as_an_event_and_the_status_stays():
    result = {"content": TEXT, "structuredContent": {"n": "many"}}
    detail = 'odd: n: "many" is not of type "number"'
    ran = call(result, "--no-journal")
    assert (ran.status, ran.out) == (Exit.COMPLETED, "said\n")
    told, done = ran.err.splitlines()
    assert (told, done[:15]) == (f"violation: output-schema: {detail}", "completed after")
    ran = call(result, "--no-journal", "--json")
    assert (ran.status, ran.err) == (Exit.COMPLETED, "")
    (violation,) = ran.of("violation")
    known = ("output-schema", detail, ran.outcome["id"])
    assert (violation["rule"], violation["detail"], violation["id"]) == known
    assert ran.outcome["result"] == result
