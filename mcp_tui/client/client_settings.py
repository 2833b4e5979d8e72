"""The settings of a client, as plain values, made from config files and command lines."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from mcp_tui.protocol.states import DEFAULT_LIMITS, GRACE, Limits
from mcp_tui.protocol.values import fact
from mcp_tui.transport.targets import HttpTarget, StdioTarget

if TYPE_CHECKING:
    from mcp_tui.protocol.messages import Json
    from mcp_tui.protocol.revisions import Revision


SAMPLING: Final = "sampling/createMessage"
ROOTS: Final = "roots/list"


@fact
class Offers:
    """The capabilities that a client declares. All except ``tasks`` need somebody to answer.

    ``elicitation`` has the modes ``form`` and ``url``. ``tasks`` is the tasks extension of 2026-07-28. ``extensions``
    are declared unchanged.
    """

    elicitation: frozenset[str] = frozenset()
    sampling: bool = False
    roots: bool = False
    tasks: bool = True
    extensions: dict[str, Json] = field(default_factory=dict[str, Any])

    def capabilities(self, revision: Revision) -> dict[str, Json]:
        """Returns the ``ClientCapabilities`` of a revision."""
        # This loads the rest of the protocol; settings are read before.
        from mcp_tui.protocol.tasks import EXTENSION

        made: dict[str, Json] = {}
        if self.roots:
            made["roots"] = {} if revision.modern else {"listChanged": True}
        if self.sampling:
            made["sampling"] = {}
        if modes := self.modes(revision):
            split = revision.elicitation_modes
            made["elicitation"] = {mode: {} for mode in sorted(modes)} if split else {}
        tasks: dict[str, Json] = {EXTENSION: {}} if self.tasks else {}
        if revision.modern and (tasks or self.extensions):
            made["extensions"] = {**tasks, **self.extensions}
        return made

    def modes(self, revision: Revision) -> frozenset[str]:
        """Returns the modes of elicitation that both a revision and the client have."""
        return self.elicitation & revision.elicitation

    def prompts(self, revision: Revision) -> frozenset[str]:
        """Returns the methods of server requests that somebody answers."""
        # As above.
        from mcp_tui.protocol.inbound import ELICIT

        offered = {ELICIT: bool(self.modes(revision)), SAMPLING: self.sampling, ROOTS: self.roots}
        return frozenset(method for method, yes in offered.items() if yes)


DEFAULT_OFFERS: Final = Offers()


Target = StdioTarget | HttpTarget


@fact
class ClientSettings:
    """The settings of a client. Times are in seconds, sizes in bytes.

    ``protocol`` is ``auto`` or a revision. ``limits`` apply to requests without their own. ``grace`` is the time for
    which a cancelled request is watched before it is settled. ``log_level`` is sent with each request of 2026-07-28,
    where a server otherwise must not log; empty sends none. ``trace`` sends a trace context with each request
    (``traceparent``, SEP-414). ``roots`` are folders for a server that asks for them when there is no person.
    """

    protocol: str = "auto"
    connect_timeout: float = 30.0
    limits: Limits = DEFAULT_LIMITS
    grace: float = GRACE
    log_level: str = "info"
    max_message: int = 128 * 1024 * 1024
    offers: Offers = DEFAULT_OFFERS
    roots: tuple[str, ...] = ()
    trace: bool = False
