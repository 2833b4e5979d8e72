"""The filter language of every list: ``state:late name:slow /regex/ words "a phrase"``, each with a ``-`` to exclude.

All terms must match. A filter with an invalid term matches nothing. Regular expressions have the syntax of Rust's
``regex``, which searches in linear time. :mod:`mcp_tui.view.list_filters` has the filters of all lists but the requests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from operator import ge, gt, le, lt
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from mcp_tui.protocol.events import Cause
from mcp_tui.protocol.evidence import (
    FOREVER,
    LATE_OUTCOMES,
    OUTCOME_WORDS,
    Outcome,
    cancel_of,
    ended,
    outcomes,
)
from mcp_tui.protocol.patterns import late
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.server_requests import ServerRequest
from mcp_tui.protocol.states import RequestId, State
from mcp_tui.view.badges import (
    BADGES,
    CANCEL_REQUESTED,
    CAUSES,
    OVERDUE,
    ROUND,
    SERVER_BADGES,
    badge,
    badges,
    server_request_badge,
)
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, join, safe, words

Subject = TypeVar("Subject")
Meaning = TypeVar("Meaning", bound=Hashable)

Test = Callable[[Subject], bool]
FieldTest = Callable[[str], Test[Subject]]
"""A function that returns the test of a field for a value.

It raises ``ValueError``, with a sentence for the user, for a value that the field does not accept.
"""


SEARCHED_CHARACTERS: Final = 20_000
"""The most characters of one text that a regular expression searches while it is typed."""

EXPRESSION_CHARACTERS: Final = 500
"""The most characters of a regular expression."""

TERM: Final = late(
    r"""
    (?P<no>-(?=[^\s\d-]))?
    (?: (?P<field>[a-z]+):(?P<value>"[^"]*"?|/(?:\\.|[^/\\])+/(?=\s|$)|\S*)
      | /(?P<expression>(?:\\.|[^/\\])+)(?:/(?=\s|$)|\\?$)
      | "(?P<quoted>[^"]+)"?
      | (?P<word>\S+)
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)

_EXPRESSION: Final = late(r"/.+/", re.DOTALL)
"""A value that is a regular expression between slashes."""


@dataclass(frozen=True)
class Terms(Generic[Subject]):
    """A filter as it was typed, and its tests.

    ``problem`` is a sentence about an invalid term; the filter then matches nothing.
    """

    text: str = ""
    tests: tuple[Test[Subject], ...] = ()
    problem: SafeText = NOTHING

    def __bool__(self) -> bool:
        return bool(self.tests)

    def matches(self, subject: Subject) -> bool:
        """Returns whether a subject passes every test."""
        return all(test(subject) for test in self.tests)


def read(
    text: str,
    fields: Mapping[str, FieldTest[Subject]],
    *,
    texts: Callable[[Subject], Iterable[str]],
    searched: Callable[[Subject], Iterable[str]] | None = None,
    typing: bool = True,
    elsewhere: Mapping[str, SafeText] = MappingProxyType({}),
    meant: Mapping[str, Test[Subject]] = MappingProxyType({}),
) -> Terms[Subject]:
    """Parses a filter. A term without a field is a word to search for; case is ignored.

    Args:
        text: the filter as typed.
        fields: the fields by their names.
        texts: returns every text of a subject in which words and phrases are searched.
        searched: returns the texts in which regular expressions are searched; by default those of ``texts``.
        typing: whether the filter is still being typed, so that a term without a value is not an error.
        elsewhere: the errors for fields that only another list has.
        meant: the tests of words with a meaning of their own; only if quoted are these words searched for.
    """
    tests: list[Test[Subject]] = []
    problem = NOTHING
    for term in TERM.finditer(text.strip()):
        field = (term["field"] or "").lower()
        value = (term["value"] or "").strip('"')
        value = value if _EXPRESSION.fullmatch(value) else value.casefold()
        if not typing and (lacking := _lacks(term, fields)):
            problem = lacking
            continue
        if field in elsewhere:
            problem = elsewhere[field]
            continue
        if field in fields:
            if not value:
                continue
            try:
                test = fields[field](value)
            except ValueError as error:
                problem = brief(str(error), 400)
                continue
        elif field and not value.startswith("//"):  # a URL is a text to look for
            problem = unknown_filter(field, fields)
            continue
        elif term["expression"] is not None:
            finds = expression(term["expression"])
            if isinstance(finds, str):
                problem = safe("Not a regular expression: /{}/ ({})", brief(term["expression"], 60), finds)
                continue
            far = SEARCHED_CHARACTERS if typing else None
            test = _any(lambda text, finds=finds, far=far: finds(text[:far]), searched or texts)
        elif term["word"] and (test_of := meant.get(term["word"].casefold())) is not None:
            test = test_of
        else:
            looked_for = term["quoted"] or (term["word"] if not field else term[0].removeprefix("-"))
            test = _any(partial(_contains, looked_for.casefold()), texts)
        tests.append(_not(test) if term["no"] else test)
    return Terms(text.strip(), (_never,) if problem else tuple(tests), problem)


def _lacks(term: re.Match[str], fields: Iterable[str]) -> SafeText:
    """Returns the error for an incomplete term, such as ``name:`` without a value; empty for a complete one."""
    field, value, word = term["field"], term["value"], term["word"]
    if field is not None and field.lower() in fields and not (value or "").strip('" '):
        return safe("{}: has no value. Write it without a blank: {}:value.", clean(field), clean(field))
    if word is not None and not word.strip('-/"'):
        return safe("Nothing to search for in {}. Use /expression/, or words.", brief(word, 40))
    name, equals, _ = (word or "").partition("=")
    if equals and name.lower().lstrip("-") in fields:
        return safe("Unknown filter '{}='. Use {}:value.", clean(name), clean(name))
    return NOTHING


def unknown_filter(name: str, fields: Iterable[str]) -> SafeText:
    """Returns the error for an unknown field."""
    *most, last = fields
    choices = join([*(clean(each) for each in most), safe("or {}", clean(last))], ", ")
    sentence = "Unknown filter '{}'. Use key:value, with {}; quote a text that has a colon."
    return safe(sentence, brief(name, 60), choices)


@lru_cache(maxsize=64)
def expression(pattern: str) -> Callable[[str], bool] | SafeText:
    """Returns a function that searches a text and ignores case, or the reason why the expression is invalid."""
    # pydantic_core takes long to load (see `stand_ins`), so only filters with an expression load it.
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    if len(pattern) > EXPRESSION_CHARACTERS:
        return words("it is too long")
    pattern = pattern.replace("\\/", "/")
    try:
        found = SchemaValidator(
            core_schema.str_schema(pattern=f"(?i){pattern}", regex_engine="rust-regex", strict=True)
        )
    except SchemaError as error:
        *_, reason = str(error).strip().split("error: ")
        return brief(reason.splitlines()[0].strip().removesuffix("."), 120)
    return lambda text: found.isinstance_python(_whole(text))


def _whole(text: str) -> str:
    """Returns a text without lone surrogates, which Rust's regular expressions do not accept."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _contains(value: str, text: str) -> bool:
    return value in text.casefold()


def _any(finds: Callable[[str], bool], texts: Callable[[Subject], Iterable[str]]) -> Test[Subject]:
    return lambda subject: any(map(finds, texts(subject)))


def _not(test: Test[Subject]) -> Test[Subject]:
    return lambda subject: not test(subject)


def _never(_: object) -> bool:
    return False


def _nowhere(_value: str) -> Test[object]:
    return _never


def part(of: Callable[[Subject], str]) -> FieldTest[Subject]:
    """Returns a field whose value is a part of a text, or a regular expression that matches in the text."""
    return part_of_any(lambda subject: (of(subject),))


def part_of_any(of: Callable[[Subject], Iterable[str]]) -> FieldTest[Subject]:
    """Returns a field like :func:`part` that searches several texts."""

    def field(value: str) -> Test[Subject]:
        if not _EXPRESSION.fullmatch(value):
            return _any(partial(_contains, value.casefold()), of)
        finds = expression(value[1:-1])
        if callable(finds):
            return _any(finds, of)
        raise ValueError(f"Not a regular expression: {value} ({finds})")

    return field


def start(of: Callable[[Subject], str]) -> FieldTest[Subject]:
    """Returns a field whose value is the start of a text."""
    return lambda value: lambda subject: of(subject).casefold().startswith(value)


_AMOUNT: Final = late(r"([<>]=?)(\d+(?:\.\d+)?)(ms|s|m|kb|mb)?")
_UNITS: Final = {None: 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "kb": 1e3, "mb": 1e6}
_COMPARED: Final = {"<": lt, "<=": le, ">": gt, ">=": ge}


def amount(name: str, example: str, of: Callable[[Subject], float | None]) -> FieldTest[Subject]:
    """Returns a field whose value compares a number of seconds or bytes: ``>0.5``, ``<=200ms``, ``>1mb``."""

    def field(value: str) -> Test[Subject]:
        found = _AMOUNT.fullmatch(value)
        if found is None:
            raise ValueError(f"Invalid {name} {value!r}. Use {name}:{example}, or <, <=, >=.")
        compare, bound = _COMPARED[found[1]], float(found[2]) * _UNITS[found[3]]
        return lambda subject: (has := of(subject)) is not None and compare(has, bound)

    return field


def spaced(text: str) -> str:
    """Returns words in lower case with single spaces, however they are joined: ``late_result``, ``in-flight``."""
    return re.sub(r"[\s_-]+", " ", text).strip().casefold()


def one_of(
    name: str,
    known: Mapping[str, Iterable[Meaning]],
    of: Callable[[Subject], Iterable[Meaning]],
    *,
    choices: Iterable[str] = (),
    alone: bool = True,
) -> FieldTest[Subject]:
    """Returns a field whose value is one of some words or phrases, or the start of a word; commas separate several values.

    Args:
        name: the name of the field, for the error.
        known: the meanings of each word or phrase.
        of: returns the meanings that apply to a subject.
        choices: the words that the error lists; by default all.
        alone: whether a complete phrase means only itself, so that ``timeout`` excludes ``max timeout``.
    """

    def field(value: str) -> Test[Subject]:
        wanted: set[Meaning] = set()
        for part in value.split(","):
            word = spaced(part)
            starts = [meant for words, meant in known.items() if word and f" {word}" in f" {words}"]
            meant = [known[word]] if alone and word in known else starts
            if not meant:
                shown = ", ".join(choices or known)
                raise ValueError(f"Unknown {name} {part.strip()!r}. Choose from: {shown}.")
            wanted.update(*meant)
        return lambda subject: not wanted.isdisjoint(of(subject))

    return field


OUTCOME_NAMES: Final = {
    **{spaced(text): (each,) for each in Outcome for text in (OUTCOME_WORDS[each], each.value)},
    "late": LATE_OUTCOMES,
}
"""The outcomes of a cancel by their names and words; ``late`` is every late answer."""


def outcome(of: Callable[[Subject], Iterable[Outcome]]) -> FieldTest[Subject]:
    """Returns the field of the outcomes of a cancel."""
    return one_of("outcome", OUTCOME_NAMES, of, choices=[*(each.value for each in Outcome), "late"])


def cause(of: Callable[[Subject], Cause | None]) -> FieldTest[Subject]:
    """Returns the field of the cause of a cancel."""
    known = {spaced(text): (each,) for each in Cause for text in (CAUSES[each], each.value)}
    return one_of("cause", known, lambda subject: (of(subject),), choices=[each.value for each in Cause])


# -- the table -------------------------------------------------------------------------------------------------

Shown = Request | ServerRequest
"""The subject of a row: a request from the client or from the server."""

Payload = Callable[[str, Shown], Iterable[str]]
"""A function that returns the texts of a row's messages.

The first argument is the kind of text: ``args``, ``result``, or ``text`` (the strings in the result).
"""

Filter = Terms[Shown]
"""A filter of the table."""


MESSAGE_FIELDS: Final = ("violation", "source", "level", "logger")
"""The fields of events that belong to no request, see :func:`mcp_tui.view.list_filters.log`."""


def _id(row: Shown) -> RequestId:
    return row.request_id if isinstance(row, ServerRequest) else row.id


def request_fields(
    *,
    server: Callable[[], str] = str,
    server_of: Callable[[RequestId], str] | None = None,
    now: Callable[[], float] = lambda: FOREVER,
    payload: Payload = lambda _kind, _row: (),
) -> dict[str, FieldTest[Shown]]:
    """Returns the fields of requests.

    ``state:`` takes ``open``, ``done``, or the start of any word of a state or a badge. ``outcome:`` and ``cause:`` are
    those of a cancel. ``took:>0.5`` compares seconds, ``size:>1mb`` the bytes of the answer. ``id:`` is the whole id;
    ``name:`` (or ``tool:``), ``method:``, ``reason:``, and ``server:`` take a part. ``args:``, ``result:``, and ``text:``
    search whole messages.

    Args:
        server: returns the name of the server.
        server_of: returns the name of the server of one request, if there are several servers.
        now: returns the time, in monotonic seconds.
        payload: returns the texts of whole messages.
    """
    return {
        "state": one_of(
            "state", _STATE_WORDS, lambda row: state_words(row, now()), choices=_STATE_NAMES, alone=False
        ),
        "name": part(_name),
        "tool": part(_name),
        "method": part(lambda row: row.method),
        "id": lambda value: lambda row: value in map(str.casefold, _ids(row)),
        "reason": part(lambda row: row.outcome if isinstance(row, ServerRequest) else row.reason),
        "outcome": outcome(lambda row: _outcomes(row, now())),
        "cause": cause(lambda row: None if isinstance(row, ServerRequest) else row.cause),
        "server": part(lambda row: server() if server_of is None else server_of(_id(row))),
        "took": amount("took", ">0.5", lambda row: _took(row, now())),
        "size": amount("size", ">1mb", _size),
        **{kind: part_of_any(partial(payload, kind)) for kind in ("text", "result", "args")},
    }


def parse(
    text: str,
    *,
    server: Callable[[], str] = str,
    server_of: Callable[[RequestId], str] | None = None,
    now: Callable[[], float] = lambda: FOREVER,
    payload: Payload = lambda _kind, _row: (),
    broken: Callable[[Shown], Iterable[str]] | None = None,
) -> Filter:
    """Parses a filter of requests, see :func:`read` and :func:`request_fields`.

    Expressions search the method, the name, the error, and the summary; words search every text of a row.

    Args:
        text: the filter.
        server: returns the name of the server.
        server_of: returns the name of the server of one request, if there are several servers.
        now: returns the time, in monotonic seconds.
        payload: returns the texts of whole messages.
        broken: returns the rules that events about a row break. Only filters that are not being typed have this argument;
            their words and expressions also search whole messages.
    """
    fields = request_fields(server=server, server_of=server_of, now=now, payload=payload)
    if broken is None:
        elsewhere = {
            each: safe("{}: filters the Log. Press / in that pane.", each) for each in MESSAGE_FIELDS
        }
        return read(
            text, fields, texts=partial(_texts, now), searched=_searched, elsewhere=elsewhere, meant=_MEANT
        )

    def everywhere(row: Shown) -> Iterable[str]:
        return chain(_texts(now, row), *(payload(kind, row) for kind in ("text", "args", "result")))

    fields |= dict.fromkeys(MESSAGE_FIELDS, _nowhere) | {"violation": part_of_any(broken)}
    return read(text, fields, texts=everywhere, typing=False, meant=_MEANT)


_MEANT: Final[dict[str, Test[Shown]]] = {
    "repeat": lambda row: isinstance(row, Request) and row.repeat is not None
}
"""The words of a filter of requests that have a meaning of their own."""


def json_state(row: Shown) -> str:
    """Returns the state of a row for JSON; a call whose tool reported an error is ``failed``."""
    if isinstance(row, ServerRequest):
        return server_request_badge(row).word
    return "failed" if row.is_error else ended(row)


def state_words(row: Shown, now: float) -> list[str]:
    """Returns every phrase by which ``state:`` finds a row, in lower case: its state and its badges."""
    over = "open" if is_open(row) else "done"
    if isinstance(row, ServerRequest):
        return [over, server_request_badge(row).word]
    found = [over, json_state(row), *(each.word for each in badges(row, now))]
    if row.state is State.CANCEL_REQUESTED:
        found += [row.state.value, CANCEL_REQUESTED.word]
    if row.overdue_until is not None:
        found.append(OVERDUE.style)  # the word of this badge is "in flight"
    if row.round_ids:
        found.append(ROUND.word)
    return [*map(spaced, found)]


_ALL: Final = dict.fromkeys((*BADGES, ROUND, *SERVER_BADGES.values()))
_STATE_WORDS: Final = {
    spaced(each): (spaced(each),)
    for each in (
        "open",
        "done",
        *(each.word for each in _ALL),
        OVERDUE.style,
        *(each.value for each in State),
    )
}
_STATE_NAMES: Final = tuple(dict.fromkeys(["open", "done", *(each.word for each in _ALL)]))


def _outcomes(row: Shown, now: float) -> Iterable[Outcome]:
    return outcomes(row, now) if isinstance(row, Request) and cancel_of(row) is not None else ()


def _took(row: Shown, now: float) -> float | None:
    """Returns the seconds from the sending of a request to its end, or to ``now``; ``None`` if it was not sent."""
    sent = row.at if isinstance(row, ServerRequest) else row.sent_at
    return None if sent is None else row.elapsed(now)


def _size(row: Shown) -> float | None:
    """Returns the bytes of the largest answer to a request, including late answers; ``None`` without an answer."""
    if isinstance(row, ServerRequest):
        return None
    return max((row.response_size, *(each.size for each in row.late))) or None


def is_open(row: Shown) -> bool:
    """Returns whether a request is still waiting for its answer."""
    return row.ended_at is None if isinstance(row, ServerRequest) else row.open


def _name(row: Shown) -> str:
    return "" if isinstance(row, ServerRequest) else row.name


def _ids(row: Shown) -> Iterable[str]:
    return map(str, (row.request_id,) if isinstance(row, ServerRequest) else (row.id, *row.round_ids))


def _searched(row: Shown) -> Iterable[str]:
    if isinstance(row, ServerRequest):
        return row.method, row.outcome
    return row.method, row.name, row.label, row.error, row.summary


def _texts(now: Callable[[], float], row: Shown) -> Iterable[str]:
    if isinstance(row, ServerRequest):
        return row.method, str(row.request_id), row.outcome, server_request_badge(row).word
    code = "" if row.code is None else str(row.code)
    texts = (row.label, str(row.id), row.reason, code, row.error, row.summary, row.message or "", row.settled)
    return *texts, badge(row, now()).word
