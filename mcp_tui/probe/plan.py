"""The plan of a run: the experiments, in their order. Which rules they judge, and when these apply, is in `rules.py`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY
from typing import Final

from mcp_tui.probe import improper_cancels, left_behind, proper_cancels
from mcp_tui.probe.rules import RULES
from mcp_tui.probe.trial import Trial
from mcp_tui.protocol.values import frozen


@frozen
class Experiment:
    """An experiment; its :attr:`rules` name it, and it is made where one of them applies.

    ``alone``: beside no other; ``last``: after all others. ``opened``: on a connection that shook hands; ``fresh``: on one
    on which no id was used yet. ``tool``: it needs the slow tool. ``spares``: it lets a call go on uncancelled, so it needs
    a tool that does not end the connection by itself.
    """

    name: str
    run: Callable[[Trial], Awaitable[None]]
    _: KW_ONLY
    tool: bool = True
    alone: bool = False
    last: bool = False
    opened: bool = True
    fresh: bool = False
    spares: bool = False

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules that it judges."""
        return tuple(rule.id for rule in RULES.values() if rule.experiment == self.name)


EXPERIMENTS: Final = (
    Experiment("cancelled mid-work", proper_cancels.mid_work, alone=True),
    Experiment("disconnected", proper_cancels.disconnected, alone=True),
    Experiment("cancelled at once", proper_cancels.at_once),
    Experiment("two in flight, one cancelled", proper_cancels.two_in_flight, spares=True),
    Experiment("an unknown id cancelled", improper_cancels.unknown, tool=False),
    Experiment("malformed cancels", improper_cancels.malformed, tool=False, spares=True, fresh=True),
    Experiment("cancelled twice", improper_cancels.twice),
    Experiment("cancelled at completion", proper_cancels.at_completion, spares=True),
    Experiment("timed out", proper_cancels.timed_out),
    Experiment("a string cancelled for a number", improper_cancels.string_id, spares=True),
    Experiment("odd reasons", improper_cancels.odd_reasons, spares=True),
    Experiment("notified over HTTP", proper_cancels.notified_over_http, spares=True),
    Experiment("a task cancelled", proper_cancels.tasks_cancel, tool=False),
    Experiment("initialize cancelled", improper_cancels.initialize, tool=False, opened=False),
    Experiment("the id 0 cancelled", proper_cancels.id_zero),
    Experiment("called and cancelled in one write", proper_cancels.in_one_write),
    *(
        Experiment(name, run, tool=False, opened=False)
        for name, run in (
            ("stdin closed", left_behind.stdin_closed),
            ("the client killed", left_behind.client_killed),
            ("stderr broken", left_behind.stderr_broken),
            ("the wrapper killed", left_behind.wrapper_killed),
        )
    ),
    Experiment("DELETE with a call in flight", proper_cancels.session_deleted, tool=False, last=True),
)
