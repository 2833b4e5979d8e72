"""Agent programs from the registries: each in a home of its own, with a model on loopback and without an account."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.real.install import AGENTS as PARTS
from tests.real.install import CLIENT_CONFIGS, Part
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
class Started:
    """An agent program that is ready to start: the config file with its server, and its command line and variables."""

    config: Path
    command: list[str]
    env: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent program. `client` is how it names itself to a server.

    `prepare` writes its config into a home: with a model at a URL, and a server `demo` of a command and variables.
    """

    name: str
    client: str
    part: Part
    prepare: Callable[[Path, Path, str, list[str], dict[str, str]], Started]

    def missing(self) -> str | None:
        """Why this machine cannot run it, as a clause, or None when it can."""
        return self.part.missing()

    def started(self, home: Path, url: str, server: list[str], variables: dict[str, str]) -> Started:
        """Writes its config into an empty home."""
        made = self.prepare(self.part.folder / "node_modules", home, url, server, variables)
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


def _claude_code(
    packages: Path, home: Path, url: str, server: list[str], variables: dict[str, str]
) -> Started:
    config = home / "mcp.json"
    entry = {"command": server[0], "args": server[1:], "env": variables}
    config.write_text(json.dumps({"mcpServers": {"demo": entry}}))
    # npm installs the package of this platform; a script of the other one, which is not run here, would link it
    program = next(packages.glob("@anthropic-ai/claude-code-*/claude"), packages / "claude")
    options = [
        "--mcp-config",
        str(config),
        "--strict-mcp-config",
        "--allowedTools",
        "mcp__demo",
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


def _codex(packages: Path, home: Path, url: str, server: list[str], variables: dict[str, str]) -> Started:
    config = home / ".codex" / "config.toml"
    config.parent.mkdir()
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
        f"command = {json.dumps(server[0])}",
        f"args = {json.dumps(server[1:])}",
        "[mcp_servers.demo.env]",
        *(f"{name} = {json.dumps(value)}" for name, value in variables.items()),
    )
    config.write_text("\n".join(lines) + "\n")
    options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return Started(config, [str(packages / ".bin" / "codex"), "exec", *options, ASKED])


def _opencode(packages: Path, home: Path, url: str, server: list[str], variables: dict[str, str]) -> Started:
    config = home / ".config" / "opencode" / "opencode.json"
    config.parent.mkdir(parents=True)
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {NAME: {}}}
    entry = {"type": "local", "command": server, "environment": variables}
    settings = {"provider": {"loopback": provider}, "model": f"loopback/{NAME}", "autoupdate": False}
    config.write_text(json.dumps(settings | {"mcp": {"demo": entry}}))
    # npm installs the package of this platform; a script of the other one, which is not run here, would link it
    program = next(packages.glob("opencode-*/bin/opencode"), packages / ".bin" / "opencode")
    env = {"OPENCODE_DISABLE_MODELS_FETCH": "1"}
    return Started(config, [str(program), "run", "--auto", ASKED], env)


def _gemini(packages: Path, home: Path, url: str, server: list[str], variables: dict[str, str]) -> Started:
    config = home / ".gemini" / "settings.json"
    env = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return _gemini_form(
        config, packages / ".bin" / "gemini", "gemini-api-key", "gemini-2.5-flash", server, variables, env
    )


def _qwen(packages: Path, home: Path, url: str, server: list[str], variables: dict[str, str]) -> Started:
    config = home / ".qwen" / "settings.json"
    env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": NAME}
    env |= dict.fromkeys(LOOPBACK_ONLY, "")  # its proxy has no exception for loopback
    return _gemini_form(config, packages / ".bin" / "qwen", "openai", NAME, server, variables, env)


def _gemini_form(
    config: Path,
    program: Path,
    auth: str,
    model: str,
    server: list[str],
    variables: dict[str, str],
    env: dict[str, str],
) -> Started:
    config.parent.mkdir()
    entry = {"command": server[0], "args": server[1:], "env": variables}
    settings = {
        "security": {"auth": {"selectedType": auth}},
        "mcpServers": {"demo": entry},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    config.write_text(json.dumps(settings))
    return Started(config, [str(program), "--yolo", "--model", model, "-p", ASKED], env)


AGENTS: Final = (
    Agent("Claude Code", "claude-code", PARTS[0], _claude_code),
    Agent("Codex", "codex-mcp-client", PARTS[1], _codex),
    Agent("opencode", "opencode", OTHERS, _opencode),
    Agent("Gemini CLI", "gemini-cli-mcp-client", OTHERS, _gemini),
    Agent("Qwen Code", "qwen-cli-mcp-client-demo", OTHERS, _qwen),
)
