"""Screens: the workbench, what opens over it, and the picker of a server."""
