"""A session with a server for tests that are no coroutines: the client runs in a thread of its own."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, Self, TypeVar

from mcp_tui.client import Client, ClientSettings, HttpTarget, StdioTarget, Target
from mcp_tui.protocol.errors import McpError
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.states import Limits, RequestId
from mcp_tui.testing import FIRST_ENVIRONMENT
from mcp_tui.transport.unreachable import exit_text

Value = TypeVar("Value")

Server = Target | str | Sequence[str]
"""A target, a URL, or a command and its arguments."""


def target_of(server: Server) -> Target:
    """Returns the target of a server, with the variables that were set since the tests began."""
    if isinstance(server, str):
        return HttpTarget(url=server)
    if isinstance(server, HttpTarget):
        return server
    target = server if isinstance(server, StdioTarget) else StdioTarget(command=tuple(server))
    later = {name: value for name, value in os.environ.items() if FIRST_ENVIRONMENT.get(name) != value}
    return replace(target, env=later | target.env)


_MOCK_FAILED: Final = exit_text(9)
"""The last words about a strict mock that was not asked for what is recorded, and for nothing else."""


_PARAMETERS: Final = {
    "--connect-timeout": "connect_timeout of ClientSettings",
    "--protocol auto": "protocol='auto' of ClientSettings",
    "--protocol VERSION": "protocol=VERSION of ClientSettings",
    "--max-message": "max_message of ClientSettings",
    "--transport sse": "transport='sse' of HttpTarget",
    "--insecure skips": "insecure=True of HttpTarget skips",
    "--client-cert FILE --client-key FILE": "client_cert and client_key of HttpTarget",
    "-H 'Authorization: Bearer TOKEN'": "headers={'Authorization': 'Bearer TOKEN'} of HttpTarget",
    "-e NAME=VALUE": "env={NAME: VALUE} of StdioTarget",
}
"""Options that errors advise, as parameters of a test."""


def with_parameters(sentence: str, more: Mapping[str, str] = MappingProxyType({})) -> str:
    """Returns a sentence with parameters in the place of options; ``more`` words are replaced first."""
    for said, here in (*more.items(), *_PARAMETERS.items()):
        sentence = sentence.replace(said, here)
    return sentence


class LoopThread:
    """An event loop that runs in a thread of its own."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Runs a coroutine there, and returns its result. An exception meanwhile, as that of ctrl+c, cancels it.

        A traceback shows the test, and nothing of ours unless it is a defect.

        Raises:
            RuntimeError: the loop was closed.
        """
        __tracebackhide__ = True
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("The session is closed.")
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result()
        except McpError as error:
            if error.args and isinstance(error.args[0], str):
                error.args = (with_parameters(error.args[0]), *error.args[1:])
            raise error.with_traceback(None) from None
        except BaseException:
            running.cancel()
            raise

    def close(self) -> None:
        """Cancels what still runs there, waits for its end, and ends the thread; a second time does nothing."""
        if self._loop.is_closed():
            return
        self.run(self._finish())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _finish(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()


async def _done(work: Callable[[], Value]) -> Value:
    return work()


class McpCall:
    """A request of a session that is under way."""

    def __init__(self, session: McpSession, id: RequestId) -> None:
        self.id = id
        self._session = session

    @property
    def row(self) -> Request:
        """Everything that is known of it: state, progress, cause, signal, and ``late``, what came after its cancel."""
        row = self._session.client.requests.get(self.id)
        assert row is not None  # it was called
        return row

    def cancel(self, reason: str = "") -> None:
        """Cancels it; returns when the signal is on its way."""
        client = self._session.client
        self._session.run(_done(lambda: client.cancel(self.id, reason=reason)))

    def result(self) -> dict[str, Json]:
        """Waits for its result.

        Raises:
            CallFailed, CallLost, CallTimedOut, CallCancelled: there is none.
        """
        __tracebackhide__ = True
        return self._session.run(self._session.client.result(self.id))


class McpSession:
    """A connection to a server, for the length of a ``with``, or from its first use until it is closed.

    Raises:
        TransportError: no session came about.
    """

    def __init__(self, server: Server, settings: ClientSettings | None = None) -> None:
        self._server = server
        self._settings = settings
        self._thread = LoopThread("mcp session")
        self._closed = False
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """The client, connected. It belongs to another thread."""
        __tracebackhide__ = True
        if self._client is None:
            self._client = self._thread.run(self._connected())
        return self._client

    async def _connected(self) -> Client:
        client = Client(target_of(self._server), self._settings)
        try:
            await client.connect()
        except BaseException:
            await client.close()
            raise
        return client

    def run(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Runs a coroutine beside the client, and returns what it does: ``session.run(session.client.every("tools"))``."""
        __tracebackhide__ = True
        return self._thread.run(work)

    def __enter__(self) -> Self:
        __tracebackhide__ = True
        try:
            _ = self.client
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        __tracebackhide__ = True
        wrong = self._end()
        if wrong and kind is None:
            raise AssertionError(wrong)

    def close(self) -> None:
        """Cancels what is in flight and ends the connection; a second time does nothing.

        Raises:
            AssertionError: the server was a strict mock, and refused something or was not asked for all that is recorded.
        """
        __tracebackhide__ = True
        if wrong := self._end():
            raise AssertionError(wrong)

    def _end(self) -> str:
        """Ends the connection; returns what a strict mock says of it."""
        closed, self._closed = self._closed, True
        if closed:
            return ""
        try:
            if self._client is not None:
                self.run(self._client.close())
        finally:
            self._thread.close()
        if self._client is None or self._client.last_words != _MOCK_FAILED:
            return ""
        return "\n".join(line for line in self._client.stderr if line.startswith("mcp-tui mock: "))

    def start(
        self, tool: str, arguments: dict[str, Json] | None = None, *, limits: Limits | None = None
    ) -> McpCall:
        """Calls a tool, and does not wait."""
        __tracebackhide__ = True
        client = self.client
        return McpCall(self, self.run(_done(lambda: client.call_tool(tool, arguments or {}, limits=limits))))

    def call(
        self, tool: str, arguments: dict[str, Json] | None = None, *, limits: Limits | None = None
    ) -> dict[str, Json]:
        """Calls a tool; returns its result.

        Raises:
            CallFailed, CallLost, CallTimedOut, CallCancelled: there is none.
        """
        __tracebackhide__ = True
        return self.start(tool, arguments, limits=limits).result()

    def tools(self) -> list[dict[str, Json]]:
        """Returns all tools, every page.

        Raises:
            ListFailed: a page failed.
        """
        __tracebackhide__ = True
        return self.run(self.client.every("tools"))
