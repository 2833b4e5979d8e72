"""Agent programs from the registries: each in a home of its own, with a model on loopback and without an account."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.real.install import AGENTS as PARTS
from tests.real.install import CLIENT_CONFIGS, PLAIN_AGENTS, QWEN_NEWER, Part, conformance_node
from tests.real.model import NAME

OTHERS: Final = CLIENT_CONFIGS[-1]
"""Agent programs that `make clients` installs."""

ASKED: Final = "Go."
"""What the model is asked for; its script says what it does."""

LOOPBACK_ONLY: Final = dict.fromkeys(
    ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9"
)
"""A proxy where nobody listens: an agent program reaches nothing but its model."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A server in a config: a command and its variables, or a URL; and the limit of its calls in seconds, 0 for none."""

    command: list[str] = field(default_factory=list[str])
    env: dict[str, str] = field(default_factory=dict[str, str])
    url: str = ""
    limit: float = 0

    def common(self, *, url: str = "url", **over_http: str) -> dict[str, Any]:
        """The form that most programs have: under which name the URL is, and what else an entry with one has."""
        entry: dict[str, Any] = (
            {**over_http, url: self.url}
            if self.url
            else {"command": self.command[0], "args": self.command[1:], "env": self.env}
        )
        return entry | ({"timeout": round(self.limit * 1000)} if self.limit else {})


@dataclass(frozen=True, slots=True)
class Started:
    """An agent program that is ready to start: the config file with its server, and its command line and variables."""

    config: Path
    command: list[str]
    env: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent program. `client` is how it names itself to a server.

    `prepare` writes its config into a home: with a model at a URL, and a server `demo`. `limit` is the limit in seconds that
    its calls can be given: more where that covers the start of the server as well.
    """

    name: str
    client: str
    part: Part
    prepare: Callable[[Path, Path, str, Entry], Started]
    limit: float = 5.0
    registry: str = "npm"
    kind: str = ""

    @property
    def version(self) -> str:
        """The version that is installed."""
        name = "-".join(self.name.lower().split()[:2])
        return next(each.rpartition("@")[2] for each in self.part.asked.split() if name in each)

    def missing(self) -> str | None:
        """Why this machine cannot run it, as a clause, or None when it can."""
        too_old = self.prepare is _kimi and conformance_node() is None
        return self.part.missing() or ("it needs Node 22" if too_old else None)

    def started(self, home: Path, url: str, server: Entry) -> Started:
        """Writes its config into an empty home."""
        made = self.prepare(self.part.folder / "node_modules", home, url, server)
        folders = {"XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / "data")}
        env = {
            **os.environ,
            **LOOPBACK_ONLY,
            "NO_PROXY": "127.0.0.1",
            "HOME": str(home),
            **folders,
            **made.env,
        }
        return Started(made.config, made.command, env)


def _claude_code(packages: Path, home: Path, url: str, server: Entry) -> Started:
    config = home / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"demo": server.common(type="http")}}))
    # npm installs the package of this platform; a script of the other one, which is not run here, would link it
    program = next(packages.glob("@anthropic-ai/claude-code-*/claude"), packages / "claude")
    options = [
        "--mcp-config",
        str(config),
        "--strict-mcp-config",
        "--allowedTools",
        "mcp__demo,mcp__mcp-tui",
        "--model",
        NAME,
    ]
    env = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",  # or the model would have to search for the tools first
    }
    return Started(config, [str(program), "-p", ASKED, *options], env)


def _codex(packages: Path, home: Path, url: str, server: Entry) -> Started:
    config = home / ".codex" / "config.toml"
    config.parent.mkdir()
    command = (
        f"command = {json.dumps(server.command[:1])[1:-1]}",
        f"args = {json.dumps(server.command[1:])}",
        "[mcp_servers.demo.env]",
        *(f"{name} = {json.dumps(value)}" for name, value in server.env.items()),
    )
    lines = (
        f'model = "{NAME}"',
        'model_provider = "loopback"',
        "check_for_update_on_startup = false",
        "[analytics]",
        "enabled = false",
        "[model_providers.loopback]",
        'name = "loopback"',
        f'base_url = "{url}/v1"',
        'wire_api = "responses"',
        "request_max_retries = 0",
        "stream_max_retries = 0",
        "[mcp_servers.demo]",
        *([f"tool_timeout_sec = {server.limit}"] if server.limit else []),
        *([f"url = {json.dumps(server.url)}"] if server.url else command),
    )
    config.write_text("\n".join(lines) + "\n")
    options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return Started(config, [str(packages / ".bin" / "codex"), "exec", *options, ASKED])


def _opencode(packages: Path, home: Path, url: str, server: Entry) -> Started:
    # npm installs the package of this platform; a script of the other one, which is not run here, would link it
    program = next(packages.glob("opencode-*/bin/opencode"), packages / ".bin" / "opencode")
    config = home / ".config" / "opencode" / "opencode.json"
    return _opencode_form(config, program, url, server, {"OPENCODE_DISABLE_MODELS_FETCH": "1"})


def _kilo(packages: Path, home: Path, url: str, server: Entry) -> Started:
    config = home / ".config" / "kilo" / "kilo.jsonc"
    return _opencode_form(config, packages / ".bin" / "kilo", url, server, {"KILO_TELEMETRY_LEVEL": "off"})


def _opencode_form(config: Path, program: Path, url: str, server: Entry, env: dict[str, str]) -> Started:
    config.parent.mkdir(parents=True)
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    provider: dict[str, Any] = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {NAME: {}}}
    entry: dict[str, Any] = (
        {"type": "remote", "url": server.url, "oauth": False}
        if server.url
        else {"type": "local", "command": server.command, "environment": server.env}
    )
    entry |= {"timeout": round(server.limit * 1000)} if server.limit else {}
    settings = {"provider": {"loopback": provider}, "model": f"loopback/{NAME}", "autoupdate": False}
    config.write_text(json.dumps(settings | {"mcp": {"demo": entry}}))
    return Started(config, [str(program), "run", "--auto", ASKED], env)


def _cline(packages: Path, home: Path, url: str, server: Entry) -> Started:
    folder = home / ".cline" / "data" / "settings"
    folder.mkdir(parents=True)
    provider = {"provider": "openai-compatible", "apiKey": "none", "model": NAME, "baseUrl": f"{url}/v1"}
    entry = {"settings": provider, "updatedAt": "2026-11-29T00:00:00.000Z", "tokenSource": "manual"}
    known: dict[str, Any] = {"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}}
    (folder / "providers.json").write_text(json.dumps(known | {"providers": {"openai-compatible": entry}}))
    config = folder / "cline_mcp_settings.json"
    limit = {"timeout": server.limit} if server.limit else {}  # in seconds
    transport = server.common(type="streamableHttp") if server.url else {"type": "stdio", **server.common()}
    transport.pop("timeout", None)
    config.write_text(json.dumps({"mcpServers": {"demo": {"transport": transport} | limit}}))
    # otherwise a daemon in a session of its own stays behind
    env = {"CLINE_SESSION_BACKEND_MODE": "local"}
    return Started(config, [str(packages / ".bin" / "cline"), f"{ASKED} Please."], env)


def _copilot(packages: Path, home: Path, url: str, server: Entry) -> Started:
    config = home / ".copilot" / "mcp-config.json"
    config.parent.mkdir()
    kind = {} if server.url else {"type": "local"}
    entry = {**kind, **server.common(type="http"), "tools": ["*"]}
    config.write_text(json.dumps({"mcpServers": {"demo": entry}}))
    env = {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_MODEL": NAME, "COPILOT_OFFLINE": "true"}
    return Started(config, [str(packages / ".bin" / "copilot"), "-p", ASKED, "--allow-all-tools"], env)


def _continue(packages: Path, home: Path, url: str, server: Entry) -> Started:
    config = home / ".continue" / "config.yaml"
    config.parent.mkdir()
    model = {"name": NAME, "provider": "openai", "model": NAME, "apiBase": f"{url}/v1", "apiKey": "none"}
    entry = {"name": "demo", **server.common(type="streamable-http")}
    lines = (
        "name: mine  # with a comment",
        "version: 1.0.0",
        "schema: v1",
        f"models: [{json.dumps({**model, 'roles': ['chat'], 'capabilities': ['tool_use']})}]",
        "mcpServers:",
        f"  - {json.dumps(entry)}",
    )
    config.write_text("\n".join(lines) + "\n")
    words = [str(packages / ".bin" / "cn"), "-p", ASKED, "--config", str(config), "--auto"]
    return Started(config, words, {"CONTINUE_TELEMETRY_ENABLED": "0"})


def _kimi(packages: Path, home: Path, url: str, server: Entry) -> Started:
    config = home / ".kimi-code" / "mcp.json"
    config.parent.mkdir()
    lines = (
        f'default_model = "{NAME}"',
        "[providers.loopback]",
        'type = "openai"',
        f'base_url = "{url}/v1"',
        'api_key = "none"',
        f"[models.{NAME}]",
        'provider = "loopback"',
        f'model = "{NAME}"',
        "max_context_size = 100000",
    )
    config.with_name("config.toml").write_text("\n".join(lines) + "\n")
    config.write_text(json.dumps({"mcpServers": {"demo": server.common()}}))
    program = packages / "@moonshot-ai" / "kimi-code" / "dist" / "main.mjs"
    return Started(config, [str(conformance_node()), str(program), "-p", ASKED])


def _gemini(packages: Path, home: Path, url: str, server: Entry) -> Started:
    config = home / ".gemini" / "settings.json"
    env = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return _gemini_form(
        config, packages / ".bin" / "gemini", "gemini-api-key", "gemini-2.5-flash", server, env
    )


def _qwen(packages: Path, home: Path, url: str, server: Entry) -> Started:
    config = home / ".qwen" / "settings.json"
    env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": NAME}
    env |= dict.fromkeys(LOOPBACK_ONLY, "")  # its proxy has no exception for loopback
    return _gemini_form(config, packages / ".bin" / "qwen", "openai", NAME, server, env)


def _gemini_form(
    config: Path,
    program: Path,
    auth: str,
    model: str,
    server: Entry,
    env: dict[str, str],
) -> Started:
    config.parent.mkdir()
    settings = {
        "security": {"auth": {"selectedType": auth}},
        "mcpServers": {"demo": server.common(url="httpUrl")},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    config.write_text(json.dumps(settings))
    return Started(config, [str(program), "--yolo", "--model", model, "-p", ASKED], env)


AGENTS: Final = (
    Agent("Claude Code", "claude-code", PARTS[0], _claude_code),
    Agent("Codex", "codex-mcp-client", PARTS[1], _codex),
    Agent("opencode", "opencode", OTHERS, _opencode),
    Agent("Gemini CLI", "gemini-cli-mcp-client", OTHERS, _gemini, limit=20),
    Agent("Qwen Code", "qwen-cli-mcp-client-demo", OTHERS, _qwen, limit=20),
)
MORE: Final = (
    Agent("Kilo", "kilo", OTHERS, _kilo),
    Agent("Cline", "@cline/core", OTHERS, _cline),
    Agent("Copilot", "copilot-cli", OTHERS, _copilot),
    Agent("Continue", "continue-cli-client", PLAIN_AGENTS, _continue),
    Agent("Kimi", "kimi-code", PLAIN_AGENTS, _kimi),
)
"""Those whose repeats are not compared."""

NEWER: Final = (
    Agent("Qwen Code newer", "qwen-cli-mcp-client-demo", QWEN_NEWER, _qwen, limit=10, kind="newer"),
)
"""Versions that are compared with those above."""
