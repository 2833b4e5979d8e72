"""What is known of the server, for the detail pane while no request is selected."""

from __future__ import annotations

from mcp_tui.client.connecting import ServerInfo
from mcp_tui.tui.view.detail import Section
from mcp_tui.tui.view.lines import Line, line
from mcp_tui.tui.view.text import SafeText, brief, join, paragraphs, words


def about(info: ServerInfo | None, trouble: SafeText) -> list[Section]:
    """Sections about the connection: who the server is and what it can do, or why there is none."""
    if info is None:
        return [Section(words("Connection"), (line((trouble, "error")),))] if trouble else []
    rows = (
        (words("server"), join((brief(info.name), brief(info.version, 60)), " ")),
        (words("title"), brief(info.title)),
        (words("over"), brief(info.transport)),
        (words("speaks"), brief(info.revision.name)),
        (words("can"), join([brief(name, 40) for name in list(info.capabilities)[:30]], ", ")),
    )
    facts = tuple(_fact(name, value) for name, value in rows if value)
    sections = [Section(words("Server"), facts)]
    if info.instructions:
        said = tuple(line(each) for each in paragraphs(info.instructions))
        sections.append(Section(words("Instructions"), said))
    return sections


def _fact(name: SafeText, value: SafeText) -> Line:
    return line((SafeText(f"{name:<8}"), "muted"), value)
