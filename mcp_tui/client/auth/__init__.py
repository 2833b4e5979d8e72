"""OAuth 2.1 for servers behind a URL, as MCP prescribes it, and safe against servers that lie.

``discovery`` finds the issuer of tokens for a server, ``token_endpoint`` sends requests to it and makes and reads
JWTs, ``sign_in`` lets a person sign in, ``authorization`` decides which of these is needed, and ``credential_store``
stores the results. Each check of a specification is one function that names the clause in its docstring.
"""
