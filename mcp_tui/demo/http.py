"""The demo server on streamable HTTP, at ``/mcp`` on 127.0.0.1, for both eras.

What a closed stream means is the difference between them: until 2025-11-25 nothing (transports, "Sending Messages"),
from 2026-07-28 on the cancel (streamable HTTP, "Cancellation").
"""

from __future__ import annotations

import asyncio
import os
from http import HTTPStatus
from typing import Final

from mcp_tui.demo.calls import Call, Channel, DemoBatch, well_formed
from mcp_tui.demo.dispatch import WORKING, Conversation, Setting
from mcp_tui.demo.frames import (
    HANDSHAKE,
    INVALID_REQUEST,
    DemoRefusal,
    Object,
    as_list,
    checked,
    decode,
    encode,
    error_frame,
    is_request,
    is_response,
)
from mcp_tui.demo.headers import accepts, checked_caller, is_local, is_modern, logged
from mcp_tui.demo.http1 import BadRequest, HttpConnection, HttpRequest
from mcp_tui.demo.responses import JSON, SSE, Body, Stream

ADDRESS: Final = "127.0.0.1"
PATH: Final = "/mcp"


class _Session:
    """One session of the handshake era, and the connection that holds its GET stream."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.listener: HttpConnection | None = None

    def close(self) -> None:
        self.conversation.close()
        if self.listener is not None:
            self.listener.end_stream()


class _Answer(Exception):
    """An HTTP request is answered with `status` and, where there is one, the error of `refusal`; else with a text."""

    def __init__(
        self, status: HTTPStatus, text: str, refusal: DemoRefusal | None = None, allow: str = ""
    ) -> None:
        super().__init__(text)
        self.status = status
        self.refusal = refusal
        self.headers = {"Allow": allow} if allow else {}


class HttpServer:
    """All connections. Sessions live until they are deleted."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._sessions: dict[str, _Session] = {}
        self._server: asyncio.Server | None = None

    async def open(self, port: int) -> str:
        """Listen on `port` (0: any that is free) and return the URL. Raises `OSError` where it cannot be had."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: HttpConnection(self._accepted), ADDRESS, port)
        return f"http://{ADDRESS}:{self._server.sockets[0].getsockname()[1]}{PATH}"

    async def close(self) -> None:
        """Listen no more. The connections are closed by whoever serves them."""
        if self._server is not None:
            self._server.close()

    def _accepted(self, connection: HttpConnection) -> None:
        self._setting.spawn(self._serve(connection))

    async def _serve(self, connection: HttpConnection) -> None:
        try:
            while (request := await connection.request()) is not None:
                await self._answer(connection, request)
        except BadRequest as error:
            connection.respond(error.status, f"{error}\n".encode(), "text/plain", {"HttpConnection": "close"})
        finally:
            connection.close()

    async def _answer(self, connection: HttpConnection, request: HttpRequest) -> None:
        try:
            if not is_local(request):
                raise _Answer(HTTPStatus.FORBIDDEN, "this server is for this machine alone")
            if request.path != PATH:
                raise _Answer(HTTPStatus.NOT_FOUND, f"the endpoint is {PATH}")
            match request.method:
                case "POST":
                    await self._post(connection, request)
                case "GET":
                    await self._get(connection, request)
                case "DELETE":
                    self._delete(connection, request)
                case _:
                    raise _Answer(HTTPStatus.METHOD_NOT_ALLOWED, "no such method", allow="POST, GET, DELETE")
        except _Answer as answer:
            body, kind = f"{answer}\n".encode(), "text/plain"
            if answer.refusal is not None:
                body, kind = encode(error_frame(None, answer.refusal)), JSON
            connection.respond(answer.status, body, kind, answer.headers)

    # -- POST --------------------------------------------------------------------------------------------------

    async def _post(self, connection: HttpConnection, request: HttpRequest) -> None:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise _Answer(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a body of {JSON} is needed")
        if not (accepts(request, JSON) or accepts(request, SSE)):
            raise _Answer(HTTPStatus.NOT_ACCEPTABLE, f"the client must accept {JSON} and {SSE}")
        try:
            message = decode(request.body)
            batch = as_list(message)
            frames = [checked(message)] if batch is None else well_formed(batch, self._setting.log)
            if not frames:
                raise DemoRefusal(INVALID_REQUEST, "Invalid request: nothing in this batch is a message")
        except DemoRefusal as refusal:
            self._setting.log.event("malformed", detail=refusal.message)
            raise _bad(refusal) from refusal
        for frame in frames:
            self._setting.log.received(frame, **logged(request))
        if batch is None and is_modern(request, frames[0]):
            await self._modern(connection, request, frames[0])
        else:
            await self._handshake(connection, request, frames, batch=batch is not None)

    async def _modern(self, connection: HttpConnection, request: HttpRequest, frame: Object) -> None:
        """An exchange that describes itself (2026-07-28). Its end by the client is the cancel."""
        if is_response(frame):
            raise _bad(DemoRefusal(INVALID_REQUEST, "Invalid request: no response is expected here"))
        if not is_request(frame):  # also notifications/cancelled, which says nothing over this transport
            connection.respond(HTTPStatus.ACCEPTED)
            return
        try:
            caller = checked_caller(request, frame)
        except DemoRefusal as refusal:
            self._setting.log.event("sent", id=frame["id"], kind="error", code=refusal.code)
            connection.respond(HTTPStatus.BAD_REQUEST, encode(error_frame(frame["id"], refusal)), JSON)
            return
        streams = frame["method"] in WORKING and accepts(request, SSE)
        channel = Stream(connection, deferred=True) if streams else Body(connection, caller)
        call = Conversation(self._setting).receive(frame, caller, channel)
        if call is not None:
            await connection.attend(lambda: call.closed or call.cancel("stream_closed"))

    async def _handshake(
        self, connection: HttpConnection, request: HttpRequest, frames: list[Object], *, batch: bool
    ) -> None:
        """A message of a session (2025-03-26 to 2025-11-25). A stream that the client closes ends nothing."""
        opens = not batch and frames[0].get("method") == "initialize" and is_request(frames[0])
        if opens and "mcp-session-id" not in request.headers:
            self._initialize(connection, frames[0])
            return
        conversation = self._session(request).conversation
        if batch and conversation.revision != "2025-03-26":
            raise _bad(DemoRefusal(INVALID_REQUEST, "Invalid request: no batch is expected here"))
        caller = conversation.handshake_caller()
        requests = sum(map(is_request, frames))
        streams = batch or any(frame.get("method") in WORKING for frame in frames if is_request(frame))
        channel: Channel
        if requests and streams and accepts(request, SSE):
            channel = Stream(connection, deferred=False)
        else:
            channel = Body(connection, caller)
        if batch:
            channel = DemoBatch(channel, requests)
        calls = [
            call for frame in frames if (call := conversation.receive(frame, caller, channel)) is not None
        ]
        if not requests:
            connection.respond(HTTPStatus.ACCEPTED)
        if calls:
            await connection.attend(lambda: _note_disconnect(calls))

    def _initialize(self, connection: HttpConnection, frame: Object) -> None:
        conversation = Conversation(self._setting)
        identity = os.urandom(16).hex()
        caller = conversation.handshake_caller()
        conversation.receive(frame, caller, Body(connection, caller, {"Mcp-Session-Id": identity}))
        if conversation.revision is not None:
            self._sessions[identity] = _Session(conversation)

    # -- GET and DELETE ----------------------------------------------------------------------------------------

    async def _get(self, connection: HttpConnection, request: HttpRequest) -> None:
        """The stream of a session for what belongs to no request. This server has nothing of the kind to say."""
        self._setting.log.event("received", **logged(request))
        session = self._session(request)
        if not accepts(request, SSE):
            raise _Answer(HTTPStatus.NOT_ACCEPTABLE, f"the client must accept {SSE}")
        if session.listener is not None:
            raise _Answer(HTTPStatus.CONFLICT, "this session has its stream already")
        session.listener = connection
        connection.start_stream(SSE)
        await connection.settled.wait()
        session.listener = None

    def _delete(self, connection: HttpConnection, request: HttpRequest) -> None:
        self._setting.log.event("received", **logged(request))
        self._session(request).close()
        del self._sessions[request.headers["mcp-session-id"]]
        connection.respond(HTTPStatus.NO_CONTENT)

    def _session(self, request: HttpRequest) -> _Session:
        """The session that a request names. Raises `_Answer` where it names none that there is."""
        version = request.headers.get("mcp-protocol-version")
        if request.method != "POST" and version is not None and version not in HANDSHAKE:
            raise _Answer(HTTPStatus.METHOD_NOT_ALLOWED, f"{version} knows POST alone", allow="POST")
        identity = request.headers.get("mcp-session-id")
        if identity is None:
            raise _bad(DemoRefusal(INVALID_REQUEST, "Invalid request: Mcp-Session-Id is missing"))
        session = self._sessions.get(identity)
        if session is None:
            refusal = DemoRefusal(INVALID_REQUEST, "Invalid request: there is no such session")
            raise _Answer(HTTPStatus.NOT_FOUND, refusal.message, refusal)
        revision = session.conversation.revision
        if version is not None and version != revision:
            raise _bad(DemoRefusal(INVALID_REQUEST, f"Invalid request: this session speaks {revision}"))
        return session


def _note_disconnect(calls: list[Call]) -> None:
    for call in calls:
        if not call.closed:
            call.disconnect()


def _bad(refusal: DemoRefusal) -> _Answer:
    return _Answer(HTTPStatus.BAD_REQUEST, refusal.message, refusal)
