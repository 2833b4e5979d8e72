"""What ``call`` prints of a result, and how it holds a structured one to the output schema of its tool."""

from __future__ import annotations

import base64
import json
import os
import pty
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp_tui.cli.output import Exit
from tests.cli.running import HANG, MCP_TUI, SERVERS, Ran, run

TEXT: list[dict[str, Any]] = [{"type": "text", "text": "said"}]
PROMISE = {"type": "object", "properties": {"n": {"type": "number"}}}
TOOL = {"name": "odd", "inputSchema": {"type": "object"}, "outputSchema": PROMISE}


def call(result: dict[str, Any], *options: str) -> Ran:
    """Call a tool that answers what it is told to, and promised a number."""
    results = json.dumps({"tools/list": {"tools": [TOOL]}, "tools/call": result})
    server = (sys.executable, "-S", str(SERVERS / "results_server.py"), results)
    return run("call", "odd", *options, "--", *server)


def test_what_was_not_promised_is_told_on_stderr_and_as_an_event_and_the_status_stays():
    result = {"content": TEXT, "structuredContent": {"n": "many"}}
    detail = 'odd: n: "many" is not of type "number"'
    ran = call(result, "--no-journal")
    assert (ran.status, ran.out) == (Exit.COMPLETED, "said\n")
    told, done = ran.err.splitlines()
    assert (told, done[:15]) == (f"violation: output-schema: {detail}", "completed after")
    ran = call(result, "--no-journal", "--json")
    assert (ran.status, ran.err) == (Exit.COMPLETED, "")
    (violation,) = ran.of("violation")
    known = ("output-schema", detail, ran.outcome["id"])
    assert (violation["rule"], violation["detail"], violation["id"]) == known
    assert ran.outcome["result"] == result


def test_a_pipe_gets_the_text_that_came_and_a_terminal_what_it_can_show():
    said = "a\tb\r\nc\re\u0301 \x1b[31mred \u202e"
    server = (sys.executable, "-S", str(SERVERS / "results_server.py"))
    results = json.dumps({"tools/call": {"content": [{"type": "text", "text": said}]}})
    words = ("call", "odd", "--no-journal", "--", *server, results)
    assert run(*words).out == f"{said}\n"
    main, worker = pty.openpty()
    try:
        subprocess.run([*MCP_TUI, *words], stdout=worker, stderr=subprocess.DEVNULL, timeout=HANG, check=True)
        os.close(worker)
        shown = os.read(main, 65_536).decode().replace("\r\n", "\n")
    finally:
        os.close(main)
    assert shown == "a    b\nc␍\xe9 ␛[31mred ‹202E›\n"


def test_an_image_is_told_by_its_type_and_pixels():
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 300, 200)
    image = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(head).decode()}
    assert call({"content": [image]}).out == "[image/png 300 × 200, 24 bytes; -o FILE saves it]\n"


def test_data_of_a_result_is_had_as_bytes(tmp_path: Path):
    data = bytes(range(256))
    blob = {"uri": "x:/a", "mimeType": "application/pdf", "blob": base64.encodebytes(data).decode()}
    image = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(data[:5]).decode()}
    text = {"type": "text", "text": "taken"}
    results = {
        "resources/read": {"contents": [blob]},
        "tools/call": {"content": [text, {"type": "resource", "resource": blob}, image]},
    }
    server = (
        "--no-journal",
        "--",
        sys.executable,
        "-S",
        str(SERVERS / "results_server.py"),
        json.dumps(results),
    )
    read = subprocess.run(
        [*MCP_TUI, "read", "x:/a", *server], stdout=subprocess.PIPE, timeout=HANG, check=True
    )
    assert read.stdout == data
    called = run("call", "shot", *server)
    assert called.out.splitlines() == [
        "taken", "[application/pdf, 256 bytes; -o FILE saves it]", "[image/png, 5 bytes; -o FILE saves it]",
    ]  # fmt: skip
    written = run("call", "shot", "-o", str(tmp_path / "shot.pdf"), *server)
    assert written.out == "taken\n"
    assert [(tmp_path / name).read_bytes() for name in ("shot.pdf", "shot-2.pdf")] == [data, data[:5]]
    run("call", "shot", "-o", str(tmp_path / "no" / "shot"), *server).sentence(Exit.USAGE, "Cannot write")


def test_data_that_is_not_base64_writes_nothing(tmp_path: Path):
    results = json.dumps({"resources/read": {"contents": [{"uri": "x:/a", "blob": "!"}]}})
    server = ("--no-journal", "--", sys.executable, "-S", str(SERVERS / "results_server.py"), results)
    for words in (("read", "x:/a"), ("read", "x:/a", "-o", str(tmp_path / "a"))):
        run(*words, *server).sentence(Exit.SERVER_ERROR, "not base64")
    assert not (tmp_path / "a").exists()


def test_a_url_to_open_first_is_told_with_its_origin():
    urls = ("https://u@a.example/in?a=1", "javascript:alert(1)", "https://b.example/\u202e")
    data = {"elicitations": [{"mode": "url", "url": url, "message": "Sign \x1b[31min"} for url in urls]}
    error = {"code": -32042, "message": "first", "data": data}
    server = (
        sys.executable,
        "-S",
        str(SERVERS / "results_server.py"),
        json.dumps({"tools/call": {"error": error}}),
    )
    ran = run("call", "odd", "--no-journal", "--", *server)
    assert ran.status == Exit.SERVER_ERROR
    assert ran.err.splitlines()[-6:] == [
        "mcp-tui: Open this URL of https://a.example, then run the command again: https://u@a.example/in?a=1",
        "  The server says: Sign ␛[31min",
        "mcp-tui: Do not open this URL, it is not plain: javascript:alert(1)",
        "  The server says: Sign ␛[31min",
        "mcp-tui: Do not open this URL, it is not plain: https://b.example/‹202E›",
        "  The server says: Sign ␛[31min",
    ]
