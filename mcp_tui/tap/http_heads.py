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


def end_to_end(headers: Headers, *besides: bytes) -> list[tuple[bytes, bytes]]:
    """Returns the headers without those that apply to one connection, and without ``besides``."""
    listed = b",".join(value for name, value in headers if name.lower() == b"connection")
    dropped = HOP_BY_HOP.union(besides, (each.strip().lower() for each in listed.split(b",")))
    if any(name.lower() == b"transfer-encoding" for name, _ in headers):
        dropped |= {b"content-length"}  # Transfer-Encoding overrides Content-Length (RFC 9112, section 6.3).
    return [(name, value) for name, value in headers if name.lower() not in dropped]


def as_head(first: bytes, headers: Headers) -> bytes:
    """Returns a head in the form of a record."""
    return b"\n".join([first, *(name + b":" + value for name, value in headers)])


def read_head(head: bytes) -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
    """Returns the words of the first line, and the headers."""
    first, *lines = head.split(b"\n")
    headers: list[tuple[bytes, bytes]] = []
    for line in lines:
        name, _, value = line.partition(b":")
        headers.append((name, value))
    return first.split(b" "), headers
