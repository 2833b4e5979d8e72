"""What is known of the server and of the connection, for the detail pane while no request is selected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcp_tui.client.connecting import ConnectStep
from mcp_tui.client.connection import ServerInfo
from mcp_tui.tui.keys.now import hint
from mcp_tui.tui.view.detail import Section
from mcp_tui.tui.view.lines import Line, line
from mcp_tui.tui.view.text import SafeText, brief, join, paragraphs, safe, words


def about(info: ServerInfo) -> list[Section]:
    """Who the server is and what it can do."""
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


def progress(steps: Sequence[ConnectStep], stderr: Iterable[str], *, now: float) -> list[Section]:
    """How far connecting came, and for how long it has waited for what it waits for; ``now`` in monotonic seconds."""
    lines = _steps(steps)
    if steps:
        lines.append(line((safe("{:<9}for {:.0f} s", "", now - steps[-1].at), "warning")))
    lines.append(line((hint("{request.cancel} stops connecting"), "muted")))
    return [Section(words("Connecting"), tuple(lines)), *_last_words(stderr)]


def failure(
    trouble: SafeText, steps: Sequence[ConnectStep], stderr: Iterable[str], *, process: bool
) -> list[Section]:
    """Why there is no connection, what to do about it, how far it came, and what the server said last.

    ``process`` says that the server is one that is started here. Nothing where nothing is wrong.
    """
    if not trouble:
        return []
    again = hint("{server.menu} starts the server again" if process else "{server.menu} connects again")
    sections = [Section(words("Connection"), (line((trouble, "error")), line((again, "muted"))))]
    if steps:
        sections.append(Section(words("How far it came"), tuple(_steps(steps))))
    return [*sections, *_last_words(stderr)]


def _steps(steps: Sequence[ConnectStep]) -> list[Line]:
    return [
        line((safe("+{:.3f}  ", each.at - steps[0].at), "muted"), brief(each.text, 400)) for each in steps
    ]


def _last_words(stderr: Iterable[str]) -> list[Section]:
    said = tuple(line(brief(each, 400)) for each in stderr if each.strip())
    return [Section(words("Its last lines on stderr"), said)] if said else []


def _fact(name: SafeText, value: SafeText) -> Line:
    return line((safe("{:<8}", name), "muted"), value)
