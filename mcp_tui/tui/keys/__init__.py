"""Every key, as data: what names it, where it works, what it does. Textual is not needed for it."""
