"""The questions of a server, put before the person one after the other, and what its lists and tasks became."""

from __future__ import annotations

from mcp_tui.client.interactions import Answer
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.inbound import ELICIT
from mcp_tui.tui.keys.now import hint, key_of
from mcp_tui.tui.questions import Question
from mcp_tui.tui.screens.acting import Acting
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.text import SafeText, brief, words


class Asking(Acting):
    """The part of the workbench that answers.

    A question about a request that the person made opens by itself, unless something else is being typed. Any other is
    announced, and waits for a key: nothing may come between a person and the keys that they are about to press.
    """

    _putting = False

    async def action_answer(self) -> None:
        """Open the oldest question that waits and was not put aside, else that which was put aside first."""
        waiting = self.session.questions.waiting
        if not waiting:
            self.keys.tell(words("the server asks nothing"))
            return
        await self.put(waiting[0])

    def ask_questions(self) -> None:
        """Put what was not put yet; while something else is open, say once that it waits."""
        waiting = self.session.questions.waiting
        for question in waiting:
            if question.shown or (self._putting and self._expected(question)):
                continue  # the one that is open counts it, and it opens next
            if self._expected(question) and self.host.screen is self:
                question.shown = True
                self.run_worker(self.put(question), group="questions", exit_on_error=True)
                return
            question.shown = True
            name = self.session.around.whose or self.session.name
            said = SafeText(f"{name} {_wants(question)}: press {key_of('question.answer')} to answer")
            if self.host.screen is self:
                self.keys.tell(said, seconds=10)
            else:
                self.host.notify(said, severity="warning", markup=False)

    def _expected(self, question: Question) -> bool:
        """Whether it is about a request that the person made and that goes on."""
        parent = question.inquiry.parent
        row = None if parent is None else self.session.client.book.get(parent)
        return row is not None and row.open and not row.internal

    async def put(self, question: Question) -> None:
        """Put one question before the person."""
        from mcp_tui.tui.screens.typed import screen_for

        inquiry = question.inquiry
        row = None if inquiry.parent is None else self.session.client.book.get(inquiry.parent)
        about = words("") if row is None else SafeText(f"{row.id} {request(row)}")

        def others() -> int:
            return sum(each is not question for each in self.session.questions.waiting)

        screen = screen_for(question, self.session.consents, others=others, about=about)

        def answered(answer: Answer | None) -> None:
            self._putting = False
            if answer is None:
                if not question.over:
                    self.session.questions.aside(question)
                    self.keys.tell(hint("put aside: {question.answer} answers it"), "muted")
            elif not question.answer(answer):
                self.keys.tell(SafeText(f"not sent: {brief(question.over)}"))
            elif (
                isinstance(answer, dict) and answer.get("action") == "cancel" and row is not None and row.open
            ):
                self.keys.tell(SafeText(f"{row.id} goes on without an answer: c cancels it"))
            self.look()

        if self.host.screen is self:
            self._putting = True
            await self.ask(screen, answered)
        else:
            question.shown = False  # another screen came first: it is announced there

    # -- tasks and what the server tells ---------------------------------------------------------------------

    def stop_waiting(self, id: RequestId) -> None:
        """Watch a task no more and let it run."""
        if self.session.client.stop_waiting(id):
            self.keys.tell(SafeText(f"{id}: its task goes on at the server, and nobody watches"))
        self.look()

    def resume_task(self, task_id: str) -> None:
        """Take up a task of an earlier session."""
        self.call("tasks/get", {"taskId": task_id})

    async def call_as_task(self, name: str) -> None:
        """Call a tool as a task, with its form."""
        await self._open_call(name, task=True)

    def subscribe(self, uri: str, *, wanted: bool) -> None:
        """Have the server tell of a resource's changes, or not any more."""
        subscriptions = self.session.client.subscriptions
        id_ = subscriptions.subscribe(uri) if wanted else subscriptions.unsubscribe(uri)
        word = "subscribed to" if wanted else "unsubscribed from"
        self.keys.tell(
            SafeText(f"{word} {brief(uri, 80)}{'' if id_ is None else f' by request {id_}'}"), "muted"
        )
        self.look()

    def log_level(self, level: str) -> None:
        """Have the server log from a level on."""
        self.session.client.set_log_level(level)
        self.keys.tell(SafeText(f"the server is asked to log from {level} on"), "muted")
        self.look()


def _wants(question: Question) -> str:
    return "asks for input" if question.inquiry.method == ELICIT else f"asks: {question.inquiry.method}"
