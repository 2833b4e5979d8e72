"""``probe``: the cancellation probe of a server."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from mcp_tui.cli import reports
from mcp_tui.cli.grammar import PAIR, Words
from mcp_tui.cli.output import Exit, Failure, dump, out
from mcp_tui.cli.probe_output import ProgressPrinter, reported
from mcp_tui.cli.session import Headless, failure, open_store, read_object, tokens_for
from mcp_tui.cli.target import limits, required, settings
from mcp_tui.client.client_settings import Target
from mcp_tui.journal.store import Store
from mcp_tui.probe.raw_connection import Unprepared
from mcp_tui.probe.rules import RULES
from mcp_tui.probe.run import Probe
from mcp_tui.probe.tool_choice import ListUnreadable, NamedTool, Unsuitable
from mcp_tui.transport.unreachable import TransportError, sentence
from mcp_tui.view import probe_report as view

WITHOUT_LIMIT_SECONDS: Final = 600.0
"""Seconds that an uncancelled tool may take with ``--timeout 0``."""


def run(_: str, given: Words) -> int:
    """Runs the probe, or lists its rules; returns the exit status.

    Raises:
        Failure: the words do not fit, the tool cannot be called, or there is no session.
    """
    if given.options.list and not reports.Reports(given).wanted:
        return _list(given)
    return reports.judging(given, lambda made: _judge(given, made))


def _list(given: Words) -> Exit:
    rules = [rule.fields() for rule in RULES.values()]
    out(dump(rules) if given.options.json else "\n".join(view.rule_list(RULES.values())))
    return Exit.COMPLETED


def _judge(given: Words, made: reports.Reports) -> int:
    if given.options.list:
        raise Failure(f"--list judges nothing. Leave out {made.wanted}.")
    wish, before = _wish(given), [_named(words) for words in given.options.before]
    where = required(given)
    return asyncio.run(_run(given, made, where, wish, before))


def _wish(given: Words) -> NamedTool:
    options = given.options
    arguments = {} if options.args is None else read_object(options.args, "--args")
    if (given.pairs or arguments) and not options.tool:
        raise Failure("Arguments without a tool. Add --tool NAME.")
    return NamedTool(options.tool or "", tuple(given.pairs), arguments)


def _named(words: Sequence[str]) -> NamedTool:
    """Returns the tool and the arguments of one ``--before TOOL NAME=VALUE…``."""
    if PAIR.match(words[0]):
        raise Failure(f"--before without a tool. Use --before TOOL {words[0]}")
    pairs = (word.partition("=") for word in words[1:])
    return NamedTool(words[0], tuple((name, value) for name, _, value in pairs))


def probe_for(command: Headless, where: Target, **how: Any) -> Probe:
    """Returns a run of the probe against a server, with a store for each connection; ``how`` has arguments of the probe."""
    given, tokens = command.given, tokens_for(where)

    def store(experiment: str) -> Store:
        """Returns the store of one connection, with a journal, and with its own recording if wanted."""
        made = open_store(given, where, beside=re.sub(r"\W+", "-", experiment), purpose="probe")
        if tokens is not None:
            tokens.share_secrets(made.learn)
        command.opened(made)
        return made

    patience = limits(given).timeout or WITHOUT_LIMIT_SECONDS
    return Probe(where, settings(given), store=store, patience=patience, tokens=tokens, **how)


async def _run(
    given: Words, made: reports.Reports, where: Target, wish: NamedTool, before: Sequence[NamedTool]
) -> int:
    options, command = given.options, Headless(given, where, time.monotonic())
    probe = probe_for(
        command,
        where,
        wish=wish,
        before=before,
        limit=options.time or 0.0,
        heartbeat=Path(options.heartbeat) if options.heartbeat else None,
        on_progress=ProgressPrinter(command),
    )
    try:
        return await reported(
            command, made, probe.run(), "Running calls were cancelled and the servers stopped."
        )
    except (Unprepared, ListUnreadable) as error:
        raise Failure(sentence(str(error)), Exit.SERVER_ERROR) from None
    except TransportError as error:
        raise failure(error, where) from None
    except Unsuitable as error:
        raise Failure(sentence(str(error))) from None
