"""Two hundred secrets, planted wherever a person gives one, and a server that says each of them back: none in any file."""

from __future__ import annotations

import base64
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.cli.output import Exit
from mcp_tui.journal import index
from mcp_tui.journal.journal_files import journal_folder
from tests.cli.running import HANDSHAKE, SERVERS, run

pytestmark = pytest.mark.slow  # every command is run once over each transport

ECHO = str(SERVERS / "echo_server.py")

ENV_NAMES = (
    "API_TOKEN", "GITHUB_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "PGPASSWORD", "CLIENT_SECRET",
    "SESSION_COOKIE", "ENCRYPTION_KEY", "SSH_PASSPHRASE", "NPM_AUTH_TOKEN", "SERVICE_CREDENTIALS",
)  # fmt: skip
OAUTH = (
    "access_token", "refresh_token", "id_token", "client_secret", "code_verifier_secret", "device_token", "session_token",
    "subject_token", "actor_token", "registration_access_token",
)  # fmt: skip
HEADERS = (
    "Authorization",
    "X-Api-Key",
    "X-Auth-Token",
    "Proxy-Authorization",
    "X-Session-Token",
    "X-Client-Secret",
)
MEMBERS = (
    "password", "apiKey", "api_key", "token", "secret", "private_key", "passphrase", "credentials", "accessKey",
    "userPassword",
)  # fmt: skip


class Planted:
    """Secrets, each told from all others, with some that have to be escaped here and there."""

    def __init__(self) -> None:
        self.canaries: list[str] = []
        self._random = random.Random(0)

    def secret(self, shape: str = "{}") -> str:
        """A new one. What is looked for is its heart, which nothing escapes."""
        heart = f"c{len(self.canaries):03}x{self._random.randrange(1 << 48):012x}"
        self.canaries.append(heart)
        return shape.format(heart)

    def pem(self) -> str:
        """A private key of some lines, each of which is a secret."""
        lines = "\n".join(self.secret("{}" + "Ab0+" * 11) for _ in range(3))
        return f"-----BEGIN PRIVATE KEY-----\n{lines}\n-----END PRIVATE KEY-----"

    def found(self, folder: Path) -> dict[str, list[str]]:
        """Which secrets stand in which file."""
        hits: dict[str, list[str]] = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                raw = path.read_bytes()
                here = [each for each in self.canaries if each.encode() in raw]
                if here:
                    hits[path.name] = here
        return hits


SHAPES = ("{}", 'q"{}"', "back\\{}\\slash", "line\n{}", "päss✓{}", "{}/+=", "  {}  x", "{}%20&")


def oauth(planted: Planted) -> dict[str, Any]:
    return {
        **{name: planted.secret() for name in OAUTH},
        "token_response": json.dumps({name: planted.secret() for name in OAUTH}),
        "nested": [
            {"deep": {"api_key": planted.secret()}},
            json.dumps({"password": json.dumps({"token": planted.secret()})}),
        ],
        **{name: planted.secret(shape) for name, shape in zip(MEMBERS, [*SHAPES, *SHAPES], strict=False)},
        "redirect": f"http://127.0.0.1/cb?state=x&code={planted.secret()}&access_token={planted.secret()}",
        "text": f"Authorization: Bearer {planted.secret()}1 and https://user:{planted.secret()}@example.com/",
        "privateKey": planted.pem(),
    }


def told(place: Path, arguments: dict[str, Any], *words: str) -> Iterator[str]:
    """What is printed when each of two tools is called with these arguments."""
    for tool, status in (("echo", Exit.COMPLETED), ("fail", Exit.SERVER_ERROR)):
        options = ("--json", "--protocol", HANDSHAKE, "--record", str(place / f"{tool}.jsonl"))
        ran = run("call", tool, "--args", json.dumps(arguments), *options, *words)
        assert ran.status == status, ran.err[-2000:]
        yield ran.out + ran.err


def looked_through(planted: Planted, place: Path) -> None:
    """Put the last session into every form, and look at all that was written."""
    for form in ("jsonl", "markdown", "csv"):
        ran = run("export", "last", "--format", form, "-o", str(place / f"export.{form}"))
        assert ran.status == 0, ran.err
    for words in (("log", "--json"), ("log",), ("log", "--csv"), ("log", "--sessions", "--json")):
        (place / "-".join(words)).write_text(run(*words).out)
    home = Path(os.environ["HOME"])
    files = [path for path in (*home.rglob("*"), *place.rglob("*")) if path.is_file()]
    assert any(path.name == index.CACHE_NAME for path in files)
    assert sum(path.stat().st_size for path in files) > 100_000
    assert planted.found(home) == {}
    assert planted.found(place) == {}


@pytest.mark.timeout(600)
def test_over_stdio_no_secret_is_in_any_file(tmp_path: Path):
    planted = Planted()
    env = {name: planted.secret(shape) for name, shape in zip(ENV_NAMES, [*SHAPES, *SHAPES], strict=False)}
    env |= {f"{name}_{number}": planted.secret() for number in range(4) for name in ENV_NAMES}
    env["TLS_PRIVATE_KEY"] = planted.pem()
    env["DATABASE_URL"] = f"postgres://me:{planted.secret()}@db.example.com/x?sslpassword={planted.secret()}"
    words = [part for name, value in env.items() for part in ("-e", f"{name}={value}")]
    command = [
        "--api-key", planted.secret(), f"--token={planted.secret()}", "--password", planted.secret('p"{}\\'),
        "--header", f"Authorization: Bearer {planted.secret()}", "--header", f"X-Api-Key: {planted.secret()}",
        f"https://u:{planted.secret()}@example.com/mcp?api_key={planted.secret()}", f"SECRET={planted.secret()}",
        *(f"--{name.lower().replace('_', '-')}={planted.secret()}" for name in ENV_NAMES),
        "--config", json.dumps({name: planted.secret() for name in MEMBERS}),
    ]  # fmt: skip
    arguments = oauth(planted)
    arguments["more"] = {
        f"{name}_{number}": planted.secret()
        for number in range(5)
        for name in ("token", "secret", "password")
    }
    assert len(planted.canaries) >= 140
    for said in told(tmp_path, arguments, *words, "--", sys.executable, ECHO, "stdio", *command):
        # the server did say them all: what is kept is another matter
        assert sum(each in said for each in planted.canaries) == len(planted.canaries)
    looked_through(planted, tmp_path)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    with subprocess.Popen([sys.executable, ECHO, "http"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.timeout(600)
def test_over_http_no_secret_is_in_any_file(tmp_path: Path, web: str):
    planted = Planted()
    password = planted.secret()
    basic = base64.b64encode(f"me:{password}".encode()).decode()
    headers = [f"{name}: {planted.secret()}" for name in HEADERS[1:]]
    headers += [f"Authorization: Basic {basic}", f"Cookie: sid={planted.secret()}; other={planted.secret()}"]
    headers += [f"X-Service-{number}-Token: {planted.secret()}" for number in range(10)]
    url = f"{web}/mcp/{planted.secret()}0aZ?api_key={planted.secret()}&access_token={planted.secret()}&page=1"
    arguments = oauth(planted)
    for said in told(tmp_path, arguments, *(part for each in headers for part in ("-H", each)), url):
        assert sum(each in said for each in planted.canaries) >= len(planted.canaries) - 1
        assert basic in said
    planted.canaries.append(basic)
    assert len(planted.canaries) >= 60
    looked_through(planted, tmp_path)
    assert journal_folder().is_dir()
