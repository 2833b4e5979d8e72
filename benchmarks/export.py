"""What it costs to put a session of a million frames into another form.

``python -m benchmarks.export [FRAMES]`` writes the recordings of :mod:`benchmarks.replay` (many short calls; calls with
progress; one call with a storm of progress), exports each in every form in a process of its own, and prints seconds,
megabytes written and megabytes of memory at most.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.log import MEASURE
from benchmarks.replay import FRAMES, SHAPES, write

FORMS: Final = ("jsonl", "csv", "markdown", "har")


def export(path: Path, *words: str) -> tuple[float, float, float]:
    """Seconds, megabytes written, and megabytes of memory at most."""
    made = path.with_suffix(".out")
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, "export", str(path), *words, "-o", str(made)],
        capture_output=True,
        check=True,
    )
    took = time.perf_counter() - began
    return took, made.stat().st_size / 1e6, int(done.stderr.split()[-1]) / 1024


def main(frames: int) -> None:
    """Measure every form of every shape."""
    with tempfile.TemporaryDirectory() as folder:
        for name, progress in SHAPES.items():
            path = Path(folder, f"{name}.jsonl")
            plain = path.with_suffix(".plain")
            with plain.open("wb") as file:
                write(file, frames, progress)
            # line by line: what this process holds counts as its children's memory, too
            with plain.open("rb") as file, path.open("wb") as made:
                made.write(file.readline().replace(b'"target":"x"', b'"target":"http://127.0.0.1:1/mcp"'))
                made.writelines(file)
            plain.unlink()
            print(f"{name}: {frames:,} frames, {path.stat().st_size / 1e6:.0f} MB")
            for form in FORMS:
                for words in (("--format", form), ("--format", form, "--id", "1")):
                    took, size, memory = export(path, *words)
                    print(
                        f"  {' '.join(words[1:]):16} {took:6.2f} s  {size:7.1f} MB out  {memory:5.0f} MB",
                        flush=True,
                    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else FRAMES)
