"""What was sent and what came, read from the store for the detail of one request, once for each thing that came.

What we sent is shown without the secrets that the journal would take out: whoever looks at it, or at a picture of it, knows
them already or is not to know them. What the server said is shown as it said it, since that is what one wants to see of a
server; the journal, what is copied and what is saved have it without.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Final

from pydantic_core import from_json

from mcp_tui.client.results import differences
from mcp_tui.client.schemas import Problem
from mcp_tui.protocol.events import Kind
from mcp_tui.protocol.messages import Json, as_object, read_json
from mcp_tui.protocol.requests import Request, State
from mcp_tui.tui.keys.now import key_of
from mcp_tui.tui.scene import Scene
from mcp_tui.tui.view import detail, durations
from mcp_tui.tui.view.detail import Section, held, plain, received
from mcp_tui.tui.view.headless import headless_command, hidden
from mcp_tui.tui.view.lines import line
from mcp_tui.tui.view.text import SafeText, paragraphs, safe, words

READ: Final = 4 * 1024 * 1024
"""Bytes of a frame above which only its beginning is read: the screen must not stand still."""


class Payloads:
    """The payload sections and the headless command of the request that was asked for last."""

    def __init__(self, scene: Scene) -> None:
        self.server = ""
        """What the server is called among several; empty while there is one."""
        self._scene = scene
        self._read = scene.payload
        self._known: object = None
        self._broken: list[Problem] = []
        self._sections: list[Section] = []
        self._command: SafeText = words("")
        self._held: tuple[int, Section] | None = None

    def of(self, row: Request) -> tuple[list[Section], SafeText]:
        """The sections of ``row`` and its command, the same objects as long as nothing came."""
        known = (
            row.id,
            type(row.id),
            row.request_seq,
            row.response_seq,
            tuple(each.seq for each in row.late),
        )
        if known != self._known:
            self._known = known
            self._sections, self._command = self._made(row)
        return self._sections, self._command

    def request(self, row: Request) -> tuple[str, dict[str, Json]] | None:
        """Method and params of ``row`` as they were sent, without ``_meta``; ``None`` where that is not kept."""
        raw = self._read(row.request_seq) if row.request_seq else None
        message = None if raw is None else as_object(_parsed(raw))
        if not message:
            return None
        params = {name: value for name, value in as_object(message.get("params")).items() if name != "_meta"}
        return row.method, params

    def answer(self, row: Request) -> bytes | None:
        """The bytes of the frame that answered ``row``, or of what came late in its place, as far as they are kept."""
        seqs = [row.response_seq, *(each.seq for each in reversed(row.late))]
        seq = next((each for each in seqs if each), 0)
        return self._read(seq) if seq else None

    def held(self, row: Request) -> list[Section]:
        """What a resource held that ``row`` read, the same object as long as the same row is asked for."""
        if self._held is None or self._held[0] != row.response_seq:
            raw = self._read(row.response_seq) if row.response_seq else None
            if raw is None or len(raw) > READ:
                return []
            self._held = row.response_seq, held(as_object(_parsed(raw)).get("result"))
        return [self._held[1]]

    def broken(self, row: Request) -> list[Problem]:
        """What the result of ``row`` breaks of the output schema that was promised."""
        return self._broken if row.response_seq and self.of(row) else []

    def result(self, row: Request) -> str:
        """What answered ``row`` as text: its parts, or its error, without what the journal would redact; empty for none."""
        raw = self.answer(row)
        return "" if raw is None else plain(_parsed(self._scene.redactor().redact(raw)))

    def export(self, row: Request) -> str:
        """Request, answer and what came late as JSON text, without what the journal would redact."""
        secrets = self._scene.redactor()
        seqs = {"request": row.request_seq, "response": row.response_seq}
        whose = {"server": self.server} if self.server else {}
        found: dict[str, object] = {**whose, "id": row.id, "state": row.state.value}
        if row.cause is not None:
            found |= {"cause": row.cause.value, "reason": row.reason}
        for name, seq in seqs.items():
            raw = self._read(seq) if seq else None
            if raw is not None:
                found[name] = _parsed(secrets.redact(raw))
        late = [self._read(each.seq) for each in row.late if each.seq]
        if late:
            found["late, ignored"] = [_parsed(secrets.redact(raw)) for raw in late if raw is not None]
        return json.dumps(found, indent=2, ensure_ascii=True)

    def _made(self, row: Request) -> tuple[list[Section], SafeText]:
        self._broken = []
        sections: list[Section] = []
        command = words("")
        raw = self._read(row.response_seq) if row.response_seq else None
        if raw is not None:
            failed = row.state is State.FAILED
            if len(raw) > READ:
                sections.append(_unread(raw))
            else:
                message = as_object(_parsed(raw))
                body = message.get("error" if failed else "result", _parsed(raw))
                schema = (
                    self._scene.catalogue.promised(row.name)
                    if row.method == "tools/call" and not failed
                    else None
                )
                self._broken = differences(schema, body)
                sections.extend(received(body, error=failed, broken=self._broken))
        # The answer before the progress that came with it.
        for evidence in sorted(row.late, key=lambda each: each.kind is Kind.PROGRESS):
            raw = self._read(evidence.seq) if evidence.seq else None
            if raw is None:
                continue
            if len(raw) > READ:
                sections.append(_unread(raw))
                continue
            message = as_object(_parsed(raw))
            body = message.get("result", message.get("error", message.get("params")))
            sections.extend(detail.ignored(received(body, error="error" in message)))
        asked = self.request(row)
        if asked is not None:
            secrets = self._scene.redactor()
            sections.extend(detail.sent(hidden(asked[1], secrets)))
            if self._scene.target is not None:
                command = headless_command(asked[0], asked[1], self._scene.target, secrets)
        return sections, command


def _parsed(raw: bytes) -> Json:
    try:
        return read_json(raw)
    except ValueError:
        return raw[:100_000].decode(errors="replace")


def _unread(raw: bytes) -> Section:
    text = raw[:200_000].decode(errors="ignore")
    with suppress(ValueError):
        text = plain(from_json(text, allow_partial="trailing-strings"))
    shown = [line(each) for each in paragraphs(text[:4000])]
    size = durations.size(len(raw))
    said = line((safe("{} – truncated; {} opens all of it", size, key_of("detail.open")), "muted"))
    return Section(words("Answer"), (said, *shown))
