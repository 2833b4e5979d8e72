"""The parts of results: text, images, audio, links, embedded resources, structured content; and parts as files.

A tool's result, a prompt's messages, and a resource's contents have parts. All of it is the server's: base64 may be
broken, names may be paths, and structured content may not match the declared schema.
"""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
import os
import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Final, cast

from mcp_tui.client.client_port import Caller
from mcp_tui.client.schemas import Problem, Schema
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.messages import Json, as_object, as_text, objects_in, parse, writable
from mcp_tui.protocol.patterns import late
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.revisions import Revision
from mcp_tui.protocol.values import frozen

MAX_PARTS: Final = 1_000
"""The maximum number of parts of one result; its JSON has the rest."""

FILE_NAME_CHARACTERS: Final = 80
"""The maximum number of characters of a file name."""

_EXTENSIONS: Final = {"audio/wav": ".wav", "text/markdown": ".md"}
"""The file extensions that not every system knows."""


_NEEDS_HANDSHAKE: Final = late(
    r"server-initiated|back-?channel"
    r"|\b(elicit\w*|sampling|roots)\b.{0,80}\b(not (be )?(supported|available|possible)|un(supported|available))",
    re.IGNORECASE | re.DOTALL,
)
"""The error texts of a tool that sends a request to the client, as it may up to 2025-11-25."""


def needs_handshake(row: Request, revision: Revision | None) -> bool:
    """Whether a call in 2026-07-28 failed because its tool sends a request to the client."""
    if revision is None or not revision.modern or not (row.error or row.is_error):
        return False
    return _NEEDS_HANDSHAKE.search(row.error or row.summary) is not None


class PartKind(Enum):
    """The kind of a part."""

    TEXT = "text"
    IMAGE = "image"
    AUDIO = "audio"
    BLOB = "data"
    LINK = "link"
    STRUCTURED = "structured"
    WHOLE = "JSON"


BINARY: Final = frozenset({PartKind.IMAGE, PartKind.AUDIO, PartKind.BLOB})
"""The kinds of parts with data."""


@frozen
class Part:
    """One part. ``text``, ``uri``, ``mime``, ``name``, and ``role`` are the server's, and hostile.

    ``data`` is base64 as received; ``value`` is JSON. ``role`` is the role of the message, in a prompt.
    """

    sort: PartKind
    text: str = ""
    mime: str = ""
    data: str = ""
    uri: str = ""
    name: str = ""
    role: str = ""
    value: Json = None

    @property
    def size(self) -> int:
        """The size of the content in bytes, computed without decoding it."""
        if self.data:
            return (len(self.data) - sum(map(self.data.count, "= \t\r\n"))) * 3 // 4
        return len(self.text.encode(errors="surrogatepass"))


def parts(result: Json) -> list[Part]:
    """Returns the parts of a result; the structured content and the whole result as JSON come last."""
    members = as_object(result)
    found = [_part(block) for block in objects_in(members.get("content"))]
    found += [_resource(block) for block in objects_in(members.get("contents"))]
    for message in objects_in(members.get("messages")):
        blocks = objects_in(message.get("content")) or [as_object(message.get("content"))]
        found += [_part(block, as_text(message.get("role"))) for block in blocks]
    found = found[:MAX_PARTS]
    if "structuredContent" in members:
        found.append(Part(PartKind.STRUCTURED, value=members["structuredContent"]))
    return [*found, Part(PartKind.WHOLE, value=result)]


_MEDIA: Final = {"image": PartKind.IMAGE, "audio": PartKind.AUDIO}


def _part(block: dict[str, Json], role: str = "") -> Part:
    mime, uri = as_text(block.get("mimeType")), as_text(block.get("uri"))
    match block.get("type"):
        case "text" | None if isinstance(block.get("text"), str):
            return Part(PartKind.TEXT, text=as_text(block.get("text")), mime="text/plain", role=role)
        case "image" | "audio" as kind:
            return Part(_MEDIA[kind], mime=mime, data=as_text(block.get("data")), role=role)
        case "resource":
            return _resource(as_object(block.get("resource")), role)
        case "resource_link":
            name = as_text(block.get("title")) or as_text(block.get("name"))
            text = as_text(block.get("description"))
            return Part(PartKind.LINK, text=text, mime=mime, uri=uri, name=name, role=role)
        case _:
            return Part(PartKind.WHOLE, value=block, role=role)


def _resource(block: dict[str, Json], role: str = "") -> Part:
    mime, uri, blob = as_text(block.get("mimeType")), as_text(block.get("uri")), block.get("blob")
    if isinstance(blob, str):
        sort = _MEDIA.get(mime.partition("/")[0], PartKind.BLOB)
        return Part(sort, mime=mime, data=blob, uri=uri, role=role)
    return Part(PartKind.TEXT, text=as_text(block.get("text")), mime=mime, uri=uri, role=role)


# -- structured content ----------------------------------------------------------------------------------------


def differences(schema: Json, result: Json) -> list[Problem]:
    """Returns the places where a tool's result does not match its output schema (tools, 2025-06-18, "Output Schema").

    Errors are not checked. Nor is a result if it is too large, or the schema cannot be used.
    """
    members = as_object(result)
    if not isinstance(schema, dict) or not schema or members.get("isError") is True:
        return []
    if "structuredContent" not in members:
        return [Problem((), "no structured content, though the tool has an output schema")]
    found = Schema(cast("dict[str, Json]", schema)).problems(members["structuredContent"])
    return [each for each in found if not each.advisory]


# -- files -----------------------------------------------------------------------------------------------------


class NotDecoded(ValueError):
    """A part's data is not base64."""


def content(part: Part) -> bytes:
    """Returns the bytes of a part for a file: its decoded data, its text, or its JSON.

    Raises:
        NotDecoded: the data is not base64.
    """
    if part.data:
        try:
            # Some servers send base64 in several lines.
            return base64.b64decode("".join(part.data.split()), validate=True)
        except (binascii.Error, ValueError):
            raise NotDecoded("not base64") from None
    if part.sort in (PartKind.STRUCTURED, PartKind.WHOLE):
        return json.dumps(writable(part.value), indent=2).encode() + b"\n"
    return (part.text or part.uri).encode(errors="replace")


def file_name(part: Part) -> str:
    """Returns a file name for a part: the last piece of its URI or name, made harmless, with an extension."""
    uri = part.uri.partition("://")[2] if "://" in part.uri else part.uri
    source = part.name if part.sort is PartKind.LINK else uri
    last = source.split("?")[0].split("#")[0].replace("\\", "/").rstrip("/").rpartition("/")[2]
    name = harmless(last) or "result"
    return name if "." in name.strip(".") else f"{name}{_ending(part)}"


def harmless(text: str) -> str:
    """Returns ``text`` as a harmless file name: letters, digits, and ``._-``, not hidden, and short."""
    kept = re.sub(r"[^A-Za-z0-9._-]", "-", text[:200])
    return kept.strip(".-")[:FILE_NAME_CHARACTERS]


def _ending(part: Part) -> str:
    if part.sort in (PartKind.STRUCTURED, PartKind.WHOLE):
        return ".json"
    mime = part.mime.partition(";")[0].strip().lower()
    known = _EXTENSIONS.get(mime) or (mimetypes.guess_extension(mime) if mime else None)
    return known or (".txt" if part.sort in (PartKind.TEXT, PartKind.LINK) else ".bin")


def free(folder: Path, name: str) -> Path:
    """Returns an unused path in ``folder``: ``name``, with a number before its extension if needed."""
    stem, dot, ending = name.partition(".")
    for number in range(10_000):
        path = folder / (name if not number else f"{stem}-{number}{dot}{ending}")
        if not os.path.lexists(path):
            return path
    raise FileExistsError(name)


def save(path: Path, data: bytes, *, over: bool = False) -> None:
    """Writes a file that only its owner may read; an existing file stays, unless ``over``. Never follows a link.

    Raises:
        FileExistsError: the path exists, and ``over`` is false.
        OSError: it cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | (os.O_TRUNC if over else os.O_EXCL)
    descriptor = os.open(path, flags, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


CHECKED_RESULT_BYTES: Final = 256 * 1024
"""The size in bytes up to which a result is checked when it arrives; larger ones are checked when they are shown."""


def check_results(client: Caller, schema: Callable[[str], Json]) -> None:
    """Reports the violation ``output-schema`` for each result that does not match the output schema of its tool.

    ``schema`` returns the output schema of a tool, or ``None``.
    """

    def take(event: ev.Event) -> None:
        if not isinstance(event, ev.Completed) or not event.seq or event.size > CHECKED_RESULT_BYTES:
            return
        row = client.requests.get(event.id)
        promised = schema(row.name) if row is not None and row.method == "tools/call" else None
        raw = client.store.payload(event.seq) if promised else None
        if row is None or raw is None:
            return
        result = as_object(getattr(parse(raw), "result", None))
        if (broken := violation(row, promised, result, event.at)) is not None:
            client.report(broken)

    client.listen(take)


def violation(row: Request, schema: Json, result: Json, at: float) -> ev.Violation | None:
    """Returns the violation of an output schema by the result of ``row``; ``at`` is monotonic seconds."""
    found = differences(schema, result)
    if not found:
        return None
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return ev.Violation(at=at, rule="output-schema", detail=f"{row.name}: {found[0]}{more}", id=row.id)
