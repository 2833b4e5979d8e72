"""Opening a URL in the browser of the person."""

from __future__ import annotations

import subprocess
import sys
import webbrowser
from typing import Final

TERMINAL_BROWSERS: Final = frozenset({"www-browser", "w3m", "links", "links2", "elinks", "lynx", "browsh"})
"""Browsers that would take the terminal over, which is ours."""


def open_url(url: str) -> bool:
    """Have a browser with a window of its own open an http or https URL; false where there is none.

    The URL is one argument of a command, and no shell sees it.
    """
    if not url.startswith(("https://", "http://")):
        return False
    try:
        if sys.platform == "darwin":  # where the standard library would put it into a script
            done = subprocess.run(("open", url), check=False, stdin=subprocess.DEVNULL, capture_output=True)
            return done.returncode == 0
        browser = webbrowser.get()
        name = getattr(browser, "basename", getattr(browser, "name", ""))
        return name not in TERMINAL_BROWSERS and browser.open(url)
    except (webbrowser.Error, OSError):
        return False
