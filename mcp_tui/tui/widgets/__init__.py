"""Textual widgets, drawn line by line. They take text as ``SafeText`` and know nothing of the connection."""
