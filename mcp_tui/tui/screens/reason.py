"""The reason prompt: what is about to be cancelled, with its clock running, and where the reason will go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.widgets import Input

from mcp_tui.client.client import DEFAULT_REASON
from mcp_tui.protocol.events import Signal
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.revisions import UNCANCELLABLE, Cancellation
from mcp_tui.tui.keys.dialogs import REASON
from mcp_tui.tui.keys.now import hint
from mcp_tui.tui.screens.dialog import Dialog, Hint, ReasonField, place
from mcp_tui.tui.view.badges import TIMEOUTS, badge
from mcp_tui.tui.view.durations import elapsed
from mcp_tui.tui.view.rows import info, listed, plural
from mcp_tui.tui.view.text import SafeText, brief, clean, join, safe, words


def settled(row: Request) -> SafeText:
    """Why there is nothing left to cancel, in one sentence; empty while an answer is waited for."""
    match row.state:
        case State.COMPLETED if row.is_error:
            return words("Already answered with a tool error – nothing to cancel")
        case State.COMPLETED:
            return words("Already finished – nothing to cancel")
        case State.FAILED:
            return words("Already failed – nothing to cancel")
        case State.LOST:
            return words("Already lost – nothing to cancel")
        case State.CANCEL_REQUESTED | State.CANCELLED if row.cause in TIMEOUTS:
            return words("Already timed out and cancelled")
        case State.CANCEL_REQUESTED | State.CANCELLED:
            return words("Already cancelled")
        case _:
            return words("")


_COLOURS: Final = {"completed": "$success", "failed": "bold $error", "lost": "$error", "late": "$accent"}


class CancelPrompt(Dialog[str | None]):
    """Asks for the reason of a cancel, with ``recent`` ones to choose from; dismisses it, or ``None`` to cancel nothing.

    A reason is one line, never empty, without control characters and of at most
    :data:`~mcp_tui.tui.screens.dialog.REASON` characters. The caller cancels, and may still find that the answer came first.
    """

    SCOPES = (REASON,)
    TICK = 0.1

    CANCEL: ClassVar[Hint] = ("reason.cancel", "Cancel it")

    def __init__(self, recent: Sequence[str]) -> None:
        super().__init__()
        self.field = ReasonField(placeholder=DEFAULT_REASON, recent=recent)
        self._over = place("over")

    @property
    def over(self) -> bool:
        """Whether there is nothing to cancel: enter only closes."""
        return False

    @property
    def unsent(self) -> str:
        """The reason in the field; empty for none."""
        return self.field.text

    def hints(self) -> Sequence[Hint | None]:
        if self.over:
            return [("reason.cancel", "Close")]
        recent: Hint | None = ("reason.earlier", "Recent") if self.field.recent else None
        return [self.CANCEL, recent, ("app.back", "Keep waiting")]

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_cancel()

    def action_cancel(self) -> None:
        """Cancel with what is typed."""
        self.dismiss(None if self.over else self.field.text or DEFAULT_REASON)

    def action_recall(self, step: int) -> None:
        """Go through the recent reasons; past the latest stands what was typed before."""
        if not self.over:
            self.field.recall(step)


class ReasonScreen(CancelPrompt):
    """Asks for the reason of one cancel.

    ``None`` comes of esc, of a request that has finished, before or while the prompt is open, and of one that cannot be
    cancelled at all (``initialize``): the prompt then says so, hears no text, and enter only closes it.

    Args:
        row: the request; it is looked at while the prompt is open.
        way: how the cancel would leave.
        now: monotonic seconds.
        recent: earlier reasons, the latest first.
    """

    DEFAULT_CSS = """
    ReasonScreen {
        & #why { padding-left: 8; color: $text-muted; }
        &.-over ReasonField { display: none; }
        &.-over #why { padding-left: 0; }
    }
    """

    def __init__(
        self,
        row: Request,
        *,
        way: Cancellation,
        now: Callable[[], float],
        recent: Sequence[str],
    ) -> None:
        super().__init__(recent)
        self.row = row
        self.way = way
        self.now = now
        task = row.as_task or bool(row.task_id)
        self.refused = row.method in UNCANCELLABLE or (task and way.signal is Signal.NONE)
        self._why = place("why")

    def body(self) -> ComposeResult:
        yield self.field
        yield self._over
        yield self._why

    def on_mount(self) -> None:
        self.call_after_refresh(self.tick)

    def on_resize(self) -> None:
        self.tick()

    @property
    def over(self) -> bool:
        """Whether the prompt says that there is nothing to cancel."""
        return self.has_class("-over")

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
            self.set_class(over, "-over")
            self.set_focus(None if over else self.field.input)
        if not row.open:
            mark, came = badge(row), info(row, self.now(), wide=True)
            style = _COLOURS.get(mark.style, "bold $warning")
            self.say(self._over, (mark.glyph, style), words(" "), (settled(row), "bold"))
            self.say(self._why, join((words("nothing was sent to the server"), came), " · "))
        elif self.refused:
            self.say(self._over, (clean(self.way.why), "bold $warning"))
            way_out = hint("{server.menu} in the workbench disconnects")
            if row.method not in UNCANCELLABLE:
                way_out = hint("{app.palette} can stop waiting for it")
            self.say(self._why, way_out)
        elif row.sent_at is None:
            self.say(self._why, words("still queued: withdrawn unsent if possible; logged"))
        else:
            self.say(self._why, clean(self.way.why))
        super().tick()

    def action_cancel(self) -> None:
        """Cancel with what is typed; of a request that settled unseen, say so first."""
        if self.over or self.row.open:
            super().action_cancel()
        else:
            self.tick()


class MarkedScreen(CancelPrompt):
    """Asks for the reason of several cancels.

    Requests that end meanwhile leave the list; where none is left enter only closes. The caller cancels. ``spared`` are
    those in flight that are not meant.
    """

    DEFAULT_CSS = """
    MarkedScreen {
        & ReasonField { margin-top: 1; }
        & #over { color: $text-muted; }
    }
    """

    CANCEL = ("reason.cancel", "Cancel them")

    def __init__(
        self, rows: Sequence[Request], *, recent: Sequence[str], spared: Sequence[Request] = ()
    ) -> None:
        super().__init__(recent)
        self._rows = rows
        self._spared = spared
        self._list = place("list")

    @property
    def open(self) -> list[Request]:
        """Those that an answer is still waited for."""
        return [row for row in self._rows if row.open]

    @property
    def over(self) -> bool:
        return not self.open

    def heading(self) -> SafeText:
        spared = sum(row.open for row in self._spared)
        rest = safe(" ({:,} hidden by the filter keep running)", spared) if spared else words("")
        return safe("Cancel {}{}", plural(len(self.open)), rest)

    def body(self) -> ComposeResult:
        yield self._list
        yield self._over
        yield self.field

    def on_mount(self) -> None:
        self.set_focus(self.field.input)

    def tick(self) -> None:
        left = self.open
        gone = len(self._rows) - len(left)
        self.say(self._list, join(listed(left), "\n") if left else words("Nothing left to cancel."))
        self.say(self._over, safe("{} already finished", plural(gone)) if gone else words(""))
        super().tick()
