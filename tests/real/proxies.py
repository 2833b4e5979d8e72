"""Make `docs/findings-proxies.md`, and the JSON beside it: what proxies and bridges do to a call.

python tests/real/install.py --all    # once: the bridges, from their registries; the proxies are packages of Debian
python -m tests.real.proxies          # each run is kept below .real/findings, so that a second call goes on; --again
python -m tests.real.proxies --kept   # write the page of the runs that were made; or name proxies

Each run has a server that notes what reaches it (`servers/witness.py`), one proxy or bridge, and `mcp-tui call`.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Final
from urllib.parse import urlsplit

from mcp_tui import __version__, clock
from tests.real import page as pages
from tests.real.clients.recorder import serving
from tests.real.install import SERVERS, Part
from tests.real.registry import LEGACY, MODERN, Server, free_port
from tests.real.used import BRIDGES, Used, listening

PAGE: Final = pages.DOCS / "findings-proxies.md"
DATA: Final = PAGE.with_suffix(".json")
SSE: Final = "2024-11-05"
"""The version whose runs are over HTTP+SSE."""
ERAS: Final = (SSE, LEGACY, MODERN)
MCP_TUI: Final = (sys.executable, "-m", "mcp_tui")

AFTER: Final = 2
"""Seconds of a call before its cancel, or the end of its client."""
EVERY: Final = 4
"""Seconds between two progress messages of a call that reports."""
WORKS: Final = 14
"""Seconds that a call takes: what has not arrived by then is *never*."""
PATIENCE: Final = 10
"""Seconds that a client may still wait after the answer of a silent call."""
SILENT: Final = 330
"""Seconds of a silent call. No proxy here has a default that is longer, but none."""

AT_ONCE: Final = 6
"""Runs at a time, beside the silent ones, which only wait."""
NO_PART: Final = Part("", "", "", lambda _: None, lambda: None)
Seen = dict[str, Any]


# -- what stands between -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy of Debian: its program, how that says its version, its shortest configuration, and how it starts with that.

    PORT is where it listens, SERVER the host and port behind it, HERE a folder, CONFIG the file of the configuration.
    ``limit`` is its documented limit for a silent server.
    """

    name: str
    version: str
    config: str
    command: str
    limit: str

    @property
    def kind(self) -> str:
        return ""

    def title(self) -> str:
        said = subprocess.run(shlex.split(self.version), capture_output=True, text=True, check=False)
        found = re.search(r"\d+\.\d+\.\d+", said.stdout + said.stderr)
        return f"{self.name} {found[0] if found else '?'}"

    def missing(self) -> str | None:
        program = shlex.split(self.command)[0]
        return None if shutil.which(program) else f"{program} is not installed"

    @contextmanager
    def run(self, witness: Server, flags: tuple[str, ...]) -> Generator[list[str]]:
        """Give the words of `mcp-tui` that name the server."""
        with ExitStack() as stack:
            here = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
            here.chmod(0o755)  # some give up their rights
            url = urlsplit(stack.enter_context(serving([*witness.command, "--http", *flags])))
            known = {"HERE": str(here), "CONFIG": str(here / "config"), "SERVER": url.netloc}
            known["PORT"] = str(free_port())

            def filled(text: str) -> str:
                return re.sub(rf"\b({'|'.join(known)})\b", lambda found: known[found[0]], text)

            (here / "config").write_text(filled(self.config))
            stack.enter_context(
                listening(shlex.split(filled(self.command)), int(known["PORT"]), {**os.environ})
            )
            yield [f"http://127.0.0.1:{known['PORT']}{url.path}"]


PROXIES: Final = (
    Proxy(
        "nginx",
        "nginx -v",
        """\
pid HERE/pid;
error_log HERE/log;
events {}
http {
    access_log off;
    server {
        listen 127.0.0.1:PORT;
        location / { proxy_pass http://SERVER; }
    }
}
""",
        "nginx -c CONFIG -g 'daemon off;'",
        "`proxy_read_timeout` 60 s",
    ),
    Proxy(
        "haproxy",
        "haproxy -v",
        """\
defaults
    mode http
    timeout connect 5000
    timeout client  50000
    timeout server  50000
listen mcp
    bind 127.0.0.1:PORT
    server one SERVER
""",
        "haproxy -f CONFIG -db",
        "none without `timeout server`; Debian's `haproxy.cfg` sets 50 s",
    ),
    Proxy(
        "Apache httpd",
        "apache2 -v",
        """\
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
ServerName 127.0.0.1
DefaultRuntimeDir HERE
PidFile HERE/pid
ErrorLog HERE/log
Timeout 300
Listen 127.0.0.1:PORT
ProxyPass / http://SERVER/
""",
        "apache2 -f CONFIG -DFOREGROUND",
        "`ProxyTimeout` is `Timeout`: 60 s; Debian's `apache2.conf` sets 300 s",
    ),
    Proxy(
        "Caddy",
        "caddy version",
        """\
{
    admin off
    storage file_system HERE
}
http://127.0.0.1:PORT {
    reverse_proxy SERVER
}
""",
        "caddy run --config CONFIG --adapter caddyfile",
        "none",
    ),
    Proxy(
        "Varnish",
        "varnishd -V",
        "",
        "varnishd -F -n HERE/varnish -a 127.0.0.1:PORT -b SERVER",
        "`first_byte_timeout` and `between_bytes_timeout` 60 s",
    ),
)


@dataclass(frozen=True, slots=True)
class Bridge:
    """A bridge from a registry."""

    used: Used
    over_sse: str
    """Its command over HTTP+SSE."""
    limit: str = ""

    @property
    def name(self) -> str:
        return self.used.name

    @property
    def kind(self) -> str:
        return self.used.kind

    def title(self) -> str:
        return self.used.title

    def missing(self) -> str | None:
        return self.used.missing()

    @contextmanager
    def run(self, witness: Server, flags: tuple[str, ...]) -> Generator[list[str]]:
        """Give the words of `mcp-tui` that name the server."""
        used = self.used
        if "--sse" in flags:
            used = replace(used, command=self.over_sse, path=used.path and "/sse")
        with used.run(replace(witness, on_http=("--http", *flags))) as (_, server, _):
            yield server


@dataclass(frozen=True, slots=True)
class Direct:
    """Nothing between client and server, for comparison."""

    name: str = "none"
    kind: str = ""
    limit: str = ""

    def title(self) -> str:
        return "none"

    def missing(self) -> str | None:
        return None

    @contextmanager
    def run(self, witness: Server, flags: tuple[str, ...]) -> Generator[list[str]]:
        """Give the words of `mcp-tui` that name the server."""
        with serving([*witness.command, "--http", *flags]) as url:
            yield [url]


_OVER_SSE: Final = {
    "mcp-remote HTTP --allow-http": "mcp-remote HTTP --allow-http --transport sse-only",
    "supergateway --streamableHttp HTTP": "supergateway --sse HTTP",
    "supergateway --stdio 'STDIO' --outputTransport streamableHttp --stateful --port PORT":
        "supergateway --stdio 'STDIO' --outputTransport sse --port PORT",
    "mcp-proxy --transport streamablehttp HTTP": "mcp-proxy HTTP",
}  # fmt: skip
"""The commands of bridges over HTTP+SSE that differ from those over streamable HTTP."""

Between = Direct | Proxy | Bridge
BETWEEN: Final[tuple[Between, ...]] = (
    Direct(),
    *PROXIES,
    *(
        Bridge(replace(each, revision=""), _OVER_SSE.get(each.command, each.command))
        for each in BRIDGES
        if each.revision == LEGACY
    ),
)


# -- the runs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """One experiment: the call, what its client does, whether the client is killed, and the flags of the server."""

    call: str
    options: str = ""
    kill: bool = False
    flags: tuple[str, ...] = ()
    http: bool = False
    """Whether it is about HTTP proxies alone."""


_SILENCE: Final = "--timeout 0 --max-timeout 0"
_CANCEL: Final = f"--cancel-after {AFTER} --linger {WORKS}"
CASES: Final = {
    "cancel, silent": Case(f"seconds={WORKS}", _CANCEL),
    "cancel, progress": Case(f"seconds={WORKS} every={EVERY}", _CANCEL),
    "client gone, silent": Case(f"seconds={WORKS}", kill=True),
    "client gone, progress": Case(f"seconds={WORKS} every={EVERY}", kill=True),
    "progress": Case("seconds=4 every=1"),
    "silence": Case(f"seconds={SILENT}", _SILENCE),
    "silence, JSON": Case(f"seconds={SILENT}", _SILENCE, flags=("--json",), http=True),
}


def seen(between: Between, era: str, case: Case) -> Seen:
    """What server and client noticed, in seconds since the call reached the server."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        log = Path(name) / "log"
        command = (sys.executable, str(SERVERS / "witness.py"), str(log))
        witness = Server(
            name="witness",
            package="",
            part=NO_PART,
            command=command,
            on_http=("--http",),
            revisions=ERAS,
        )
        over_sse = era == SSE
        target = stack.enter_context(between.run(witness, (*case.flags, *("--sse",) * over_sse)))
        words = ["call", "--no-journal", "--protocol", era, *shlex.split(case.options)]
        split = target.index("--") if "--" in target else len(target)
        words += ["--transport", "sse"] * (over_sse and split == len(target))
        words += [*target[:split], "work", *case.call.split(), *target[split:]]
        client, lines = watched([*MCP_TUI, *words], Path(name))
        begun_by = time.monotonic() + 30
        if case.kill:
            while not noted(log, "called") and time.monotonic() < begun_by:
                time.sleep(0.05)
            time.sleep(AFTER)
            client.kill()
        status = ending(client, begun_by + SILENT + PATIENCE)
        ended = time.monotonic()
        events = noted(log)
        if case.kill or "cancel" in case.options:  # what the server will still notice
            begun = next((each["at"] for each in events if each["what"] == "called"), ended)
            time.sleep(max(0.0, begun + WORKS + 1 - time.monotonic()))
            events = noted(log)
    begun = next((each["at"] for each in events if each["what"] == "called"), ended)

    def after(at: float) -> float:
        return round(at - begun, 2)

    return {
        "server": [{**each, "at": after(each["at"])} for each in events],
        "client": [[after(at), line] for at, line in lines if not line.startswith("stderr: ")],
        "status": status,
        "ended": after(ended),
    }


def ending(client: subprocess.Popen[str], until: float) -> int | None:
    """The exit status of a client; none if it had to be ended."""
    try:
        return client.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        client.kill()
        client.wait()
        return None


def noted(log: Path, what: str = "") -> list[Seen]:
    """The events in the log of the server."""
    lines = log.read_text().splitlines() if log.exists() else []
    events: list[Seen] = [json.loads(line) for line in lines]
    return [each for each in events if what in ("", each["what"])]


def watched(words: list[str], home: Path) -> tuple[subprocess.Popen[str], list[tuple[float, str]]]:
    """A client that runs, and what it prints with the times."""
    env = {**os.environ, "HOME": str(home), "PYTHONPATH": str(pages.ROOT), "NO_COLOR": "1"}
    client = subprocess.Popen(
        words, env=env, cwd=home, text=True, errors="replace", stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    lines: list[tuple[float, str]] = []

    def read() -> None:
        assert client.stdout is not None
        with client.stdout:
            lines.extend((time.monotonic(), line.rstrip()) for line in client.stdout)

    Thread(target=read, daemon=True).start()
    return client, lines


def doctor(between: Between) -> str:
    """The warning of `doctor` about a proxy; empty without one."""
    with tempfile.TemporaryDirectory() as name:
        command = (sys.executable, str(SERVERS / "witness.py"), str(Path(name) / "log"))
        witness = Server(
            name="", package="", part=NO_PART, command=command, on_http=("--http",), revisions=ERAS
        )
        with between.run(witness, ()) as target:
            words = [*MCP_TUI, "doctor", "--json", "--no-journal", *target]
            env = {**os.environ, "HOME": name, "PYTHONPATH": str(pages.ROOT)}
            done = subprocess.run(words, env=env, cwd=name, capture_output=True, text=True, check=False)
    checks: list[Seen] = json.loads(done.stdout or "{}").get("checks", [])
    return next((each["sentence"] for each in checks if each["check"] == "proxy"), "")


_lock: Final = Lock()


def is_run(between: Between, era: str, case: Case) -> bool:
    """Whether a case is run: only a proxy, and no event stream, can wait for an answer that is JSON."""
    return not (case.http and (era == SSE or isinstance(between, Bridge)))


def kept(between: Between) -> Path:
    """Where the runs of a proxy or bridge are."""
    return pages.PARTS / f"proxies-{pages.slug(between.name)}.json"


def make(
    between: Between, names: list[str], quick: ThreadPoolExecutor, slow: ThreadPoolExecutor
) -> pages.Run | str:
    """The runs of a proxy or bridge, from an earlier call where there are those; in a sentence why there is none."""
    file = kept(between)
    run: pages.Run = json.loads(file.read_text()) if file.exists() else {}
    if "--kept" in sys.argv[1:] or (names and between.name not in names):
        return run or "it was not run yet"
    if reason := between.missing():
        return run or reason
    title = between.title()
    if "--again" in sys.argv[1:] or (run.get("title"), run.get("mcp_tui")) != (title, __version__):
        run = {"name": between.name, "title": title, "mcp_tui": __version__, "runs": {}}
    run["limit"] = between.limit

    def one(era: str, name: str) -> None:
        if name not in run["runs"].setdefault(era, {}):
            run["runs"][era][name] = seen(between, era, CASES[name])
            run["date"] = clock.utc_stamp(clock.wall())[:10]
        if name == "progress" and "doctor" not in run:
            run["doctor"] = "" if isinstance(between, Bridge) else doctor(between)
        with _lock:
            file.write_text(json.dumps(run))
            print(
                f"{title}, {era}, {name}: {run['runs'][era][name]['client'][-1:]}",
                file=sys.stderr,
                flush=True,
            )

    left = [
        (slow if name.startswith("silence") else quick).submit(one, era, name)
        for era in ERAS
        for name, case in CASES.items()
        if is_run(between, era, case)
    ]
    for each in left:
        each.result()
    return run


# -- the page ----------------------------------------------------------------------------------------------------

INTRODUCTION: Final = f"""\
# What proxies and bridges do to a call

**The question.** Something stands between an MCP client and its server. What becomes of a cancel, of a client that is gone,
of a progress message, and of a call that is silent for long?

**How to read a row.** Each proxy has the shortest configuration that works ([`proxies.py`](../tests/real/proxies.py)), each
bridge its plain [command](#the-commands-of-the-bridges). Behind it is a server that notes what reaches it and stops at a
cancel ([`witness.py`](../tests/real/servers/witness.py)); in front of it is `mcp-tui`. "a / b": the tool is silent / it
reports progress each {EVERY} s.

- *version*: 2024-11-05 is HTTP+SSE: one event stream for all answers. The others are streamable HTTP.
- *cancel*: when the tool stopped. Up to 2025-11-25 a cancel is a notification, then over HTTP the end of the stream.
- *client gone*: when the server noticed that its client was killed.
- *progress*: when the messages of a tool that reports each second reached the client.
- *stream, silent*; *JSON, silent*: what ended a call of {SILENT} s without a byte from the server. The server began an event
  stream at once, or answers with JSON; "stops" and "works on": what its tool did then.

"at once" is within a second; "never" was not seen in {WORKS - AFTER} s. – was not run: the bridge does not speak that
version. · was tried with proxies alone.
"""

LATE: Final = 0.1
"""Seconds from which on a message counts as late."""

SURPRISES: Final = """\
**What surprises.**

- In 2026-07-28 the limit of a proxy is a cancel: the tool stops. Before, the tool works to its end, and its answer is lost;
  over HTTP+SSE the session is lost with it, also where no call runs. mcp 1.30.0 and 2.3.0 send a comment each 15 s on their
  event streams: no limit here ended a silent call of theirs.
- haproxy, Apache, and Varnish do not end a silent tool whose client cancelled it in 2026-07-28, or is gone. If the tool
  reports, its first message after that is lost in silence, and only the second or third closes the connection.
- haproxy delivers each message 0.2 s late, as it waits for more to send with it; with `option http-no-delay` at once.
- At the limit of a JSON answer nginx and haproxy say 504, Apache 502, and Varnish 503 with `Retry-After: 5`: a client that
  follows it runs the tool again.
- supergateway (stdio to HTTP) gives requests of 2025-11-25 ids of its own, and passes a cancel on with the id of its client:
  [it may stop another call](../findings/supergateway-cancels-another-call.sh).
- mcp-remote posts the cancel of 2026-07-28 as a notification, which is refused: the tool works to its end.
- mcp-remote and mcp-proxy (PyPI) cut a silent stream after 300 s. Over HTTP+SSE they tell their client, over streamable
  HTTP never: without a limit of its own it waits for ever. supergateway ends each call with an error after 60 s, mcp-proxy
  (npm) after 300 s.
- supergateway (HTTP to stdio) starts a server for each call of 2026-07-28, and kills it when the call is cancelled.
- mcp-proxy (npm) cancels the call of a client that is gone over HTTP+SSE, and in 2025-11-25 lets it work.
- mcp-proxy (PyPI) answers a cancelled call with an error at once, and lets the tool work. From HTTP to stdio it passes
  progress over HTTP+SSE alone, and supergateway passes none from stdio to HTTP.
"""

WORDS: Final = """\
## What mcp-tui says

For the silent calls that something else than the server ended:
"""

LIMITS: Final = """\
## The documented limits

With each, of a server that says nothing:
"""

REPEAT: Final = """\
## Repeat it

`make proxies` runs what is installed: `apt-get install nginx haproxy apache2 caddy varnish` for the proxies, and the bridges
below `.real/`. Every event of every run, with its time since the call began, is in
[findings-proxies.json](findings-proxies.json). By hand: start `tests/real/servers/witness.py LOG --http`, a proxy in
front of it, and `mcp-tui call`; LOG has what reached the server.
"""


def when(found: Seen, names: tuple[str, ...]) -> str:
    """When the first of some events reached the server, seen from the cancel or the death of the client."""
    begun = next((at for at, line in found["client"] if line.startswith("cancel sent")), AFTER)
    events = [each for each in found["server"] if each["at"] >= begun - 0.2]
    event = next((each for each in events if each["what"] in names), None)
    if event is None:
        ended = any(each["what"] == "answered" for each in found["server"])
        return "**never**" if ended else "**its server is killed**"
    late = event["at"] - begun
    steps = sum(each["what"] == "progress" and each["at"] <= event["at"] for each in events)
    if late <= 1:
        return "at once"
    return f"**at message {steps}**" if steps else f"**after {late:.0f} s**"


def pair(runs: Seen, case: str, names: tuple[str, ...]) -> str:
    """The words for a silent tool and for one that reports."""
    silent, talks = (when(runs[f"{case}, {each}"], names) for each in ("silent", "progress"))
    return silent if silent == talks else f"{silent} / {talks}"


def progress(found: Seen) -> str:
    """How late the progress messages were."""
    said = {line.split()[1]: at for at, line in found["client"] if line.startswith("progress ")}
    delays = [
        said[str(each["step"])] - each["at"]
        for each in found["server"]
        if each["what"] == "progress" and str(each["step"]) in said
    ]
    if not delays:
        return "**none**"
    return f"**{max(delays):.1f} s late**" if min(delays) > LATE else "at once"


def silence(found: Seen | None) -> str:
    """What ended a silent call, and what the server made of it."""
    if found is None:
        return "·"
    if found["status"] == 0:
        return "answered"
    cut = next((each["at"] for each in found["server"] if each["what"] == "closed"), found["ended"])
    stopped = any(each["what"] == "stopped" for each in found["server"])
    does = "stops" if stopped else "works on"
    if found["status"] is None:
        return f"**never told**; cut at {cut:.0f} s, {does}"
    words = last(found)
    status = re.search(r"HTTP (\d+)", words)
    failed = "(error " in words or "reports an error" in words
    how = f"HTTP {status[1]}" if status else "an error" if failed else "cut"
    return f"**{how} at {found['ended']:.0f} s**, {does}"


def last(found: Seen) -> str:
    """The last line of the client, without its own time."""
    return re.sub(r"^(failed|lost) after \S+ s: ", "", found["client"][-1][1]) if found["client"] else ""


def spoke(runs: Seen) -> bool:
    """Whether a call reached the server at all."""
    return any(each["what"] == "called" for each in runs["progress"]["server"])


def cells(run: pages.Run, era: str) -> Iterator[str]:
    """The row of a proxy in a version."""
    runs = run["runs"][era]
    yield run["title"]
    yield era
    if not spoke(runs):
        yield from "–––––"
        return
    yield pair(runs, "cancel", ("stopped",))
    yield pair(runs, "client gone", ("closed", "stdin ended", "cancelled", "session ended", "not written"))
    yield progress(runs["progress"])
    yield silence(runs.get("silence"))
    yield silence(runs.get("silence, JSON"))


def page(data: pages.Run) -> str:
    """The page itself."""
    runs: list[pages.Run] = data["proxies"]
    heads = ("between", "version", "cancel", "client gone", "progress", "stream, silent", "JSON, silent")
    lines = [INTRODUCTION, pages.row(heads), "|---" * len(heads) + "|"]
    lines += [pages.row(cells(run, era)) for run in runs for era in ERAS]
    lines += ["", f"{pages.when(runs)}; Linux.", ""]
    lines += [f"- Not run: {name}: {pages.plain(why)}." for name, why in data["not run"].items()]
    lines += [SURPRISES, WORDS, *words(runs), "", LIMITS]
    lines += [f"- {run['title']}: {run['limit']}." for run in runs if run["limit"]]
    lines += [
        "",
        "## The commands of the bridges",
        "",
        "HTTP is the server's URL, STDIO its command, PORT where the bridge listens.",
        "",
    ]
    for each in BETWEEN:
        if isinstance(each, Bridge):
            sse = f"; HTTP+SSE: `{each.over_sse}`" * (each.over_sse != each.used.command)
            lines.append(f"- {each.used.title}: `{each.used.command}`{sse}")
    return "\n".join([*lines, "", REPEAT]).rstrip() + "\n"


def words(runs: list[pages.Run]) -> Iterator[str]:
    """Each sentence of the client about an end that was not the server's, with those that caused it."""
    said: dict[str, dict[str, None]] = {}
    for run in runs:
        for era in ERAS:
            for name in ("silence", "silence, JSON"):
                found = run["runs"][era].get(name)
                if found and found["status"] and spoke(run["runs"][era]):
                    said.setdefault(last(found), {})[
                        f"{run['name']}, {era}, {'JSON' if CASES[name].flags else 'stream'}"
                    ] = None
    for sentence, causes in said.items():
        yield f"- {pages.code(sentence)}: {'; '.join(causes)}."


def main() -> int:
    """Make what is missing, and write the page."""
    pages.PARTS.mkdir(parents=True, exist_ok=True)
    names = [each for each in sys.argv[1:] if not each.startswith("--")]
    with (
        ThreadPoolExecutor(AT_ONCE) as quick,
        ThreadPoolExecutor(len(BETWEEN) * len(ERAS) * 2) as slow,
        ThreadPoolExecutor(len(BETWEEN)) as pool,
    ):
        runs = pool.map(partial(make, names=names, quick=quick, slow=slow), BETWEEN)
        made = dict(zip((each.name for each in BETWEEN), runs, strict=True))
    data = {
        "not run": {name: run for name, run in made.items() if isinstance(run, str)},
        "proxies": [run for run in made.values() if not isinstance(run, str)],
    }
    DATA.write_text(pages.lines_of(data, "proxies"), encoding="utf-8")
    PAGE.write_text(page(data), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
