"""Whether clients from the registries notice a tap: the bytes on both sides of it, and what is recorded.

python tests/real/install.py --clients    # once
python -m tests.real.clients              # a line for each client; exit status 1 if one of them noticed

Each client starts the demo server twice: through a recorder (`tee.py`), and through a recorder, a tap, and another
recorder. What a client writes may differ from run to run (ids); so the two recorders around the tap are compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import sleep
from typing import Final

from tests.real.clients.table import CLIENTS, CONFIG, SERVER

HERE: Final = Path(__file__).resolve().parent
OURS: Final = (sys.executable, "-m", "mcp_tui")
TEE: Final = (sys.executable, str(HERE / "tee.py"))
SECONDS: Final = 60


def drive(client: Sequence[str], server: list[str], folder: Path) -> str:
    """Run a client on a server; what went wrong, empty if nothing."""
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"demo": {"command": server[0], "args": server[1:]}}}))
    filled = {SERVER: server, CONFIG: [str(config)]}
    words = [word for each in client for word in filled.get(each, [each])]
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode == 0 and "5" in done.stdout:
        return ""
    return f"exit {done.returncode}: {(done.stderr.strip().splitlines() or ['no answer'])[-1]}"


def kept(folder: Path, name: str, end: str) -> list[bytes]:
    """What one recorder saw in one direction, of each server that was started."""
    return sorted(each.read_bytes() for each in folder.glob(f"{name}.*.{end}"))


def judge(client: Sequence[str], folder: Path) -> str:
    """Run a client without and with a tap; the difference, empty if there is none."""
    demo = [*OURS, "demo"]
    tap = ["env", f"MCP_TUI_STATE={folder / 'state'}", f"PYTHONPATH={HERE.parents[2]}", *OURS, "tap", "--"]
    far, near, alone = ([*TEE, str(folder / name)] for name in ("far", "near", "alone"))
    bare = drive(client, [*alone, *demo], folder)
    tapped = drive(client, [*far, *tap, *near, *demo], folder)
    if bare or tapped:
        return f"without a tap: {bare or 'works'}; with it: {tapped or 'works'}"
    for end, what in (("in", "from the client"), ("out", "from the server")):
        outside, inside = kept(folder, "far", end), kept(folder, "near", end)
        if outside != inside or not any(outside):
            return f"the bytes {what} differ"
        if len(outside) != len(kept(folder, "alone", end)):
            return "it starts another number of servers"
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
        with tempfile.TemporaryDirectory() as folder:
            difference = judge(client, Path(folder))
        status |= bool(difference)
        print(f"{name:<34}{difference or 'the same bytes; recorded'}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
