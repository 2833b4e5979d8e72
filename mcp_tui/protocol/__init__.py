"""The protocol without I/O: frames, revisions, events, requests, and the ledger.

No module here opens a socket, starts a process, or reads a clock. Callers pass times in monotonic seconds. Bytes come
from a transport and return to it as actions.
"""
