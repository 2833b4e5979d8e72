"""The choice of a slow and harmless tool to cancel, and of its arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final

from mcp_tui.client.arguments import ArgumentError, check_arguments, typed_arguments
from mcp_tui.client.connection import ServerInfo
from mcp_tui.client.forms import Field, FormLayout
from mcp_tui.protocol.messages import Json, as_object, as_text, number, shown, text
from mcp_tui.protocol.tasks import EXTENSION
from mcp_tui.protocol.values import frozen

AIM_SECONDS: Final = 2.0
"""The duration in seconds that a tool is called with, if it has an argument for it."""

BRIEF_SECONDS: Final = 0.2
"""The duration in seconds of calls for which only the answer matters."""

REPORTED_STEPS: Final = 10
"""The number of steps that a tool is called with, if it has an argument for it."""

_ARGUMENT_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_UNITS: Final = {
    **dict.fromkeys(_set("ms msec msecs millis millisecond milliseconds"), 0.001),
    **dict.fromkeys(_set("s sec secs second seconds"), 1.0),
    **dict.fromkeys(_set("minute minutes mins"), 60.0),
}
"""The seconds in each unit of time."""
_DURATIONS: Final = _set("duration delay sleep wait pause time runtime latency")
_OTHER_MEASURES: Final = _set(
    "age count date end index interval length limit max maximum min minimum number offset per rate since size "
    "stamp start timeout timestamp ttl until zone"
)
"""Words in the name of a number that is not the duration of the call, regardless of the other words."""
_STEP_WORDS: Final = _set("steps iterations ticks rounds chunks updates beats times n")
_SLOW: Final = _set(
    "countdown delay delayed long longrunning pause running sleep sleeper sleepy slow slowly timer wait"
)
_MAYBE_SLOW: Final = _set(
    "background batch busy cooperative count crawl cycle heavy job operation progress scan simulate "
    "stream task work worker"
)
"""Words that alone are a weak sign. They count only for tools with a duration or ``readOnlyHint``."""
_HARMFUL: Final = _set(
    "append buy clear commit crash create delete deploy destroy drop email erase exec execute exit "
    "format halt insert install kill mail merge modify move notify order patch pay post publish purge "
    "push put reboot remove rename reset restart send set shell shutdown sql stop submit terminate "
    "transfer uninstall update upload wipe write"
)


_OF_TIME: Final = re.compile(
    r"\b(m?secs?|(milli)?seconds?|ms|minutes?|hours?|times?|durations?|runtime|latency|timers?|countdown|delay\w*"
    r"|sleep\w*|wait\w*|paus\w+|slow\w*|how long|long[- ]running|takes long|a while)\b"
)
"""Words about time, in lower case."""
_OF_ITS_TIME: Final = re.compile(
    r"\b(m?secs?|(milli)?seconds?|ms|minutes?|durations?|how long|delay\w*|sleep\w*|wait\w*|paus\w+|slow\w*)\b"
)
"""Words that show that an argument called ``time`` is a duration and not a point in time."""
_HANDLES: Final = _set(
    "account address cmd code command directory element email file filename folder handle host id ids key page path "
    "pid port process query ref script selector session sql token uri url user uuid"
)
"""Words for arguments that identify something on the server, so that only the user knows a valid value."""


class Unsuitable(ValueError):
    """A tool cannot be used. The text is one sentence with the reason."""


class ListUnreadable(Unsuitable):
    """A tool cannot be looked up, because ``tools/list`` failed."""


@frozen
class Choice:
    """A tool and the arguments to call it with.

    ``brief`` has arguments that make the call short, if possible. ``seconds`` is the requested duration; 0 if no argument
    sets it. ``why`` has the reasons for the choice.
    """

    name: str
    arguments: dict[str, Json]
    brief: dict[str, Json] | None = None
    destructive: bool = False
    why: tuple[str, ...] = ()
    seconds: float = 0.0

    def shown(self) -> str:
        """Returns the arguments in one line: ``seconds=2 steps=10``."""
        made = (
            f"{name[:40]}={value if isinstance(value, (int, float)) else shown(value)}"
            for name, value in self.arguments.items()
        )
        return " ".join(made)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Returns names and values of the arguments, as a command line has them."""
        return tuple((name, as_argument(value)) for name, value in self.arguments.items())


def as_argument(value: Json) -> str:
    """Returns a value in the form of ``NAME=VALUE`` on a command line."""
    return value if isinstance(value, str) else text(value)


@frozen
class RatedTool:
    """A tool as a candidate: the ``choice``, or the reason ``why_not``. A higher ``score`` is a better candidate.

    ``usage`` has arguments for a command line that names the tool, with ``VALUE`` if only the user knows a value.
    """

    name: str
    score: int
    choice: Choice | None
    why_not: str = ""
    usage: tuple[tuple[str, str], ...] = ()


@frozen
class NamedTool:
    """The tool that the user named (empty for none), and its arguments; the schema gives the types of ``pairs``."""

    tool: str = ""
    pairs: tuple[tuple[str, str], ...] = ()
    arguments: dict[str, Json] = field(default_factory=dict[str, Json])


def words(name: str) -> set[str]:
    """Returns the words in a name, in lower case; ``sleepTime_ms`` has three."""
    return {word.lower() for word in _ARGUMENT_WORD.findall(name)}


def named_tool(wish: NamedTool, tools: Sequence[dict[str, Json]]) -> Choice:
    """Returns the named tool; adds a duration, defaults, and required arguments that are missing.

    Raises:
        Unsuitable: there is no such tool, or the arguments do not fit.
    """
    tool, wished = _named(wish, tools)
    arguments, brief, seconds = _arguments(tool, wished)
    _check(wish, tool, arguments)
    return Choice(wish.tool, arguments, brief, destructive=_marked(tool), seconds=seconds)


def preparing_tool(wish: NamedTool, tools: Sequence[dict[str, Json]]) -> Choice:
    """Returns the named tool with only the given arguments, for a call before the slow tool.

    Raises:
        Unsuitable: there is no such tool, or the arguments do not fit.
    """
    tool, given = _named(wish, tools)
    _check(wish, tool, given)
    return Choice(wish.tool, given, destructive=_marked(tool))


def _named(wish: NamedTool, tools: Sequence[dict[str, Json]]) -> tuple[dict[str, Json], dict[str, Json]]:
    tool = next((each for each in tools if each.get("name") == wish.tool), None)
    if tool is None:
        names = ", ".join(str(each.get("name"))[:40] for each in tools[:12])
        more = ", …" if len(tools) > 12 else ""
        listed = f"it offers {names}{more}" if names else "it offers no tools"
        raise Unsuitable(f"the server has no tool {wish.tool!r}: {listed}")
    try:
        return tool, typed_arguments(tool.get("inputSchema"), wish.pairs, wish.arguments)
    except ArgumentError as error:
        raise Unsuitable(f"{wish.tool}: {error}") from None


def _check(wish: NamedTool, tool: dict[str, Json], arguments: dict[str, Json]) -> None:
    if wrong := check_arguments(tool.get("inputSchema"), arguments):
        raise Unsuitable(f"{wish.tool}: {wrong}")


def rated(tools: Sequence[dict[str, Json]]) -> list[RatedTool]:
    """Returns all tools, the best candidates first; tools that cannot be used are at the end."""
    made = [_rate(tool) for tool in tools if isinstance(tool.get("name"), str)]
    return sorted(made, key=lambda each: (each.choice is None, -each.score))


def candidates(tools: Sequence[dict[str, Json]], wish: NamedTool | None = None) -> list[Choice]:
    """Returns the named tool or, if none is named, the tools that look slow and harmless, the best first.

    Tools marked as destructive are never chosen.

    Raises:
        Unsuitable: there is no such tool, or the arguments do not fit.
    """
    if wish is not None and wish.tool:
        return [named_tool(wish, tools)]
    return [each.choice for each in rated(tools) if each.choice is not None]


def task_choice(tools: Sequence[dict[str, Json]], chosen: Choice | None, wish: NamedTool) -> Choice | None:
    """Returns the tool to run as a task (``execution.taskSupport``): the named tool, the slow one, or the best candidate."""
    able = [tool for tool in tools if task_support(tool) in ("optional", "required")]
    names = {str(tool.get("name")) for tool in able}
    if wish.tool:
        return named_tool(wish, tools) if wish.tool in names else None
    if chosen is not None and chosen.name in names:
        return chosen
    # Without the member ``execution``, the rating does not reject tools that only run as a task.
    likely = candidates([{**tool, "execution": {}} for tool in able])
    return likely[0] if likely else None


def no_tasks(info: ServerInfo, task: Choice | None, unlisted: str) -> str:
    """Returns the reason why there is no task to cancel; empty if there may be one.

    ``unlisted`` is the reason why the tools are unknown; then one of them may support tasks.
    """
    if info.revision.modern:
        extensions = as_object(info.capabilities.get("extensions"))
        return "" if EXTENSION in extensions else "the server offers no tasks"
    tasks = as_object(info.capabilities.get("tasks"))
    calls = as_object(as_object(tasks.get("requests")).get("tools"))
    if "call" not in calls:
        return "the server offers no tasks"
    if "cancel" not in tasks:
        return "the server offers tasks, but no tasks/cancel"
    return "" if task is not None or unlisted else "no tool of the server takes tasks"


def task_support(tool: dict[str, Json]) -> str:
    """Returns the task support of a tool: ``required``, ``optional``, ``forbidden``, or empty."""
    return str(as_object(tool.get("execution")).get("taskSupport", ""))


def _marked(tool: dict[str, Json]) -> bool:
    return as_object(tool.get("annotations")).get("destructiveHint") is True


def _rate(tool: dict[str, Json]) -> RatedTool:
    """Rates a tool by signs that it is slow (its name, a duration among its arguments) and harmless."""
    name, read_only = str(tool["name"]), as_object(tool.get("annotations")).get("readOnlyHint") is True
    fields, named = _parameters(tool.get("inputSchema")), words(name)
    description = as_text(tool.get("description")).lower()[:2000]
    score, why = 0, list[str]()
    timed = [each.name for each in fields if _unit(each, description) is not None]
    if timed:
        score += 4
        why.append(f"its argument {timed[0]}")
    speaks = bool(timed) or any(_OF_TIME.search(text) for text in (description, *map(_described, fields)))
    if speaks and (named & _SLOW or (named & _MAYBE_SLOW and (timed or read_only))):
        score += 2
        why.append("its name")
    slow = score > 0
    if slow:
        score += any(_is_steps(each, description) for each in fields)
        score += ("progress" in description) + ("cancel" in description and "ignore" not in description)
    if read_only:
        score += 3
        why.append("readOnlyHint")
    arguments, brief, seconds = _arguments(tool, {})
    handle = next((each.name for each in fields if each.required and _is_handle(each, description)), "")
    harm = sorted(named & _HARMFUL)
    if _marked(tool):
        why_not, score = "it is marked as destructive", score - 20
    elif task_support(tool) == "required":
        why_not = "it runs only as a task"
    elif harm and not read_only:
        why_not, score = f"its name says that it changes something ({harm[0]})", score - 10
    elif not slow:
        why_not = "nothing in its name and schema says how long it takes"
    elif handle:
        why_not = f"only you know a value for {handle}"
    else:
        why_not = check_arguments(tool.get("inputSchema"), arguments)
    choice = None if why_not else Choice(name, arguments, brief, why=tuple(why), seconds=seconds)
    return RatedTool(name, score, choice, why_not, tuple(_usage(fields, arguments, description)))


def _described(field: Field) -> str:
    return f"{as_text(field.schema.get('title'))} {as_text(field.schema.get('description'))}"[:1000].lower()


def _is_handle(field: Field, description: str) -> bool:
    """Returns whether only the user knows a value for a field: it has no choices and no default, and is no duration."""
    known = field.choices or "default" in field.schema or "const" in field.schema
    return not known and bool(words(field.name) & _HANDLES) and _unit(field, description) is None


def _usage(fields: list[Field], arguments: dict[str, Json], description: str) -> Iterator[tuple[str, str]]:
    """Yields the arguments for a command line: a duration, and required arguments without a default."""
    for each in fields:
        if _unit(each, description) is not None:
            yield each.name, as_argument(arguments.get(each.name))
        elif each.required and "default" not in each.schema:
            yield each.name, "VALUE"


# -- arguments ---------------------------------------------------------------------------------------------------


_MOST_STEPS: Final = 10_000
"""The most arguments of a tool that are read."""


def _arguments(
    tool: dict[str, Json], given: dict[str, Json]
) -> tuple[dict[str, Json], dict[str, Json] | None, float]:
    """Returns the arguments of a long call, those of a short call if possible, and the requested seconds.

    Arguments in ``given`` take precedence. The seconds are 0 if no argument sets the duration.
    """
    fields = _parameters(tool.get("inputSchema"))
    description = as_text(tool.get("description")).lower()[:2000]
    filled: dict[str, Json] = {}
    for each in fields:
        if "default" in each.schema:
            filled[each.name] = each.schema["default"]
        elif each.required:
            filled[each.name] = _least(each)
    steps = [each for each in fields if _is_steps(each, description)]
    timed = [each for each in fields if _unit(each, description) is not None]
    timed.sort(key=lambda each: _doubt(each, given))
    if timed and steps and steps[0] != timed[0]:
        filled[steps[0].name] = _fitted(REPORTED_STEPS, steps[0])
    if not timed:
        return {**filled, **given}, None, 0.0
    name, unit = timed[0].name, _unit(timed[0], description) or 1.0
    long = {**filled, name: _fitted(AIM_SECONDS / unit, timed[0]), **given}
    brief = {**long, name: _fitted(BRIEF_SECONDS / unit, timed[0])}
    longest = number(long[name]) or 0.0
    return long, brief if (number(brief[name]) or 0.0) < longest / 2 else None, longest * unit


def _parameters(schema: Json) -> list[Field]:
    return [each for each in FormLayout(schema, most=_MOST_STEPS).fields_of({}) if len(each.path) == 1]


def _least(field: Field) -> Json:
    """Returns the smallest value that the type of a field permits."""
    if field.choices:
        return field.choices[0].value
    if _numeric(field):
        return _fitted(1.0, field)
    if field.nullable and not field.types:
        return None
    blanks: dict[str, Json] = {"boolean": False, "array": [], "object": {}}
    return next((blank for kind, blank in blanks.items() if field.types == frozenset((kind,))), "probe")


def _doubt(field: Field, given: dict[str, Json]) -> tuple[bool, bool]:
    """Returns a sort key: given fields first, then fields that are most clearly durations."""
    return field.name not in given, all(_UNITS.get(word, 60) > 1 for word in words(field.name))


def _numeric(field: Field) -> bool:
    return not field.choices and not field.types.isdisjoint({"number", "integer"})


def _unit(field: Field, description: str) -> float | None:
    """Returns the unit of a field that is a duration, in seconds; ``None`` for any other field.

    ``description`` is the description of the tool, in lower case.
    """
    named = words(field.name)
    units, lengths = named & _UNITS.keys(), named & _DURATIONS
    if not _numeric(field) or not (units or lengths) or named & _OTHER_MEASURES:
        return None
    described = _described(field)
    if not units and lengths == {"time"} and not _OF_ITS_TIME.search(f"{described} {description}"):
        return None
    argument_words = [word.lower() for word in _ARGUMENT_WORD.findall(described)]
    for word in (*sorted(units), *(word for word in argument_words if len(word) > 1)):
        if word in _UNITS:
            return _UNITS[word]
    default = number(field.schema.get("default"))
    return 0.001 if default is not None and default >= 100 else 1.0


def _is_steps(field: Field, description: str) -> bool:
    return _numeric(field) and bool(words(field.name) & _STEP_WORDS) and _unit(field, description) is None


def _fitted(value: float, field: Field) -> float:
    """Returns the number nearest to ``value`` that the bounds of a field permit."""
    schema, whole = field.schema, "number" not in field.types
    nudge = 1.0 if whole else 0.001
    above, below = number(schema.get("exclusiveMinimum")), number(schema.get("exclusiveMaximum"))
    lows = number(schema.get("minimum")), None if above is None else above + nudge
    highs = number(schema.get("maximum")), None if below is None else below - nudge
    low = max((each for each in lows if each is not None), default=-math.inf)
    high = min((each for each in highs if each is not None), default=math.inf)
    if whole:
        # Zero is only chosen if the schema mentions it.
        value = max(0.0 if -math.inf < low <= 0 else 1.0, float(round(value)))
    value = max(low, min(value, high))
    return int(value) if whole or float(value).is_integer() else value
