"""The room that definitions of tools take in the context of a model: bytes, and an estimate of tokens."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Final

from mcp_tui.protocol.messages import Json
from mcp_tui.view import durations
from mcp_tui.view.text import SafeText, pretty, safe

SENT: Final = ("name", "description", "inputSchema")
"""The members of a definition that clients send to a model."""

BYTES_PER_TOKEN: Final = 4
"""The average bytes of a token of English or JSON. Each model counts differently, so the result is marked (≈)."""


def cost(tool: Mapping[str, Json]) -> int:
    """Returns the bytes of a tool's definition as sent to a model: compact JSON in UTF-8."""
    sent = {name: tool[name] for name in SENT if name in tool}
    try:
        text = json.dumps(sent, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:  # nested too deep for json
        text = "".join(line.strip() for line in pretty(sent))
    return len(text.encode(errors="surrogatepass"))


def tokens(count: int) -> int:
    """Returns the estimated number of tokens in ``count`` bytes."""
    return -(-count // BYTES_PER_TOKEN)


def costs(count: int) -> SafeText:
    """Returns the bytes and the estimated tokens in words: ``133 B, ≈ 34 tokens``."""
    return safe("{}, ≈ {:,} tokens", durations.size(count), tokens(count))


def total(tools: Collection[Mapping[str, Json]]) -> SafeText:
    """Returns the cost of a list of tools: ``3.8 kB, ≈ 953 tokens of a model's context``."""
    return safe("{} of a model's context", costs(sum(map(cost, tools))))
