"""The sans-I/O core: frames, revisions, events, requests and the ledger.

Nothing here opens a socket, starts a process or reads a clock. Times are monotonic seconds that the
caller passes in; bytes come from a transport and go back to it as effects.
"""
