"""The guard: a process between the client and a stdio server, so that the server never outlives the client.

The guard is started by its path, not imported. Its command line has the descriptor of a socket, of which only the client has
the other end, and the server's program with its arguments. When the other end closes for any reason, including kill -9 of
the client, the guard ends the server and all its descendants: by SIGTERM, and half a second later by SIGKILL. A launcher
such as ``docker run`` stops its container at SIGTERM; after SIGKILL alone, the container would keep running.

The recorder of a tap is no process of the server: it also records the taps of other clients, and ends by itself once it has
written what is left. It keeps running.

On Linux, the guard is a subreaper: orphaned processes of the server (double forks, ``setsid``) become children of the guard,
and are ended with the rest. The parent of the guard is another subreaper, a shell that waits for the guard. If the guard is
killed, the shell becomes a Python process that ends the remaining processes (:func:`finish`). On other systems, the guard
ends the server's process group.

On the socket, the client sends the environment: its length in decimal, a line feed, then ``NAME=VALUE`` entries separated by
NUL. Later it sends the requests ``T`` (SIGTERM) and ``K`` (SIGKILL) for the server and its descendants. Each is followed by
the time at which the server was ready, in decimal clock ticks since the boot; 0 if it never was.

The guard sends lines to the client: ``failed ERRNO`` or ``started PID``; later ``told SIGNAL`` if a signal ends the guard,
``exited CODE`` (negative for a signal), and finally ``ended COUNT`` if descendants of the server still ran.

Each import here delays each start of a server, so there are few.
"""

from __future__ import annotations

import os
import select
import sys
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping
    from typing import NoReturn
else:
    import _signal as signal  # The module in Python makes enums, which takes as long as the start of a server.

REQUESTED_GRACE = 2.0
"""The seconds in which orphaned processes of a server must exit after a SIGTERM from the client."""
LEFT_GRACE = 0.5
"""The seconds before the guard's own SIGTERM to orphaned processes, and then before SIGKILL."""
GIVE_UP_SECONDS = 5.0
"""The seconds after which the guard stops waiting for processes that SIGKILL does not end."""

SHELL = "/bin/sh"
WAITS = 'read _ server; read _ || exec "$0" "$@" "$server"'
"""The script of the backup: reads the server's process id, and runs :func:`finish` if the guard ends without a report."""

RECORDER = b"mcp_tui.tap.recorder"
"""The argument by which the recorder of a tap is known, like ``recorder_process.NAME``."""

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGPIPE, SIGTERM, SIGXFSZ = 1, 2, 3, 9, 13, 15, 25


def prctl(option: int, value: int) -> bool:
    """Calls Linux's prctl(2); returns whether it succeeded."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        # Not every Python has ctypes, and it takes time to load.
        from ctypes import CDLL

        return CDLL(None).prctl(option, value, 0, 0, 0) == 0
    except (ImportError, OSError, AttributeError):
        return False


def heed_signals() -> None:
    """Resets the signals that Python ignores, because exec would pass that on to the server."""
    for number in (SIGPIPE, SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def receive(control: int) -> dict[bytes, bytes] | None:
    """Returns the server's environment; ``None`` if the client ended before it had sent all of it."""
    data = b""
    while True:
        length, found, block = data.partition(b"\n")
        if found and len(block) >= int(length):
            entries = (entry.partition(b"=") for entry in block.split(b"\0") if entry)
            return {name: value for name, _, value in entries}
        try:
            piece = os.read(control, 65536)
        except OSError:
            return None
        if not piece:
            return None
        data += piece


def start(path: str, command: list[str], environment: Mapping[bytes, bytes]) -> tuple[int, int]:
    """Starts the server in a new session; returns its process id, and errno if the start failed, else 0."""
    guard = os.getpid()
    outcome, report = os.pipe()  # a successful exec closes it
    pid = os.fork()
    if pid == 0:
        try:
            # The new process group has the number of the process, so that T and K reach both a wrapper (a shell, npx) and
            # the server.
            os.setsid()
            heed_signals()
            # For the case that both the guard and its backup are killed with kill -9. SIGKILL would leave a container
            # running. If the guard died before this call, no signal is sent, so the parent is checked below.
            prctl(PR_SET_PDEATHSIG, SIGTERM)
            if os.getppid() == guard:
                os.execve(path, command, environment)
        except (OSError, ValueError) as error:  # Python refuses a program without a name: ENOENT.
            os.write(report, b"%d" % (getattr(error, "errno", 2) or 1))
        finally:
            os._exit(127)
    os.close(report)
    # Waits until the server's own program runs, so that "started" is never reported for a failed exec.
    failure = os.read(outcome, 16)
    os.close(outcome)
    if failure:
        os.waitpid(pid, 0)
    return pid, int(failure or b"0")


def descendants() -> dict[int, tuple[int, int]]:
    """Returns all running descendants of this process except recorders of taps, parents first; empty without /proc.

    Each has the number of its group, and its start in clock ticks since the boot.
    """
    children: dict[int, list[int]] = {}
    facts: dict[int, tuple[int, int]] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - pathlib is a costly import
    except OSError:
        return {}
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb", buffering=0) as file:  # noqa: PTH123
                    status = file.read()
            except OSError:
                continue
            # The fields follow the last bracket: the program's name is in brackets, and may contain spaces and brackets.
            fields = status[status.rindex(b")") + 1 :].split()
            # A zombie does not run, so it does not count.
            if fields[0] not in (b"Z", b"X"):
                children.setdefault(int(fields[1]), []).append(int(name))
                facts[int(name)] = int(fields[2]), int(fields[19])
    found = [pid for pid in children.get(os.getpid(), ()) if not is_recorder(pid)]
    for pid in found:
        found += (child for child in children.get(pid, ()) if not is_recorder(child))
    return {pid: facts[pid] for pid in found}


def is_recorder(pid: int) -> bool:
    """Returns whether a process is the recorder of a tap (``mcp_tui.tap.recorder_process.start``)."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:  # noqa: PTH123
            arguments = file.read().split(b"\0")
    except OSError:
        return False
    return arguments[1:4] == [b"-I", b"-S", b"-c"] and arguments[5:6] == [RECORDER]


class Guard:
    """The guard of one server, from its start until none of its processes is left."""

    def __init__(self, control: int, reports: int, server: int, woken: int, *, reaper: bool) -> None:
        self.control = control
        self.reports = reports
        self.server = server
        self.woken = woken
        self.reaper = reaper
        self.exited = False
        self.asked = False
        """Whether SIGTERM was sent."""
        self.ending = False
        """Whether the client has ended, or this process got SIGTERM."""
        self.steps: list[tuple[float, int]] = []
        """The signals to send to orphaned processes, each with its time, the earliest first."""
        self.ready = 0
        self.ended: set[int] = set()
        """The descendants of the server that were still running when they were ended."""

    def watch(self) -> None:
        """Handles the client's requests, its end, and the server's end; returns when no process is left."""
        poll = select.poll()  # select() does not support descriptors from 1,024 on
        poll.register(self.control, select.POLLIN)
        poll.register(self.woken, select.POLLIN)
        while self.left() and (self.steps or not self.ending):
            wait = max(0.0, self.steps[0][0] - monotonic()) if self.steps else None
            ready = {number for number, _ in poll.poll(None if wait is None else wait * 1000)}
            # The pipe has the numbers of signals, one per byte. SIGCHLD only wakes this loop; left() reaps.
            if self.woken in ready and SIGTERM in os.read(self.woken, 512) and not self.ending:
                # Without this report, the client could only report that the server was killed.
                report(self.reports, "told", SIGTERM)
                self.end()
            if self.control in ready and not self.obey():
                poll.unregister(self.control)
                self.end()
            if self.steps and monotonic() >= self.steps[0][0]:
                self.signal(self.steps.pop(0)[1])

    def obey(self) -> bool:
        """Executes the client's requests; returns false if the client has ended."""
        try:
            requests = os.read(self.control, 64)
        except OSError:
            return False
        # One read may contain T and K: then K counts, with the time of T. No bytes mean that the client has ended.
        self.ready = int(requests[1:].partition(b"K")[0] or 0)
        if b"K" in requests:
            self.kill()
        elif b"T" in requests:
            self.signal(SIGTERM)
        return bool(requests)

    def end(self) -> None:
        """Ends all processes without a request from the client."""
        self.ending = True
        if not self.asked:  # for some programs a second SIGTERM means to stop at once
            self.signal(SIGTERM)
        self.steps = [(monotonic() + LEFT_GRACE, SIGKILL)]

    def left(self) -> bool:
        """Reaps ended processes, and reports the server's exit; returns whether any process is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                # No child is left. For a subreaper, this means that no process is left. On other systems, an orphan is
                # the child of another process, and only the process group shows it.
                return not self.reaper and self.group(0)
            if pid == 0:
                if not (self.exited and self.reaper and os.path.isdir("/proc/self")):  # noqa: PTH112
                    return True
                # The recorder of a tap may be all that still runs.
                return bool(descendants())
            if pid == self.server:
                self.exited = True
                now = monotonic()
                # If SIGTERM was sent, it went to all processes, and the others have time to exit. If the server exited by
                # itself, the others have got no signal yet.
                if self.asked:
                    self.steps = self.steps or [(now + REQUESTED_GRACE, SIGKILL)]
                else:
                    self.steps = [(now + LEFT_GRACE, SIGTERM), (now + 2 * LEFT_GRACE, SIGKILL)]
                report(self.reports, "exited", os.waitstatus_to_exitcode(status))

    def count(self) -> dict[int, tuple[int, int]]:
        """Stores the processes that are about to be ended, except the server; returns all running processes.

        While the server runs, processes started before it was ready are part of it, such as the server itself behind npx
        or a shell. A tick is 10 ms; a process that started in the same tick counts as the work of a call.
        """
        found = descendants()
        for pid, (_, start) in found.items():
            if pid != self.server and (self.exited or 0 < self.ready <= start):
                self.ended.add(pid)
        return found

    def signal(self, number: int) -> None:
        """Sends a signal once to each process: to the server's group and, if they are known, to all other descendants."""
        if number == SIGKILL:
            self.kill()
            return
        self.asked = True
        found, is_empty = self.count(), self.exited and self.reaper
        if not is_empty:  # otherwise another group may have its number now
            self.group(number)
        for pid, (group, _) in found.items() if self.reaper else ():
            if is_empty or group != self.server:
                send(pid, number)

    def group(self, number: int) -> bool:
        """Sends a signal to the server's process group; returns false if the group is empty."""
        try:
            os.killpg(self.server, number)
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """Kills the server and all its descendants, including new ones, until none is left."""
        self.count()
        until = monotonic() + GIVE_UP_SECONDS
        while monotonic() < until:
            if not (self.exited and self.reaper):
                self.group(SIGKILL)
            for pid in descendants() if self.reaper else ():
                send(pid, SIGKILL)
            sleep(0.005)
            if not self.left():
                return


def end_group(group: int) -> None:
    """Ends a process group without a guard: by SIGTERM, and half a second later by SIGKILL."""
    try:
        os.killpg(group, SIGTERM)
        sleep(LEFT_GRACE)
        os.killpg(group, SIGKILL)
    except OSError:  # no process is left
        return


def send(pid: int, number: int) -> None:
    """Sends a signal to a process; ignores a process that has ended or belongs to another user."""
    try:
        os.kill(pid, number)
    except OSError:
        return


def report(reports: int, word: str, value: int) -> None:
    """Sends a report to the client; ignores a client that has ended."""
    try:
        os.write(reports, b"%s %d\n" % (word.encode(), value))
    except OSError:
        return


def woken_only(number: int, frame: object) -> None:
    """Ignores a signal, because its byte in the wake-up pipe is enough."""


def main() -> None:
    """Runs ``guard.py DESCRIPTOR PATH COMMAND [ARGUMENT…]``, or ``guard.py GUARD SERVER``, see :func:`finish`."""
    if len(sys.argv) == 3:
        finish(int(sys.argv[1]), int(sys.argv[2] or 0))
        return
    control, path, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    # If the server inherited the descriptor, the client would not see that the guard has ended.
    os.set_inheritable(control, False)
    # The signal mask is inherited. If the client blocks these signals, the guard would never wake, and the server would
    # never get SIGTERM.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD, SIGTERM))
    environment = receive(control)
    if environment is not None:
        run(control, path, command, environment)


def run(
    control: int,
    path: str,
    command: list[str],
    environment: Mapping[bytes, bytes],
    reports: int | None = None,
) -> None:
    """Starts a server, and guards it until its end. The server gets the standard streams of this process.

    ``reports`` is the descriptor for reports to the client, by default ``control``.
    """
    reports = control if reports is None else reports
    # Before the fork, so that no early process of the server escapes.
    reaper = prctl(PR_SET_CHILD_SUBREAPER, 1)
    backup = back_up(reports) if reaper and os.access(SHELL, os.X_OK) else None
    server, failure = start(path, command, environment)
    if backup is not None:
        report(backup, "guards", server)
    if failure:
        report(reports, "failed", failure)
        if backup is not None:
            report(backup, "done", 0)
        return
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    guard = Guard(control, reports, server, woken, reaper=reaper)
    try:
        # The server may exit before the handlers are set. watch() reaps before it waits, so no SIGCHLD is missed.
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, woken_only)
        signal.signal(SIGTERM, woken_only)
        # As in main(), which does not run in a forked guard; there the server keeps the mask of its client.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD, SIGTERM))
        # The client handles the signals of a terminal. The guard ignores them, because it must not end before the server.
        for number in (SIGINT, SIGHUP, SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        let_go()
        report(reports, "started", server)
        guard.watch()
    finally:
        if guard.left():
            guard.kill()
        if guard.ended:
            report(reports, "ended", len(guard.ended))
        if backup is not None:
            report(backup, "done", 0)


def let_go() -> None:
    """Closes this process's copies of the server's streams, so that they end with the server, and leaves its folder."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    os.chdir("/")


def back_up(reports: int) -> int:
    """Forks the guard, and makes this process its backup; returns, in the guard, the pipe for reports to the backup."""
    backup, (source, sink) = os.getpid(), os.pipe()
    if guard := os.fork():
        stand_by(guard, source, reports)
    prctl(PR_SET_CHILD_SUBREAPER, 1)  # not inherited
    prctl(PR_SET_PDEATHSIG, SIGTERM)  # if the backup is killed, the guard gets SIGTERM, and ends the server
    if os.getppid() != backup:
        os._exit(0)
    os.close(source)
    return sink


def stand_by(guard: int, source: int, reports: int) -> NoReturn:
    """Becomes a shell that waits for the end of the guard; a shell takes a tenth of the memory of Python."""
    for number in (SIGHUP, SIGINT, SIGQUIT):  # as in the guard
        signal.signal(number, signal.SIG_IGN)
    let_go()
    os.dup2(source, 0)
    os.dup2(reports, 1)
    words = [sys.executable, "-I", "-S", "-E", __file__, str(guard)]
    os.execv(SHELL, [SHELL, "-c", WAITS, *words])


def finish(guard: int, server: int) -> None:
    """Ends the processes of a killed guard, which are now children of this process; reports to the client on stdout."""
    try:
        how = os.waitpid(guard, 0)[1]
    except ChildProcessError:  # the shell has reaped it
        how = SIGKILL
    if os.WIFSIGNALED(how):
        report(1, "told", os.WTERMSIG(how))
    rest = Guard(-1, 1, server, -1, reaper=True)
    # Each process is signalled separately, because another group may have the number of the server's group now.
    rest.asked = rest.exited = True
    for pid in descendants():
        if pid != server:  # the server got SIGTERM from PR_SET_PDEATHSIG
            send(pid, SIGTERM)
    until = monotonic() + LEFT_GRACE
    while rest.left():
        if monotonic() > until:
            rest.kill()
            return
        sleep(0.005)


if __name__ == "__main__":
    main()
    os._exit(0)  # all is reported, and the client waits; a normal exit of Python takes longer
