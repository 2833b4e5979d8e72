"""Live sessions: another process finds running sessions, lists their requests, and cancels them."""
