"""The protocol between a tap's relay and its recorder: records go to the recorder, orders come back as lines of JSON.

A record has a kind, a time in monotonic seconds, a number, and data. The kinds that a new recorder needs are
the records of the checkpoint. Another version of mcp-tui may be at the other end: see :data:`VERSION`.

Every import here is paid for at each start of a server: keep them few.
"""

from __future__ import annotations

from struct import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NotRequired, TypeAlias, TypedDict

    from mcp_tui.config.tap_words import TapOptions
    from mcp_tui.protocol.messages import Json

    TapRecord: TypeAlias = tuple[bytes, float, int, bytes]

    class Begin(TapOptions):
        """The first record: options and facts of the tap."""

        at: float  # monotonic seconds
        version: NotRequired[int]  # of these records
        again: NotRequired[int]  # it replaces another one
        client: NotRequired[int]  # the process id of the client

    class StdioBegin(Begin):
        """The same over stdio, with the server's command, program, process id, and working directory."""

        folder: str
        command: list[str]
        path: str
        pid: int

    class HttpBegin(Begin):
        """The same over HTTP, with the server's URL."""

        url: str

    _Pass = TypedDict("_Pass", {"pass": Json}, total=False)

    class Order(_Pass, total=False):
        """An order of the recorder: its members say what to do. Most are given in a pause, between ``hold`` and ``go``.

        Those about the traffic: ``say`` is a line for the server, and ``tell`` one for the client. ``keep`` withholds the
        answer to the request of this id, and progress with the ``token``; ``pass`` lets an answer pass again.
        """

        hold: int  # pause the answers; the recorder gets a record PAUSED
        wait: int  # keep the pause
        go: int  # end the pause
        taken: int  # the number of read records; ``size`` bytes of a checkpoint follow, which replaces them
        size: int
        due: float  # when the recorder has to act without a record, in monotonic seconds; 0 for never
        warn: str  # a sentence for stderr
        recorder: int  # the process that records, if many taps share it, or did
        failed: str  # why the recorder ends
        decided: (
            str  # a decision; the relay returns it as a record DECISION before the recorder carries it out
        )
        about: Json  # the session and the id of the request that is answered
        say: str
        tell: str
        keep: Json
        token: Json
        allow: Json  # let a repeat through that is equal to the refused one of this id
        end_line: str  # end the line that the server began, of which this much has passed
        # Over HTTP:
        session: int  # whose answers are withheld
        of: list[int]  # exchanges that belong to the session
        named: str  # its Mcp-Session-Id, or its target over HTTP+SSE
        over: bool  # the session has ended
        exchange: int  # the exchange in which to answer, or to close
        last: bool  # the message ends the response
        close: bool  # close the connection to the server
        post: int  # the number of an exchange in which to send ``body`` to the ``target``
        target: str
        headers: list[list[str]]
        body: str


VERSION = 2
"""The version of records, orders, and options. mcp-tui may be updated before a tap starts a new recorder."""

HEAD = Struct("!cdII")
"""The head of a record: its kind, its time, its number, and the number of bytes that follow."""

# -- kinds -----------------------------------------------------------------------------------------------------

BEGIN = b"b"
"""The options of the tap."""
FROM_CLIENT = b"o"
"""Bytes from the client; over HTTP a part of the body of a request."""
FROM_SERVER = b"i"
"""Bytes from the server; over HTTP a part of the body of a response."""
FROM_STDERR = b"e"
"""Bytes of the server's stderr."""
OWN_TO_SERVER = b"O"
"""A message that the tap made and wrote to the server."""
OWN_TO_CLIENT = b"I"
"""A message that the tap made for the client."""
UNWRITTEN = b"u"
"""A message that the tap made and could not write, after the kind of its direction."""
GAP = b"g"
"""The number of dropped bytes: :func:`gap`."""
STREAM_END = b"c"
"""The end of the stream of a kind; its number is 1 if the server did not cause it."""
PAUSED = b"h"
"""The answers are paused; its number says where."""
CLIENT_SIGNAL = b"k"
"""The number of a signal of the client."""
TAP_SIGNAL = b"t"
"""The number of a signal by which the tap ends the server."""
EXIT = b"x"
"""The exit code, empty if it is unknown; its number is the signal that ended the guard before, or 0."""
GUARD = b"G"
"""What the guard decided about a call, as JSON."""
GUARD_ANSWER = b"A"
"""An answer that the guard has given to a client in the server's place."""
DECISION = b"D"
"""A decision of the recorder, before it is carried out."""
CHECKPOINT = b"P"
"""After a replacement: the checkpoint of the last recorder."""
REPLACED = b"R"
"""Why the last recorder ended, after all records that it may have read."""

# Over HTTP the number is that of an exchange.
REQUEST = b"q"
"""The head of a request, with the number of its connection."""
REQUEST_END = b"d"
RESPONSE = b"a"
"""The head of a response."""
EXCHANGE_END = b"n"
"""The end of an exchange, and the error that ended it."""
SENT = b"f"
"""A message that the tap made and sent to the server, with its session, as JSON."""
CLIENT_LEFT = b"l"
"""The client closed the connection of this number."""
SECRETS = b"s"
"""Secrets, as JSON."""

# In a checkpoint.
MEMORY = b"m"
"""The state of the tap, or of a session."""
BEGUN_LINE = b"p"
"""The start of a line that is too large for a checkpoint, after the kind of its direction."""
SMALL_FROM_CLIENT = b"r"
"""The small members of a large message of the client."""
SMALL_FROM_SERVER = b"s"
OPEN_EXCHANGE = b"y"
CANCEL_OUTCOME = b"v"
"""The outcome of the POST of a cancel."""

MESSAGES = (FROM_CLIENT, FROM_SERVER)
"""The kinds with complete messages."""
OF_CLIENT = (FROM_CLIENT, SMALL_FROM_CLIENT)
"""The kinds with messages of the client."""
OF_EITHER = (*MESSAGES, SMALL_FROM_CLIENT, SMALL_FROM_SERVER)
"""The kinds with messages."""
MOVED = (*MESSAGES, FROM_STDERR)
"""The kinds with bytes of the traffic, which may be dropped."""
TRAFFIC = (*MOVED, REQUEST, REQUEST_END, RESPONSE, EXCHANGE_END, SENT, CLIENT_LEFT, GUARD, GUARD_ANSWER)
"""The kinds that the traffic causes. They may reach the recorder a little later."""


def head(kind: bytes, at: float, number: int, size: int) -> bytes:
    """Returns the head of a record."""
    return HEAD.pack(kind, at, number, size)


def packed(records: Iterable[TapRecord]) -> bytes:
    """Returns records as bytes."""
    return b"".join(HEAD.pack(kind, at, number, len(data)) + data for kind, at, number, data in records)


def unpacked(data: bytes | bytearray, start: int = 0) -> tuple[TapRecord, int] | None:
    """Returns the record at ``start``, and where the next one begins; ``None`` if it is not whole."""
    if len(data) - start < HEAD.size:
        return None
    kind, at, number, size = HEAD.unpack_from(data, start)
    end = start + HEAD.size + size
    return None if len(data) < end else ((kind, at, number, bytes(data[end - size : end])), end)


def small(kind: bytes) -> bytes:
    """Returns the kind of a message of which only the small members are kept."""
    return SMALL_FROM_CLIENT if kind == FROM_CLIENT else SMALL_FROM_SERVER


def gap(kind: bytes, size: int) -> bytes:
    """Returns the data of a record about dropped bytes of a kind."""
    return kind + size.to_bytes(8, "big")


def begin(made: Begin) -> bytes:
    """Returns the first record, without JSON: to import that would delay the traffic."""
    return packed([(BEGIN, made["at"], 0, repr({**made, "version": VERSION}).encode())])


def read_begin(data: bytes) -> Begin | None:
    """Returns the options of the first record; ``None`` if they are of another version."""
    # Only a recorder needs it.
    from ast import literal_eval

    begun: Begin = literal_eval(data.decode())
    return begun if begun.get("version") == VERSION else None


def read_gap(data: bytes) -> tuple[bytes, int]:
    """Returns the kind of dropped bytes, and their number."""
    return data[:1], int.from_bytes(data[1:], "big")
