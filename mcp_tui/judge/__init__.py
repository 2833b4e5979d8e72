"""The judge of clients: what a client does when a call is to stop, and what it leaves behind.

The client's own command runs once for each experiment, with the judge's server in its environment. That server is the demo
server, seen as a tap sees it. :class:`mcp_tui.judge.client_run.Judge` runs it; :mod:`mcp_tui.judge.client_rules` is the
table of rules.
"""
