"""A server on `chuk-mcp-server`, which shares no code with the official SDKs: over stdio or streamable HTTP."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from chuk_mcp_server import ChukMCPServer, send_progress
from chuk_mcp_server.http_server import create_server
from progress import Progress
from serving import options, serve
from tools import blocking, cleanup, cooperative, echo, swallows

asked = options()
server = ChukMCPServer(name="real-chuk", version="1.0.0")


def add(work) -> None:
    async def tool(seconds: float = 3.0, heartbeat: str = "") -> str:
        return await work(Progress(send_progress), seconds, heartbeat)

    server.tool(name=work.__name__, description=work.__doc__)(tool)


for each in (cooperative, swallows, cleanup):
    add(each)
for each in (echo, blocking):
    server.tool(name=each.__name__)(each)

if asked.http is None:
    server.run_stdio()
else:
    serve(create_server(server.protocol).app, asked.http)
