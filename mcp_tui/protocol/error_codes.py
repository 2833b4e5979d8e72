"""The codes of JSON-RPC errors, and the codes that MCP adds."""

from __future__ import annotations

from typing import Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

RESOURCE_NOT_FOUND: Final = -32002
"""Revisions up to 2025-11-25."""

URL_REQUIRED: Final = -32042
"""2025-11-25: the person must open a URL before the request can succeed."""

HEADER_MISMATCH: Final = -32020
"""2026-07-28, as the next two."""

MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022

REQUEST_CANCELLED: Final = -32800
"""Not a code of MCP: many servers answer a cancelled request with it."""
