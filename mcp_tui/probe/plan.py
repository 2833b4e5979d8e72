"""The plan of a run: the experiments, in their order, with the rules that each judges and when it applies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass
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


@dataclass(frozen=True, slots=True)
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
    _: KW_ONLY
    tool: bool = True
    alone: bool = False
    last: bool = False
    opened: bool = True
    fresh: bool = False
    own: bool = False
    spares: bool = False


EXPERIMENTS: Final = (
    Experiment(
        "cancelled mid-work",
        ("P-01", "P-02", "P-03", "P-04", "P-18", "P-24", "P-25"),
        proper_cancels.mid_work,
        alone=True,
    ),
    Experiment("disconnected", ("P-17",), proper_cancels.disconnected, _over_old_http, alone=True),
    Experiment("cancelled at once", ("P-05", "P-06"), proper_cancels.at_once),
    Experiment("two in flight, one cancelled", ("P-14",), proper_cancels.two_in_flight, spares=True),
    Experiment("an unknown id cancelled", ("P-10",), improper_cancels.unknown, tool=False),
    Experiment(
        "malformed cancels", ("P-11",), improper_cancels.malformed, tool=False, spares=True, fresh=True
    ),
    Experiment("cancelled twice", ("P-08", "P-26"), improper_cancels.twice, _by_notification),
    Experiment("cancelled at completion", ("P-07",), proper_cancels.at_completion, spares=True),
    Experiment("timed out", ("P-16",), proper_cancels.timed_out),
    Experiment(
        "a string cancelled for a number",
        ("P-13",),
        improper_cancels.string_id,
        _by_notification,
        spares=True,
    ),
    Experiment("odd reasons", ("P-12",), improper_cancels.odd_reasons, _by_notification, spares=True),
    Experiment(
        "notified over HTTP", ("P-19",), proper_cancels.notified_over_http, over_new_http, spares=True
    ),
    Experiment(
        "a task cancelled", ("P-20",), special_cancels.tasks_cancel, special_cancels.no_tasks, tool=False
    ),
    Experiment(
        "initialize cancelled", ("P-15",), special_cancels.initialize, _handshake, tool=False, opened=False
    ),
    Experiment("the id 0 cancelled", ("P-23",), proper_cancels.id_zero, _by_notification),
    Experiment("called and cancelled in one write", ("P-27",), proper_cancels.in_one_write, _over_stdio),
    *(
        Experiment(name, (rule,), run, _over_stdio, tool=False, own=True)
        for rule, name, run in (
            ("P-21", "stdin closed", left_behind.stdin_closed),
            ("P-29", "the client killed", left_behind.client_killed),
            ("P-30", "stderr broken", left_behind.stderr_broken),
            ("P-31", "the wrapper killed", left_behind.wrapper_killed),
        )
    ),
    Experiment(
        "DELETE with a call in flight",
        ("P-28",),
        proper_cancels.session_deleted,
        _with_session,
        tool=False,
        last=True,
    ),
)
