"""What the definitions of tools cost the context of a model: bytes, and an estimate of tokens."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Final

from mcp_tui.protocol.messages import Json
from mcp_tui.view import durations
from mcp_tui.view.text import SafeText, pretty, safe

SENT: Final = ("name", "description", "inputSchema")
"""The members of a definition that clients give to a model."""

BYTES_PER_TOKEN: Final = 4
"""What an average token of English and JSON takes. Each model counts differently, so the result is marked (≈)."""


def cost(tool: Mapping[str, Json]) -> int:
    """Returns the bytes of what a model is given of a tool, as compact JSON in UTF-8."""
    sent = {name: tool[name] for name in SENT if name in tool}
    try:
        text = json.dumps(sent, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:  # nested too deep for json
        text = "".join(line.strip() for line in pretty(sent))
    return len(text.encode(errors="surrogatepass"))


def tokens(count: int) -> int:
    """Returns the estimated tokens of so many bytes."""
    return -(-count // BYTES_PER_TOKEN)


def costs(count: int) -> SafeText:
    """Returns the bytes and the estimated tokens in words: ``133 B, ≈ 34 tokens``."""
    return safe("{}, ≈ {:,} tokens", durations.size(count), tokens(count))


def total(tools: Collection[Mapping[str, Json]]) -> SafeText:
    """Returns what a list of tools costs: ``3.8 kB, ≈ 953 tokens of a model's context``."""
    return safe("{} of a model's context", costs(sum(map(cost, tools))))
