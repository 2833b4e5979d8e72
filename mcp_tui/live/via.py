"""mcp-tui on other machines, in containers, and of other users: it runs there behind a command, such as ``ssh build1``.

Nothing listens for it. What a person typed or others wrote is sent on stdin, because ssh gives its arguments to a shell.
What comes back is hostile, and limited in time and size.
"""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import subprocess
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Final, NamedTuple

AT_ONCE: Final = 32
"""The maximum number of hosts that are asked at the same time."""

REPLY_BYTES: Final = 8 * 1024 * 1024
"""The maximum size of a reply, or of a line of a long one, in bytes."""

STDERR_BYTES: Final = 4096
"""The maximum size of what is kept of stderr, in bytes: its end."""

SHOWN_CHARACTERS: Final = 300
"""The maximum length of what is shown of an output."""

POLL_SECONDS: Final = 0.05
"""Seconds between two checks whether a process has ended: one that it leaves behind may keep its pipes open."""

USAGE: Final = 2
"""The exit status of mcp-tui for arguments that it does not know."""

NOT_FOUND: Final = (126, 127)
"""The exit statuses of a shell, of ``env``, and of a container, without the program."""

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""The signals that end a command, and the processes for which it waits."""

PROGRAM: Final = "mcp-tui"
_IN_CONTAINERS: Final = ("docker", "podman", "nerdctl", "kubectl", "oc")
_NEED_DASHES: Final = ("kubectl", "oc")


class Host(NamedTuple):
    """A place where mcp-tui runs, and the command that reaches it."""

    name: str
    command: tuple[str, ...]

    def words(self, *arguments: str, terminal: bool = False) -> list[str]:
        """Returns the command line of mcp-tui there; its stdin, or the ``terminal``, is that of the command.

        The name of the program is added, unless the command ends with its path.
        """
        made: list[str] = []
        names = [os.path.basename(word) for word in self.command]  # noqa: PTH119 - a word need not be a path
        container = False
        for word, name in zip(self.command, names, strict=True):
            made.append(word)
            if container and word == "exec":
                made += ["-i", "-t"] if terminal else ["-i"]
            container = name in _IN_CONTAINERS or (container and word != "exec")
            if name == "ssh" and terminal:
                made.append("-t")
        if "--" not in made and any(name in _NEED_DASHES for name in names):
            made.append("--")
        program = () if place(self.command) != self.command else (PROGRAM,)
        return [*made, *program, *arguments]


def place(command: tuple[str, ...]) -> tuple[str, ...]:
    """Returns a command without the path of mcp-tui, if it ends with one."""
    if command[-2:] == ("-m", "mcp_tui"):
        return command[:-3]
    named = command[-1].startswith(("/", "~", ".")) and command[-1].endswith(f"/{PROGRAM}")
    return command[:-1] if named else command


def not_started(words: Sequence[str], error: Exception) -> str:
    """Returns the rest of a sentence about a command that does not start."""
    reason = (isinstance(error, OSError) and error.strerror) or str(error)
    return f"cannot start {words[0]!r}: {reason}. Correct the command, or define its name in [via] of the settings."


def ended(status: int, stderr: bytes = b"") -> str:
    """Returns the rest of a sentence about a command that ended with this status; ``stderr`` is the end of its stderr."""
    if status in NOT_FOUND or (PROGRAM.encode() in stderr and b"not found" in stderr):
        return f"{PROGRAM} was not found there. Install it, or end the command with its path: …/{PROGRAM}."
    if status == USAGE:
        return "mcp-tui there may be older, or the command is wrong. Update it, or correct the command."
    if status < 0:
        return f"signal {-status} ended the command."
    return f"the command ended with status {status}."


@contextmanager
def _signals_later() -> Generator[None]:
    """Handles the signals that end a command only afterwards: the handler would raise before a new process is known.

    A mask would not do: the new process would inherit it.
    """
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in ENDING}
    held = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in held:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


class Remote:
    """A process of mcp-tui behind the command of a host.

    ``typed`` are arguments that it reads from stdin. ``status`` is its exit status, once it has ended by itself, and ``why``
    is the rest of a sentence about what went wrong; it may contain what its stderr said.
    """

    def __init__(self, host: Host, arguments: Sequence[str], typed: Sequence[str], seconds: float) -> None:
        self.host = host
        self.status: int | None = None
        self.why = ""
        self.stderr = b""
        self.seconds = seconds or math.inf
        self.end = math.inf
        self.process: subprocess.Popen[bytes] | None = None
        self._words = host.words(*arguments)
        self._typed = json.dumps(typed).encode() + b"\n" if typed else b""

    def start(self) -> None:
        """Starts it. The caller knows it already, and closes it, also after a signal."""
        self.end = monotonic() + self.seconds
        with _signals_later():
            try:
                # In a session of its own it cannot ask at the terminal, and is killed with what it started.
                pipe = subprocess.PIPE
                self.process = subprocess.Popen(
                    self._words, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
                )
            except (OSError, ValueError) as error:
                self.why = not_started(self._words, error)
                return
        assert self.process.stdin
        with suppress(OSError), self.process.stdin as stdin:
            stdin.write(self._typed)  # It is shorter than a pipe, so this does not block.

    def fail(self, why: str, output: bytes = b"") -> None:
        """Notes why its output is of no use, with a part of the output, or else of what its stderr said."""
        shown = output[: 4 * SHOWN_CHARACTERS] or self.stderr
        text = " ".join(shown.decode(errors="replace").split())
        more = (text[:SHOWN_CHARACTERS] if output else text[-SHOWN_CHARACTERS:]).strip()
        self.why = f"{why} It said: {more}" if more else why

    def not_understood(self, output: bytes) -> None:
        """Notes that its output is not that of mcp-tui, and the likely reason."""
        why = "this is not an answer of mcp-tui. Does the command run it there, in this version?"
        if self.status:
            self.fail(ended(self.status, self.stderr))
        else:
            self.fail(why, output)

    def close(self) -> None:
        """Kills it, unless it has ended, and waits for it. A process of another user, as behind sudo, may go on."""
        if self.process is None:
            return
        if self.process.poll() is None:
            with suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(POLL_SECONDS)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(OSError):
                assert pipe
                pipe.close()


def received(remotes: Sequence[Remote]) -> Iterator[tuple[Remote, bytes]]:
    """Yields the output of processes as it arrives, until each has ended, has failed, or its time is over."""
    left = [each for each in remotes if each.process is not None]
    with selectors.DefaultSelector() as waiting:
        for remote in left:
            assert remote.process
            for pipe in (remote.process.stdout, remote.process.stderr):
                assert pipe
                waiting.register(pipe, selectors.EVENT_READ, remote)
        while left:
            ended = {id(each): each.process.poll() for each in left if each.process}
            ready = waiting.select(0.0 if None not in ended.values() else POLL_SECONDS)
            for key, _ in ready:
                remote: Remote = key.data
                piece = os.read(key.fd, 65536)
                if not piece:
                    waiting.unregister(key.fileobj)
                elif remote.process and key.fileobj is remote.process.stdout:
                    yield remote, piece
                else:
                    remote.stderr = (remote.stderr + piece)[-STDERR_BYTES:]
            busy = [key.data for key, _ in ready]
            for remote in left:
                if remote not in busy:
                    remote.status = ended[id(remote)]
                if remote.status is None and not remote.why and monotonic() > remote.end:
                    remote.fail(f"did not answer within {remote.seconds:g} s.")
            over = [each for each in left if each.status is not None or each.why]
            for key in [key for key in waiting.get_map().values() if key.data in over]:
                waiting.unregister(key.fileobj)
            left = [each for each in left if each not in over]


def lines(remote: Remote) -> Iterator[bytes]:
    """Yields the lines of a long output as they arrive. Its time starts again with each piece."""
    rest = b""
    for _, piece in received([remote]):
        remote.end = monotonic() + remote.seconds
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
        if len(rest) > REPLY_BYTES:
            remote.fail(f"wrote a line of more than {REPLY_BYTES >> 20} MB.")
            return
    if rest:
        yield rest


def ask(
    hosts: Sequence[Host], arguments: Sequence[str], typed: Sequence[str], seconds: float
) -> Iterator[tuple[Remote, bytes]]:
    """Runs mcp-tui behind all hosts in parallel; yields the processes, which have ended, with their output, in order."""
    for first in range(0, len(hosts), AT_ONCE):
        remotes = [Remote(each, arguments, typed, seconds) for each in hosts[first : first + AT_ONCE]]
        try:
            for remote in remotes:
                remote.start()
            output = {id(each): bytearray() for each in remotes}
            for remote, piece in received(remotes):
                output[id(remote)] += piece
                if len(output[id(remote)]) > REPLY_BYTES:
                    remote.fail(f"answered more than {REPLY_BYTES >> 20} MB.")
            for remote in remotes:
                yield remote, bytes(output[id(remote)])
        finally:
            for remote in remotes:
                remote.close()
