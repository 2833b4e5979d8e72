"""The timeout prompt: what is overdue, the countdown to its cancel, and the way to wait on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, Literal

from textual.widgets import Input

from mcp_tui import clock
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import Book, Request
from mcp_tui.tui.keys import dialogs
from mcp_tui.tui.screens.dialog import Dialog, KeyButton, Piece, ReasonField, place
from mcp_tui.tui.view.badges import OVERDUE
from mcp_tui.tui.view.durations import elapsed, moment
from mcp_tui.tui.view.rows import BAR, bar, request
from mcp_tui.tui.view.text import SafeText, brief, clean, fit, safe, words

LISTED: Final = 6
"""Overdue requests that are listed; the rest is counted."""

DEAF: Final = 0.5
"""Seconds after its opening in which the prompt hears no key: it comes unasked, and keys were meant for what was there."""


OverdueAction = Literal["cancel_now", "wait_30", "wait_forever"]
"""What to do with overdue requests."""


def timeout_reason(row: Request) -> str:
    """The reason that the ledger gives when it cancels ``row`` for its idle limit."""
    waited = row.limits.timeout or 0.0
    if row.idle_until is not None and row.idle_from is not None:
        waited = row.idle_until - row.idle_from
    return f"timed out after {round(waited, 3):g} s"


class TimeoutScreen(Dialog[None]):
    """Shows every request that is overdue. It decides nothing: the ledger cancels when a countdown runs out.

    It closes when nothing is overdue any more, for whatever cause, and on esc, with which the countdowns go on.

    Args:
        book: where the requests are; those whose ``overdue_until`` is set are shown.
        now: monotonic seconds.
        on_choice: called with the choice, the ids of the requests that were on show and the reason. Requests with
            different limits come in one call for each reason, unless a person wrote one for all. Nothing is dismissed by
            it: the prompt closes when the book says that nothing is overdue.
        why: where the reason of a cancel will go, in one sentence, if it is known.
    """

    DEFAULT_CSS = """
    TimeoutScreen {
        & > #dialog { border: round $warning; }
        &.-ascii > #dialog { border: ascii $warning; }
        & #countdown { margin-top: 1; }
        & ReasonField { margin-top: 1; }
        & #why { padding-left: 8; color: $text-muted; }
    }
    """

    SCOPES = (dialogs.OVERDUE,)
    HINTS = [("app.back", "Hide")]
    TICK = 0.1
    AUTO_FOCUS = ""

    def __init__(
        self,
        book: Book,
        *,
        now: Callable[[], float],
        on_choice: Callable[[OverdueAction, list[RequestId], str], None],
        why: str = "",
    ) -> None:
        self.book = book
        self.now = now
        self.on_choice = on_choice
        self._rows: list[Request] = []
        self._version = -1
        self._chosen = False
        self._prefilled = ""
        self._shown_at = now()
        self._origin = clock.origin()
        self._list = place("list")
        self._countdown = place("countdown")
        self.field = ReasonField(placeholder="timed out, each after its own limit")
        self._where = clean(why)
        self._why = place("why")
        super().__init__(
            *(self._list, self._countdown, self.field, self._why),
            buttons=(
                KeyButton("overdue.cancel", words("Cancel now"), "cancel_now"),
                KeyButton("overdue.wait", words("Wait 30 s more"), "wait_30"),
                KeyButton("overdue.wait-on", words("No limit"), "wait_forever"),
            ),
        )

    def heading(self) -> SafeText:
        count = len(self._rows)
        return words("Overdue: one request") if count == 1 else safe("Overdue: {:,} requests", count)

    def on_mount(self) -> None:
        self.say(self._why, self._where)

    @property
    def deaf(self) -> bool:
        """Whether keys are not meant for this prompt yet."""
        return self.now() - self._shown_at < DEAF

    def tick(self) -> None:
        if self._version != self.book.version:
            self._version = self.book.version
            self._rows = [row for row in self.book.unfinished.values() if row.overdue_until is not None]
        if not self._rows:
            if self.is_current:
                self.dismiss(None) if self._chosen else self.close_by_itself()
            return
        if self.focused is None and not self.deaf:
            self.field.input.focus()
        self._prefill()
        self._describe(self.read_at(self.now(), self._version))
        super().tick()

    def _prefill(self) -> None:
        """Keep the reason true while nobody has edited it."""
        reasons = {timeout_reason(row) for row in self._rows}
        prefilled = reasons.pop() if len(reasons) == 1 else ""
        if prefilled != self._prefilled and self.field.input.value == self._prefilled:
            self.field.input.recall(prefilled)
            self._prefilled = prefilled

    def _describe(self, now: float) -> None:
        rows = self._rows
        count = len(rows)
        room = max(24, (self._list.size.width or 64) - 35)
        pieces: list[Piece] = []
        for row in rows[:LISTED]:
            if pieces:
                pieces.append(words("\n"))
            pieces += [
                (safe("{} ", OVERDUE.glyph), "bold $warning"),
                safe("{}  {}", fit(brief(str(row.id), 40), 5, right=True), fit(request(row), room)),
                (fit(elapsed(row.elapsed(now)), 9, right=True), "$warning"),
            ]
            if count > 1:
                pieces.append((fit(self._when(row, now, words("s")), 12, right=True), "$text-muted"))
        if count > LISTED:
            pieces.append((safe("\n        and {:,} more", count - LISTED), "$text-muted"))
        self.say(self._list, *pieces)
        first = min(rows, key=lambda row: _seconds(row, now))
        share = _seconds(first, now) / first.limits.ask if first.limits.ask > 0 else 0.0
        which = words("") if count == 1 else safe("{} ", brief(str(first.id), 20))
        when = self._when(first, now, words(" s"))
        said: list[Piece] = [(safe("Cancels {}automatically {}", which, when), "bold $warning")]
        if self.timers != "off":
            said += [words("  "), (bar(share, 2 * BAR), "$warning")]
        self.say(self._countdown, *said)

    def _when(self, row: Request, now: float, unit: SafeText) -> SafeText:
        """When a request is cancelled: in so many seconds, or at what time, where no clock runs to count them."""
        if self.timers == "off" and row.overdue_until is not None and row.paused_at is None:
            return safe("at {}", moment(row.overdue_until, self._origin)[:8])
        return safe("in {:>2}{}", math.ceil(_seconds(row, now)), unit)

    # -- keys ------------------------------------------------------------------------------------------------

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_choose("cancel_now")

    @property
    def unsent(self) -> str:
        """The reason that a person wrote; empty where none did."""
        return self.field.input.value.strip() if self.field.input.value != self._prefilled else ""

    def action_edit(self) -> None:
        self.field.input.focus()

    def action_close(self) -> None:
        if not self.deaf:
            self.dismiss(None)

    def action_choose(self, choice: OverdueAction) -> None:
        """Tell what was chosen for the requests on show, those left out that settled meanwhile."""
        if self.deaf:
            return
        edited = self.unsent
        chosen: dict[str, list[RequestId]] = {}
        for row in self._rows:
            if row.overdue_until is not None:
                chosen.setdefault(edited or timeout_reason(row), []).append(row.id)
        for reason, ids in chosen.items():
            self._chosen = True
            self.on_choice(choice, ids, reason)
        self.tick()


def _seconds(row: Request, now: float) -> float:
    """Seconds until ``row`` is cancelled; while its clocks stand still they do not pass."""
    until = now if row.overdue_until is None else row.overdue_until
    return max(0.0, until - (now if row.paused_at is None else row.paused_at))
