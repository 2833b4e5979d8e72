"""The installed commands, as people start them, beside those of an earlier build: ``python -m benchmarks.beside NAME``.

That build is in ``.real/before`` (``python tests/real/install.py --before``); where it is not, this one alone is measured.
Both are measured in turns or at the same time, each with folders of its own. NAME is one of :data:`SCENARIOS`; the last line
is the figures of each build as JSON.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pyte

from benchmarks import replay

Figures = dict[str, float]

BEFORE: Final = Path(__file__).parents[1] / ".real/before/bin/mcp-tui"
BUILDS: Final = {"ours": str(Path(sys.executable).with_name("mcp-tui"))} | (
    {"before": str(BEFORE)} if BEFORE.exists() else {}
)
SETTLED: Final = 3.0
"""Seconds after which a workbench has loaded what it loads behind its first frame."""

IDLE: Final = 5.0
QUIET: Final = 0.5
"""Seconds without a byte after which a frame is complete."""

INITIALIZE: Final[dict[str, Any]] = {
    "jsonrpc": "2.0",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
KEYS: Final = "thing 123" + "\x7f" * 9
"""Typed into the filter of 100,000 tools; the search goes on when the next key comes."""

KEY_SECONDS: Final = 0.15

TOOLS: Final = """
import json, sys
schema = {"type": "object"}
tools = [{"name": f"tool {n:06}", "description": f"does thing {n}", "inputSchema": schema} for n in range(100_000)]
for line in sys.stdin:
    call = json.loads(line)
    about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    result = {"initialize": about, "tools/list": {"tools": tools}}.get(call.get("method"), {})
    if "id" in call:
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
"""
SILENT: Final = """
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    if call.get("method") == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": about}), flush=True)
"""
BUSY: Final = 4
LIMIT: Final = 1.0
FIRST_CALLS: Final = 10
GIVEN_UP: Final = 10.0
"""Seconds after its limit at which a call that has not ended is given up."""

MOCKED: Final = 500, 2000
"""Equal calls to a mock."""

AT_ONCE: Final = 50

DIALOGS: Final = {"n": "call", "?": "help", "S": "server", "v": "servers", "\x10": "palette", "b": "saved"}


def folders(home: str) -> dict[str, str]:
    """Returns an environment in which all that mcp-tui keeps is below a folder."""
    names = (
        "HOME",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
    )
    env = {**os.environ, **dict.fromkeys(names, home), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    env.pop("PYTHONPATH", None)  # the other build would load the code of this one
    return env


class Terminal:
    """A terminal with a command in it."""

    def __init__(self, words: Sequence[str], home: str, size: tuple[int, int] = (120, 36)) -> None:
        self.pid, self._near = pty.fork()
        if not self.pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
            os.execve(words[0], list(words), folders(home))
        self.bytes, self.last = 0, time.monotonic()
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self._news = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with suppress(OSError):
            while data := os.read(self._near, 1 << 16):
                with self._news:
                    self.bytes, self.last = self.bytes + len(data), time.monotonic()
                    self._stream.feed(data)
                    self._news.notify_all()

    def until(self, text: str, seconds: float = 60) -> None:
        """Waits until a text is on the screen."""
        with self._news:
            if not self._news.wait_for(lambda: text in "\n".join(self._screen.display), seconds):
                raise SystemExit(f"no {text!r}:\n" + "\n".join(self._screen.display))

    def quiet(self, seconds: float = QUIET) -> None:
        """Waits until nothing has come for so long."""
        with self._news:
            while (left := self.last + seconds - time.monotonic()) > 0:
                self._news.wait(left)

    def press(self, keys: str) -> None:
        """Types keys."""
        self.last = time.monotonic()
        os.write(self._near, keys.encode())

    def processor(self) -> float:
        """Returns the seconds of the processor that it took so far."""
        return _processor(self.pid)

    def first(self, key: str) -> tuple[float, float]:
        """Types a key in a text field; returns the seconds until the cursor has moved: by the clock, of the processor."""
        with self._news:
            before, spent, began = self._screen.cursor.x, self.processor(), time.monotonic()
            self.press(key)
            self._news.wait_for(lambda: self._screen.cursor.x != before, GIVEN_UP)
            return time.monotonic() - began, self.processor() - spent

    def end(self) -> None:
        """Ends it."""
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


@contextmanager
def terminals(commands: dict[str, list[str]], homes: dict[str, str]) -> Generator[dict[str, Terminal]]:
    """Has a command of each build in a terminal."""
    with ExitStack() as stack:
        made = {name: Terminal(words, homes[name]) for name, words in commands.items()}
        for each in made.values():
            stack.callback(each.end)
        yield made


def workbenches(homes: dict[str, str], *more: str) -> Any:
    """Has a workbench of each build, on the demo server without other words."""
    return terminals({name: [path, *(more or ("--demo",))] for name, path in BUILDS.items()}, homes)


def _processor(pid: int) -> float:
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(each.read_text(encoding="ascii").split()[0]) for each in threads) / 1e9


def wait_for(shown: dict[str, Terminal], text: str) -> None:
    """Waits until a text is on the screen of each build."""
    for each in shown.values():
        each.until(text)


def processor(shown: dict[str, dict[str, Terminal]]) -> dict[str, Figures]:
    """Returns the seconds of the processor that each took so far."""
    return {what: {build: each.processor() for build, each in named.items()} for what, named in shown.items()}


def idle(homes: dict[str, str]) -> dict[str, Figures]:
    """What share of a core a workbench and an ``attach`` to it take when nothing happens, in percent."""
    with ExitStack() as stack:
        shown = {"workbench": stack.enter_context(workbenches(homes))}
        wait_for(shown["workbench"], "Tools")
        shown["attach"] = stack.enter_context(workbenches(homes, "attach"))
        wait_for(shown["attach"], "Requests")
        time.sleep(SETTLED)
        before, began = processor(shown), time.monotonic()
        time.sleep(IDLE)
        after, taken = processor(shown), time.monotonic() - began
    return {
        build: {what: (after[what][build] - before[what][build]) / taken * 100 for what in shown}
        for build in BUILDS
    }


def dialogs(homes: dict[str, str]) -> dict[str, Figures]:
    """Kilobytes to a terminal of 120×36 when a dialog is opened."""
    found: dict[str, Figures] = {name: {} for name in BUILDS}
    with workbenches(homes) as benches:
        wait_for(benches, "Tools")
        time.sleep(SETTLED)
        for key, what in DIALOGS.items():
            before = {name: each.bytes for name, each in benches.items()}
            for typed in (key, "\x1b"):
                for each in benches.values():
                    each.press(typed)
                for name, each in benches.items():
                    each.quiet()
                    if typed == key:
                        found[name][what] = (each.bytes - before[name]) / 1000
    return {name: {**each, "worst": max(each.values())} for name, each in found.items()}


def filtering(homes: dict[str, str]) -> dict[str, Figures]:
    """Milliseconds from a key in the filter of 100,000 tools to its frame, the worst: by the clock, of the processor."""
    found: dict[str, Figures] = {}
    with workbenches(homes, "--", sys.executable, "-S", "-c", TOOLS) as benches:
        wait_for(benches, "100,000")
        time.sleep(SETTLED)
        for build, each in benches.items():
            each.press("n")
            each.quiet()
            taken = list[tuple[float, float]]()
            for key in KEYS[: None if build == "ours" else 3]:  # that build took 3 s for each
                taken.append(each.first(key))
                time.sleep(KEY_SECONDS)
            clocks, processors = zip(*taken, strict=True)
            found[build] = {"worst": max(clocks) * 1000, "cpu": max(processors) * 1000}
    return found


def first_calls(homes: dict[str, str]) -> dict[str, Figures]:
    """Seconds by which the worst of the first calls of a session ends after its limit, beside busy processes."""
    late: dict[str, list[float]] = {build: [] for build in BUILDS}
    with ExitStack() as stack:
        for _ in range(BUSY):
            busy = stack.enter_context(subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]))
            stack.callback(busy.kill)
        for number in range(2):
            for build, path in BUILDS.items():
                home = Path(homes[build], str(number))
                home.mkdir()
                late[build].append(_first_calls(path, str(home)))
    return {build: {"late": statistics.median(each), "worst": max(each)} for build, each in late.items()}


def _first_calls(path: str, home: str) -> float:
    words = [path, "tap", "--max-timeout", str(LIMIT), "--", sys.executable, "-S", "-c", SILENT]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, env=folders(home), bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        sent, ended = dict[int, float](), dict[int, float]()
        process.stdin.write(json.dumps({"id": 0} | INITIALIZE).encode() + b"\n")
        lines = iter(process.stdout.readline, b"")
        next(lines)
        for id_ in range(1, FIRST_CALLS + 1):
            sent[id_] = time.monotonic()
            params = {"name": "silent", "arguments": {"number": id_}}
            call = {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}
            process.stdin.write(json.dumps(call).encode() + b"\n")
            time.sleep(0.05)
        threading.Timer(LIMIT + GIVEN_UP, process.kill).start()
        for line in lines:
            ended[json.loads(line).get("id", 0)] = time.monotonic()
            if len(ended) == FIRST_CALLS:
                break
        process.kill()
    return max(ended.get(id_, at + LIMIT + GIVEN_UP) - at - LIMIT for id_, at in sent.items())


def mock(homes: dict[str, str]) -> dict[str, Figures]:
    """Milliseconds of each of many equal calls to ``mock``, and of each of four times as many, beside them."""
    found: dict[str, Figures] = {build: {} for build in BUILDS}
    for count, name in zip(MOCKED, ("few", "many"), strict=True):
        for build, path in BUILDS.items():
            file = Path(homes[build], "mocked.jsonl")
            with file.open("wb") as recording:
                replay.write(recording, 3 * count, 0)
            pipe = subprocess.PIPE
            words = [path, "mock", str(file)]
            with subprocess.Popen(words, stdin=pipe, stdout=pipe, env=folders(homes[build])) as process:
                assert process.stdin is not None
                assert process.stdout is not None
                params = {"name": "slow_sql", "arguments": {"query": "select 1"}}
                call = {"jsonrpc": "2.0", "method": "tools/call", "params": params}
                messages = [{"id": 0} | INITIALIZE, *({"id": id_} | call for id_ in range(1, count + 1))]
                before = 0.0
                for first in (
                    0,
                    *range(1, count, AT_ONCE),
                ):  # the handshake alone, and then some calls at once
                    some = messages[first : first + AT_ONCE if first else 1]
                    process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in some))
                    process.stdin.flush()
                    assert all(b"result" in process.stdout.readline() for _ in some)
                    before = before or _processor(process.pid)
                found[build][name] = (_processor(process.pid) - before) / count * 1000
                process.kill()
    return found


SCENARIOS: Final[dict[str, Callable[[dict[str, str]], dict[str, Figures]]]] = {
    "idle": idle,
    "dialogs": dialogs,
    "filtering": filtering,
    "first_calls": first_calls,
    "mock": mock,
}


def main() -> None:
    """Measures one scenario."""
    with ExitStack() as stack:
        homes = {
            name: stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            for name in BUILDS
        }
        print(json.dumps(SCENARIOS[sys.argv[1]](homes)))


if __name__ == "__main__":
    main()
