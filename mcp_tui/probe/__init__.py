"""The cancellation probe: does a server stop when it is told to?

Scripted experiments on any server, over any transport and revision, each on a connection of its own; what the server did
is judged rule by rule. :func:`mcp_tui.probe.run.probe` runs it, :mod:`mcp_tui.probe.rules` is the table of rules.
"""
