"""An app whose first frame is seen before what belongs on it is loaded."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable

from textual import events
from textual.app import App


def collect_again() -> None:
    """Collect garbage again where the start has turned that off; what was loaded until now is left out for ever."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


class TypeAheadApp(App[int], inherit_bindings=False):
    """Takes keys from the first frame on: what is typed before the real screen stands waits, and then is typed on that."""

    _ahead: list[events.Event] | None = None

    def begin(self, load: Callable[[], Awaitable[None]]) -> None:
        """Have ``load`` put the real screen in place of the first frame, once that can be seen. Called while mounting."""
        self._ahead = []
        self.call_after_refresh(self.call_later, self._begin, load)

    async def _begin(self, load: Callable[[], Awaitable[None]]) -> None:
        with self.batch_update():
            await load()
        ahead, self._ahead = self._ahead or [], None
        for event in ahead:
            await self.on_event(event)
        self.call_after_refresh(collect_again)

    async def on_event(self, event: events.Event) -> None:
        if self._ahead is not None and isinstance(event, events.InputEvent | events.Paste):
            self._ahead.append(event)
        else:
            await super().on_event(event)
