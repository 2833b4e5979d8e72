"""Prompts about cancels: for the reason of one or several, and for the handling of overdue requests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual.actions import SkipAction
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Label

from mcp_tui import clock
from mcp_tui.client.client import DEFAULT_REASON, Client
from mcp_tui.protocol.events import Cause, Signal
from mcp_tui.protocol.evidence import TIMEOUTS
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.revisions import UNCANCELLABLE, Cancellation
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.preferences import MORE_SECONDS
from mcp_tui.tui.screens.dialog import Dialog, Hint, KeyButton, Piece, place
from mcp_tui.tui.widgets.line_input import LineInput
from mcp_tui.view.badges import OVERDUE, badge
from mcp_tui.view.durations import elapsed, moment
from mcp_tui.view.keys import OVERDUE_REQUESTS, REASON, hint
from mcp_tui.view.rows import BAR_CELLS, bar, info, listed, plural, request
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, fit, join, one_line, safe, words

TYPED_CHARACTERS: Final = 500
"""The maximum number of characters of a reason."""


class ReasonInput(LineInput):
    """A one-line field of at most :data:`TYPED_CHARACTERS` visible characters, also after a paste."""

    MOST = TYPED_CHARACTERS

    def replace(self, text: str, start: int, end: int) -> None:
        start, end = sorted((max(0, start), min(len(self.value), end)))
        space = max(0, TYPED_CHARACTERS - len(self.value) + end - start)
        super().replace(one_line(text)[:space], start, end)


class ReasonField(Horizontal):
    """A labelled field for a reason, with recent ones to choose from, the latest first."""

    def __init__(self, placeholder: str, recent: Sequence[str] = ()) -> None:
        self.input = ReasonInput(placeholder=placeholder, select_on_focus=False, compact=True, id="reason")
        self.recent = list(dict.fromkeys(reason for reason in recent if reason.strip()))
        self._at = -1
        self._draft = ""
        super().__init__(Label("Reason", markup=False), self.input)

    @property
    def text(self) -> str:
        """The typed text without the spaces around it."""
        return self.input.value.strip()

    def put(self, text: str) -> None:
        """Replaces the whole text."""
        self.input.replace(text, 0, TYPED_CHARACTERS)

    def recall(self, step: int) -> None:
        """Shows an earlier reason; after the latest one, the draft that was typed before."""
        at = min(len(self.recent) - 1, max(-1, self._at + step))
        if at == self._at:
            return
        if self._at == -1:
            self._draft = self.input.value
        self._at = at
        self.put(self._draft if at == -1 else self.recent[at])


_ENDED_WORDS: Final = {
    State.COMPLETED: words("finished"),
    State.FAILED: words("failed"),
    State.LOST: words("lost"),
}

_COLOURS: Final = {"completed": "$success", "failed": "bold $error", "lost": "$error", "late": "$accent"}


def _ended(row: Request) -> SafeText:
    """Returns one sentence that says why an ended request cannot be cancelled."""
    if row.state not in _ENDED_WORDS:
        return words("Already timed out and cancelled" if row.cause in TIMEOUTS else "Already cancelled")
    how = words("answered with a tool error") if row.is_error else _ENDED_WORDS[row.state]
    return safe("Already {} – nothing to cancel", how)


class CancelPrompt(Dialog[str | None]):
    """Asks for the reason of a cancel; dismisses with the reason, or ``None`` to cancel nothing.

    The caller cancels, and may still find that the answer came first. ``over`` says that nothing can be cancelled
    (any more): then enter only closes.
    """

    BINDINGS = bindings(REASON)
    TICK = 0.1

    CANCEL: ClassVar[Hint] = ("reason.cancel", "Cancel it")

    over = False

    def __init__(
        self, recent: Sequence[str], *, above: Sequence[Widget] = (), below: Sequence[Widget] = ()
    ) -> None:
        self.field = ReasonField(DEFAULT_REASON, recent)
        super().__init__(*above, self.field, *below)

    @property
    def unsent(self) -> str:
        """The reason in the field; empty without one."""
        return self.field.text

    def hints(self) -> Sequence[Hint | None]:
        if self.over:
            return [("reason.cancel", "Close")]
        recent: Hint | None = ("reason.earlier", "Recent") if self.field.recent else None
        return [self.CANCEL, recent, ("app.back", "Keep waiting")]

    async def action_cancel(self) -> None:
        """Cancels with the typed reason; if everything ended before the person saw that, shows it first."""
        # Text typed before this key is part of the reason, and may not have reached the field yet.
        await self.typed_into(self.field.input)
        shown = self.over
        self.tick()
        if shown or not self.over:
            self.dismiss(None if self.over else self.field.text or DEFAULT_REASON)

    def action_recall(self, step: int) -> None:
        """Goes through the recent reasons."""
        if not self.over:
            self.field.recall(step)


class ReasonScreen(CancelPrompt):
    """Asks for the reason of one cancel.

    A request that has finished, or can never be cancelled (``initialize``), leaves nothing to cancel: the prompt then
    says so and accepts no text.

    Args:
        row: the request; the prompt follows its state.
        way: the signal of the cancel.
        now: monotonic seconds.
        recent: earlier reasons, the latest first.
    """

    def __init__(
        self, row: Request, *, way: Cancellation, now: Callable[[], float], recent: Sequence[str]
    ) -> None:
        self._over, self._why = place("over"), place("why")
        super().__init__(recent, below=(self._over, self._why))
        self.row = row
        self.way = way
        self.now = now
        task = row.as_task or bool(row.task_id)
        self.refused = row.method in UNCANCELLABLE or (task and way.signal is Signal.NONE)

    def heading(self) -> SafeText:
        row = self.row
        now = self.read_at(self.now(), row.state)
        ran = elapsed(row.elapsed(now)) if row.sent_at is not None else words("queued")
        name = join((brief(row.method, 80), brief(row.name)), " ")
        head = safe("Cancel {}  " if row.open else "Request {}  ", brief(str(row.id), 40))
        return self.fitted(head, name, safe("  {}", ran))

    def tick(self) -> None:
        row = self.row
        over = self.refused or not row.open
        if over is not self.over:
            self.over = over
            self.set_class(over, "-over")
            self.set_focus(None if over else self.field.input)
        why = clean(self.way.why)
        if not row.open:
            now = self.now()
            mark, outcome = badge(row, now), info(row, now, wide=True)
            style = _COLOURS.get(mark.style, "bold $warning")
            self.say(self._over, (mark.glyph, style), words(" "), (_ended(row), "bold"))
            why = join((words("nothing was sent to the server"), outcome), " · ")
        elif self.refused:
            self.say(self._over, (why, "bold $warning"))
            disconnects = row.method in UNCANCELLABLE
            why = hint(
                "{server.menu} in the workbench disconnects"
                if disconnects
                else "{app.palette} can stop waiting for it"
            )
        elif row.sent_at is None:
            why = words("still queued: withdrawn unsent if possible; logged")
        self.say(self._why, why)
        super().tick()


class MarkedScreen(CancelPrompt):
    """Asks for the reason of several cancels.

    Requests that end meanwhile leave the list. ``spared`` are running requests that are not cancelled.
    """

    CANCEL = ("reason.cancel", "Cancel them")

    def __init__(
        self, rows: Sequence[Request], *, recent: Sequence[str], spared: Sequence[Request] = ()
    ) -> None:
        self._list, self._over = place("list"), place("over")
        super().__init__(recent, above=(self._list, self._over))
        self._rows = rows
        self._spared = spared

    @property
    def open(self) -> list[Request]:
        """The requests that still wait for an answer."""
        return [row for row in self._rows if row.open]

    def heading(self) -> SafeText:
        spared = sum(row.open for row in self._spared)
        rest = safe(" ({:,} hidden by the filter keep running)", spared) if spared else NOTHING
        return safe("Cancel {}{}", plural(len(self.open)), rest)

    def tick(self) -> None:
        left = self.open
        gone = len(self._rows) - len(left)
        self.over = not left
        self.say(self._list, join(listed(left), "\n") if left else words("Nothing left to cancel."))
        self.say(self._over, safe("{} already finished", plural(gone)) if gone else NOTHING)
        super().tick()


LISTED_REQUESTS: Final = 6
"""The maximum number of listed overdue requests."""


class TimeoutScreen(Dialog[None]):
    """Shows every overdue request of a client, and cancels or extends them as a person chooses.

    The ledger cancels when a countdown ends. The dialog closes when no request is overdue any more, for any reason,
    and on esc, which leaves the countdowns running. ``why`` is one sentence about the use of the reason.
    """

    BINDINGS = bindings(OVERDUE_REQUESTS)
    HINTS = [("app.back", "Hide")]
    TICK = 0.1
    # It opens automatically, so the keys of a burst must not become its reason: tick() focuses the field after a
    # pause.
    AUTO_FOCUS = ""

    def __init__(self, client: Client, why: str = "") -> None:
        self.client = client
        self.now = client.now
        self._rows: list[Request] = []
        self._version = -1
        self._chosen = False
        self._prefilled = ""
        self._origin = clock.origin()
        self._list, self._countdown = place("list"), place("countdown")
        self.field = ReasonField("timed out, each after its own limit")
        buttons = (
            KeyButton("overdue.cancel", words("Cancel now"), "cancel_now", "choose('cancel_now')"),
            KeyButton("overdue.wait", words("Wait 30 s more"), "wait_30"),
            KeyButton("overdue.wait-on", words("No limit"), "wait_forever"),
        )
        super().__init__(self._list, self._countdown, self.field, place("why", clean(why)), buttons=buttons)

    def heading(self) -> SafeText:
        count = len(self._rows)
        return words("Overdue: one request") if count == 1 else safe("Overdue: {:,} requests", count)

    @property
    def ignores_keys(self) -> bool:
        """Whether keys are still ignored: the dialog opens automatically, so they were meant for something else."""
        return not self.app.guard.was_readable(self._opened)

    def tick(self) -> None:
        requests = self.client.requests
        if self._version != requests.version:
            self._version = requests.version
            self._rows = [row for row in requests.unfinished.values() if row.overdue_until is not None]
        if not self._rows:
            if self.on_top:
                self.dismiss(None) if self._chosen else self.close_by_itself()
            return
        self._prefill()
        if self.focused is None and not self.ignores_keys:
            self.set_focus(self.field.input)
            self.field.input.select_all()  # typing replaces the reason
        self._describe(self.read_at(self.now(), self._version))
        super().tick()

    def _prefill(self) -> None:
        """Updates the reason while nobody has edited it."""
        reasons = {row.timeout_reason for row in self._rows}
        prefilled = reasons.pop() if len(reasons) == 1 else ""
        if prefilled != self._prefilled and self.field.input.value == self._prefilled:
            self.field.put(prefilled)
            self._prefilled = prefilled
            if self.focused is self.field.input:
                self.field.input.select_all()

    def _describe(self, now: float) -> None:
        rows = self._rows
        count = len(rows)
        space = max(24, (self._list.size.width or 64) - 35)
        pieces: list[Piece] = []
        for row in rows[:LISTED_REQUESTS]:
            if pieces:
                pieces.append(words("\n"))
            pieces += [
                (safe("{} ", OVERDUE.glyph), "bold $warning"),
                safe("{}  {}", fit(brief(str(row.id), 40), 5, right=True), fit(request(row), space)),
                (fit(elapsed(row.elapsed(now)), 9, right=True), "$warning"),
            ]
            if count > 1:
                pieces.append((fit(self._when(row, now, words("s")), 12, right=True), "$text-muted"))
        if count > LISTED_REQUESTS:
            pieces.append((safe("\n        and {:,} more", count - LISTED_REQUESTS), "$text-muted"))
        self.say(self._list, *pieces)
        first = min(rows, key=lambda row: _seconds(row, now))
        share = _seconds(first, now) / first.limits.ask if first.limits.ask > 0 else 0.0
        which = NOTHING if count == 1 else safe("{} ", brief(str(first.id), 20))
        when = self._when(first, now, words(" s"))
        parts: list[Piece] = [(safe("Cancels {}automatically {}", which, when), "bold $warning")]
        if self.app.timers != "off":
            parts += [words("  "), (bar(share, 2 * BAR_CELLS), "$warning")]
        self.say(self._countdown, *parts)

    def _when(self, row: Request, now: float, unit: SafeText) -> SafeText:
        """Returns the seconds until a request is cancelled, or the time of the cancel if the screen shows no running
        clocks.
        """
        if self.app.timers == "off" and row.overdue_until is not None and row.paused_at is None:
            return safe("at {}", moment(row.overdue_until, self._origin)[:8])
        return safe("in {:>2}{}", math.ceil(_seconds(row, now)), unit)

    # -- keys ------------------------------------------------------------------------------------------------

    @property
    def unsent(self) -> str:
        """The reason that a person wrote; empty without one."""
        return self.field.text if self.field.input.value != self._prefilled else ""

    def action_edit(self) -> None:
        self.set_focus(self.field.input)

    def action_close(self) -> None:
        if self.meant():
            self.dismiss(None)

    async def action_take(self) -> None:
        """Presses the focused button; in the reason field, cancels."""
        if isinstance(self.focused, KeyButton):
            raise SkipAction
        await self.action_choose("cancel_now")

    async def action_choose(self, choice: str) -> None:
        """Cancels the listed requests that are still overdue, or extends them for any other choice.

        Each is cancelled for its own reason, unless a person wrote one for all.
        """
        if not self.meant():
            return
        await self.typed_into(self.field.input)
        edited = self.unsent
        for row in self._rows:
            if row.overdue_until is None:
                continue
            self._chosen = True
            if choice == "cancel_now":
                # C-21, a timeout and a person at the same moment: the timeout came first, so it is the cause.
                self.client.cancel(row.id, Cause.TIMEOUT, edited or row.timeout_reason)
            else:
                self.client.extend(row.id, MORE_SECONDS if choice == "wait_30" else None)
        self.tick()


def _seconds(row: Request, now: float) -> float:
    """Returns the seconds until ``row`` is cancelled; they do not decrease while its clocks are paused."""
    until = now if row.overdue_until is None else row.overdue_until
    return max(0.0, until - (now if row.paused_at is None else row.paused_at))
