"""Whether clients from the registries notice a tap: the bytes on both sides of it, and what is recorded.

python tests/real/install.py --clients    # once
python -m tests.real.clients              # a line for each client; exit status 1 if one of them noticed

Each client works through an ordinary day with the demo server, in which nothing is given up: without a tap, behind one, and
behind one with `--once` for every tool of that day; over stdio, and over HTTP where it can. What a client writes may differ
from run to run (ids), so two recorders around the tap are compared; what it gives its program has to be that of the run
without one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from time import sleep
from typing import Final

from tests.real.clients.recorder import HttpRecorder, serving
from tests.real.clients.table import CLIENTS, CONFIG, SERVER

HERE: Final = Path(__file__).resolve().parent
OURS: Final = (sys.executable, "-m", "mcp_tui")
TEE: Final = (sys.executable, str(HERE / "tee.py"))
TAPS: Final = {"tap": (), "tap --once": ("--once=add,send,count,big",)}
SECONDS: Final = 120
RANDOM: Final = re.compile(r"lc_[-0-9a-f]+|0x[0-9a-f]+|[0-9a-f]{8}-[-0-9a-f]{27}")
"""What is another in each run of a client."""


def drive(client: Sequence[str], server: list[str], folder: Path, url: str = "") -> tuple[str, list[str]]:
    """Run a client on a server; what went wrong, empty if nothing, and what the client gave its program."""
    config = folder / "mcp.json"
    if server:
        config.write_text(json.dumps({"mcpServers": {"demo": {"command": server[0], "args": server[1:]}}}))
    filled = {SERVER: server, CONFIG: [str(config)]}
    words = [word for each in client for word in filled.get(each, [each])]
    env = {**os.environ, "MCP_EXPERIMENT": "day", **({"MCP_SERVER_URL": url} if url else {})}
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False, env=env)
    except subprocess.TimeoutExpired:
        return f"not done after {SECONDS} s", []
    if done.returncode == 0 and "5" in done.stdout:
        return "", sorted(re.findall(r"^gave: .*$", RANDOM.sub("", done.stdout), re.MULTILINE))
    return f"exit {done.returncode}: {(done.stderr.strip().splitlines() or ['no answer'])[-1]}", []


def kept(folder: Path, name: str, end: str) -> list[bytes]:
    """What one recorder saw in one direction, of each server that was started."""
    return sorted(each.read_bytes() for each in folder.glob(f"{name}.*.{end}"))


def tap(folder: Path, options: Sequence[str]) -> list[str]:
    """The command of a tap."""
    env = (f"MCP_TUI_STATE={folder / 'state'}", f"PYTHONPATH={HERE.parents[2]}")
    return ["env", *env, *OURS, "tap", *options]


def judge(client: Sequence[str], options: Sequence[str], folder: Path) -> str:
    """Run a client over stdio without and with a tap; the difference, empty if there is none."""
    demo = [*OURS, "demo"]
    far, near, alone = ([*TEE, str(folder / name)] for name in ("far", "near", "alone"))
    bare, expected = drive(client, [*alone, *demo], folder)
    tapped, said = drive(client, [*far, *tap(folder, options), "--", *near, *demo], folder)
    if bare or tapped:
        return f"without a tap: {bare or 'works'}; with it: {tapped or 'works'}"
    for end, what in (("in", "from the client"), ("out", "from the server")):
        outside, inside = kept(folder, "far", end), kept(folder, "near", end)
        if outside != inside or not any(outside):
            return f"the bytes {what} differ"
        if len(outside) != len(kept(folder, "alone", end)):
            return "it starts another number of servers"
    return ("" if said == expected else f"its program gets {said}, not {expected}") or unrecorded(folder)


def judge_http(client: Sequence[str], options: Sequence[str], folder: Path) -> str:
    """The same over HTTP, where the messages on both sides are compared."""
    demo = [*OURS, "demo", "--http", "0"]
    with ExitStack() as stack:
        url = stack.enter_context(serving(demo))
        bare, expected = drive(client, [], folder, url)
    with ExitStack() as stack:
        near = stack.enter_context(HttpRecorder(stack.enter_context(serving(demo))))
        behind = stack.enter_context(serving([*tap(folder, [*options, "--http", "0"]), near.url]))
        far = stack.enter_context(HttpRecorder(behind))
        tapped, said = drive(client, [], folder, far.url)
    if bare or tapped:
        return f"without a tap: {bare or 'works'}; with it: {tapped or 'works'}"
    for outside, inside in zip(far.messages(), near.messages(), strict=True):
        if outside != inside or not outside:
            differ = [*(outside - inside).elements(), *(inside - outside).elements()]
            return f"the messages differ: {differ[:2]!r:.200}"
    return ("" if said == expected else f"its program gets {said}, not {expected}") or unrecorded(folder)


def unrecorded(folder: Path) -> str:
    """What is missing in the journals, empty if nothing."""
    for _ in range(SECONDS):  # the recorder of a tap may end after it
        if any(b"tools/call" in exported(each) for each in (folder / "state" / "journal").glob("*.jsonl")):
            return ""
        sleep(1)
    return "no call in what is exported"


def exported(journal: Path) -> bytes:
    """A journal as JSON lines."""
    return subprocess.run(
        [*OURS, "export", str(journal), "--format", "jsonl"], capture_output=True, check=False
    ).stdout


def main() -> int:
    """Judge every client, or those whose names hold a word of the command line."""
    os.environ["PYTHONPATH"] = str(HERE.parents[2])
    status = 0
    for name, client in CLIENTS.items():
        if not all(word in name for word in sys.argv[1:]):
            continue
        for how, options in TAPS.items():
            for transport, judged in {"stdio": judge, "HTTP": judge_http}.items():
                if CONFIG in client and judged is judge_http:
                    continue  # its config names a command
                with tempfile.TemporaryDirectory() as folder:
                    difference = judged(client, options, Path(folder))
                status |= bool(difference)
                said = difference or "the same bytes; recorded"
                print(f"{name:<34}{how:<12}{transport:<7}{said}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
