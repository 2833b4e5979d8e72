"""Collect the tool schemas of servers from the registries into `corpus.json`.

    python tests/schemas/collect.py [--scratch FOLDER] [NAME…]

Installs each server into a scratch folder (npm without install scripts, pip into an environment of its own), starts it
on stdio with a minimal environment and a home of its own, lists its tools with the project's own client, and ends it.
What a server said replaces what the corpus had of it; a server that does not install or start is told and left as it
was. Kept are facts of public packages: registry, package, version, and of each tool its name, schemas and annotations.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from mcp_tui.client import Client, ClientSettings, StdioTarget
from mcp_tui.client.catalogue import every

CORPUS: Final = Path(__file__).with_name("corpus.json")

TOLD: Final = 160
"""Characters of a description within a schema that are kept."""

INSTALLING: Final = 600  # seconds for one package
STARTING: Final = 90  # seconds for one server


@dataclass(frozen=True, slots=True)
class Server:
    """A package and how it starts. `{}` in an argument is a folder of its own."""

    registry: str
    package: str
    program: str
    arguments: tuple[str, ...] = ()


SERVERS: Final = (
    Server("npm", "@modelcontextprotocol/server-everything", "mcp-server-everything", ("stdio",)),
    Server("npm", "@modelcontextprotocol/server-filesystem", "mcp-server-filesystem", ("{}",)),
    Server("npm", "@modelcontextprotocol/server-memory", "mcp-server-memory"),
    Server("npm", "@modelcontextprotocol/server-sequential-thinking", "mcp-server-sequential-thinking"),
    Server("npm", "@modelcontextprotocol/server-github", "mcp-server-github"),
    Server("npm", "@modelcontextprotocol/server-puppeteer", "mcp-server-puppeteer"),
    Server("npm", "@playwright/mcp", "playwright-mcp"),
    Server("npm", "@executeautomation/playwright-mcp-server", "playwright-mcp-server"),
    Server("npm", "chrome-devtools-mcp", "chrome-devtools-mcp"),
    Server("npm", "@upstash/context7-mcp", "context7-mcp"),
    Server("npm", "@notionhq/notion-mcp-server", "notion-mcp-server"),
    Server("npm", "@wonderwhy-er/desktop-commander", "desktop-commander"),
    Server("npm", "mcp-server-kubernetes", "mcp-server-kubernetes"),
    Server("npm", "mongodb-mcp-server", "mongodb-mcp-server"),
    Server("npm", "@antv/mcp-server-chart", "mcp-server-chart"),
    Server("npm", "@eslint/mcp", "mcp"),
    Server("pypi", "mcp-server-git", "mcp-server-git"),
    Server("pypi", "mcp-server-fetch", "mcp-server-fetch"),
    Server("pypi", "mcp-server-time", "mcp-server-time"),
    Server("pypi", "awslabs.aws-documentation-mcp-server", "awslabs.aws-documentation-mcp-server"),
    Server("pypi", "duckduckgo-mcp-server", "duckduckgo-mcp-server"),
    Server("pypi", "excel-mcp-server", "excel-mcp-server", ("stdio",)),
    Server("pypi", "office-word-mcp-server", "word_mcp_server"),
)


def install(server: Server, folder: Path) -> tuple[Path, str]:
    """Install a server; its program and its version."""
    folder.mkdir(parents=True, exist_ok=True)
    if server.registry == "npm":
        _run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", server.package, cwd=folder)
        about = folder / "node_modules" / server.package / "package.json"
        return folder / "node_modules" / ".bin" / server.program, json.loads(about.read_text())["version"]
    venv.create(folder, with_pip=True)
    pip = (str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check")
    _run(*pip, "install", "--quiet", server.package, cwd=folder)
    shown = _run(*pip, "show", server.package, cwd=folder)
    version = next(line for line in shown.splitlines() if line.startswith("Version:"))
    return folder / "bin" / server.program, version.removeprefix("Version:").strip()


def _run(*argv: str, cwd: Path) -> str:
    done = subprocess.run(
        argv,
        cwd=cwd,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=INSTALLING,
    )
    if done.returncode:
        raise OSError(f"{argv[0]} ended with {done.returncode}: {done.stdout.strip()[-300:]}")
    return done.stdout


async def listed(server: Server, program: Path, folder: Path) -> list[dict[str, Any]]:
    """What a server lists: started, asked for every page of its tools, ended."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    arguments = tuple(argument.replace("{}", str(home)) for argument in server.arguments)
    environment = {"HOME": str(home), "TMPDIR": str(home), "DO_NOT_TRACK": "1"}
    target = StdioTarget(command=(str(program), *arguments), env=environment, cwd=home)
    client = Client(target, ClientSettings(connect_timeout=STARTING))
    try:
        async with asyncio.timeout(2 * STARTING):
            await client.connect()
            return [_facts(tool) for tool in await every(client, "tools")]
    finally:
        await client.close()


def _facts(tool: dict[str, Any]) -> dict[str, Any]:
    kept = {
        name: tool[name] for name in ("name", "inputSchema", "outputSchema", "annotations") if name in tool
    }
    return cast("dict[str, Any]", _shortened(kept))


def _shortened(value: object, name: str = "") -> object:
    """`value` with the descriptions in it cut to :data:`TOLD` characters."""
    match value:
        case dict():
            members = cast("dict[str, object]", value)
            return {key: _shortened(member, key) for key, member in members.items()}
        case list():
            return [_shortened(item) for item in cast("list[object]", value)]
        case str() if name == "description" and len(value) > TOLD:
            return value[: TOLD - 1] + "…"
        case _:
            return value


def written(corpus: list[dict[str, Any]]) -> str:
    """The corpus as text: one line a tool, so that a difference can be read."""
    blocks: list[str] = []
    for each in corpus:
        head = json.dumps({name: each[name] for name in ("registry", "package", "version")})[1:-1]
        tools = ",\n".join(
            f"  {json.dumps(tool, ensure_ascii=False, separators=(',', ':'))}" for tool in each["tools"]
        )
        blocks.append(f'{{{head}, "tools": [\n{tools}\n]}}')
    return "[\n" + ",\n".join(blocks) + "\n]\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Collect tool schemas from the registries.")
    parser.add_argument("--scratch", type=Path, help="where to install, kept; default: a temporary folder")
    parser.add_argument("names", nargs="*", help="packages, all where none is named")
    given = parser.parse_args()
    known: dict[str, dict[str, Any]] = {}
    if CORPUS.exists():
        known = {each["package"]: each for each in json.loads(CORPUS.read_text(encoding="utf-8"))}
    missing = 0
    with tempfile.TemporaryDirectory(prefix="schemas-") as temporary:
        scratch = given.scratch or Path(temporary)
        for server in SERVERS:
            if given.names and server.package not in given.names:
                continue
            folder = scratch.resolve() / server.package.replace("/", "+")
            try:
                program, version = install(server, folder)
                tools = asyncio.run(listed(server, program, folder))
            except Exception as error:  # noqa: BLE001 - one server that fails is told, and the rest goes on
                print(f"{server.package}: {type(error).__name__}: {error}"[:600], flush=True)
                missing += 1
                continue
            known[server.package] = {
                "registry": server.registry,
                "package": server.package,
                "version": version,
                "tools": tools,
            }
            CORPUS.write_text(
                written([known[each.package] for each in SERVERS if each.package in known]), encoding="utf-8"
            )
            print(f"{server.package} {version}: {len(tools)} tools", flush=True)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
