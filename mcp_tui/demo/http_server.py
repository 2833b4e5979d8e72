"""The demo server on streamable HTTP, at ``/mcp`` on 127.0.0.1, for both eras.

The eras differ in the meaning of a closed stream: until 2025-11-25 it has none (transports, "Sending Messages"),
from 2026-07-28 on the cancel (streamable HTTP, "Cancellation").
"""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import struct
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final, cast

import h11

from mcp_tui.demo import frames
from mcp_tui.demo.calls import Channel, well_formed
from mcp_tui.demo.dispatch import Conversation, Setting
from mcp_tui.demo.frames import DemoCaller, DemoRefusal, Object
from mcp_tui.protocol import error_codes
from mcp_tui.protocol.http_access import OWN_ACCESS, HttpAccess, asks_for_events, joined_headers
from mcp_tui.protocol.json_values import as_object, list_or_none
from mcp_tui.protocol.revisions import NAMING_PARAMETERS
from mcp_tui.protocol.states import RequestId
from mcp_tui.protocol.values import frozen

_LOGGED_HEADERS: Final = (
    "accept",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "origin",
)
"""Headers that the server's log keeps."""


def logged(request: HttpRequest) -> Object:
    """Returns the fields of an HTTP request for the log."""
    headers = {name: request.headers[name] for name in _LOGGED_HEADERS if name in request.headers}
    return {"http_method": request.method, "headers": headers}


def is_modern(request: HttpRequest, frame: Object) -> bool:
    """Whether a message is of the 2026-07-28 era, by its ``_meta`` or its version header."""
    meta = as_object(as_object(frame.get("params")).get("_meta"))
    header = request.headers.get("mcp-protocol-version")
    return frames.VERSION_KEY in meta or (header is not None and header not in frames.HANDSHAKE)


def checked_caller(request: HttpRequest, frame: Object) -> DemoCaller:
    """Returns the sender of a 2026-07-28 request. Raises `DemoRefusal` if ``_meta`` is incomplete or a header does not match
    the body (streamable HTTP, "Server Validation").
    """
    params = frames.params_of(frame)
    version = as_object(params.get("_meta")).get(frames.VERSION_KEY)
    header = request.headers.get("mcp-protocol-version")
    if version is not None:
        _check_mirror(request, "MCP-Protocol-Version", version)
    elif header is not None and header not in frames.SUPPORTED:
        raise frames.unsupported(header)
    caller = frames.modern_caller(frame)
    _check_mirror(request, "Mcp-Method", frame["method"])
    if (name := NAMING_PARAMETERS.get(frame["method"])) is not None:
        _check_mirror(request, "Mcp-Name", params.get(name))
    return caller


def _check_mirror(request: HttpRequest, name: str, body: object) -> None:
    header = request.headers.get(name.lower())
    if header is None or _decoded(header) != body:
        found = "is missing" if header is None else f"value {header!r} does not match body value {body!r}"
        raise DemoRefusal(error_codes.HEADER_MISMATCH, f"Header mismatch: {name} header {found}")


def _decoded(value: str) -> str | None:
    """Decodes a header value (streamable HTTP, 2026-07-28, "Value Encoding"); ``None`` if malformed."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except ValueError:  # also of characters that are not ASCII
        return None


JSON_MEDIA_TYPE: Final = "application/json"
SSE: Final = "text/event-stream"


_HTTP_STATUS: Final = {
    error_codes.METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND,
    error_codes.MISSING_CAPABILITY: HTTPStatus.BAD_REQUEST,
}
"""The errors that have a status of their own in 2026-07-28."""


class HttpResponse(Channel):
    """The response to one HTTP request: with `streams` server-sent events, else one JSON body (streamable HTTP).

    A body holds only a response, and only the first. A `modern` stream begins with its first frame, so that an error
    can still have its own status; one for a batch ends with the last of its `requests`. A body can open a `session`.
    """

    def __init__(
        self,
        connection: HttpConnection,
        *,
        streams: bool,
        modern: bool = False,
        requests: int = 1,
        session: str = "",
    ) -> None:
        super().__init__()
        self.disconnected = connection.disconnected
        self.drain = connection.drain
        self._connection = connection
        self._modern = modern
        self._streams = streams
        self._left = requests
        self.session = session
        self._headers = {"Mcp-Session-Id": session} if session else {}
        self._ended = False
        if streams and not modern:
            connection.start_stream()

    def send(self, frame: Object) -> bool:
        if self.disconnected.is_set() or self._ended:
            return False
        status = HTTPStatus.OK
        if self._modern and not self._connection.is_streaming:
            status = _HTTP_STATUS.get(frame.get("error", {}).get("code"), HTTPStatus.OK)
        if self._streams and status == HTTPStatus.OK:
            if not self._connection.is_streaming:
                self._connection.start_stream()
            self._connection.chunk(b"event: message\ndata: %b\n\n" % frames.encode(frame))
            return True
        if "method" in frame:
            return False
        self._ended = True
        self._connection.respond(status, frames.encode(frame), JSON_MEDIA_TYPE, self._headers)
        return True

    def begin(self) -> None:
        """Begins the stream, if no frame has begun it."""
        if self._streams and not (self._ended or self.disconnected.is_set() or self._connection.is_streaming):
            self._connection.start_stream()

    def lose(self, status: int = 0) -> None:
        """Loses the response: that of a gateway comes in its place, or with 0 the connection is reset."""
        self._ended = True
        if status:
            self._connection.respond(HTTPStatus(status), b"the server did not answer\n", "text/plain")
        else:
            self._connection.reset()

    def end(self) -> None:
        self._left -= 1
        if self._left > 0 or self._ended or self.disconnected.is_set():
            return
        self._ended = True
        if self._connection.is_streaming:
            self._connection.end_stream()
        else:
            self._connection.close()


HEAD_BYTES: Final = 64 * 1024
"""Bytes that the request line and all headers may have together."""

BODY_BYTES: Final = 64 * 1024 * 1024
"""Bytes that a request's body may have."""


@frozen
class HttpRequest:
    """One request. Header names are lower case; a header that came several times has its values joined by commas."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytearray


class HttpRefusal(Exception):
    """An HTTP request is answered with `status`, a text that says why, and `headers`."""

    def __init__(self, status: int, why: str, **headers: str) -> None:
        super().__init__(why)
        self.status = HTTPStatus(status)
        self.headers = headers


class HttpConnection(asyncio.Protocol):
    """One connection from a client, whose requests are passed to `answer` one by one, each after the last response.

    ``gone`` is set when the client has closed it, and then ``left`` is called.
    """

    def __init__(self, answer: Callable[[HttpConnection, HttpRequest], None]) -> None:
        self.disconnected = asyncio.Event()
        self.left: Callable[[], object] = lambda: None
        self._answer = answer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        self._coming = HttpRequest("", "", {}, bytearray())
        self._early = 0
        """Bytes that came while a response was pending."""
        self._writable = asyncio.Event()
        self._writable.set()

    # -- what asyncio reports ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._early = self._early + len(data) if self._http.their_state is h11.DONE else 0
        if self._early > HEAD_BYTES + BODY_BYTES:
            self._transport.abort()
            return
        self._http.receive_data(data)
        self._proceed()

    def eof_received(self) -> None:
        self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._writable.set()
        if not self.disconnected.is_set():
            self.disconnected.set()
            self.left()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # -- the request -------------------------------------------------------------------------------------------

    def _proceed(self) -> None:
        """Answers the next request, if it is complete and the last one is answered."""
        try:
            if (request := self._request()) is not None:
                self._answer(self, request)
        except HttpRefusal as refusal:
            self.respond(refusal.status, f"{refusal}\n".encode(), "text/plain", refusal.headers)
        except DemoRefusal as refusal:
            self.error(refusal)

    def _request(self) -> HttpRequest | None:
        """Returns the next complete request, or ``None``. Raises `HttpRefusal`, after which the connection ends."""
        try:
            while isinstance(event := self._http.next_event(), h11.Event):
                if isinstance(event, h11.Request):
                    self._coming = _begun(event)
                elif isinstance(event, h11.Data):
                    self._coming.body.extend(event.data)
                else:
                    return self._coming
                size = max(int(self._coming.headers.get("content-length", "0")), len(self._coming.body))
                if size > BODY_BYTES:
                    why = f"the body is larger than {BODY_BYTES} bytes"
                    raise HttpRefusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, why, Connection="close")
        except h11.RemoteProtocolError as error:
            raise HttpRefusal(error.error_status_hint, str(error), Connection="close") from error
        return None

    # -- the response ------------------------------------------------------------------------------------------

    @property
    def is_streaming(self) -> bool:
        """Whether a response has begun and not ended."""
        return self._http.our_state is h11.SEND_BODY

    def respond(
        self,
        status: HTTPStatus,
        body: bytes = b"",
        content_type: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Sends a whole response."""
        kind = {"Content-Type": content_type} if content_type else {}
        length = {} if status == HTTPStatus.NO_CONTENT else {"Content-Length": str(len(body))}
        self._head(status, {**kind, **length, **(headers or {})})
        self.chunk(b"" if self._coming.method == "HEAD" else body)
        self.end_stream()

    def error(self, refusal: DemoRefusal, id: RequestId | None = None) -> None:
        """Sends a JSON-RPC error as a whole response."""
        self.respond(HTTPStatus.BAD_REQUEST, frames.encode(frames.error_frame(id, refusal)), JSON_MEDIA_TYPE)

    def start_stream(self) -> None:
        """Begins a response of server-sent events."""
        headers = {"Content-Type": SSE, "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        self._head(HTTPStatus.OK, headers)

    def chunk(self, data: bytes) -> None:
        """Sends a part of the body."""
        self._send(h11.Data(data=data))

    def end_stream(self) -> None:
        """Ends the body; the next request may have come already."""
        self._send(h11.EndOfMessage())
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
            # In the next turn: a refusal comes from within _proceed, which must not run inside itself.
            asyncio.get_running_loop().call_soon(self._proceed)
        else:
            self.close()

    def close(self) -> None:
        """Closes the connection after the written bytes have left."""
        self._transport.close()
        self.disconnected.set()

    def reset(self) -> None:
        """Resets the connection, which is not the client's doing."""
        self.disconnected.set()
        linger = struct.pack("ii", 1, 0)
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._transport.abort()

    async def drain(self) -> None:
        """Waits until the client has read enough."""
        await self._writable.wait()
        await asyncio.sleep(0)

    def _head(self, status: HTTPStatus, headers: Mapping[str, str]) -> None:
        fields = list(headers.items())
        self._send(h11.Response(status_code=status, headers=fields, reason=status.phrase))

    def _send(self, event: h11.Event) -> None:
        parts = self._http.send_with_data_passthrough(event)
        if parts and not self._transport.is_closing():
            self._transport.writelines(parts)


def _begun(head: h11.Request) -> HttpRequest:
    """Returns a request whose body is still to come."""
    path = head.target.decode().partition("?")[0]
    return HttpRequest(head.method.decode(), path, joined_headers(head.headers), bytearray())


LISTENING_ADDRESS: Final = "127.0.0.1"
PATH: Final = "/mcp"


class HttpServer:
    """All connections. Sessions live until they are deleted."""

    def __init__(self, setting: Setting, access: HttpAccess = OWN_ACCESS) -> None:
        self._setting = setting
        self._access = access
        self._sessions: dict[str, Conversation] = {}
        self._listeners: dict[Conversation, HttpConnection] = {}
        """The connections that hold the GET streams of sessions."""
        self._server: asyncio.Server | None = None

    async def open(self, port: int) -> str:
        """Listens on `port` (0: any free port) and returns the URL. Raises `OSError` if the port is not available."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: HttpConnection(self._answer), LISTENING_ADDRESS, port)
        self._server = server
        return f"http://{LISTENING_ADDRESS}:{server.sockets[0].getsockname()[1]}{PATH}"

    def close(self) -> None:
        """Listens no more, and ends the calls of all sessions."""
        if self._server is not None:
            self._server.close()
        for session in self._sessions.values():
            session.close()

    def _answer(self, connection: HttpConnection, request: HttpRequest) -> None:
        """Answers a request, or begins to. Raises `HttpRefusal` and `DemoRefusal`."""
        if why := self._access.refusal(request.headers):
            raise HttpRefusal(HTTPStatus.FORBIDDEN, why)
        if request.path != PATH:
            raise HttpRefusal(HTTPStatus.NOT_FOUND, f"the endpoint is {PATH}")
        match request.method:
            case "POST":
                self._post(connection, request)
            case "GET" | "DELETE":
                self._setting.log.event("received", **logged(request))
                session = self._session(request)
                if request.method == "GET":
                    if not asks_for_events(request.headers):
                        raise HttpRefusal(HTTPStatus.NOT_ACCEPTABLE, f"Accept must name {SSE}")
                    self._get(connection, session)
                else:
                    self._delete(connection, request, session)
            case _:
                allowed = "POST, GET, DELETE"
                raise HttpRefusal(HTTPStatus.METHOD_NOT_ALLOWED, "method not allowed", Allow=allowed)

    # -- POST --------------------------------------------------------------------------------------------------

    def _post(self, connection: HttpConnection, request: HttpRequest) -> None:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON_MEDIA_TYPE:
            raise HttpRefusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type must be {JSON_MEDIA_TYPE}")
        try:
            message = frames.decode(request.body)
            batch = list_or_none(message)
            taken = [frames.checked(message)] if batch is None else well_formed(batch, self._setting.log)
            if not taken:
                raise frames.bad_request("no message in this batch")
        except DemoRefusal as refusal:
            self._setting.log.event("malformed", detail=refusal.message)
            raise
        for frame in taken:
            self._setting.log.received(frame, **logged(request))
        if batch is None and is_modern(request, taken[0]):
            self._modern(connection, request, taken[0])
        else:
            self._handshake(connection, request, taken, batch=batch is not None)

    def _modern(self, connection: HttpConnection, request: HttpRequest, frame: Object) -> None:
        """Handles a 2026-07-28 request. If the client ends the exchange, that is the cancel."""
        if "method" not in frame:
            raise frames.bad_request("unexpected response")
        if not frames.is_request(frame):  # notifications/cancelled too: it says nothing over this transport
            connection.respond(HTTPStatus.ACCEPTED)
            return
        try:
            caller = checked_caller(request, frame)
        except DemoRefusal as refusal:
            self._setting.log.event("sent", id=frame["id"], kind="error", code=refusal.code)
            connection.error(refusal, frame["id"])
            return
        channel = HttpResponse(connection, modern=True, streams=self._setting.streams(frame))
        call = self._setting.converse(self._setting).receive(frame, lambda _: caller, channel)
        if call is not None:
            connection.left = lambda: call.closed or call.cancel("stream_closed")

    def _handshake(
        self, connection: HttpConnection, request: HttpRequest, taken: list[Object], *, batch: bool
    ) -> None:
        """Handles messages of a session (2025-03-26 to 2025-11-25). Closing a stream ends nothing."""
        opens = not batch and taken[0].get("method") == "initialize" and frames.is_request(taken[0])
        identity = ""
        if opens and "mcp-session-id" not in request.headers:
            identity = os.urandom(16).hex()
            conversation = self._setting.converse(self._setting)
        else:
            conversation = self._session(request)
        if batch and conversation.revision != "2025-03-26":
            raise frames.bad_request("batches are not supported")
        caller = conversation.client
        requests = sum(map(frames.is_request, taken))
        works = batch or any(self._setting.streams(frame) for frame in taken if frames.is_request(frame))
        streams = requests > 0 and works
        channel = HttpResponse(connection, streams=streams, requests=requests, session=identity)
        begun = [conversation.receive(frame, lambda _: caller, channel) for frame in taken]
        calls = [call for call in begun if call is not None]
        if identity and conversation.revision is not None:
            self._sessions[identity] = conversation
        if not requests:
            connection.respond(HTTPStatus.ACCEPTED)
        connection.left = lambda: [call.disconnect() for call in calls if not call.closed]

    # -- GET and DELETE ----------------------------------------------------------------------------------------

    def _get(self, connection: HttpConnection, session: Conversation) -> None:
        """Opens the GET stream of a session, on which the demo server sends nothing."""
        if session in self._listeners:
            raise HttpRefusal(HTTPStatus.CONFLICT, "this session already has a stream")
        self._listeners[session] = connection
        session.aside = HttpResponse(connection, streams=True)
        connection.left = lambda: self._listeners.pop(session, None)

    def _delete(self, connection: HttpConnection, request: HttpRequest, session: Conversation) -> None:
        session.close()
        if (listener := self._listeners.pop(session, None)) is not None:
            listener.end_stream()
        del self._sessions[request.headers["mcp-session-id"]]
        connection.respond(HTTPStatus.NO_CONTENT)

    def _session(self, request: HttpRequest) -> Conversation:
        """Returns the session that a request names. Raises `HttpRefusal` if there is none."""
        version = request.headers.get("mcp-protocol-version")
        if request.method != "POST" and version is not None and version not in frames.HANDSHAKE:
            raise HttpRefusal(HTTPStatus.METHOD_NOT_ALLOWED, f"{version} supports only POST", Allow="POST")
        identity = request.headers.get("mcp-session-id")
        if identity is None:
            raise frames.bad_request("Mcp-Session-Id is missing")
        session = self._sessions.get(identity)
        if session is None:
            raise HttpRefusal(HTTPStatus.NOT_FOUND, "unknown session")
        if version is not None and version != session.revision:
            raise frames.bad_request(f"this session uses {session.revision}")
        return session
