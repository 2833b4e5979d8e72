"""What is fed: each target is a check that raises nothing but what it says it refuses."""

# ruff: noqa: E501 - samples
from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast
from unittest.mock import patch

from mcp_tui.client import uri_templates
from mcp_tui.client.forms import FormLayout
from mcp_tui.client.schemas import Schema
from mcp_tui.config import settings
from mcp_tui.config.documents import Document
from mcp_tui.config.files import ConfigError, shipped_folder
from mcp_tui.config.servers import read_place
from mcp_tui.config.sources import PLAIN_FILE, Place, Surroundings, places
from mcp_tui.journal.recorded_requests import RecordedRequests
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError
from mcp_tui.journal.redaction import Redactor
from mcp_tui.protocol import large_messages, messages
from mcp_tui.protocol.framing import LineFramer
from mcp_tui.protocol.messages import Json
from mcp_tui.transport.base import Turn
from mcp_tui.transport.http_bodies import EventStream
from mcp_tui.tui.keymap import keymap
from mcp_tui.tui.themes import read_theme, theme_files
from mcp_tui.view.keys import FIRST_KEYS
from mcp_tui.view.text import clean, clip, compact, paragraphs, pretty, width, wrap
from tests.fuzz.foreign import foreign_targets
from tests.fuzz.target import Target

HERE = Path(__file__).parents[1]
CAP = 4096
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
CANARY = "Zx81canaryQ7vv"


def texts(value: str) -> None:
    """Nothing that a terminal obeys is left."""
    for cleaned in (
        clean(value, newlines=True),
        *wrap(clean(value), 20),
        *paragraphs(value),
        clip(clean(value), 7),
    ):
        assert OBEYED.search(cleaned) is None, cleaned
        assert width(cleaned) >= 0


def frames(data: bytes) -> None:
    """The same lines however they are cut; each is some frame, and can be shown and sent back."""
    whole, cut = LineFramer(CAP), LineFramer(CAP)
    lines = [*whole.feed(data), *whole.close()]
    at = len(data) // 3
    assert [*cut.feed(data[:at]), *cut.feed(data[at:]), *cut.close()] == lines
    for line in lines:
        if isinstance(line, bytes):
            frame = messages.parse(line)
            if isinstance(frame, messages.ResponseFrame):
                messages.summary(frame)
                for text in (*pretty(frame.result), *compact(frame.result)):
                    assert OBEYED.search(text) is None
        else:
            messages.salvage(line.head, "too large", whole=False)


def large(data: bytes) -> None:
    """A message that is read in pieces is the frame that it is when it is read whole."""
    # no large message is searched for repeated members
    own = patch.multiple(messages, LARGE_BYTES=0, DUPLICATES_BYTES=0)
    with patch.multiple(large_messages, LARGE_BYTES=0, PIECE_BYTES=16), own:
        frame, whole = messages.parse(data), messages.parse(data, b"")
        if isinstance(frame, messages.ResponseFrame) and frame.raw:
            frame = replace(frame, outline=frame.result, raw=b"")
    assert repr(frame) == repr(whole)


def stream(data: bytes) -> None:
    """Events, however the bytes are cut."""

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(data), 37):
            yield data[at : at + 37]

    async def read() -> None:
        async for event in EventStream(pieces(), CAP, Turn(), lambda _: None).events():
            messages.parse(event.data)

    asyncio.run(read())


def template(data: bytes) -> None:
    """Expanded, it holds no brace and nothing outside of ASCII."""
    text = data.decode("utf-8", "replace")
    expressions = [each for each in uri_templates.parse(text) if isinstance(each, uri_templates.Expression)]
    values = {each.name: f"a/ü {{{each.name}}}" for part in expressions for each in part.variables}
    made = uri_templates.expand(text, values)
    assert made.isascii()
    assert "{" not in made


def form(data: bytes) -> None:
    """A form of any schema can be filled, read, and checked."""
    raw = messages.read_json(data)
    layout = FormLayout(raw)
    for arguments in (layout.defaults(), {"a": 1, "more": [None]}):
        draft = layout.spread(arguments)
        if draft is not None:
            assert layout.read(draft) == (arguments, [])
            layout.problems(draft)
    Schema(raw).problems(cast("Json", {"a": "x", "b": [1]}))


def secrets(data: bytes) -> None:
    """What is sound JSON stays it, and the secret that is known goes."""
    redacted = Redactor({CANARY}).redact(data)
    assert CANARY.encode() not in redacted
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return
    json.loads(redacted)


def keys(data: bytes) -> None:
    """Any keymap is one, with sentences about the rest."""
    names, text = list(FIRST_KEYS), data.decode("utf-8", "replace")
    wanted = dict(zip(names[len(data) % 50 :: 7], text.split("\n"), strict=False))
    chosen, _ = keymap({**wanted, text[:20]: text})
    assert set(chosen) <= set(FIRST_KEYS)


def targets(folder: Path) -> Iterator[Target]:
    """All of them; files are written to ``folder``."""
    around = Surroundings({}, folder, folder, "linux")
    sources = list({place.source.id: place.source for place in places(around)}.values())
    file, toml_file, yaml_file = folder / "mcp.json", folder / "config.toml", folder / "config.yaml"
    recording = folder / "session.jsonl"

    def servers(data: bytes) -> None:
        named = toml_file if data[:1] in b"[#" else yaml_file if data[:1].isalpha() else file
        named.write_bytes(data)
        document = Document.read(named)
        for source in (PLAIN_FILE, sources[len(data) % len(sources)]):
            try:
                for found in read_place(Place(source, named), around, document):
                    texts(str(found))
            except ConfigError:
                continue

    def load(data: bytes) -> None:
        toml_file.write_bytes(data)
        loaded = settings.load({}, toml_file)
        texts(" ".join((*loaded.problems, *loaded.wrong)))

    def journal(data: bytes) -> None:
        recording.write_bytes(data)
        read = Recording.read(recording)
        try:
            list(RecordedRequests.whole(read).order)
            for head in filter(None, map(read.head, range(read.frame_count))):
                assert head.seq > 0
                read.payload(head.seq)
            list(read.events())
        finally:
            read.close()

    request = (
        b'{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":5}}'
    )
    result = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 7,
            "result": {"content": [{"type": "text", "text": "hé\u202e 😀"}], "n": 1.5e3},
        }
    )
    progress = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1,"message":"x"}}'
    lines = b"\n".join(
        (
            request,
            result.encode(),
            progress,
            b"log line",
            b'{"jsonrpc":"2.0","id":"7","error":{"code":-1,"message":"no"}}',
        )
    )
    yield Target("frames", frames, (lines, request, progress, result.encode()), 250)
    yield Target(
        "large", large, (request, result.encode(), b'{"result":{"a":[1,[2,{"b":"c, d"}],3]},"id":1}'), 150
    )
    events = b": hello\nretry: 100\nid: 4\nevent: message\ndata: " + request + b"\n\ndata: {\ndata: }\n\n"
    yield Target("stream", stream, (events,), 80)
    hostile = (
        "plain text, e\u0301 \U0001f3f3\ufe0f\u200d\U0001f308 [b]x[/b] \x1b[31mred\x1b[0m\r\nline".encode()
    )
    yield Target(
        "texts", lambda data: texts(data.decode("utf-8", "surrogateescape")), (hostile, result.encode()), 150
    )
    uris = (b"file:///{path}/x{?q*,lang:3}{#frag}", b"demo://{+base}{/seg*}{;p}{.ext}{&more}")
    yield Target("template", template, uris, 120, (uri_templates.TemplateError,))
    schema = {
        "type": "object", "required": ["a"], "$defs": {"n": {"type": "integer", "minimum": 1}}, "additionalProperties": False,
        "properties": {
            "a": {"type": "string", "pattern": "^x", "default": "x", "description": "words"}, "b": {"type": "array", "items": {"$ref": "#/$defs/n"}},
            "c": {"enum": ["p", 1, None]}, "d": {"type": "object", "properties": {"e": {"type": "boolean"}}}, "f": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        },
    }  # fmt: skip
    yield Target("form", form, (json.dumps(schema).encode(),), 70, as_json=True)
    known = {
        "token": CANARY,
        "note": f"Authorization: Bearer {CANARY}",
        "in": json.dumps({"password": CANARY}),
        "url": f"https://u:{CANARY}@h/?key=1",
    }
    yield Target("secrets", secrets, (json.dumps(known).encode(),), 80)
    corpus = tuple(
        each.read_bytes()
        for each in sorted((HERE / "config/corpus").rglob("*"))
        if each.is_file() and each.stat().st_size < 20_000
    )
    yield Target("servers", servers, corpus, 60, (ConfigError,))
    example = (HERE.parent / "mcp_tui/config/example.toml").read_bytes()
    plain = (
        b'theme = "nord"\n[limits]\ntimeout = 5\n[keys]\n"request.cancel" = "x"\n[journal]\nenabled = true\n'
    )
    yield Target("settings", load, (plain, plain, example), 8)
    yield Target("keymap", keys, (b"x\nctrl+k,f5\ny\nc\nenter", b"shift+tab\nctrl+shift+f3\n\n?"), 2)
    themes = tuple(each.read_bytes() for each in theme_files(shipped_folder()))

    def theme(data: bytes) -> None:
        file.write_bytes(data)
        read_theme(file)

    yield Target("themes", theme, themes, 40, (ConfigError,))
    header = b'{"record":"session","v":1,"id":"5be1f20c9a44","wall":1795230900.5,"mono":100.0,"app":"0","target":"x"}\n'
    called = b'{"record":"event","event":"called","mono":100.5,"id":1,"method":"tools/call","name":"slow_sql","seq":1}\n'
    sent = b'{"record":"frame","seq":1,"mono":100.5,"dir":"out","method":"tools/call","id":1,"raw":"{}"}\n{"record":"event","event":"sent","mono":100.5,"id":1,"seq":1}\n'
    ended = b'{"record":"event","event":"cancel_requested","mono":101.0,"id":1,"cause":"user","reason":"slow"}\n{"record":"event","event":"completed","mono":101.5,"id":1,"size":3,"seq":2}\n'
    yield Target("journal", journal, (header + called + sent + ended,), 60, (RecordingError,))
    yield from foreign_targets(folder)
