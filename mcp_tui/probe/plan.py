"""The plan of a run: the experiments, in their order, with the rules that each judges and when it applies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from mcp_tui.probe import improper_cancels, left_behind, proper_cancels, special_cancels
from mcp_tui.probe.connection import ProbeConnection
from mcp_tui.probe.report import Finding
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """An experiment and the rules that it judges. ``unless`` says why it does not apply, or nothing.

    ``alone``: beside no other; ``last``: after all others. ``opened``: on a connection that shook hands; ``fresh``: on one
    on which no id was used yet; ``own``: it starts its servers itself. ``tool``: it needs the slow tool. ``spares``: it lets
    a call go on uncancelled, so it needs a tool that does not end the connection by itself.
    """

    name: str
    rules: tuple[str, ...]
    run: Run
    unless: Callable[[Setup], str] = _anywhere
    tool: bool = True
    alone: bool = False
    last: bool = False
    opened: bool = True
    fresh: bool = False
    own: bool = False
    spares: bool = False


EXPERIMENTS: Final = (
    Experiment(
        name="cancelled mid-work",
        rules=("P-01", "P-02", "P-03", "P-04", "P-18", "P-24", "P-25"),
        run=proper_cancels.mid_work,
        alone=True,
    ),
    Experiment(
        name="disconnected",
        rules=("P-17",),
        run=proper_cancels.disconnected,
        unless=_over_old_http,
        alone=True,
    ),
    Experiment(name="cancelled at once", rules=("P-05", "P-06"), run=proper_cancels.at_once),
    Experiment(
        name="two in flight, one cancelled", rules=("P-14",), run=proper_cancels.two_in_flight, spares=True
    ),
    Experiment(name="an unknown id cancelled", rules=("P-10",), run=improper_cancels.unknown, tool=False),
    Experiment(
        name="malformed cancels",
        rules=("P-11",),
        run=improper_cancels.malformed,
        tool=False,
        spares=True,
        fresh=True,
    ),
    Experiment(
        name="cancelled twice", rules=("P-08", "P-26"), run=improper_cancels.twice, unless=_by_notification
    ),
    Experiment(
        name="cancelled at completion", rules=("P-07",), run=proper_cancels.at_completion, spares=True
    ),
    Experiment(name="timed out", rules=("P-16",), run=proper_cancels.timed_out),
    Experiment(
        name="a string cancelled for a number",
        rules=("P-13",),
        run=improper_cancels.string_id,
        spares=True,
        unless=_by_notification,
    ),
    Experiment(
        name="odd reasons",
        rules=("P-12",),
        run=improper_cancels.odd_reasons,
        spares=True,
        unless=_by_notification,
    ),
    Experiment(
        name="notified over HTTP",
        rules=("P-19",),
        run=proper_cancels.notified_over_http,
        spares=True,
        unless=over_new_http,
    ),
    Experiment(
        name="a task cancelled",
        rules=("P-20",),
        run=special_cancels.tasks_cancel,
        unless=special_cancels.no_tasks,
        tool=False,
    ),
    Experiment(
        name="initialize cancelled",
        rules=("P-15",),
        run=special_cancels.initialize,
        unless=_handshake,
        tool=False,
        opened=False,
    ),
    Experiment(
        name="the id 0 cancelled",
        rules=("P-23",),
        run=proper_cancels.id_zero,
        unless=_by_notification,
    ),
    Experiment(
        name="called and cancelled in one write",
        rules=("P-27",),
        run=proper_cancels.in_one_write,
        unless=_over_stdio,
    ),
    *(
        Experiment(name=name, rules=(rule,), run=run, unless=_over_stdio, tool=False, own=True)
        for rule, name, run in (
            ("P-21", "stdin closed", left_behind.stdin_closed),
            ("P-29", "the client killed", left_behind.client_killed),
            ("P-30", "stderr broken", left_behind.stderr_broken),
            ("P-31", "the wrapper killed", left_behind.wrapper_killed),
        )
    ),
    Experiment(
        name="DELETE with a call in flight",
        rules=("P-28",),
        run=proper_cancels.session_deleted,
        unless=_with_session,
        tool=False,
        last=True,
    ),
)
