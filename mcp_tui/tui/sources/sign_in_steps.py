"""The sign-in of one session: its steps, and the decisions of the person at the screen."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

from mcp_tui.view.detail import Section
from mcp_tui.view.keys import hint
from mcp_tui.view.lines import line
from mcp_tui.view.text import SafeText, brief, clean, safe, words

if TYPE_CHECKING:
    from mcp_tui.client.auth.authorization import Authorization
    from mcp_tui.client.auth.sign_in import AuthorizationRequest

MOST_STEPS: Final = 40
"""The number of steps stored for the screen; the log has all."""


class SignIn:
    """A :class:`~mcp_tui.client.auth.sign_in.Browser` that asks the person at the screen.

    ``request`` is the request for their browser, ``None`` before it is known.
    """

    def __init__(self, tokens: Authorization) -> None:
        self.steps: deque[str] = deque(maxlen=MOST_STEPS)
        self.request: AuthorizationRequest | None = None
        self.done = False
        """Whether the last step got a token."""
        self._tokens = tokens
        self._issued = tokens.issued
        self._waits: asyncio.Future[bool] | None = None
        self._pasted: asyncio.Future[str] | None = None
        self._agreed = False
        tokens.listeners.append(self._step)
        tokens.browser = self

    # -- display ---------------------------------------------------------------------------------------------

    @property
    def waits(self) -> bool:
        """Whether the server requires a sign-in and the person has not agreed to one."""
        return self._waits is not None and not self._waits.done()

    @property
    def required(self) -> bool:
        """Whether the server required a sign-in since it was opened."""
        return self.active or bool(self.steps)

    @property
    def active(self) -> bool:
        """Whether a sign-in is required or under way."""
        return self.waits or self._tokens.signing_in or self._agreed

    @property
    def version(self) -> object:
        """A value that changes with every change to show."""
        return self.waits, self.active, self.request, tuple(self.steps)

    @property
    def word(self) -> SafeText:
        """The word for the state in the server bar; empty if there is none."""
        if self.waits:
            return words("sign-in required")
        return words("signing in") if self.active else words("")

    def state(self) -> SafeText:
        """Returns the state as a sentence, with the key that helps."""
        if self.waits:
            text = "This server requires sign-in. Press {server.sign-in} to sign in, or pass a token with -H."
            return hint(text)
        return words("signing in")

    def sections(self) -> list[Section]:
        """Returns the steps for the detail, while a sign-in is required or under way."""
        if not self.active:
            return []
        steps = [line(brief(text, 300)) for text in self.steps]
        if self.waits:
            steps[-1:] = [line((self.state(), "warning"))]
        return [Section(words("Sign-in"), steps)]

    def _step(self, text: str) -> None:
        if self.done:
            self.steps.clear()  # the steps of an earlier sign-in
        self._issued, before = self._tokens.issued, self._issued
        self.done = self._issued != before
        self.steps.append(text)

    # -- actions of the person -------------------------------------------------------------------------------

    def agree(self) -> None:
        """Signs in now, or as soon as the server requires it."""
        if self._waits is not None and not self._waits.done():
            self._waits.set_result(True)
        elif not self._tokens.signing_in:
            self._agreed = True

    def decline(self) -> None:
        """Declines to sign in: the requests that wait for it fail."""
        self._agreed = False
        if self._waits is not None and not self._waits.done():
            self._waits.set_result(False)
        elif self._pasted is not None and not self._pasted.done():
            self._pasted.set_result("")

    def paste(self, url: str) -> SafeText:
        """Accepts the URL at which a browser ended; returns what is wrong with it, or an empty text."""
        request = self.request
        if request is None or self._pasted is None or self._pasted.done():
            return words("No sign-in page is open yet.")
        if not request.is_redirect(url.strip()):
            return safe("Not the redirect URL, which begins with {}?", clean(request.redirect_uri))
        self._pasted.set_result(url.strip())
        return words("")

    # -- the Browser of the authorization --------------------------------------------------------------------

    async def agrees(self, why: str) -> bool:
        """Waits until the person decides."""
        self._step(f"{why[:1].upper()}{why[1:]}")
        if self._agreed:
            self._agreed = False
            return True
        self._waits = asyncio.get_running_loop().create_future()
        try:
            return await self._waits
        finally:
            self._waits = None

    async def visit(self, request: AuthorizationRequest) -> str:
        """Waits for a pasted URL."""
        self._pasted, self.request = asyncio.get_running_loop().create_future(), request
        try:
            return await self._pasted
        finally:
            self.request = self._pasted = None
