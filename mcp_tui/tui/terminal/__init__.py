"""The terminal: what is written to it, what it answers, and how it is left."""
