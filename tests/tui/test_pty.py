"""The program in a real terminal, and the terminal as it was, however the session came to its end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_tui.cli.manual import EXAMPLES
from tests.cli.examples import words_of, write_server
from tests.cli.running import Command, run
from tests.servers.stdio_scripted import processes
from tests.tui.terminal import HANG, Terminal

pytestmark = [pytest.mark.pty, pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")]


def received(log: Path) -> str:
    return log.read_text() if log.exists() else ""


def test_keys_typed_ahead_of_the_prompt_are_its_reason(terminals: Callable[..., Terminal]) -> None:
    terminal = terminals("--demo")
    call_silent(terminal)
    terminal.press("cquick\r")
    terminal.see("cancelling")
    terminal.press("1")
    terminal.see("you: quick")


def test_a_terminal_that_answers_light_gets_the_light_theme(terminals: Callable[..., Terminal]) -> None:
    terminal = terminals("--demo", env={"COLORTERM": "truecolor"})
    terminal.until(lambda: b"\x1b]11;?" in terminal.raw)
    terminal.press("\x1b]11;rgb:fafa/")
    terminal.press("f0f0/eeee\x1b\\n")
    terminal.until(lambda: b"48;2;246;247;249" in terminal.raw)
    terminal.see("Call a tool")  # the key behind the answer; none was made of the answer
    assert "rgb" not in terminal.text()


SCREENS = [line for name in (None, "replay", "attach") for line in EXAMPLES[name] if " call " not in line]


@pytest.mark.parametrize("line", SCREENS)
def test_an_example_of_the_help_opens_a_screen(
    line: str, terminals: Callable[..., Terminal], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_server(tmp_path)
    assert run("call", "add", "a=2", "b=3", "--demo").status == 0
    call = Command("call", "silent", "--json", "--demo") if " attach " in line else None
    if call is not None:
        call.until("sent")
    session = json.loads(run("ps", "--json").out)[0]["session"] if call is not None else ""
    terminal = terminals(*words_of(line, session=session))
    terminal.see("silent" if " attach " in line else "add" if " replay " in line else "No requests yet.")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.ended() == 128 + signal.SIGTERM
    if call is not None:
        os.kill(call.process.pid, signal.SIGTERM)
        assert call.end()[0] == 128 + signal.SIGTERM


class TestTheTerminalIsAsItWas:
    @pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
    def test_after_a_signal_and_the_server_was_told(
        self, terminals: Callable[..., Terminal], tmp_path: Path, name: str
    ) -> None:
        log = tmp_path / "server.jsonl"
        terminal = terminals("--", sys.executable, "-m", "mcp_tui.demo", "--log", str(log))
        call_silent(terminal)
        number = signal.Signals[name]
        os.kill(terminal.pid, number)
        assert terminal.ended() == 128 + number
        terminal.assert_restored()
        assert "notifications/cancelled" in received(log)

    def test_after_a_signal_while_it_starts(self, terminals: Callable[..., Terminal]) -> None:
        terminal = terminals("--demo")
        terminal.until(lambda: b"\x1b[?1049h" in terminal.raw)
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.ended() == 128 + signal.SIGTERM
        terminal.assert_restored()

    def test_after_ctrl_c_where_nothing_is_in_flight(self, terminals: Callable[..., Terminal]) -> None:
        terminal = terminals("--demo")
        terminal.see("No requests yet.")
        terminal.press("\x03")
        assert terminal.ended() == 0
        terminal.assert_restored()

    def test_after_the_server_was_killed(self, terminals: Callable[..., Terminal]) -> None:
        terminal = terminals("--demo", columns=150, lines=30)
        terminal.see("No requests yet.")
        pid = re.search(r"pid (\d+)", terminal.text())
        assert pid, terminal.text()
        os.kill(int(pid[1]), signal.SIGKILL)
        terminal.see("terminated by signal 9", "Press S to reconnect")
        terminal.press("\x11")
        assert terminal.ended() == 0
        terminal.assert_restored()

    def test_when_the_terminal_goes_away_so_do_program_and_server(
        self, terminals: Callable[..., Terminal], tmp_path: Path
    ) -> None:
        log = tmp_path / "server.jsonl"
        terminal = terminals("--", sys.executable, "-m", "mcp_tui.demo", "--log", str(log))
        call_silent(terminal)
        os.close(terminal.process.child_fd)
        end = time.monotonic() + HANG
        while os.waitpid(terminal.pid, os.WNOHANG) == (0, 0):
            assert time.monotonic() < end, "still running"
            time.sleep(0.05)
        assert "notifications/cancelled" in received(log)


class TestNoTerminal:
    def test_a_dumb_one_is_refused_in_one_sentence(self, terminals: Callable[..., Terminal]) -> None:
        terminal = terminals("--demo", columns=200, env={"TERM": "dumb"})
        assert terminal.ended() == 2
        assert terminal.raw.decode().strip().startswith("mcp-tui: The workbench needs a terminal")
        assert terminal.raw.count(b"\n") == 1

    def test_no_color_has_no_colour(self, terminals: Callable[..., Terminal]) -> None:
        terminal = terminals("--demo", env={"NO_COLOR": ""})
        terminal.see("stubborn")
        terminal.press("\x11")
        assert terminal.ended() == 0
        for red, green, blue in re.findall(rb"38;2;(\d+);(\d+);(\d+)", terminal.raw):
            assert red == green == blue


def call_silent(terminal: Terminal) -> None:
    """Call a tool that never answers."""
    terminal.see("stubborn")
    terminal.press("n")
    terminal.see("Call a tool")
    terminal.press("silen")
    terminal.see("1 of 15", "leaves its stream open")
    terminal.press("\x13")
    terminal.see("▸ in flight", "tools/call silent")


def test_what_others_wrote_on_the_screen_is_gone_after_ctrl_l(terminals: Callable[..., Terminal]) -> None:
    terminal = terminals("--demo")
    terminal.see("No requests yet.")

    def broadcast() -> bool:
        terminal.stream.feed(b"\x1b[5;5HBroadcast message")  # again where half a sequence was read before
        return "Broadcast message" in terminal.text()

    terminal.until(broadcast)
    terminal.press("\x0c")
    terminal.until(lambda: "Broadcast message" not in terminal.text())


def test_several_servers_are_told_and_ended_when_mcp_tui_is_left(
    terminals: Callable[..., Terminal], tmp_path: Path
) -> None:
    logs = [tmp_path / "first.jsonl", tmp_path / "second.jsonl"]
    terminal = terminals("--", sys.executable, "-m", "mcp_tui.demo", "--log", str(logs[0]))
    call_silent(terminal)
    terminal.press("v")
    terminal.see("1 server", "on the screen")
    terminal.press("a")
    terminal.see("Which server?", "esc Back")
    terminal.press(f"{sys.executable} -m mcp_tui.demo --log {logs[1]}\r")
    terminal.see("2 of 2 ✓ mcp-tui")
    call_silent(terminal)
    terminal.press("\x0e")
    terminal.see("1 of 2 ✓ mcp-tui")
    terminal.press("\x11")
    terminal.see("2 requests in flight")
    assert len(processes(str(tmp_path))) >= 2
    terminal.answer("y", "2 requests in flight")
    assert terminal.ended() == 0
    terminal.assert_restored()
    for log in logs:
        assert "notifications/cancelled" in received(log)
    assert processes(str(tmp_path)) == []


def fill(terminal: Terminal) -> None:
    """Fill what lies between the program and the terminal, which reads nothing, to the last byte."""
    line = os.open(Path(f"/proc/{terminal.pid}/fd/2").readlink(), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(line, b"x" * 256)
    os.close(line)


def wait_for(true: Callable[[], object]) -> None:
    """Wait, without reading what the program writes."""
    end = time.monotonic() + HANG
    while not true():
        assert time.monotonic() < end, "still not true"
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="finds the terminal in /proc")
class TestATerminalThatDoesNotRead:
    def called(self, terminals: Callable[..., Terminal], log: Path) -> Terminal:
        server = (sys.executable, "-m", "mcp_tui.demo", "--log", str(log))
        terminal = terminals("--max-timeout", "4", "--", *server)
        call_silent(terminal)
        fill(terminal)
        return terminal

    def test_deadlines_pass_and_all_is_drawn_again_once_it_reads(
        self, terminals: Callable[..., Terminal], tmp_path: Path
    ) -> None:
        log = tmp_path / "server.jsonl"
        terminal = self.called(terminals, log)
        wait_for(lambda: "notifications/cancelled" in received(log))
        terminal.see("timed out", "╭─ Requests")

    def test_a_signal_cancels_and_ends_it_and_the_terminal_is_as_it_was(
        self, terminals: Callable[..., Terminal], tmp_path: Path
    ) -> None:
        log = tmp_path / "server.jsonl"
        terminal = self.called(terminals, log)
        os.kill(terminal.pid, signal.SIGTERM)
        stat = Path(f"/proc/{terminal.pid}/stat")
        wait_for(lambda: stat.read_text().rpartition(") ")[2][0] == "Z")
        assert "notifications/cancelled" in received(log)
        assert terminal.ended() == 128 + signal.SIGTERM
        terminal.assert_restored()


def test_ctrl_z_stops_the_script_around_it_and_fg_draws_it_again(terminals: Callable[..., Terminal]) -> None:
    shell = terminals("--norc", "--noediting", "-i", program=["bash"], env={"PS1": "prompt> "})
    shell.see("prompt>")
    shell.press(f"sh -c '{sys.executable} -m mcp_tui --demo; echo ended'\r")
    for _ in range(2):
        shell.see("No requests yet.")
        shell.press("\x1a")
        shell.until(lambda: not shell.modes())
        shell.see("Stopped")
        shell.press("fg\r")
        shell.until(lambda: 1049 in shell.modes())
    shell.see("No requests yet.")
    shell.press("\x11")
    shell.see("ended")
    assert shell.modes() == set()


def test_ctrl_z_stops_nothing_under_a_script_that_ignores_it(terminals: Callable[..., Terminal]) -> None:
    shell = terminals("-c", f"trap '' TSTP; {sys.executable} -m mcp_tui --demo; echo ended", program=["sh"])
    shell.see("No requests yet.")
    shell.press("\x1a")
    shell.see("cannot suspend")
    shell.press("\x11")
    shell.see("ended")


def test_a_key_in_a_dialog_that_has_no_clock_is_drawn_at_once(
    terminals: Callable[..., Terminal], tmp_path: Path
) -> None:
    server = {"command": sys.executable, "args": [str(number) for number in range(40)]}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"helper": server}}))
    words = f"cd {tmp_path} && exec {sys.executable} -m mcp_tui --server helper"
    terminal = terminals("-c", words, program=["sh"], columns=40, lines=8)
    terminal.see("Start helper?", "5 of")
    terminal.press("\x1b[B")
    terminal.see("8 of")
    terminal.press("y")
    terminal.see("Scroll to the last")


def test_a_long_call_that_is_left_alone_is_heard_and_the_title_is_put_back(
    terminals: Callable[..., Terminal],
) -> None:
    terminal = terminals("--max-timeout", "6", "--demo", env={"MCP_TUI_NOTIFY": "osc9"})
    call_silent(terminal)
    terminal.press("\x1b[O")  # the terminal is not in focus any more
    terminal.until(lambda: "\x1b]2;▸ silent 2 s\x07".encode() in terminal.raw)
    terminal.until(lambda: "\x1b]9;mcp-tui: ◷ silent timed out after 6 s\x07".encode() in terminal.raw)
    terminal.until(lambda: "\x1b]2;◷ silent\x07".encode() in terminal.raw)
    terminal.press("\x11")
    assert terminal.ended() == 0
    assert terminal.raw.count(b"\x1b[22;2t") == terminal.raw.count(b"\x1b]2;\x07\x1b[23;2t") == 1
