"""A URL that a server wants opened, taken apart: whole, its host in sight, and what is odd about it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from mcp_tui.tui.view.text import SafeText, clean, words


@dataclass(frozen=True, slots=True)
class Link:
    """``before``, ``host`` and ``after`` are the whole of it; ``warnings`` are sentences; ``opens`` permits opening."""

    before: SafeText
    host: SafeText
    after: SafeText
    warnings: tuple[SafeText, ...]
    opens: bool


def link(url: str) -> Link:
    """``url``, taken apart. Only ``http`` and ``https`` open, and nothing opens that cannot be read."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port  # which may be none
    except ValueError:
        return Link(
            clean(url), words(""), words(""), (words("This is no URL that can be read."),), opens=False
        )
    warnings: list[SafeText] = []
    opens = parts.scheme in ("http", "https") and bool(host)
    if not opens:
        warnings.append(words("Only http and https are opened."))
    if parts.username is not None or parts.password is not None:
        warnings.append(
            words("It carries a name or a password in front of the host: look twice where it leads.")
        )
    labels = host.split(".")
    if any(label.startswith("xn--") for label in labels) or not host.isascii():
        warnings.append(clean(f"The host is written in other letters than it seems: {_spelt(host)}"))
    if parts.scheme == "http" and host not in ("localhost", "127.0.0.1", "::1"):
        warnings.append(words("It is not encrypted (http)."))
    if any(not each.isprintable() or each.isspace() for each in url):
        warnings.append(words("It contains characters that cannot be seen."))
        opens = False
    if "\\" in url:
        warnings.append(words("It contains a backslash, which browsers read as another URL than this one."))
        opens = False
    user, at, place = parts.netloc.rpartition("@")
    start = url.find("//") + 2 + len(user) + len(at)
    if not place or url[start : start + len(place)] != place:
        return Link(clean(url), words(""), words(""), tuple(warnings), opens=opens)
    end = start + len(place)
    return Link(clean(url[:start]), clean(url[start:end]), clean(url[end:]), tuple(warnings), opens=opens)


def _spelt(host: str) -> str:
    """A host in ASCII where it has other letters, and in its letters where it is ASCII."""
    try:
        return host.encode().decode("idna") if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return host
