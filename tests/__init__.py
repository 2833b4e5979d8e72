"""The tests, in folders that mirror the package. What several of them need is imported from here as `tests.…`."""

from __future__ import annotations
