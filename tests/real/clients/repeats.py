"""Make `docs/findings-repeats.md`, and the JSON beside it: which clients send a call again by themselves.

python tests/real/install.py --clients    # once: the clients, from their registries
python -m tests.real.clients.repeats      # each run is kept below .real/findings, so that a second call goes on; --again
python -m tests.real.clients.repeats --kept    # write the page of the runs that were made; or name clients

Each client calls the tool `send` of a server that counts (`counting.py`) once; the first call meets a fault.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

from mcp_tui import clock
from tests.real import page as pages
from tests.real.agents import AGENTS, NEWER, Agent, Entry
from tests.real.clients.recorder import serving
from tests.real.clients.table import CONFIG, REPEATING, SERVER, Client
from tests.real.model import Call, Model

PAGE: Final = pages.DOCS / "findings-repeats.md"
DATA: Final = PAGE.with_suffix(".json")
COUNTING: Final = (sys.executable, str(Path(__file__).with_name("counting.py")))
TAP: Final = (sys.executable, "-m", "mcp_tui", "tap", "--once")
AT_ONCE: Final = 2
SECONDS: Final = 60
"""Seconds that a client may take with one fault, without its limits."""

FAULTS: Final = {
    "limit": "limit",
    "error": "error",
    "failed": "isError",
    "502": "HTTP 502",
    "reset": "reset",
    "exit": "exit",
    "cut": "cut",
    "resumable": "cut, id",
    "404": "404",
}
"""The faults, and the heads of their columns."""

WORDS: Final = {"to": "Ada"}
Seen = dict[str, Any]


# -- the runs, kept one by one -----------------------------------------------------------------------------------


def seen(client: Client | Agent, fault: str, limit: float, *, once: bool = False) -> Seen:
    """What a client did with one fault at its first call; ``once``: behind a tap with that option."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder, log = Path(name), Path(name) / "log"
        # some clients give their servers a short environment
        server = ["env", f"MCP_TIMEOUT={limit:g}", *COUNTING, fault, str(log)]
        url = "" if fault == "exit" else stack.enter_context(serving([*server, "--http"]))
        tap = ["env", f"MCP_TUI_STATE={folder}", f"PYTHONPATH={pages.ROOT}", *TAP] if once else []
        if tap and url:
            url = stack.enter_context(serving([*tap, "--http", "0", url]))
        elif tap:
            server = [*tap, "--", *server]
        if isinstance(client, Agent):
            model = stack.enter_context(Model(Call("send", WORDS), "done."))
            started = client.started(folder, model.url, Entry([] if url else server, url=url, limit=limit))
            words, env = started.command, started.env
        else:
            words, env = command(client, folder, server, url)
            env = {**os.environ, **env, "MCP_TIMEOUT": f"{limit:g}"}
        ended, said = finish(words, env, folder, SECONDS + 4 * limit)
        lines = [json.loads(each) for each in log.read_text().splitlines()] if log.exists() else []
    sends = [each for each in lines if each["method"] == "tools/call"]
    return {
        "sends": len(sends),
        "executions": sum(each.get("executed", True) for each in sends),
        "after": [round(each["at"] - sends[0]["at"], 1) for each in sends[1:]],
        "ids": len({json.dumps(each["id"]) for each in sends}),
        "sessions": len({each["session"] for each in sends}),
        "cancels": sum(each["method"] == "notifications/cancelled" for each in lines),
        "resumed": sum(each["method"] == "resumed" for each in lines),
        "ended": ended,
        "said": next((line[:200] for line in said.splitlines() if line.startswith("gave up")), ""),
        "limit": limit,
    }


def command(client: Client, folder: Path, server: list[str], url: str) -> tuple[list[str], dict[str, str]]:
    """The words and variables of a client of an API or on the command line."""
    config = folder / "mcp.json"
    entry = {"url": url} if url else {"command": server[0], "args": server[1:]}
    config.write_text(json.dumps({"mcpServers": {"judge": entry}}))
    given = json.dumps(WORDS)
    filled = {SERVER: [] if url else server, CONFIG: [str(config)], "judge.{tool}": ["judge.send"]}
    words = [
        word for each in client.command for word in filled.get(each, [each.replace("{arguments}", given)])
    ]
    env = {"MCP_EXPERIMENT": "count", "MCP_TOOL": "send", "MCP_ARGUMENTS": given, "MCP_SERVER_URL": url}
    env |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}
    return words, env


def finish(words: list[str], env: dict[str, str], folder: Path, seconds: float) -> tuple[bool, str]:
    """Run a program to its end; whether it ended by itself, and what it printed."""
    with subprocess.Popen(
        words, env=env, cwd=folder, text=True, errors="replace", stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            return True, process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            return False, ""
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def make(client: Client | Agent) -> pages.Run | str:
    """The runs of a client, from an earlier call where there are those; in a sentence why there is none."""
    file = pages.PARTS / f"repeats-{pages.slug(client.name)}.json"
    run: pages.Run = json.loads(file.read_text()) if file.exists() else {}
    if run:
        run["kind"] = client.kind
    chosen = [each for each in sys.argv[1:] if not each.startswith("--")]
    if "--kept" in sys.argv[1:] or (chosen and client.name not in chosen):
        return run or "it was not run yet"
    if reason := client.part.missing() if client.part is not None else None:
        return run or reason
    if "--again" in sys.argv[1:] or run.get("version") != client.version:
        run = {
            "name": client.name,
            "kind": client.kind,
            "version": client.version,
            "registry": client.registry,
            "faults": {},
        }
    for fault in FAULTS:
        if fault not in run["faults"]:
            limit = client.limit
            found = seen(client, fault, limit)
            if not found["sends"]:  # the limit covered its start, on a slow machine
                found = seen(client, fault, 4 * limit)
            run["faults"][fault] = found
            run["date"] = clock.utc_stamp(clock.wall())[:10]
        if run["faults"][fault]["executions"] > 1 and fault not in run.setdefault("once", {}):
            run["once"][fault] = seen(client, fault, run["faults"][fault]["limit"], once=True)
        file.write_text(json.dumps(run))
        print(f"{client.name}: {fault}: {run['faults'][fault]}", file=sys.stderr, flush=True)
    return run


# -- the page ----------------------------------------------------------------------------------------------------

INTRODUCTION: Final = """\
# Which clients repeat by themselves

**The question.** A client calls a tool once, and does not learn how it ended. Does it send the call again, without its model
or its user asking for that? Then the work may be done twice. The tool says that it is not safe to repeat
(`readOnlyHint: false`, `idempotentHint: false`).

**How to read a row.** The number is how often the tool ran for one call; for 404, where it did not run, how often the call
was sent. The columns are what happened to the first call, over streamable HTTP in 2025-11-25, *exit* over stdio:

- *limit*: the answer came 2 s after the limit of the client. *error*: a JSON-RPC error came. *isError*: a result came that
  says that the call failed. (The same happened to its repeats; all else happened to the first call alone.)
- *HTTP 502*, *reset*: the tool ran, then the POST got that status, or its connection was reset. *exit*: the tool ran, and
  the server exited.
- *cut*: the stream of the answer ended without one; *cut, id*: the same with an event id, from which a client can resume.
  *404*: the session is unknown, and the tool did not run.

– was not sent; "open": the client waited for more than a minute beyond its limits.
"""

SURPRISES: Final = """\
**What surprises.**

1. Qwen Code 0.15.10 runs a call four times if it reaches its limit, or if a JSON-RPC error comes, and twice after HTTP 502,
   a reset connection, the exit of the server, or a stream without an answer. Each is in a new session, under the same id;
   its model has asked once. Version 0.24.4 sends each call once.
2. crewai runs a call three times when it reaches its limit, and sends no cancel in between: a tool that takes longer than
   the limit runs three times for each request of a model.
3. After a JSON-RPC error Qwen Code, crewai, and openai-agents with retries send the call again. After a result that says
   that the call failed no client does: that is the form in which `mcp-tui tap` ends a call.
4. The tool says that it is not idempotent. Those that repeat do it all the same.
5. @mastra/mcp starts a server that exited in the call anew, and calls the tool again: its program sees one success. So it
   does after a reset connection, in a new session.
6. openai-agents repeats only with `max_retry_attempts`. Then some of its repeats come from a second session.
7. After HTTP 502 only Qwen Code repeats on its own, and openai-agents and @ai-sdk/mcp with their options.
8. After 404 Claude Code, Codex, opencode, Qwen Code, and agent-framework open a new session, as the specification asks, and
   repeat the call; crewai sends it three times to the session that is gone.
9. The repeat often has the id of the first (Qwen Code, opencode, agent-framework, openai-agents): an id does not tell calls
   apart.
10. If a stream ends without an answer, all clients but @ai-sdk/mcp resume it where it has an event id. Without one, Qwen
    Code, crewai, and openai-agents with retries run the call again; the others fail, or wait for their limit.
11. Not in the table: [mcpc](../findings/mcpc-runs-a-timed-out-call-again.sh) at its limit, and
    [toolregistry and chuk-tool-processor](../findings/two-frameworks-restart-a-server-for-an-error.sh) after a JSON-RPC
    error end their server, start another, and run the call again.
"""

ONCE: Final = """\
## Behind `mcp-tui tap --once`

How often the tool ran for one call, without [`--once`](how-to/once.md) and with it. An error that the server itself
sends is an answer: a client may repeat after it.
"""

REPEAT: Final = """\
## Repeat it

`make repeats` installs the clients below `.real/`, and runs each with each fault. The same as JSON:
[findings-repeats.json](findings-repeats.json). What to do about it:
[a call that timed out does not happen twice](how-to/once.md).
"""


def cell(found: Seen | None, fault: str) -> str:
    """The number of a run."""
    if found is None or not found["sends"]:
        return "–"
    count = found["sends" if fault == "404" else "executions"]
    more = [*["resumed"] * bool(found["resumed"]), *["open"] * (not found["ended"])]
    return ", ".join((f"**{count}**" if count > 1 else f"{count}", *more))


def second(found: Seen) -> str:
    """How the repeats of a run looked on the wire."""
    times = " and ".join(f"{each:g}" for each in found["after"])

    def kind(count: int) -> str:
        return "the same" if count == 1 else "a new" if count == found["sends"] else "the same or a new"

    return f"{times} s, {kind(found['ids'])} id, {kind(found['sessions'])} session"


def title(run: pages.Run) -> str:
    """A client with its version."""
    kind = run["kind"]
    return f"{run['name'].removesuffix(f' {kind}')} {run['version']}" + (f" ({kind})" if kind else "")


def page(data: pages.Run) -> str:
    """The page itself."""
    runs: list[pages.Run] = data["clients"]
    lines = [INTRODUCTION, pages.row(("client", *FAULTS.values())), "|---" * (len(FAULTS) + 1) + "|"]
    lines += [
        pages.row((title(run), *(cell(run["faults"].get(each), each) for each in FAULTS))) for run in runs
    ]
    dates = sorted(run["date"] for run in runs)
    lines += ["", f"{' to '.join(dict.fromkeys((dates[0], dates[-1])))}; {data['with']}.", ""]
    lines += [f"- Not run: {name}: {pages.plain(why)}." for name, why in data["not run"].items()]
    lines += [SURPRISES, "## What the second one looks like", "", "Seconds after the first.", ""]
    return "\n".join([*lines, *seconds(runs), "", ONCE, *guarded(runs), "", REPEAT]).rstrip() + "\n"


def seconds(runs: list[pages.Run]) -> Iterator[str]:
    """A line for each client that sent again."""
    for run in runs:
        again = [
            f"*{FAULTS[fault]}* {second(found)}"
            for fault, found in run["faults"].items()
            if found["sends"] > 1
        ]
        if again:
            yield f"- {title(run)}: {'; '.join(again)}."


def guarded(runs: list[pages.Run]) -> Iterator[str]:
    """A line for each client whose calls ran more than once, without the guard and with it."""
    for run in runs:
        counts = (
            f"*{FAULTS[fault]}* {run['faults'][fault]['executions']}, with it {found['executions']}"
            for fault, found in run.get("once", {}).items()
        )
        if text := "; ".join(counts):
            yield f"- {title(run)}: {text}."


def main() -> int:
    """Make what is missing, and write the page."""
    pages.PARTS.mkdir(parents=True, exist_ok=True)
    os.environ["PYTHONPATH"] = str(pages.ROOT)
    clients = (*REPEATING, *AGENTS, *NEWER)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = dict(zip((each.name for each in clients), pool.map(make, clients), strict=True))
    data = {
        "with": f"Python {sys.version_info[0]}.{sys.version_info[1]}",
        "not run": {name: run for name, run in made.items() if isinstance(run, str)},
        "clients": [run for run in made.values() if not isinstance(run, str)],
    }
    DATA.write_text(pages.lines_of(data, "clients"), encoding="utf-8")
    PAGE.write_text(page(data), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
