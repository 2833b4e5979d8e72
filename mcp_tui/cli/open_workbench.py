"""Opens the workbench: on a server, on a recording (``replay``, read-only), or on a running session (``attach``)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_tui.cli.defect import explain
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Exit, Failure, warn
from mcp_tui.cli.target import NeedsConsent, in_force, load_asyncio, loaded, of_definition, settings, target
from mcp_tui.cli.target import limits as tool_limits
from mcp_tui.journal.state_folder import state_folder
from mcp_tui.transport.targets import StdioTarget

if TYPE_CHECKING:
    from mcp_tui.client.client import Client
    from mcp_tui.client.client_settings import Target
    from mcp_tui.config.definitions import Definition
    from mcp_tui.config.watched_files import Watched
    from mcp_tui.journal.records import RecordingError
    from mcp_tui.journal.store import EventLog
    from mcp_tui.live.serving import ClientControlSocket
    from mcp_tui.protocol.states import Limits
    from mcp_tui.tui.app import WorkbenchApp
    from mcp_tui.tui.preferences import Preferences


def run(name: str, given: Words) -> int:
    """Opens a recording or a running session; returns the exit status.

    Raises:
        Failure: it does not exist, it cannot be read, or there is no terminal.
    """
    # Imported late: a workbench on a server needs none of these, and its first screen would be later.
    return (_attach if name == "attach" else _replay)(given)


def _replay(given: Words) -> int:
    # Imported late: the first screen of a workbench on a server needs none of these.
    from mcp_tui.cli import journals
    from mcp_tui.journal.recording import Recording

    if given.options.follow and given.options.speed is not None:
        raise Failure("Use either --follow or --speed, not both.")
    where = journals.one_journal(given)
    if where is None:
        raise Failure("Missing recording. Give a file, the start of a session's name, or last.")
    recording = Recording(where.paths[0])
    need_terminal("Replay", "log or export")
    # Textual takes most of the start, so errors are found before it is loaded.
    from mcp_tui.tui.app import WorkbenchApp
    from mcp_tui.tui.screens.replay import TAIL_BYTES, ReplayScreen, TailScreen

    opening = partial(ReplayScreen, recording, speed=given.options.speed)
    if not recording.strict and given.options.speed is None:
        opening = partial(TailScreen, recording, Recording(where.paths[0], tail=TAIL_BYTES))
    return show(WorkbenchApp(None, preferences=preferences(), opening=opening))


def _attach(given: Words) -> int:
    # As for a recording.
    from mcp_tui.cli import running_sessions
    from mcp_tui.journal.recording import Recording
    from mcp_tui.live.running import Running

    if len(given.words) > 1:
        raise Failure(f"Unexpected argument {given.words[1]!r}. attach takes one session, or one client.")
    if given.options.via or (given.words and ":" in given.words[0]):
        return _attach_there(given)
    chosen = running_sessions.find_running(given.words[0] if given.words else None)
    every = [chosen] if isinstance(chosen, Running) else chosen.sessions
    if not any(each.summary.recording for each in every):
        what = f"Session {every[0].name}" if len(every) == 1 else f"{chosen.client_name}"
        raise Failure(f"{what} keeps no recording, so there is nothing to show. Use mcp-tui ps.")
    recording = Recording(chosen.summary.recording) if isinstance(chosen, Running) else None
    need_terminal("attach", "ps and cancel")
    # As for a recording.
    from mcp_tui.journal.client_recording import ClientRecording
    from mcp_tui.tui.app import WorkbenchApp
    from mcp_tui.tui.screens.attach import AttachScreen
    from mcp_tui.tui.sources.attached import sources

    if not isinstance(chosen, Running):
        recording = ClientRecording(chosen.client_name, sources(chosen))
    assert recording is not None

    opening = partial(AttachScreen, chosen, recording)
    return show(WorkbenchApp(None, preferences=preferences(), opening=opening))


def _attach_there(given: Words) -> int:
    """Gives the terminal to the workbench of another host, until that ends."""
    from mcp_tui.cli import via
    from mcp_tui.live.via import ended as how_ended
    from mcp_tui.live.via import not_started
    from mcp_tui.tui.terminal.restore import restoring

    host, words = via.attach(given)
    need_terminal("attach", "ps and cancel")
    process: subprocess.Popen[bytes] | None = None
    signalled: list[int] = []

    def leave(status: int) -> bool:
        signalled.append(status)
        if process is not None:
            with suppress(OSError):  # Another user's, as behind sudo, which the terminal's signal reaches.
                process.terminate()
        return process is not None

    with restoring(leave) as terminal:
        try:
            # A screen is drawn on stderr, and a remote terminal has no other stream than stdout.
            process = subprocess.Popen(words, stdout=sys.__stderr__)
        except (OSError, ValueError) as error:
            raise Failure(f"{host}: {not_started(words, error)}", Exit.UNREACHABLE) from None
        while os.WIFSTOPPED(status := os.waitpid(process.pid, os.WUNTRACED)[1]):
            os.kill(os.getpid(), signal.SIGSTOP)  # It was suspended, as by ~^Z of ssh; the shell goes on.
            process.send_signal(signal.SIGCONT)
        process.returncode = ended = os.waitstatus_to_exitcode(status)
        if ended == 0:
            terminal.done()
    if signalled or ended in {*Exit} - {Exit.DEFECT}:
        return signalled[0] if signalled else ended  # It has said why itself.
    raise Failure(f"{host}: {how_ended(ended)}", Exit.UNREACHABLE)


def open_workbench(given: Words) -> int:
    """Opens the workbench; returns the exit status.

    Raises:
        Failure: there is no terminal, or the words name no server.
    """
    need_terminal("The workbench", "a subcommand such as call")
    first: Definition | None = None
    try:
        where = target(given)
    except NeedsConsent as needs:
        where, first = None, needs.definition  # the workbench asks
    config = Path(given.options.config) if given.options.config else None
    watch = None if given.options.watch is None else _watched(where, given.options.watch)
    settings(given, server="")  # errors are reported before the screen starts
    # Textual takes most of the start, so errors are found before it is loaded.
    load_asyncio()
    from mcp_tui.tui.app import WorkbenchApp
    from mcp_tui.tui.preferences import ASK_SECONDS

    def limits(chosen: Target, tool: str) -> Limits:
        return tool_limits(given, tool, server=chosen.name, ask=ASK_SECONDS)

    opened = _OpenedSessions(given)
    chosen = replace(
        preferences(),
        limits=limits,
        first=first,
        complete=partial(of_definition, given),
        config=config,
        watched=watch,
        explain=explain,
        control_socket=opened.control_socket,
    )
    opened.app = WorkbenchApp(where, opened.client, chosen)
    try:
        status = show(opened.app)
    finally:
        opened.close()
    if opened.failed is not None:
        raise opened.failed
    return status


class _OpenedSessions:
    """The clients of the workbench, and their control sockets. ``failed`` says why the first one cannot be recorded."""

    app: WorkbenchApp

    def __init__(self, given: Words) -> None:
        self.failed: RecordingError | None = None
        self._given = given
        self._clients: list[Client] = []
        self._control_sockets: list[ClientControlSocket] = []
        self._notes: list[str] = []

    def client(self, chosen: Target) -> Client:
        """Makes the client for a server."""
        given = self._given
        how = settings(given, server=chosen.name)
        # Started after the first screen: on two cores, two more Pythons would delay it by a quarter. But before the
        # imports that talk to the server, so that both load at once. Not with --record, whose file may be refused.
        if isinstance(chosen, StdioTarget) and not given.options.record:
            # Imported late: needed only to start a server now.
            from mcp_tui.transport.launching import start_early

            start_early(chosen)
        # Behind the first frame.
        from mcp_tui.cli.session import notes_in, open_store, tokens_for
        from mcp_tui.client.client import Client
        from mcp_tui.journal.records import RecordingError
        from mcp_tui.journal.store import Store

        try:
            store = open_store(given, chosen, purpose="workbench")
            self._notes.extend(notes_in(store))
        except RecordingError as failure:
            store = Store()
            if self._clients:
                self.app.notify(str(failure), severity="error", markup=False)
            else:
                # shown when the screen is left, where it can be read
                self.failed = failure
                self.app.exit(Exit.USAGE)
        made = Client(chosen, how, store=store, tokens=tokens_for(chosen, store))
        self._clients.append(made)
        return made

    def control_socket(self, client: Client) -> ClientControlSocket:
        """Makes the control socket of a client."""
        # Behind the first frame.
        from mcp_tui.cli.session import is_reachable
        from mcp_tui.live.serving import ClientControlSocket
        from mcp_tui.live.shared_connection import share

        self._control_sockets.append(
            ClientControlSocket(client, "workbench", may=is_reachable(self._given), share=share)
        )
        return self._control_sockets[-1]

    def close(self) -> None:
        """Closes all clients, and prints what a person must know of it."""
        for each in self._control_sockets:
            each.close()
        for note in self._notes:
            warn(note)
        for each in self._clients:
            each.store.close()
            for text in each.store.problems:
                warn(text)
            for text in _left_running(each.store.log):
                warn(f"{text}.")


def _watched(where: Target | None, paths: list[str]) -> Watched:
    """Returns the files that ``--watch`` watches.

    Raises:
        Failure: mcp-tui starts no server, or must not before it is approved.
        ConfigError: a path does not exist, or there are too many files.
    """
    # Imported late: only for --watch.
    from mcp_tui.config.watched_files import watched

    if not isinstance(where, StdioTarget):
        way = "Put its command after --, or name one that you approved with --server."
        raise Failure(f"--watch needs a server that mcp-tui starts. {way}")
    return watched(where, paths)


def _left_running(log: EventLog) -> list[str]:
    """Returns the words about processes that a server left running at the end of its last session."""
    # This loads the protocol, which the first screen does not need.
    from mcp_tui.protocol.descriptions import describe
    from mcp_tui.protocol.events import Connected, ProcessesEnded

    last = takewhile(lambda event: not isinstance(event, Connected), reversed(log))
    return [describe(event).words(event) for event in last if isinstance(event, ProcessesEnded)]


def preferences() -> Preferences:
    """Returns the settings, and the state of the screen from last time."""
    # This loads the reader of settings, after it is clear that there is a terminal.
    from mcp_tui.tui.preferences import Look, Preferences

    found, chosen = loaded(), replace(in_force(warns=False), ascii=plain())
    look = Look.read(state_folder() / "look.json")
    look.themed = "theme" in found.origins
    if look.theme and not look.themed:
        chosen = replace(chosen, theme=look.theme)
    return Preferences(settings=chosen, origins=found.origins, problems=found.problems, look=look)


def show(app: WorkbenchApp) -> int:
    """Runs an app and restores the terminal; returns the exit status. Raises the error that ended the app."""
    # This loads Textual.
    from mcp_tui.tui.terminal.restore import restoring

    with restoring(app.leave_soon) as terminal:
        status = app.run()
        terminal.done()
    if app.defect is not None:
        raise app.defect
    return app.return_code or status or 0


def need_terminal(who: str, instead: str) -> None:
    """Refuses to start without a terminal or textual-serve; ``instead`` names an alternative.

    Raises:
        Failure: the screen cannot run here.
    """
    # Under textual-serve the screen is in a browser, and stdin is a pipe.
    if os.environ.get("TEXTUAL_DRIVER", "").endswith(":WebDriver"):
        return
    term = os.environ.get("TERM", "")
    if term in ("dumb", "unknown"):
        text = f"{who} needs a terminal that can move its cursor, but TERM is {term!r}. Set TERM, or use {instead}."
        raise Failure(text)
    # Textual reads keys from stdin and draws on stderr. stdout may be a pipe or a file.
    for stream, name in ((sys.__stdin__, "stdin"), (sys.__stderr__, "stderr")):
        if stream is None or not stream.isatty():
            raise Failure(f"{who} needs a terminal, but {name} is not a terminal. Use {instead}.")


def plain() -> bool:
    """Whether to use only ASCII, by the settings or the terminal."""
    wished = in_force(warns=False).ascii
    if wished != "auto":
        return wished
    encoding = (getattr(sys.__stderr__, "encoding", "") or "").lower().replace("-", "")
    return not encoding.startswith("utf") or os.environ.get("TERM") == "linux"
