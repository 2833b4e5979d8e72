"""The launch of a stdio server: its command and environment, and the start of its guard.

This module does not need the event loop, because a command starts its server before it loads the client.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from mcp_tui.protocol.values import fact
from mcp_tui.transport.targets import StdioTarget
from mcp_tui.transport.unreachable import TransportError

INHERITED: Final = frozenset(
    {"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}
)
"""The variables that a server gets from the client's environment, in addition to those that start with ``LC_``."""


OWN_NAMES: Final = frozenset({"mcp-tui", "mcp-tui-client", "mcp_tui"})
"""The names of mcp-tui's program and package on a command line."""

OWN_INHERITED: Final = frozenset({"MCP_TUI_STATE", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"})
"""The variables that mcp-tui gets besides, as a server or as a tap: they say where sessions and recordings are."""


def server_environment(target: StdioTarget) -> dict[str, str]:
    """Returns the environment of a server: :data:`INHERITED` variables, or all of them, then those of the target.

    The list is short, because the client's environment may have secrets. ``NO_COLOR`` is set, because stderr is shown as
    plain text.
    """
    names = {Path(each).name for each in target.command[:3]}
    known = INHERITED | OWN_INHERITED if OWN_NAMES & names else INHERITED
    inherited = {
        name: value
        for name, value in os.environ.items()
        if target.inherit_env or name in known or name.startswith("LC_")
    }
    return inherited | {"NO_COLOR": "1"} | target.env


@fact
class Launch:
    """A server that can be started. ``path`` is the absolute path of its program."""

    path: str
    target: StdioTarget
    environment: dict[str, str]


def prepare(target: StdioTarget) -> Launch:
    """Checks the command of a server, and finds its program in the ``PATH`` of the server's environment.

    Raises:
        TransportError: the program or the folder does not exist, or the program is not executable.
    """
    command, cwd = target.command, target.cwd
    if not command or not command[0]:
        raise TransportError("No server command. Put the program and its arguments after --.")
    environment = server_environment(target)
    for text in (*command, *environment, *environment.values()):
        try:
            os.fsencode(text)
        except UnicodeEncodeError:
            raise TransportError(
                f"The server's command or environment is not valid text: {text!r}."
            ) from None
        if "\0" in text:
            raise TransportError("The server's command or environment contains a NUL character. Remove it.")
    if bad := [name for name in environment if not name or "=" in name]:
        raise TransportError(f"Invalid environment variable name {bad[0]!r}. Use -e NAME=VALUE.")
    # Checked before the start, whose error does not say whether the program or the folder is missing.
    if cwd is not None and not cwd.is_dir():
        what = "is not a directory" if cwd.exists() else "does not exist"
        raise TransportError(f"The working directory {cwd} {what}. Choose another one.")
    if cwd is not None and not os.access(cwd, os.X_OK):
        raise TransportError(f"Cannot enter the working directory {cwd}. Check its permissions.")
    path = find_program(target)
    # Compared at each start, because PATH or a link may lead to another program than at the time of the approval.
    if target.approved and os.path.realpath(path) != target.approved:
        raise TransportError(
            f"Not started: {path} is not the program that you approved ({target.approved}). "
            "Open the server from the list of servers to approve it again."
        )
    return Launch(path=path, target=target, environment=environment)


def find_program(target: StdioTarget) -> str:
    """Returns the absolute path of a server's program, found in the ``PATH`` of the server's environment.

    Raises:
        TransportError: the program does not exist, or is not executable.
    """
    name, cwd = target.command[0], target.cwd or Path()
    if os.path.dirname(name):  # noqa: PTH120 - "./x" and "x" differ here, and are one for pathlib
        path = (cwd / name).absolute()
        if found := shutil.which(str(path)):
            return found
        if path.is_dir():
            raise TransportError(
                f"Not a program but a directory: {name}. Give the path of the server's program."
            )
        if path.exists():
            raise TransportError(
                f"Not executable: {name}. Run chmod +x on it, or name the program that runs it."
            )
        raise TransportError(f"No such file: {name}. Check the path of the server's program.")
    # The server's own PATH, not that of this process. The consent uses this function too, so that it shows the program that
    # will run.
    search = server_environment(target).get("PATH", os.defpath)
    if found := shutil.which(name, path=search):
        return str(Path(found).absolute())
    if found := shutil.which(name, os.F_OK, search):
        raise TransportError(
            f"Not executable: {found}. Run chmod +x on it, or name the program that runs it."
        )
    if len(name.split()) > 1:
        how = "Put only the program into command, and the other words into args."
        if not target.name:
            how = "Remove the quotes around it: each word is an argument of its own."
        raise TransportError(f"Command not found: {name}. It looks like a whole command line. {how}")
    raise TransportError(f"Command not found: {name}. Install it or give its full path.")


_START_ERRORS: Final = {
    0: f"Its guard process ({sys.executable}) exited at once.",
    errno.ENOENT: "The interpreter named in its first line (#!) does not exist. Install it or correct the line.",
    errno.ENOEXEC: "It is not a program for this machine, nor a script that names its interpreter in the first line (#!).",
    errno.EACCES: "Permission denied for it or its interpreter (#!). Check the permissions.",
    errno.E2BIG: "The arguments and the environment are too long. Shorten them.",
}
"""The reasons why the operating system did not run a program, by errno; 0 is an unknown reason."""


def refused(launch: Launch, error: int) -> TransportError:
    """Returns the error of a program that was found but could not be started."""
    why = _START_ERRORS.get(error) or os.strerror(error)
    return TransportError(f"Cannot start {shlex.quote(launch.target.command[0])}. {why}")


GUARD: Final = Path(__file__).with_name("guard.py")


class GuardedStart:
    """A server that its guard is starting, the guard's process, and the client's end of the socket to the guard.

    Raises:
        OSError: the guard cannot be started.
    """

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        block = b"\0".join(os.fsencode(f"{name}={value}") for name, value in launch.environment.items())
        self.unsent = b"%d\n%s" % (len(block), block)
        """The part of the environment that is not sent to the guard yet."""
        self.link, its_link = socket.socketpair()
        # This process closes its copy of the guard's end as soon as the guard has its own, because otherwise the end of the
        # guard would not close the socket.
        with its_link:
            try:
                self.guard = _start_guard(launch, its_link)
            except BaseException:
                self.link.close()
                raise
        self.link.setblocking(False)
        with suppress(OSError):  # if the guard has ended, the missing report shows it
            self.unsent = self.unsent[self.link.send(self.unsent) :]


_early: list[GuardedStart] = []
"""The server of the command line, from its start until a transport uses it. If none does, it ends with this process."""


def start_early(target: StdioTarget) -> None:
    """Starts the server of a command that certainly connects to it. Ignores errors, which the transport will report."""
    with suppress(TransportError, OSError):
        _early.append(GuardedStart(prepare(target)))


def take_start(launch: Launch) -> GuardedStart:
    """Returns the start of a server: the early one if there is one, else a new one.

    Raises:
        OSError: the guard cannot be started.
    """
    for started in _early:
        if started.launch == launch:
            _early.remove(started)
            return started
    return GuardedStart(launch)


def _start_guard(launch: Launch, link: socket.socket) -> subprocess.Popen[bytes]:
    """Starts the guard with its end of the socket; its pipes become those of the server."""
    number = link.fileno()
    # Isolated and without site, because each start waits for the guard, and no PYTHONPATH may change it.
    guard = [sys.executable, "-I", "-S", "-E", str(GUARD), str(number)]
    # asyncio's subprocess would kill the guard when the loop is closed, which is when the guard must end the server.
    return subprocess.Popen(
        [*guard, launch.path, *launch.target.command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=launch.target.cwd,
        pass_fds=(number,),
        # In a new session, because ctrl+c in the terminal would otherwise reach guard and server before anything is
        # cancelled or closed.
        start_new_session=True,
    )
