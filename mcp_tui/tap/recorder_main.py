"""The program of a tap's recorder, and its priority.

A recorder of one tap has the priority of any other process until it has caught up for the first time; then it stands back
behind the traffic. The recorder of many taps does not, because it needs little of the processor, and limits wait for it.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

from mcp_tui.stand_ins import spare_modules
from mcp_tui.tap.recorder_process import SHARED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_tui.live.sockets import ListeningSocket

NICE = 5
"""The niceness of the recorder. With more, limits would be late on a busy machine."""


def run() -> None:
    """Runs a recorder: ``PROGRAM NAME RECORDS ORDERS KIND SESSION``, with the descriptors of two pipes.

    Or one for many taps: ``PROGRAM NAME SOCKET shared PATH``, with the descriptor of the socket at this path.
    """
    gc.disable()  # Imported modules stay.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    # A signal to all processes of the client, as at a shutdown, must not stop the writing.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    spare_modules()
    if sys.argv[3] == SHARED:
        # Many taps have none of their own.
        from mcp_tui.tap.shared_recorder import SharedRecorder

        gc.freeze()
        gc.enable()
        shared = SharedRecorder(int(sys.argv[2]), sys.argv[4], open_socket=open_socket, stand_back=stand_back)
        sys.exit(shared.run())
    records, orders, kind, session = int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]
    # Before most imports, so that ps finds this session early.
    listening = open_socket(session) if kind == "stdio" else None
    from mcp_tui.tap.recorder_loop import RecorderLoop

    # Imported by kind, and before the first message arrives.
    if kind == "http":
        from mcp_tui.tap.http_recorder import HttpRecorder as Recorder
    else:
        from mcp_tui.tap.stdio_recorder import StdioRecorder as Recorder
    gc.freeze()
    gc.enable()
    sys.exit(not RecorderLoop(records, orders, Recorder, listening=listening, caught_up=stand_back).run())


def open_socket(session: str) -> ListeningSocket | None:
    """Opens the control socket of a session, unless the settings forbid it; returns ``None`` if there can be none."""
    # Imports only what opens a socket.
    from mcp_tui.config import settings

    if settings.load().settings.reachable:
        # Not needed if the settings forbid control sockets.
        from mcp_tui.live.sockets import ListeningSocket

        try:
            return ListeningSocket(session)
        except OSError:
            pass
    return None


def stand_back() -> None:
    """Lowers the priority of this process below that of the traffic."""
    os.nice(NICE)
    try:  # where Linux shares the processor between sessions, a process's own niceness counts in its session only
        with open("/proc/self/autogroup", "wb", buffering=0) as file:  # noqa: PTH123 - pathlib is a costly import
            file.write(b"%d" % NICE)
    except OSError:
        return
