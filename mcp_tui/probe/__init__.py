"""The cancellation probe, which finds out whether a server stops when told to.

Scripted experiments on any server, over any transport and revision, each on a connection of its own; each rule gets a
verdict. :class:`mcp_tui.probe.run.Probe` runs it, :mod:`mcp_tui.probe.rules` is the table of rules.
"""
