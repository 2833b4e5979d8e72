"""Long recordings: ``python -m benchmarks.recordings [MB] [NAME …]``."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

MCP_TUI: Final = str(Path(sys.executable).with_name("mcp-tui"))
CALLS: Final = {
    "count": ("count", "seconds=0.07", "steps=7"),
    "cancelled": ("stubborn", "seconds=0.3", "--cancel-after", "0.05", "--linger", "0.5"),
}
"""The calls of a recording, as a user types them; one in two hundred is cancelled."""

_VALUES: Final = re.compile(rb'"mono":([\d.]+)|"seq":(\d+)|(\\?"(?:id|progressToken|requestId)\\?"):3\b')


def write(path: Path, size: int) -> int:
    """Writes a recording of ``size`` bytes: real calls of the demo server, repeated with new ids and times.

    Returns the number of calls.
    """
    head, blocks = b"", []
    with tempfile.TemporaryDirectory() as folder:
        for name, words in CALLS.items():
            file = Path(folder, f"{name}.jsonl")
            subprocess.run([MCP_TUI, "call", "--demo", "--record", str(file), *words], capture_output=True, check=False)
            lines = file.read_bytes().splitlines(keepends=True)
            first = next(n for n, line in enumerate(lines) if b'"event":"called"' in line and b'"id":3' in line)
            head, block, tail = head or b"".join(lines[:first]), b"".join(lines[first:-1]), lines[-1]
            blocks.append(_Block(block))
    base = float(re.findall(rb'"mono":([\d.]+)', head)[-1])
    seq = int(re.findall(rb'"seq":(\d+)', head)[-1]) and max(map(int, re.findall(rb'"seq":(\d+)', head)))
    call = 0
    with path.open("wb") as out:
        written = out.write(head)
        while written < size:
            block = blocks[call % 200 == 199]
            written += out.write(block.text % block.values(call + 3, seq, base))
            seq, base, call = seq + block.frames, base + block.seconds, call + 1
        out.write(re.sub(rb'"mono":[\d.]+', b'"mono":%.6f' % base, tail))
    return call


class _Block:
    """The records of one call, with places for its times and numbers."""

    def __init__(self, block: bytes) -> None:
        times = [float(each) for each in re.findall(rb'"mono":([\d.]+)', block)]
        seqs = [each for each in map(int, re.findall(rb'"seq":(\d+)', block)) if each]
        began, before = times[0], min(seqs) - 1
        self.frames, self.seconds = max(seqs) - before, times[-1] - began + 0.01
        self.places: list[tuple[str, float]] = []

        def place(found: re.Match[bytes]) -> bytes:
            if found[1]:
                self.places.append(("mono", float(found[1]) - began))
                return b'"mono":%.6f'
            if found[2]:
                number = int(found[2])
                self.places.append(("seq", number - before) if number else ("none", 0))
                return b'"seq":%d'
            self.places.append(("id", 0))
            return found[3] + b":%d"

        self.text = _VALUES.sub(place, block.replace(b"%", b"%%"))

    def values(self, id: int, seq: int, base: float) -> tuple[float, ...]:
        """Returns the values of the places for a call."""
        add = {"mono": base, "seq": seq, "none": 0, "id": id}
        return tuple(add[kind] + value for kind, value in self.places)


if __name__ == "__main__":
    print(write(Path(sys.argv[1]), int(float(sys.argv[2]) * 1e6)))
