"""Calls what a server offers: tools, prompts, and templates with a form, resources at once; and saved calls."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from mcp_tui.client.argument_completion import Completer
from mcp_tui.client.results import check_results
from mcp_tui.client.uri_templates import TemplateError, Value, expand, parse
from mcp_tui.config import saved
from mcp_tui.config.files import ConfigError
from mcp_tui.config.saved import SAVED_NAME_CHARACTERS, SavedCall, SavedServer, SecretArguments
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.repeats import is_given_up
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.host import Offer
from mcp_tui.tui.screens.dialog import ConfirmScreen, MenuScreen, ask_texts
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.screens.parts.connection_keys import ConnectionKeys
from mcp_tui.tui.screens.parts.copying import Copying
from mcp_tui.tui.screens.parts.details import Payloads
from mcp_tui.tui.sources.live_session import Session
from mcp_tui.tui.widgets.request_table import RequestTable
from mcp_tui.view.catalogue_entries import Entry
from mcp_tui.view.keys import hint
from mcp_tui.view.rows import listed, repetitions, request
from mcp_tui.view.server_bar import Link
from mcp_tui.view.text import brief, safe, words

if TYPE_CHECKING:
    from mcp_tui.client.forms import Draft
    from mcp_tui.tui.screens.call_form import CallScreen

EARLIER: Final = 20
"""The number of earlier arguments that are stored for each tool, prompt, or template."""

_METHOD_OF_KIND: Final = {"tools": "tools/call", "prompts": "prompts/get", "templates": "resources/read"}

MAX_REPETITIONS: Final = 100
"""The maximum number of repetitions of a request that one key sends."""

OF_ROUNDS: Final = ("inputResponses", "requestState")
"""The params that only later rounds of a request have."""

Arguments = dict[str, Json]


@dataclass(eq=False)
class Calling:
    """Opens forms over the workbench and sends the calls; repeats earlier ones; saves calls and sends saved ones.

    Attributes:
        asked: the definitions of destructive tools that a person has agreed to call.
    """

    _screen: LayoutScreen
    _session: Session
    _table: RequestTable
    _payloads: Payloads
    _copying: Copying
    _connection: ConnectionKeys
    _list: CallScreen | None = None
    _repeated: AbstractSet[RequestId] = frozenset()
    _counted: AbstractSet[RequestId] = frozenset()
    _earlier: dict[tuple[str, str], list[Arguments]] = field(default_factory=dict[tuple[str, str], Any])
    _drafts: dict[str, Draft] = field(default_factory=dict[str, Any])
    asked: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        check_results(self._session.client, self._session.catalogue.promised)

    async def edit(self) -> None:
        """Opens the form of the selected call with its arguments."""
        row = self._table.selected
        params = None if row is None else self._payloads.params(row)
        if row is None or params is None or row.method != "tools/call":
            self._screen.refuse(words("Only a tool call can be edited. Select one first."))
        elif self._screen.steady():
            arguments = as_object(params.get("arguments"))
            await self.tools(row.name, arguments=arguments, task="task" in params)

    async def tools(self, name: str = "", *, task: bool = False, arguments: Arguments | None = None) -> None:
        """Opens the list of tools, or the form of one with ``arguments``; ``task`` requests a task (2025-11-25)."""
        tools = self._session.catalogue.tools
        connecting = self._session.link is Link.CONNECTING
        if not connecting and not self._connection.connected():
            return
        if not tools and not connecting and "tools" in self._session.catalogue.entries:
            if problem := self._session.catalogue.problems.get("tools"):
                again = partial(self._session.read, {"tools"})
                self._screen.app.run_worker(again, group="catalogue", exit_on_error=False)
                self._screen.refuse(safe("{}. Reading the list again.", problem), "error")
            else:
                self._screen.refuse(words("This server has no tools"))
            return

        named = (each for each in tools if each.name == name)
        entry = next(named, Entry("tools", {"name": name})) if name else None
        await self._open(entry, arguments=arguments, task=task)

    async def _open(
        self, entry: Entry | None, *, arguments: Arguments | None = None, task: bool = False
    ) -> None:
        """Opens the form of an entry or the list of tools, and sends the filled-in request."""
        # Imported when first opened: forms take time to load.
        from mcp_tui.tui.screens.call_form import CallScreen

        kind, name, template = (
            ("tools", "", "") if entry is None else (entry.kind, entry.name, entry.template)
        )
        method, tools = _METHOD_OF_KIND[kind], self._session.catalogue.tools
        reference: Arguments = {"type": "ref/prompt", "name": name}
        if template:
            reference = {"type": "ref/resource", "uri": template}

        def uri(arguments: Arguments) -> str:
            return expand(template, cast("dict[str, Value]", arguments))

        def chosen(call: tuple[str, Arguments]) -> None:
            self._list = None
            subject = method, template or call[0]
            known = [each for each in self._earlier.get(subject, []) if each != call[1]]
            self._earlier[subject] = [call[1], *known][:EARLIER]
            named: Arguments = {"name": call[0], "arguments": call[1], **({"task": {}} if task else {})}
            self._connection.call(method, {"uri": uri(call[1])} if template else named)

        screen = CallScreen(
            tools,
            preset=entry,
            preset_arguments=arguments,
            earlier=lambda name: self._earlier.get((method, template or name), []),
            asked=self.asked,
            drafts=self._drafts,
            completer=None if kind == "tools" else partial(Completer, self._session.client, reference),
            preview=(lambda arguments: brief(uri(arguments), 400)) if template else None,
        )
        if arguments is not None:
            screen.line = lambda: self._table.line_on_screen
        self._list = None if entry or tools else screen
        await self._screen.ask(screen, chosen)

    def offer(self) -> None:
        """Fills a list that was opened before the tools were known."""
        tools = self._session.catalogue.tools
        if self._list is not None and tools:
            if self._list.is_attached:
                self._list.offer(tools)
            self._list = None

    def again(self) -> None:
        """Repeats the selected request, or the marked ones, each with a new id."""
        rows = self._copying.requests()
        if not rows:
            return
        if not self._screen.app.guard.may_repeat():
            text = "Not repeated: faster than 4 a second. {request.repeat} repeats n times."
            self._screen.show_message(hint(text))
            return
        # A held key may repeat the request that it has just sent.
        if not {row.id for row in rows} <= self._repeated and not self._screen.steady():
            return
        ledger = self._session.client.ledger
        unknown = [each for each in rows if is_given_up(each) and each.name not in ledger.repeats.safe]
        if not unknown:
            self._send_again(rows)
            return
        lines = [*listed(unknown), words("Sending it again may do it twice.")]
        asked = ConfirmScreen("The first may still be running", lines, yes="Send again", no="No")
        self._screen.app.push_screen(asked, lambda yes: self._send_again(rows) if yes else None)

    def _send_again(self, rows: list[Request]) -> None:
        self._repeated = self._send(rows)
        self._table.unmark()

    def repeat(self) -> None:
        """Asks for a number, and repeats the selected request or the marked ones that often at the same time."""
        rows = self._copying.requests()
        if not rows or not self._connection.connected():
            return

        def answered(answers: dict[str, str]) -> None:
            text = answers["times"].strip()
            times = int(text) if text.isdecimal() and len(text) <= len(str(MAX_REPETITIONS)) else 0
            if not 1 <= times <= MAX_REPETITIONS:
                asked = safe(
                    "{} is not a number from 1 to {}. Nothing was sent.", brief(text, 40), MAX_REPETITIONS
                )
                self._screen.refuse(asked)
                return
            self._counted = self._send(rows * times)
            self._table.unmark()

        title = f"Repeat {request(rows[0])}" if len(rows) == 1 else f"Repeat {len(rows)} requests"
        times = f"How many times (1 to {MAX_REPETITIONS})", "5"
        ask_texts(self._screen, title, "Repeat", answered, times=times)

    def sum_up(self) -> None:
        """Summarises requests that were repeated several times, once all have ended."""
        requests = self._session.client.requests
        rows = [row for id_ in self._counted if (row := requests.get(id_)) is not None]
        if rows and self._screen.on_top and not any(row.open for row in rows):
            self._counted = frozenset()
            text = repetitions(rows)
            self._session.client.note(text)
            self._screen.show_message(text, "accent", seconds=20)

    def _send(self, rows: list[Request]) -> set[RequestId]:
        """Sends requests again, the last first; says why if one cannot be sent. Returns the new ids."""
        sent: set[RequestId] = set()
        for row in rows[::-1]:
            params = self._payloads.params(row)
            arguments = self._session.unsent(row) if params is None else params
            if arguments is not None:
                # The input of a later round belongs only to that round.
                arguments = {name: value for name, value in arguments.items() if name not in OF_ROUNDS}
            if row.internal:
                self._screen.refuse(safe("Request {} is internal and cannot be repeated", row.id))
            elif arguments is None:
                self._screen.refuse(safe("The arguments of request {} are no longer available", row.id))
            elif (id_ := self._connection.call(row.method, arguments or None)) is not None:
                sent.add(id_)
        return sent

    async def entry(self, entry: Entry) -> None:
        """Calls an entry of the catalogue."""
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
                await self._open(entry)
            case "templates" if entry.template:
                try:
                    parse(entry.template)
                except TemplateError as error:
                    self._screen.refuse(safe("Not a valid URI template: {}", brief(str(error))), "error")
                else:
                    await self._open(entry)
            case _:
                self._screen.refuse(words("This resource has no URI"))

    # -- saved calls -----------------------------------------------------------------------------------------

    @property
    def _server(self) -> SavedServer:
        return saved.server_of(self._session.client.target)

    @property
    def _folder(self) -> Path:
        return self._session.settings.saved_folder

    def saved_offers(self) -> Iterator[Offer]:
        """Yields the commands that save the selected call and run the saved calls of this server."""
        row = self._table.selected
        if row is not None and row.method == "tools/call" and not row.internal:
            title = safe("Save call {} {}", row.id, request(row))
            yield Offer(title, words("save it under a name to run it again"), partial(self._ask_name, row))
        for each in saved.load(self._folder)[0]:
            if each.server == self._server:
                params = {"name": each.tool, "arguments": each.arguments}
                run = partial(self._connection.call, "tools/call", params)
                yield Offer(safe("Saved call: {}", brief(each.name, 80)), brief(each.tool, 80), run)

    async def choose_saved(self) -> None:
        """Opens a menu of the commands for saved calls."""
        if not self._connection.connected():
            return
        found = list(self.saved_offers())

        if found:
            choices = [(str(number), each.name) for number, each in enumerate(found)]
            menu = MenuScreen(words("Saved calls"), choices)
            await self._screen.ask(menu, lambda number: found[int(number)].run())
        else:
            text = "No saved calls yet. Select a call, then press the key again to save it."
            self._screen.refuse(words(text))

    def _ask_name(self, row: Request) -> None:
        """Asks for a name, then saves the call."""
        params = self._payloads.params(row) or {}
        tool, arguments = params.get("name"), as_object(params.get("arguments"))
        if not isinstance(tool, str):
            self._screen.refuse(safe("The arguments of request {} are no longer available", row.id))
            return

        def answered(answers: dict[str, str]) -> None:
            name = answers["name"][:SAVED_NAME_CHARACTERS].strip()
            self._save(SavedCall(name=name, tool=tool, arguments=arguments, server=self._server))

        named = "Name of the saved call", tool[:SAVED_NAME_CHARACTERS]
        ask_texts(self._screen, "Save call", "Save", answered, name=named)

    def _save(self, call: SavedCall, *, secrets: bool = False) -> None:
        try:
            saved.save(self._folder, call, secrets=secrets)
        except SecretArguments as found:
            lines = [
                words("These arguments look like secrets:"),
                *(safe("  {}", brief(name, 60)) for name in found.names),
                words("Saving stores them unencrypted in a file readable only by you."),
            ]
            asked = ConfirmScreen("Save secrets?", lines, yes="Save", no="No")
            self._screen.app.push_screen(asked, lambda yes: self._save(call, secrets=True) if yes else None)
        except ConfigError as error:
            self._screen.show_message(brief(str(error), 300), "error")
        else:
            text = "Saved. Run it with: mcp-tui call --saved {}"
            self._screen.show_message(safe(text, brief(call.name, 64)), "success")
