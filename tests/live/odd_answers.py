"""Odd answers at control sockets: what sessions of other versions, other programs, and broken ones may say there."""

from __future__ import annotations

import json
import os
import selectors
import socket
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from mcp_tui.live.sockets import ListeningSocket

ROW: Final[dict[str, Any]] = {
    "id": 1,
    "method": "tools/call",
    "name": "x",
    "state": "in_flight",
    "elapsed": 1.0,
    "timeout": None,
    "max_timeout": 60,
    "progress": None,
    "total": None,
    "message": None,
}
SESSION: Final[dict[str, Any]] = {
    "kind": "tap",
    "name": "files",
    "client": "other 3",
    "pid": 4711,
    "recording": "",
    "requests": [ROW],
}
"""The answer of commit 5dad7e7b, which had no version."""

HOSTILE: Final = "\x1b[2J[bold]$(id)[/]\r\n\u202e\x00\x9b"


def _session(**changed: Any) -> bytes:
    return _line({**SESSION, **changed})


def _row(**changed: Any) -> bytes:
    return _session(requests=[{**ROW, **changed}])


def _less(*gone: str) -> bytes:
    return _line({name: value for name, value in SESSION.items() if name not in gone})


def _row_less(gone: str) -> bytes:
    return _session(requests=[{name: value for name, value in ROW.items() if name != gone}])


def _line(told: Any) -> bytes:
    return json.dumps(told).encode() + b"\n"


UNDERSTOOD: Final[dict[str, bytes]] = {
    "without a version": _session(),
    "of this version": _session(version=1),
    "more members": _session(version=1, novelty={"a": [1]}, requests=[{**ROW, "novelty": 1}]),
    "two lines": _session() + b"more\n",
    "no line end": _session().rstrip(),
    "white space": b"  " + _session(),
    "hostile texts": _session(
        name=HOSTILE,
        client=HOSTILE,
        kind=HOSTILE,
        recording="/tmp/\x1b[31m",
        requests=[{**ROW, "progress": 1, **dict.fromkeys(("id", "method", "name", "state", "message"), HOSTILE)}],
    ),
    "a lone surrogate": _session(client="\ud800"),
    "long texts": _row(name="x" * 100_000),
    "a huge id": _row(id=10**4000),
    "an empty id": _row(id=""),
    "a huge time": _row(elapsed=1e300, timeout=1e300),
    "many requests": _session(requests=[{**ROW, "id": number} for number in range(2000)]),
}  # fmt: skip
"""Answers to ``list`` that tell what is in flight."""

NOT_UNDERSTOOD: Final[dict[str, bytes]] = {
    **{f"no {name}": _less(name) for name in SESSION},
    **{f"no {name} in a request": _row_less(name) for name in ROW},
    **{f"{name} is a list": _session(**{name: [[]]}) for name in SESSION},
    "a pid of 0": _session(pid=0),
    "a pid too large": _session(pid=1 << 40),
    "a pid that is true": _session(pid=True),
    "requests null": _session(requests=None),
    "requests an object": _session(requests={"1": ROW}),
    "a relative recording": _session(recording="session.jsonl"),
    "a recording that is a folder": _session(recording="/"),
    "a recording with a NUL": _session(recording="/tmp/\0"),
    "a recording that no file can have": _session(recording="/tmp/\ud800"),
    "an id that is null": _row(id=None),
    "an id that is true": _row(id=True),
    "an id that is a fraction": _row(id=1.5),
    "elapsed a text": _row(elapsed="1"),
    "elapsed negative": _row(elapsed=-1),
    "elapsed infinite": _session().replace(b'"elapsed": 1.0', b'"elapsed": 1e999'),
    "elapsed too long": _session().replace(b'"elapsed": 1.0', b'"elapsed": 1' + b"0" * 5000),
    "NaN": _session().replace(b"1.0", b"NaN"),
    "a version that is a text": _session(version="2")[:-20] + b"\n",
    "refused": _line({"refused": "not supported by this session"}),
    "an empty object": b"{}\n",
    "a list": b"[]\n",
    "a number": b"7\n",
    "null": b"null\n",
    "a text": b'"files"\n',
    "an empty line": b"\n",
    "not JSON": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "half an object": _session()[:40],
    "binary": bytes(range(128, 256)) + b"\n",
    "UTF-16": _session().decode().encode("utf-16") + b"\n",
    "deep nesting": b"[" * 100_000 + b"\n",
    "deep nesting in a member": b'{"requests":' + b"[" * 100_000 + b"\n",
    "huge": b"x" * (17 << 20),
    "nothing": b"",
}
"""Answers that nothing can be read from."""

OTHER_VERSION: Final[dict[str, bytes]] = {
    "a later version": _session(version=2),
    "a later version of another form": _line({"version": 99, "sessions": []}),
}

SILENT: Final[dict[str, bytes]] = {"no answer": b"", "half a line": b'{"kind'}
"""What a session says that then says nothing more, and does not hang up."""

ODD: Final[dict[str, dict[str, bytes]]] = {
    "understood": UNDERSTOOD,
    "not_understood": NOT_UNDERSTOOD,
    "other_version": OTHER_VERSION,
    "silent": SILENT,
}


NO_CANCEL: Final[dict[str, bytes]] = {
    **{what: told for what, told in NOT_UNDERSTOOD.items() if what not in ("refused", "nothing")},
    "an answer to list": _session(version=1),
    "another object": _line({"ok": True, "cancelled": True}),
    "an unknown signal": _line({"signal": "SIGTERM"}),
    "a signal that is null": _line({"signal": None}),
    "a signal that is a list": _line({"signal": ["notification"]}),
    "unsent is true": _line({"unsent": True}),
    "over is a number": _line({"over": 7}),
    "refused is null": _line({"refused": None, "signal": "notification"}),
}
"""Answers to ``cancel`` from which nobody knows what came of it."""

CANCELS: Final[dict[str, tuple[bytes, int, str]]] = {
    "left": (_line({"signal": "notification"}), 0, "Cancelled"),
    "left, and more is said": (_line({"version": 1, "signal": "none", "novelty": []}), 0, "Cancelled"),
    "unknown": (_line({"unknown": "1"}), 2, "has no request '1'"),
    "refused": (_line({"refused": f"initialize{HOSTILE}"}), 2, "Not cancelled: initialize"),
    "over": (_line({"over": "completed"}), 7, "was over already: completed"),
    "over, and more is said": (
        _line({"signal": "notification", "over": "lost"}),
        7,
        "was over already: lost",
    ),
    "being cancelled, without a version": (
        _line({"over": "cancel_requested"}),
        7,
        "is being cancelled already",
    ),
    "being cancelled": (
        _line({"version": 1, "signal": "none", "already": True}),
        7,
        "is being cancelled already",
    ),
    "unsent, without a version": (_line({"unsent": "the pipe broke"}), 6, "not sent: the pipe broke"),
    "unsent": (
        _line({"version": 1, "unsent": "not delivered: gone"}),
        6,
        "the cancel was not delivered: gone",
    ),
    "unsent yet": (_line({"version": 1, "unsent": "not sent yet"}), 6, "It may still leave"),
    "a later version": (_line({"version": 2, "signal": "notification"}), 6, "of another version"),
    "an empty object": (b"{}\n", 6, "not understood"),
    "half a line": (b'{"signal":', 6, "did not answer"),
}
"""Answers to ``cancel``, with the exit status, and words about it."""


@contextmanager
def answering(said: Mapping[str, bytes]) -> Generator[dict[str, str]]:
    """Sessions that answer whatever is asked with these bytes; gives their names by the same keys."""
    sockets = {what: ListeningSocket(os.urandom(6).hex()) for what in said}
    ends = threading.Event()

    def serve() -> None:
        kept: list[socket.socket] = []
        with selectors.DefaultSelector() as selector:
            for what, each in sockets.items():
                selector.register(each.socket, selectors.EVENT_READ, what)
            while not ends.is_set():
                for key, _ in selector.select(0.01):
                    if (link := sockets[key.data].accept()) is not None:
                        kept.append(link)
                        _answer(link, said[key.data], hangs_up=key.data not in SILENT)
        for each in kept:
            each.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield {what: each.name for what, each in sockets.items()}
    finally:
        ends.set()
        thread.join()
        for each in sockets.values():
            each.close()


def _answer(link: socket.socket, told: bytes, *, hangs_up: bool) -> None:
    link.setblocking(True)
    first, newline, rest = told.partition(b"\n")
    shared = b'"lent"' in first
    with suppress(OSError):
        for part in [first + newline, rest] if shared and rest else [told]:
            # What a session says about a call comes after the call, however slowly that is made.
            link.recv(65536)
            for start in range(0, len(part), size := 7 if len(part) < 1000 else 1 << 16):
                link.sendall(part[start : start + size])
    if hangs_up:
        link.close()
