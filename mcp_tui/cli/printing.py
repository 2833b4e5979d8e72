"""Text on stdout, where much of it comes at once and no session depends on it."""

from __future__ import annotations

import os
import sys

from mcp_tui.cli.status import Exit, Failure


def out(text: str) -> None:
    """Write ``text``, with its line ends.

    Raises:
        Failure: it cannot be written, for another reason than that nobody reads it any more.
        BrokenPipeError: nobody does.
    """
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        # Python must not try again when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sentence = f"cannot write to stdout: {error.strerror}"
        raise Failure(sentence, Exit.STDOUT_CLOSED) from None
