"""A server on `mcp` 2.x (MCPServer): every revision up to 2026-07-28, over stdio, streamable HTTP or HTTP+SSE."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from mcp.server.mcpserver import MCPServer
from serving import options, serve
from tools import TOOLS

asked = options()
server = MCPServer("real-mcp2", log_level="WARNING")
for tool in TOOLS:
    server.add_tool(tool)

if asked.http is None:
    server.run("stdio")
elif asked.sse:
    serve(server.sse_app(), asked.http)
else:
    serve(server.streamable_http_app(stateless_http=asked.stateless, json_response=asked.json), asked.http)
