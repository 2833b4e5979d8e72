from __future__ import annotations

import pytest

from mcp_tui.journal.masks import known_secrets, mask_command, mask_headers, mask_url

M = "‹redacted›"


def test_headers_keep_their_names_and_schemes() -> None:
    assert mask_headers(
        {
            "Authorization": "Bearer abc",
            "X-API-Key": "k",
            "Accept": "text/html",
            "Cookie": "a=b; c=d",
            "authorization": "raw",
        }
    ) == {
        "Authorization": f"Bearer {M}",
        "X-API-Key": M,
        "Accept": "text/html",
        "Cookie": M,
        "authorization": M,
    }


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("https://host:8080/mcp", "https://host:8080/mcp"),
        ("https://u:p@host/mcp", f"https://u:{M}@host/mcp"),
        ("https://tok@host/mcp", f"https://{M}@host/mcp"),
        ("https://host/mcp?token=a&mode=sse", f"https://host/mcp?token={M}&mode=sse"),
        ("https://host/mcp?code=a&x=", f"https://host/mcp?code={M}&x="),
        ("https://host/mcp?k=0123456789abcdefghij", f"https://host/mcp?k={M}"),
        ("https://host/s/OTk4abcdefghijklmnop123/mcp", f"https://host/s/{M}/mcp"),
        ("https://host/a-long-path-with-words-only", "https://host/a-long-path-with-words-only"),
        ("https://host/#access_token=abc", f"https://host/#access_token={M}"),
        ("no url", "no url"),
    ],
)
def test_urls(url: str, masked: str) -> None:
    assert mask_url(url) == masked


def test_command_lines() -> None:
    argv = [
        "npx", "-y", "@scope/server", "--api-key", "abc", "--token=x", "API_TOKEN=y", "--verbose", "--password",
        "--next", "-e", "GITHUB_TOKEN=z", "-H", "Authorization: Bearer zz", "--header=X-API-Key: k", "--key-file",
        "https://u:p@h/mcp?token=1", "db=postgres://a:b@c/d", '{"token": "x", "y": 1}', "plain",
    ]  # fmt: skip
    assert mask_command(argv) == [
        "npx", "-y", "@scope/server", "--api-key", M, f"--token={M}", f"API_TOKEN={M}", "--verbose", "--password",
        "--next", "-e", f"GITHUB_TOKEN={M}", "-H", f"Authorization: Bearer {M}", f"--header=X-API-Key: {M}", "--key-file",
        M, f"db=postgres://a:{M}@c/d", f'{{"token": "{M}", "y": 1}}', "plain",
    ]  # fmt: skip


def test_known_secrets_are_gathered_from_everything_that_was_given() -> None:
    found = known_secrets(
        env={"GITHUB_TOKEN": "ghp", "DATABASE_URL": "postgres://a:dbpw@c/d", "DEBUG": "1", "EMPTY_TOKEN": ""},
        headers={"Authorization": "Basic dXNlcjpwYXNz", "X-Foo": "bar", "Cookie": "sid=123; t=9"},
        url="https://u:urlpw@h/mcp?key=kk#code=9x",
        command=["run", "--api-key", "abc", "--mode", "fast", "SECRET=ss"],
    )
    assert found == {
        "ghp", "dbpw", "dXNlcjpwYXNz", "pass", "sid=123; t=9", "123", "9", "urlpw", "kk", "9x", "abc", "ss",
    }  # fmt: skip
    assert known_secrets() == set()


@pytest.mark.parametrize("value", ["Basic !!!", "Basic ", "Basic /w==", "Bearer x:y", "Digest a=b"])
def test_an_odd_authorization_is_survived(value: str) -> None:
    known_secrets(headers={"Authorization": value})
    assert mask_headers({"Authorization": value})["Authorization"].endswith(M)


def test_what_is_masked_is_what_is_known() -> None:
    command = ["--api-key", "canary1", "X_TOKEN=canary2", "http://a:canary3@b", "-H", "Cookie: canary4"]
    assert known_secrets(command=command) == {f"canary{n}" for n in (1, 2, 3, 4)}
    assert "canary" not in " ".join(mask_command(command))
