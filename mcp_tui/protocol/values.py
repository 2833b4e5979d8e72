"""Values that nobody changes: dataclasses without the work of frozen ones.

A program's start makes about a hundred such classes. A frozen one takes 0.9 ms for that, one of these 0.13; and an object of
it is made in half the time. That nobody changes one is for the type checker to see.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

Class = TypeVar("Class")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def fact(cls: type[Class]) -> type[Class]:
    """A value whose fields are given by name."""
    return dataclass(slots=True, kw_only=True, eq=False, repr=False)(_comparable(cls))


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[Class]) -> type[Class]:
    """A value whose fields may be given by their places."""
    return dataclass(slots=True, eq=False, repr=False)(_comparable(cls))


def _comparable(cls: type[Class]) -> type[Class]:
    """Give a class what a dataclass would compile for it, in one way for all."""
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
