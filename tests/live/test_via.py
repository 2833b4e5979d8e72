"""``--via``: mcp-tui behind a command that stands for another machine, and what comes back when it does not answer well."""

from __future__ import annotations

import csv
import json
import os
import shlex
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_tui.cli.output import Exit
from mcp_tui.live.via import Host, ask
from tests.cases import cases
from tests.cli.running import MCP_TUI, run
from tests.control import Control
from tests.forking import Piped
from tests.servers.stdio_scripted import processes
from tests.waiting import HANG, wait

PATIENT: Final = ("--via-timeout", str(HANG))
OURS: Final = shlex.join(MCP_TUI)

ROW: Final = {
    "session": "7bc6", "kind": "tap", "client": "c", "client_pid": 7, "client_folder": None, "client_started": 1.5,
    "server": "s", "id": 1, "method": "tools/call", "name": "n", "state": "in_flight", "elapsed": 1, "timeout": None,
    "max_timeout": None, "progress": None, "total": None, "message": None, "repeat_of": None,
}  # fmt: skip


class Machine:
    """Another machine: files and sockets of its own, behind a script that joins its words for a shell, as ssh does."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder / f"{name} files"
        self.folder.mkdir()
        names = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")
        self.env = {each: str(self.folder / each) for each in names}
        exports = "\n".join(f"export {each}={shlex.quote(value)}" for each, value in self.env.items())
        self.script = script(folder, name, f'{exports}\ncd {shlex.quote(str(self.folder))}\nexec sh -c "$*"')
        self.via = f"{self.script} {OURS}"

    @contextmanager
    def calling(self, control: Control) -> Generator[Piped]:
        """A command there that calls a tool which goes on until the test lets it."""
        words = ["call", "count", "seconds=10", "steps=2", "--demo", *control.options]
        with Piped("command", words, {**os.environ, **self.env}) as process:
            try:
                control.wait("waiting", tool="count")
                wait(self.listed)
                yield process
            finally:
                process.send_signal(signal.SIGKILL)

    def listed(self) -> list[dict[str, Any]]:
        return json.loads(run("ps", "--json", "--via", self.via, *PATIENT).out)


def script(folder: Path, name: str, does: str) -> Path:
    made = folder / name
    made.write_text(f"#!/bin/sh\n{does}\n")
    made.chmod(0o755)
    return made


def test_sessions_of_several_machines_are_one_list_and_cancelled_from_it(tmp_path: Path, control: Control):
    first, second = Machine(tmp_path, "first"), Machine(tmp_path, "second")
    both = ["--via", first.via, "--via", second.via, *PATIENT]
    with first.calling(control), second.calling(control) as process:
        rows = json.loads(run("ps", "--json", *both).out)
        assert [row["host"] for row in rows] == ["first", "second"]
        shown = run("ps", *both)
        named = [f"{row['host']}:{row['session']}/{row['id']}" for row in rows]
        assert shown.status == 0
        assert all(each in shown.out for each in (*named, "on first · 1 in flight"))
        assert run("ps", "--json").out == "[]\n"
        assert run("cancel", named[1].partition(":")[2], *both).err.startswith(
            "mcp-tui: Name the host, as in first:"
        )
        reason = "$(touch made) `touch made`; touch made & \"'\n--allow \x1b[2J é"
        ran = run("cancel", named[1], *both, "--reason", reason)
        assert (ran.status, ran.out) == (0, f"second: Cancelled {named[1].partition(':')[2]}.\n")
        control.wait("cancelled", reason=reason)
        assert process.wait(HANG) == Exit.CANCELLED
        assert not [*tmp_path.rglob("made")]
        assert [row["host"] for row in json.loads(run("ps", "--json", *both).out)] == ["first"]
        # Without its host a name may be left out, and a host of the settings needs no option.
        settings = Path(os.environ["XDG_CONFIG_HOME"], "mcp-tui", "config.toml")
        settings.parent.mkdir(parents=True)
        settings.write_text(f"[via]\nthe.first = {json.dumps(first.via)}\n")
        gone = run("cancel", f"the.first:{rows[0]['session']}/99", "--json", *PATIENT)
        assert (gone.status, json.loads(gone.out)["status"]) == (2, 2)
        assert "has no request '99'" in gone.out
        assert "the.first:" in run("ps", "--via", "the.first", *PATIENT).out
        assert run("cancel", named[0].partition(":")[2], "--via", "the.first", *PATIENT).status == 0


def test_the_logs_of_several_machines_are_one(tmp_path: Path):
    first, second = Machine(tmp_path, "first"), Machine(tmp_path, "second")
    none = str(script(tmp_path, "none", "exit 255"))
    reason = '$(touch made); \x1b[2J, "q"\n= 1'
    for each, why in ((first, reason), (second, "enough")):
        words = ["call", "silent", "--cancel-after", "0", "--linger", "0", "--reason", why, "--demo"]
        assert run(*words, cwd=None, **each.env).status == Exit.CANCELLED
    both = ["log", "--via", first.via, "--via", second.via, *PATIENT]
    rows = json.loads(run(*both, "--json").out)
    assert [(row["host"], row["reason"]) for row in rows] == [("first", reason), ("second", "enough")]
    ran = run(*both, "--csv", "--via", none)
    assert (ran.status, ran.err) == (Exit.UNREACHABLE, "mcp-tui: none: the command ended with status 255.\n")
    table = [*csv.DictReader(ran.out.splitlines(keepends=True))]
    assert [(row["host"], row["name"]) for row in table] == [("first", "silent"), ("second", "silent")]
    assert table[0]["reason"].startswith("$(touch made); ␛[2J")
    ran = run(*both, "--sums", "--tool", "silent")
    assert [line.split()[:2] for line in ran.out.splitlines()] == [
        ["first:", "silent"],
        ["second:", "silent"],
    ]
    # A filter and a session are not read by a shell; a session may name its host.
    ran = run(*both, "--tool", "$(touch made) silent", "--json")
    assert (ran.status, ran.out) == (0, "[]\n")
    ran = run(*both, f"second:{rows[1]['session']}", "--json")
    assert [row["host"] for row in json.loads(ran.out)] == ["second"]
    ran = run(*both, rows[1]["session"], "--json")
    assert (ran.status, [row["host"] for row in json.loads(ran.out)]) == (2, ["second"])
    assert ran.err.startswith("mcp-tui: first: No session in")
    assert not [*tmp_path.rglob("made")]


def test_a_log_that_is_none_is_an_error_of_its_host(tmp_path: Path):
    for name, does, option, says in (
        ("greets", "echo Welcome", "--json", "greets: this is not an answer of mcp-tui."),
        ("greets", "echo Welcome", "--csv", "greets: this is not an answer of mcp-tui."),
        ("floods", "tr '\\0' x </dev/zero", "--sums", "floods: wrote a line of more than 8 MB."),
        ("hangs", "exec sleep 600", "--json", "hangs: did not answer within 1 s."),
        ("has-none", "exec no-such-program", "--json", "has-none: mcp-tui was not found there."),
        (
            "is-older",
            "echo \"mcp-tui: Unknown option '--stdin'.\" >&2; exit 2",
            "--csv",
            "may be older. Update it there.",
        ),
    ):
        seconds = "1" if name == "hangs" else str(HANG)
        ran = run("log", "--via", str(script(tmp_path, name, does)), "--via-timeout", seconds, option)
        assert ran.status == Exit.UNREACHABLE, ran
        assert says in ran.err
        assert ran.out == ("[]\n" if option == "--json" else "")


ODD: Final[dict[str, tuple[str, str]]] = {
    "floods": ("exec yes hello", "answered more than 8 MB."),
    "refuses": (
        "echo 'Permission \033[2J denied' >&2; exit 255",
        "ended with status 255. It said: Permission",
    ),
    "has-none": ("exec no-such-program", "mcp-tui was not found there."),
    "is-older": ("echo 'Unknown option' >&2; exit 2", "mcp-tui there may be older"),
    "greets": ("echo 'Welcome \033[2J'; echo '[]'", "It said: Welcome"),
    "says-nothing": ("exit 0", "not an answer of mcp-tui."),
    "no-list": ("echo '{}'", "It said: {}"),
    "is-deep": ("head -c 100000 /dev/zero | tr '\\0' '['", "It said: [[["),
    "lies": (f"echo '{json.dumps([{**ROW, 'elapsed': 'x'}])}'", "not an answer of mcp-tui"),
    "climbs": (f"echo '{json.dumps([{**ROW, 'session': '../x'}])}'", "not an answer of mcp-tui"),
    "misses": (f"echo '{json.dumps([{'session': '7bc6', 'id': 3}])}'", "not an answer of mcp-tui"),
}


SLOW: Final = {
    "hangs": ("sleep 600 & sleep 600", ""),
    "floods-stderr": ("exec yes hello >&2", " It said: hello"),
}
"""Hosts that have no end."""


def test_hosts_that_do_not_answer_in_time_are_ended(tmp_path: Path):
    slow = [str(script(tmp_path, name, does)) for name, (does, _) in SLOW.items()]
    ran = run("ps", *(word for each in slow for word in ("--via", each)), "--via-timeout", "1")
    assert ran.status == Exit.UNREACHABLE
    for line, (name, (_, said)) in zip(ran.out.splitlines(), SLOW.items(), strict=True):
        assert line.startswith(f"{name}: unreachable: did not answer within 1 s.")
        assert said in line
    wait(lambda: not processes(str(tmp_path)))
    says = "whether the cancel left is not known: did not answer within 1 s."
    run("cancel", "7bc6/1", "--via", slow[0], "--via-timeout", "1").sentence(Exit.TIMED_OUT, says)


def test_hosts_without_a_good_answer_are_named_beside_the_others(tmp_path: Path):
    odd = [str(script(tmp_path, name, does)) for name, (does, _) in ODD.items()]
    # What it leaves behind keeps the pipes open.
    good = script(tmp_path, "good", f"sleep 90 & echo '{json.dumps([ROW])}'")
    words = [word for each in (*odd, str(good), "no-such-command") for word in ("--via", each)]
    ran = run("ps", *words, *PATIENT)
    assert ran.status == Exit.UNREACHABLE
    assert "good:7bc6/1" in ran.out
    lines = dict(line.split(": unreachable: ") for line in ran.out.splitlines() if ": unreachable: " in line)
    assert lines.keys() == {*ODD, "no-such-command"}
    for name, (_, says) in ODD.items():
        assert says in lines[name], (name, lines[name])
    assert "\x1b" not in ran.out + ran.err
    assert "define its name in [via]" in lines["no-such-command"]
    rows = json.loads(run("ps", "--json", "--via", str(good), "--via", str(tmp_path / "refuses")).out)
    assert [(row["host"], row["session"], row["state"]) for row in rows] == [
        ("good", "7bc6", "in_flight"),
        ("refuses", None, "unreachable"),
    ]


def test_a_signal_ends_the_commands_as_well(tmp_path: Path):
    slow = script(tmp_path, "slow", "sleep 600; exit 0")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with Piped("command", ["ps", "--via", str(slow)], os.environ) as process:
            wait(lambda: processes(str(slow)))
            process.send_signal(number)
            assert process.wait(HANG) == 128 + number
            assert process.stderr.read() == b""
        wait(lambda: not processes(str(slow)))


def test_a_signal_while_a_command_is_started_ends_it_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    slow = script(tmp_path, "slow", "sleep 600; exit 0")
    popen = subprocess.Popen[bytes]

    def interrupted(words: list[str], **how: Any) -> subprocess.Popen[bytes]:
        made = popen(words, **how)
        signal.raise_signal(signal.SIGINT)
        return made

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(ask([Host("slow", (str(slow),))] * 2, ["ps"], [], HANG))
    monkeypatch.undo()
    wait(lambda: not processes(str(slow)))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_cancel_that_no_host_confirmed_is_not_called_one(tmp_path: Path):
    for name, status, says in (
        ("refuses", Exit.UNREACHABLE, "whether the cancel left is not known: the command ended"),
        ("has-none", Exit.UNREACHABLE, "has-none: mcp-tui was not found there."),
        ("is-older", Exit.UNREACHABLE, "is-older: mcp-tui there may be older"),
        ("says-nothing", Exit.UNREACHABLE, "whether the cancel left is not known: this is not an answer"),
        ("lies", Exit.UNREACHABLE, "whether the cancel left is not known: this is not an answer"),
    ):
        via = script(tmp_path, name, ODD[name][0])
        run("cancel", "7bc6/1", "--via", str(via), *PATIENT).sentence(status, says)
    run("cancel", "nowhere:7bc6/1").sentence(Exit.USAGE, "Unknown host 'nowhere'.")
    run("cancel", "x:--json/1", "--via", "x").sentence(Exit.USAGE, "Not a session:")
    run("cancel", "7bc6/1", "--via", "'").sentence(Exit.USAGE, "Cannot split --via")
    run("cancel", "7bc6/1", "--via", " ").sentence(Exit.USAGE, "is empty")
    run("cancel", "--stdin").sentence(Exit.USAGE, "No arguments on stdin.")


def test_a_session_of_another_machine_is_named_by_a_plain_word():
    refused = (
        ["attach", "--via", "ssh x", "a; touch made"],
        ["attach", "--via", "ssh x", "x:-oProxyCommand=x"],
    )
    for words in refused:
        run(*words).sentence(Exit.USAGE, "Not a session:")
    run("attach", "--via", "ssh x", "x:7bc6").sentence(Exit.USAGE, "attach needs a terminal")
    run("attach", "--via", "ssh x", "--via", "ssh y").sentence(Exit.USAGE, "Name the host, as in x:")


@cases(
    ("command", "terminal", "words"),
    [
        ("ssh build1", False, "ssh build1 mcp-tui"),
        ("ssh -p 22 build1 ~/bin/mcp-tui", True, "ssh -t -p 22 build1 ~/bin/mcp-tui"),
        ("ssh mcp-tui", False, "ssh mcp-tui mcp-tui"),
        ("docker exec mcp-tui", False, "docker exec -i mcp-tui mcp-tui"),
        ("sudo docker --host x exec web", True, "sudo docker --host x exec -i -t web mcp-tui"),
        ("kubectl exec pod/mcp-tui", False, "kubectl exec -i pod/mcp-tui -- mcp-tui"),
        ("ssh a kubectl exec exec -- /opt/mcp-tui", True, "ssh -t a kubectl exec -i -t exec -- /opt/mcp-tui"),
        ("sudo -u alice", True, "sudo -u alice mcp-tui"),
        ("env python3 -m mcp_tui", False, "env python3 -m mcp_tui"),
    ],
)
def test_the_command_of_a_host(command: str, terminal: bool, words: str):
    assert Host("", tuple(command.split())).words("ps", terminal=terminal) == [*words.split(), "ps"]
