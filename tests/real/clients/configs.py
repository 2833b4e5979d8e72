"""Whether the programs of clients accept their config files with a tap, and get every byte back.

python tests/real/install.py --clients    # once
python -m tests.real.clients.configs      # a line for each program; exit status 1 if one of them did not

Each program writes its own file (`mcp add`) in a home of its own. `tap install --all` changes it; the program's own list
then has to show the tap, and starts the server through it if it starts servers. `tap uninstall --all` restores the file.
The same with `tap install --serve --all`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Final

from tests.real.install import CLIENT_CONFIGS, CLIENT_NPM, REAL, Part

TUI: Final = str(Path(sys.executable).with_name("mcp-tui"))
SERVER: Final = (TUI, "demo")
SECONDS: Final = 180
SETTINGS: Final = (".json", ".jsonc", ".toml")


@dataclass(frozen=True, slots=True)
class Program:
    """A program with its own commands for servers: `add` writes its file, `shows` read it, `call` calls the tool `add`.

    `starts` says that these start the server.
    """

    name: str
    part: Part
    command: str
    add: tuple[str, ...]
    shows: tuple[tuple[str, ...], ...]
    starts: bool = True
    call: tuple[str, ...] = ()

    def words(self) -> str:
        """The program; npm installs a script beside it that would link it, and is not run here."""
        packages = self.part.folder / "node_modules"
        forms = (f"@anthropic-ai/claude-code-*/{self.command}", f"opencode-*/bin/{self.command}")
        native = sorted(each for form in forms for each in packages.glob(form))
        return str((*native, packages / ".bin" / self.command)[0])


CLAUDE, CODEX, AGENTS = CLIENT_CONFIGS
PROGRAMS: Final = (
    Program(
        "Claude Code, user", CLAUDE, "claude",
        ("mcp", "add", "demo", "-s", "user", "-e", "K=v", "--", *SERVER),
        (("mcp", "list"), ("mcp", "get", "demo")),
    ),
    Program("Claude Code, local", CLAUDE, "claude", ("mcp", "add", "demo", "--", *SERVER), (("mcp", "get", "demo"),)),
    Program(
        "Codex", CODEX, "codex", ("mcp", "add", "demo", "--env", "K=v", "--", *SERVER),
        (("mcp", "list"), ("mcp", "get", "demo", "--json")), starts=False,
    ),
    Program("Gemini CLI", AGENTS, "gemini", ("mcp", "add", "-s", "user", "-e", "K=v", "demo", *SERVER), (("mcp", "list"),)),
    Program("Qwen Code", AGENTS, "qwen", ("mcp", "add", "-e", "K=v", "demo", *SERVER), (("mcp", "list"),)),
    Program("opencode", AGENTS, "opencode", ("mcp", "add", "demo", "--env", "K=v", "--", *SERVER), (("mcp", "list"),)),
    Program("Kilo", AGENTS, "kilo", ("mcp", "add", "demo", "--", *SERVER), (("mcp", "list"),)),
    Program(
        "GitHub Copilot", AGENTS, "copilot", ("mcp", "add", "demo", "--timeout", "5000", "--", *SERVER),
        (("mcp", "get", "demo", "--json"),), starts=False,
    ),
    Program(
        "mcporter", CLIENT_NPM, "mcporter",
        ("config", "add", "demo", "--scope", "home", "--command", TUI, "--arg", "demo"),
        (("config", "get", "demo"), ("list", "demo")), call=("call", "demo.add", "a=2", "b=3"),
    ),
    # Its own command has no list: it refuses to add a server that its file has.
    Program("Cline", AGENTS, "cline", ("mcp", "add", "demo", "--yes", "--", *SERVER), (), starts=False),
)  # fmt: skip


class Home:
    """A home in which a program runs; it reaches nothing but this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir()
        (folder / "run").mkdir(mode=0o700)
        nobody = dict.fromkeys(
            ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9"
        )
        self.env = {
            **nobody, "PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "TERM": "dumb", "CI": "1",
            "NO_COLOR": "1", "NO_PROXY": "127.0.0.1,localhost", "XDG_RUNTIME_DIR": str(folder / "run"),
            "GEMINI_CLI_TRUST_WORKSPACE": "true", "DISABLE_AUTOUPDATER": "1", "DO_NOT_TRACK": "1",
        }  # fmt: skip

    def run(self, *words: str) -> tuple[int, str]:
        """Run a command; its exit status and what it printed."""
        done = subprocess.run(
            words, cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=SECONDS, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    def files(self) -> dict[Path, bytes]:
        """The config files that have the server."""
        found = (
            each for each in self.folder.rglob("*") if each.suffix in SETTINGS and "mcp-tui" not in each.parts
        )
        texts = {each: each.read_bytes() for each in found if each.is_file()}
        return {each: raw for each, raw in texts.items() if b'"demo"' in raw and TUI.encode() in raw}

    def sessions(self) -> int:
        """The sessions of taps that were recorded."""
        return len([*self.folder.rglob("journal/*.jsonl")])


def judge(program: Program, home: Home) -> str:
    """What went wrong with a program, empty if nothing."""
    command = program.words()
    status, said = home.run(command, *program.add)
    for show in program.shows[:1]:  # some migrate their file when they read it first
        home.run(command, *show)
    before = home.files()
    if status or not before:
        return f"its own add ended with {status}: {said.strip()[-200:]}"
    status, said = home.run(TUI, "tap", "install", "--all", "--max-timeout", "600", "--yes")
    if status or home.files() == before:
        return f"install ended with {status}: {said.strip()[-200:]}"
    for show in program.shows:
        status, said = home.run(command, *show)
        if status or not (" tap " in said or '"tap"' in said):
            return f"{' '.join(show)} ended with {status}: {said.strip()[-200:]}"
    if program.call and "5" not in (said := home.run(command, *program.call)[1]):
        return f"its call failed: {said.strip()[-200:]}"
    if program.starts and not any(home.sessions() or sleep(1) for _ in range(SECONDS)):
        return "the server did not start through the tap"
    status, told = home.run(TUI, "tap", "status")
    if status or "  tap  " not in told:
        return f"status: {told.strip()[-200:]}"
    if wrong := restored(home, before):
        return wrong
    status, said = home.run(TUI, "tap", "install", "--serve", "--all", "--yes")
    if status or "change" not in said:
        return f"install --serve ended with {status}: {said.strip()[-200:]}"
    for show in program.shows[:1]:
        status, said = home.run(command, *(word.replace("demo", "mcp-tui") for word in show))
        if status or not re.search(r" serve\b|\"serve\"", said):
            return f"{' '.join(show)} with serve ended with {status}: {said.strip()[-200:]}"
    return restored(home, before)


def restored(home: Home, before: dict[Path, bytes]) -> str:
    """Takes all of mcp-tui out of the files; returns what went wrong, empty if nothing."""
    status, said = home.run(TUI, "tap", "uninstall", "--all", "--yes")
    if status or home.files() != before:
        return f"uninstall ended with {status}; {'other bytes' if not status else said.strip()[-200:]}"
    return ""


def main() -> int:
    """Judge every program, or those whose names hold a word of the command line."""
    status = 0
    for program in PROGRAMS:
        if not all(word in program.name for word in sys.argv[1:]):
            continue
        if reason := program.part.missing():
            print(f"{program.name:<20}skipped: {reason}", flush=True)
            continue
        with tempfile.TemporaryDirectory(dir=REAL) as folder:
            wrong = judge(program, Home(Path(folder)))
        status |= bool(wrong)
        what = (
            "called through the tap"
            if program.call
            else "started through the tap"
            if program.starts
            else "read"
        )
        print(f"{program.name:<20}{wrong or f'{what}; every byte restored'}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
