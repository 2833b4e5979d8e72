"""Compressed server-sent events on their way through a tap."""

from __future__ import annotations

import struct
import zlib
from typing import Any, Final

from mcp_tui.tap.event_pipe import EventPipe

WRAPPED: Final = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""The ``wbits`` argument of zlib for each content encoding."""

UNPACKED_BYTES: Final = 16 * 1024 * 1024
"""The maximum decompressed size of a piece, in bytes. A larger one cannot be read without delaying the client."""

BLOCK_MARK: Final = b"mcp-tui"


def _block(data: bytes) -> bytes:
    encoder = zlib.compressobj(wbits=-15)
    return encoder.compress(data) + encoder.flush(zlib.Z_SYNC_FLUSH)


class CompressedPipe:
    """Passes compressed bytes unchanged until the tap has to insert or withhold a message; then compresses itself.

    A server flushes after each event, or the client would not get it, and there another block may follow. So the client
    reads one stream, which begins with the server's blocks and ends with those of the tap, and has the right checksum.
    """

    def __init__(self, pipe: EventPipe, encoding: str) -> None:
        self._pipe = pipe
        self._wrapped = WRAPPED[encoding]
        self._decoder: Any = zlib.decompressobj(self._wrapped)
        self._encoder: Any = None
        self._sum = zlib.crc32 if self._wrapped == 31 else zlib.adler32
        self._checksum = self._sum(b"")
        self._size = 0
        self._started = False
        """Whether bytes from the server have passed."""
        self._lost = False
        """Whether the compressed bytes cannot be decoded."""

    def feed(self, data: bytes) -> bytes:
        """Takes bytes from the server; returns the bytes for the client."""
        if self._lost:
            return data
        acts = self._encoder is not None or (self._pipe.looks and self._begin())
        try:
            decoded = self._decoder.decompress(data, UNPACKED_BYTES)
        except zlib.error:
            self._lost = True
            return data
        if acts:
            while self._decoder.unconsumed_tail:
                decoded += self._decoder.decompress(self._decoder.unconsumed_tail, UNPACKED_BYTES)
            return self._encode(self._pipe.feed(decoded))
        self._started = True
        self._lost = bool(self._decoder.unconsumed_tail)
        self._count(self._pipe.passes(decoded))
        return data

    def say(self, message: bytes, *, last: bool) -> bytes | None:
        """Inserts a message for the client; returns the bytes for the client, ``None`` if that is impossible here."""
        said = self._pipe.say(message, last=last) if self._begin() else None
        return None if said is None else self._encode(said)

    def close(self) -> bytes:
        """Returns the end of a stream that the tap compresses."""
        if self._encoder is None:
            return b""
        rest = self._encode(self._pipe.close()) + self._encoder.flush()
        if not self._started:
            return rest
        gzip = struct.pack("<II", self._checksum, self._size & 0xFFFFFFFF)
        return rest + (gzip if self._wrapped == 31 else struct.pack(">I", self._checksum))

    def _begin(self) -> bool:
        """Starts to compress, if the server's last block is complete."""
        if self._encoder is None and not self._lost:
            if not self._started:
                self._encoder = zlib.compressobj(wbits=self._wrapped)
            elif self._takes_blocks():
                self._encoder = zlib.compressobj(wbits=-15)
        return self._encoder is not None

    def _takes_blocks(self) -> bool:
        try:
            return not self._decoder.eof and self._decoder.copy().decompress(_block(BLOCK_MARK)) == BLOCK_MARK
        except zlib.error:
            return False

    def _encode(self, data: bytes) -> bytes:
        if not data:
            return b""
        self._count(data)
        return self._encoder.compress(data) + self._encoder.flush(zlib.Z_SYNC_FLUSH)

    def _count(self, data: bytes) -> None:
        self._checksum = self._sum(data, self._checksum)
        self._size += len(data)
