"""The inputs that a config file asks for before its server can start; secrets are hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_tui.config.definitions import Input as AskedInput
from mcp_tui.tui.screens.dialog import Dialog, Hint, place
from mcp_tui.tui.view.text import brief, clean, safe, words
from mcp_tui.tui.widgets.editor import LineInput


class InputsScreen(Dialog[dict[str, str] | None]):
    """Dismisses the answers by the ids of the inputs, or ``None`` on esc. They are not kept here.

    ``name`` is that of the server; without ``ask`` it is the whole title. ``typed`` are the first values of the fields.
    """

    OF_SERVER = False

    def __init__(
        self,
        name: str,
        asked: Sequence[AskedInput],
        *,
        ask: bool = True,
        typed: Mapping[str, str] | None = None,
    ) -> None:
        self._done: Hint = ("enter", "Continue" if ask else "Save")
        self._fields: list[tuple[AskedInput, LineInput]] = []
        self._wrong = place("wrong")
        shown: list[Widget] = []
        for each in asked:
            choices = f" ({', '.join(each.options)})" if each.options else ""
            label = brief(f"{each.description or each.id}{choices}", 400)
            hidden = "required, hidden while you type" if each.secret else "required"
            value = (typed or {}).get(each.id, each.default or "")
            field = LineInput(value, hidden, password=each.secret, compact=True)
            self._fields.append((each, field))
            shown += [Static(label, markup=False, classes="-asked"), field]
        title = safe("Inputs for {}", brief(name, 40)) if ask else brief(name, 40)
        super().__init__(VerticalScroll(*shown, can_focus=False), self._wrong, title=title)

    def hints(self) -> Sequence[Hint]:
        more: list[Hint] = [("tab", "Next")] if len(self._fields) > 1 else []
        return [self._done, *more, ("app.back", "Back")]

    def on_mount(self) -> None:
        self._fields[0][1].focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        for each, input_ in self._fields:
            if input_.value and (not each.options or input_.value in each.options):
                continue
            if input_.value:
                choices = ", ".join(map(clean, each.options))
                self.say(self._wrong, safe("{} is one of {}.", clean(each.id), choices))
            elif input_ is event.input:
                self.say(self._wrong, safe("{} is empty.", brief(each.id, 60)))
            input_.focus()
            return
        self.dismiss(self.typed)

    @property
    def typed(self) -> dict[str, str]:
        """The values of the fields, by the ids of the inputs."""
        return {each.id: input_.value for each, input_ in self._fields}

    def on_input_changed(self) -> None:
        self.say(self._wrong, words(""))
