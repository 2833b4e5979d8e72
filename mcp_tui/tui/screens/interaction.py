"""The questions of a server: input in a form, a visit to a URL, an answer in place of a model, folders.

Everything that would be sent is shown before. *Decline* and *cancel* are separate answers; esc postpones the
question. If the server withdraws it, the dialog says so, and the typed text can be copied.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import urlsplit

from textual.containers import VerticalScroll

from mcp_tui.client.client_settings import ROOTS, SAMPLING
from mcp_tui.client.forms import written
from mcp_tui.client.interactions import Answer, Refusal
from mcp_tui.client.open_url import open_url
from mcp_tui.client.results import PartKind, parts
from mcp_tui.client.roots import missing_roots, root_uri, rooted
from mcp_tui.config.settings import Settings
from mcp_tui.protocol.inbound import ELICIT
from mcp_tui.protocol.messages import Json, as_object, as_text
from mcp_tui.protocol.values import frozen
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.screens.dialog import LOW_LINES, Dialog, Hint, KeyButton, Piece, place
from mcp_tui.tui.sources.questions import Question
from mcp_tui.tui.widgets.detail_pane import Detail
from mcp_tui.tui.widgets.editor import Editor
from mcp_tui.tui.widgets.form import Form
from mcp_tui.view.detail import Section, label
from mcp_tui.view.durations import elapsed, size
from mcp_tui.view.keys import LINK, QUESTION, key_of
from mcp_tui.view.lines import Line, line
from mcp_tui.view.text import SafeText, brief, clean, compact, fit, paragraphs, safe, words, wrap


@frozen
class LinkParts:
    """A URL in ``pieces``: the part before the host, the host, the part after it, and warnings.

    ``opens``: whether it may be opened.
    """

    pieces: list[Piece]
    opens: bool


def link_parts(url: str) -> LinkParts:
    """Splits ``url``. Only ``http`` and ``https`` open, and nothing with invisible characters."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port  # raises an error if the port is not valid
    except ValueError:
        return LinkParts([clean(url), (words("\nThe URL is not valid."), "$warning")], opens=False)
    web = parts.scheme in ("http", "https") and bool(host)
    local = parts.scheme != "http" or host in ("localhost", "127.0.0.1", "::1")
    plain = host.isascii() and not any(label.startswith("xn--") for label in host.split("."))
    visible = all(each.isprintable() and not each.isspace() for each in url)
    warnings = [
        (web, words("Only http and https URLs can be opened.")),
        ("@" not in parts.netloc, words("The URL contains credentials. Check the host before opening.")),
        (plain, safe("The host name uses look-alike characters: {}", _spelt(host))),
        (local, words("The connection is not encrypted (http).")),
        (visible, words("The URL contains invisible characters.")),
        ("\\" not in url, words("The URL contains a backslash, which browsers may read differently.")),
    ]
    user, at, place = parts.netloc.rpartition("@")
    start = url.find("//") + 2 + len(user) + len(at)
    end = start + len(place)
    # urlsplit drops tabs and line ends, so a part may be elsewhere in the text: then no host is bold, rather than a
    # wrong one.
    if url[start:end] != place:
        start = end = len(url)
    cautions = [(safe("\n{}", sentence), "$warning") for fine, sentence in warnings if not fine]
    visited = (clean(url[start:end]), "bold $accent")
    opens = web and visible and "\\" not in url
    return LinkParts([clean(url[:start]), visited, clean(url[end:]), *cautions], opens)


def _spelt(host: str) -> str:
    """Returns the ASCII form of a host with other letters, or the decoded form of an ASCII host."""
    try:
        return host.encode().decode("idna") if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return host


class InteractionScreen(Dialog[Answer | None]):
    """One question. Dismisses with the answer, or ``None`` if it was postponed or is over.

    Args:
        question: the question, which may end while the screen is open.
        control: the widget to fill in, if any.
    """

    BINDINGS = bindings(QUESTION)

    TICK = 0.1

    LABEL: ClassVar[SafeText] = words("")
    """The label of the control, if it needs one."""

    SEND: ClassVar[SafeText] = words("Send")

    HINTS = [("app.back", "Later")]

    def __init__(self, question: Question, control: Form | Editor | None = None) -> None:
        self._control = control
        self.question = question
        self._waited = 0.0
        self._words = place()
        self._server_text = VerticalScroll(self._words, can_focus=False, classes="-words")
        self._wrong = place("wrong")
        self._over = place("over")
        inside = self._over, self._server_text, place("what", self.LABEL), control, self._wrong
        super().__init__(*filter(None, inside))

    # -- the content -----------------------------------------------------------------------------------------

    def heading(self) -> SafeText:
        question = self.question
        more = safe(" · {:,} more", question.others) if question.others else words("")
        if not question.over:
            self._waited = max(0.0, self.read_at(self.now()) - question.inquiry.at)
        waited = elapsed(self._waited)
        server = brief(question.inquiry.server, 40) or words("the server")
        return self.fitted(words(""), safe("{} {}", server, question.wants), safe("{}  {}", more, waited))

    def buttons(self) -> Sequence[KeyButton]:
        answers = [
            KeyButton("question.send", self.SEND, "accept"),
            KeyButton("question.decline", words("Decline"), "decline"),
        ]
        if self.question.inquiry.method == ELICIT:
            answers.append(KeyButton("question.cancel", words("Dismiss"), "cancel"))
        return answers

    def server_words(self) -> Sequence[Piece]:
        """Returns the server's words."""
        return []

    def draft(self) -> str:
        """Returns the typed text, without secrets, for copying."""
        if isinstance(self._control, Form):
            arguments = self._control.copyable()
            return written(arguments) if arguments else ""
        return "" if self._control is None else self._control.text.strip()

    def made(self) -> Answer | None:
        """Returns the filled-in answer; or ``None``, and shows the problems."""
        return None

    def hints(self) -> Sequence[Hint | None]:
        if self.question.over:
            return [("question.copy", "Copy answer") if self.draft() else None, ("app.back", "Close")]
        return [("question.on", "Scroll") if self._server_text.max_scroll_y else None, *self.HINTS]

    def on_mount(self) -> None:
        self.question.shown = True
        if isinstance(self._control, Form):
            self._control.focus_first()
        elif self._control is not None:
            self.set_focus(self._control)
        server_text, about = self.server_words(), self.question.about
        source_label = safe("for {}\n" if server_text else "for {}", about) if about else words("")
        self.say(self._words, (source_label, "$text-muted"), *server_text)

    def on_resize(self) -> None:
        self._share_space()

    def _share_space(self) -> None:
        """Divides the lines between the server's words and the control; the keys always stay visible."""
        around = 5 if self.size.height < LOW_LINES else 7
        space = self.size.height - around - max(1, self._key_line.size.height)
        share = max(2, space if self._control is None else space // 2)
        self._server_text.styles.max_height = share
        if self._control is not None:
            self._control.styles.max_height = max(3, space - share)
        if isinstance(self._control, Form):
            self._control.limit(space - share - 1)

    def action_scroll_words(self, way: int) -> None:
        """Pages through the server's words."""
        height = self._server_text.size.height
        height -= height > 3  # a line of the previous page stays visible
        self._server_text.scroll_relative(y=way * height, animate=False)

    def tick(self) -> None:
        over = self.question.over
        if over:
            self.drop_buttons()
            self.say(self._over, safe("{}. No answer was sent.", f"{over[0].upper()}{over[1:]}"))
        super().tick()
        self._share_space()

    def now(self) -> float:
        """Returns monotonic seconds, as inquiries count them."""
        return time.monotonic()

    # -- keys ------------------------------------------------------------------------------------------------

    def action_accept(self) -> None:
        """Sends the answer."""
        if not self.question.over:
            self._answer(self.made())

    def action_decline(self) -> None:
        """Declines."""
        self._answer(DECLINED[self.question.inquiry.method])

    def action_cancel_question(self) -> None:
        """Answers that no decision was made, if the protocol has such an answer."""
        if self.question.inquiry.method == ELICIT:
            self._answer({"action": "cancel"})

    def _answer(self, answer: Answer | None) -> None:
        # The server may have withdrawn the question while this key was being handled.
        if answer is not None and not self.question.over:
            self.dismiss(answer)

    def action_close(self) -> None:
        """Postpones the question."""
        control = self._control
        self.question.draft = control.filled if isinstance(control, Form) else control and control.text
        self.dismiss(None)

    def action_copy_draft(self) -> None:
        """Copies the typed text."""
        text = self.draft()
        if text:
            self.app.copy_to_clipboard(text)
            self.say(self._wrong, (words("Copied (if your terminal supports OSC 52)"), "$text-muted"))

    def complain(self, text: str) -> None:
        """Shows a problem."""
        self.say(self._wrong, (brief(text, 400), "$error"))


class FormScreen(InteractionScreen):
    """Elicitation in form mode: the server's message and fields for its schema."""

    HINTS = [("form.json", "JSON"), ("app.back", "Later")]

    def __init__(self, question: Question) -> None:
        filled = question.draft if isinstance(question.draft, dict) else None
        schema = question.inquiry.params.get("requestedSchema")
        way = safe("There is nothing to fill in. {} accepts.", key_of("question.send"))
        self.form = Form(schema, filled=filled, formats=True, masks=True, vacant=way)
        super().__init__(question, self.form)

    def server_words(self) -> Sequence[Piece]:
        message = lines(self.question.inquiry.params.get("message"))
        secret = [brief(each.name, 40) for each in self.form.layout_.fields if each.secret]
        warning = safe(
            "\nThis form asks for a secret: {}. MCP forbids that. Decline if in doubt.", ", ".join(secret[:5])
        )
        return [message, (warning, "$warning")] if secret else [message]

    def made(self) -> Answer | None:
        content = self.form.submit()
        return None if content is None else {"action": "accept", "content": content}


class LinkScreen(InteractionScreen):
    """Elicitation in URL mode: the whole URL, its host in bold. Only a key opens it."""

    BINDINGS = bindings(LINK)

    # An enter that was typed before the question appeared postpones it, and opens nothing.
    AUTO_FOCUS = "#later"

    SEND = words("I opened it")
    HINTS = [("link.copy", "Copy")]

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.url = as_text(question.inquiry.params.get("url"))
        self.link = link_parts(self.url)
        self._opening = False

    def server_words(self) -> Sequence[Piece]:
        return [lines(self.question.inquiry.params.get("message")), words("\n\n"), *self.link.pieces]

    def buttons(self) -> Sequence[KeyButton]:
        opens = [KeyButton("link.open", words("Open"), "open")] if self.link.opens else []
        return [*opens, *super().buttons(), KeyButton("app.back", words("Later"), "later", "close")]

    def draft(self) -> str:
        return self.url

    def made(self) -> Answer | None:
        return {"action": "accept"}

    def action_open(self) -> None:
        """Opens the URL in the browser and tells the server that the person consented."""
        if self.link.opens and not self.question.over and not self._opening and self.meant():
            self._opening = True
            self.run_worker(self._open, exit_on_error=False)

    async def _open(self) -> None:
        # Accepting means that the person went there, so it is sent only after a browser has the URL.
        opened = await asyncio.to_thread(open_url, self.url)
        self._opening = False
        if not opened:
            self.complain(
                f"No browser found. {key_of('link.copy')} copies the URL; "
                f"{key_of('question.send')} accepts after you opened it."
            )
        else:
            self._answer({"action": "accept"})


QUESTION_CHARACTERS: Final = 8_000
"""The maximum number of shown characters of a text of the server."""


def lines(value: Json) -> SafeText:
    """Returns a text of the server as lines."""
    text = value if isinstance(value, str) else "" if value is None else str(as_object(value))
    return clean("\n".join(paragraphs(text, limit=QUESTION_CHARACTERS)), newlines=True)


FIELD_NAME_CELLS: Final = 15
"""The width of a name next to a value, in cells."""


def beside(name: str, value: Sequence[SafeText], key: object = None) -> list[Line]:
    """Returns the lines of a name and, in a second column, of its value."""
    pairs = zip_longest(wrap(brief(name, 40), FIELD_NAME_CELLS), value, fillvalue=words(""))
    return [line((fit(left, FIELD_NAME_CELLS + 2), "accent"), right, key=key) for left, right in pairs]


class Prompted(Detail, can_focus=False):
    """Everything that the server would send to a model, with its images."""


class SamplingScreen(InteractionScreen):
    """Sampling: everything that the server would send to a model, and the answer, typed or drafted by a command."""

    LABEL = words("Your answer, sent as the model's response")

    def __init__(self, question: Question, command: Sequence[str] = ()) -> None:
        self.editor = Editor(question.draft if isinstance(question.draft, str) else "")
        super().__init__(question, self.editor)
        self._drafted = ""
        self._command = command
        self._model = "a person"

    def on_mount(self) -> None:
        prompted = Prompted()
        self._server_text.mount(prompted)
        prompted.show(words(""), [Section(words(""), (*self._messages(), *self._settings()))])
        if self._command and not self.editor.text:
            self.run_worker(self._draft, exit_on_error=False)

    def on_text_area_changed(self) -> None:
        if self.editor.text != self._drafted:
            self.say(self._wrong)

    async def _draft(self) -> None:
        name = self._command[0].rpartition("/")[2]
        self.say(self._wrong, (clean(f"Waiting for {name} …"), "$text-muted"))
        text, problem = await drafted(self._command, self.question.inquiry.params)
        if problem:
            self.complain(problem)
        # Text that a person typed while the command was running stays.
        if text and not self.editor.text:
            self.editor.text = self._drafted = text
            self._model = name
        if not problem and self._drafted:
            self.say(self._wrong, (clean(f"Draft by {name}. Review it before sending."), "$text-muted"))

    def _messages(self) -> Iterator[Line]:
        """Yields the messages for a model, by role."""
        params = self.question.inquiry.params
        if isinstance(system := params.get("systemPrompt"), str):
            yield from beside("system prompt", paragraphs(system, limit=QUESTION_CHARACTERS))
        for part in parts({"messages": params.get("messages")})[:-1]:
            if part.sort is PartKind.TEXT:
                yield from beside(part.role, paragraphs(part.text, limit=QUESTION_CHARACTERS))
            elif part.sort is PartKind.WHOLE:
                yield from beside(part.role, compact(part.value))
            else:
                yield from beside(part.role, [label(replace(part, role=""))], key=part)

    def _settings(self) -> Iterator[Line]:
        """Yields all other settings of the server for the model, by name."""
        params = self.question.inquiry.params
        preferences = as_object(params.get("modelPreferences"))
        elsewhere = {"messages", "systemPrompt", "_meta", *(["modelPreferences"] if preferences else [])}
        for name, value in {**params, **preferences}.items():
            if name not in elsewhere:
                shown = (
                    paragraphs(value, limit=QUESTION_CHARACTERS) if isinstance(value, str) else compact(value)
                )
                yield from beside(re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower(), shown)

    def made(self) -> Answer | None:
        text = self.draft()
        if not text:
            self.complain("The answer is empty. Type one, or decline.")
            return None
        content: Answer = {"type": "text", "text": text}
        return {"role": "assistant", "content": content, "model": self._model, "stopReason": "endTurn"}


class RootsScreen(InteractionScreen):
    """Roots: the folders to send, one per line."""

    LABEL = words("Roots to send")

    def __init__(self, question: Question, folders: Sequence[str]) -> None:
        proposal = "\n".join(proposed_roots(folders))
        self.editor = Editor(question.draft if isinstance(question.draft, str) else proposal)
        self.editor.offer()  # typing replaces a proposal
        self._reported: list[str] = []
        super().__init__(question, self.editor)

    def server_words(self) -> Sequence[Piece]:
        text = "Folders or file:// URIs, one per line. Only these paths are sent, never file contents."
        return [words(text)]

    def made(self) -> Answer | None:
        folders = [each.strip() for each in self.editor.text.splitlines() if each.strip()]
        if (missing := missing_roots(folders)) and self._reported != folders:
            self._reported = folders
            self.complain(f"No such folder: {missing[0]}. Send again to send it all the same.")
            return None
        return rooted(folders)


def screen_for(question: Question, settings: Settings) -> InteractionScreen:
    """Returns the screen for a question."""
    inquiry = question.inquiry
    if inquiry.method == SAMPLING:
        return SamplingScreen(
            question, settings.sampling.command if settings.sampling.mode == "command" else ()
        )
    if inquiry.method == ROOTS:
        return RootsScreen(question, settings.roots)
    if inquiry.params.get("mode") == "url":
        return LinkScreen(question)
    return FormScreen(question)


# -- answers ---------------------------------------------------------------------------------------------------


def proposed_roots(folders: Sequence[str]) -> list[str]:
    """Returns the URIs of folders; of the working directory if there are none."""
    return [*map(root_uri, folders)] or [Path.cwd().as_uri()]


DECLINED: Final[dict[str, Answer]] = {
    ELICIT: {"action": "decline"},
    SAMPLING: Refusal("User rejected sampling request"),
    ROOTS: Refusal("User declined to share roots"),
}
"""The answers that decline, by method."""

SAMPLING_SECONDS: Final = 120.0
"""The maximum number of seconds of the command for sampling."""

OUTPUT_BYTES: Final = 1_000_000
"""The maximum number of bytes of its output."""


async def drafted(command: Sequence[str], params: dict[str, Json]) -> tuple[str, str]:
    """Runs the person's command for a sampling request; returns the draft and the error.

    The command gets the request's ``params`` as JSON on stdin and prints the text. It runs without a shell.
    """
    # Nothing is inherited: the command's output would appear on the screen, and it would read keys from it.
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=nothing, start_new_session=True
        )
    except (OSError, ValueError) as error:
        return "", f"{command[0]} cannot be started: {getattr(error, 'strerror', None) or error}"
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(SAMPLING_SECONDS):
            process.stdin.write(json.dumps(params).encode())
            process.stdin.close()  # after everything was written
            try:
                out = await process.stdout.readexactly(OUTPUT_BYTES + 1)
            except asyncio.IncompleteReadError as end:
                out = end.partial
                await process.wait()
    except TimeoutError:
        return "", f"{command[0]} said nothing for {SAMPLING_SECONDS:g} s"
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with all processes that it started
            # Nobody hears of the end while output is unread: the event loop stops reading when it has enough.
            while await process.stdout.read(OUTPUT_BYTES):
                pass
            await process.wait()
    if len(out) > OUTPUT_BYTES:
        cut = out[:OUTPUT_BYTES].decode("utf-8", "replace").strip()
        return cut, f"{command[0]} wrote more than {size(OUTPUT_BYTES)}. The rest was dropped."
    if process.returncode:
        return "", f"{command[0]} ended with {process.returncode}"
    return out.decode("utf-8", "replace").strip(), ""
