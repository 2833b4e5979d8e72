"""The server bar: the connection, and the counts of requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import Enum
from typing import Final, LiteralString

from mcp_tui.client.client_settings import StdioTarget, Target
from mcp_tui.protocol.states import Limits
from mcp_tui.protocol.values import fact, frozen
from mcp_tui.view import durations
from mcp_tui.view.badges import CANCEL_REQUESTED, CUT_OFF, GOING_ON, IN_FLIGHT, LATE, Badge
from mcp_tui.view.lines import Segments
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, clip, join, safe, width, words


class Link(Enum):
    """The state of the connection."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    LOST = "lost"


@frozen
class Counts:
    """The numbers of requests by state, and of questions for the user.

    ``in_flight`` includes internal requests, except subscriptions. ``progressing`` counts cancelled requests that still
    report progress, ``lost`` requests whose connection ended before or after a cancel; neither includes internal requests.
    """

    in_flight: int = 0
    requested: int = 0
    late: int = 0
    asks: int = 0
    progressing: int = 0
    lost: int = 0


@frozen
class BarCount:
    """One count of the bar: its badge, its word, its meaning, and a function that returns the number."""

    badge: Badge
    word: LiteralString
    meaning: LiteralString
    of: Callable[[Counts], int]


_ASKS: Final = Badge(words("asks"), words("?"), "warning")

COUNTERS: Final = (
    BarCount(_ASKS, "to answer", "questions of the server for you", lambda its: its.asks),
    BarCount(
        IN_FLIGHT, "in flight", "requests without an answer, internal ones too", lambda its: its.in_flight
    ),
    BarCount(CANCEL_REQUESTED, "cancelling", "cancel sent, no reply yet", lambda its: its.requested),
    BarCount(LATE, "late", "cancelled requests that were answered after all", lambda its: its.late),
    BarCount(
        GOING_ON, "progressing", "cancelled requests that still report progress", lambda its: its.progressing
    ),
    BarCount(CUT_OFF, "lost", "requests whose connection ended before an answer", lambda its: its.lost),
)
"""The counts of the bar and the legend, from left to right."""


@frozen
class OtherServers:
    """The other servers of a workbench, if any.

    ``place`` is the position of this server among ``of`` servers, ``server_name`` its name in that list. ``wants`` has
    notices about other servers: a question, a lost connection, or a late answer.
    """

    place: int = 1
    of: int = 1
    server_name: SafeText = NOTHING
    wants: Segments = ()


ALONE: Final = OtherServers()


@fact
class ServerFacts:
    """The contents of the bar. Texts of the server or the configuration are already cleaned.

    ``detail`` is shown instead of the revision while there is no connection: the current step, or why the connection was
    lost. ``up`` is in seconds. ``degraded`` means that some functions only work after the user reconnects. ``sign_in`` is a
    notice that the user must sign in, or is doing so.
    """

    link: Link = Link.CONNECTING
    degraded: bool = False
    name: SafeText = NOTHING
    transport: SafeText = NOTHING
    pid: int | None = None
    revision: SafeText = NOTHING
    detail: SafeText = NOTHING
    up: float | None = None
    counts: Counts = Counts()
    limits: Limits | None = None
    around: OtherServers = ALONE
    sign_in: SafeText = NOTHING


LINK_GLYPHS: Final = {
    Link.CONNECTED: (words("✓"), "success"),
    Link.CONNECTING: (words("◌"), "muted"),
    Link.LOST: (words("∅"), "error"),
}

NOTICE_CELLS: Final = 16
"""The most cells for a notice about another server in a narrow bar."""

SPARE_CELLS: Final = 72
"""The least width of a bar that shows notices about other servers."""

BAR_NAME_CELLS: Final = 24
"""The first cells of the name, which take precedence over the process and the revision."""

SHORT_BAR_CELLS: Final = 120
"""The width below which the bar leaves out facts that the detail also shows."""


def server_bar(facts: ServerFacts, cells: int) -> Segments:
    """Returns the bar: the server on the left, and on the right the counts that are not zero."""
    wide = cells >= SHORT_BAR_CELLS
    if cells < SPARE_CELLS and facts.around.wants:
        facts = replace(facts, around=replace(facts.around, wants=()))
    right = _counts(facts, wide=wide)
    taken = sum(width(text) for text, _ in right)
    left = _server(facts, max(0, cells - taken - (2 if wide else 1)), wide=wide)
    space = cells - taken - sum(width(text) for text, _ in left)
    return (*left, (clean(" " * max(0, space)), ""), *right)


def _server(facts: ServerFacts, cells: int, *, wide: bool) -> Segments:
    """Returns the left part of the bar, in at most ``cells`` cells."""
    glyph, tone = (words("!"), "warning") if facts.degraded else LINK_GLYPHS[facts.link]
    around = facts.around
    name = around.server_name or facts.name or words("no server")
    place = safe(" {} of {}", around.place, around.of) if around.of > 1 else NOTHING
    transport = facts.transport
    process = safe("pid {}", facts.pid) if wide and facts.pid is not None else NOTHING
    connected = facts.link is Link.CONNECTED
    state = facts.revision if connected else facts.detail or facts.revision
    if not state and not connected:
        state = clean(facts.link.value)
    up = safe("up {}", durations.up(facts.up)) if wide and facts.up is not None else NOTHING
    gap = "   " if wide else "  "
    if connected and around.wants:
        state = up = NOTHING
    available = cells - 3 - width(place)
    # Facts that the detail also shows are left out before a name of usual length is cut. The reason of a lost
    # connection stays.
    for spare in (up, process, transport, state if connected else NOTHING):
        texts = (transport, process, state, up)
        if (
            min(width(name), BAR_NAME_CELLS) + sum(width(text) + len(gap) for text in texts if text)
            <= available
        ):
            break
        transport, process, state, up = (NOTHING if text is spare else text for text in texts)
    state_tone = "error" if facts.link is Link.LOST else "muted"
    texts = ((join((transport, process), " "), "muted"), (state, state_tone), (up, "muted"))
    rest = [(clean(gap + text), tone) for text, tone in texts if text]
    # Of the rest, the name is cut first: it is the longest, and chosen by the server.
    available -= sum(width(text) for text, _ in rest)
    shown = clip(name, max(8, available))
    pieces = [(safe(" {} ", glyph), tone), (shown, "title"), *rest]
    if place:
        pieces.insert(0, (place, "muted"))
    return _cropped(pieces, cells)


def _cropped(pieces: Iterable[tuple[SafeText, str]], cells: int) -> Segments:
    cropped: list[tuple[SafeText, str]] = []
    for text, tone in pieces:
        shown = clip(text, cells)
        if shown:
            cropped.append((shown, tone))
        cells -= width(shown)
        if shown != text:
            break
    return tuple(cropped)


def _counts(facts: ServerFacts, *, wide: bool) -> Segments:
    counts = facts.counts
    gap = "   " if wide else "  "
    pieces: list[tuple[SafeText, str]] = []
    for text, tone in facts.around.wants[: 2 if wide else 1]:
        pieces.append(
            (safe("{}{}", clip(text, NOTICE_CELLS + NOTICE_CELLS // 2 if wide else NOTICE_CELLS), gap), tone)
        )
    if facts.sign_in:
        pieces.append((safe("{}{}", facts.sign_in, gap), "warning"))
    for each in COUNTERS:
        number = each.of(counts)
        if number:
            pieces.append((safe("{} {:,} {}{}", each.badge.glyph, number, each.word, gap), each.badge.style))
    if wide and facts.limits is not None and facts.link is Link.CONNECTED and not facts.around.wants:
        idle, maximum = durations.limit(facts.limits.timeout), durations.limit(facts.limits.max_timeout)
        pieces.append((safe("timeout {} / max {}{}", idle, maximum, gap), "muted"))
    return tuple(pieces)


def title(target: Target) -> SafeText:
    """Returns the name of a target, its program, or its URL without secrets."""
    if target.name:
        return clean(target.name)
    if isinstance(target, StdioTarget):
        return brief(target.command[0].rpartition("/")[2], 80)
    # Imported only for a URL, because the import delays the first frame.
    from mcp_tui.journal.masks import mask_url

    return brief(mask_url(target.url), 80)
