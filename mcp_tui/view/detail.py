"""Sections of lines about one request, the server, or the connection; and requests as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, cast

from mcp_tui.client.connection import ServerInfo
from mcp_tui.client.results import BINARY, Part, PartKind, parts
from mcp_tui.client.schemas import Problem
from mcp_tui.client.stderr_lines import StderrLines
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence, messages
from mcp_tui.protocol.descriptions import IN, OUT, describe, repeat_words
from mcp_tui.protocol.events import Signal
from mcp_tui.protocol.messages import Json, as_object, as_text, read_json
from mcp_tui.protocol.pixels import pixels
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.server_requests import ServerRequest
from mcp_tui.protocol.states import KIND_WORDS, Kind
from mcp_tui.protocol.values import frozen
from mcp_tui.view import durations
from mcp_tui.view.badges import CAUSES, badge, outcome_of, server_request_badge
from mcp_tui.view.keys import hint
from mcp_tui.view.lines import Line, line, texts
from mcp_tui.view.markdown import MarkdownPage, is_markdown
from mcp_tui.view.pages import JsonPage, Page
from mcp_tui.view.rows import failure, plural, request, silence
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, compact, join, paragraphs, pretty, safe, words

HISTORY_CHARACTERS: Final = 2000
"""The most characters shown of a line of the history."""

_ERROR_TITLE: Final = words("Error")


@frozen
class Section:
    """A block of lines below a title, which may be empty; after the lines comes a page, if there is one.

    A page remembers which of its lines are folded. The widget that shows the page lays it out.
    """

    title: SafeText
    lines: Sequence[Line] = ()
    page: Page | None = None
    table: Callable[[int], Iterable[Line]] | None = None
    """Returns the lines of a table for a width in cells; they come after ``lines``."""


def sections(
    row: Request,
    now: float,
    payloads: Iterable[Section] = (),
    *,
    command: SafeText = NOTHING,
    advice: SafeText = NOTHING,
    server_requests: Iterable[ServerRequest] = (),
    logged: int = 0,
) -> list[Section]:
    """Returns the detail of ``row`` at ``now``: the outcome, the payloads, facts, the history, and the command.

    Args:
        row: the request.
        now: monotonic seconds.
        payloads: the results of :func:`params_sections`, :func:`late_sections`, and :func:`answer_sections`. The caller
            keeps them, because making them is expensive.
        command: the result of :func:`mcp_tui.view.shell_command.headless_command`.
        advice: what a person can do about the request.
        server_requests: the server's requests that belong to ``row``.
        logged: the number of log messages received while the request ran.
    """
    payloads = list(payloads)
    known = [*_outcome(row, now, error=all(each.title != _ERROR_TITLE for each in payloads))]
    if advice:
        known.insert(1, fact("help", advice, "accent"))
    about = [*_about(row)]
    if logged:
        about.append(fact("log", safe("{} while it ran", plural(logged, "message"))))
    found = [
        Section(NOTHING, known),
        *payloads,
        Section(words("About"), about),
        Section(words("History"), [*history(row, server_requests)]),
    ]
    if command:
        found.append(Section(words("Headless"), [line(command)]))
    return found


def params_sections(params: object) -> list[Section]:
    """Returns a request's parameters (a JSON value), on one line if they are short."""
    return [Section(words("Request"), texts(compact(params)))]


def late_sections(sections: Sequence[Section], kind: Kind) -> list[Section]:
    """Returns the sections of a late message; the title says its kind, and that a late answer was not used."""
    progress = kind is Kind.PROGRESS
    title = words("Late progress") if progress else safe("Late {}, not used", KIND_WORDS[kind])
    return [replace(sections[0], title=title), *sections[1:]]


# -- facts -----------------------------------------------------------------------------------------------------


def facts(row: Request, now: float) -> Iterable[Line]:
    """Returns a few lines of facts about ``row``, its badge first."""
    return [*_outcome(row, now), *_about(row)]


def _outcome(row: Request, now: float, *, error: bool = True) -> Iterable[Line]:
    """Yields the outcome or progress of ``row``; its error only if ``error``."""
    shown = badge(row, now)
    since = row.cancel_at if row.cancel_at is not None else row.ended_at
    ago = NOTHING if since is None or row.open else safe(" {} ago", durations.elapsed(now - since))
    took = NOTHING
    if row.sent_at is not None:
        answered = row.state in (State.COMPLETED, State.FAILED)
        ran = "running" if row.open else "took" if answered else "after"
        took = join((safe(" · {} {}", ran, durations.elapsed(row.elapsed(now))), silence(row, now)), ", ")
    yield line((safe("{} {}", shown.glyph, shown.word), shown.style), ago, took)
    if row.cancel_at is not None and row.cause is not None:
        yield fact("why", join((CAUSES[row.cause], brief(row.reason, 2000)), ": "))
        yield fact("via", _via(row, now))
        aftermath = brief(evidence.aftermath_words(row, now), 2000)
        if aftermath:
            yield fact("then", aftermath, shown.style)
    if row.state is State.FAILED and error:
        yield fact("error", failure(row), "error")
    if row.state is State.LOST:
        late_answer = evidence.late_answer(row)
        if late_answer is not None:
            yield fact("then", brief(evidence.late_words(late_answer, task=bool(row.task_id))), "late")
    if row.repeat is not None:
        yield fact("note", brief(repeat_words(row.repeat), 400), "warning")
    if row.duplicates:
        yield fact("note", safe("answered again ×{}, ignored", row.duplicates), "warning")


def _about(row: Request) -> Iterable[Line]:
    idle, maximum = row.limits.timeout, row.limits.max_timeout
    limits = (
        NOTHING if idle is None else durations.limit(idle),
        NOTHING if maximum is None else safe("max {}", durations.limit(maximum)),
    )
    yield fact("what", request(row))
    yield fact("id", safe("{}{}", brief(str(row.id), 80), ", internal" if row.internal else ""))
    yield fact("timeout", join(limits, " · ") or words("none"))


def fact(name: str, value: SafeText, tone: str = "", *, cells: int = 8) -> Line:
    """Returns a line of a list of facts: a name, padded to ``cells``, and its value."""
    return line((safe("{:<{}}", name, cells), "muted"), (value, tone))


def fact_lines(facts: Iterable[tuple[str, SafeText]], cells: int) -> list[Line]:
    """Returns a line for each fact that has a value."""
    return [fact(name, value, cells=cells) for name, value in facts if value]


_VIA: Final = {
    Signal.NOTIFICATION: "notifications/cancelled",
    Signal.STREAM_CLOSED: "closing the stream",
    Signal.TASKS_CANCEL: "tasks/cancel",
}


def _via(row: Request, until: float) -> SafeText:
    """Returns how the cancel was sent, whether the server received it, and whether it carried the reason."""
    via = None if row.signal is None else _VIA.get(row.signal)
    delivery = evidence.delivery_words(row, until)
    if via is None or row.signal is Signal.STREAM_CLOSED:
        return brief("closing the stream; the reason is logged locally only" if via else delivery)
    carried = "" if row.reason_delivered else "; the reason is logged locally only"
    return brief(f"{via}: {delivery}{carried if row.reason else ''}")


# -- history ---------------------------------------------------------------------------------------------------

_Moment = tuple[float, SafeText, SafeText, str]
"""An entry of the history: its time, its arrow, its text, and the style of the text."""


def history(row: Request, server_requests: Iterable[ServerRequest] = ()) -> Iterable[Line]:
    """Returns the history of ``row`` and its ``server_requests``: ``+2.104 ← progress 30%``.

    The times are seconds since ``row`` was sent.
    """
    start = row.called_at if row.sent_at is None else row.sent_at
    found: list[_Moment] = []
    for event in row.history:
        # The call is an entry only if the request then waited in the queue for a noticeable time.
        if isinstance(event, ev.Called) and start - event.at < 0.02 and row.sent_at is not None:
            continue
        known = describe(event)
        text = row.method if isinstance(event, ev.Sent) else known.words(event)
        found.append(
            (event.at, clean(known.arrow(event)), brief(text, HISTORY_CHARACTERS), known.tone(event))
        )
    asked = [each for server_request in server_requests for each in _asked(server_request)]
    if asked:
        found = sorted([*found, *asked], key=lambda moment: moment[0])
    for at, arrow, text, tone in found:
        yield line((safe("{:>+8.3f} {} ", at - start, arrow), "muted"), (text, tone))


def _asked(server_request: ServerRequest) -> Iterable[_Moment]:
    about = safe("{} ({})", brief(server_request.method, 80), brief(str(server_request.request_id), 40))
    yield server_request.at, words(IN), safe("asks {}", about), "awaiting-input"
    if server_request.ended_at is not None:
        arrow = IN if server_request.outcome.startswith(("withdrawn", "lost")) else OUT
        text = safe("{}: {}", about, brief(server_request.outcome, 80))
        yield server_request.ended_at, words(arrow), text, ""


def server_request_sections(
    server_request: ServerRequest, now: float, sent: Iterable[Section] = ()
) -> list[Section]:
    """Returns the detail of a request from the server; ``sent`` has its parameters, see :func:`params_sections`."""
    shown = server_request_badge(server_request)
    parent = server_request.parent
    rows = (
        ("what", brief(server_request.method, 200)),
        ("id", safe("{} (server's id)", brief(str(server_request.request_id), 80))),
        ("ran", durations.elapsed(server_request.elapsed(now))),
        ("came", outcome_of(server_request)),
        ("for", NOTHING if parent is None else safe("request {}", brief(str(parent), 80))),
    )
    head = line((safe("{} {}", shown.glyph, shown.word), shown.style))
    return [Section(NOTHING, [head, *fact_lines(rows, 6)]), *sent]


def server_sections(info: ServerInfo) -> list[Section]:
    """Returns the detail of a connected server."""
    rows = (
        ("server", join((brief(info.name), brief(info.version, 60)), " ")),
        ("title", brief(info.title)),
        ("transport", brief(info.transport)),
        ("protocol", brief(info.revision.name)),
        (
            "capabilities",
            join([brief(name, 40) for name in list(info.capabilities)[:30]], ", ") or words("none"),
        ),
    )
    sections = [Section(words("Server"), fact_lines(rows, 14))]
    if info.instructions:
        sections.append(Section(words("Instructions"), texts(paragraphs(info.instructions))))
    return sections


def connecting_sections(
    steps: Sequence[ev.Note], stderr: StderrLines, *, now: float, launcher: str
) -> list[Section]:
    """Returns the steps of connecting so far, and the duration of the last step; ``now`` is in monotonic seconds.

    ``launcher`` is the program that may still be downloading the server, such as ``npx``; empty if there is none.
    """
    lines = _steps(steps)
    if steps:
        lines.append(line((safe("{:<9}for {:.0f} s", "", now - steps[-1].at), "warning")))
    if launcher:
        text = safe("{} may still be downloading", launcher)
        sentence = safe("{}: {}", text, brief(stderr.newest, 200)) if stderr.newest else text
        lines.append(line((sentence, "warning")))
    lines.append(line((hint("{request.cancel} stops connecting"), "muted")))
    return [Section(words("Connecting"), lines), *_last_words(stderr)]


def failure_sections(steps: Sequence[ev.Note], stderr: Iterable[str]) -> list[Section]:
    """Returns the steps up to a failure to connect, and lines of stderr. The request table shows the error."""
    sections = [Section(words("Connection steps"), _steps(steps))] if steps else []
    return [*sections, *_last_words(stderr)]


def _steps(steps: Sequence[ev.Note]) -> list[Line]:
    first = steps[0].at if steps else 0.0
    return [line((safe("+{:.3f}  ", each.at - first), "muted"), brief(each.text, 400)) for each in steps]


def _last_words(stderr: Iterable[str]) -> list[Section]:
    lines = texts(brief(each, 400) for each in stderr)
    return [Section(words("Server stderr"), lines)] if lines else []


# -- Markdown: text from a server is put in code, so that it cannot be markup, a mention, or a link ---------------


def fence(lines: Iterable[str], language: str = "") -> Iterator[str]:
    """Yields lines in a fenced code block that no line inside can close."""
    some = [line.rstrip("\n") for line in lines]
    ticks = "`" * max(3, max(map(_longest, some), default=0) + 1)
    yield f"{ticks}{language}"
    yield from some
    yield ticks


def code(text: str) -> str:
    """Returns a code span of one line; empty for an empty text."""
    shown = brief(text, 1000)
    if not shown.strip():
        return ""
    ticks = "`" * (_longest(shown) + 1)
    space = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def _longest(text: str) -> int:
    """Returns the length of the longest run of backticks in a text."""
    return max(map(len, re.findall(r"`+", text)), default=0)


JSON_CHARACTERS: Final = 16_000
"""The most characters of the JSON of one request."""


def document(rows: Sequence[Request], exported: Callable[[Request], object], *, now: float) -> Iterator[str]:
    """Yields Markdown about requests: of each the facts, the history, and the JSON that ``exported`` returns."""
    yield f"# {len(rows)} request{'' if len(rows) == 1 else 's'}"
    for row in rows:
        yield from ("", f"## {code(f'{row.id} {request(row)}')}: {badge(row, now).word}", "")
        yield from fence(line.text.rstrip() for line in list(facts(row, now))[1:])
        yield from ("", "Timeline in seconds:", "")
        yield from fence(line.text.rstrip() for line in history(row))
        yield ""
        yield from fence(pretty(exported(row), limit=JSON_CHARACTERS), "json")


# -- results -------------------------------------------------------------------------------------------------

_LISTED_PARTS: Final = 100
"""The most parts that are listed."""

ANSWER_CHARACTERS: Final = 65_536
"""The most characters shown of all texts of an answer."""

SHOWN_MEMBERS: Final = frozenset(
    {"_meta", "content", "contents", "isError", "messages", "resultType", "structuredContent"}
)
"""Members of a result that are not shown as JSON: they are shown as parts, or not at all."""


def answer_sections(response: Json, *, error: bool = False, broken: Sequence[Problem] = ()) -> list[Section]:
    """Returns the sections of a result, or of an error object if ``error``: its parts, then its other members.

    ``broken`` has the violations of the output schema (:func:`mcp_tui.client.results.differences`).
    """
    if error:
        members = as_object(response)
        message = as_text(members.get("message"))
        more = {name: value for name, value in members.items() if name != "message" or not message}
        lines = texts(paragraphs(message), "error") if message else []
        return [Section(_ERROR_TITLE, [*lines, *texts(compact(more if members else response))])]
    found = distinct_parts(parts(response)[:-1])
    sections = part_sections(found)
    if broken:
        lines = texts((brief(str(each), 400) for each in broken[:20]), "error")
        sections.append(Section(words("Does not match the output schema"), lines))
    rest: Json = response
    if isinstance(response, dict):
        known = SHOWN_MEMBERS if found else {"resultType"}
        rest = {
            name: value for name, value in as_object(response).items() if name not in known or _odd(value)
        }
    if rest or not found:
        title = words("Other content") if found else words("Result")
        sections.append(Section(title, page=JsonPage(rest)))
    return sections


def distinct_parts(found: Sequence[Part]) -> list[Part]:
    """Returns parts without duplicates: texts that only repeat the structured content are removed.

    The structured content is moved to the end. Many servers wrap a value as ``{"result": …}``; the value is then shown
    without the wrapper, or only as text if it is a text.
    """
    structured = next((part for part in found if part.sort is PartKind.STRUCTURED), None)
    if structured is None:
        return list(found)
    others = [part for part in found if part is not structured]
    texts = [part.text for part in others if part.sort is PartKind.TEXT]
    members = as_object(structured.value)
    inner = members["result"] if members.keys() == {"result"} else None
    if texts and inner in ("\n".join(texts), texts[0], texts):
        return others
    for value in (structured.value, inner)[: 1 + ("result" in members)]:
        distinct = [part for part in others if part.sort is not PartKind.TEXT or not _says(part.text, value)]
        if len(distinct) < len(others):
            return [*distinct, replace(structured, value=value)]
    items = cast("list[Json]", inner) if isinstance(inner, list) else []
    if len(items) == len(texts) > 1 and all(map(_says, texts, items)):
        others = [part for part in others if part.sort is not PartKind.TEXT]
        return [*others, replace(structured, value=inner)]
    return [*others, structured]


def _says(text: str, value: Json) -> bool:
    """Returns whether a text is JSON equal to ``value``."""
    try:
        return read_json(text) == value
    except ValueError:
        return False


def _odd(value: Json) -> bool:
    """Returns whether a value is a list with items that are not objects; such a list cannot be shown as parts."""
    return isinstance(value, list) and not all(isinstance(each, dict) for each in cast("list[Json]", value))


def part_sections(found: Sequence[Part]) -> list[Section]:
    """Returns the sections of parts: text in full, JSON and Markdown as pages, others by type and size.

    Each part of a prompt is below its role. If there are both structured content and text, each has a title.
    """
    made: list[Section] = []
    lines: list[Line] = []
    characters_left = ANSWER_CHARACTERS
    both = {part.sort for part in found} >= {PartKind.STRUCTURED, PartKind.TEXT}

    def end() -> None:
        if lines:
            made.append(Section(words("Text") if both else NOTHING, [*lines]))
            lines.clear()

    for part in found[:_LISTED_PARTS]:
        if part.sort in (*BINARY, PartKind.LINK):
            lines.append(line(words("  "), (label(part), "")))
            continue
        if part.role:
            lines.append(line((safe("{}:", brief(part.role, 20)), "accent")))
        page = None if part.sort is PartKind.TEXT and characters_left <= 0 else part_page(part)
        if page is None:
            if part.text and characters_left > 0:
                lines.extend(texts(paragraphs(part.text, limit=characters_left)))
                characters_left -= len(part.text)
            continue
        characters_left -= len(part.text)
        structured = part.sort is PartKind.STRUCTURED
        title = words("Structured content") if both and structured else words("Text") if both else NOTHING
        if lines and not both:
            made.append(Section(NOTHING, [*lines], page))
            lines.clear()
        else:
            end()
            made.append(Section(title, page=page))
    if len(found) > _LISTED_PARTS:
        lines.append(line((safe("… {:,} more parts", len(found) - _LISTED_PARTS), "muted")))
    if any(part.sort in (*BINARY, PartKind.LINK) for part in found):
        lines.append(line((hint("  {detail.open} opens them"), "muted")))
    end()
    return made


def part_page(part: Part, most: float = ANSWER_CHARACTERS) -> Page | None:
    """Returns the page of a part, ``None`` for plain text.

    Text is parsed as JSON up to ``most`` characters, and may be Markdown. Any other part is shown as JSON.
    """
    if part.sort is not PartKind.TEXT:
        return JsonPage(part.value)
    if part.text.lstrip()[:1] in ("{", "[") and len(part.text) <= most:
        try:
            return JsonPage(read_json(part.text))
        except ValueError:
            pass
    return MarkdownPage(part.text) if is_markdown(part.text, part.mime) else None


def plain(message: Json) -> str:
    """Returns an answer as text to copy: its structured content as JSON, else its texts, else all of it as JSON."""
    members = as_object(message)
    if "result" not in members:
        return messages.text(members.get("error", message), indented=True)
    found = distinct_parts(parts(members["result"]))
    if structured := [part for part in found if part.sort is PartKind.STRUCTURED]:
        return messages.text(structured[0].value, indented=True)
    texts = [part.text for part in found if part.sort is PartKind.TEXT]
    return "\n".join(texts) if texts else messages.text(members["result"], indented=True)


def data_words(part: Part) -> SafeText:
    """Returns the type, the size, and the dimensions of an image: ``image/png, 8.1 kB, 300 × 200 pixels``."""
    size = pixels(part.data)
    known = brief(part.mime, 60), durations.size(part.size), safe("{} pixels", size) if size else NOTHING
    return join(known, ", ")


def label(part: Part) -> SafeText:
    """Returns the description of a part: ``image  image/png, 8.1 kB``, ``link  The b  file:///a/b.txt``."""
    mime, uri = brief(part.mime, 60), brief(part.uri, 200)
    match part.sort:
        case PartKind.LINK:
            pieces = brief(part.name, 80), uri, mime, brief(part.text, 120)
        case PartKind.TEXT:
            pieces = uri, durations.size(part.size)
        case PartKind.STRUCTURED | PartKind.WHOLE:
            pieces = ()
        case _:
            pieces = data_words(part), uri
    role = safe("{}:", brief(part.role, 20)) if part.role else NOTHING
    return join((role, clean(part.sort.value), *pieces), "  ")
