"""Headless commands load what they need and no more: a process says what stands in its ``sys.modules``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.cli.running import HANDSHAKE, HANG, demo_over_http

REPORT = """
import json, sys
from mcp_tui.cli import main
status = [main(words) for words in json.loads(sys.argv[1])]
print(json.dumps([status, sorted(sys.modules)]), file=sys.stderr)
"""
SCREEN = ("textual", "rich")
WIRE = ("httpx", "httpcore", "httpx_sse", "h11", "anyio")
TYPES = ("pydantic",)


def loaded(*commands: tuple[str, ...]) -> tuple[list[int], set[str]]:
    """The exit status of each command, and the names of the packages that were loaded by their end."""
    program = [sys.executable, "-c", REPORT, json.dumps(commands)]
    ran = subprocess.run(program, stdin=subprocess.DEVNULL, capture_output=True, timeout=HANG, check=True)
    status, modules = json.loads(ran.stderr.splitlines()[-1])
    return status, {name.partition(".")[0] for name in modules}


def test_over_stdio_neither_textual_nor_httpx():
    handshake = ("--protocol", HANDSHAKE)
    status, modules = loaded(
        ("call", "echo", "text=hi", "--demo", "--json"),
        ("call", "silent", "--cancel-after", "0", "--linger", "0", "--demo", *handshake),
        ("info", "--demo"),
        ("demo",),
    )
    assert status == [0, 7, 0, 0]
    assert "mcp_tui" in modules
    assert not modules & {*SCREEN, *WIRE, *TYPES}


def test_words_alone_load_nothing_at_all():
    _, modules = loaded(("frobnicate",), ("call", "--help"))
    assert not modules & {*SCREEN, *WIRE, *TYPES, "pydantic_core", "asyncio", "jsonschema_rs"}


def test_a_plain_call_is_parsed_without_argparse_and_speaks_without_tls():
    status, modules = loaded(("call", "echo", "text=hi", "--demo"))
    assert status == [0]
    assert not modules & {"argparse", "ssl", "tomllib"}


def test_a_call_that_needs_no_arguments_loads_no_validator_and_no_types_that_json_lacks():
    words = ("--cancel-after", "0", "--linger", "0", "--demo")
    status, modules = loaded(("call", "silent", *words))
    assert status == [7]
    assert not modules & {"jsonschema_rs", "decimal", "fractions", "uuid"}


def test_a_client_of_a_control_socket_loads_next_to_nothing():
    status, modules = loaded(("ps",), ("cancel", "none/1"))
    assert status == [0, 2]
    assert not modules & {*SCREEN, *WIRE, *TYPES, "argparse", "asyncio", "dataclasses", "pydantic_core"}


async def test_over_http_no_textual(tmp_path: Path):
    async with demo_over_http(tmp_path / "log") as url:
        status, modules = loaded(("call", "echo", "text=hi", url))
    assert status == [0]
    assert "httpx" in modules
    assert not modules & {"textual", *TYPES}


def test_the_workbench_looks_for_garbage_again_when_it_cannot_run():
    program = "import gc, sys; from mcp_tui.cli import main; status = main(['--demo']); print(gc.isenabled(), status)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=HANG, check=False)
    assert ran.stdout.split() == [b"True", b"2"]
