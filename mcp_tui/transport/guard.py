"""The guard: a process between the client and a stdio server, so that the server never outlives the client.

It is started by its path, not imported, with two things in its command line: the descriptor of a socket whose
other end only the client holds, and the server's program with its arguments. When that other end closes for any
reason, kill -9 of the client included, the guard ends the server and all its descendants: SIGTERM, half a second later
SIGKILL. A launcher such as ``docker run`` stops its container at SIGTERM; SIGKILL would leave the container running.

On Linux the guard is a subreaper: what a server leaves behind (double forks, ``setsid``) becomes the guard's own
child and ends with the rest. Its parent there is another subreaper, a shell that waits for it: if somebody kills the guard,
that process becomes a Python that ends what was left (:func:`finish`). Elsewhere the guard ends the server's process group.

On the socket, from the client: the environment (its length in decimal, a line feed, then ``NAME=VALUE`` entries
separated by NUL), later the requests ``T`` (SIGTERM) and ``K`` (SIGKILL) for the server and its descendants, each with the
time at which the server was ready, in decimal, in clock ticks since the machine started, 0 if it never was.
To the client, in lines: ``failed ERRNO`` or ``started PID``, later ``told SIGNAL`` if that ends the guard, ``exited CODE``,
negative for a signal, and at the end ``ended COUNT`` if processes that the server had started still ran.

Every import here is paid for at each start of a server: keep them few.
"""

from __future__ import annotations

import os
import select
import sys
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

REQUESTED_GRACE = 2.0
"""Seconds that processes left behind by a server have to exit after a SIGTERM of the client's."""
LEFT_GRACE = 0.5
"""Seconds that they have before a SIGTERM of the guard's own, and that any process then has before SIGKILL."""
GIVE_UP_SECONDS = 5.0
"""Seconds after which the guard gives up on what SIGKILL does not end (another user's, uninterruptible)."""

SHELL = "/bin/sh"
WAITS = 'read _ server; read _ || exec "$0" "$@" "$server"'
"""What the backup does: it reads which server is guarded, and starts :func:`finish` if the guard ends without a word."""

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGPIPE, SIGTERM, SIGXFSZ = 1, 2, 3, 9, 13, 15, 25
"""Signals by their numbers: to import ``signal`` takes longer than to start a server."""


def libc() -> Any:
    """Returns the C library, or ``None`` for a Python that cannot call it."""
    try:
        # Not every Python has it, and it takes time to load.
        from ctypes import CDLL

        return CDLL(None)
    except (ImportError, OSError):
        return None


def prctl(option: int, value: int) -> bool:
    """Calls Linux's prctl(2); returns whether that worked."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return libc().prctl(option, value, 0, 0, 0) == 0
    except AttributeError:
        return False


def heed_signals() -> None:
    """Undoes what Python ignores, and exec would pass on."""
    library = libc()
    for number in (SIGPIPE, SIGXFSZ):
        if library is not None:
            library.signal(number, None)
        else:
            # Without the C library only.
            import signal

            signal.signal(number, signal.SIG_DFL)


def receive(control: int) -> dict[bytes, bytes] | None:
    """Returns the server's environment, or ``None`` if the client is gone before all of it came."""
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
    """Starts the server in a session of its own; returns its process id, and errno if that failed, else 0."""
    guard = os.getpid()
    outcome, report = os.pipe()  # closed by a successful exec
    pid = os.fork()
    if pid == 0:
        try:
            # A group with the number of its process: T and K reach a shell or npx together with the server behind it.
            os.setsid()
            heed_signals()
            # For kill -9 of the guard, and of whoever would end the server then. SIGKILL would leave a container running. A
            # guard that died before this call sends nothing any more, hence the question for the parent.
            prctl(PR_SET_PDEATHSIG, SIGTERM)
            if os.getppid() == guard:
                os.execve(path, command, environment)
        except OSError as error:
            os.write(report, b"%d" % (error.errno or 1))
        finally:
            os._exit(127)
    os.close(report)
    # Waits until the server's own program runs: "started" is never said of one that the system then refuses.
    failure = os.read(outcome, 16)
    os.close(outcome)
    if failure:
        os.waitpid(pid, 0)
    return pid, int(failure or b"0")


def descendants() -> dict[int, tuple[int, int]]:
    """Returns all running processes below this one, parents first.

    Each has the number of its group, and its start in clock ticks since the machine's. There are none if there is no /proc.
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
            # Behind the last bracket: the program's name stands in brackets, and may itself have spaces and brackets in it.
            fields = status[status.rindex(b")") + 1 :].split()
            # A zombie does not run, so it was not left behind.
            if fields[0] not in (b"Z", b"X"):
                children.setdefault(int(fields[1]), []).append(int(name))
                facts[int(name)] = int(fields[2]), int(fields[19])
    found = list(children.get(os.getpid(), ()))
    for pid in found:
        found += children.get(pid, ())
    return {pid: facts[pid] for pid in found}


class Guard:
    """One server, from its start until nothing of it is left."""

    def __init__(self, control: int, reports: int, server: int, woken: int, *, reaper: bool) -> None:
        self.control = control
        self.reports = reports
        self.server = server
        self.woken = woken
        self.reaper = reaper
        self.exited = False
        self.asked = False
        """SIGTERM was sent."""
        self.ending = False
        """The client is gone, or somebody ended this process."""
        self.steps: list[tuple[float, int]] = []
        """The signals for processes that the server left behind, each with its time, soonest first."""
        self.ready = 0
        self.ended: set[int] = set()
        """Processes that the server had started, and that were still running when they were ended."""

    def watch(self) -> None:
        """Waits for the client's requests, its end, and the server's end; returns when nothing is left to do."""
        poll = select.poll()  # select takes no descriptors from 1,024
        poll.register(self.control, select.POLLIN)
        poll.register(self.woken, select.POLLIN)
        while self.left() and (self.steps or not self.ending):
            wait = max(0.0, self.steps[0][0] - monotonic()) if self.steps else None
            ready = {number for number, _ in poll.poll(None if wait is None else wait * 1000)}
            # The numbers of signals, one a byte. For a SIGCHLD it is enough to have woken up: left() reaps.
            if self.woken in ready and SIGTERM in os.read(self.woken, 512) and not self.ending:
                # Or the client would have to say that somebody killed the server.
                report(self.reports, "told", SIGTERM)
                self.end()
            if self.control in ready and not self.obey():
                poll.unregister(self.control)
                self.end()
            if self.steps and monotonic() >= self.steps[0][0]:
                self.signal(self.steps.pop(0)[1])

    def obey(self) -> bool:
        """Carries out the client's requests; false when the client is gone."""
        try:
            requests = os.read(self.control, 64)
        except OSError:
            return False
        # T and K may come in one read: K counts then, and the time is that of T. No bytes at all are the client's end.
        self.ready = int(requests[1:].partition(b"K")[0] or 0)
        if b"K" in requests:
            self.kill()
        elif b"T" in requests:
            self.signal(SIGTERM)
        return bool(requests)

    def end(self) -> None:
        """Ends everything without a request of the client's."""
        self.ending = True
        if not self.asked:  # to some programs a second one means to stop at once
            self.signal(SIGTERM)
        self.steps = [(monotonic() + LEFT_GRACE, SIGKILL)]

    def left(self) -> bool:
        """Reaps what has ended, reports the server's exit, and returns whether anything of it is still there."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                # No child is left. For a subreaper nothing is left then; elsewhere, an orphan is the child of another
                # process, and only the group shows it.
                return not self.reaper and self.group(0)
            if pid == 0:
                return True
            if pid == self.server:
                self.exited = True
                now = monotonic()
                # A SIGTERM went to all, so whoever outlives the server knows, and has time to say goodbye. If the server
                # ended by itself, nobody was told yet.
                if self.asked:
                    self.steps = self.steps or [(now + REQUESTED_GRACE, SIGKILL)]
                else:
                    self.steps = [(now + LEFT_GRACE, SIGTERM), (now + 2 * LEFT_GRACE, SIGKILL)]
                report(self.reports, "exited", os.waitstatus_to_exitcode(status))

    def count(self) -> dict[int, tuple[int, int]]:
        """Notes what is about to be ended, without the server; returns all that runs.

        While the server runs, what it started before it was ready is part of it, such as the server itself behind npx or a
        shell. A tick is 10 ms: a process that began in the same one as that time is the work of a call.
        """
        found = descendants()
        for pid, (_, start) in found.items():
            if pid != self.server and (self.exited or 0 < self.ready <= start):
                self.ended.add(pid)
        return found

    def signal(self, number: int) -> None:
        """Sends a signal to the server's group and, where that is known, to all else that it started, once to each."""
        if number == SIGKILL:
            self.kill()
            return
        self.asked = True
        found, is_empty = self.count(), self.exited and self.reaper
        if not is_empty:  # else its number may be another's by now
            self.group(number)
        for pid, (group, _) in found.items() if self.reaper else ():
            if is_empty or group != self.server:
                send(pid, number)

    def group(self, number: int) -> bool:
        """Sends a signal to the server's process group; false if that is empty."""
        try:
            os.killpg(self.server, number)
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """Kills the server and all its descendants, those forked meanwhile too, until they are gone."""
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
    """Ends a process group whose guard is gone: by SIGTERM, half a second later by SIGKILL."""
    try:
        os.killpg(group, SIGTERM)
        sleep(LEFT_GRACE)
        os.killpg(group, SIGKILL)
    except OSError:  # nobody is left
        return


def send(pid: int, number: int) -> None:
    """Sends a signal to a process that may be gone or another's."""
    try:
        os.kill(pid, number)
    except OSError:
        return


def report(reports: int, word: str, value: int) -> None:
    """Reports to the client, which may be gone."""
    try:
        os.write(reports, b"%s %d\n" % (word.encode(), value))
    except OSError:
        return


def woken_only(number: int, frame: object) -> None:
    """Handles a signal by the byte that it leaves in the wake-up pipe."""


def main() -> None:
    """Runs ``guard.py DESCRIPTOR PATH COMMAND [ARGUMENT…]``, or ``guard.py GUARD SERVER``, see :func:`finish`."""
    if len(sys.argv) == 3:
        finish(int(sys.argv[1]), int(sys.argv[2] or 0))
        return
    control, path, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    # Or the server would hold this end open, and the client would not see that the guard has ended.
    os.set_inheritable(control, False)
    # While the server starts.
    import signal

    # A mask is inherited: of a client that blocks these, the guard would never wake, and the server would never hear
    # SIGTERM.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD, signal.SIGTERM))
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
    """Starts a server and guards it to its end. The standard streams of this process become the server's.

    Where the client cannot write and read on the same descriptor, it has another one for the ``reports``.
    """
    reports = control if reports is None else reports
    # Before the fork, so that nothing of the server escapes in its first moments.
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
        import signal  # while the server starts

        # The server may have exited before there are handlers: watch() reaps before it waits, so no SIGCHLD is missed.
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, woken_only)
        signal.signal(signal.SIGTERM, woken_only)
        # As in main(), which does not run where the guard is forked: there the server keeps the mask of its client.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD, signal.SIGTERM))
        # The signals of a terminal are the client's to act on: the guard must not end before the server.
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
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
    """Lets go of the server's streams, which are to end when it ends, and of its folder."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    os.chdir("/")


def back_up(reports: int) -> int:
    """Makes this process the backup of the guard, and a new one the guard; returns there where to report to the backup."""
    backup, (source, sink) = os.getpid(), os.pipe()
    if guard := os.fork():
        stand_by(guard, source, reports)
    prctl(PR_SET_CHILD_SUBREAPER, 1)  # not inherited
    prctl(PR_SET_PDEATHSIG, SIGTERM)  # who kills the backup ends the guard, which ends the server
    if os.getppid() != backup:
        os._exit(0)
    os.close(source)
    return sink


def stand_by(guard: int, source: int, reports: int) -> NoReturn:
    """Waits for the end of the guard, as a shell: that takes a tenth of the memory of a Python."""
    # It takes time to load.
    from ctypes import c_void_p

    library, ignore = libc(), c_void_p(1)
    for number in (SIGHUP, SIGINT, SIGQUIT):  # as the guard does it
        library.signal(number, ignore)
    let_go()
    os.dup2(source, 0)
    os.dup2(reports, 1)
    words = [sys.executable, "-I", "-S", "-E", __file__, str(guard)]
    os.execv(SHELL, [SHELL, "-c", WAITS, *words])


def finish(guard: int, server: int) -> None:
    """Ends what a guard that was killed left to this process, its parent, and reports that on stdout."""
    try:
        how = os.waitpid(guard, 0)[1]
    except ChildProcessError:  # the shell waited for it
        how = SIGKILL
    if os.WIFSIGNALED(how):
        report(1, "told", os.WTERMSIG(how))
    rest = Guard(-1, 1, server, -1, reaper=True)
    # Each process is signalled by itself: the number of the group may be another's by now.
    rest.asked = rest.exited = True
    for pid in descendants():
        if pid != server:  # which got it from the system
            send(pid, SIGTERM)
    until = monotonic() + LEFT_GRACE
    while rest.left():
        if monotonic() > until:
            rest.kill()
            return
        sleep(0.005)


if __name__ == "__main__":
    main()
    os._exit(0)  # all is reported, and the client waits: Python would take its time to take itself down
