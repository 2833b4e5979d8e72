"""The tap: between a foreign client and a server, and the live sessions of a machine.

The relay moves bytes and imports next to nothing; the recorder is a process of its own, which may lag, die, or be stopped
without anybody noticing on the wire.
"""
