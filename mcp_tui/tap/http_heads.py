"""The heads of HTTP messages on their way through a tap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

HOP_BY_HOP: Final = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer"
    b" transfer-encoding upgrade".split()
)
"""Headers that apply to one connection only (RFC 9110, section 7.6.1)."""

Headers = Sequence[tuple[bytes, bytes]]


OF_CLIENT: Final = HOP_BY_HOP | {b"host", b"expect"}
"""The headers of a request that do not pass: the server has another host, and the tap has answered ``Expect``."""


def end_to_end(headers: Headers, dropped: frozenset[bytes] = HOP_BY_HOP) -> list[tuple[bytes, bytes]]:
    """Returns the headers without those that apply to one connection, and without those that are ``dropped``."""
    names = [name.lower() for name, _ in headers]
    if b"connection" in names:
        listed = [value for name, (_, value) in zip(names, headers, strict=True) if name == b"connection"]
        dropped = dropped.union(each.strip().lower() for each in b",".join(listed).split(b","))
    if b"transfer-encoding" in names:
        dropped |= {b"content-length"}  # Transfer-Encoding overrides Content-Length (RFC 9112, section 6.3).
    return [each for name, each in zip(names, headers, strict=True) if name not in dropped]


def as_head(first: bytes, headers: Headers) -> bytes:
    """Returns a head in the form of a record."""
    return b"\n".join([first, *map(b":".join, headers)])


def read_head(head: bytes) -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
    """Returns the words of the first line, and the headers."""
    first, *lines = head.split(b"\n")
    headers: list[tuple[bytes, bytes]] = []
    for line in lines:
        name, _, value = line.partition(b":")
        headers.append((name, value))
    return first.split(b" "), headers
