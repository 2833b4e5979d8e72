"""Live sessions: how a running session is found from another process, seen, and acted on."""
