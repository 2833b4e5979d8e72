"""Hostile words through everything that shows words, in a real terminal: not one byte of them is obeyed."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tui.hostile import PAYLOADS
from tests.tui.terminal import Terminal
from tests.waiting import HANG

pytestmark = [pytest.mark.pty, pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")]

SERVER = Path(__file__).parents[1] / "servers" / "hostile_server.py"

EVIL = {
    **{
        name: PAYLOADS[name]
        for name in ("clipboard", "title", "clear", "c1-csi", "nul-bel", "link", "line-ends")
    },
    "alternate": "\x1b[?47h\x1b[?9h",
    "device": "\x1bP+q544e\x1b\\",
    "reset": "\x1bc\x1b(0",
    "report": "\x1b[6n\x1b[5n\x1b[c",
    "colour": "\x1b]4;0;#ff0000\x07\x1b]10;?\x07",
    "application": "\x1b_Gf=100;AAAA\x1b\\\x1b^pm\x1b\\",
    "keyboard": "\x1b[>4;2m\x1b=",
    "scroll": "\x1b[1;5r\x1b[3S",
}
"""What each would do to a terminal: nothing of it is what Textual itself writes."""

SEQUENCE = re.compile(
    rb"\x1b(?:"
    rb"\[(?P<csi>[0-?]*[ -/]*[@-~])"
    rb"|\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    rb"|(?P<string>[PX^_])[^\x1b]*\x1b\\"
    rb"|(?P<other>[ -/]*[0-~]))"
)

OWN = re.compile(
    rb"[0-9;:]*m|[0-9]+;[0-9]+H|H|[0-9]+G|\?(?:1000|1002|1003|1004|1006|1015|1016|1049|2004|2026|2048|25|7)[hl]"
    rb"|\?2026\$p|\?2048\$p|>(?:1|25)u|<u|2[23];2t"
)
"""Textual's control sequences: colours, places, modes on and off, two questions, the keyboard; ours: columns, the title."""


def foreign(raw: bytes) -> Counter[bytes]:
    """What is in the output of a program that Textual does not write, with how often."""
    found: Counter[bytes] = Counter()
    for match in SEQUENCE.finditer(raw):
        ours = match["osc"] is not None and match["osc"].startswith((b"22;", b"11;?", b"2;"))
        if not ours and (match["csi"] is None or not OWN.fullmatch(match["csi"])):
            found[match[0]] += 1
    # the words of a window's title too
    rest = SEQUENCE.sub(lambda match: match["osc"] or b"", raw)
    found.update(re.findall(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", rest))
    found.update(re.findall(rb"\xc2[\x80-\x9f]", rest))
    found.update(re.findall(rb"\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]", rest))
    return found


BUSY = 2.0
"""Seconds that the program has for a key, at most, before the next one is typed."""


class Walk:
    """Goes through the program, and waits after each step until what came of it is drawn."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal

    def step(self, *keys: str, see: str = "", seconds: float = 0.1) -> None:
        for key in keys:
            self.terminal.press(key)
            if key == "\x1b":  # what follows at once would make it another key
                self.wait(0.2)
        if see:
            self.terminal.see(see)
        self.wait(seconds)

    def wait(self, seconds: float) -> None:
        """Read for so long, and then until the program has nothing to do, which on a busy machine comes later."""
        end = time.monotonic() + seconds
        idle = 0
        while time.monotonic() < end or (idle < 3 and time.monotonic() < end + BUSY):
            self.terminal.read()
            idle = idle + 1 if self.idle else 0

    @property
    def idle(self) -> bool:
        """Whether the program waits for something; where that cannot be told, it is taken to."""
        try:
            stat = Path(f"/proc/{self.terminal.pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return True
        return stat.rpartition(") ")[2][0] not in "RD"

    def back(self) -> None:
        """Close whatever is open, and wait until a key of the workbench is obeyed again."""
        self.step("\x1b", "\x1b", "\x1b")
        for said in ("Internal requests shown", "Internal requests hidden"):
            end = time.monotonic() + HANG
            while said not in self.terminal.text():
                assert time.monotonic() < end, f"o is not obeyed:\n{self.terminal.text()}"
                self.terminal.press("o")
                again = time.monotonic() + 1.0
                while said not in self.terminal.text() and time.monotonic() < again:
                    self.terminal.read()

    def call(self, name: str, see: str = "") -> None:
        """Call a tool from the list, by the beginning of its name."""
        self.back()
        self.step("n", see="Call a tool")
        self.step(name, see=f"│ {name}  ")
        self.step("\x13", see=see)

    def ends_clean(self, *shown: str) -> None:
        """Nothing foreign was written until the program ended, and these words were shown."""
        assert self.terminal.ended() == 0
        self.terminal.assert_restored()
        assert foreign(self.terminal.raw) == {}
        for word in shown:
            assert word in self.terminal.raw.decode("utf-8", "replace"), f"{word} was not shown: no proof"

    def command(self, *words: str) -> None:
        self.step("\x10", seconds=0.3)
        self.step(" ".join(words), seconds=0.5)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    file = tmp_path / "evil.json"
    file.write_text(json.dumps(list(EVIL.values())))
    return file


def sampling(folder: Path) -> dict[str, str]:
    """Settings under which a server may ask for a model's answer, and no call of its rings the bell."""
    (folder / "mcp-tui").mkdir(parents=True)
    (folder / "mcp-tui" / "config.toml").write_text('notify = "off"\n[sampling]\nmode = "ask"\n')
    return {"XDG_CONFIG_HOME": str(folder)}


def test_the_payloads_are_told_from_what_textual_writes() -> None:
    for name, payload in EVIL.items():
        assert foreign(payload.encode("utf-8", "replace")), name
    assert not foreign(b"\x1b[?1049h\x1b[1;38;2;1;2;3m\x1b[12;3Hplain \xe2\x94\x80\x1b[?25l\r\n")


def test_nothing_of_the_servers_words_reaches_the_terminal(
    terminals: Callable[..., Terminal], texts: Path, tmp_path: Path
) -> None:
    server = ("--", sys.executable, "-S", str(SERVER), str(texts))
    terminal = terminals(*server, columns=160, lines=60, env=sampling(tmp_path / "config"))
    walk = Walk(terminal)
    walk.step(see="Resources 15")
    for pane in "123456":  # server bar, detail with the instructions, catalogue, and the empty panes
        walk.step(pane)
    walk.step("n", see="Call a tool")  # the list, each of its entries, and the form of one
    walk.step("\x1b[6~", "\x1b[B", "\x1b[B")
    walk.step("\x1b")
    walk.call("hang", see="in flight")
    walk.step("4", "5", "z", "z", "6", "1")  # log, wire, timeline, detail with progress
    # rows that completed and failed, with the form's fields
    for rows, name in enumerate(("plaina", "plainb", "plainc"), 2):
        walk.back()
        walk.step("n", see="Call a tool")
        walk.step(name, see="1 of 20")
        walk.step("\r", see="^s Call")
        walk.step("\x14", see="^t Fields")
        walk.step("\x14", see="^t JSON")
        walk.step("\x13", see=f" · {rows} shown")
    walk.step("\x1b", "\x1b", "g", "1", "\r", seconds=0.3)  # the result, its parts, one after the other
    walk.step("\t", "\t", "\t", "t", "\x1b", "\x1b")
    walk.step("2", "G", "\r", seconds=0.3)  # a prompt from the catalogue, with what completes its argument
    walk.step("a", "b", seconds=0.3)
    walk.step("\x1b", "\x1b", "\x1b")
    for name in ("form", "link", "model", "folders"):  # questions that open, or are announced in a toast
        walk.call(name)
        walk.step(seconds=0.2)
        walk.step("a", seconds=0.2)
        walk.step("\x1b", "\x1b")
    walk.step("c", "because\r", "X", "\x1b", "C")  # the prompt with the name, the question, the cancellations
    walk.step("3", "z", "z", "5", "t", "\r", "\x1b", "\x1b")
    walk.step("/", "name:hang\r", "\x1b", "S", "\x1b", "P", "\x1b", "?", "\x1b")
    for found in ("call", "cancel", "server"):  # the palette has names as well
        walk.command(found)
        walk.step("\x1b")
    walk.command("recording")  # the sessions that were kept: the list, and one of them replayed
    walk.step("\r", seconds=0.3)
    walk.step("\r", seconds=0.5)
    walk.step("]", ".", "1", "5", "4", "3", "2", "\x1b", "\x1b")
    walk.command("cancellations of")
    walk.step("\r", seconds=0.3)
    walk.step("\x1b", "\x1b", "\x1b")
    walk.step("\x11", "\x11")
    walk.ends_clean("␛]52;c;", "␛]0;pwned", "␛[2J", "␛[?47h", "␛P+q")
