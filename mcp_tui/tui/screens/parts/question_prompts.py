"""The questions of a server, shown one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from mcp_tui.client.interactions import Answer
from mcp_tui.protocol.error_codes import URL_REQUIRED
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.sources.live_session import Session
from mcp_tui.tui.sources.questions import Question
from mcp_tui.view.keys import hint, key_of
from mcp_tui.view.rows import request
from mcp_tui.view.text import brief, safe, words


@dataclass(eq=False)
class QuestionPrompts:
    """Opens a question about a request of the person, unless another screen is open.

    Other questions are announced and wait for a key: nothing may open between a person and the keys that they are
    typing.
    """

    _screen: LayoutScreen
    _session: Session
    _open: bool = False

    async def answer(self) -> None:
        """Opens the oldest question that was not postponed, else the one postponed first."""
        waiting = self._session.questions
        if not waiting:
            self._screen.refuse(words("No question pending"))
            return
        await self.put(waiting[0])

    def put_new(self) -> None:
        """Opens a new question; while something else is open, announces it once."""
        screen = self._screen
        for question in self._session.questions:
            expected = self._expected(question)
            if question.shown or (self._open and expected):
                continue  # the open question counts it, and it opens next
            question.shown = True
            if expected and screen.on_top:
                screen.app.guard.block_burst(words("a question opened on its own"))
                screen.app.run_worker(partial(self.put, question), group="questions", exit_on_error=True)
                return
            name = self._session.around.server_name or self._session.name
            text = safe("{} {}. Press {} to answer.", name, question.wants, key_of("question.answer"))
            if screen.on_top:
                screen.show_message(text, seconds=10)
            else:
                screen.app.notify(text, severity="warning", markup=False)

    def _expected(self, question: Question) -> bool:
        """Whether a question is about a request that the person made, and that is open or may be sent again afterwards."""
        parent = question.inquiry.parent
        row = None if parent is None else self._session.client.requests.get(parent)
        return row is not None and (row.open or row.code == URL_REQUIRED) and not row.internal

    async def put(self, question: Question) -> None:
        """Opens a question."""
        # Imported when first opened: forms take time to load.
        from mcp_tui.tui.screens.interaction import screen_for

        screen, session = self._screen, self._session
        if not screen.on_top:
            question.shown = False  # another screen opened first: the question is announced there
            return
        parent = question.inquiry.parent
        row = None if parent is None else session.client.requests.get(parent)
        if row is not None:
            question.about = safe("{} {}", row.id, request(row))

        def running() -> bool:
            return row is not None and row.open

        def answered(answer: Answer | None) -> None:
            self._open = False
            if answer is None:
                if not question.over:
                    session.questions.sort(key=lambda each: each is question)  # moves it after the others
                    screen.show_message(hint("Postponed – press {question.answer} to answer"), "muted")
            elif not question.answer(answer):
                screen.refuse(safe("Not sent: {}", brief(question.over)))
            elif isinstance(answer, dict) and answer.get("action") == "cancel" and running():
                news = safe(
                    "Question dismissed; request {} still running ({} cancels)",
                    parent,
                    key_of("request.cancel"),
                )
                screen.keys.show_message(news, applies=running)
            screen.look()

        self._open = True
        await screen.app.open_over(screen_for(question, session.settings), answered)
