"""Guards against keys that a person typed for something else: which are swallowed, and when a key may act."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from math import inf
from typing import Final

from mcp_tui.view.text import SafeText, words

READ_SECONDS: Final = 0.7
"""Seconds without a key after which a person has seen the screen."""

REPEAT_SECONDS: Final = 0.25
"""Seconds between two repetitions of a request by a held key."""

MOVING_SECONDS: Final = 0.3
"""Seconds within which a key has moved the cursor."""


class KeyGuard:
    """Judges keys by what a person can have seen when pressing them. ``now`` returns monotonic seconds.

    After a refusal, a dialog that closed by itself, or a lost connection, printable keys and enter are swallowed until
    no key came for :data:`READ_SECONDS`: they were typed for something that is gone. But a person can always stop
    something: after a refusal, the keys that open a prompt to cancel still work, as the prompt shows what it cancels and
    takes nothing of the rest of the burst; and any key that cancels works when it is pressed twice in a row, which no stray
    text does by more than opening such a prompt. A key that acts on a server works only if
    the row under the cursor was there for that long before the first key of its burst, and so does a key that decides
    something in a dialog. What cancels is never refused for that: it acts on :attr:`aimed`. Text that is typed ahead
    into a dialog is meant for it; a key that is typed ahead of a question is no answer.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.reason: SafeText = words("")
        self._blocked_until = -inf
        self._last_key = self._burst = self._moved = self._clicked = -inf
        self._moved_by_text = False
        self._target: tuple[object, bool] = None, False
        self._changed = self._repeated = -inf
        self._spared: Collection[str] = ()
        self._swallowed = ""
        self.aimed: object = None
        """What was under the cursor when the burst began, or where a person moved the cursor since."""

    # -- swallowing --------------------------------------------------------------------------------------------

    def block(self, reason: SafeText, spared: Collection[str] = ()) -> None:
        """Swallows keys from now on until there is a pause, but for the first one with a name in ``spared``."""
        self.reason = reason
        self._spared = spared
        self._swallowed = ""
        self._blocked_until = self.now() + READ_SECONDS

    def block_burst(self, reason: SafeText) -> None:
        """Swallows the keys of the burst that is under way: something opened by itself in the middle of it."""
        if self.now() - self._last_key < READ_SECONDS:
            self.block(reason)

    def swallows(self, key: str = "", *, text: bool, cancels: bool = False) -> bool:
        """Returns whether a key pressed now is swallowed.

        ``text`` is true for printable keys and enter, ``cancels`` for keys that cancel requests where they are pressed.
        """
        now = self.now()
        if now - self._last_key >= READ_SECONDS:
            self._burst = now
            self.aimed = self._target[0]
        self._last_key = now
        if now < self._blocked_until:
            self._blocked_until = now + READ_SECONDS
            # Each further press lengthens the pause, so an impatient person would never get a cancel through.
            if cancels and (key in self._spared or key == self._swallowed):
                self._spared, self._swallowed = (), ""
            elif text:
                self._swallowed = key
                return True
        self._moved, self._moved_by_text = now, text
        return False

    def release(self) -> None:
        """Notes a click, which is always meant: nothing is swallowed any more, and its target was seen."""
        self._blocked_until = self._last_key = -inf
        self._burst = self._moved = self._clicked = self.now()
        self._moved_by_text = False

    # -- acting ------------------------------------------------------------------------------------------------

    def watch(self, target: object, *, ended: bool = False) -> None:
        """Notes what is under the cursor now, and whether that has ended; called often, and before each key."""
        if (target, ended) == self._target:
            return
        same, self._target = self._target[0] == target, (target, ended)
        if same or self.now() - self._moved > MOVING_SECONDS:
            self._changed = self.now()
        # An arrow shows that the person saw where the cursor went. A letter, such as
        # one that filters, shows nothing of that.
        elif not self._moved_by_text:
            self._changed = -inf

    def aim(self, target: object) -> None:
        """Notes that a person put the cursor on this."""
        self._target, self._changed, self.aimed = (target, False), -inf, target

    def moved(self, target: object) -> None:
        """Notes what is under the cursor after a key: if that is something else, the key moved it."""
        if target != self._target[0]:
            self.aimed = target

    @property
    def steady(self) -> bool:
        """Whether the target under the cursor was there, unchanged, when the person began to type."""
        return self._changed == -inf or self.was_readable(self._changed)

    def was_readable(self, since: float) -> bool:
        """Returns whether something shown since then could be read before the person began to type, or was clicked."""
        if self._clicked > self._last_key:
            return True
        now = self.now()
        began = self._burst if now - self._last_key < READ_SECONDS else now
        return began - since >= READ_SECONDS

    def may_repeat(self) -> bool:
        """Returns whether a key may repeat a request now; a held key comes far more often."""
        now = self.now()
        if now - self._repeated < REPEAT_SECONDS:
            return False
        self._repeated = now
        return True
