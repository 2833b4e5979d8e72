"""What a person lets servers ask of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mcp_tui.client.settings import Offers


@dataclass(frozen=True, slots=True, kw_only=True)
class Consents:
    """What a person lets servers ask. ``sampling`` is ``off``, ``ask`` or ``command``; ``command`` drafts an answer.

    ``roots`` are the folders that are proposed; the folder mcp-tui was started in where there are none.
    """

    sampling: str = "off"
    command: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()

    def offers(self) -> Offers:
        """What a server is told."""
        return Offers(
            elicitation=frozenset({"form", "url"}), sampling=self.sampling != "off", roots=True, tasks=True
        )

    def proposed(self) -> list[str]:
        """The roots that are proposed, as URIs."""
        return [uri_of(each) for each in self.roots] or [Path.cwd().as_uri()]


def uri_of(folder: str) -> str:
    """A folder as a URI; one that is a ``file:`` URI already as it is."""
    return folder if folder.startswith("file:") else Path(folder).expanduser().absolute().as_uri()
