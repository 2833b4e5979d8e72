"""Files that others wrote, read with care; and our own small ones, written for their owner only.

What is read may be anything under a well-known name: a pipe that never ends, a device, a gigabyte. Nothing waits for it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from mcp_tui.journal.state import replace_file

MAX_BYTES: Final = 32 * 1024 * 1024
"""A file above this size is not read: some tools keep their history beside their servers, but not more than this."""


class ConfigError(Exception):
    """A file cannot be used, or holds no such thing. The text is one sentence without a full stop, its place first."""


def guess(word: str, known: Iterable[str]) -> str:
    """``Did you mean 'x'?`` behind a blank, with the closest of the known words; empty where none is close."""
    import difflib

    close = difflib.get_close_matches(word, known, 1)
    return f" Did you mean {close[0]!r}?" if close else ""


def at(path: Path, line: int | None, column: int | None = None) -> str:
    """A place in a file as editors and compilers write it: ``path:line:column``."""
    return ":".join(str(part) for part in (path, line, column) if part is not None)


def read_bytes(path: Path, most: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file, or of one that a symbolic link leads to.

    Raises:
        ConfigError: it cannot be read, is no regular file, or has more than ``most`` bytes.
    """
    try:
        _regular(path, path.stat())
        # it may have become something else meanwhile: neither opening nor reading waits
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(number, "rb") as stream:
            _regular(path, os.fstat(number))
            raw = stream.read(most + 1)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read ({why(error)})") from None
    if len(raw) > most:
        raise ConfigError(f"{path}: larger than {_size(most)}")
    return raw


def read_text(path: Path, most: int = MAX_BYTES) -> str:
    """The text of a file, as :func:`read_bytes`; a byte order mark is left out.

    Raises:
        ConfigError: also when it is not UTF-8.
    """
    raw = read_bytes(path, most)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{at(path, line)}: not UTF-8") from None


def _regular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise ConfigError(f"{path}: {kind}")


def _size(count: int) -> str:
    return f"{count // 1024 // 1024} MB" if count >= 1024 * 1024 else f"{count // 1024} kB"


def why(error: Exception) -> str:
    """What the system says of a failure, in a few words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


# -- ours ------------------------------------------------------------------------------------------------------


def write_private(path: Path, text: str) -> None:
    """Put ``text`` in place of a file as :func:`~mcp_tui.journal.state.replace_file` does.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        replace_file(path, text)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({why(error)})") from None


def config_folder() -> Path:
    """The folder of what a person writes: settings, themes, saved calls (``$XDG_CONFIG_HOME/mcp-tui``)."""
    from platformdirs import user_config_path

    return user_config_path("mcp-tui", appauthor=False)


def data_folder() -> Path:
    """The folder of what mcp-tui remembers: consents, recent servers (``$XDG_DATA_HOME/mcp-tui``)."""
    from platformdirs import user_data_path

    return user_data_path("mcp-tui", appauthor=False)


def settings_file() -> Path:
    """``$MCP_TUI_CONFIG``, or ``config.toml`` in :func:`config_folder`."""
    named = os.environ.get("MCP_TUI_CONFIG")
    return Path(named).expanduser() if named else config_folder() / "config.toml"


def themes_folder() -> Path:
    """The folder of the person's own themes."""
    return config_folder() / "themes"


def shipped_folder() -> Path:
    """The folder of the themes that ship with mcp-tui: inside an installed package, or the checkout's."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "themes"
    return installed if installed.is_dir() else package.parent / "themes"


def consents_folder() -> Path:
    """The folder of the consents that were given, a file each."""
    return data_folder() / "consents"


def recent_file() -> Path:
    """The file with the servers that were opened last."""
    return data_folder() / "recent.json"
