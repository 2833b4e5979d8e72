"""The sign-in dialog: each step as it happens, the whole URL before anything opens it, and a field for the redirect."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from mcp_tui.client.open_url import open_url
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.screens.dialog import Dialog, Hint, Piece, place
from mcp_tui.tui.screens.interaction import link_parts
from mcp_tui.tui.sources.sign_in_steps import SignIn
from mcp_tui.tui.widgets.line_input import LineInput
from mcp_tui.view.keys import SIGN_IN
from mcp_tui.view.text import SafeText, brief, words

SHOWN_STEPS: Final = 8
"""The number of newest steps that the dialog shows."""


class SignInScreen(Dialog[None]):
    """Shows a sign-in as it happens. It closes automatically after success; esc leaves the sign-in running."""

    BINDINGS = bindings(SIGN_IN)
    TICK = 0.1

    def __init__(self, sign_in: SignIn, name: SafeText) -> None:
        self.sign_in = sign_in
        self._server = name
        self._steps = place("steps")
        self._url = place("url")
        self._wrong = place("wrong")
        self.field = LineInput(placeholder="or paste the URL that the browser ends at", compact=True)
        super().__init__(self._steps, self._url, self.field, self._wrong)

    def heading(self) -> SafeText:
        return self.fitted(words("Sign in to "), self._server, words(""))

    def hints(self) -> Sequence[Hint | None]:
        if not self.sign_in.active:
            return [("app.back", "Close")]
        asks = self.sign_in.request is not None
        return [
            ("sign-in.open", "Open in browser") if asks else None,
            ("sign-in.copy", "Copy URL") if asks else None,
            ("sign-in.decline", "Do not sign in"),
            ("app.back", "Later"),
        ]

    def tick(self) -> None:
        sign_in = self.sign_in
        if sign_in.waits or (
            not sign_in.active and sign_in.done
        ):  # or the next question is open, which L answers
            self.close_by_itself()
            return
        parts: list[Piece] = []
        for text in list(sign_in.steps)[-SHOWN_STEPS:]:
            parts += [(words("· "), "$text-muted"), brief(text, 300), words("\n")]
        self.say(self._steps, *parts[:-1])
        request = sign_in.request
        if request is None:
            self.say(self._url, words("") if sign_in.active else (words("Not signed in."), "$warning"))
        else:
            self.say(self._url, *link_parts(request.url).pieces)
        if self.has_class("-asks") is not (request is not None):
            self.set_class(request is not None, "-asks")
            self.set_focus(None if request is None else self.field)
        super().tick()

    # -- keys ------------------------------------------------------------------------------------------------

    def action_open(self) -> None:
        """Uses the pasted URL; without one, opens the page."""
        request = self.sign_in.request
        if self.field.value.strip():
            self.say(self._wrong, (self.sign_in.paste(self.field.value), "$error"))
        elif request is not None and link_parts(request.url).opens and self.meant():
            self.run_worker(partial(self._open, request.url), exit_on_error=False)

    on_input_submitted = action_open

    async def _open(self, url: str) -> None:
        if not await asyncio.to_thread(open_url, url):
            text = words("No browser can be opened here. Open the URL yourself.")
            self.say(self._wrong, (text, "$warning"))

    def action_copy_url(self) -> None:
        """Copies the URL of the page."""
        if self.sign_in.request is not None:
            self.app.copy_to_clipboard(self.sign_in.request.url)
            self.say(self._wrong, (words("Copied (if your terminal supports OSC 52)"), "$text-muted"))

    def action_decline(self) -> None:
        """Declines to sign in."""
        self.sign_in.decline()
        self.dismiss(None)
