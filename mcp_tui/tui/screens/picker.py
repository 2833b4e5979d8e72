"""The start without a server: one field for where it is."""

from __future__ import annotations

import re
import shlex
import sys

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static

from mcp_tui.client.settings import HttpTarget, StdioTarget, Target
from mcp_tui.tui.view.text import brief

_URL = re.compile(r"https?://[^/\s]", re.IGNORECASE)


def read_target(text: str) -> Target:
    """The server that a line means: a URL, ``demo``, or a command with its arguments as a shell would part them.

    Raises:
        ValueError: nothing is there, or a quotation mark is open; the text is one sentence.
    """
    text = text.strip()
    if text.lower() == "demo":
        return StdioTarget(command=(sys.executable, "-m", "mcp_tui.demo"), name="demo")
    if _URL.match(text):
        if len(text.split()) > 1:
            raise ValueError("a URL stands alone")
        return HttpTarget(url=text)
    try:
        command = tuple(shlex.split(text))
    except ValueError:
        raise ValueError("a quotation mark is not closed") from None
    if not command:
        raise ValueError("type a URL, a command, or demo")
    return StdioTarget(command=command)


class PickerScreen(Screen[Target | None]):
    """Dismisses the target, or ``None`` on quitting."""

    DEFAULT_CSS = """
    PickerScreen {
        align: center middle;
        & > Vertical {
            width: 68; max-width: 96%; height: auto;
            border: round $primary; padding: 1 2;
        }
        & Input { margin: 1 0; }
        & Static { color: $text-muted; }
        & #said { color: $error; height: auto; }
    }
    """

    BINDINGS = [Binding("ctrl+c", "app.quit", show=False)]

    def compose(self) -> ComposeResult:
        box = Vertical()
        box.border_title = Content("mcp-tui")
        with box:
            yield Static(Content("Which server? A URL, a command, or demo."), markup=False)
            yield Input(placeholder="npx -y @modelcontextprotocol/server-everything", id="target")
            yield Static(id="said", markup=False)
            yield Static(Content("enter connect   ^q quit"), markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        try:
            target = read_target(event.value)
        except ValueError as error:
            said = brief(str(error))
            self.query_one("#said", Static).update(Content(f"{said[:1].upper()}{said[1:]}."))
            return
        self.dismiss(target)
