"""The terminal: its output, its answers, and its restoration."""
