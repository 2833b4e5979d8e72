"""`login`, `logout` and `auth` as processes: what they print, what they store, and that no secret is left anywhere."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, cast

import httpx
import pexpect
import pytest

from mcp_tui.cli.manual import EXAMPLES
from mcp_tui.cli.output import Exit
from tests.auth.lying_server import BOUND_BY_CHALLENGE, jwt_of
from tests.cli.examples import words_of
from tests.cli.running import MCP_TUI, run
from tests.forking import Piped
from tests.slow import slow
from tests.waiting import HANG

Serve = Callable[..., str]


@pytest.fixture
def serve() -> Generator[Serve]:
    """Starts a server that wants a token; gives its URL."""
    processes: list[Piped] = []
    server = str(Path(__file__).with_name("lying_server.py"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def start(lie: str = "") -> str:
        processes.append(process := Piped("server", [sys.executable, server, lie], environment))
        assert process.stdout is not None
        return process.stdout.readline().decode().strip()

    yield start
    for process in processes:
        process.send_signal(signal.SIGTERM)
        process.communicate()


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    found = {"MCP_TUI_STATE": str(tmp_path), "MCP_TUI_AUTH_STORAGE": "file", "PYTHONUNBUFFERED": "1"}
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return {**os.environ, **found}


def signed_in_by_pasting(url: str, env: dict[str, str], *options: str) -> str:
    """Run `login` in a terminal without a browser: open the URL by hand, paste where it ends. What it printed."""
    words = [*MCP_TUI[1:], "login", "--no-browser", *options, url]
    terminal: Any = cast("Any", pexpect).spawn(
        MCP_TUI[0], words, env=env, encoding="utf-8", timeout=HANG, dimensions=(40, 4000)
    )
    terminal.expect(r"(http://\S+/authorize\?\S+)")
    page = str(terminal.match[1])
    terminal.expect("it may show an error page")
    ends = httpx.get(page, trust_env=False).headers["location"]
    terminal.sendline("https://evil.example/?code=1")
    terminal.expect("Not the redirect URL")
    terminal.sendline(ends)
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == Exit.COMPLETED
    return str(terminal.before)


@pytest.mark.pty
def test_a_sign_in_without_a_browser_by_pasting_the_url(serve: Serve, env: dict[str, str], tmp_path: Path):
    url = serve()
    said = signed_in_by_pasting(url, env)
    assert f"Signed in to {url} (valid until" in said
    assert "sign-ins.json (readable only by you, not encrypted)" in said

    called = run("call", "open", url)
    assert (called.status, called.out) == (0, "done\n")
    listed = run("auth", "list").out
    assert listed.startswith(f"{url}\n")
    assert "renews automatically" in listed
    (entry,) = json.loads(run("auth", "list", "--json").out)
    assert entry["server"] == url
    assert not [name for name in entry if "token" in name or "secret" in name]

    kept = json.loads((tmp_path / "sign-ins.json").read_text())
    hidden = [value for value in kept[url]["secrets"].values() if value]
    assert len(hidden) == 3
    journals = [path.read_text() for path in (tmp_path / "journal").iterdir()]
    assert journals
    for text in (
        said.partition("paste")[2].partition("Not the redirect URL")[2],
        listed,
        called.err,
        *journals,
    ):
        assert not [secret for secret in hidden if secret in text]
        assert "code-canary" not in re.sub(r"callback\?\S+", "", text)

    assert run("logout", url).status == Exit.COMPLETED
    assert run("logout", url).status == Exit.USAGE
    run("call", "open", url).sentence(
        Exit.UNAUTHORIZED, "requires sign-in (HTTP 401)", f"Run mcp-tui login {url}"
    )


def test_the_examples_of_signing_in_run(serve: Serve, env: dict[str, str]):
    url = serve()
    (line,) = EXAMPLES["login"]
    words = [*MCP_TUI, *words_of(line, url)]
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as one:
        assert one.stdout is not None
        pages = (re.search(r"http://\S+/authorize\?\S+", said) for said in one.stdout)
        page = next(filter(None, pages)).group()
        assert httpx.get(page, follow_redirects=True, trust_env=False).status_code == 200
        one.communicate(timeout=HANG)
        assert one.returncode == Exit.COMPLETED
    (line,) = EXAMPLES["logout"]
    assert run(*words_of(line, url)).status == Exit.COMPLETED


def test_logout_of_all_leaves_nothing_that_cannot_be_read(env: dict[str, str], tmp_path: Path):
    kept = tmp_path / "sign-ins.json"
    kept.write_text(json.dumps({"https://a.example/mcp": {"from": "an older version", "token": "canary"}}))
    assert json.loads(run("auth", "list", "--json").out) == []
    assert "https://a.example/mcp" in run("logout", "--all").out
    assert json.loads(kept.read_text()) == {}


@pytest.mark.pty
def test_a_token_bound_to_a_key_is_signed_in_for_and_used(serve: Serve, env: dict[str, str], tmp_path: Path):
    url = serve(BOUND_BY_CHALLENGE)
    signed_in_by_pasting(url, env)
    called = run("call", "open", url)
    assert (called.status, called.out) == (0, "done\n")
    listed = run("auth", "list").out
    assert "renews automatically, bound to a key (DPoP)" in listed
    key = json.loads((tmp_path / "sign-ins.json").read_text())[url]["secrets"]["proof_key"]
    assert json.loads(key)["alg"] == "ES256"
    assert key not in listed


def test_a_workload_signs_in_with_the_jwt_in_a_file(serve: Serve, env: dict[str, str], tmp_path: Path):
    url, jwt = serve("short"), tmp_path / "jwt"  # a token serves once, so others are got with what is stored
    jwt.write_text(jwt_of({"aud": "https://mine.example"}))
    ran = run("login", "--assertion", str(jwt), url)
    assert ran.status == Exit.UNAUTHORIZED
    (issuer,) = re.findall(r"server names the authorization server (\S+), so it was not sent there", ran.err)
    jwt.write_text(jwt_of({"aud": issuer}))
    assert run("login", "--assertion", str(jwt), url).status == Exit.COMPLETED
    assert run("call", "open", url).out == "done\n"
    assert f"JWT from {jwt}" in run("auth", "list").out
    ran = run("login", "--idp", "http://127.0.0.1:9", "--client-id", "me", "--assertion", str(jwt), url)
    assert ran.status == Exit.UNAUTHORIZED
    assert "connection refused by 127.0.0.1:9" in ran.err.lower()


@pytest.mark.pty
def test_a_refused_renewal_is_listed_and_leads_to_another_sign_in(serve: Serve, env: dict[str, str]):
    url = serve("short, without renewal")
    signed_in_by_pasting(url, env)
    for _ in range(2):
        run("tools", url).sentence(Exit.UNAUTHORIZED, f"Run mcp-tui login {url}, or add a token")
        assert "renewal refused (invalid_grant)" in run("auth", "list").out
    (entry,) = json.loads(run("auth", "list", "--json").out)
    assert (entry["renews"], entry["renewal_refused"]) == (False, "invalid_grant")


def test_a_sign_in_that_cannot_be_stored_is_told_and_fails(serve: Serve, env: dict[str, str], tmp_path: Path):
    url, jwt = serve(), tmp_path / "jwt"
    jwt.write_text(jwt_of({"aud": "https://mine.example"}))
    (issuer,) = re.findall(
        r"names the authorization server (\S+),", run("login", "--assertion", str(jwt), url).err
    )
    jwt.write_text(jwt_of({"aud": issuer}))
    (tmp_path / "sign-ins.json").mkdir()
    ran = run("login", "--assertion", str(jwt), url)
    assert ran.status == Exit.DEFECT
    assert "Stored" not in ran.out
    assert "not stored" in ran.err
    assert "sign-ins.json: Is a directory" in ran.err


def test_without_a_token_the_sentence_names_the_way_out(serve: Serve, env: dict[str, str]):
    url = serve()
    ran = run("tools", url)
    ran.sentence(
        Exit.UNAUTHORIZED, f"Run mcp-tui login {url}, or add a token with -H 'Authorization: Bearer TOKEN'."
    )
    assert "resource_metadata" not in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("login",), "No server given"),
        (("login", "ftp://x"), "takes a URL"),
        (("login", "--client-credentials", "https://x.example"), "need --client-id"),
        (
            ("login", "--client-id", "me", "--client-credentials", "https://x.example"),
            "MCP_TUI_CLIENT_SECRET",
        ),
        (("login", "--client-id", "me", "--key", "/dev/null", "https://x.example"), "is empty"),
        (("login", "--idp", "https://idp.example", "https://x.example"), "An identity provider needs"),
        (("login", "--assertion", "/x", "--client-credentials", "https://x.example"), "Use either"),
        (("logout", "https://x.example"), "No sign-in stored"),
        (("auth",), "Use mcp-tui auth list."),
        (("auth", "list", "https://x.example"), "Use mcp-tui auth list."),
    ],
)
def test_words_that_cannot_be_are_refused(words: tuple[str, ...], said: str, env: dict[str, str]):
    run(*words).sentence(Exit.USAGE, said)


def test_a_secret_needs_an_issuer_so_that_no_server_chooses_who_gets_it(env: dict[str, str]):
    ran = run("login", "--client-id", "me", "https://x.example", MCP_TUI_CLIENT_SECRET="canary-1234")
    ran.sentence(Exit.USAGE, "A secret or key needs --issuer URL")
    assert "canary" not in ran.err


@pytest.mark.pty
def test_a_redirect_uri_is_kept_with_its_client_and_listed(serve: Serve, env: dict[str, str]):
    url, uri = serve(), f"http://localhost:{20000 + os.getpid() % 10000}/cb"
    ran = run("login", "--redirect-uri", "https://localhost/cb", url)
    ran.sentence(Exit.USAGE, "--redirect-uri must be http://127.0.0.1:PORT/PATH")
    signed_in_by_pasting(url, env, "--redirect-uri", uri)
    said = signed_in_by_pasting(url, env)
    assert "/register" not in said
    (entry,) = json.loads(run("auth", "list", "--json").out)
    assert entry["redirect_uri"] == uri


def test_nothing_is_signed_in_at(env: dict[str, str]):
    assert run("auth", "list").out == "No sign-ins stored. Sign in with mcp-tui login URL.\n"


KILLED = """
import os, signal
from pathlib import Path
from mcp_tui.client.auth.credential_store import Credentials, CredentialStore, Token
Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
made = Credentials(server="https://x.example/mcp", token=Token(access="canary-access"))
CredentialStore(storage="file").save(made)
"""


@pytest.mark.parametrize("words", [["https://x.example/mcp"], *slow(["--all"])])
def test_logout_deletes_what_a_killed_sign_in_left(words: list[str], env: dict[str, str], tmp_path: Path):
    def left() -> list[Path]:
        return [each for each in tmp_path.rglob("*") if each.is_file() and "canary" in each.read_text()]

    subprocess.run([sys.executable, "-c", KILLED], env=env, check=False)
    assert len(left()) == 1
    ran = run("logout", *words)
    assert (ran.status, left()) == (0, [])
    assert ran.out == "Deleted what an interrupted mcp-tui left of the stored sign-ins.\n"
    assert run("logout", *words).status == Exit.USAGE
