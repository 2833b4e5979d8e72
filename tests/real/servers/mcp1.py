"""A server on `mcp` 1.x (FastMCP): handshake revisions, over stdio, streamable HTTP or HTTP+SSE."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from mcp.server.fastmcp import FastMCP
from serving import options, serve, sse_app
from tools import TOOLS

asked = options()
over_http = (
    {}
    if asked.http is None or asked.sse
    else {"stateless_http": asked.stateless, "json_response": asked.json}
)
server = FastMCP("real-mcp1", log_level="WARNING", **over_http)
for tool in TOOLS:
    server.add_tool(tool)

if asked.http is None:
    server.run("stdio")
elif asked.sse:
    serve(server.sse_app() if hasattr(server, "sse_app") else sse_app(server._mcp_server), asked.http)
else:
    serve(server.streamable_http_app(), asked.http)
