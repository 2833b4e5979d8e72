"""URI templates (RFC 6570, all four levels), expanded in linear time and without regular expressions.

Templates come from a server: what is no template is refused with one sentence, and its length is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

MAX_TEMPLATE: Final = 10_000
"""Characters of a template."""

MAX_PREFIX: Final = 9_999
"""The largest ``:n`` (section 2.4.1)."""

_RESERVED: Final = ":/?#[]@!$&'()*+,;="
_VARCHAR: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.%")
_HEX: Final = frozenset("0123456789abcdefABCDEF")

Value = str | Sequence[str] | Mapping[str, str]
"""A text, a list, or an associative array. An empty list or array is as good as undefined (section 2.3)."""


class TemplateError(ValueError):
    """It is no URI template. The text is one sentence."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of an expression: ``{name}``, ``{name:3}``, ``{name*}``."""

    name: str
    prefix: int | None = None
    explode: bool = False


@dataclass(frozen=True, slots=True)
class Expression:
    """What stands between braces. ``operator`` is one of ``+#./;?&``, or empty."""

    operator: str
    variables: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class _Way:
    """How an operator expands (RFC 6570, appendix A)."""

    first: str
    between: str
    named: bool
    if_empty: str
    reserved: bool


_WAYS: Final = {
    "": _Way("", ",", named=False, if_empty="", reserved=False),
    "+": _Way("", ",", named=False, if_empty="", reserved=True),
    "#": _Way("#", ",", named=False, if_empty="", reserved=True),
    ".": _Way(".", ".", named=False, if_empty="", reserved=False),
    "/": _Way("/", "/", named=False, if_empty="", reserved=False),
    ";": _Way(";", ";", named=True, if_empty="", reserved=False),
    "?": _Way("?", "&", named=True, if_empty="=", reserved=False),
    "&": _Way("&", "&", named=True, if_empty="=", reserved=False),
}


def parse(template: str) -> list[str | Expression]:
    """The literals and expressions of a template, in order.

    Raises:
        TemplateError: a brace without its other, a name that is none, an operator that is reserved.
    """
    if len(template) > MAX_TEMPLATE:
        raise TemplateError(f"the template has more than {MAX_TEMPLATE:,} characters")
    parts: list[str | Expression] = []
    at = 0
    while at < len(template):
        opened, closed = template.find("{", at), template.find("}", at)
        if closed != -1 and (opened == -1 or closed < opened):
            raise TemplateError(f"unmatched closing brace at {closed + 1}")
        if opened == -1:
            parts.append(template[at:])
            break
        if closed == -1:
            raise TemplateError(f"unclosed brace at {opened + 1}")
        if opened > at:
            parts.append(template[at:opened])
        parts.append(_expression(template[opened + 1 : closed]))
        at = closed + 1
    return parts


def _expression(text: str) -> Expression:
    operator = text[:1] if text[:1] and text[:1] in "+#./;?&=,!@|" else ""
    if operator not in _WAYS:
        raise TemplateError(f"the operator {operator} is reserved")
    return Expression(operator, tuple(_variable(each) for each in text[len(operator) :].split(",")))


def _variable(text: str) -> Variable:
    name, colon, length = text.partition(":")
    explode = not colon and name.endswith("*")
    name = name.removesuffix("*") if explode else name
    if not name or not _is_name(name):
        raise TemplateError(f"{text[:40]!r} is not a variable name")
    if not colon:
        return Variable(name, explode=explode)
    if not (length.isascii() and length.isdigit() and len(length) <= 4 and 0 < int(length) <= MAX_PREFIX):
        raise TemplateError(f"{text[:40]!r} has no length from 1 to {MAX_PREFIX:,}")
    return Variable(name, prefix=int(length))


def _is_name(name: str) -> bool:
    """Section 2.3: dots part characters, a per cent sign begins an octet."""
    if any(not each or not all(character in _VARCHAR for character in each) for each in name.split(".")):
        return False
    octets = name.split("%")[1:]
    return all(len(each) >= 2 and set(each[:2]) <= _HEX for each in octets)


def expand(template: str, values: Mapping[str, Value]) -> str:
    """The URI that a template stands for with these values; a variable that is not among them is undefined.

    Raises:
        TemplateError: as :func:`parse`; also a prefix of what is no text.
    """
    return "".join(
        _expanded(part, values) if isinstance(part, Expression) else _quoted(part, reserved=True)
        for part in parse(template)
    )


def _expanded(expression: Expression, values: Mapping[str, Value]) -> str:
    way = _WAYS[expression.operator]
    pieces: list[str] = []
    for variable in expression.variables:
        value = values.get(variable.name)
        if value is None or (not isinstance(value, str) and not value):
            continue
        pieces.extend(_pieces(variable, value, way))
    return way.first + way.between.join(pieces) if pieces else ""


def _pieces(variable: Variable, value: Value, way: _Way) -> Iterable[str]:
    if isinstance(value, str):
        text = _quoted(value if variable.prefix is None else value[: variable.prefix], reserved=way.reserved)
        yield _named(variable.name, text, way) if way.named else text
        return
    if variable.prefix is not None:
        raise TemplateError(f"{variable.name} is not a string and has no prefix")
    if isinstance(value, Mapping):
        pairs = [
            (_quoted(name, reserved=way.reserved), _quoted(each, reserved=way.reserved))
            for name, each in value.items()
        ]
        if variable.explode:
            for name, each in pairs:
                yield _named(name, each, way) if way.named else f"{name}={each}"
            return
        joined = ",".join(f"{name},{each}" for name, each in pairs)
    else:
        items = [_quoted(each, reserved=way.reserved) for each in value]
        if variable.explode:
            for each in items:
                yield _named(variable.name, each, way) if way.named else each
            return
        joined = ",".join(items)
    yield _named(variable.name, joined, way) if way.named else joined


def _named(name: str, text: str, way: _Way) -> str:
    return f"{name}={text}" if text else f"{name}{way.if_empty}"


def _quoted(text: str, *, reserved: bool) -> str:
    """``text`` with everything encoded that may not stand there; where ``reserved``, octets that are encoded stay so."""
    if not reserved:
        return quote(text, safe="~", errors="replace")
    made: list[str] = []
    for number, part in enumerate(text.split("%")):
        if number and len(part) >= 2 and set(part[:2]) <= _HEX:
            made.append("%")
        elif number:
            made.append("%25")
        made.append(quote(part, safe=_RESERVED + "~", errors="replace"))
    return "".join(made)
