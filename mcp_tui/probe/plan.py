"""The plan of a run: the experiments, in their order, and when each applies. Which rules they judge is in `rules.py`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass
from typing import Final

from mcp_tui.probe import improper_cancels, left_behind, proper_cancels, special_cancels
from mcp_tui.probe.connection import ProbeConnection
from mcp_tui.probe.report import Finding
from mcp_tui.probe.rules import RULES
from mcp_tui.probe.setup import Setup

Run = Callable[[ProbeConnection, Setup], Awaitable[list[Finding]]]


def _anywhere(_: Setup) -> str:
    return ""


def _by_notification(setup: Setup) -> str:
    return "over HTTP in 2026-07-28 a cancel is not a notification" if setup.modern_http else ""


def _handshake(setup: Setup) -> str:
    return "2026-07-28 has no initialize" if setup.revision.modern else ""


def _over_old_http(setup: Setup) -> str:
    if setup.transport != "http":
        return "only over streamable HTTP does a request have a stream of its own"
    return "from 2026-07-28 on a disconnect is the cancel" if setup.revision.modern else ""


def over_new_http(setup: Setup) -> str:
    """Why a rule of streamable HTTP in 2026-07-28 does not apply, or nothing."""
    return "" if setup.modern_http else "only over HTTP in 2026-07-28"


def _over_stdio(setup: Setup) -> str:
    return "" if setup.transport == "stdio" else "only over stdio"


def _with_session(setup: Setup) -> str:
    return _over_old_http(setup) or ("" if setup.session else "the server opens no session")


def _posted(setup: Setup) -> str:
    return _by_notification(setup) or ("over stdio nothing is POSTed" if setup.transport == "stdio" else "")


UNLESS: Final[dict[str, Callable[[Setup], str]]] = {
    "P-18": over_new_http,
    "P-24": _over_old_http,
    "P-25": _posted,
}
"""Rules that apply where their experiment does not always."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment; its :attr:`rules` name it. ``unless`` says why it does not apply, or nothing.

    ``alone``: beside no other; ``last``: after all others. ``opened``: on a connection that shook hands; ``fresh``: on one
    on which no id was used yet; ``own``: it starts its servers itself. ``tool``: it needs the slow tool. ``spares``: it lets
    a call go on uncancelled, so it needs a tool that does not end the connection by itself.
    """

    name: str
    run: Run
    unless: Callable[[Setup], str] = _anywhere
    _: KW_ONLY
    tool: bool = True
    alone: bool = False
    last: bool = False
    opened: bool = True
    fresh: bool = False
    own: bool = False
    spares: bool = False

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules that it judges."""
        return tuple(rule.id for rule in RULES.values() if rule.experiment == self.name)


EXPERIMENTS: Final = (
    Experiment(
        "cancelled mid-work",
        proper_cancels.mid_work,
        alone=True,
    ),
    Experiment("disconnected", proper_cancels.disconnected, _over_old_http, alone=True),
    Experiment("cancelled at once", proper_cancels.at_once),
    Experiment("two in flight, one cancelled", proper_cancels.two_in_flight, spares=True),
    Experiment("an unknown id cancelled", improper_cancels.unknown, tool=False),
    Experiment("malformed cancels", improper_cancels.malformed, tool=False, spares=True, fresh=True),
    Experiment("cancelled twice", improper_cancels.twice, _by_notification),
    Experiment("cancelled at completion", proper_cancels.at_completion, spares=True),
    Experiment("timed out", proper_cancels.timed_out),
    Experiment(
        "a string cancelled for a number",
        improper_cancels.string_id,
        _by_notification,
        spares=True,
    ),
    Experiment("odd reasons", improper_cancels.odd_reasons, _by_notification, spares=True),
    Experiment("notified over HTTP", proper_cancels.notified_over_http, over_new_http, spares=True),
    Experiment("a task cancelled", special_cancels.tasks_cancel, special_cancels.no_tasks, tool=False),
    Experiment("initialize cancelled", special_cancels.initialize, _handshake, tool=False, opened=False),
    Experiment("the id 0 cancelled", proper_cancels.id_zero, _by_notification),
    Experiment("called and cancelled in one write", proper_cancels.in_one_write, _over_stdio),
    *(
        Experiment(name, run, _over_stdio, tool=False, own=True)
        for name, run in (
            ("stdin closed", left_behind.stdin_closed),
            ("the client killed", left_behind.client_killed),
            ("stderr broken", left_behind.stderr_broken),
            ("the wrapper killed", left_behind.wrapper_killed),
        )
    ),
    Experiment(
        "DELETE with a call in flight",
        proper_cancels.session_deleted,
        _with_session,
        tool=False,
        last=True,
    ),
)
