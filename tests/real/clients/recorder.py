"""What passes between a client and a server over HTTP, as messages: a recorder in front of a server."""

from __future__ import annotations

import re
import socket
import subprocess
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Self
from urllib.parse import urlsplit

Message = tuple[bytes, bytes]
"""The first line and the decoded body of a request or a response."""


@contextmanager
def serving(command: Sequence[str]) -> Generator[str]:
    """A program that prints the URL at which it serves."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if found := re.search(r"http://127\.0\.0\.1:\d+[^\s,]*", line):
                    yield found[0]
                    break
            else:
                raise AssertionError(command)
        finally:
            process.terminate()


class HttpRecorder:
    """Passes connections on to a server, and keeps what passes. A context manager; ``url`` is the server behind it."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        assert where.port is not None
        self._server = where.hostname, where.port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}{where.path}"
        self._kept: list[tuple[bytearray, bytearray]] = []

    def __enter__(self) -> Self:
        Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()

    def messages(self) -> tuple[Counter[Message], Counter[Message]]:
        """All requests and all responses."""
        asked, answered = (Counter(each for kept in self._kept for each in read(kept[way])) for way in (0, 1))
        return asked, answered

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._server)
                kept = bytearray(), bytearray()
                self._kept.append(kept)
                Thread(target=_copy, args=(client, server, kept[0]), daemon=True).start()
                Thread(target=_copy, args=(server, client, kept[1]), daemon=True).start()


def _copy(source: socket.socket, sink: socket.socket, kept: bytearray) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            kept += data
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def read(raw: bytearray) -> list[Message]:
    """The messages of one direction of a connection."""
    made: list[Message] = []
    while b"\r\n\r\n" in raw:
        head, _, rest = bytes(raw).partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        if re.search(rb"(?i)\r\ntransfer-encoding: *chunked", head):
            body, rest = _dechunked(rest)
        else:
            size = int(length[1]) if length else 0 if b" 1" not in head[:9] else len(rest)
            body, rest = rest[:size], rest[size:]
        made.append((head.partition(b"\r\n")[0], body))
        raw = bytearray(rest)
    return made


def _dechunked(rest: bytes) -> tuple[bytes, bytes]:
    body = b""
    while b"\r\n" in rest:
        size, _, rest = rest.partition(b"\r\n")
        count = int(size.partition(b";")[0], 16)
        body, rest = body + rest[:count], rest[count + 2 :]
        if not count:
            break
    return body, rest
