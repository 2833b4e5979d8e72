"""Prints a result on stdout and in files: its texts, and the bytes of its data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

from mcp_tui.cli import reports
from mcp_tui.cli.output import Exit, Failure, dump
from mcp_tui.cli.printer import Printer
from mcp_tui.client.results import BINARY, NotDecoded, Part, PartKind, content, parts
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.pixels import pixels
from mcp_tui.view.text import clean


def print_result(printer: Printer, result: Json, output: str | None, *, is_read: bool) -> None:
    """Prints a result for people, unless the printer prints JSON. ``output`` is the file for its data or its text.

    If a resource has only data, the data goes to a pipe or a file as bytes.

    Raises:
        Failure: the data is not base64, or the file cannot be written.
    """
    raw, found = not sys.stdout.isatty(), parts(result) if is_read or output else []
    is_alone = is_read and len(found) == 2  # the second one is the whole result as JSON
    data = [part for part in found if part.sort in BINARY] if output or (raw and is_alone) else []
    if output is not None:
        _write(
            printer,
            output,
            [_bytes(part) for part in data] or [text_of(result, raw=True).encode(errors="replace")],
        )
    if printer.json:
        return
    if output is None and data:
        printer.streams.put(_bytes(data[0]))
    elif (output is None or data) and (text := text_of(result, raw=raw, data=output is None)):
        printer.streams.put(f"{text}\n")


def _write(printer: Printer, output: str, files: list[bytes]) -> None:
    """Writes files: the first one as ``output``, others with a number before the suffix."""
    path = Path(output)
    for number, data in enumerate(files, 1):
        name = output if number == 1 else str(path.with_name(f"{path.stem}-{number}{path.suffix}"))
        reports.write("output", name, data)
        printer.say(f"{name}: {len(data):,} bytes")


def _bytes(part: Part) -> bytes:
    try:
        return content(part)
    except NotDecoded as error:
        raise Failure(
            f"The data of the result is {error}. Use --json to see it.", Exit.SERVER_ERROR
        ) from None


def text_of(result: Json, *, raw: bool = False, data: bool = True) -> str:
    """Returns a result for people: the texts of its content, a line for data (unless ``data=False``), JSON for the rest.

    ``raw`` keeps the texts unchanged for a pipe or file; a terminal would obey their control characters.
    """
    fields = as_object(result)
    for member in ("content", "contents", "messages"):
        found = fields.get(member)
        if isinstance(found, list) and (found or "structuredContent" not in fields):
            texts = (_text(part, raw=raw, data=data) for part in cast("list[Json]", found))
            return "\n".join(text for text in texts if text is not None)
    return dump(result, indent=2)


def _text(part: Json, *, raw: bool, data: bool) -> str | None:
    fields = as_object(part)
    inner = fields.get("content")
    if isinstance(inner, dict):
        text = _text(inner, raw=raw, data=data)
        return None if text is None else f"{clean(str(fields.get('role')))}: {text}"
    if fields.get("type") == "resource" and isinstance(fields.get("resource"), dict):
        fields = as_object(fields["resource"])
    text, encoded = fields.get("text"), fields.get("data") or fields.get("blob")
    if isinstance(text, str):
        return text if raw else clean(text, newlines=True)
    if isinstance(encoded, str):
        kind = f"{fields.get('mimeType') or fields.get('type') or 'data'} {pixels(encoded)}".rstrip()
        size = Part(PartKind.BLOB, data=encoded).size
        return clean(f"[{kind}, {size:,} bytes; -o FILE saves it]") if data else None
    return dump(part, indent=2)
