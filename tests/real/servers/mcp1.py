"""A server on `mcp` 1.x (FastMCP): handshake revisions, over stdio or streamable HTTP."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from mcp.server.fastmcp import FastMCP
from serving import options, serve
from tools import TOOLS

asked = options()
over_http = {} if asked.http is None else {"stateless_http": asked.stateless, "json_response": asked.json}
server = FastMCP("real-mcp1", log_level="WARNING", **over_http)
for tool in TOOLS:
    server.add_tool(tool)

if asked.http is None:
    server.run("stdio")
else:
    serve(server.streamable_http_app(), asked.http)
