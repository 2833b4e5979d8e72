"""The client under the official conformance suite: one short dialogue for each scenario, on the public API alone.

The suite starts it with the server's URL as the last argument. It names the scenario in `MCP_CONFORMANCE_SCENARIO`, the
revision in `MCP_CONFORMANCE_PROTOCOL_VERSION`, and what a scenario needs beyond that, as JSON, in
`MCP_CONFORMANCE_CONTEXT`. Exit status 0 means that the dialogue went as it had to; on stdout stands every message that
was sent, one a line.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable

import httpx

from mcp_tui.client import Answer, Client, ClientSettings, HttpTarget, Inquiry, Offers
from mcp_tui.client.auth.authorization import Authorization
from mcp_tui.client.auth.sign_in import AuthorizationRequest
from mcp_tui.client.auth.token_endpoint import (
    AUTHORIZATION_CODE,
    CLIENT_CREDENTIALS,
    JWT_BEARER,
    ClientRegistration,
)
from mcp_tui.protocol.messages import Json, as_object

LISTENS_WITHIN = 10.0  # seconds; only to tell a hang from a slow machine


class Unexpected(Exception):
    """The server did not do what the scenario says it does."""


async def asked(client: Client, method: str, params: Json = None) -> dict[str, Json]:
    """The result of a request.

    Raises:
        Unexpected: there was none.
    """
    frame = await client.request(method, params)
    if frame is None or frame.error is not None:
        raise Unexpected(f"{method}: {frame and frame.error}")
    return as_object(frame.result)


async def called(client: Client, tool: str, arguments: dict[str, Json] | None = None) -> dict[str, Json]:
    return await asked(client, "tools/call", {"name": tool, "arguments": arguments or {}})


async def respond(inquiry: Inquiry) -> Answer:
    """Accept what is asked, with the default of each field; yes where it has none."""
    properties = as_object(as_object(inquiry.params.get("requestedSchema")).get("properties"))
    content = {name: as_object(field).get("default", True) for name, field in properties.items()}
    return {"action": "accept", "content": content}


async def lists(client: Client) -> None:
    await client.every("tools")


async def hears_the_server(client: Client) -> None:
    """Wait for the server's own stream: a question may come on it, and one mock takes any later GET for a reconnection."""
    async with asyncio.timeout(LISTENS_WITHIN):
        while not any("notification stream" in getattr(event, "text", "") for event in client.store.log):
            await asyncio.sleep(0.01)


def calls(
    tool: str, arguments: dict[str, Json] | None = None, *, hears: bool = False
) -> Callable[[Client], Awaitable[None]]:
    """The dialogue that lists the tools and calls one; with ``hears`` behind the server's own stream."""

    async def dialogue(client: Client) -> None:
        if hears:
            await hears_the_server(client)
        await client.every("tools")
        await called(client, tool, arguments)

    return dialogue


async def uses_everything(client: Client) -> None:
    for tool in await client.every("tools"):
        await called(client, str(tool["name"]))
    for resource in await client.every("resources"):
        await asked(client, "resources/read", {"uri": resource["uri"]})
    for prompt in await client.every("prompts"):
        await asked(client, "prompts/get", {"name": prompt["name"]})


async def calls_as_told(client: Client) -> None:
    await client.every("tools")
    context = json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])
    for call in context["toolCalls"]:
        await called(client, call["name"], call["arguments"])


async def calls_what_is_left(client: Client) -> None:
    for tool in await client.every("tools"):
        properties = as_object(as_object(tool["inputSchema"]).get("properties"))
        await called(client, str(tool["name"]), dict.fromkeys(properties, "some"))


async def echoes_state(client: Client) -> None:
    await client.every("tools")
    # at the same time, so that what belongs to one could get into another
    await asyncio.gather(
        *(called(client, f"test_mrtr_{tool}") for tool in ("echo_state", "unrelated", "no_state"))
    )
    await called(client, "test_mrtr_no_result_type")


class ScriptedPerson:
    """Signs in at once: the mock redirects whoever opens its URL."""

    async def agrees(self, why: str) -> bool:
        return True

    async def visit(self, request: AuthorizationRequest) -> str:
        async with httpx.AsyncClient() as browser:
            return (await browser.get(request.url)).headers["location"]


def authorization(url: str, scenario: str) -> Authorization | None:
    """Who gets tokens in a scenario, with what the scenario says was handed out before."""
    if not scenario.startswith("auth/"):
        return None
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    registration = None
    assertion = context.get("valid_jwt") or context.get("idp_id_token")
    if assertion:
        os.environ["ASSERTION"] = assertion
    if "client_id" in context:
        registration = ClientRegistration(
            client_id=context["client_id"],
            grant=JWT_BEARER
            if assertion
            else CLIENT_CREDENTIALS
            if "client-credentials" in scenario
            else AUTHORIZATION_CODE,
            client_secret=context.get("client_secret", ""),
            private_key=context.get("private_key_pem", ""),
            algorithm=context.get("signing_algorithm", "ES256"),
            issuer=context.get("issuer", ""),
            assertion="env:ASSERTION" if assertion else "",
            idp_issuer=context.get("idp_issuer", ""),
            idp_client_id=context.get("idp_client_id", ""),
        )
    tokens = Authorization(
        url,
        browser=ScriptedPerson(),
        registration=registration,
        client_url="https://conformance-test.local/client-metadata.json"
        if scenario == "auth/basic-cimd"
        else "",
    )
    tokens.listeners.append(lambda text: print(text, file=sys.stderr))
    return tokens


async def sends_a_schema_back(client: Client) -> None:
    tools = {str(tool["name"]): tool for tool in await client.every("tools")}
    await called(client, "json_schema_echo", {"schema": tools["json_schema_2020_12_tool"]["inputSchema"]})


SCENARIOS: dict[str, Callable[[Client], Awaitable[None]]] = {
    "initialize": lists,
    "tools_call": calls("add_numbers", {"a": 5, "b": 3}),
    "elicitation-sep1034-client-defaults": calls("test_client_elicitation_defaults", hears=True),
    "sse-retry": calls("test_reconnection", hears=True),
    "request-metadata": calls("anything"),
    "sep-2322-client-request-state": echoes_state,
    "http-standard-headers": uses_everything,
    "http-custom-headers": calls_as_told,
    "http-invalid-tool-headers": calls_what_is_left,
    "json-schema-ref-no-deref": lists,
    "json-schema-2020-12-preservation": sends_a_schema_back,
}


async def main() -> None:
    url = sys.argv[-1]
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    dialogue = SCENARIOS.get(scenario) or (calls("test-tool") if scenario.startswith("auth/") else None)
    if dialogue is None:
        sys.exit(f"no dialogue for the scenario {scenario!r}: README.md says what is left out")
    settings = ClientSettings(
        protocol=os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "auto"),
        offers=Offers(elicitation=frozenset({"form"}), sampling=True, roots=True),
    )
    client = Client(HttpTarget(url=url), settings, respond=respond, tokens=authorization(url, scenario))
    try:
        await client.connect()
        await dialogue(client)
    finally:
        await client.close()
        for head in client.store.frames:
            if head.direction == "out":
                sys.stdout.write((client.store.payload(head.seq) or b"").decode() + "\n")


if __name__ == "__main__":
    asyncio.run(main())
