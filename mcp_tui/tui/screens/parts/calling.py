"""How a person calls what a server offers: a tool or a prompt by its form, a template filled in, a resource at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from mcp_tui.client.completion import Completer, Told
from mcp_tui.client.results import check_results
from mcp_tui.client.templates import TemplateError, expand
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.tui.payloads import Payloads
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.screens.parts.connection import ConnectionKeys
from mcp_tui.tui.screens.parts.copying import Copying
from mcp_tui.tui.session import Session
from mcp_tui.tui.view.catalogue import Entry
from mcp_tui.tui.view.server import Link
from mcp_tui.tui.view.text import brief, safe, words
from mcp_tui.tui.view.tools import prompt_form, template_form
from mcp_tui.tui.widgets.request_table import RequestTable

if TYPE_CHECKING:
    from mcp_tui.tui.screens.call import CallScreen
    from mcp_tui.tui.widgets.form import FormDraft

EARLIER: Final = 20
"""Arguments of one tool, prompt or template that are kept for this session."""

OF_ROUNDS: Final = ("inputResponses", "requestState")
"""Params that a later round of a request has, and no first one."""

Arguments = dict[str, Json]


class Calling:
    """Opens forms over the workbench and sends what was filled in, or what was sent before.

    Attributes:
        asked: definitions of destructive tools that a person has agreed to call.
    """

    def __init__(
        self,
        screen: LayoutScreen,
        session: Session,
        table: RequestTable,
        payloads: Payloads,
        copying: Copying,
        connection: ConnectionKeys,
    ) -> None:
        self._screen = screen
        self._session = session
        self._table = table
        self._payloads = payloads
        self._copying = copying
        self._connection = connection
        self._list: CallScreen | None = None
        self._repeated: set[RequestId] = set()
        check_results(self._session.client, self._session.catalogue.promised)
        self._earlier: dict[tuple[str, str], list[Arguments]] = {}
        self.asked: set[str] = set()
        self._drafts: dict[str, FormDraft] = {}

    async def edit(self) -> None:
        """Open the form of the selected call with the arguments that it was sent with."""
        row = self._table.selected
        asked = None if row is None else self._payloads.request(row)
        if row is None or asked is None or row.method != "tools/call":
            self._screen.refuse(words("Only a tool call can be edited. Select one first."))
        elif self._screen.steady():
            await self.tools(
                row.name, arguments=as_object(asked[1].get("arguments")), task="task" in asked[1]
            )

    async def tools(self, name: str = "", *, task: bool = False, arguments: Arguments | None = None) -> None:
        """Open the list of tools, or the form of one with its ``arguments``; ``task`` asks for a task (2025-11-25)."""
        from mcp_tui.tui.screens.call import CallScreen

        tools = self._session.catalogue.tools
        connecting = self._session.link is Link.CONNECTING
        if not connecting and not self._connection.connected():
            return
        if not tools and not connecting and "tools" in self._session.catalogue.entries:
            self._screen.refuse(words("This server has no tools"))
            return

        def chosen(call: tuple[str, Arguments] | None) -> None:
            self._list = None
            if call is not None:
                self._keep("tools", call[0], call[1])
                asked: Arguments = {"task": {}} if task else {}
                self._connection.call("tools/call", {"name": call[0], "arguments": call[1], **asked})

        screen = CallScreen(
            tools,
            preset_name=name,
            preset_arguments=arguments,
            earlier=lambda name: self._known("tools", name),
            asked=self.asked,
            drafts=self._drafts,
        )
        if arguments is not None:
            screen.line = lambda: self._table.line_on_screen
        self._list = None if name or tools else screen
        await self._screen.ask(screen, chosen)

    def offer(self) -> None:
        """Fill the list of tools, where it was opened before there were any."""
        tools = self._session.catalogue.tools
        if self._list is not None and tools:
            self._list.offer(tools)
            self._list = None

    def again(self) -> None:
        """The selected request again, or the marked ones, each with a new id."""
        rows = self._copying.requests()
        if not rows or not self._screen.guard.may_repeat():
            return
        # A key that is held down repeats what it has just sent itself, whatever became of that.
        if not self._repeated.issuperset(row.id for row in rows) and not self._screen.steady():
            return
        sent: set[RequestId] = set()
        for row in rows[::-1]:
            asked = self._payloads.request(row)
            arguments = self._session.unsent(row) if asked is None else asked[1]
            if (
                arguments is not None
            ):  # what a person answered in a later round was an answer to that round alone
                arguments = {name: value for name, value in arguments.items() if name not in OF_ROUNDS}
            if row.internal:
                self._screen.refuse(safe("Request {} is internal and cannot be repeated", row.id))
            elif arguments is None:
                self._screen.refuse(safe("The arguments of request {} are no longer available", row.id))
            elif (id_ := self._connection.call(row.method, arguments or None)) is not None:
                sent.add(id_)
        self._repeated = sent
        self._table.unmark()

    async def entry(self, entry: Entry) -> None:
        """Call an entry of the catalogue."""
        if not self._connection.connected() or not self._screen.steady():
            return
        match entry.kind:
            case "tools":
                await self.tools(entry.name)
            case "resources" if isinstance(entry.raw.get("uri"), str):
                self._connection.call("resources/read", {"uri": entry.raw["uri"]})
            case "prompts" if not entry.raw.get("arguments"):
                self._connection.call("prompts/get", {"name": entry.name})
            case "prompts":
                await self._prompt(entry)
            case "templates":
                await self._template(entry)
            case _:
                self._screen.refuse(words("This resource has no URI"))

    async def _prompt(self, entry: Entry) -> None:
        from mcp_tui.tui.screens.call import CallScreen

        def chosen(call: tuple[str, Arguments] | None) -> None:
            if call is not None:
                self._keep("prompts", entry.name, call[1])
                self._connection.call("prompts/get", {"name": entry.name, "arguments": call[1]})

        reference: Arguments = {"type": "ref/prompt", "name": entry.name}
        screen = CallScreen(
            [prompt_form(entry.raw)],
            preset_name=entry.name,
            earlier=lambda name: self._known("prompts", name),
            drafts=self._drafts,
            completer=lambda told: Completer(self._session.client, reference, told),
            what=words("Get"),
        )
        await self._screen.ask(screen, chosen)

    async def _template(self, entry: Entry) -> None:
        from mcp_tui.tui.screens.call import CallScreen

        template = entry.raw.get("uriTemplate")
        template = template if isinstance(template, str) else ""
        try:
            form = template_form(entry.raw)
        except TemplateError as error:
            self._screen.refuse(safe("Not a valid URI template: {}", brief(str(error))), "error")
            return

        def chosen(call: tuple[str, Arguments] | None) -> None:
            if call is not None:
                self._keep("templates", template, call[1])
                self._connection.call("resources/read", {"uri": expand(template, _values(call[1]))})

        def completer(told: Told) -> Completer:
            reference: Arguments = {"type": "ref/resource", "uri": template}
            return Completer(self._session.client, reference, told)

        screen = CallScreen(
            [form],
            preset_name=str(form["name"]),
            earlier=lambda _: self._known("templates", template),
            drafts=self._drafts,
            completer=completer,
            preview=lambda arguments: brief(expand(template, _values(arguments)), 400),
            what=words("Read"),
        )
        await self._screen.ask(screen, chosen)

    def _keep(self, kind: str, name: str, arguments: Arguments) -> None:
        known = self._earlier.get((kind, name), [])
        self._earlier[kind, name] = [arguments, *(each for each in known if each != arguments)][:EARLIER]

    def _known(self, kind: str, name: str) -> list[Arguments]:
        return self._earlier.get((kind, name), [])


def _values(arguments: Arguments) -> Mapping[str, str | list[str]]:
    """The arguments of a template's form: texts, and lists of them."""
    return cast("dict[str, str | list[str]]", arguments)
