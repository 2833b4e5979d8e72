"""The workbench: a Textual app, its screens and widgets, their data sources, and its terminal."""
