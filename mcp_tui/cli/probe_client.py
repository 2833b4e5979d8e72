"""``probe-client``: judges a client by its behaviour with the judge's server."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure, dump, out
from mcp_tui.cli.probe_output import ProgressPrinter, reported
from mcp_tui.cli.reports import Reports, judging
from mcp_tui.cli.session import Headless
from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.demo.frames import SUPPORTED
from mcp_tui.judge.client_experiments import CLIENT_EXPERIMENTS
from mcp_tui.judge.client_rules import CLIENT_RULES
from mcp_tui.judge.client_run import LIMIT_SECONDS, Judge, Unstartable
from mcp_tui.judge.sent_again import REPEAT
from mcp_tui.view import probe_report as view
from mcp_tui.view.text import safe


def run(_: str, given: Words) -> int:
    """Judges a client, or lists the rules and the experiments; returns the exit status.

    Raises:
        Failure: the words do not fit, or the command cannot be started.
    """
    wanted = Reports(given).wanted
    if given.options.list and not wanted:
        listed = [rule.fields() for rule in CLIENT_RULES.values()]
        out(dump(listed) if given.options.json else "\n".join(_listed()))
        return Exit.COMPLETED
    if given.options.list:
        raise Failure(f"--list judges nothing. Leave out {wanted}.")
    return judging(given, lambda made: _judge(given, made))


def _judge(given: Words, made: Reports) -> int:
    options = given.options
    if given.words or given.url:
        raise Failure(
            f"Unexpected argument {(given.url or given.words[0])!r}. "
            "A client is judged with the judge's own server. Give its command alone, after --"
        )
    if given.command and options.by_hand:
        raise Failure("--by-hand takes no command. Start the client yourself.")
    if options.restart and not options.by_hand:
        raise Failure("--restart is for --by-hand. Add it.")
    if not (given.command or options.by_hand):
        raise Failure(
            "No client given. Put its command after --, or add --by-hand for a program with a window."
        )
    if options.protocol not in ("auto", *SUPPORTED):
        raise Failure(f"Unknown --protocol {options.protocol!r}. Choose from: {', '.join(SUPPORTED)}.")
    names = list(dict.fromkeys(each.name for each in CLIENT_EXPERIMENTS))
    chosen = [each.strip() for each in (options.each or "").split(",") if each.strip()]
    if unknown := next((each for each in chosen if each not in names), ""):
        raise Failure(f"Unknown experiment {unknown!r} (--each). Choose from: {', '.join(names)}.")
    if options.by_hand and chosen == [REPEAT]:
        raise Failure(
            f"{REPEAT} is not for --by-hand: a model may call a tool again on its own. Give a command."
        )
    try:
        pattern = None if options.gave_up is None else re.compile(options.gave_up)
    except re.error as error:
        raise Failure(f"Invalid --gave-up: {error}.") from None
    how: dict[str, Any] = {
        "chosen": chosen,
        "limit": options.timeout or (0.0 if options.by_hand else LIMIT_SECONDS),
        "maximum": options.max_timeout or 0.0,
        "transport": "http" if options.http else "stdio",
        "speaks": "" if options.protocol == "auto" else options.protocol,
    }
    if options.by_hand:
        # Imported late: only a client with a window needs a person.
        from mcp_tui.cli import probe_by_hand

        return probe_by_hand.run(given, made, **how)
    if options.time:
        how["time"] = options.time
    return asyncio.run(_run(given, made, Judge(given.command or (), gave_up=pattern, **how)))


async def _run(given: Words, made: Reports, judge: Judge) -> int:
    command = Headless(given, StdioTarget(command=tuple(judge.command)), time.monotonic())
    judge.on_progress = ProgressPrinter(command)
    try:
        return await reported(command, made, judge.run(), "The client and its servers were ended.")
    except Unstartable as error:
        raise Failure(f"{error}.", Exit.UNREACHABLE) from None


def _listed() -> list[str]:
    lines: list[str] = [
        *view.rule_list(CLIENT_RULES.values()),
        "",
        "Experiments (MCP_EXPERIMENT), and what the client does:",
    ]
    purposes = {each.name: each.does for each in CLIENT_EXPERIMENTS}
    return [*lines, *(safe("  {:<16}{}", name, does) for name, does in purposes.items())]
