"""The cookies of one connection, which are stored in memory and sent back to the origin that set them.

Load balancers use cookies to find the server that has a session.
"""

from __future__ import annotations

import urllib.request
import warnings
from collections.abc import Iterator
from email.message import Message
from http.client import HTTPResponse
from http.cookiejar import CookieJar
from typing import Final, cast

import httpx

from mcp_tui.protocol.framing import header_fault

MAX_COOKIES: Final = 50
"""The most cookies that are stored; browsers store as many for one site."""
SET_COOKIE_BYTES: Final = 4096
"""The most bytes of a ``Set-Cookie`` header that is accepted."""


class Cookies:
    """The cookies of one origin, with the rules for path, host, and ``Secure``."""

    def __init__(self) -> None:
        self._jar = CookieJar()

    def take(self, url: httpx.URL, response: httpx.Response) -> None:
        """Sets or deletes cookies as a response of the origin requests."""
        headers = Message()
        for name, value in response.headers.raw:
            text = value.decode("latin-1")
            if (
                name.lower() == b"set-cookie"
                and len(value) <= SET_COOKIE_BYTES
                and not header_fault("Cookie", text)
            ):
                headers["Set-Cookie"] = text
        if headers:
            # The jar would print warnings about unreadable cookies to the terminal.
            with warnings.catch_warnings(action="ignore"):
                request = urllib.request.Request(str(url))  # noqa: S310 - it is not opened
                self._jar.extract_cookies(cast("HTTPResponse", _Response(headers)), request)
        for each in list(self._jar)[MAX_COOKIES:]:
            self._jar.clear(each.domain, each.path, each.name)

    def header(self, url: httpx.URL) -> str:
        """Returns the ``Cookie`` header of a request to the origin; empty if there is none."""
        request = urllib.request.Request(str(url))  # noqa: S310 - it is not opened
        self._jar.add_cookie_header(request)
        return request.get_header("Cookie") or ""

    def values(self) -> Iterator[str]:
        """Yields the values of the cookies, which are secrets."""
        return (each.value for each in self._jar if each.value)


class _Response:
    """A response in the form that the cookie jar reads."""

    def __init__(self, headers: Message) -> None:
        self._headers = headers

    def info(self) -> Message:
        return self._headers
