"""OAuth 2.1 for servers behind a URL, as MCP prescribes it, and safe against servers that lie.

``discovery`` finds out who issues tokens for a server, ``token_endpoint`` speaks with that one and makes and reads JWTs,
``sign_in`` has a person sign in, ``authorization`` decides which of it is needed, and ``credential_store`` keeps what came
of it. Each check that a specification asks for is one function, with its clause in its docstring.
"""
