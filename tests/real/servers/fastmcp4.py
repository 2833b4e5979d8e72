"""A server on `fastmcp` 2.x to 4.x, in 4.x of every revision up to 2026-07-28, over stdio or streamable HTTP."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from fastmcp import FastMCP
from serving import options, serve
from tools import TOOLS

asked = options()
server = FastMCP("real-fastmcp4")
for tool in TOOLS:
    server.tool(tool)

if asked.http is None:
    server.run("stdio", show_banner=False, log_level="WARNING")
else:
    serve(server.http_app("/mcp", stateless_http=asked.stateless, json_response=asked.json), asked.http)
