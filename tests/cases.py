"""Many cases of a function without fixtures as one test: a test of its own costs a hundred times what such a case does."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any


def cases(
    names: str | Sequence[str], values: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call a test with each of the values, as ``pytest.mark.parametrize`` would. The first case that fails is named."""
    taken = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    rows = [dict(zip(taken, value if len(taken) > 1 else (value,), strict=True)) for value in values]

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(*args: Any, **given: Any) -> None:
            for row in rows:
                try:
                    test(*args, **given, **row)
                except Exception as error:
                    error.add_note(f"This is the case {row!r}.")
                    raise

        signature = inspect.signature(test)
        rest = [each for name, each in signature.parameters.items() if name not in taken]
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return run

    return decorated
