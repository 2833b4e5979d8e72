"""The data of requests and messages, and the content of the pane Detail.

Messages that we sent are shown without the secrets that the journal masks: a person who sees the screen, or a picture
of it, must not learn them. Messages of the server are shown unchanged; the journal, copies, and files mask them.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Final

from pydantic_core import from_json
from textual.cache import LRUCache

from mcp_tui.client.results import differences, parts
from mcp_tui.client.schemas import Problem
from mcp_tui.journal.records import FrameHead
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import Kind, RequestId
from mcp_tui.protocol.messages import Json, as_object, bytes_text, read_json
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.server_requests import ServerRequest
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.sources.scene import Scene
from mcp_tui.tui.widgets.detail_pane import Detail
from mcp_tui.tui.widgets.request_table import RequestTable
from mcp_tui.view import copies, detail, durations
from mcp_tui.view.catalogue_entries import Entry, entry_sections
from mcp_tui.view.detail import Section, answer_sections, params_sections, plain, server_request_sections
from mcp_tui.view.keys import key_of
from mcp_tui.view.lines import Line, line
from mcp_tui.view.rows import logged, request
from mcp_tui.view.shell_command import headless_command, hidden
from mcp_tui.view.text import NOTHING, SafeText, brief, paragraphs, safe, words
from mcp_tui.view.wire import JSON_FRAME_BYTES, frame_sections, parsed, reason, wire_line

HEAD_ONLY_BYTES: Final = 4 * 1024 * 1024
"""The number of bytes of a frame above which only its start is read, so that the screen does not freeze."""


PayloadView = tuple[list[Section], SafeText, list[Problem]]
"""The sections of a request's payloads, its headless command, and its violations of the output schema."""


@dataclass(eq=False)
class Payloads:
    """The payloads of requests; the view of the last one is stored.

    ``server`` is the server's name if there are several; empty otherwise.
    """

    _scene: Scene
    server: str = ""
    _known: tuple[object, PayloadView] = None, ([], NOTHING, [])

    def of(self, row: Request) -> PayloadView:
        """Returns the view of ``row``; the same objects until another payload arrives."""
        late = tuple(each.seq for each in row.late)
        known = row.id, type(row.id), row.request_seq, row.response_seq, late
        if known != self._known[0]:
            self._known = known, self._made(row)
        return self._known[1]

    def params(self, row: Request) -> dict[str, Json] | None:
        """Returns the params of ``row`` as sent, without ``_meta``; ``None`` if they are not stored."""
        message = as_object(parsed(self._read(row.request_seq)))
        params = as_object(message.get("params"))
        return {name: value for name, value in params.items() if name != "_meta"} if message else None

    def answer(self, row: Request) -> bytes | None:
        """Returns the frame that answered ``row``, or the last late one; ``None`` if it is not stored."""
        seqs = [row.response_seq, *(each.seq for each in reversed(row.late))]
        return self._read(next(filter(None, seqs), 0))

    def result(self, row: Request) -> str:
        """Returns the answer to ``row`` as text, without secrets; empty if there is none."""
        raw = self.answer(row)
        return "" if raw is None else plain(parsed(self._scene.redactor().redact(raw)))

    def export(self, row: Request, *, most: float = math.inf) -> dict[str, object]:
        """Returns request, answer, and late messages as JSON; see :func:`mcp_tui.view.copies.exported`."""
        server: dict[str, object] = {"server": self.server} if self.server else {}
        return server | copies.exported(row, self._scene.payload, self._scene.redactor(), most=most)

    def copied(self, row: Request, kind: str, *, most: int) -> str:
        """Returns a request in one form of :data:`mcp_tui.view.copies.COPIES`, without secrets; empty if there is none.

        Messages of more than ``most`` bytes are left out.
        """
        if kind in ("result", "raw"):
            return self.result(row)
        scene = self._scene
        found, secrets, now = self.export(row, most=most), scene.redactor(), scene.now()
        match kind:
            case "command":
                return copies.command(row, found, scene.target, secrets)
            case "request":
                return json.dumps(found["request"], indent=2) if "request" in found else ""
            case "issue":
                facts = scene.facts(now)
                server = ("server", facts.name), ("protocol", facts.revision), ("transport", facts.transport)
                target = scene.target
                lines = copies.issue(row, found, server=server, target=target, secrets=secrets, now=now)
                return "".join(f"{line}\n" for line in lines)
            case _:
                return json.dumps(found, indent=2)

    def _read(self, seq: int) -> bytes | None:
        return self._scene.payload(seq) if seq else None

    def _made(self, row: Request) -> PayloadView:
        broken: list[Problem] = []
        sections: list[Section] = []
        # the answer before the progress that arrived with it
        late = sorted(row.late, key=lambda each: each.kind is Kind.PROGRESS)
        for seq, kind in ((row.response_seq, None), *((each.seq, each.kind) for each in late)):
            raw = self._read(seq)
            if raw is None:
                continue
            if len(raw) > HEAD_ONLY_BYTES:
                sections.append(_unread(raw))
                continue
            message = as_object(text := parsed(raw))
            error = row.state is State.FAILED if kind is None else "error" in message
            members = ("error",) if error else ("result", "params")
            body = next((message[name] for name in members if name in message), text)
            if kind is None and row.method == "tools/call" and not error:
                broken = differences(self._scene.catalogue.promised(row.name), body)
            shown = answer_sections(body, error=error, broken=broken if kind is None else ())
            sections.extend(shown if kind is None else detail.late_sections(shown, kind))
        params = self.params(row)
        if params is None:
            return sections, NOTHING, broken
        secrets, target = self._scene.redactor(), self._scene.target
        sections.extend(detail.params_sections(hidden(params, secrets)))
        command = NOTHING if target is None else headless_command(row.method, params, target, secrets)
        return sections, command, broken


def _unread(raw: bytes) -> Section:
    """Returns the start of a large answer."""
    text = bytes_text(raw[:200_000])
    with suppress(ValueError):
        text = plain(from_json(text, allow_partial="trailing-strings"))
    shown = [line(each) for each in paragraphs(text[:4000])]
    size = durations.size(len(raw))
    sentence = line((safe("{} – truncated; {} opens all of it", size, key_of("detail.open")), "muted"))
    return Section(words("Answer"), (sentence, *shown))


CHECKED_FRAME_BYTES: Final = 64 * 1024
"""The number of bytes of a frame above which it is checked against the schema only when it is opened."""

SEARCHED_ROUNDS: Final = 1000
"""The number of newest requests that are searched for the one of a later round, or of our answer."""

_NOTED_MESSAGES: Final = {
    ("notifications/cancelled", "out"): "requestId",
    ("notifications/progress", "in"): "progressToken",
}


@dataclass(eq=False)
class Belonging:
    """Decides whether a frame belongs to a request: to its rounds, progress, cancel, errands, or the server's requests.

    ``family`` returns the current errands and server's requests, ``read_frame`` the bytes of a frame: our answer
    names its request only in its content.
    """

    _row: Request
    _family: Callable[[], tuple[Iterable[Request], Iterable[ServerRequest]]]
    _read_frame: Callable[[int], bytes | None]
    _version: int = -1
    _ids: AbstractSet[tuple[type, object]] = frozenset()
    _theirs: AbstractSet[tuple[type, object]] = frozenset()
    _seqs: AbstractSet[int] = frozenset()

    def __call__(self, head: FrameHead | None) -> bool:
        if head is None:
            return False
        self._gather()
        if head.seq in self._seqs or (type(head.stream), head.stream) in self._ids:
            return True
        id_: object = head.id
        ours = bool(head.method) is (head.direction == "out")
        if not ours and not head.method and id_ is None and self._theirs and head.size <= CHECKED_FRAME_BYTES:
            id_ = as_object(parsed(self._read_frame(head.seq))).get("id")
        return (type(id_), id_) in (self._ids if ours else self._theirs)

    def _gather(self) -> None:
        """Collects the ids and frames of the request and its related messages, after each change of it."""
        if self._version == self._row.version:
            return
        self._version = self._row.version
        errands, server_requests = self._family()
        rows = (self._row, *errands)
        # With their types: 1, 1.0, and true are equal in Python, but are different ids in JSON.
        self._ids = {(type(each), each) for row in rows for each in (row.id, *row.round_ids)}
        self._theirs = {(type(each.request_id), each.request_id) for each in server_requests}
        for row in rows:
            seqs = {each.seq for each in (*row.late, *row.history)}
            self._seqs = (self._seqs | seqs | {row.request_seq}) - {0}


@dataclass(eq=False)
class Messages:
    """The messages of one scene, their requests, and their violations of the schema."""

    _scene: Scene
    _table: RequestTable
    _verdicts: LRUCache[int, list[Problem]] = field(default_factory=lambda: LRUCache(4096))

    # -- their requests ----------------------------------------------------------------------------------------

    def family(self, row: Request) -> tuple[list[Request], list[ServerRequest]]:
        """Returns the errands of a request, and the server's requests that belong to it."""
        items = self._table.outline.children(row)
        errands = [item.row for item in items if item.row is not None and item.round_ is None]
        return errands, [item.server_request for item in items if item.server_request is not None]

    def belonging(self, row: Request) -> Callable[[FrameHead | None], bool]:
        """Returns a test for frames that belong to a request."""
        return Belonging(row, lambda: self.family(row), self._scene.payload)

    def row_of(self, head: FrameHead) -> Request | None:
        """Returns our request of a frame, by its id or by its stream."""
        theirs = bool(head.method) is (head.direction == "in")
        id_ = head.stream if theirs or head.id is None or isinstance(head.id, float) else head.id
        return None if id_ is None else self._row(id_)

    def _row(self, id_: RequestId) -> Request | None:
        """Returns the request that was sent with an id, in its first or a later round."""
        row = self._scene.requests.get(id_)
        if row is not None or type(id_) is not int:
            return row
        newest = islice(reversed(self._scene.requests.order), SEARCHED_ROUNDS)
        return next((each for each in newest if id_ in each.round_ids), None)

    # -- the schema --------------------------------------------------------------------------------------------

    def line(self, number: int, width: int) -> Line:
        """Returns the line of a frame, with its request, and a mark if it breaks the schema."""
        head = self._scene.wire.item(number)
        row, broken = (None, None) if head is None else (self._named(head), self.broken(head))
        return wire_line(head, width, origin=self._scene.origin, row=row, broken=broken)

    def _named(self, head: FrameHead) -> Request | None:
        """Returns our request that a line of the wire names."""
        if head.id is None and head.size <= 4096 and (head.method, head.direction) in _NOTED_MESSAGES:
            params = as_object(as_object(parsed(self._scene.payload(head.seq))).get("params"))
            id_ = params.get(_NOTED_MESSAGES[head.method, head.direction])
            return self._row(id_) if messages.is_request_id(id_) else None
        asked = head.direction == "in" and head.method
        return None if asked or head.id is None else self.row_of(head)

    def broken(self, head: FrameHead, *, most: int = CHECKED_FRAME_BYTES) -> list[Problem] | None:
        """Returns a frame's violations of the schema of its revision; ``None`` if it is not checked."""
        found = self._verdicts.get(head.seq)
        if found is not None:
            return found
        revision = self._scene.facts(self._scene.now()).revision
        raw = None if head.size > most or not revision else self._scene.payload(head.seq)
        if raw is None or len(raw) > most:
            return None
        # This loads the official schemas.
        from mcp_tui.client.official_schema import problems

        try:
            message = read_json(raw)
        except ValueError:
            found = [Problem((), "not JSON")]
        else:
            broken = problems(message, revision, method=self._answered(head))
            found = [each for each in broken if not each.advisory]
        self._verdicts[head.seq] = found
        return found

    def _answered(self, head: FrameHead) -> str:
        """Returns the method of the request that a response answers."""
        if head.method:
            return ""
        if head.direction == "in":
            row = self.row_of(head)
            return "" if row is None else row.method
        asked = self._scene.requests.server_requests
        until = bisect_left(asked, head.seq, key=lambda each: each.seq)
        before = (asked[number] for number in range(until - 1, max(-1, until - 1 - SEARCHED_ROUNDS), -1))
        id_ = type(head.id), head.id
        return next((each.method for each in before if (type(each.request_id), each.request_id) == id_), "")


@dataclass(eq=False)
class Details:
    """The pane Detail.

    Attributes:
        message: the number of the opened message, ``None`` while none is open.
        raw_schemas: whether schemas are shown as JSON instead of tables.
    """

    _screen: LayoutScreen
    _scene: Scene
    _table: RequestTable
    _payloads: Payloads
    _messages: Messages
    _pane: Detail
    message: int | None = None
    raw_schemas: bool = False
    _opened_at: RequestId | None = None
    _made: tuple[object, list[Section]] = None, []

    def show(self, now: float, entry: Entry | None, row: Request | None, advice: SafeText) -> None:
        """Shows an opened message, else an entry, a request with its advice, or the connection, as of ``now``."""
        if not self._pane.display:
            return
        name, shown, key = self._shown(now, entry, row, advice)
        self._pane.show(name if self._screen.beside else NOTHING, shown, key=key)

    def _shown(
        self, now: float, entry: Entry | None, row: Request | None, advice: SafeText
    ) -> tuple[SafeText, list[Section], object]:
        """Returns the name, the sections, and the key of the shown content."""
        item = self._table.item
        asked = None if item is None else item.server_request
        head = None if self.message is None else self._scene.frame(self.message)
        if head is not None:
            key = "frame", head.seq
            return safe("Message {:,}", head.seq), self._once(key, partial(self._frame, head)), key
        if entry is not None:
            made = partial(self._entry, entry, self._largest(entry), self._last_read(entry))
            shown = self._once((*made.args, self.raw_schemas), made)
            return entry.label, shown, (entry.kind, entry.name)
        if row is not None:
            payloads, command, _ = self._payloads.of(row)
            asked_of_us = self._messages.family(row)[1]
            shown = detail.sections(
                row,
                now,
                payloads,
                command=command,
                advice=advice,
                server_requests=asked_of_us,
                logged=logged(row, self._scene.requests.logged_at, now),
            )
            title = safe("{} {}", brief(str(row.id), 40), brief(row.name) or request(row))
            return title, shown, (type(row.id), row.id)
        if asked is not None:
            params = self._once(asked, partial(self._sent, asked))
            shown = server_request_sections(asked, now, params)
            return brief(asked.method, 80), shown, (ServerRequest, asked.seq)
        return NOTHING, self._scene.overview(), None

    def _once(self, key: object, made: Callable[[], list[Section]]) -> list[Section]:
        """Reuses sections while the content is the same, so that the pane need not wrap them again."""
        if self._made[0] != key:
            self._made = key, made()
        return self._made[1]

    def _frame(self, head: FrameHead) -> list[Section]:
        scene = self._scene
        return frame_sections(
            head,
            scene.payload(head.seq),
            self._messages.broken(head, most=JSON_FRAME_BYTES) or (),
            origin=scene.spans.origin,
            revision=scene.facts(scene.now()).revision,
        )

    def _largest(self, entry: Entry) -> int:
        """Returns the size in bytes of a tool's largest result among the newest requests."""
        newest = islice(reversed(self._scene.requests.order), 500) if entry.kind == "tools" else ()
        sizes = (row.response_size for row in newest if row.method == "tools/call" and row.name == entry.name)
        return max(sizes, default=0)

    def _last_read(self, entry: Entry) -> Request | None:
        """Returns the request that read a resource last, if that is not long ago."""
        newest = islice(reversed(self._scene.requests.order), 500) if entry.kind == "resources" else ()
        reads = (row for row in newest if row.method == "resources/read" and row.state is State.COMPLETED)
        return next((row for row in reads if row.name == entry.raw.get("uri")), None)

    def _entry(self, entry: Entry, results: int, read: Request | None) -> list[Section]:
        """Returns the detail of an entry of the catalogue, with the last read content of a resource."""
        shown = entry_sections(entry, results, raw_schemas=self.raw_schemas)
        raw = None if read is None else self._payloads.answer(read)
        if raw is None or len(raw) > HEAD_ONLY_BYTES:
            return shown
        found = parts(as_object(parsed(raw)).get("result"))[:-1]
        return [*shown, Section(words("Last read")), *detail.part_sections(found)]

    def _sent(self, asked: ServerRequest) -> list[Section]:
        """Returns the params of a request of the server."""
        raw = self._scene.payload(asked.seq) if asked.seq else None
        message = as_object(parsed(raw) if raw is not None and len(raw) <= JSON_FRAME_BYTES else None)
        return params_sections(message.get("params")) if "params" in message else []

    def text(self) -> str:
        """Returns the whole shown content without secrets: an opened message, an answer, or else the pane's text."""
        row, head = self._table.selected, None if self.message is None else self._scene.frame(self.message)
        raw = None if head is None else self._scene.payload(head.seq)
        if raw is not None:
            return messages.text(parsed(self._scene.redactor().redact(raw)), indented=True)
        return (row and self._payloads.result(row)) or self._pane.text

    async def open_result(self, follow: Callable[[str], None] | None) -> None:
        """Opens the whole answer to the selected request; ``follow`` reads the URI of a link in it."""
        # When first opened: forms take time to load.
        from mcp_tui.tui.screens.result import ResultScreen

        screen = self._screen
        row = self._table.selected
        raw = None if row is None else self._payloads.answer(row)
        if row is None or raw is None:
            screen.refuse(words("No response to open"))
            return
        title = safe("{} {}", brief(str(row.id), 40), request(row))
        opened = ResultScreen(
            raw,
            title=title,
            broken=self._payloads.of(row)[2],
            follow=follow is not None,
            redact=self._scene.redactor().redact,
        )
        await screen.ask(opened, follow)

    # -- a message of the wire ---------------------------------------------------------------------------------

    def open_message(self, seq: int) -> None:
        """Shows a message, and puts the cursor on its request."""
        screen = self._screen
        head = self._scene.frame(seq)
        if head is None:
            return
        row = self._messages.row_of(head)
        if row is not None:
            self._table.select(row.id)
        selected = self._table.selected
        self.message, self._opened_at = seq, None if selected is None else selected.id
        if screen.beside:
            screen.forget()
        else:
            screen.choose_pane("detail")
            screen.set_focus(self._pane)

    def close_message(self) -> None:
        """Goes back to the wire."""
        self.message = None
        if not self._screen.beside:
            self._screen.show_pane("wire")
        self._screen.set_focus(self._screen.panes["wire"])
        self._screen.forget()

    def leave_message(self, selected: RequestId | None) -> None:
        """Closes the message if another request is selected."""
        if selected != self._opened_at:
            self.message = None

    def point_at_message(self, seq: int) -> None:
        """Reports violations of the message under the cursor of the wire; shows the message if one is open."""
        head = self._scene.frame(seq)
        broken = None if head is None else self._messages.broken(head)
        if broken:
            self._screen.show_message(safe("Schema violation: {}", reason(broken)), "error", seconds=8)
        if self.message is not None and self._screen.beside:
            self.message = seq
            self._screen.forget()
