"""Measure all goals of ``rows.py``: ``python -m benchmarks [--quick] [--only SCENARIO …]``.

The full run has product and peers in turns and writes ``RESULTS.md``, and ``results.json`` beside it. ``--quick`` measures
once the product and what the goals compare it with, and names the slowest of the other peers in the last full run. Each
measurement is a process of its own. At the end stands how many seconds each scenario took. Peers that are not installed are
left out: ``python tests/real/install.py --peers`` brings them.

Each row is measured by a module that can also be run alone: ``driver`` and ``driver.mjs`` (one client on ``server``),
``startup``, ``screen``, ``cancel_key``, ``tap``, ``tap_limits``, ``memory``, ``recordings``, ``fleet``, ``spans``,
``workbench``, ``beside`` (beside an earlier build), ``fresh``. Not for rows are ``promises`` and ``killed`` (their figures
are in ``docs/explanation/promises.md``); ``cancel``, for many at once and over HTTP; ``replay``, ``pings``, for long runs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from benchmarks import beside, startup
from benchmarks.rows import FLOORS, GOALS, TITLES, Figures, Found, Goal, value
from benchmarks.tap import start
from mcp_tui import clock

HERE = Path(__file__).parent
REAL = HERE.parent / ".real"
MODULES = REAL / "peers/node_modules"
PAGE, DATA = HERE / "RESULTS.md", HERE / "results.json"
ROUNDS = 2
ENOUGH = 5.0
"""Seconds after which a measurement is not repeated."""

PATIENCE = 30.0
"""Seconds after which a peer is given up."""

REFERENCE = 8.4
"""Milliseconds that ``python -c pass`` takes on the machine that the goals in seconds and shares of a core are for."""

BY_HAND = "Not measured here: `make test` on two cores, goals 3:00 alone and 6:00 beside two busy processes."

TERMINAL, WORKBENCH = ("screen", "cancel_key"), ("large",)
QUICK = {"cancel_key": ["20"], "tap_limits": ["4"]}
"""How often ``--quick`` measures what takes long: presses at each rate (a full run: up to 100), and blocks."""

PEERS = {
    "call": ("floor", "inspector", "fastmcp"),
    "startup": ("bare",),
    "tap": ("none", "once", "relay", "socat", "supergateway", "before"),
    "taps_memory": ("before", "mcphawk"),
    "recordings": ("before", "jq"),
    **dict.fromkeys(beside.SCENARIOS, ("before",)),
    "large_string": ("floor",),
    "large_items": ("floor",),
    **dict.fromkeys(("http_1", "http_20", "http_100"), ("mcp", "ts1")),
    **dict.fromkeys(
        ("timeouts", "million", "tap_limits", "fleet", "fleet_100", "spans", "fresh", *TERMINAL, *WORKBENCH),
        (),
    ),
}
"""Of the other scenarios: the floor and all SDKs."""

PYTHONS = {
    "ours": sys.executable,
    "journal": sys.executable,
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
            return ran(command, 600 if client in ("ours", "journal") else PATIENCE)


def ran(command: list[str], patience: float) -> Figures:
    """The JSON in the last line of what a command prints."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
    ) as process:
        try:
            out, _ = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            return {}
    return json.loads(out.splitlines()[-1]) if process.returncode == 0 and out else {}


def call(clients: Sequence[str]) -> dict[str, Figures]:
    """Seconds of a whole process that calls a tool, in ten turns; a client that takes long has three."""
    taken: dict[str, list[float]] = {}
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
        for turn in range(10):
            for client in clients:
                if turn > 2 and sum(taken[client]) > ENOUGH:
                    continue
                began = time.perf_counter()
                with contextlib.suppress(subprocess.SubprocessError, OSError):
                    subprocess.run(commands[client], capture_output=True, check=True, timeout=PATIENCE)
                    taken.setdefault(client, []).append(time.perf_counter() - began)
    return {client: {"seconds": statistics.median(each)} for client, each in taken.items()}


def frames() -> dict[str, Figures]:
    """Milliseconds to frames, by the clock."""
    return {
        client: {name: statistics.median(clock for clock, _ in taken) for name, taken in named.items()}
        for client, named in startup.measured(startup.ROUNDS).items()
    }


def several(*words: str) -> dict[str, Figures]:
    """Figures of a module that measures clients or builds in turns, in one process."""
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}


def measured(scenario: str, clients: Sequence[str], *, quick: bool) -> dict[str, Figures]:
    """Figures of all these clients."""
    if scenario == "call":
        return call(clients)
    if scenario == "startup":
        return frames()
    if scenario == "screen":
        os.environ["KEYS"] = "30" if quick else "60"
    if scenario == "tap":
        os.environ["ROUNDS"] = "2" if quick else "5"
        return several("benchmarks.tap", *clients)
    if scenario == "taps_memory":
        os.environ["MINUTES"] = "0.05" if quick else "0.5"
        return several("benchmarks.memory")
    if scenario == "recordings":
        os.environ["ROUNDS"] = "1" if quick else "3"
        return several("benchmarks.recordings", "20" if quick else "100")
    if scenario in beside.SCENARIOS:
        return several("benchmarks.beside", scenario)
    if scenario == "fleet_100":
        return {clients[0]: ran([sys.executable, "-m", "benchmarks.fleet", "100"], 600)}
    if scenario in (*TERMINAL, "fleet", "spans", "fresh", "tap_limits"):
        count = QUICK.get(scenario, []) if quick else []
        return {clients[0]: ran([sys.executable, "-m", f"benchmarks.{scenario}", *count], 600)}
    if scenario in WORKBENCH:
        return {clients[0]: ran([sys.executable, "-m", "benchmarks.workbench", scenario], 600)}
    form = "_quick" if quick and scenario == "million" else ""
    return {client: drive(client, scenario + form) for client in clients}


def installed(client: str) -> bool:
    """Whether a peer is there."""
    needs = {"mcp": REAL / "mcp2/bin/python", "fastmcp": REAL / "fastmcp4/bin/fastmcp"}
    needs |= dict.fromkeys(("ts1", "ts2", "inspector"), MODULES)
    needs |= {"jq": Path(shutil.which("jq") or "/no/jq")}
    needs |= {"before": beside.BEFORE, "mcphawk": REAL / "mcphawk/bin/mcphawk"}
    return client not in needs or needs[client].exists()


def groups(*, quick: bool) -> Iterator[tuple[str, list[str]]]:
    """Scenarios, each with clients that are measured together: those of a driver one by one."""
    for scenario in dict.fromkeys(goal.scenario for goal in GOALS):
        goals = [goal for goal in GOALS if goal.scenario == scenario]
        named = {goal.other[0] for goal in goals if goal.is_ratio}
        peers = PEERS.get(scenario, ("floor", "mcp", "ts1", "ts2"))
        clients = [
            *dict.fromkeys(goal.client for goal in goals),
            *(each for each in peers if installed(each) and (not quick or each in (*named, *FLOORS))),
        ]
        if scenario in ("call", "startup", "tap", "taps_memory", "recordings", *beside.SCENARIOS):
            yield scenario, clients
        else:
            yield from ((scenario, [client]) for client in clients)


class Run:
    """All figures, medians where they were taken several times, and how long it took to get them."""

    def __init__(self, only: Sequence[str], *, quick: bool) -> None:
        self.found: Found = {}
        self.seconds: dict[str, float] = {}
        self._taken: dict[tuple[str, str], list[Figures]] = {}
        self._spent: dict[tuple[str, str], float] = {}
        starts: list[float] = []
        for number in range(1 if quick else ROUNDS):
            for scenario, clients in groups(quick=quick):
                if self._spent.get((scenario, clients[0]), 0.0) <= ENOUGH and (not only or scenario in only):
                    print(f"\r{scenario}, {clients[0]}".ljust(60), end="", file=sys.stderr, flush=True)
                    if not number:
                        starts.append(start() * 1000)
                    self._measure(scenario, clients, quick=quick)
        print("\r".ljust(60), end="\r", file=sys.stderr)
        for (scenario, client), each in self._taken.items():
            names = dict.fromkeys(name for figures in each for name in figures)
            self.found.setdefault(scenario, {})[client] = {
                name: statistics.median(figures[name] for figures in each if name in figures)
                for name in names
            }
        self.found["machine"] = {"start": {"least": min(starts), "most": max(starts)}}

    def _measure(self, scenario: str, clients: list[str], *, quick: bool) -> None:
        began = time.perf_counter()
        found = measured(scenario, clients, quick=quick)
        spent = time.perf_counter() - began
        for client in (*clients, *(each for each in found if each not in clients)):
            self._taken.setdefault((scenario, client), []).append(found.get(client, {}))
        gave_up = not all(found.get(client) for client in clients)
        key = scenario, clients[0]
        self._spent[key] = self._spent.get(key, 0.0) + (ENOUGH * 2 if gave_up else spent)
        self.seconds[scenario] = self.seconds.get(scenario, 0.0) + spent


def number(value: float) -> str:
    """As many digits as matter."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def slowness(found: Found) -> float:
    """How many times as long as on the reference machine Python takes to start; where that varied, the least."""
    return found["machine"]["start"]["least"] / REFERENCE


def machine(found: Found) -> str:
    """The machine's own speed, in a paragraph."""
    least, most = found["machine"]["start"].values()
    floor = value(found, "floor", "in_flight_1000", "per_second")
    return (
        f"`python -c pass` takes {least:.1f} to {most:.1f} ms here"
        + (f", and the floor makes {number(floor)} requests a second." if floor else ".")
        + f" Goals in seconds and shares of a core are\nfor a machine where the first is {REFERENCE} ms: *scaled* is"
        f" what was measured, divided by {slowness(found):.2f}."
        + (" Other work\nwent on beside this run: measure again, alone." if most > 1.5 * least else "")
    )


def tables(found: Found, before: Found) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Header and rows of the ratios and of the other figures."""
    ratios: list[tuple[str, ...]] = [("beside one another", "found", "goal", "", "ours", "floor and peers")]
    figures: list[tuple[str, ...]] = [("on this machine", "found", "scaled", "goal", "", "floor and peers")]
    scale = slowness(found)
    for goal in GOALS:
        own, got = value(found, goal.client, goal.scenario, goal.figure), goal.found(found)
        shown = "–" if own is None else f"{number(own)} {goal.unit}"
        side, bound = goal.goal.split()[:2]
        rest = goal.verdict(found, scale), others(goal, found, before)
        if goal.is_ratio:
            ratio = "–" if got is None else f"{number(got)} ×"
            ratios.append((goal.what, ratio, f"{side} {bound} ×", rest[0], shown, rest[1]))
        else:
            scaled = f"{number(got / scale)} {goal.unit}" if got is not None and goal.scales else ""
            figures.append((goal.what, shown, scaled, goal.goal, *rest))
    return ratios, figures


def others(goal: Goal, found: Found, before: Found) -> str:
    """The figures of floor and peers."""
    tried = found.get(goal.scenario, {})
    named = {each: tried[each] for each in TITLES if each in tried and each != goal.client}
    said = [
        f"{TITLES[each]} {number(figures[goal.figure]) if figures else 'gave up'}"
        for each, figures in named.items()
        if not figures or goal.figure in figures
    ]
    # Of a last full run: the slowest peer that this run leaves out. More is better where the goal is a least figure.
    peers = {
        each: got
        for each in TITLES
        if each not in (*FLOORS, *tried) and (got := value(before, each, goal.scenario, goal.figure))
    }
    if peers:
        slowest = (min if goal.goal.startswith("≥") else max)(peers, key=lambda each: peers[each])
        said.append(f"[last full run: {TITLES[slowest]} {number(peers[slowest])}]")
    return ", ".join(said)


def verdicts(found: Found) -> str:
    """How many goals hold, in a sentence."""
    each = [goal.verdict(found, slowness(found)) for goal in GOALS]
    return f"{each.count('holds')} of {len(each)} goals hold, {each.count('holds scaled')} more scaled."


def version(path: str) -> str:
    """Of an npm package, or of the Python package in an environment of that name."""
    folder, _, package = path.partition("/")
    for found in (REAL / folder).glob(f"lib/python*/site-packages/{package}-*.dist-info"):
        return found.name.removesuffix(".dist-info").removeprefix(f"{package}-")
    manifest = MODULES / path / "package.json"
    return json.loads(manifest.read_text())["version"] if manifest.exists() else "(not installed)"


def page(run: Run, notes: str, minutes: float) -> str:
    """``RESULTS.md``."""
    marked = [
        [" | ".join(("", *row, "")).strip() for row in (rows[0], ("---",) * len(rows[0]), *rows[1:])]
        for rows in tables(run.found, {})
    ]
    ratios, figures = ("\n".join(lines) for lines in marked)
    stamp = clock.local_stamp(clock.wall())[:10]
    here = f"{platform.system()}, Python {platform.python_version()}, {os.cpu_count()} cores"
    npm = {each: version(f"@modelcontextprotocol/{each}") for each in ("sdk", "client", "inspector")}
    return f"""# Results

Written by `make bench` on {stamp}, in {minutes:.0f} minutes: {here}. Medians of alternating rounds.
{verdicts(run.found)}

{machine(run.found)}
*Holds scaled* is less than *holds*: it takes for granted that all of a figure grows as a machine gets slower.

{ratios}

{figures}

Peers: the Python SDK `mcp` {version("mcp2/mcp")}, the TypeScript `sdk` {npm["sdk"]} (TypeScript 1) and `client`
{npm["client"]} (TypeScript 2), the Inspector's CLI {npm["inspector"]}, `fastmcp` {version("fastmcp4/fastmcp")},
`supergateway` {version("supergateway")}. The tap is beside a bare relay of bytes in Python, and socat where it is installed.
The floor is a hand-written asyncio pipe with JSON and a dict of futures; for a whole process it is `python -c pass`, for a
frame a Textual app with one line of text. *Gave up*: it ended with an error, or took longer than {PATIENCE:.0f} s.
All clients of a transport speak to the same server. Stalls are processor time of one turn of the event loop.

{notes}"""


def main() -> int:
    """Measure, print, and after a full run write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--quick", action="store_true", help="once, and no peers that no goal names")
    scenarios = dict.fromkeys(goal.scenario for goal in GOALS)
    parser.add_argument("--only", nargs="+", choices=scenarios, default=[], help="nothing is written")
    options = parser.parse_args()
    began = time.perf_counter()
    run = Run(options.only, quick=options.quick)
    minutes = (time.perf_counter() - began) / 60
    print(machine(run.found))
    before: Found = json.loads(DATA.read_text()) if options.quick else {}
    for rows in tables(run.found, before):
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        print()
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(f"\n{verdicts(run.found)} {minutes:.1f} minutes, of which in seconds:")
    print(", ".join(f"{name} {taken:.0f}" for name, taken in run.seconds.items()))
    print(BY_HAND)
    if not (options.quick or options.only):
        _, mark, notes = PAGE.read_text().partition("## Where a goal is missed\n")
        DATA.write_text(json.dumps(run.found, indent=1) + "\n")
        PAGE.write_text(page(run, f"{mark}{notes}", minutes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
