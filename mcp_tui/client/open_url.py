"""Opens a URL in the person's browser."""

from __future__ import annotations

import sys
import webbrowser
from typing import Final

TERMINAL_BROWSERS: Final = frozenset({"www-browser", "w3m", "links", "links2", "elinks", "lynx", "browsh"})
"""The browsers that would take over the terminal."""


def open_url(url: str) -> bool:
    """Opens an http or https URL in a browser with its own window; returns false if there is none.

    The URL is one argument of a command, so no shell sees it.
    """
    if not url.startswith(("https://", "http://")):
        return False
    try:
        browser = webbrowser.get()
        if sys.platform == "darwin" and isinstance(browser, webbrowser.MacOSXOSAScript):
            browser = webbrowser.BackgroundBrowser("open")  # the default would put the URL into a script
        name = getattr(browser, "basename", getattr(browser, "name", ""))
        return name not in TERMINAL_BROWSERS and browser.open(url)
    except (webbrowser.Error, OSError):
        return False
