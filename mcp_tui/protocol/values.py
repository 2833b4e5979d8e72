"""Immutable value classes that cost less than frozen dataclasses.

A program makes about a hundred such classes at its start, and uses few of them. A frozen dataclass takes 0.9 ms. One
of these takes 0.05 ms, because its ``__init__`` is compiled for its first object, and its objects are made in half
the time. Only the type checker ensures that an object does not change.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

Class = TypeVar("Class")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def fact(cls: type[Class]) -> type[Class]:
    """Makes a class a value class with keyword-only fields."""
    return _compiled_late(
        dataclass(slots=True, kw_only=True, init=False, eq=False, repr=False)(_comparable(cls))
    )


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[Class]) -> type[Class]:
    """Makes a class a value class with positional fields."""
    return _compiled_late(dataclass(slots=True, init=False, eq=False, repr=False)(_comparable(cls)))


def _compiled_late(cls: Any) -> Any:
    """Gives a class an ``__init__`` that replaces itself by a compiled one when the first object is made."""

    def compiled(self: object, /, *given: object, **named: object) -> None:
        scope: dict[str, Any] = {"MISSING": MISSING}
        heads, lines = ["self"], list[str]()
        for each in sorted(fields(cls), key=lambda each: each.kw_only is True):
            if each.kw_only and "*" not in heads:
                heads.append("*")
            name, value = each.name, each.name
            if each.default_factory is not MISSING:
                # A factory is called for each object, so that two objects never share a list.
                scope[f"_{name}"], value = each.default_factory, f"_{name}() if {name} is MISSING else {name}"
            elif each.default is not MISSING:
                scope[f"_{name}"] = each.default
            default = "MISSING" if value != name else f"_{name}" if f"_{name}" in scope else ""
            heads.append(f"{name}={default}" if default else name)
            lines.append(f"self.{name} = {value}")
        source = f"def __init__({', '.join(heads)}):\n " + "\n ".join(lines or ["pass"])
        exec(source, scope)  # noqa: S102 - as dataclasses do
        cls.__init__ = scope["__init__"]
        cls.__init__(self, *given, **named)

    cls.__init__ = compiled
    return cls


def _comparable(cls: type[Class]) -> type[Class]:
    """Gives a class the shared comparison methods below instead of compiled ones."""
    for name, method in (("__eq__", _equal), ("__hash__", _hash), ("__repr__", _repr)):
        if cls.__dict__.get(name) is None:
            setattr(cls, name, method)
    return cls


def _all(value: Any) -> list[Any]:
    return [getattr(value, name) for name in value.__dataclass_fields__]


def _equal(self: object, other: object) -> bool:
    if type(self) is not type(other):
        return NotImplemented
    return self is other or _all(self) == _all(other)


def _hash(self: object) -> int:
    return hash(tuple(_all(self)))


def _repr(self: Any) -> str:
    shown = (name for name, each in self.__dataclass_fields__.items() if each.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"
