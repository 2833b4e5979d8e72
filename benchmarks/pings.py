"""What replay costs where the server sent a million pings.

``python -m benchmarks.pings [PINGS]`` writes a recording with so many pings and prints: seconds to read it and to go to
its end; milliseconds that the longest of some steps took, forward in the middle and back from the end; bytes that each ping
takes in memory, in a recording and in a session.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

from mcp_tui.journal.recorded_requests import RecordedRequests
from mcp_tui.journal.recording import Recording
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Requests
from mcp_tui.view.outline import Outline

PINGS: Final = 1_000_000

STEPS: Final = 5


def write(file: IO[bytes], pings: int) -> None:
    """A recording of so many pings, each answered."""
    file.write(
        b'{"record":"session","v":1,"id":"5be1f20c9a44","wall":1795230900.5,"mono":0.0,"app":"0","target":"x"}\n'
    )
    for number in range(1, pings + 1):
        at, seq = number / 1000, 2 * number
        file.write(
            b'{"record":"frame","seq":%d,"mono":%f,"dir":"in","method":"ping","id":%d,"raw":"{\\"jsonrpc\\":\\"2.0\\",'
            b'\\"id\\":%d,\\"method\\":\\"ping\\"}"}\n'
            b'{"record":"event","event":"server_request_received","mono":%f,"request_id":%d,"method":"ping",'
            b'"parent":null,"seq":%d}\n'
            b'{"record":"event","event":"server_request_answered","mono":%f,"request_id":%d,"code":null,"how":"",'
            b'"seq":0}\n'
            b'{"record":"frame","seq":%d,"mono":%f,"dir":"out","id":%d,"raw":"{\\"jsonrpc\\":\\"2.0\\",\\"id\\":%d,'
            b'\\"result\\":{}}"}\n'
            % (seq, at, number, number, at, number, seq, at, number, seq + 1, at, number, number)
        )


def live(pings: int) -> Iterator[ev.Event]:
    """The same as events of a session."""
    for number in range(pings):
        yield ev.ServerRequestReceived(at=number / 1000, request_id=number, method="ping", seq=2 * number)
        yield ev.ServerRequestAnswered(at=number / 1000, request_id=number)


def seconds(done: Callable[[], object]) -> float:
    """Returns the time that something takes."""
    start = time.perf_counter()
    done()
    return time.perf_counter() - start


def main() -> int:
    """Measure."""
    pings = int(sys.argv[1]) if len(sys.argv) > 1 else PINGS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pings.jsonl")
        with path.open("wb") as file:
            write(file, pings)
        tracemalloc.start()
        recording = Recording.read(path, strict=False)
        requests = RecordedRequests(recording)
        outline = Outline(requests)

        def seek(position: int) -> float:
            requests.seek(position)
            took = seconds(outline.update)
            _ = [outline.item(line) for line in range(min(40, len(outline)))]
            return took

        seek(len(recording.table))
        gc.collect()
        each = tracemalloc.get_traced_memory()[0] / pings
        tracemalloc.stop()
        read = seconds(lambda: Recording.read(path, strict=False))
        seek(0)
        end = seek(2 * pings)
        back = max(seek(2 * pings - step) for step in range(1, STEPS + 1))
        seek(pings)
        forward = max(seek(pings + step) for step in range(1, STEPS + 1))
    gc.collect()
    tracemalloc.start()
    session = Requests()
    shown = Outline(session)
    for number, event in enumerate(live(pings)):
        session.apply(event)
        if not number % 1000:
            shown.update()
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0] / pings
    print(f"{pings:,} pings: read {read:.1f} s, to the end {end:.2f} s")
    print(f"a step forward {1000 * forward:.1f} ms, back {1000 * back:.1f} ms")
    print(f"{each:.0f} bytes each in a recording, {kept:.0f} in a session")
    return 0


if __name__ == "__main__":
    sys.exit(main())
