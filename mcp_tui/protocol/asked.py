"""The requests of the server's, folded from events. Their ids never meet ours."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_tui.protocol import events as ev


@dataclass(slots=True)
class Asking:
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


class Askings:
    """All requests of the server's in a session, oldest first."""

    def __init__(self) -> None:
        self.asked: list[Asking] = []
        self._asking: dict[tuple[type, ev.RequestId], Asking] = {}

    def ask(self, event: ev.Event) -> bool:
        """Fold one event; whether it was about a request of the server's."""
        match event:
            case ev.Asked():
                key = (type(event.request_id), event.request_id)
                asking = Asking(event.request_id, event.method, event.at, event.parent, event.seq)
                self.asked.append(asking)
                self._asking.setdefault(
                    key, asking
                )  # of two with one id the first is answered, the second refused
            case ev.Answered():
                how = event.how or ("answered" if event.code is None else f"refused with {event.code}")
                self._asked_over(event.request_id, event.at, how, event.code)
            case ev.Withdrawn():
                self._asked_over(event.request_id, event.at, f"withdrawn {event.reason}".strip())
            case ev.Disconnected():
                for asking in tuple(self._asking.values()):
                    self._asked_over(asking.request_id, event.at, "lost")
            case _:
                return False
        return True

    def _asked_over(self, request_id: ev.RequestId, at: float, outcome: str, code: int | None = None) -> None:
        key = (type(request_id), request_id)
        asking = self._asking.get(key)
        second = self.asked[-1] if self.asked else None
        refused = (
            second is not None
            and second is not asking
            and (type(second.request_id), second.request_id) == key
        )
        if refused and second is not None and second.ended_at is None:
            asking = second
        elif asking is not None:
            del self._asking[key]
        if asking is not None:
            asking.ended_at, asking.outcome, asking.code = at, outcome, code
