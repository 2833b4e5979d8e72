"""The requests of the server's, folded from events. Their ids never meet ours."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_tui.protocol import events as ev


@dataclass(slots=True)
class ServerRequest:
    """A request of the server's. ``outcome`` is empty while it waits for an answer."""

    request_id: ev.RequestId
    method: str
    at: float
    parent: ev.RequestId | None = None
    seq: int = 0
    ended_at: float | None = None
    outcome: str = ""
    code: int | None = None

    def elapsed(self, now: float) -> float:
        """Seconds from its arrival to its end, or to ``now``."""
        return max(0.0, (now if self.ended_at is None else self.ended_at) - self.at)


class ServerRequests:
    """All requests of the server's in a session, oldest first."""

    def __init__(self) -> None:
        self.server_requests: list[ServerRequest] = []
        self._waiting: dict[tuple[type, ev.RequestId], ServerRequest] = {}

    def fold_server_request(self, event: ev.Event) -> bool:
        """Fold one event; whether it was about a request of the server's."""
        match event:
            case ev.ServerRequestReceived():
                key = (type(event.request_id), event.request_id)
                server_request = ServerRequest(
                    event.request_id, event.method, event.at, event.parent, event.seq
                )
                self.server_requests.append(server_request)
                self._waiting.setdefault(
                    key, server_request
                )  # of two with one id the first is answered, the second refused
            case ev.ServerRequestAnswered():
                how = event.how or ("answered" if event.code is None else f"refused with {event.code}")
                self._request_over(event.request_id, event.at, how, event.code)
            case ev.ServerRequestWithdrawn():
                self._request_over(event.request_id, event.at, f"withdrawn {event.reason}".strip())
            case ev.Disconnected():
                for server_request in tuple(self._waiting.values()):
                    self._request_over(server_request.request_id, event.at, "lost")
            case _:
                return False
        return True

    def _request_over(
        self, request_id: ev.RequestId, at: float, outcome: str, code: int | None = None
    ) -> None:
        key = (type(request_id), request_id)
        server_request = self._waiting.get(key)
        second = self.server_requests[-1] if self.server_requests else None
        refused = (
            second is not None
            and second is not server_request
            and (type(second.request_id), second.request_id) == key
        )
        if refused and second is not None and second.ended_at is None:
            server_request = second
        elif server_request is not None:
            del self._waiting[key]
        if server_request is not None:
            server_request.ended_at, server_request.outcome, server_request.code = at, outcome, code
