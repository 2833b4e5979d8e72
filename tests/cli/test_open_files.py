"""The limit of open files: raised by the command line alone, never by the library."""

from __future__ import annotations

import resource

import pytest

from mcp_tui import cli


def test_more_files_may_be_open(monkeypatch: pytest.MonkeyPatch):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = min(256, soft)
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, hard))
    try:
        monkeypatch.setattr(cli, "FILES", few + 1)
        cli.allow_files()
        now = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert now == (few + 1 if hard == resource.RLIM_INFINITY or hard > few else few, hard)
        monkeypatch.setattr(cli, "FILES", few - 1)
        cli.allow_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == now, "never lowered"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
