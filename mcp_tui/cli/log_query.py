"""Which cancellations are wanted, from the options of ``log``."""

from __future__ import annotations

from typing import Final

from mcp_tui.cli.grammar import Usage, Words
from mcp_tui.journal import wishes
from mcp_tui.journal.folder import Journal
from mcp_tui.journal.queries import Query

SHOWN: Final = 1000
"""Cancellations that are shown as text where nobody said how many."""


def query(given: Words, where: Journal | None) -> Query:
    """What is asked of the index, about one session or about all.

    Raises:
        Usage: an option says nothing that there is.
    """
    options = given.options
    limit = options.limit
    if limit is not None and limit < 0:
        text = f"mcp-tui: --limit {limit}: a number from 0 up is wanted"
        raise Usage(text)
    if limit is None and not (options.json or options.csv):
        limit = SHOWN
    given_ = {name: getattr(options, name) for name in wishes.NAMES}
    wished = {name: text for name, text in given_.items() if text is not None}
    try:
        session = None if where is None else where.name
        return wishes.query(wished, session=session, limit=limit or None, mark="--")
    except ValueError as error:
        text = f"mcp-tui: {error}"
        raise Usage(text) from None
