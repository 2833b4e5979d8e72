"""The answers that a tap withholds from a client, because it has answered in the server's place.

Every import here is paid for at each start of a server: keep them few.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NEWEST_REQUESTS = 10_000
"""The number of newest requests whose late answers are withheld."""


class WithheldAnswers:
    """The requests whose late answers, and late progress, are withheld. False while there are none."""

    def __init__(self) -> None:
        self._marks: dict[bytes, tuple[Any, Any]] = {}
        """The withheld id and progress token, by the bytes that they have in a message."""

    def __bool__(self) -> bool:
        return bool(self._marks)

    def add(self, id: Any, token: Any) -> None:
        """Withholds the answer to a request from now on, and its progress."""
        self._marks[_mark(id)] = id, token
        if len(self._marks) > NEWEST_REQUESTS:
            del self._marks[next(iter(self._marks))]

    def discard(self, id: Any) -> None:
        """Lets the answer to a request pass again."""
        self._marks.pop(_mark(id), None)

    def renew(self, line: bytes) -> None:
        """Lets pass again what the client asks for in this line by an id, or a progress token, that was withheld.

        Else it would wait for ever: an obedient server never sends the late answer, which is the first.
        """
        kept = tuple(self._marks.items())
        tokens = tuple(_mark(token) for _, (_, token) in kept if token is not None)
        if not _names(line, (*self._marks, *tokens)):
            return
        # Imported only while an answer is withheld, to keep the start fast.
        from json import loads

        try:
            message: Any = loads(line)
            batch: list[Any] = message if line.lstrip()[:1] == b"[" else [message]
            for each in batch:
                asked = each["id"] if "method" in each else None
                params: Any = each.get("params")
                meta: Any = params.get("_meta") if params else None
                token: Any = meta.get("progressToken") if meta else None
                for mark, (id_, of) in kept:
                    if same(asked, id_):
                        self._marks.pop(mark, None)
                    elif mark in self._marks and same(token, of):
                        self._marks[mark] = id_, None
        except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
            return  # It is no request.

    def sift(self, line: bytes) -> bytes:
        """Returns a line without its withheld messages; the line itself if it has none."""
        # The bytes are searched first: to parse each line would slow down a flood that names no withheld id.
        # A copy here and below, because another thread may add an entry while the direction is not paused.
        if not _names(line, tuple(self._marks)) and b"notifications/progress" not in line:
            return line
        # Imported only while an answer is withheld.
        from json import dumps, loads

        try:
            message: Any = loads(line)
        except (ValueError, RecursionError):
            return line
        if line.lstrip()[:1] != b"[":
            return b"" if self._is_withheld(message) else line
        batch: list[Any] = message
        passed = [each for each in batch if not self._is_withheld(each)]
        if len(passed) == len(batch):
            return line
        return dumps(passed, separators=(",", ":")).encode() + b"\n" if passed else b""

    def _is_withheld(self, message: Any) -> bool:
        """Returns whether a message is a late answer, or late progress. Only the first answer counts as late."""
        try:
            if message.get("method") == "notifications/progress":
                token = message["params"].get("progressToken")
                return token is not None and any(same(token, each) for _, each in tuple(self._marks.values()))
            if "method" in message:
                return False
            found = [mark for mark, (id_, _) in tuple(self._marks.items()) if same(message.get("id"), id_)]
        except (AttributeError, KeyError):
            return False
        for mark in found[:1]:
            self._marks.pop(mark, None)
        return bool(found)


def _mark(id: Any) -> bytes:
    plain = isinstance(id, int) or (id.isascii() and id.isalnum())
    return str(id).encode() if plain else b":" + repr(id).encode()


def _names(line: bytes, marks: tuple[bytes, ...]) -> bool:
    """Returns whether a line may have one of these ids or tokens."""
    return any(mark.startswith(b":") or mark in line for mark in marks)


def same(one: Any, other: Any) -> bool:
    """Returns whether two ids or tokens are the same. A server may send 7 back as "7"."""
    return other is not None and type(one) is not bool and str(one) == str(other)
