"""Cases of a test that ``make test`` leaves to ``make test-more``."""

from __future__ import annotations

from typing import Any

import pytest


def slow(*values: object) -> list[Any]:
    """Values of one parameter that show, slowly, what another one shows already."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
