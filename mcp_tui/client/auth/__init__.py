"""Authorization for servers behind a URL: OAuth 2.1 as MCP prescribes it, safe against the servers themselves.

``discovery`` finds out who issues tokens for a server, ``token_endpoint`` speaks with that one and makes and reads JWTs,
``sign_in`` has a person sign in, ``authorization`` decides which of it is needed, and ``credential_store`` keeps what came
of it. Each check that a specification asks for is one function, with its clause in its docstring.
"""

from __future__ import annotations
