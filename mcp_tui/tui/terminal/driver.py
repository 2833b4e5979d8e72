"""The terminal of the workbench: nothing waits until it reads, and it can be stopped and continued.

This module is a workaround. Textual's own driver blocks the event loop when the terminal does not read, suspends only
its own process, and draws a pending frame before it handles a key. ``contrib/textual`` has the text of an issue and a
reproduction for each. When Textual fixes one, :class:`Output`, :func:`stop_group`, or ``_draw_behind_key`` can be
removed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import sys
import threading
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Generator
from itertools import chain
from typing import Any, Final, Protocol, runtime_checkable

from textual._xterm_parser import XTermParser  # the parser of Textual's own input thread
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key
from textual.message import Message

from mcp_tui.transport.base import Turn
from mcp_tui.tui.terminal.background import BACKGROUND_QUERY, Answers, Background
from mcp_tui.tui.terminal.pastes import Pastes
from mcp_tui.tui.terminal.restore import reset
from mcp_tui.tui.terminal.screen_changes import Cells, is_frame

UNDRAWN_CHARACTERS: Final = 64 * 1024
"""The maximum number of characters that wait for the terminal, a few frames; further frames are dropped."""

LAST_DRAW_SECONDS: Final = 0.5
"""Seconds that the terminal has at the end to read the last frame."""

DRAIN_LOOK_SECONDS: Final = 0.1
"""Seconds between two checks whether a terminal that does not read still matters."""

KEY_TURNS: Final = 16
"""The maximum number of turns of the event loop until a key acts, from widget to widget."""

QUIET_LOOKS: Final = 30
"""The number of looks without input after which the input thread waits for input alone."""

SWITCH_SECONDS: Final = 0.001
"""Seconds after which a busy event loop lets the input thread run; Python's own 5 ms occur twice per key."""


class Output:
    """Writes to a terminal in a thread.

    Frames without room are dropped; then ``redraw`` is called. Each text is written whole or not at all, so no
    control sequence is cut.
    """

    def __init__(self, fd: int, encoding: str, redraw: Callable[[], None]) -> None:
        self._encoding = encoding
        self._redraw = redraw
        try:  # a separate descriptor: those of other processes stay blocking
            self._fd = os.open(os.ttyname(fd), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError:  # the terminal of another user, after su
            self._fd = os.dup(fd)
        self._news = threading.Condition()
        self._texts: list[str] = []
        self._size = 0
        """The number of characters that are not written yet."""
        self._dropped = self._over = False
        self._thread = threading.Thread(target=self._work, name="terminal", daemon=True)
        self._thread.start()

    def put(self, text: str, *, frame: bool) -> bool:
        """Queues a text. A ``frame`` without room is dropped, and the result is false."""
        with self._news:
            if frame and (self._dropped or self._size > UNDRAWN_CHARACTERS):
                self._dropped = True
                return False
            self._texts.append(text)
            self._size += len(text)
            self._news.notify_all()
            return True

    def end(self) -> bool:
        """Ends the thread; returns whether the terminal read everything within :data:`LAST_DRAW_SECONDS`."""
        with self._news:
            read = self._news.wait_for(lambda: not self._size, LAST_DRAW_SECONDS)
            self._over = True
            self._news.notify_all()
        self._thread.join(2 * DRAIN_LOOK_SECONDS)
        return read

    def _work(self) -> None:
        while not self._over:
            with self._news:
                self._news.wait_for(lambda: self._texts or self._over)
                texts, self._texts = self._texts, []
            self._write("".join(texts).encode(self._encoding, "backslashreplace"))
            with self._news:
                self._size -= sum(map(len, texts))
                self._news.notify_all()
                if self._size or not self._dropped:
                    continue
                self._dropped = False
            self._redraw()
        os.close(self._fd)

    def _write(self, raw: bytes) -> None:
        while raw and not self._over:
            if not select.select((), (self._fd,), (), DRAIN_LOOK_SECONDS)[1]:
                continue
            try:
                raw = raw[os.write(self._fd, raw) :]
            except BlockingIOError:
                pass
            except OSError:  # the terminal is gone
                return


def stop_group() -> bool:
    """Stops the process group, as a shell expects at ctrl+z, so that a script around mcp-tui stops too.

    Returns after it was continued. Returns false at once if no shell could continue it, or if the parent process
    ignores such a stop: a script that keeps running in the foreground would leave a terminal that nobody reads.
    """
    if signal.getsignal(signal.SIGTSTP) is signal.SIG_IGN:
        return False
    continued: list[int] = []
    note = signal.signal(signal.SIGCONT, lambda number, _: continued.append(number))
    stop = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    try:
        os.kill(0, signal.SIGTSTP)
    finally:
        signal.signal(signal.SIGTSTP, stop)
        signal.signal(signal.SIGCONT, note)
    return bool(continued)


@runtime_checkable
class OwnsTerminal(Protocol):
    """An app that stores its driver: :class:`~mcp_tui.tui.host.Host`."""

    terminal: TerminalDriver | None


class TerminalDriver(LinuxDriver):
    """Textual's driver with an :class:`Output` instead of a queue that blocks the loop when the terminal does not read."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        ignored = signal.getsignal(signal.SIGTSTP) is signal.SIG_IGN  # before Textual takes it
        super().__init__(app, **options)  # pyright: ignore[reportUnknownMemberType] - an app of whatever result
        self._host = app
        if isinstance(app, OwnsTerminal):
            app.terminal = self
        self._titled = False
        self._stopping, self._stop = os.pipe()
        self._here = asyncio.get_running_loop()
        self._output: Output | None = None
        self._cells = Cells()
        self._asked = False
        self._modes = False
        """Whether the current output sets modes of the terminal: it is never dropped."""
        # In the loop, where no frame is half drawn, and with the whole process group.
        signal.signal(signal.SIGTSTP, lambda _number, _frame: self._later(app.run_action, "suspend"))
        if ignored:
            signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        signal.signal(signal.SIGCONT, lambda _number, _frame: self._later(self._continued))

    def _later(self, function: Callable[..., object], *args: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._here.call_soon_threadsafe(self._host.call_later, function, *args)

    def _continued(self) -> None:
        """Takes the terminal back after the process was stopped and continued from outside: a shell had it meanwhile."""
        if self._output is not None:
            self.suspend_application_mode()
            self.resume_application_mode()
            self._host.refresh(layout=True)

    def process_message(self, message: Message) -> None:
        if isinstance(message, Key):
            Turn.pressed = time.monotonic()
            asyncio.run_coroutine_threadsafe(self._draw_behind_key(), self._here)
        super().process_message(message)

    async def _draw_behind_key(self) -> None:
        """Delays drawing until the key has acted: a frame takes longer than all the rest."""
        with self._host.batch_update():
            for _ in range(KEY_TURNS):
                Turn.pressed = time.monotonic()  # on a busy machine, these turns take longer than the hurry
                await asyncio.sleep(0)
        if self._host.screen_stack:
            # it became idle during these turns, and would otherwise draw only after its next message
            self._host.screen.check_idle()

    def write(self, data: str) -> None:
        if self._output is None:
            return
        if is_frame(data):
            data = self._cells.changes(data, self._host.size)
        if data and not self._output.put(data, frame=not self._modes):
            self._cells.forget()

    def forget(self) -> None:
        """Makes the next frame a whole one, over the output of other programs."""
        self._cells.forget()

    def retitle(self, title: str) -> None:
        """Sets the title of the window until the terminal is given back, which restores the former title."""
        if self._output is None:
            return
        if not self._titled:
            self._titled = True
            with self._setting_modes():
                self.write("\x1b[22;2t")
        self.write(f"\x1b]2;{title}\x07")

    def start_application_mode(self) -> None:
        with contextlib.suppress(OSError):  # not the controlling terminal
            # Continued in the background: the terminal belongs to the shell until mcp-tui is in the foreground.
            while os.tcgetpgrp(self.fileno) != os.getpgrp() and stop_group():
                pass
        stream = sys.__stderr__
        assert stream is not None  # Textual writes to it too
        sys.setswitchinterval(SWITCH_SECONDS)
        self._output = Output(stream.fileno(), stream.encoding, lambda: self._later(self._host.refresh))
        self._cells.forget()
        with self._setting_modes():
            super().start_application_mode()
            if not self._asked and self.input_tty and os.environ.get("TERM") != "linux":
                self._asked = True
                self.write(BACKGROUND_QUERY)

    def run_input_thread(self) -> None:
        """Reads keys as Textual does, but without pastes and the terminal's answer about its background."""
        parser, decode = XTermParser(), getincrementaldecoder("utf-8")("replace").decode
        pastes, answers, reported = Pastes(), Answers(), None
        quiet = 0
        while not self.exit_event.is_set():
            # What began and has no end yet, such as a lone escape, is decided soon after the last input.
            timeout = DRAIN_LOOK_SECONDS if quiet < QUIET_LOOKS else None
            ready = select.select((self.fileno, self._stopping), (), (), timeout)[0]
            if self._stopping in ready:
                self.exit_event.wait(DRAIN_LOOK_SECONDS)
                continue
            quiet = 0 if ready else quiet + 1
            for piece in (*pastes.sort(decode(os.read(self.fileno, 65536)) if ready else ""), ""):
                if isinstance(piece, Message):
                    self.process_message(piece)
                    continue
                text = answers.typed(piece) if piece or not ready else ""
                if answers.light is not reported:
                    reported = answers.light
                    super().process_message(Background(bool(reported)))
                for message in chain(parser.feed(text) if text else (), parser.tick()):
                    self.process_message(message)

    def disable_input(self) -> None:
        os.write(self._stop, b"x")
        super().disable_input()
        os.read(self._stopping, 1)

    def stop_application_mode(self) -> None:
        with self._setting_modes():
            if self._titled:
                # Some terminals restore an empty title instead of the former one.
                self.write("\x1b]2;\x07\x1b[23;2t")
            self._titled = False
            super().stop_application_mode()

    @contextlib.contextmanager
    def _setting_modes(self) -> Generator[None]:
        self._modes = True
        try:
            yield
        finally:
            self._modes = False

    def close(self) -> None:
        super().close()
        output, self._output = self._output, None
        if output is not None and not output.end():
            reset()
