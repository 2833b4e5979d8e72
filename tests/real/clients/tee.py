"""Stands between two processes and keeps what passes in ``FILE.PID.in`` and ``FILE.PID.out``: ``tee.py FILE COMMAND…``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread


def copy(source: int, sink: int, name: str) -> None:
    """Copy until the end, and close the sink."""
    with Path(name).open("wb", buffering=0) as kept:
        while data := os.read(source, 1 << 16):
            kept.write(data)
            try:
                os.write(sink, data)
            except BrokenPipeError:
                break
    os.close(sink)


name = f"{sys.argv[1]}.{os.getpid()}"
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
assert server.stdin is not None
assert server.stdout is not None
Thread(target=copy, args=(0, os.dup(server.stdin.fileno()), f"{name}.in"), daemon=True).start()
server.stdin.close()
copy(server.stdout.fileno(), 1, f"{name}.out")
os._exit(server.wait() % 256)
