"""What a server is called before it says so itself."""

from __future__ import annotations

from mcp_tui.client.settings import StdioTarget, Target
from mcp_tui.tui.view.text import SafeText, brief, clean


def title(target: Target) -> SafeText:
    """A target by its name, its program, or its URL without what is secret in that."""
    if target.name:
        return clean(target.name)
    if isinstance(target, StdioTarget):
        return brief(target.command[0].rpartition("/")[2], 80)
    from mcp_tui.journal.masks import mask_url

    return brief(mask_url(target.url), 80)
