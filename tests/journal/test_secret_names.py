from __future__ import annotations

from mcp_tui.journal.redaction import is_secret_name, is_strong_name
from tests.cases import cases

SECRET = """
Authorization authorization Proxy-Authorization Cookie Set-Cookie cookies token tokens accessToken access_token
ACCESS_TOKEN refreshToken id_token X-Auth-Token csrfToken authtoken GITHUB_PERSONAL_ACCESS_TOKEN secret client_secret
clientSecret AWS_SECRET_ACCESS_KEY secrets key apiKey api_key api-key APIKEY apikey X-API-Key openaiApiKey privateKey
private_key_pem keys ssh_key password Password PASSWORD passwd db_password dbPassword userpassword passphrase pwd
PGPASSWORD credential credentials googleCredentials pass
""".split()  # noqa: SIM905 - it reads better than two hundred quotation marks

OPEN = """
progressToken progresstoken cursor nextCursor requestState id keywords keyword monkey keyboard turkey hotkey hockey
primaryKey primary_key publicKey foreign_key sortKey token_type tokenType token_endpoint authorization_endpoint
authorization_servers token_endpoint_auth_methods_supported tokenizer tokenCount secretary passenger compass
bypass passed keyName name method uri data text arguments content cookie_policy authorizationServer author
""".split()  # noqa: SIM905 - it reads better than two hundred quotation marks


@cases("name", SECRET)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@cases("name", OPEN)
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)


def test_a_number_is_a_secret_only_where_it_can_be_nothing_else() -> None:
    assert is_strong_name("password")
    assert is_strong_name("DB_PASSWORD")
    assert not is_strong_name("max_tokens")
    assert not is_strong_name("key")
