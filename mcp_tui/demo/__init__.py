"""The demo server: every outcome that a call can have, on demand, in every revision, over stdio and HTTP.

It stands on the standard library alone and shares no code with the client, so each tests the other.
"""
