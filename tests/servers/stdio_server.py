"""Small stdio servers that do one thing each, right or wrong: ``stdio_server.py MODE [ARGUMENT…]``.

They stand on the standard library alone and know nothing of JSON-RPC; what is after the arguments a mode takes is
there for the tests to find the process by.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path


def say(line: bytes) -> None:
    """Write a line; a signal's handler may do so too."""
    rest = line + b"\n"
    while rest:
        rest = rest[os.write(1, rest) :]


def heard() -> Iterator[bytes]:
    for line in sys.stdin.buffer:
        yield line.rstrip(b"\r\n")


def echo(*_: str) -> None:
    """Say back every line; end with stdin."""
    for line in heard():
        say(line)


def flood(count: str, *_: str) -> None:
    """From the first line on, write so many notifications as fast as it goes, echoing meanwhile; end with stdin."""

    def pour() -> None:
        for first in range(0, int(count), 10):
            lines = [
                b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}\n'
                % n
                for n in range(first, first + 10)
            ]
            os.write(1, b"".join(lines))  # little enough for a pipe to take it in one piece
        os.write(1, b'"poured"\n')

    thread = threading.Thread(target=pour)
    for number, line in enumerate(heard()):
        if number == 0:
            thread.start()
        os.write(1, line + b"\n")
    thread.join()


def late(start: str, *_: str) -> None:
    """Read nothing until there is a file of that name; then say the size and the start of each line."""
    say(b'"ready"')
    while not Path(start).exists():
        time.sleep(0.01)
    for line in heard():
        say(json.dumps({"size": len(line), "head": line[:60].decode()}).encode())


def leave(code: str, *_: str) -> None:
    """After one line say two, the last without its end; exit with that code or by that signal."""
    next(heard())
    sys.stdout.buffer.write(b'{"whole": true}\n{"whole": fal')
    sys.stdout.buffer.flush()
    sys.stderr.write("leaving\n")
    sys.stderr.flush()
    if int(code) < 0:
        os.kill(os.getpid(), -int(code))
    os._exit(int(code))


def unheard(*_: str) -> None:
    """Close stdin and go on."""
    os.close(0)
    say(b'"ready"')
    time.sleep(60)


def unspoken(*_: str) -> None:
    """Close stdout after one line and go on reading."""
    say(b'"ready"')
    os.close(1)
    for _line in heard():
        pass


def alone(*_: str) -> None:
    """Leave a child behind that holds all pipes open, and exit with 4."""
    say(b'"leaving"')  # before the child says that it is ready
    subprocess.Popen([sys.executable, __file__, "deaf", *sys.argv[2:]])
    os._exit(4)


def works(ends: str, *_: str) -> None:
    """Start a helper, then with each line a process to do its work; end with stdin if ``ends``, but never wait for them."""

    def start(*command: str) -> None:
        none = subprocess.DEVNULL
        subprocess.Popen(command, stdin=none, stdout=none, stderr=none)

    start("sleep", "60")
    time.sleep(0.03)  # Linux tells the start of a process in ticks of 10 ms
    say(b'"ready"')
    for _line in heard():
        start("sleep", "60")
        start("true")  # nobody waits for it, so it becomes a zombie
        say(b'"working"')
    if ends != "ends":
        time.sleep(60)


def whole(*_: str) -> None:
    """Say what this process got from whoever started it."""
    descriptors = [fd for fd in range(64) if _is_open(fd)]
    facts = {"pid": os.getpid(), "session": os.getsid(0), "group": os.getpgid(0), "cwd": str(Path.cwd())}
    say(
        json.dumps(
            {**facts, "descriptors": descriptors, "environment": dict(os.environ), "argv": sys.argv}
        ).encode()
    )
    echo()


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def deaf(*_: str) -> None:
    """Take no notice of the end of stdin, nor of any signal that can be ignored."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    say(b'"ready"')
    while True:
        time.sleep(60)


def polite(seconds: str, *_: str) -> None:
    """Take no notice of the end of stdin, but say goodbye so many seconds after SIGTERM."""

    def leave_politely(number: int, frame: object) -> None:
        time.sleep(float(seconds))
        say(b'"goodbye"')
        os._exit(0)

    signal.signal(signal.SIGTERM, leave_politely)
    say(b'"ready"')
    while True:
        time.sleep(60)


def escape(*_: str) -> None:
    """Be deaf twice: as the server, and in a process that left by a double fork and a session of its own."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            deaf()
        os._exit(0)
    os.wait()
    deaf()


def launcher(container: str, *_: str) -> None:
    """Be deaf but for SIGTERM: stop a process that is no descendant, as ``docker run`` does, which takes a moment."""

    def stop(number: int, frame: object) -> None:
        time.sleep(0.05)
        os.kill(int(container), signal.SIGKILL)
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    say(b'"ready"')
    while True:
        time.sleep(60)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
