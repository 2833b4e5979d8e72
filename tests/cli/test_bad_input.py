"""Bad input: one sentence on stderr, the exit status of the contract, nothing on stdout, never a traceback."""

from __future__ import annotations

import atexit
import os
import pty
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_tui.cli import main
from mcp_tui.cli.output import Exit
from mcp_tui.journal.journal_files import journal_folder
from tests.cli.running import HANG, MCP_TUI, Ran, run, running, scripted
from tests.servers.http_scripted import Call, HttpScript

USAGE, UNREACHABLE = Exit.USAGE, Exit.UNREACHABLE


async def answer(call: Call) -> None:
    """Answer with HTML; the path is the HTTP status, and behind it a challenge may stand as a query."""
    status, _, challenge = call.path.strip("/").partition("?")
    headers = {"WWW-Authenticate": challenge} if challenge else {}
    await call.respond(
        int(status), b"<html><body>It works!</body></html>", "text/html; charset=utf-8", headers
    )


@pytest.fixture
async def page() -> AsyncIterator[str]:
    async with HttpScript(answer) as server:
        yield server.url.removesuffix("/mcp")


TAKEN = socket.socket()
"""Bound and never listening: nobody else can have its port, and whoever connects is refused."""
TAKEN.bind(("127.0.0.1", 0))
atexit.register(TAKEN.close)
REFUSED = f"127.0.0.1:{TAKEN.getsockname()[1]}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["frobnicate"], ["Unknown subcommand 'frobnicate'. To start a server: mcp-tui -- python server.py"]),
        (["localhost:8731/mcp"], ["A URL begins with http:// or https://. Is it http://localhost:8731/mcp?"]),
        (["info", "mcp.test/mcp"], ["A URL begins with http:// or https://. Is it http://mcp.test/mcp?"]),
        (["info", "--client-key", "k", "https://h/"], ["--client-key needs --client-cert FILE as well."]),
        (["info", "--client-cert", "nofile", "https://h/"], ["Cannot read the client certificate 'nofile'"]),
        (["info", "--client-cert", os.devnull, "https://h/"], [f"No certificate in '{os.devnull}'"]),
        (["login", "--client-cert", "nofile", "https://h/"], ["Cannot read the client certificate 'nofile'"]),
        (["info", "--client-cert", "nofile", "--demo"], ["--client-cert is only for HTTP servers"]),
        (["cal", "echo", "--demo"], ["Did you mean 'call'?"]),
        (["call", "--demo"], ["Missing TOOL.", "mcp-tui call --help"]),
        (["call", "echo", "b", "--demo"], ["'b'. Use NAME=VALUE; put the server command after --"]),
        (["tools", "extra", "--demo"], ["Unexpected argument 'extra'"]),
        (["info", "--bogus", "--demo"], ["Unknown option '--bogus'."]),
        (
            ["call", "--cancel-aftre=2", "--demo"],
            ["'--cancel-aftre'. Did you mean '--cancel-after'? See mcp-tui call"],
        ),
        (
            ["tools", "--linger", "2", "--demo"],
            ["--linger belongs to call, request, read, prompt.", "tools --help"],
        ),
        (["--json"], ["Option --json belongs to call", "and others"]),
        (["info"], ["No server given."]),
        (["info", "--"], ["No server command after --"]),
        (["info", "--demo", "http://127.0.0.1:1/"], ["More than one server."]),
        (["info", "http://127.0.0.1:1/", "http://127.0.0.1:2/"], ["Two URLs."]),
        (["info", "-e", "FOO", "--demo"], ["-e 'FOO'", "KEY=VALUE"]),
        (["info", "-H", "a b: c", "http://127.0.0.1:1/"], ["HTTP header 'a b'"]),
        (["info", "-H", "a: b\nc: d", "http://127.0.0.1:1/"], ["HTTP header 'a'"]),
        (
            ["info", "-H", "Authorization: Bearer “t”", "http://127.0.0.1:1/"],
            ["HTTP header 'Authorization' cannot contain '“' (U+201C)."],
        ),
        (["info", "-H", "X-ü: b", "http://127.0.0.1:1/"], ["The name of HTTP header 'X-ü'", "'ü' (U+00FC)"]),
        (["info", "-H", "a: b", "--demo"], ["-H is only for HTTP servers"]),
        (["info", "-e", "A=b", "http://127.0.0.1:1/"], ["-e is only for stdio servers"]),
        (["info", "--cwd", "/no/such/folder", "--demo"], ["Directory not found: /no/such/folder (--cwd)."]),
        (["info", "--transport", "stdio", "http://127.0.0.1:1/"], ["needs -- COMMAND"]),
        (["info", "--protocol", "2020-01-01", "--demo"], ["2020-01-01", "2026-07-28"]),
        (["info", "--timeout=-1", "--demo"], ["--timeout", "'-1'"]),
        (["info", "--connect-timeout", "inf", "--demo"], ["--connect-timeout", "'inf'"]),
        (["info", "--max-message", "0", "--demo"], ["--max-message must be above 0."]),
        (["call", "echo", "text=x", "--cancel-after", "nan", "--demo"], ["--cancel-after", "'nan'"]),
        (["ping", "--count", "1.5", "--demo"], ["--count", "not a whole number"]),
        (["demo", "--http", "99999"], ["Choose from 0 to 65535."]),
        (["demo", "--log", "/no/such/folder/log"], ["/no/such/folder/log"]),
        (["call", "add", "--args", '{"a": NaN}', "--demo"], ["--args is not valid JSON", "NaN"]),
        (["call", "add", "--args", "[" * 20_000, "--demo"], ["--args is not valid JSON"]),
        (["call", "add", "--args", "[1]", "--demo"], ["--args must be a JSON object."]),
        (["call", "add", "--args", "@/no/such/file", "--demo"], ["@/no/such/file"]),
        (["request", "ping", "--params", "{", "--demo"], ["--params is not valid JSON"]),
        (["call", "echo", "text=\udcff", "--demo"], ["not valid UTF-8"]),
        (["request", "initialize", "--cancel-after", "1", "--demo"], ["initialize must not be cancelled."]),
        (["info", "--record", "/no/such/folder/file", "--demo"], ["/no/such/folder/file"]),
        (["info", "--server", "nobody"], ["No server 'nobody'"]),
        *(
            (["info", url], ["URL"])
            for url in ("http://", "http://127.0.0.1:99999/", "http://[::1", "http://a b/")
        ),
    ],
)
def test_words_that_mean_nothing(words: list[str], said: list[str], capsys: pytest.CaptureFixture[str]):
    status = main(words)
    out, err = capsys.readouterr()
    Ran(status, out, err).sentence(USAGE, *said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["seconds=NaN"], ["seconds must be a number"]),
        (["nonsense=1"], ["nonsense"]),
        (["größe=1"], ["größe"]),
        (["--args", '{"seconds": "5"}'], ["seconds"]),
    ],
)
def test_arguments_that_the_schema_refuses(words: list[str], said: list[str]):
    run("call", "count", *words, "--demo").sentence(USAGE, "Invalid arguments for 'count': ", *said)
    refused = run("call", "count", *words, "--demo", "--json")
    assert not refused.of("disconnected"), "the client itself ended the connection"


# -- servers that are not there ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (["--", "/no/such/program"], ["/no/such/program"]),
        (["--", "no-such-program-anywhere"], ["no-such-program-anywhere"]),
        (["--", __file__], ["Not executable", "chmod"]),
        ([f"http://{REFUSED}/mcp"], ["Connection refused by", "Is the server running?"]),
    ],
    ids=["absolute", "in PATH", "no program", "no listener"],
)
def test_a_server_that_is_not_there(server: list[str], said: list[str]):
    run("info", *server).sentence(UNREACHABLE, *said)


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/200", UNREACHABLE, ["text/html", "Is this the MCP endpoint?"]),
        ("/404", UNREACHABLE, ["HTTP 404"]),
        ("/500", UNREACHABLE, ["HTTP 500"]),
        ("/401", Exit.UNAUTHORIZED, ["HTTP 401", "-H 'Authorization"]),
        ("/403", Exit.UNAUTHORIZED, ["HTTP 403"]),
    ],
)
async def test_a_url_that_answers_html(page: str, path: str, status: Exit, said: list[str]):
    (await running("call", "echo", "text=hi", page + path)).sentence(status, *said)


async def test_a_token_that_was_given_is_not_asked_for_again_and_not_shown(page: str):
    ran = await running("info", "-H", "Authorization: Bearer s3cret", page + "/401")
    ran.sentence(Exit.UNAUTHORIZED, "was not accepted.")
    assert "s3cret" not in ran.err


async def test_a_header_that_the_protocol_sets_itself_is_told(page: str):
    ran = await running("info", "-H", "Accept: text/html", "-H", "X-Own: 1", page + "/500")
    assert ran.err.splitlines()[:-1] == ["mcp-tui: Header 'Accept' is ignored: the protocol sets it."]


async def test_a_server_that_wants_a_user_and_a_password_is_told_them_in_the_url(page: str):
    said = ("a user and a password (HTTP 401)", "https://USER:PASSWORD@HOST")
    (await running("info", page + "/401?Basic")).sentence(Exit.UNAUTHORIZED, *said)
    bearer = await running("info", page + "/401?Bearer")
    bearer.sentence(Exit.UNAUTHORIZED, "-H 'Authorization: Bearer TOKEN'")
    ran = await running("info", page.replace("://", "://me:s3cret@") + "/401?Basic")
    ran.sentence(Exit.UNAUTHORIZED, "The user and password in the URL were not accepted.")
    assert "s3cret" not in ran.err


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("nothing-mutual", ["No common protocol version", "2099-01-01"]),
        ("wrong-version", ["No common protocol version", "1999-01-01"]),
        ("refuses-handshake", ["refused initialize", "-32603"]),
    ],
)
def test_no_session_comes_of_it(mode: str, said: list[str]):
    run("info", *scripted(mode)).sentence(UNREACHABLE, *said)


def test_a_server_that_exits_is_shown_with_its_stderr_harmless():
    said = "Error: no \x1b[31mlicence\x1b[0m\x1b]0;x\x07\n\n" + "".join(
        f"  --flag-{each}\n" for each in range(9)
    )
    code = f"import sys; sys.stderr.write({said!r}); sys.exit(3)"
    ran = run("tools", "--no-journal", "--", sys.executable, "-S", "-c", code)
    first = ("Error: no licence␛]0;x␇", "  --flag-0", "  --flag-1", "  --flag-2")
    last = (f"  --flag-{each}" for each in range(4, 9))
    ran.sentence(UNREACHABLE, "exited with code 3.", stderr=(*first, "… 1 line left out …", *last))


def test_no_session_in_time():
    said = ("No connection after 3 s", "--connect-timeout")
    ran = run("info", "--connect-timeout", "3", *scripted("mute"))
    ran.sentence(UNREACHABLE, *said, stderr=("waiting for the database",))


@pytest.mark.parametrize("value", ["5", "null", '{"b": "c"}'])
def test_an_argument_of_a_prompt_that_is_no_text(value: str):
    ran = run("prompt", "greet", "b=fine", "--args", f'{{"a": {value}}}', *scripted("never"))
    ran.sentence(USAGE, "Invalid arguments for 'greet': 'a' must be text.")


def test_arguments_from_stdin_are_utf_8_whatever_the_locale_is():
    taken = run("call", "echo", "--args", "-", "--demo", input='\ufeff{"text": "ünï"}', LC_ALL="C")
    assert (taken.status, taken.out) == (0, "ünï\n")
    refused = run("call", "echo", "--args", "-", "--demo", input=b'{"text": "\xe9"}', LC_ALL="C")
    refused.sentence(USAGE, "Cannot read '-' (--args): not UTF-8.")


def test_arguments_from_a_stdin_that_is_closed():
    words = [*MCP_TUI, "call", "echo", "--args", "-", "--demo"]
    done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *words], capture_output=True, check=False)
    Ran(done.returncode, done.stdout.decode(), done.stderr.decode()).sentence(USAGE, "stdin is closed")


# -- files -----------------------------------------------------------------------------------------------------


def test_a_server_of_a_config_file_that_names_others(tmp_path: Path):
    config = tmp_path / "mcp.json"
    config.write_text('{"mcpServers": {"here": {"command": "true"}}}')
    run("info", "--server", "there", "--config", str(config)).sentence(USAGE, "'there'", "here")
    ran = run("info", "--server", "here", "-H", "a: b", "--config", str(config))
    ran.sentence(USAGE, "-H is only for HTTP servers")


def test_tls_that_verifies_nobody_is_said_in_red_and_journalled():
    said = "TLS verification is off (--insecure). Anyone on the network path can read and change all traffic."
    words = [*MCP_TUI, "info", "--insecure", f"https://{REFUSED}/mcp"]
    plain = subprocess.run(words, capture_output=True, timeout=HANG, check=False)
    assert said in plain.stderr.decode().splitlines()
    journals = [path.read_text("utf-8") for path in journal_folder().glob("*.jsonl")]
    assert any("TLS verification is off" in each for each in journals)
    main, worker = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    subprocess.run(words, stderr=worker, stdout=subprocess.DEVNULL, timeout=HANG, check=False, env=env)
    os.close(worker)
    assert f"\x1b[31m{said}\x1b[0m".encode() in os.read(main, 65_536)
    os.close(main)
