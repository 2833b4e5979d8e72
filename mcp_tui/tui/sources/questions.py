"""The questions of a server that wait for an answer on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mcp_tui.client.client_settings import ROOTS, SAMPLING
from mcp_tui.client.interactions import Answer, Inquiry, Refusal
from mcp_tui.view.text import SafeText, words

if TYPE_CHECKING:
    from mcp_tui.client.forms import Draft

_WANTS: Final = {SAMPLING: words("asks for a model response"), ROOTS: words("asks for your roots")}


class Question:
    """One inquiry on the screen.

    Attributes:
        about: the request of ours that it belongs to, in words; empty if unknown.
        draft: the text typed before it was postponed.
        shown: whether it was opened or announced.
    """

    def __init__(self, inquiry: Inquiry, waiting: Sequence[Question] = ()) -> None:
        self.inquiry = inquiry
        self._waiting = waiting
        self.about = words("")
        self.answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.draft: Draft | str | None = None
        self.shown = False

    @property
    def wants(self) -> SafeText:
        """The server's request in words that follow the server's name."""
        return _WANTS.get(self.inquiry.method, words("asks for input"))

    @property
    def others(self) -> int:
        """The number of other waiting questions."""
        return sum(each is not self for each in self._waiting)

    @property
    def over(self) -> str:
        """The reason why no answer is needed any more; empty while one is needed."""
        return self.inquiry.over.result() if self.inquiry.over.done() else ""

    def answer(self, answer: Answer) -> bool:
        """Sets the answer; returns false if none is needed any more."""
        if self.over or self.answered.done():
            return False
        self.answered.set_result(answer)
        return True


async def respond(waiting: list[Question], inquiry: Inquiry) -> Answer:
    """Waits for the person's answer to an inquiry of the client; meanwhile its question is in ``waiting``."""
    question = Question(inquiry, waiting)
    waiting.append(question)
    try:
        await asyncio.wait({question.answered, inquiry.over}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.remove(question)
    return question.answered.result() if question.answered.done() else Refusal("withdrawn")
