"""Whether a server that a file defines can be used, and if not, why; told without its secrets."""

from __future__ import annotations

from enum import Enum

from mcp_tui.config import consent, filling
from mcp_tui.config.definitions import Definition
from mcp_tui.config.sources import Surroundings
from mcp_tui.config.templates import input_name
from mcp_tui.journal.masks import mask_command, mask_url


class Availability(Enum):
    """Whether a definition can be used; of several reasons against it the first that counts."""

    USABLE = "usable"
    ASKS = "asks"
    CONSENT = "needs consent"
    DISABLED = "disabled"
    SHADOWED = "shadowed"
    PROBLEM = "problem"


def availability(definition: Definition, around: Surroundings | None = None) -> tuple[Availability, str]:
    """Whether a definition can be used, and what there is to say of that, without a full stop."""
    around = around or Surroundings.now()
    wrong = problem(definition, around)
    if wrong:
        return Availability.PROBLEM, wrong
    if definition.shadowed:
        return Availability.SHADOWED, f"{definition.shadowed} counts before it"
    if definition.disabled:
        return Availability.DISABLED, f"{definition.source.title} does not start it"
    if consent.is_needed(definition):
        return Availability.CONSENT, "it comes from a project's file"
    asked = filling.questions(definition, around)
    if asked:
        names = ", ".join(input_name(each.id) for each in asked)
        return Availability.ASKS, f"it asks for {', '.join(each.id for each in asked)} ({names} would answer)"
    return Availability.USABLE, ""


def problem(definition: Definition, around: Surroundings | None = None) -> str:
    """Why a definition cannot be used, as a sentence without a full stop; empty where it can, once its inputs are given.

    The file of variables that a project's server names is read only after consent: it may be anything on this machine.
    """
    return filling.problem(definition, around, reads_env_file=not consent.is_needed(definition))


def command_words(definition: Definition, around: Surroundings | None = None) -> list[str]:
    """The command line of a server that is started, its variables by name and its secrets masked; empty for a URL."""
    launch = definition.launch
    if launch is None or launch.transport != "stdio":
        return []
    return mask_command(filling.shown(definition, each, around) for each in (launch.command, *launch.args))


def url(definition: Definition, around: Surroundings | None = None) -> str:
    """The URL of a server that has one, likewise."""
    launch = definition.launch
    if launch is None or launch.transport == "stdio":
        return ""
    return mask_url(filling.shown(definition, launch.url, around))


def what(definition: Definition, around: Surroundings | None = None) -> str:
    """A server's command line or URL, in one line."""
    return " ".join(command_words(definition, around)) or url(definition, around)
