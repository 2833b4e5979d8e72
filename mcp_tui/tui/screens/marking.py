"""What is done to several marked requests at once, and what is written of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from mcp_tui.client.results import free, save
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.keys.now import hint
from mcp_tui.tui.screens.looking import Looking
from mcp_tui.tui.view.cancellations import cancellation_json
from mcp_tui.tui.view.headless import redactor
from mcp_tui.tui.view.listing import plural, safe_name
from mcp_tui.tui.view.markdown import document
from mcp_tui.tui.view.text import SafeText, brief, words


def written(path: str, text: str) -> tuple[SafeText, str]:
    """Write a file for its owner alone into the folder that mcp-tui was started in; what to say of it, in which tone."""
    place = free(Path(), path)
    try:
        save(place, text.encode("utf-8", "replace"))
    except OSError as error:
        return SafeText(f"{place} cannot be written: {brief(error.strerror or str(error))}"), "error"
    return SafeText(f"written to {place}"), "success"


def lines_of(rows: Sequence[Request], export: Callable[[Request], str]) -> str:
    """Requests as JSON lines, one each."""
    return "".join(f"{export(row)}\n" for row in rows)


class Marking(Looking):
    """The part of a screen that marks requests, and copies and writes requests and cancellations."""

    def action_mark(self) -> None:
        """Mark the selected request or take its mark away, and go on to the next."""
        if self.table.mark():
            self.table.action_cursor_down()
            count = len(self.table.marks)
            keys = hint(
                "{request.cancel} cancels, {request.again} repeats, {request.export} exports, {app.back} clears"
            )
            said = SafeText(f"{plural(count)} marked: {keys}")
            self.keys.tell(said if count else words("nothing is marked any more"), "muted", seconds=4)
        else:
            self.keys.tell(words("only requests of ours can be marked"))
        self.forget()

    def acted_on(self) -> list[Request]:
        """The marked requests that are shown, or else the selected one."""
        marked = self.table.marked_rows
        row = self.table.selected
        return marked or ([] if row is None else [row])

    def one_line(self, row: Request) -> str:
        """A request with its answer as one line of JSON, without secrets."""
        return json.dumps(json.loads(self.payloads.export(row)), ensure_ascii=True)

    def action_copy(self) -> None:
        """Copy the selected request; in the cancellations, all that are shown."""
        if self.focused is not self.cancellations:
            super().action_copy()
            return
        rows = self._cancellations()
        if rows:
            self.host.copy_to_clipboard(self._cancelled(rows))
            said = f"{len(rows):,} cancellations are copied, if your terminal lets programs copy"
            self.keys.tell(SafeText(said), "muted", seconds=3)

    def action_save(self) -> None:
        """Write the selected request to a file; in the cancellations, all that are shown."""
        if self.focused is not self.cancellations:
            super().action_save()
            return
        rows = self._cancellations()
        if rows:
            self.keys.tell(*written("mcp-tui-cancellations.jsonl", self._cancelled(rows)))

    def _cancellations(self) -> list[Request]:
        rows = [*self.cancelled.items()][::-1]
        if not rows:
            self.keys.tell(words("no cancellation is shown"))
        return rows

    def _cancelled(self, rows: Sequence[Request]) -> str:
        """Cancellations as JSON lines, in the order in which they are shown, without secrets."""
        secrets = redactor(self.scene.target)
        lines = (secrets.redact(cancellation_json(row).encode()).decode(errors="replace") for row in rows)
        return "".join(f"{each}\n" for each in lines)

    async def action_export(self) -> None:
        """Write the marked requests, or the selected one, to a file, in one of two forms."""
        from mcp_tui.tui.screens.menu import MenuScreen

        rows = self.acted_on()
        if not rows:
            self.keys.tell(words("no request is selected"))
            return
        name = safe_name(str(rows[0].id)) if len(rows) == 1 else f"{len(rows)}-requests"

        def chosen(form: str | None) -> None:
            if form == "jsonl":
                self.keys.tell(*written(f"mcp-tui-{name}.jsonl", lines_of(rows, self.one_line)))
            elif form == "md":
                text = document(rows, self.one_line, now=self.scene.now())
                self.keys.tell(*written(f"mcp-tui-{name}.md", text))

        choices = [("jsonl", words("JSON lines: one request a line")), ("md", words("Markdown: to read"))]
        note = words("Requests, answers and what came late; secrets are left out")
        await self.ask(MenuScreen(SafeText(f"Export {plural(len(rows))}"), choices, note), chosen)
