"""Copies requests and cancellations, or writes them to a file; and marks several requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from mcp_tui.client.results import free, save
from mcp_tui.protocol.client_violations import ClientViolation
from mcp_tui.protocol.evidence import cancellation_json
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.preferences import Look
from mcp_tui.tui.screens.dialog import MenuScreen
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.screens.parts.details import Payloads
from mcp_tui.tui.screens.parts.filtering import FilterLine
from mcp_tui.tui.screens.reading import ReadingScreen
from mcp_tui.tui.sources.scene import Scene
from mcp_tui.tui.widgets.request_table import RequestTable
from mcp_tui.view.comparing import Side, comparison
from mcp_tui.view.copies import COPIES
from mcp_tui.view.detail import document
from mcp_tui.view.durations import size
from mcp_tui.view.keys import hint, key_of
from mcp_tui.view.rows import plural, request, safe_name
from mcp_tui.view.text import SafeText, brief, safe, symbols, words

COMPARED: Final = 5000
"""The number of newest requests that are searched for the previous one."""

COPIED_BYTES: Final = 1_000_000
"""The maximum number of bytes of an answer that are copied or compared: terminals handle longer texts slowly, or not at
all.
"""


@dataclass(eq=False)
class Copying:
    """Copies and writes the selected text, the selected or marked requests, or the cancellations on the screen."""

    _screen: LayoutScreen
    _scene: Scene
    _table: RequestTable
    _payloads: Payloads
    _filtering: FilterLine
    other: Callable[[Request], Request | None] = lambda _: None
    """Returns the request to compare with, if it is not the previous one."""

    def mark(self) -> None:
        """Marks or unmarks the selected request, and moves to the next one."""
        screen = self._screen
        if self._table.mark():
            self._table.action_cursor_down()
            self._count_marks()
        else:
            screen.show_message(words("Requests of the server cannot be marked"))
        screen.forget()

    def mark_all(self) -> None:
        """Marks all requests that the filter shows, or clears the marks if all of them are marked."""
        self._table.mark_all()
        self._count_marks()
        self._screen.forget()

    def _count_marks(self) -> None:
        count = len(self._table.marks)
        keys = hint(
            "{request.cancel} cancel, {request.again} repeat, {request.export} export, {app.back} clear"
        )
        text = safe("{} marked: {}", plural(count), keys) if count else words("No marks left")
        self._screen.show_message(text, "muted", seconds=4)

    def requests(self) -> list[Request]:
        """Returns the marked requests on the screen, or else the selected one; says so if there is none."""
        row = self._table.selected
        rows = self._table.marked_rows or ([] if row is None else [row])
        if not rows:
            self._screen.refuse(words("No request selected"))
        return rows

    async def copy(self) -> None:
        """Copies the selected text, or the focused cancellations; otherwise asks which form of the selected request to
        copy.
        """
        row = self._copied_at_once()
        if row is None:
            return

        def chosen(kind: str) -> None:
            if kind != "raw":  # raw copies are never repeated without asking
                self._look.copied = kind
            self._copy_request(row, kind)

        title = safe("Copy {} {}", brief(str(row.id), 40), request(row))
        note = words("Secrets are masked.")
        await self._screen.ask(MenuScreen(title, [*COPIES.items()], note), chosen)

    def copy_again(self) -> None:
        """Copies as :meth:`copy` does; a request in the form that was copied last."""
        if (row := self._copied_at_once()) is not None:
            kind = self._look.copied
            self._copy_request(row, kind if kind in COPIES else "result")  # the stored kind may be unknown

    @property
    def _look(self) -> Look:
        return self._screen.app.preferences.look

    def _copied_at_once(self) -> Request | None:
        """Copies the selected text, or the focused cancellations; otherwise returns the selected request."""
        screen, text = self._screen, self._screen.get_selected_text()
        if text:
            self.copy_text(text, words("the text"))
        elif screen.focused is screen.panes["cancellations"]:
            if lines := self._cancellations():
                screen.app.copy_to_clipboard("".join(f"{line}\n" for line in lines))
                sentence = safe(
                    "Copied {} (if your terminal supports OSC 52).", plural(len(lines), "cancellation")
                )
                screen.show_message(sentence, "muted", seconds=3)
        elif (row := self._table.selected) is None:
            screen.refuse(words("No request selected"))
        else:
            return row
        return None

    def _copy_request(self, row: Request, kind: str) -> None:
        id_ = brief(str(row.id), 40)
        if kind in ("result", "raw", "both") and row.response_size > COPIED_BYTES:
            text = "The answer to request {} is too large to copy ({}). {} saves it to a file."
            self._screen.show_message(safe(text, id_, size(row.response_size), key_of("request.save")))
        elif copied := self._payloads.copied(row, kind, most=COPIED_BYTES):
            self.copy_text(copied, safe("of request {}: {}", id_, COPIES[kind]), raw=kind == "raw")
        elif kind in ("result", "raw"):
            text = "Request {} has no answer yet. {} copies something else of it."
            self._screen.show_message(safe(text, id_, key_of("request.copy")))
        else:
            self._screen.show_message(safe("The message of request {} is not available", id_))

    def copy_text(self, text: str, what: SafeText, *, raw: bool = False) -> None:
        """Copies a text by OSC 52. Not every terminal supports that, so the message also names the other way."""
        self._screen.app.copy_to_clipboard(text, raw=raw)
        sentence = "Copied {} (if your terminal supports OSC 52). {} saves to a file."
        self._screen.show_message(safe(sentence, what, key_of("request.save")), "muted", seconds=4)

    def save(self) -> None:
        """Writes the text that :meth:`copy` would copy to a file in the current folder."""
        screen, text = self._screen, self._screen.get_selected_text()
        if not screen.steady():
            return
        if text:
            self._write("mcp-tui-selection.txt", [text])
        elif screen.focused is screen.panes["cancellations"]:
            if lines := self._cancellations():
                self._write("mcp-tui-cancellations.jsonl", lines)
        elif (row := self._table.selected) is None:
            screen.refuse(words("No request selected"))
        else:
            text = json.dumps(self._payloads.export(row), indent=2)
            self._write(f"mcp-tui-{safe_name(str(row.id))}.json", [text])

    async def compare(self) -> None:
        """Compares two marked requests, or the selected one with the previous one of the same method and name."""
        rows, screen = self.requests(), self._screen
        if len(rows) == 1:
            repeated = self.other(rows[0])
            rows += self._one_before(rows[0]) if repeated is None else [repeated]
        if len(rows) == 1:
            screen.refuse(safe("No earlier {} to compare with", request(rows[0])))
        elif len(rows) > 2:
            screen.refuse(words("Mark two requests to compare"))
        elif large := next((row for row in rows if row.response_size > COPIED_BYTES), None):
            text = "The answer to request {} is too large to compare ({})"
            screen.refuse(safe(text, brief(str(large.id), 40), size(large.response_size)))
        elif rows:
            rows.sort(key=lambda row: row.called_at)
            before, after = (Side(row, self._payloads.export(row, most=COPIED_BYTES)) for row in rows)
            title = safe("{} and {} compared", before.row.id, after.row.id)
            await screen.ask(ReadingScreen(title, comparison(before, after, self._scene.now())))

    def _one_before(self, row: Request) -> Iterable[Request]:
        """Yields the last request before ``row`` with its method and name, if it is among the newest."""
        newest = islice(reversed(self._scene.requests.order), COMPARED)
        earlier = (each for each in newest if each.called_at < row.called_at)
        return islice((each for each in earlier if (each.method, each.name) == (row.method, row.name)), 1)

    async def export(self) -> None:
        """Writes the marked requests, or the selected one, to a file in one of two forms."""
        rows = self.requests()
        if not rows:
            return
        exported = self._payloads.export
        name = safe_name(str(rows[0].id)) if len(rows) == 1 else f"{len(rows)}-requests"

        def chosen(form: str) -> None:
            if form == "jsonl":
                self._write(f"mcp-tui-{name}.jsonl", map(json.dumps, map(exported, rows)))
            else:
                self._write(f"mcp-tui-{name}.md", document(rows, exported, now=self._scene.now()))

        choices = [
            ("jsonl", words("JSON lines: one request per line")),
            ("md", words("Markdown: for people")),
        ]
        note = words("Requests, responses, and late messages; secrets are masked")
        await self._screen.ask(MenuScreen(safe("Export {}", plural(len(rows))), choices, note), chosen)

    def _cancellations(self) -> list[str]:
        """Returns the cancellations on the screen as lines of ``log --json``, without secrets; says so if there are none."""
        secrets, now = self._scene.redactor(), self._scene.now()
        rows = self._filtering.cancellations.items()
        found = (
            each.as_json() if isinstance(each, ClientViolation) else cancellation_json(each, now)
            for each in rows
        )
        made = [json.dumps(each).encode() for each in found]
        if not made:
            self._screen.refuse(words("No cancellations to copy"))
        return [secrets.redact(each).decode() for each in reversed(made)]

    def _write(self, name: str, lines: Iterable[str]) -> None:
        """Writes a new file, readable only by its owner, with control characters as symbols, and says where it is."""
        place, text = free(Path(), name), symbols("".join(f"{line}\n" for line in lines))
        try:
            save(place, text.encode(errors="backslashreplace"))
        except OSError as error:
            why = brief(error.strerror or str(error))
            self._screen.refuse(safe("Cannot write {}: {}", str(place), why), "error")
        else:
            self._screen.show_message(safe("Written to {}", str(place)), "success")
