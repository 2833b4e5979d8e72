"""Which files ``--watch`` looks at: those that were named, or else the sources around a server's command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_tui.config.files import ConfigError
from mcp_tui.protocol.values import frozen

if TYPE_CHECKING:
    from mcp_tui.client.settings import StdioTarget

SOURCES: Final = frozenset(
    (
        *(".cjs", ".cts", ".js", ".jsx", ".mjs", ".mts", ".ts", ".tsx"),
        *(".c", ".cc", ".cpp", ".cs", ".go", ".h", ".hpp", ".java", ".kt", ".rs", ".scala", ".swift"),
        *(".ex", ".exs", ".lua", ".php", ".pl", ".py", ".pyi", ".rb", ".sh"),
        *(".toml", ".yaml", ".yml"),
    )
)
"""Endings of files that restart a server if no path was named: what it writes itself must not."""


@frozen
class Watched:
    """Files and folders, with all that is in them; ``sources``: only changes of sources count."""

    paths: tuple[Path, ...]
    sources: bool

    def counts(self, path: str) -> bool:
        """Returns whether a change of a file restarts the server."""
        return not self.sources or Path(path).suffix in SOURCES


def watched(target: StdioTarget, paths: Sequence[str]) -> Watched:
    """Returns what is watched for a server: ``paths``, or else the folder of its script or its working directory.

    Raises:
        ConfigError: a path does not exist, or there is too much to watch.
    """
    for each in paths:
        if not Path(each).exists():
            raise ConfigError(f"Path not found: {each} (--watch).")
    if paths:
        return Watched(tuple(Path(each).resolve() for each in paths), sources=False)
    base = (target.cwd or Path.cwd()).resolve()
    files = (base / word for word in target.command if Path(word).suffix in SOURCES)
    script = next((each for each in files if each.is_file()), None)
    folder = base if script is None else script.resolve().parent
    if folder in (Path.home().resolve(), Path(folder.anchor)):
        raise ConfigError(f"Not watching all of {folder}. Name what to watch: --watch PATH.")
    return Watched((folder,), sources=True)
