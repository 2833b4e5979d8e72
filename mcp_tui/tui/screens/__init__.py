"""The screens: the workbench, the dialogs over it, and the picker of a server."""
