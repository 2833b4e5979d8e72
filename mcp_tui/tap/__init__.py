"""The tap: between a foreign client and a server, and the live sessions of a machine.

The relay moves bytes and imports next to nothing; the recorder is a process of its own, which may fall
behind, crash, or stop without any effect on the traffic.
"""
