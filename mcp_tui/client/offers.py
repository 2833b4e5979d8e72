"""What a client declares that it can do for a server. Part of the settings, so it loads nothing of the ledger by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mcp_tui.protocol.messages import Json
    from mcp_tui.protocol.revisions import Revision

SAMPLE: Final = "sampling/createMessage"
ROOTS: Final = "roots/list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """What a client declares that it can do for a server. Nothing, unless somebody is there to answer.

    ``elicitation`` are the modes, of ``form`` and ``url``. ``tasks``: the tasks extension of 2026-07-28, which needs
    nobody. ``extensions`` are declared as they are.
    """

    elicitation: frozenset[str] = frozenset()
    sampling: bool = False
    roots: bool = False
    tasks: bool = True
    extensions: dict[str, Json] = field(default_factory=dict[str, Any])

    def capabilities(self, revision: Revision) -> dict[str, Json]:
        """The ``ClientCapabilities`` of a revision."""
        from mcp_tui.protocol.tasks import EXTENSION

        made: dict[str, Json] = {}
        none: dict[str, Json] = {}
        if self.roots:
            made["roots"] = {} if revision.modern else {"listChanged": True}
        if self.sampling:
            made["sampling"] = {}
        modes = self.modes(revision)
        if modes:
            split = revision.elicitation_modes
            made["elicitation"] = {mode: {} for mode in sorted(modes)} if split else {}
        if revision.modern:
            extensions = dict(self.extensions)
            if self.tasks:
                extensions.setdefault(EXTENSION, none)
            if extensions:
                made["extensions"] = extensions
        return made

    def modes(self, revision: Revision) -> frozenset[str]:
        """The modes of elicitation that a revision has and that are offered."""
        return self.elicitation & revision.elicitation

    def prompts(self, revision: Revision) -> frozenset[str]:
        """The methods of the server's that somebody answers."""
        from mcp_tui.protocol.inbound import ELICIT

        offered = {ELICIT: bool(self.modes(revision)), SAMPLE: self.sampling, ROOTS: self.roots}
        return frozenset(method for method, yes in offered.items() if yes)
