"""What the terminal is told of calls while a person looks elsewhere."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mcp_tui.protocol import events as ev
from mcp_tui.tui.attention import Attention, kind
from tests.tui.making import cancelled, completed, requests, started


class Desk:
    """A session whose requests grow, and a terminal that keeps what it is told."""

    def __init__(
        self, *, seen: bool = False, title: bool = True, ascii_only: bool = False, notify: Any = "bell"
    ):
        self.events: list[ev.Event] = []
        self.told: list[str] = []
        self.titles: list[str] = []
        self.moment = 0.0
        session: Any = SimpleNamespace(now=lambda: self.moment, calls=[], client=SimpleNamespace())
        self.session = session
        self.attention = Attention(
            lambda: [session], lambda _session, _row: seen, notify=notify, title=title, ascii_only=ascii_only
        )
        self.write, self.retitle = self.told.append, self.titles.append

    def at(self, moment: float, *events: ev.Event) -> None:
        self.moment = moment
        self.events += events
        known = requests(*self.events)
        self.session.client.requests = known
        self.session.calls = [row for row in known.order if row.open]
        self.attention.look(self)


def test_the_title_counts_and_then_says_how_it_ended():
    desk = Desk()
    desk.at(0.0, *started(name="wait"))
    desk.at(12.4)
    desk.at(12.6)
    desk.at(13.0, completed(at=13.0))
    assert desk.titles == ["▸ wait 0 s", "▸ wait 12 s", "✓ wait"]
    assert desk.told == ["\x07"]


def test_a_name_of_a_server_reaches_the_terminal_as_text_alone():
    desk = Desk(notify="osc777", ascii_only=True)
    desk.at(0.0, *started(name="a;\x1b]0;owned\x07\x9c"))
    desk.at(70.0, completed(at=70.0, is_error=True))
    assert desk.titles[-1] == "x a;?]0;owned?‹009C>".replace("‹", "<")
    assert desk.told == ["\x1b]777;notify;mcp-tui;x a,?]0,owned?<009C> tool error after 1:10\x07"]


@pytest.mark.parametrize(
    ("given", "events"),
    [
        ({"seen": True}, [completed(at=9.0)]),
        ({"notify": "off"}, [completed(at=9.0)]),
        ({}, [completed(at=4.0)]),
        ({}, cancelled(at=9.0)),
    ],
    ids=["looked at", "off", "short", "cancelled by the person"],
)
def test_nobody_is_called_for(given: dict[str, Any], events: list[ev.Event]):
    desk = Desk(title=False, **given)
    desk.at(0.0, *started())
    desk.at(9.0, *events)
    assert "".join(desk.told) == ""
    assert desk.titles == []


@pytest.mark.parametrize(
    ("env", "chosen"),
    [
        ({"TERM_PROGRAM": "iTerm.app"}, "osc9"),
        ({"TERM": "xterm-kitty"}, "osc9"),
        ({"TERM": "foot-extra"}, "osc777"),
        ({"TERM": "xterm-256color"}, "bell"),
        ({"TERM_PROGRAM": "WezTerm", "TMUX": "/tmp/tmux"}, "bell"),
    ],
)
def test_auto_notifies_where_the_terminal_is_known_to(env: dict[str, str], chosen: str):
    assert kind("auto", env) == chosen
    assert kind("off", env) == "off"
