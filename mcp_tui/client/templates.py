"""URI templates (RFC 6570, level 4, associative arrays left out: no form makes one), expanded in linear time.

Templates come from a server: what is no template is refused with one sentence, and its length is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from mcp_tui.protocol.values import frozen

MAX_TEMPLATE: Final = 10_000
"""Characters of a template."""

_RESERVED: Final = ":/?#[]@!$&'()*+,;="
_PARTS: Final = re.compile(r"[^{}]+|\{([^}]*)(\}?)|\}")
_NAME: Final = re.compile(r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+(?:\.(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+)*")
_LENGTH: Final = re.compile("[1-9][0-9]{0,3}")

Value = str | list[str]
"""A text or a list. An empty list is as good as undefined (section 2.3)."""


class TemplateError(ValueError):
    """It is no URI template. The text is one sentence."""


@frozen
class Variable:
    """One variable of an expression: ``{name}``, ``{name:3}``, ``{name*}``."""

    name: str
    prefix: int | None = None
    explode: bool = False


@frozen
class Expression:
    """What stands between braces. ``operator`` is one of ``+#./;?&``, or empty."""

    operator: str
    variables: tuple[Variable, ...]


def parse(template: str) -> list[str | Expression]:
    """The literals and expressions of a template, in order.

    Raises:
        TemplateError: a brace without its other, a name that is none, an operator that is reserved.
    """
    if len(template) > MAX_TEMPLATE:
        raise TemplateError(f"the template has more than {MAX_TEMPLATE:,} characters")
    parts: list[str | Expression] = []
    for found in _PARTS.finditer(template):
        if found[0] == "}":
            raise TemplateError(f"unmatched closing brace at {found.start() + 1}")
        if found[1] is not None and not found[2]:
            raise TemplateError(f"unclosed brace at {found.start() + 1}")
        parts.append(found[0] if found[1] is None else _expression(found[1]))
    return parts


def _expression(text: str) -> Expression:
    operator = text[:1] if text.startswith(tuple("+#./;?&=,!@|")) else ""
    if operator and operator in "=,!@|":
        raise TemplateError(f"the operator {operator} is reserved")
    return Expression(operator, tuple(_variable(each) for each in text[len(operator) :].split(",")))


def _variable(text: str) -> Variable:
    name, colon, length = text.partition(":")
    explode = not colon and name.endswith("*")
    name = name.removesuffix("*") if explode else name
    if not _NAME.fullmatch(name):
        raise TemplateError(f"{text[:40]!r} is not a variable name")
    if colon and not _LENGTH.fullmatch(length):
        raise TemplateError(f"{text[:40]!r} has no length from 1 to 9,999")
    return Variable(name, int(length) if colon else None, explode)


def expand(template: str, values: Mapping[str, Value]) -> str:
    """The URI that a template stands for with these values; a variable that is not among them is undefined.

    Raises:
        TemplateError: as :func:`parse`.
    """
    return "".join(
        _expanded(part, values) if isinstance(part, Expression) else _quoted(part, reserved=True)
        for part in parse(template)
    )


def _expanded(expression: Expression, values: Mapping[str, Value]) -> str:
    """An expression as RFC 6570, appendix A, expands it. A prefix means nothing to a list."""
    operator = expression.operator
    reserved, named = operator in ("+", "#"), operator in (";", "?", "&")
    pieces: list[str] = []
    for variable in expression.variables:
        value = values.get(variable.name, [])
        listed = [value[: variable.prefix]] if isinstance(value, str) else value
        quoted = [_quoted(each, reserved=reserved) for each in listed]
        for each in quoted if variable.explode or not quoted else [",".join(quoted)]:
            equals = "=" if each or operator != ";" else ""
            pieces.append(f"{variable.name}{equals}{each}" if named else each)
    first = "" if operator == "+" else operator
    between = {"": ",", "+": ",", "#": ",", "?": "&"}.get(operator, operator)
    return first + between.join(pieces) if pieces else ""


def _quoted(text: str, *, reserved: bool) -> str:
    """``text`` with everything encoded that may not stand there; where ``reserved``, octets that are encoded stay so."""
    if not reserved:
        return quote(text, safe="~", errors="replace")
    whole = re.sub("%(?![0-9A-Fa-f]{2})", "%25", text)
    return quote(whole, safe=_RESERVED + "~%", errors="replace")
