"""The clients from the registries that a tap stands behind, and that are judged: one line each."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_tui import __version__
from tests.real.install import (
    CLIENT_ADK,
    CLIENT_AGENTS,
    CLIENT_AUTOGEN,
    CLIENT_CREWAI,
    CLIENT_FASTMCP,
    CLIENT_FRAMEWORK,
    CLIENT_KERNEL,
    CLIENT_LANGCHAIN,
    CLIENT_LLAMA_INDEX,
    CLIENT_MCP_USE,
    CLIENT_MCPADAPT,
    CLIENT_NPM,
    CLIENT_PYDANTIC,
    CLIENT_STRANDS,
    MCP1,
    MCP2,
    Part,
    python_of,
)

HERE: Final = Path(__file__).resolve().parent
SERVER: Final = "{server}"
"""A word that stands for the server's command line."""
CONFIG: Final = "{config}"
"""A word that stands for a config file with the server ``demo``."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client: what it is called, the package that it is in, where that is installed, and its command.

    ``speaks`` is the one protocol version of its server, empty for the newest that it knows. ``limit`` is the limit in
    seconds that it is given: more where that covers the start of the server as well; ``most`` is its maximum, where it has
    one. ``gave_up`` finds the line in which it says that it gave up.
    """

    package: str
    kind: str
    part: Part | None
    command: tuple[str, ...]
    speaks: str = ""
    limit: float = 2.0
    most: float = 0.0
    gave_up: str = "^gave up"

    @property
    def name(self) -> str:
        """What tells it from the others."""
        return f"{self.package} {self.kind}".strip()

    @property
    def version(self) -> str:
        """The version that is installed."""
        if self.part is None:
            return __version__
        if self.part is CLIENT_NPM:
            text = (self.part.folder / "node_modules" / self.package / "package.json").read_text()
            return json.loads(text)["version"]
        start = self.package.replace("-", "_") + "-"
        (found,) = self.part.folder.glob(f"lib/*/site-packages/{start}[0-9]*.dist-info")
        return found.name.removeprefix(start).removesuffix(".dist-info")

    @property
    def registry(self) -> str:
        """Where it comes from."""
        return "" if self.part is None else "npm" if self.part is CLIENT_NPM else "PyPI"


def _python(part: Part | None, name: str) -> tuple[str, ...]:
    python = sys.executable if part is None else str(python_of(part.folder))
    return (python, str(HERE / "drive.py"), name, SERVER)


def _node(name: str) -> tuple[str, ...]:
    links = ("--preserve-symlinks", "--preserve-symlinks-main")
    return ("node", *links, str(CLIENT_NPM.folder / "clients" / "drive.mjs"), name, SERVER)


COLUMNS: Final = (
    "speaks",
    "limit",
    "stop",
    "reason",
    "late result",
    "initialize",
    "interrupted",
    "left behind",
    "HTTP",
)
"""The columns of the short table, and those of the look by hand. The last one has one cell there for limit and stop."""

_FASTMCP_CALL: Final = (str(python_of(CLIENT_FASTMCP.folder).with_name("fastmcp")), "call", CONFIG, "{tool}",
                        "--input-json", "{arguments}", "--timeout", "{timeout}", "--auth", "none")  # fmt: skip
_OLD: Final = "2025-11-25"
_INSPECTOR: Final = (str(CLIENT_NPM.folder / "node_modules" / ".bin" / "mcp-inspector"), "--cli", "--config", CONFIG,
                     "--method", "tools/call")  # fmt: skip
_INSPECTOR_CALL: Final = ("--server", "judge", "--tool-name", "{tool}", "--tool-args-json", "{arguments}")
_MCPORTER: Final = ("--config", CONFIG, "call", "judge.{tool}", "--args", "{arguments}", "--timeout", "2000")

JUDGED: Final = (
    Client("mcp", "1.x ClientSession", MCP1, _python(MCP1, "session1")),
    Client("mcp", "2.x ClientSession", MCP2, _python(MCP2, "session")),
    Client("mcp", "2.x Client", MCP2, _python(MCP2, "client2")),
    Client("mcp", f"2.x Client, {_OLD}", MCP2, _python(MCP2, "client2"), speaks=_OLD),
    Client("fastmcp", "", CLIENT_FASTMCP, _python(CLIENT_FASTMCP, "fastmcp")),
    Client("fastmcp", _OLD, CLIENT_FASTMCP, _python(CLIENT_FASTMCP, "fastmcp"), speaks=_OLD),
    Client("pydantic-ai-slim", "", CLIENT_PYDANTIC, _python(CLIENT_PYDANTIC, "pydantic"), limit=5),
    Client("openai-agents", "", CLIENT_AGENTS, _python(CLIENT_AGENTS, "agents"), limit=5),
    Client("openai-agents", _OLD, CLIENT_AGENTS, _python(CLIENT_AGENTS, "agents"), limit=5, speaks=_OLD),
    Client("strands-agents", "", CLIENT_STRANDS, _python(CLIENT_STRANDS, "strands")),
    Client("langchain-mcp-adapters", "", CLIENT_LANGCHAIN, _python(CLIENT_LANGCHAIN, "langchain"), limit=5),
    Client("mcp-use", "", CLIENT_MCP_USE, _python(CLIENT_MCP_USE, "mcp_use")),
    Client("agent-framework-core", "", CLIENT_FRAMEWORK, _python(CLIENT_FRAMEWORK, "framework"), limit=5),
    Client("google-adk", "", CLIENT_ADK, _python(CLIENT_ADK, "adk"), limit=5),
    Client("llama-index-tools-mcp", "", CLIENT_LLAMA_INDEX, _python(CLIENT_LLAMA_INDEX, "llama_index"), limit=5),
    Client("autogen-ext", "", CLIENT_AUTOGEN, _python(CLIENT_AUTOGEN, "autogen"), limit=5),
    Client("mcpadapt", "", CLIENT_MCPADAPT, _python(CLIENT_MCPADAPT, "adapted"), limit=5),
    Client("semantic-kernel", "", CLIENT_KERNEL, _python(CLIENT_KERNEL, "kernel"), limit=5),
    Client("fastmcp", "call", CLIENT_FASTMCP, _FASTMCP_CALL, gave_up="Error:"),
    Client("@modelcontextprotocol/sdk", "", CLIENT_NPM, _node("sdk"), most=6),
    Client("@modelcontextprotocol/client", "", CLIENT_NPM, _node("client"), most=6),
    Client("@ai-sdk/mcp", "", CLIENT_NPM, _node("ai")),
    Client("@ai-sdk/mcp", _OLD, CLIENT_NPM, _node("ai"), speaks=_OLD),
    Client("@openai/agents", "", CLIENT_NPM, _node("agents"), limit=5),
    Client("@openai/agents", _OLD, CLIENT_NPM, _node("agents"), limit=5, speaks=_OLD),
    Client("@mastra/mcp", "", CLIENT_NPM, _node("mastra"), limit=5),
    Client("@langchain/mcp-adapters", "", CLIENT_NPM, _node("langchain")),
    Client("mcporter", "", CLIENT_NPM, (str(CLIENT_NPM.folder / "node_modules" / ".bin" / "mcporter"), *_MCPORTER),
           gave_up="timed out"),
    Client("@modelcontextprotocol/inspector", "CLI", CLIENT_NPM, (*_INSPECTOR, *_INSPECTOR_CALL), gave_up="Error:"),
    Client("mcp-tui", "", None, _python(None, "ours"), most=6),
    Client("mcp-tui", _OLD, None, _python(None, "ours"), speaks=_OLD, most=6),
)  # fmt: skip
"""Those that are judged."""

CREWAI: Final = Client("crewai", "", CLIENT_CREWAI, _python(CLIENT_CREWAI, "crewai"), limit=5)
"""Not among those that are judged yet."""

REPEATING: Final = (
    *(each for each in (CREWAI, *JUDGED) if not each.speaks and SERVER in each.command),
    Client(
        "openai-agents",
        "max_retry_attempts=2",
        CLIENT_AGENTS,
        _python(CLIENT_AGENTS, "agents_again"),
        limit=5,
    ),
    Client("@ai-sdk/mcp", "maxRetries: 2", CLIENT_NPM, _node("ai_again"), limit=10),
    *(each for each in JUDGED if each.package == "mcporter"),
)
"""Those of which is known how often they send a call, and two that can be told to."""

CLIENTS: Final = {
    **{each.name: each.command for each in (*JUDGED, CREWAI) if not each.speaks and SERVER in each.command},
    "Inspector CLI": (*_INSPECTOR, "--server", "demo", "--tool-name", "add", "--tool-arg", "a=2", "b=3"),
}
"""The command of each client that a tap stands behind."""
