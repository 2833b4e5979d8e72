"""URI templates (RFC 6570, level 4, without associative arrays, which no form makes), expanded in linear time.

Templates come from a server: an invalid one is rejected with one sentence, and the length is limited.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from mcp_tui.protocol.patterns import late
from mcp_tui.protocol.values import frozen

TEMPLATE_CHARACTERS: Final = 10_000
"""The maximum number of characters of a template."""

_RESERVED_CHARACTERS: Final = ":/?#[]@!$&'()*+,;="
_TEMPLATE_PART: Final = late(r"[^{}]+|\{([+#./;?&]?)([^{}]*)\}|[{}]")
_VARIABLE_CHARACTERS: Final = "(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+"
_TEMPLATE_VARIABLE: Final = late(
    rf"({_VARIABLE_CHARACTERS}(?:\.{_VARIABLE_CHARACTERS})*)(?::([1-9][0-9]{{0,3}})|(\*))?"
)

Value = str | list[str]
"""The value of a variable: a text or a list. An empty list counts as undefined (section 2.3)."""


class TemplateError(ValueError):
    """An invalid URI template. The text is one sentence."""


@frozen
class Variable:
    """One variable of an expression: ``{name}``, ``{name:3}``, ``{name*}``."""

    name: str
    prefix: int | None = None
    explode: bool = False


@frozen
class Expression:
    """The variables between two braces. ``operator`` is one of ``+#./;?&``, or empty."""

    operator: str
    variables: tuple[Variable, ...]


def parse(template: str) -> list[str | Expression]:
    """Returns the literals and expressions of a template, in order.

    Raises:
        TemplateError: an unmatched brace, an invalid variable, or a reserved operator.
    """
    if len(template) > TEMPLATE_CHARACTERS:
        raise TemplateError(f"the template has more than {TEMPLATE_CHARACTERS:,} characters")
    parts: list[str | Expression] = []
    for found in _TEMPLATE_PART.finditer(template):
        operator, names = found[1], found[2]
        if names is not None:
            parts.append(Expression(operator, tuple(map(_variable, names.split(",")))))
        elif found[0] in ("{", "}"):
            raise TemplateError(f"unmatched brace at {found.start() + 1}")
        else:
            parts.append(found[0])
    return parts


def _variable(text: str) -> Variable:
    found = _TEMPLATE_VARIABLE.fullmatch(text)
    if found is None:
        raise TemplateError(f"{text[:40]!r} is not a variable of a URI template")
    return Variable(found[1], int(found[2]) if found[2] else None, bool(found[3]))


def expand(template: str, values: Mapping[str, Value]) -> str:
    """Returns the URI of a template with values; a variable without a value is undefined.

    Raises:
        TemplateError: as :func:`parse`.
    """
    return "".join(
        _expanded(part, values) if isinstance(part, Expression) else _quoted(part, reserved=True)
        for part in parse(template)
    )


def _expanded(expression: Expression, values: Mapping[str, Value]) -> str:
    """Returns an expression expanded by RFC 6570, appendix A. A prefix does not affect a list."""
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
    """Returns ``text`` percent-encoded; ``reserved`` keeps reserved characters and encoded octets."""
    if not reserved:
        return quote(text, safe="~", errors="replace")
    whole = re.sub("%(?![0-9A-Fa-f]{2})", "%25", text)
    return quote(whole, safe=_RESERVED_CHARACTERS + "~%", errors="replace")
