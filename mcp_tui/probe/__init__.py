"""The cancellation probe, which checks whether a server stops a cancelled call.

The probe runs scripted experiments on any server, over any transport and revision. Each experiment has a separate
connection, and each rule gets a verdict. :class:`mcp_tui.probe.run.Probe` runs the probe, and
:mod:`mcp_tui.probe.rules` has the table of rules.
"""
