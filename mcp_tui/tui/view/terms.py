"""Terms of a filter as they are typed: ``field:value``, words, ``"a phrase"``, ``/an expression/``, each with a ``-``
before it for what is not wanted. All that is asked for must hold.

Expressions are those of Rust: they take time that grows with the text alone, whatever is typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Generic, TypeVar

from mcp_tui.tui.view.text import SafeText, brief, clean, join, safe, words

Subject = TypeVar("Subject")

_NOTHING: Final = words("")

SEARCHED: Final = 20_000
"""Characters of one text that an expression is looked for in."""

EXPRESSION: Final = 500
"""Characters of an expression, at most."""

_TERM: Final = re.compile(
    r"""
    (?P<no>-(?=[^\s\d-]))?
    (?: (?P<field>[a-z]+):(?P<value>"[^"]*"?|\S*)
      | /(?P<expression>(?:\\.|[^/\\])+)(?:/(?=\s|$)|\\?$)
      | "(?P<quoted>[^"]+)"?
      | (?P<word>\S+)
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Terms(Generic[Subject]):
    """A filter as it was typed, and the tests that it stands for.

    ``problem`` says what of it is not valid, in a sentence; that is left out, as if it were not there yet.
    """

    text: str = ""
    tests: tuple[Callable[[Subject], bool], ...] = ()
    problem: SafeText = _NOTHING

    def __bool__(self) -> bool:
        return bool(self.tests)

    def matches(self, subject: Subject) -> bool:
        """Whether ``subject`` passes every test."""
        return all(test(subject) for test in self.tests)


def read(
    text: str,
    fields: Mapping[str, Callable[[str], Callable[[Subject], bool]]],
    *,
    said: Callable[[Subject], Iterable[str]],
    searched: Callable[[Subject], Iterable[str]],
) -> Terms[Subject]:
    """Read a filter. Whatever has no field is a word to look for; case is ignored. An unknown field is a problem.

    Args:
        text: as typed.
        fields: makes the test of a field from its value, which is never empty and in lower case.
        said: every text that a word or a phrase is looked for in.
        searched: those that an expression is looked for in.
    """
    tests: list[Callable[[Subject], bool]] = []
    problem = words("")
    for term in _TERM.finditer(text.strip()):
        field = (term["field"] or "").lower()
        value = (term["value"] or "").strip('"').casefold()
        if field in fields:
            if not value:
                continue
            test = fields[field](value)
        elif field and not value.startswith("//"):  # a URL is a text to look for
            problem = unknown_filter(field, fields)
            continue
        elif term["expression"] is not None:
            finds = expression(term["expression"])
            if isinstance(finds, str):
                problem = safe("Not a regular expression: /{}/ ({})", brief(term["expression"], 60), finds)
                continue
            test = _any(finds, searched)
        else:
            looked_for = term["quoted"] or (term["word"] if not field else term[0].removeprefix("-"))
            test = _any(_contains(looked_for.casefold()), said)
        tests.append(_not(test) if term["no"] else test)
    return Terms(text.strip(), tuple(tests), problem)


def unknown_filter(name: str, fields: Iterable[str]) -> SafeText:
    """Returns the sentence for a field that a filter does not have."""
    *most, last = fields
    choices = join([*(clean(each) for each in most), safe("or {}", clean(last))], ", ")
    return safe("Unknown filter '{}'. Use key:value, with {}.", brief(name, 60), choices)


@lru_cache(maxsize=64)
def expression(pattern: str) -> Callable[[str], bool] | SafeText:
    """What finds a regular expression in a text, whatever the case; or why it is none."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    if len(pattern) > EXPRESSION:
        return words("it is too long")
    pattern = pattern.replace("\\/", "/")
    try:
        found = SchemaValidator(
            core_schema.str_schema(pattern=f"(?i){pattern}", regex_engine="rust-regex", strict=True)
        )
    except SchemaError as error:
        *_, reason = str(error).strip().split("error: ")
        return brief(reason.splitlines()[0].strip().removesuffix("."), 120)
    return lambda text: found.isinstance_python(_whole(text[:SEARCHED]))


def _whole(text: str) -> str:
    """``text`` without lone surrogates, which no expression takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _contains(value: str) -> Callable[[str], bool]:
    return lambda text: value in text.casefold()


def _any(
    finds: Callable[[str], bool], texts: Callable[[Subject], Iterable[str]]
) -> Callable[[Subject], bool]:
    return lambda subject: any(finds(text) for text in texts(subject))


def _not(test: Callable[[Subject], bool]) -> Callable[[Subject], bool]:
    return lambda subject: not test(subject)
