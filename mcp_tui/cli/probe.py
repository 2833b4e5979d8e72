"""``probe``: does the server stop when told to? A table for people; JSON, JUnit XML, Markdown and a badge."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp_tui.cli import defect
from mcp_tui.cli.grammar import PAIR, Words, two_urls
from mcp_tui.cli.status import Exit, Failure

if TYPE_CHECKING:
    from mcp_tui.cli.output import Printer
    from mcp_tui.client.auth.authorization import Authorization
    from mcp_tui.client.settings import Target
    from mcp_tui.journal.store import Store
    from mcp_tui.probe.report import Finding, Report
    from mcp_tui.probe.run import Probe
    from mcp_tui.probe.tools import NamedTool

WITHOUT_LIMIT: Final = 600.0
"""Seconds that a tool may take uncancelled where ``--timeout 0`` sets no limit."""


def run(_: str, given: Words) -> int:
    """Run the probe, or list its rules; the exit status.

    Raises:
        Failure: the words do not fit, the tool cannot be called, no session came about.
    """
    words = [word for word in given.words if not PAIR.match(word)]
    if words:
        two_urls(words[0])
        text = f"Unexpected argument {words[0]!r}. Use --tool NAME and NAME=VALUE; put the server command after --"
        raise Failure(text)
    if given.options.list:
        return _list(as_json=given.options.json)
    wish = _wish(given)
    from mcp_tui.cli.target import required

    where = required(given)
    for option in ("junit", "markdown", "badge"):
        _writable(option, getattr(given.options, option))
    return asyncio.run(_Run(given, where, wish).run())


def _list(*, as_json: bool) -> int:
    from mcp_tui.cli.output import dump
    from mcp_tui.probe.rules import RULES

    if as_json:
        print(dump([rule.fields() for rule in RULES.values()]))
        return Exit.COMPLETED
    from mcp_tui.tui.view.probe import rule_list

    print("\n".join(rule_list()))
    return Exit.COMPLETED


def _wish(given: Words) -> NamedTool:
    from mcp_tui.cli.session import read_object
    from mcp_tui.probe.tools import NamedTool

    options = given.options
    arguments = {} if options.args is None else read_object(options.args, "--args")
    if (given.words or arguments) and not options.tool:
        raise Failure("Arguments without a tool. Add --tool NAME.")
    pairs = tuple((key, value) for key, _, value in (word.partition("=") for word in given.words))
    return NamedTool(options.tool or "", pairs, arguments)


def _writable(option: str, name: str | None) -> None:
    """Refuse a report's file that cannot be written, before anything is done for it."""
    if name is None:
        return
    path = Path(name)
    where = path if path.exists() else path.parent
    if path.is_dir() or not where.exists() or not os.access(where, os.W_OK):
        raise Failure(f"Cannot write {name!r} (--{option}). Choose another file.")


class _Run:
    """The probe at work, its signals, its lines on stderr, its reports."""

    def __init__(self, given: Words, where: Target, wish: NamedTool) -> None:
        self.given = given
        self.where = where
        self.wish = wish
        self.stopped: Exit | None = None
        self.began = time.monotonic()
        self.printer: Printer
        self.tokens: Authorization | None = None
        self._task: asyncio.Task[Any] | None = None
        self._said: set[str] = set()

    async def run(self) -> int:
        from mcp_tui.cli.output import Printer
        from mcp_tui.cli.session import INSECURE, is_insecure, take_signals, tokens_for
        from mcp_tui.cli.target import limits, settings
        from mcp_tui.probe.run import Probe

        options = self.given.options
        self.printer = Printer(
            as_json=options.json, began=self.began, closed=lambda: self._stop(Exit.STDOUT_CLOSED)
        )
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        defect.watch(loop)
        take_signals(loop, self._stop)
        if is_insecure(self.where):
            self.printer.say(INSECURE, red=True)
        self.tokens = tokens_for(self.where)
        probe = Probe(
            self.where,
            settings(self.given),
            wish=self.wish,
            heartbeat=Path(options.heartbeat) if options.heartbeat else None,
            store=self._store,
            tell=self._tell,
            patience=limits(self.given).timeout or WITHOUT_LIMIT,
            tokens=self.tokens,
        )
        try:
            return await self._report(probe)
        finally:
            if not await self.printer.streams.drained():
                os._exit(self.stopped or Exit.INTERRUPTED)

    async def _report(self, probe: Probe) -> int:
        from mcp_tui.cli.session import token_hint
        from mcp_tui.probe.tools import Unsuitable
        from mcp_tui.transport.base import TransportError, Unauthorized, sentence

        try:
            report = await probe.run()
        except asyncio.CancelledError:
            self.printer.say("mcp-tui: Interrupted. Running calls were cancelled and the servers stopped.")
            return self.stopped or Exit.INTERRUPTED
        except Unauthorized as error:
            raise Failure(f"{error} {token_hint(self.where, error.challenge)}", Exit.UNAUTHORIZED) from None
        except TransportError as error:
            raise Failure(str(error), Exit.UNREACHABLE) from None
        except Unsuitable as error:
            raise Failure(sentence(str(error))) from None
        self._task = None
        self._print(report)
        return self.stopped or self._status(report)

    def _status(self, report: Report) -> Exit:
        if report.broken(strict=self.given.options.strict):
            return Exit.BROKEN_RULE
        if report.lost:
            return Exit.LOST
        return Exit.USAGE if report.no_tool else Exit.COMPLETED

    def _stop(self, status: Exit) -> None:
        """A signal came, or stdout was closed. The second ctrl+c leaves at once; the guard ends the servers."""
        if self.stopped is not None and status is Exit.INTERRUPTED:
            os._exit(Exit.INTERRUPTED)
        self.stopped = status
        self.printer.streams.hurry()
        if self._task is not None:
            self._task.cancel()

    # -- what is told ----------------------------------------------------------------------------------------

    def _store(self, experiment: str) -> Store:
        """The store of one connection, with a journal, and a recording of its own where one was asked for."""
        from mcp_tui.cli.session import INSECURE_NOTE, is_insecure, open_store
        from mcp_tui.protocol.events import Note

        options = self.given.options
        record = options.record
        if record is not None:
            path = Path(record)
            slug = re.sub(r"\W+", "-", experiment)
            record = str(path.with_name(f"{path.stem}-{slug}{path.suffix}"))
        store = open_store(self.given, self.where, record=record, purpose="probe")
        for event in store.log:
            if isinstance(event, Note) and event.text not in self._said:
                self._said.add(event.text)
                self.printer.say(f"mcp-tui: {event.text}")
        if self.tokens is not None:
            self.tokens.taught(store.learn)
        if is_insecure(self.where):
            store.event(Note(at=time.monotonic(), text=INSECURE_NOTE))
        return store

    def _tell(self, news: str | Finding) -> None:
        from mcp_tui.probe.report import Finding
        from mcp_tui.tui.view.probe import GLYPHS

        at = f"{time.monotonic() - self.began:5.1f} s"
        if isinstance(news, Finding):
            verdict = news.verdict
            self.printer.say(
                f"{at}    {news.rule} {self._fit(GLYPHS[verdict])} {verdict.value}: {news.sentence}", dim=True
            )
        else:
            self.printer.say(f"{at}  {news}", dim=True)

    def _fit(self, line: str) -> str:
        """A line as stdout's encoding can show it."""
        from mcp_tui.tui.view.text import TO_ASCII

        wide = (sys.stdout.encoding or "").lower().replace("-", "") in ("utf8", "utf8sig")
        return line if wide else line.translate(TO_ASCII)

    def _print(self, report: Report) -> None:
        from mcp_tui.cli.output import colourful
        from mcp_tui.tui.view import probe as view

        options = self.given.options
        if options.json:
            self.printer.value(report.fields())
        else:
            for line in view.table(report, colour=colourful(sys.stdout)):
                self.printer.out(self._fit(line))
        if options.junit:
            from mcp_tui.cli.junit import junit

            self._write("junit", options.junit, junit(report, strict=options.strict))
        if options.markdown:
            self._write("markdown", options.markdown, view.markdown(report).encode("utf-8", "replace"))
        if options.badge:
            from mcp_tui.cli.output import dump

            self._write("badge", options.badge, dump(report.badge()).encode())

    def _write(self, option: str, name: str, data: bytes) -> None:
        try:
            Path(name).write_bytes(data)
        except OSError as error:
            raise Failure(f"Cannot write {name!r} (--{option}): {error.strerror}.") from None
