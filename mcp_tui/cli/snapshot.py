"""``snapshot``: writes the catalogue of a server as a lock file, and compares a server with one for ``check``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, cast

from mcp_tui.cli import reports
from mcp_tui.cli import session as sessions
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.info import cuts, unlisted
from mcp_tui.cli.output import Exit, Failure, table
from mcp_tui.cli.reports import ReportCase, ReportFinding, ReportRule
from mcp_tui.cli.session import HeadlessSession
from mcp_tui.client.catalogue import LISTS, ListFailed, every, offers
from mcp_tui.client.catalogue_changes import Catalogue, Change, Rank, changes
from mcp_tui.client.lint import CUT
from mcp_tui.client.normal_form import normal_catalogue, text_of
from mcp_tui.client.schemas import parse_json, path_text
from mcp_tui.config.documents import Document, Language
from mcp_tui.journal.records import why
from mcp_tui.protocol.error_codes import METHOD_NOT_FOUND
from mcp_tui.protocol.messages import Json, as_object, writable
from mcp_tui.protocol.values import frozen
from mcp_tui.view.text import brief, clean, safe

Lists = dict[str, list[dict[str, Json]]]

LOCK_FORMAT: Final = 1
FORMAT: Final = "mcp-tui-lock"
"""The member of a lock file with the version of its format."""

_LEVELS: Final = {Rank.BREAKING: "error", Rank.RISKY: "warning", Rank.ADDITIVE: "note"}


def run(_name: str, given: Words) -> int:
    """Writes or prints the lock file; returns the exit status."""
    reports.refuse_files(given, "output")
    return sessions.run(given, _snapshot)


async def _snapshot(session: HeadlessSession) -> int:
    options = session.given.options
    descriptions = not options.no_descriptions
    made = normal_catalogue(await catalogue_of(session), descriptions=descriptions)
    text = text_of(cast("Json", {FORMAT: LOCK_FORMAT, "descriptions": descriptions, **made}))
    if options.output is None:
        session.printer.out(text)
        return Exit.COMPLETED
    reports.write("output", options.output, f"{text}\n".encode())
    counts = {kind: len(entries) for kind, entries in made.items()}
    totals = (f"{count:,} {kind if count != 1 else kind.removesuffix('s')}" for kind, count in counts.items())
    if session.printer.json:
        session.printer.value({"lock": options.output, **counts})
    else:
        session.printer.say(f"{options.output}: {', '.join(totals)}")
    return Exit.COMPLETED


async def catalogue_of(session: HeadlessSession) -> Lists:
    """Returns every page of every list that the server offers.

    Many servers with resources do not know the method for templates; that list is then empty.

    Raises:
        Failure: a list cannot be read, or is shorter than the server may have intended.
    """
    lists: Lists = {}
    for kind in LISTS:
        try:
            lists[kind] = await every(session.client, kind) if offers(session.client, kind) else []
        except ListFailed as failed:
            if failed.row.code != METHOD_NOT_FOUND or kind != "templates":
                raise unlisted(session, failed) from None
            lists[kind] = []
    if cut := cuts(session, CUT - {"header-annotation"}):  # no client may call a tool with an invalid header
        raise Failure(
            f"Incomplete list from the server: {cut[0]}. No lock can say what it offers.", Exit.BROKEN_RULE
        )
    return lists


@frozen
class LockFile:
    """A lock file that was read."""

    catalogue: Catalogue
    descriptions: bool
    text: str


def read_lock(name: str) -> LockFile:
    """Reads a lock file.

    Raises:
        Failure: it cannot be read, or is not a lock file.
    """
    try:
        text = Path(name).read_text(encoding="utf-8-sig")
        value = as_object(parse_json(text))
    except OSError as error:
        raise Failure(f"Cannot read {name!r} (--catalogue): {why(error)}.") from None
    except ValueError:
        text, value = "", {}
    if value.get(FORMAT) != LOCK_FORMAT or not all(isinstance(value.get(kind), dict) for kind in LISTS):
        raise Failure(
            f"{name!r} is not a lock file of this version. Write one with mcp-tui snapshot -o LOCK."
        )
    entries = {kind: {key: as_object(each) for key, each in as_object(value[kind]).items()} for kind in LISTS}
    return LockFile(entries, descriptions=value.get("descriptions") is not False, text=text)


@frozen
class CatalogueCheck:
    """The differences between a server and a lock file. ``strict``: risky ones fail too. ``seconds`` is the time of the
    requests.
    """

    lock: str
    text: str
    differences: list[Change]
    strict: bool
    seconds: float

    @classmethod
    def of(cls, name: str, lock: LockFile, lists: Lists, *, strict: bool, seconds: float) -> CatalogueCheck:
        """Compares lists with a lock file; descriptions are compared only if the file has them."""
        now = normal_catalogue(lists, descriptions=lock.descriptions)
        # The file has text for numbers that JSON cannot write.
        found = changes(lock.catalogue, cast("Catalogue", writable(cast("Json", now))))
        return cls(name, lock.text, found, strict, seconds)

    @property
    def passes(self) -> bool:
        """Whether no difference breaks a caller of the locked catalogue."""
        bad = {Rank.BREAKING, Rank.RISKY} if self.strict else {Rank.BREAKING}
        return all(each.rank not in bad for each in self.differences)

    @property
    def name(self) -> str:
        """The assertion as typed."""
        return f"--catalogue {self.lock}"

    @property
    def sentence(self) -> str:
        """A sentence with the number of differences of each rank."""
        ranks = [each.rank for each in self.differences]
        counts = (f"{ranks.count(rank):,} {rank.value}" for rank in Rank if rank in ranks)
        return ", ".join(counts) or "no difference"

    def lines(self) -> Iterator[str]:
        """Yields the differences for people."""
        yield clean(f"{'holds ' if self.passes else 'broken'}  {self.name}  ({self.sentence})")
        if self.differences:
            for line in table([tuple(map(brief, _cells(each))) for each in self.differences]):
                yield safe("  {}", clean(line))

    def fields(self) -> dict[str, Any]:
        """The differences as JSON."""
        return {
            "lock": self.lock,
            "strict": self.strict,
            "holds": self.passes,
            "differences": [each.fields() for each in self.differences],
        }

    def case(self) -> ReportCase:
        """The check as a case of a report, with each difference at its line of the lock file."""
        strict, risky = self.strict, Rank.RISKY
        found = [
            ReportFinding(
                "  ".join(_cells(each)),
                "error" if strict and each.rank is risky else _LEVELS[each.rank],
                self.lock,
                line_in_lock(self.text, (each.kind, each.name, *each.path)),
                _RULES[each.rank],
            )
            for each in self.differences
        ]
        kind, verdict = ("", "") if self.passes else ("failure", "catalogue")
        rule = ReportRule("catalogue", "The server offers what its lock file says", _WRITE_AGAIN)
        return ReportCase(self.name, rule, kind, verdict, self.sentence, (), found, self.seconds)


_WRITE_AGAIN: Final = "If the change is meant, write the lock file again: mcp-tui snapshot -o LOCK."
_RULES: Final = {
    rank: ReportRule(f"catalogue {rank.value}", f"{title} than its lock file says", f"{why} {_WRITE_AGAIN}")
    for rank, title, why in (
        (Rank.BREAKING, "The server offers less", "What callers rely on is gone or narrower."),
        (Rank.RISKY, "The server says otherwise", "What a model reads or a client trusts has changed."),
        (Rank.ADDITIVE, "The server offers more", "Callers are unharmed."),
    )
}


def line_in_lock(text: str, path: Sequence[str | int]) -> int:
    """Returns the line of a member of a lock file, from 1; for a missing path, that of its nearest parent."""
    lock = Document(text, None, Language.JSON)
    names = [*takewhile(lambda step: isinstance(step, str), path)]
    for count in range(len(names), 0, -1):
        with suppress(ValueError, RecursionError):  # json accepts less than our parser
            if (found := lock.member(*map(str, names[:count]))) is not None:
                return text.count("\n", 0, found.key) + 1
    return 1


def _cells(change: Change) -> tuple[str, str, str]:
    place = path_text(change.path)
    text = f"{place}: {change.detail}" if place else change.detail
    return change.rank.value, f"{change.kind.removesuffix('s')} {change.name}", text
