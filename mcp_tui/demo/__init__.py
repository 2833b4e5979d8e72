"""The demo server: every outcome that a call can have, on demand, in every revision, over stdio and HTTP.

It shares no protocol code with the client, so each tests the other.
"""
