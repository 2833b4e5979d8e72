"""The clients from the registries that a tap stands behind, and that are judged: one line each."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_tui import __version__
from tests.real.install import (
    CLIENT_AGENTS,
    CLIENT_FASTMCP,
    CLIENT_LANGCHAIN,
    CLIENT_NPM,
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
    one. ``earlier`` is what an earlier look saw over stdio: the version that it spoke, and verdicts, each as the number of a
    rule and ``+`` passed, ``-`` broken, or ``?`` not seen.
    """

    package: str
    kind: str
    part: Part | None
    command: tuple[str, ...]
    speaks: str = ""
    limit: float = 2.0
    most: float = 0.0
    earlier: str = ""

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


_SENDS = "2026-07-28 01+ 02+ 07+ 15- 16+ 17+"
_RAW = "2025-11-25 01+ 02+ 07- 15- 16? 17-"
JUDGED: Final = (
    Client("mcp", "1.x ClientSession", MCP1, _python(MCP1, "session1"), earlier="2025-11-25 01- 02- 07+ 15- 16? 17?"),
    Client("mcp", "2.x ClientSession", MCP2, _python(MCP2, "session"), earlier="2025-11-25 01+ 02+ 07+ 16+ 17+"),
    Client("mcp", "2.x Client", MCP2, _python(MCP2, "client2"), earlier=_SENDS),
    Client("fastmcp", "", CLIENT_FASTMCP, _python(CLIENT_FASTMCP, "fastmcp"), earlier=_SENDS),
    Client("openai-agents", "", CLIENT_AGENTS, _python(CLIENT_AGENTS, "agents"), limit=5, earlier=_SENDS),
    Client("langchain-mcp-adapters", "", CLIENT_LANGCHAIN, _python(CLIENT_LANGCHAIN, "langchain"), limit=5,
           earlier="2025-11-25 01? 02? 15- 16? 17?"),
    Client("@modelcontextprotocol/sdk", "", CLIENT_NPM, _node("sdk"), most=6, earlier=f"{_RAW} 05-"),
    Client("@modelcontextprotocol/client", "", CLIENT_NPM, _node("client"), most=6, earlier=_RAW),
    Client("@ai-sdk/mcp", "", CLIENT_NPM, _node("ai"), earlier="2025-11-25 01- 02- 07- 15- 16? 17?"),
    Client("@ai-sdk/mcp", "2025-11-25", CLIENT_NPM, _node("ai"), speaks="2025-11-25",
           earlier="01- 02- 07- 15- 16? 17?"),
    Client("@openai/agents", "", CLIENT_NPM, _node("agents"), limit=5, earlier="2026-07-28 01+ 02+ 15- 16? 17-"),
    Client("mcp-tui", "", None, _python(None, "ours"), most=6, earlier="01+ 02+ 07+ 15+ 16+ 17+"),
    Client("mcp-tui", "2025-11-25", None, _python(None, "ours"), speaks="2025-11-25", most=6,
           earlier="01+ 02+ 07+ 15+ 16+ 17+"),
)  # fmt: skip
"""Those that are judged."""

_CALL: Final = ("--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=2", "b=3")
_INSPECTOR: Final = str(CLIENT_NPM.folder / "node_modules" / ".bin" / "mcp-inspector")
CLIENTS: Final = {
    **{each.name: each.command for each in JUDGED if not each.speaks},
    "Inspector CLI": (_INSPECTOR, "--cli", "--config", CONFIG, "--server", "demo", *_CALL),
}
"""The command of each client that a tap stands behind."""
