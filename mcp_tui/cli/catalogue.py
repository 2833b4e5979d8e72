"""``snapshot``: the catalogue of a server as a lock file; and the comparison of a server with one, for ``check``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, cast

from mcp_tui.cli import reports
from mcp_tui.cli import session as sessions
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.info import cuts, tell_failed
from mcp_tui.cli.output import Exit, Failure, table
from mcp_tui.cli.reports import ReportCase, SarifResult
from mcp_tui.cli.session import HeadlessSession
from mcp_tui.client.catalogue import LISTS, ListFailed, every, offers
from mcp_tui.client.catalogue_changes import Catalogue, Change, Rank, changes
from mcp_tui.client.lint import CUT
from mcp_tui.client.normal_form import normal_catalogue, text_of
from mcp_tui.client.schemas import parse_json, written
from mcp_tui.journal.records import why
from mcp_tui.protocol.error_codes import METHOD_NOT_FOUND
from mcp_tui.protocol.messages import Json, as_object, writable
from mcp_tui.protocol.values import frozen
from mcp_tui.view.text import brief, clean, safe

Lists = dict[str, list[dict[str, Json]]]

LOCK_FORMAT: Final = 1
FORMAT: Final = "mcp-tui-lock"
"""The member of a lock file that has the version of its format."""

_LEVELS: Final = {Rank.BREAKING: "error", Rank.RISKY: "warning", Rank.ADDITIVE: "note"}


def run(_name: str, given: Words) -> int:
    """Writes the lock file, or prints it; returns the exit status."""
    reports.refuse_files(given, "output")
    return sessions.run(given, _snapshot)


async def _snapshot(session: HeadlessSession) -> int:
    options, found = session.given.options, list[Lists]()
    status = await catalogue_of(session, found.append)
    if status:
        return status
    descriptions = not options.no_descriptions
    made = normal_catalogue(found[0], descriptions=descriptions)
    text = text_of(cast("Json", {FORMAT: LOCK_FORMAT, "descriptions": descriptions, **made}))
    if options.output is None:
        session.printer.out(text)
        return Exit.COMPLETED
    reports.write("output", options.output, f"{text}\n".encode())
    counts = {kind: len(entries) for kind, entries in made.items()}
    told = (f"{count:,} {kind if count != 1 else kind.removesuffix('s')}" for kind, count in counts.items())
    if session.printer.json:
        session.printer.value({"lock": options.output, **counts})
    else:
        session.printer.say(f"{options.output}: {', '.join(told)}")
    return Exit.COMPLETED


async def catalogue_of(session: HeadlessSession, take: Callable[[Lists], object]) -> int:
    """Reads every page of every list that the server offers; returns the exit status, and the lists through ``take``.

    Many servers with resources do not know the method for templates, which is then an empty list.

    Raises:
        Failure: a list is shorter than the server may have meant.
    """
    lists: Lists = {}
    for kind in LISTS:
        try:
            lists[kind] = await every(session.client, kind) if offers(session.client, kind) else []
        except ListFailed as failed:
            if failed.row.code != METHOD_NOT_FOUND or kind != "templates":
                return tell_failed(session, failed)
            lists[kind] = []
    if cut := cuts(session, CUT - {"header-annotation"}):  # no client may call a tool with such a header
        raise Failure(
            f"Incomplete list from the server: {cut[0]}. No lock can say what it offers.", Exit.BROKEN_RULE
        )
    take(lists)
    return Exit.COMPLETED


@frozen
class LockFile:
    """A lock file that was read."""

    catalogue: Catalogue
    descriptions: bool


def read_lock(name: str) -> LockFile:
    """Reads a lock file.

    Raises:
        Failure: it cannot be read, or is none.
    """
    try:
        value = as_object(parse_json(Path(name).read_text(encoding="utf-8-sig")))
    except OSError as error:
        raise Failure(f"Cannot read {name!r} (--catalogue): {why(error)}.") from None
    except ValueError:
        value = {}
    if value.get(FORMAT) != LOCK_FORMAT or not all(isinstance(value.get(kind), dict) for kind in LISTS):
        raise Failure(
            f"{name!r} is not a lock file of this version. Write one with mcp-tui snapshot -o LOCK."
        )
    entries = {kind: {key: as_object(each) for key, each in as_object(value[kind]).items()} for kind in LISTS}
    return LockFile(entries, descriptions=value.get("descriptions") is not False)


@frozen
class CatalogueCheck:
    """The differences of a server from a lock file. ``strict``: risky ones break it, too."""

    lock: str
    differences: list[Change]
    strict: bool

    @classmethod
    def of(cls, name: str, lock: LockFile, lists: Lists, *, strict: bool) -> CatalogueCheck:
        """Compares lists with a lock file, by their descriptions only where it has them."""
        now = normal_catalogue(lists, descriptions=lock.descriptions)
        # in the file, numbers that JSON cannot have are texts
        return cls(name, changes(lock.catalogue, cast("Catalogue", writable(cast("Json", now)))), strict)

    @property
    def holds(self) -> bool:
        """Whether callers of the locked catalogue are unharmed."""
        bad = {Rank.BREAKING, Rank.RISKY} if self.strict else {Rank.BREAKING}
        return all(each.rank not in bad for each in self.differences)

    @property
    def name(self) -> str:
        """The assertion as it was typed."""
        return f"--catalogue {self.lock}"

    @property
    def sentence(self) -> str:
        """The number of differences of each rank."""
        ranks = [each.rank for each in self.differences]
        counts = (f"{ranks.count(rank):,} {rank.value}" for rank in Rank if rank in ranks)
        return ", ".join(counts) or "no difference"

    def lines(self) -> Iterator[str]:
        """Yields the differences for people."""
        yield clean(f"{'holds ' if self.holds else 'broken'}  {self.name}  ({self.sentence})")
        if self.differences:
            for line in table([tuple(map(brief, _cells(each))) for each in self.differences]):
                yield safe("  {}", clean(line))

    def fields(self) -> dict[str, Any]:
        """The differences for programs."""
        return {
            "lock": self.lock,
            "strict": self.strict,
            "holds": self.holds,
            "differences": [each.fields() for each in self.differences],
        }

    def case(self) -> ReportCase:
        """The check as a test case."""
        kind, verdict = ("", "") if self.holds else ("failure", "catalogue")
        return ReportCase(self.name, kind, verdict, self.sentence, [_line(each) for each in self.differences])

    def results(self) -> list[SarifResult]:
        """The differences as results of a code scan."""
        return [
            SarifResult(f"catalogue {each.rank.value}", _LEVELS[each.rank], _line(each), self.lock)
            for each in self.differences
        ]


def _cells(change: Change) -> tuple[str, str, str]:
    place = written(change.path)
    said = f"{place}: {change.detail}" if place else change.detail
    return change.rank.value, f"{change.kind.removesuffix('s')} {change.name}", said


def _line(change: Change) -> str:
    return "  ".join(_cells(change))
