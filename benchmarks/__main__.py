"""Measure all goals of ``rows.py``: ``python -m benchmarks [--quick] [--rounds N] [--only SCENARIO …]``.

The full run has product and peers in turns and writes ``RESULTS.md``, and ``results.json`` beside it. ``--quick`` measures
the product and the floor, once, and names the slowest peer of the last full run. Each measurement is a process of its own.
Peers that are not installed are left out: ``python tests/real/install.py --peers`` brings them.

What is measured more closely stands in modules of its own, each with its use at its head: ``python -m benchmarks.replay``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from functools import cache, partial
from pathlib import Path

from benchmarks.rows import GOALS, TITLES, Goal
from benchmarks.startup import DEMO, RUNS, first_frame
from benchmarks.tap import start
from mcp_tui import clock

HERE = Path(__file__).parent
REAL = HERE.parent / ".real"
MODULES = REAL / "peers/node_modules"
PAGE, DATA = HERE / "RESULTS.md", HERE / "results.json"
HANG = 45.0
"""Seconds after which a measurement is given up."""

LONG = 8.0
"""Seconds from which on a measurement is taken once."""

Figures = dict[str, float]
Found = dict[str, dict[str, Figures]]
"""By scenario and client."""

PYTHONS = {
    "ours": sys.executable,
    "journal": sys.executable,
    "uvloop": sys.executable,
    "floor": sys.executable,
    "mcp": str(REAL / "mcp2/bin/python"),
}


@contextlib.contextmanager
def pinned(*, on: bool) -> Generator[None]:
    """Have processes that are started use one CPU."""
    if not on or not hasattr(os, "sched_setaffinity"):
        yield
        return
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(every)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)


def drive(client: str, scenario: str) -> Figures:
    """One figure or more by ``driver.py`` or ``driver.mjs``; none where the client gives it up."""
    with tempfile.TemporaryDirectory() as folder:
        if client in PYTHONS:
            command = [PYTHONS[client], str(HERE / "driver.py"), client, scenario, folder]
        else:
            command = [
                "node", str(HERE / "driver.mjs"), client, scenario, folder, str(MODULES), sys.executable,
            ]  # fmt: skip
        with pinned(on=scenario.endswith("pinned")):
            return ran(command, HANG)


def ran(command: list[str], hang: float) -> Figures:
    """The JSON in the last line of what a command prints."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
    ) as process:
        try:
            out, _ = process.communicate(timeout=hang)
        except subprocess.TimeoutExpired:
            process.kill()
            return {}
    return json.loads(out.splitlines()[-1]) if process.returncode == 0 and out else {}


def workbench(scenario: str, *words: str) -> Figures:
    """Figures of ``workbench.py``."""
    return ran([sys.executable, "-m", "benchmarks.workbench", scenario, *words], 600)


def terminal(scenario: str) -> Figures:
    """Figures of ``screen.py`` or ``cancel_key.py``, which have a module of their own name."""
    times = ("5",) if scenario == "cancel_key" else ()
    return ran([sys.executable, "-m", f"benchmarks.{scenario}", *times], 600)


def call(client: str) -> Figures:
    """Seconds of a whole process that calls a tool: the median of five."""
    with tempfile.TemporaryDirectory() as folder:
        server = [sys.executable, "-S", str(HERE / "server.py"), f"{folder}/cancels"]
        commands = {
            "ours": [sys.executable, "-m", "mcp_tui", "call", "--no-journal", "echo", "--", *server],
            "floor": [sys.executable, "-c", "pass"],
            "inspector": [
                "node", str(MODULES / "@modelcontextprotocol/inspector/clients/cli/build/index.js"),
                "--method", "tools/call", "--tool-name", "echo", *server,
            ],
            "fastmcp": [
                str(REAL / "fastmcp4/bin/fastmcp"), "call", "--command", shlex.join(server), "--target", "echo",
            ],
        }  # fmt: skip
        taken: list[float] = []
        for _ in range(5):
            began = time.perf_counter()
            try:
                subprocess.run(commands[client], capture_output=True, check=True, timeout=HANG)
            except (subprocess.SubprocessError, OSError):
                return {}
            taken.append(time.perf_counter() - began)
        return {"seconds": statistics.median(taken)}


@cache
def taps() -> dict[str, Figures]:
    """Figures of ``tap.py``: all ways in turns, in one process."""
    command = [sys.executable, "-m", "benchmarks.tap"]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}


def tap(client: str) -> Figures:
    """Figures of one way to a server."""
    return taps().get(client, {})


def startup(client: str) -> Figures:
    """Milliseconds to a frame, by the clock: the least of five."""
    asked = {"first": RUNS["bare app"]}
    if client == "ours":
        asked = {"first": (DEMO, b"Requests"), "connected": (DEMO, b"Tools")}
    with tempfile.TemporaryDirectory() as folder:
        return {
            name: min(first_frame(command, words, folder)[0] for _ in range(6))
            for name, (command, words) in asked.items()
        }


def installed(client: str) -> bool:
    """Whether a peer is there."""
    needs = {"mcp": REAL / "mcp2/bin/python", "fastmcp": REAL / "fastmcp4/bin/fastmcp"}
    needs |= dict.fromkeys(("ts1", "ts2", "inspector"), MODULES)
    return client not in needs or needs[client].exists()


def measures(*, quick: bool) -> list[tuple[str, str, Callable[[], Figures]]]:
    """Scenario, client, and what measures them, all clients of a scenario one after the other."""
    found: list[tuple[str, str, Callable[[], Figures]]] = []
    for scenario in dict.fromkeys(goal.scenario for goal in GOALS):
        clients = list(dict.fromkeys(goal.client for goal in GOALS if goal.scenario == scenario))
        how: Callable[[str], Figures] = partial(drive, scenario=scenario)
        if scenario == "call":
            how, peers = call, ["floor", "inspector", "fastmcp"]
        elif scenario == "startup":
            how, peers = startup, ["bare"]
        elif scenario == "tap":
            how, peers = tap, ["relay", "socat"]
        elif scenario.startswith("http"):
            peers = ["mcp"]
        else:
            peers = ["floor", "mcp", "ts1", "ts2"]
            peers = {"growth": ["mcp"], "timeouts": []}.get(scenario, peers)
        for client in [
            *clients,
            *(each for each in peers if not quick or each in ("floor", "bare", "relay")),
        ]:
            if client == "workbench":
                rows = () if scenario != "aging" else ("100,000",) if quick else ("100,000", "1,000,000")
                found.append((scenario, client, partial(workbench, scenario, *rows)))
            elif client == "terminal":
                found.append((scenario, client, partial(terminal, scenario)))
            elif installed(client) and clients not in (["workbench"], ["terminal"]):
                found.append((scenario, client, partial(how, client)))
    return found


def measure(rounds: int, only: list[str], *, quick: bool) -> Found:
    """All figures: of several rounds the medians."""
    taken: dict[tuple[str, str], list[Figures]] = {}
    long: set[tuple[str, str]] = set()
    for _ in range(rounds):
        for scenario, client, how in measures(quick=quick):
            if (scenario, client) in long or (only and scenario not in only):
                continue
            print(f"\r{scenario}, {client}".ljust(60), end="", file=sys.stderr, flush=True)
            began = time.perf_counter()
            taken.setdefault((scenario, client), []).append(how())
            if time.perf_counter() - began > LONG:
                long.add((scenario, client))
    print("\r".ljust(60), end="\r", file=sys.stderr)
    found: Found = {}
    for (scenario, client), each in taken.items():
        names = dict.fromkeys(name for figures in each for name in figures)
        found.setdefault(scenario, {})[client] = {
            name: statistics.median(figures[name] for figures in each if name in figures) for name in names
        }
    return found


def number(value: float) -> str:
    """As many digits as matter."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def value(found: Found, goal: Goal, client: str) -> float | None:
    """A figure, where there is one."""
    return found.get(goal.scenario, {}).get(client, {}).get(goal.figure)


def verdict(goal: Goal, found: Found, before: Found) -> str:
    """Whether a goal holds, in a word."""
    own, other = value(found, goal, goal.client), 1.0
    if goal.other:
        other = value(found, goal, goal.other) or value(before, goal, goal.other)
    if own is None or other is None:
        return "not measured"
    return "holds" if goal.holds(own, other) else "MISSED"


def slowest(goal: Goal, found: Found) -> str:
    """The slowest peer; more is better where the goal is a least figure."""
    peers = {
        TITLES[each]: got
        for each in TITLES
        if each not in ("floor", "bare") and (got := value(found, goal, each)) is not None
    }
    if not peers:
        return ""
    name = (min if goal.goal.startswith("≥") else max)(peers, key=lambda each: peers[each])
    return f"{name} {number(peers[name])}"


def table(found: Found, before: Found, *, quick: bool) -> Iterator[tuple[str, ...]]:
    """Header and rows."""
    yield "what", "ours", "goal", "", "floor", "slowest peer, last full run" if quick else "peers"
    for goal in GOALS:
        own = value(found, goal, goal.client)
        floor = value(found, goal, "floor") or value(found, goal, "bare")
        peers = {each: value(found, goal, each) for each in TITLES if each not in ("floor", "bare")}
        tried = found.get(goal.scenario, {})
        shown = [
            f"{TITLES[each]} {'gave up' if got is None else number(got)}"
            for each, got in peers.items()
            if got is not None or (each in tried and not tried[each])
        ]
        yield (
            goal.what,
            "–" if own is None else f"{number(own)} {goal.unit}",
            goal.goal,
            verdict(goal, found, before),
            "" if floor is None else number(floor),
            slowest(goal, before) if quick else ", ".join(shown),
        )


def version(path: Path) -> str:
    """Of an npm package."""
    return json.loads((path / "package.json").read_text())["version"] if path.exists() else "not installed"


def page(found: Found, notes: str, minutes: float) -> str:
    """``RESULTS.md``."""
    lines = [" | ".join(("", *row, "")).strip() for row in table(found, {}, quick=False)]
    lines.insert(1, "|---" * 6 + "|")
    scope = MODULES / "@modelcontextprotocol"
    held = sum(verdict(goal, found, {}) == "holds" for goal in GOALS)
    stamp = clock.local_stamp(clock.wall())[:10]
    here = f"{platform.system()}, Python {platform.python_version()}, {os.cpu_count()} cores"
    npm = {each: version(scope / each) for each in ("sdk", "client", "inspector")}
    return f"""# Results

Written by `make bench` on {stamp}, in {minutes:.0f} minutes: {here}. Medians of alternating rounds.
To compare it with another machine: `python -c pass` takes {start() * 1000:.1f} ms here.

Peers: the Python SDK `mcp` 2.3.0, the TypeScript `sdk` {npm["sdk"]} (TypeScript 1) and `client` {npm["client"]}
(TypeScript 2), the Inspector's CLI {npm["inspector"]}, `fastmcp` 4.1.2. The tap is beside a bare relay of bytes
in Python, and socat where it is installed. The floor is a hand-written asyncio pipe with JSON
and a dict of futures; for a whole process it is `python -c pass`, for a frame a Textual app with one line of text. *Gave
up*: it ended with an error, or took longer than {HANG:.0f} s. All clients of a transport speak to the same server.

{held} of {len(GOALS)} goals hold.

{chr(10).join(lines)}

{notes}"""


def main() -> int:
    """Measure, print, and after a full run write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--quick", action="store_true", help="the product and the floor alone, once")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of a full run")
    parser.add_argument(
        "--only", nargs="+", default=[], help="these scenarios; of the others the last full run's figures"
    )
    options = parser.parse_args()
    before: Found = json.loads(DATA.read_text()) if DATA.exists() else {}
    began = time.perf_counter()
    found = measure(1 if options.quick else options.rounds, options.only, quick=options.quick)
    found = {**before, **found} if options.only else found
    minutes = (time.perf_counter() - began) / 60
    rows = list(table(found, before, quick=options.quick))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(f"python -c pass takes {start() * 1000:.1f} ms here")
    print(f"{sum(row[3] == 'holds' for row in rows)} of {len(GOALS)} goals hold; {minutes:.1f} min")
    if not options.quick:
        _, mark, notes = (PAGE.read_text() if PAGE.exists() else "").partition("## What this says\n")
        DATA.write_text(json.dumps(found, indent=1) + "\n")
        PAGE.write_text(page(found, f"{mark}{notes}", minutes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
