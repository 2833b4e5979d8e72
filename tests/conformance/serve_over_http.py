"""``mcp-tui serve`` over HTTP, which it does not offer: its conversation behind the demo server's streamable HTTP.

The suite speaks to URLs only, and no bridge from a registry passes 2026-07-28. Prints the URL.
"""

from __future__ import annotations

from dataclasses import replace

from mcp_tui.cli import serve
from mcp_tui.demo.demo_server import main
from mcp_tui.demo.dispatch import Conversation, Setting


def _settle(setting: Setting) -> Setting:
    def converse(own: Setting) -> Conversation:
        return serve.ServeConversation(own, serve.tools(allow_cancel=True))

    return replace(setting, converse=converse)


if __name__ == "__main__":
    main(0, None, _settle, "serve")
