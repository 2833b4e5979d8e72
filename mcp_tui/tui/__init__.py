"""The workbench: a Textual app, its screens and widgets, and ``view``, the pure functions that word what they show."""
