"""The codes of JSON-RPC errors, and those that MCP adds."""

from __future__ import annotations

from typing import Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

RESOURCE_NOT_FOUND: Final = -32002
"""Until 2025-11-25."""

URL_REQUIRED: Final = -32042
"""Of 2025-11-25: a URL must be opened before the request."""

HEADER_MISMATCH: Final = -32020
"""From 2026-07-28 on, like the next two."""

MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022

REQUEST_CANCELLED: Final = -32800
"""No code of MCP: what servers in the field answer a cancel with."""
