"""The workbench: a Textual app, its screens and widgets, the sources of what they show, and its terminal."""
