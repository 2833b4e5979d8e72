"""The reason prompt: what is about to be cancelled, with its clock running, and where the reason will go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Label

from mcp_tui.protocol.events import Cause, Signal
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.revisions import UNCANCELLABLE, Cancellation
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.dialogs import REASON
from mcp_tui.tui.keys.now import hint
from mcp_tui.tui.screens.dialog import Dialog, ReasonInput, place
from mcp_tui.tui.view.badges import TIMEOUTS, badge
from mcp_tui.tui.view.durations import elapsed
from mcp_tui.tui.view.rows import info
from mcp_tui.tui.view.text import SafeText, brief, clean, join, words


def default_reason() -> str:
    """The reason that an empty field sends."""
    from mcp_tui.client.client import DEFAULT_REASON

    return DEFAULT_REASON


def settled(row: Request) -> SafeText:
    """Why there is nothing left to cancel, in one sentence; empty while an answer is waited for."""
    match row.state:
        case State.COMPLETED if row.is_error:
            return words("Already answered with a tool error, nothing to cancel")
        case State.COMPLETED:
            return words("Already completed, nothing to cancel")
        case State.FAILED:
            return words("Already failed, nothing to cancel")
        case State.LOST:
            return words("Already lost, nothing to cancel")
        case State.CANCEL_REQUESTED | State.CANCELLED if row.cause in TIMEOUTS:
            return words("Already timed out and cancelled, nothing to cancel")
        case State.CANCEL_REQUESTED | State.CANCELLED if row.cause is Cause.SHUTDOWN:
            return words("Already cancelled by quitting, nothing to cancel")
        case State.CANCEL_REQUESTED | State.CANCELLED:
            return words("Already cancelled, nothing to cancel")
        case _:
            return words("")


_COLOURS: Final = {"completed": "$success", "failed": "bold $error", "lost": "$error", "late": "$accent"}


class ReasonScreen(Dialog[str | None]):
    """Asks for the reason of a cancel; dismisses the reason, or ``None`` where nothing is to be cancelled.

    ``None`` comes of esc, of a request that settled while the prompt was open, and of one that cannot be cancelled at
    all (``initialize``; the prompt then says so). A reason is one line, never empty, without control characters and of at
    most :data:`~mcp_tui.tui.screens.dialog.REASON` characters. The caller cancels, and may still find that the answer
    came first.

    Args:
        row: the request; it is looked at while the prompt is open.
        way: how the cancel would leave.
        now: monotonic seconds.
        recent: earlier reasons, the latest first.
        preset: what stands in the field at first.
    """

    DEFAULT_CSS = """
    ReasonScreen {
        & Horizontal { height: 1; }
        & Label { width: 8; color: $text-muted; }
        & #why { padding-left: 8; color: $text-muted; }
        & #over { display: none; }
        &.-over #over { display: block; }
        &.-over Horizontal { display: none; }
        &.-over #why { padding-left: 0; }
    }
    """

    SCOPES = (REASON,)
    BINDINGS = bindings(*SCOPES)

    TICK = 0.1

    def __init__(
        self,
        row: Request,
        *,
        way: Cancellation,
        now: Callable[[], float],
        recent: Sequence[str],
        preset: str = "",
    ) -> None:
        super().__init__()
        self.row = row
        self.way = way
        self.now = now
        task = row.as_task or bool(row.task_id)
        self.refused = row.method in UNCANCELLABLE or (task and way.signal is Signal.NONE)
        self._recent = list(dict.fromkeys(reason for reason in recent if reason.strip()))
        self._at = -1
        self._draft = preset
        self._field = ReasonInput(placeholder=default_reason())
        self._over = place("over")
        self._why = place("why")
        self._keys = place("keys")

    def content(self) -> ComposeResult:
        with Horizontal():
            yield Label("Reason", markup=False)
            yield self._field
        yield self._over
        yield self._why
        yield self._keys

    def on_mount(self) -> None:
        super().on_mount()
        self._field.recall(self._draft)
        self.tick()
        self.call_after_refresh(self.tick)

    def on_resize(self) -> None:
        self.tick()

    @property
    def over(self) -> bool:
        """Whether the prompt says that there is nothing to cancel."""
        return self.has_class("-over")

    def tick(self) -> None:
        row = self.row
        now = self.read_at(self.now(), row.state)
        ran = elapsed(row.elapsed(now)) if row.sent_at is not None else words("queued")
        name = join((brief(row.method, 80), brief(row.name)), " ")
        self.caption(self.fitted(SafeText(f"Cancel {brief(str(row.id), 40)}  "), name, SafeText(f"  {ran}")))
        over = self.refused or not row.open
        if over is not self.over:
            self.set_class(over, "-over")
            self.set_focus(None if over else self._field)
        if not row.open:
            self._say_settled()
        elif self.refused:
            self.say(self._over, (clean(self.way.why), "bold $warning"))
            way_out = hint("{server.menu} in the workbench disconnects; this only closes")
            if self.row.method not in UNCANCELLABLE:
                way_out = hint("{app.palette} stops waiting for it and lets it run; this only closes")
            self.say(self._why, way_out)
            self.say(self._keys, *self.keys([("reason.cancel", "close")]))
        else:
            self._ask()

    def _say_settled(self) -> None:
        mark = badge(self.row)
        came = info(self.row, self.now(), wide=True)
        self.say(
            self._over,
            (mark.glyph, _COLOURS.get(mark.style, "bold $warning")),
            words(" "),
            (settled(self.row), "bold"),
        )
        self.say(
            self._why, SafeText(f"no signal left from here · {came}" if came else "no signal left from here")
        )
        self.say(self._keys, *self.keys([("reason.cancel", "close")]))

    def _ask(self) -> None:
        queued = self.row.sent_at is None
        why = (
            words("still queued: taken back unsent if there is time; logged")
            if queued
            else clean(self.way.why)
        )
        self.say(self._why, why)
        if self._recent:
            self.say(
                self._keys,
                *self.keys(
                    [
                        ("reason.cancel", "cancel it"),
                        ("reason.earlier", "recent"),
                        ("app.back", "keep waiting"),
                    ]
                ),
            )
        else:
            self.say(self._keys, *self.keys([("reason.cancel", "cancel it"), ("app.back", "keep waiting")]))

    # -- keys ------------------------------------------------------------------------------------------------

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_cancel()

    def action_cancel(self) -> None:
        """Cancel with what is typed; of a request that settled unseen, say so first."""
        if self.over:
            self.dismiss(None)
        elif not self.row.open:
            self.tick()
        else:
            self.dismiss(self._field.value.strip() or default_reason())

    @property
    def unsent(self) -> str:
        """What stands in the field; empty for nothing."""
        return self._field.value.strip()

    def action_recall(self, step: int) -> None:
        """Go through the recent reasons; past the latest stands what was typed before."""
        at = min(len(self._recent) - 1, max(-1, self._at + step))
        if self.over or at == self._at:
            return
        if self._at == -1:
            self._draft = self._field.value
        self._at = at
        self._field.recall(self._draft if at == -1 else self._recent[at])
