#!/usr/bin/env bash
# Packages: fastmcp 4.2.3 with mcp 2.3.0 (Python), client and server, and opentelemetry-sdk 1.45.2. Source: PyPI;
#   https://github.com/PrefectHQ/fastmcp, https://github.com/modelcontextprotocol/python-sdk
# Behaviour: a call makes three spans: the client's of fastmcp and of mcp, and the server's. Those of a call that was cancelled have no
#   error, no event, and no attribute that those of a completed call lack. Of a failed call mcp's own client span has no error either.
# Why a good guess is wrong: a cancelled call ends with an exception in each of the three places, and a span that an exception leaves is
#   marked by default, so one expects an error, or a mark of its own. In a dashboard a call that a user gave up after a minute is a slow
#   success. (Sentry's integration says the opposite of such a call: an internal error.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    "fastmcp==${FASTMCP_VERSION:-4.2.3}" "mcp==${MCP_VERSION:-2.3.0}" opentelemetry-sdk==1.45.2
cat >"$folder/spans.py" <<'SPANS'
import asyncio
import sys
from importlib.metadata import version

from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
server = FastMCP("spans")
running, stopped = asyncio.Event(), asyncio.Event()


@server.tool()
async def work(how: str) -> str:
    if how == "fail":
        raise ToolError("no")
    if how == "wait":
        running.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()
    return "done"


def spans():
    """The spans of a call: who made it, its status, its attributes' names, its events."""
    calls = [span for span in exporter.get_finished_spans() if "tools/call" in span.name]
    exporter.clear()
    return sorted(
        (span.kind.name, span.instrumentation_scope.name, span.status.status_code.name, sorted(span.attributes), len(span.events))
        for span in calls
    )


async def main():
    print(*(f"{name} {version(name)}" for name in ("fastmcp", "mcp", "opentelemetry-sdk")))
    seen = {}
    async with Client(server) as client:
        await client.call_tool("work", {"how": "complete"})
        seen["completed"] = spans()
        await client.call_tool("work", {"how": "fail"}, raise_on_error=False)
        seen["failed"] = spans()
        call = asyncio.create_task(client.call_tool("work", {"how": "wait"}))
        await running.wait()
        call.cancel()
        await asyncio.gather(call, stopped.wait(), return_exceptions=True)
    seen["cancelled"] = spans()
    for how, three in seen.items():
        print(f"{how}:", *(f"{kind} of {scope}: {status}, {events} events;" for kind, scope, status, _, events in three))
    failed = [status for _, _, status, _, _ in seen["failed"]]
    return not (len(seen["completed"]) == 3 and seen["cancelled"] == seen["completed"] and sorted(failed) == ["ERROR", "ERROR", "UNSET"])


sys.exit(asyncio.run(main()))
SPANS
"$folder/venv/bin/python" "$folder/spans.py" 2>"$folder/said" || { echo "not so: $(tail -n 3 "$folder/said")"; exit 1; }
