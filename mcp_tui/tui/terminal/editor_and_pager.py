"""Runs other programs on the terminal, one at a time: the person's editor and pager.

The workbench gives the terminal to the program until it ends. Its event loop keeps running: requests, their timeouts,
and their cancels do not wait.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from textual.app import App, SuspendNotSupported

from mcp_tui.view.text import SafeText, brief, clean, safe, symbols

EDITED_BYTES: Final = 4 * 1024 * 1024
"""The maximum number of bytes of an edited text."""

EDITORS: Final = ("VISUAL", "EDITOR"), ("vi", "nano")
PAGERS: Final = ("PAGER",), ("less", "more")
"""The variables that name a pager, and the programs that are tried if none of them is set."""

TERM_SECONDS: Final = 1.0
"""Seconds that a program has to end after SIGTERM."""


class ProgramError(Exception):
    """No program can be run, or it failed; the message is a sentence for a person, then what to do."""


class Programs:
    """Runs the person's editor and pager on the terminal of an app; a failure is reported in a toast."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self.running = False
        """Whether a program uses the terminal."""
        self._process: asyncio.subprocess.Process | None = None

    async def edit(self, text: str) -> str | None:
        """Lets a person edit JSON; returns the edited text, or ``None`` if that failed."""
        # Only the person can read the file, and any file that an editor writes next to it.
        with TemporaryDirectory(prefix="mcp-tui-") as folder:
            file = Path(folder, "arguments.json")
            file.touch(0o600)
            file.write_text(symbols(text if text.endswith("\n") else f"{text}\n"), "utf-8")
            try:
                await self._run(*EDITORS, [str(file)])
                edited = _read(file)
            except ProgramError as error:
                self._show_error(safe("{} The arguments are unchanged.", str(error)))
                return None
        return edited.decode("utf-8", "backslashreplace").removesuffix("\n")

    async def read(self, text: str) -> None:
        """Shows a text in the pager, without control characters."""
        shown = await asyncio.to_thread(partial(clean, text, newlines=True))
        encoding = (sys.__stderr__ and sys.__stderr__.encoding) or "utf-8"
        try:
            await self._run(*PAGERS, (), given=f"{shown}\n".encode(encoding, "backslashreplace"))
        except ProgramError as error:
            self._show_error(clean(str(error)))

    async def end(self) -> None:
        """Ends the running program, if there is one."""
        process = self._process
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
            with suppress(TimeoutError):
                async with asyncio.timeout(TERM_SECONDS):
                    await process.wait()
                    return
            process.kill()

    def _show_error(self, text: SafeText) -> None:
        self._app.notify(text, severity="error", markup=False)

    async def _run(
        self,
        variables: Sequence[str],
        usual: Sequence[str],
        arguments: Sequence[str],
        given: bytes | None = None,
    ) -> None:
        """Runs a program until it ends, with ``given`` on stdin, or else the terminal.

        Raises:
            ProgramError: there is none, it cannot be started, or it failed.
        """
        command = _command(variables, usual)
        if self.running:
            return  # the key was pressed twice
        self.running = True
        failed: BaseException | None = None
        process = None
        try:
            # The screen is drawn on stderr, so that is the terminal; stdout may be a file.
            with self._app.suspend(), _keys_for_the_program():
                try:
                    process = self._process = await asyncio.create_subprocess_exec(
                        *command,
                        *arguments,
                        stdin=None if given is None else asyncio.subprocess.PIPE,
                        stdout=sys.__stderr__,
                        env=_environment(),
                    )
                    await process.communicate(given)
                except (OSError, ValueError) as error:
                    failed = error  # raising it in this block would leave the app suspended
        except SuspendNotSupported:
            raise ProgramError("This terminal cannot be given to another program.") from None
        finally:
            if process is not None and process.returncode is None:  # the app is ending
                with suppress(ProcessLookupError):
                    process.kill()
            self._process, self.running = None, False
        self._app.refresh(layout=True)
        name = brief(command[0], 80)
        if failed is not None or process is None:
            why = getattr(failed, "strerror", None) or failed
            raise ProgramError(
                f"Cannot start {name}: {why}. Set {' or '.join(variables)} to another program."
            )
        if code := process.returncode:
            status = f"exit code {code}" if code > 0 else f"signal {-code}"
            raise ProgramError(f"{name} failed ({status}).")


def _command(variables: Sequence[str], usual: Sequence[str]) -> list[str]:
    """Returns the command line of a person's program: from the first variable that is set, else the first usual program."""
    named = next((each for each in variables if os.environ.get(each, "").strip()), "")
    choices = " or ".join(variables)
    if not named:
        found = next(filter(shutil.which, usual), None)
        if found is None:
            raise ProgramError(
                f"Neither {' nor '.join(usual)} is installed. Set {choices} to a program that is."
            )
        return [found]
    text = os.environ[named]
    try:
        command = shlex.split(text)
    except ValueError as error:
        raise ProgramError(f"{named} is not a command line: {error}. Check its quotes.") from None
    if not command or not shutil.which(command[0]):
        missing = brief(command[0] if command else text, 80)
        raise ProgramError(f"Command not found: {missing}. Set {choices} to a program that is installed.")
    return command


def _environment() -> dict[str, str]:
    """Returns our environment, with less kept open for short texts: otherwise they would vanish with the screen."""
    env = {**os.environ}
    if env.get("LESS"):
        env["LESS"] += " -+F"
    return env


def _read(file: Path) -> bytes:
    """Returns the content of an edited file.

    Raises:
        ProgramError: it cannot be read, or is too long.
    """
    try:
        with file.open("rb") as opened:
            edited = opened.read(EDITED_BYTES + 1)
    except OSError as error:
        raise ProgramError(f"Cannot read the edited file: {error.strerror}.") from None
    if len(edited) > EDITED_BYTES:
        raise ProgramError("The edited text is too long.")
    return edited


@contextmanager
def _keys_for_the_program() -> Generator[None]:
    """Leaves the keys that interrupt and stop to the program: the terminal also sends their signals to mcp-tui.

    ctrl+z stops mcp-tui together with the program, so that a shell sees both stopped and continues both.
    """
    # A handler is not inherited; SIG_IGN would be.
    numbers = [signal.SIGINT, signal.SIGQUIT]
    before = {number: signal.signal(number, lambda _number, _frame: None) for number in numbers}
    if signal.getsignal(signal.SIGTSTP) is not signal.SIG_IGN:
        before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
