"""The command line of the servers on PyPI's `mcp`, and how they serve HTTP on a port of their own choosing."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import argparse
import socket
from typing import Any

import uvicorn


def options() -> argparse.Namespace:
    """Read the command line: without `--http` the server speaks over stdin and stdout."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--http", type=int, metavar="PORT", help="serve at http://127.0.0.1:PORT/mcp; 0 = a free port"
    )
    parser.add_argument("--stateless", action="store_true", help="keep no session between requests")
    parser.add_argument("--json", action="store_true", help="answer in JSON bodies, never with a stream")
    parser.add_argument("--sse", action="store_true", help="serve HTTP+SSE at /sse instead")
    return parser.parse_args()


def sse_app(server: Any) -> Any:
    """An app that serves a low-level server over HTTP+SSE, for versions of `mcp` that make none."""
    from mcp.server.sse import SseServerTransport
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Mount, Route

    transport = SseServerTransport("/messages/")

    async def stream(request: Any) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as streams:
            await server.run(*streams, server.create_initialization_options())
        return Response()

    return Starlette(
        routes=[Route("/sse", endpoint=stream), Mount("/messages/", app=transport.handle_post_message)]
    )


def serve(app: Any, port: int) -> None:
    """Serve `app` on 127.0.0.1 until SIGTERM; print the URL as soon as it takes connections."""
    # asyncio switches Nagle's algorithm off only where the protocol is named; else each answer waits for 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(100)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])
