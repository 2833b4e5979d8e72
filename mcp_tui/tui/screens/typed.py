"""Questions that are answered by text: a sampling request in place of a model, and the folders a server may work in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.widgets import TextArea

from mcp_tui.client.interactions import Answer
from mcp_tui.client.results import Part, parts
from mcp_tui.client.settings import ROOTS, SAMPLE
from mcp_tui.tui.consents import Consents
from mcp_tui.tui.questions import Question, drafted, rooted, sampled, texts
from mcp_tui.tui.screens.dialog import Piece, place
from mcp_tui.tui.screens.interaction import FormScreen, InteractionScreen, LinkScreen, lines
from mcp_tui.tui.view.image import pictured
from mcp_tui.tui.view.text import SafeText, brief, clean, pretty, safe, words
from mcp_tui.tui.widgets.editor import Editor
from mcp_tui.tui.widgets.image import MOST, ImageView


class SamplingScreen(InteractionScreen):
    """Sampling: all that the server would tell a model, and the answer, typed by hand or drafted by a command."""

    def __init__(
        self, question: Question, *, others: Callable[[], int], about: SafeText, command: Sequence[str] = ()
    ) -> None:
        self.editor = Editor(question.draft if isinstance(question.draft, str) else "")
        super().__init__(question, others=others, about=about, control=self.editor)
        self._drafted = ""
        self._command = command
        self._model = "a person"

    def on_mount(self) -> None:
        self.set_focus(self.editor)
        settings = place()
        self._said_by_it.mount(*(ImageView(part) for part in self._images()), settings)
        self.say(settings, *self._settings())
        if self._command and not self.editor.text:
            self.run_worker(self._draft(), exit_on_error=False)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self.editor.text != self._drafted:
            self.say(self._wrong)

    async def _draft(self) -> None:
        name = self._command[0].rpartition("/")[2]
        self.say(self._wrong, (clean(f"asking {name} …"), "$text-muted"))
        text, problem = await drafted(self._command, self.question.inquiry.params)
        if problem:
            self.complain(problem)
        elif not self.editor.text:
            self.editor.text = self._drafted = text
            self._model = name
            self.say(self._wrong, (clean(f"drafted by {name}: read it before you send it"), "$text-muted"))

    def _images(self) -> list[Part]:
        return [part for part in parts(self.question.inquiry.params) if pictured(part)][:MOST]

    def told(self) -> Sequence[Piece]:
        params = self.question.inquiry.params
        said: list[Piece] = []
        system = params.get("systemPrompt")
        if isinstance(system, str):
            said += [(words("system "), "$accent"), lines(system), words("\n")]
        for role, text in texts(params):
            said += [(safe("{} ", brief(role, 20)), "$accent"), lines(text), words("\n")]
        return said[:-1]

    def _settings(self) -> Sequence[Piece]:
        """All else that the server wants of the model."""
        params = self.question.inquiry.params
        more = {name: params[name] for name in params if name not in ("messages", "systemPrompt", "_meta")}
        return [(clean("\n".join(pretty(more, limit=4000)), newlines=True), "$text-muted")] if more else []

    def made(self) -> Answer | None:
        text = self.draft()
        if not text:
            self.complain("The answer is empty. Type one, or decline.")
            return None
        return sampled(text, self._model)


class RootsScreen(InteractionScreen):
    """Roots: the folders that the server is told of, one a line."""

    def __init__(
        self, question: Question, *, others: Callable[[], int], about: SafeText, proposed: Sequence[str]
    ) -> None:
        proposal = "\n".join(proposed)
        self.editor = Editor(question.draft if isinstance(question.draft, str) else proposal)
        super().__init__(question, others=others, about=about, control=self.editor)

    def on_mount(self) -> None:
        self.set_focus(self.editor)

    def told(self) -> Sequence[Piece]:
        return [
            words("Folders or file:// URIs, one per line. Only these paths are sent, never file contents.")
        ]

    def made(self) -> Answer | None:
        return rooted(self.editor.text.splitlines())


def screen_for(
    question: Question, consents: Consents, *, others: Callable[[], int], about: SafeText
) -> InteractionScreen:
    """The screen that answers a question."""
    inquiry = question.inquiry
    if inquiry.method == SAMPLE:
        command = consents.command if consents.sampling == "command" else ()
        return SamplingScreen(question, others=others, about=about, command=command)
    if inquiry.method == ROOTS:
        return RootsScreen(question, others=others, about=about, proposed=consents.proposed())
    if inquiry.params.get("mode") == "url":
        return LinkScreen(question, others=others, about=about)
    return FormScreen(question, others=others, about=about)
