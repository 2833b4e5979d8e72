"""Where a server that a file defines stands: whether it can be used, and if not, why; told without its secrets."""

from __future__ import annotations

from enum import Enum

from mcp_tui.config import consent, filling
from mcp_tui.config.definitions import Definition
from mcp_tui.config.sources import Surroundings
from mcp_tui.config.templates import input_name
from mcp_tui.journal.masks import mask_command, mask_url


class Standing(Enum):
    """Where a definition stands, the worst that holds."""

    USABLE = "usable"
    ASKS = "asks"
    CONSENT = "needs consent"
    DISABLED = "disabled"
    SHADOWED = "shadowed"
    PROBLEM = "problem"


def standing(definition: Definition, around: Surroundings | None = None) -> tuple[Standing, str]:
    """Where a definition stands, and what there is to say of it, without a full stop."""
    around = around or Surroundings.now()
    problem = filling.problem(definition, around)
    if problem:
        return Standing.PROBLEM, problem
    if definition.shadowed:
        return Standing.SHADOWED, f"{definition.shadowed} counts before it"
    if definition.disabled:
        return Standing.DISABLED, f"{definition.source.title} does not start it"
    if consent.is_needed(definition):
        return Standing.CONSENT, "it comes from a project's file"
    asked = filling.questions(definition, around)
    if asked:
        names = ", ".join(input_name(each.id) for each in asked)
        return Standing.ASKS, f"it asks for {', '.join(each.id for each in asked)} ({names} would answer)"
    return Standing.USABLE, ""


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
