"""Calls of what a server offers: tools, prompts, and templates by a form, resources at once."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from mcp_tui.client.completion import Completer
from mcp_tui.client.results import check_results
from mcp_tui.client.templates import TemplateError, Value, expand
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json, as_object, as_text
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.screens.parts.connection import ConnectionKeys
from mcp_tui.tui.screens.parts.copying import Copying
from mcp_tui.tui.screens.parts.details import Payloads
from mcp_tui.tui.session import Session
from mcp_tui.tui.view.catalogue import Entry, prompt_form, template_form
from mcp_tui.tui.view.server import Link
from mcp_tui.tui.view.text import brief, safe, words
from mcp_tui.tui.widgets.request_table import RequestTable

if TYPE_CHECKING:
    from mcp_tui.tui.screens.call import CallScreen
    from mcp_tui.tui.widgets.form import FormDraft

EARLIER: Final = 20
"""Earlier arguments that are kept for each tool, prompt, or template."""

_VERBS: Final = {"tools/call": words("Call"), "prompts/get": words("Get"), "resources/read": words("Read")}

OF_ROUNDS: Final = ("inputResponses", "requestState")
"""Params that only later rounds of a request have."""

Arguments = dict[str, Json]


@dataclass(eq=False)
class Calling:
    """Opens forms over the workbench and sends the calls; repeats earlier ones.

    Attributes:
        asked: definitions of destructive tools that a person has agreed to call.
    """

    _screen: LayoutScreen
    _session: Session
    _table: RequestTable
    _payloads: Payloads
    _copying: Copying
    _connection: ConnectionKeys
    _list: CallScreen | None = None
    _repeated: AbstractSet[RequestId] = frozenset()
    _earlier: dict[tuple[str, str], list[Arguments]] = field(default_factory=dict[tuple[str, str], Any])
    _drafts: dict[str, FormDraft] = field(default_factory=dict[str, Any])
    asked: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        check_results(self._session.client, self._session.catalogue.promised)

    async def edit(self) -> None:
        """Opens the form of the selected call with its arguments."""
        row = self._table.selected
        asked = None if row is None else self._payloads.request(row)
        if row is None or asked is None or row.method != "tools/call":
            self._screen.refuse(words("Only a tool call can be edited. Select one first."))
        elif self._screen.steady():
            arguments = as_object(asked[1].get("arguments"))
            await self.tools(row.name, arguments=arguments, task="task" in asked[1])

    async def tools(self, name: str = "", *, task: bool = False, arguments: Arguments | None = None) -> None:
        """Opens the list of tools, or the form of one with ``arguments``; ``task`` asks for a task (2025-11-25)."""
        tools = self._session.catalogue.tools
        connecting = self._session.link is Link.CONNECTING
        if not connecting and not self._connection.connected():
            return
        if not tools and not connecting and "tools" in self._session.catalogue.entries:
            self._screen.refuse(words("This server has no tools"))
            return

        await self._open("tools/call", tools, name=name, arguments=arguments, task=task)

    async def _open(
        self,
        method: str,
        forms: Sequence[Arguments],
        *,
        name: str = "",
        arguments: Arguments | None = None,
        task: bool = False,
        template: str = "",
    ) -> None:
        """Opens a form, or the list of several, and sends the request that is filled in."""
        from mcp_tui.tui.screens.call import CallScreen

        reference: Arguments = {"type": "ref/prompt", "name": name}
        if template:
            reference = {"type": "ref/resource", "uri": template}
        completes = method != "tools/call"

        def uri(arguments: Arguments) -> str:
            return expand(template, cast("dict[str, Value]", arguments))

        def chosen(call: tuple[str, Arguments] | None) -> None:
            self._list = None
            if call is None:
                return
            kind = method, template or call[0]
            known = [each for each in self._earlier.get(kind, []) if each != call[1]]
            self._earlier[kind] = [call[1], *known][:EARLIER]
            named: Arguments = {"name": call[0], "arguments": call[1], **({"task": {}} if task else {})}
            self._connection.call(method, {"uri": uri(call[1])} if template else named)

        screen = CallScreen(
            forms,
            preset_name=name,
            preset_arguments=arguments,
            earlier=lambda name: self._earlier.get((method, template or name), []),
            asked=self.asked,
            drafts=self._drafts,
            completer=partial(Completer, self._session.client, reference) if completes else None,
            preview=(lambda arguments: brief(uri(arguments), 400)) if template else None,
            what=_VERBS[method],
        )
        if arguments is not None:
            screen.line = lambda: self._table.line_on_screen
        self._list = None if name or forms else screen
        await self._screen.ask(screen, chosen)

    def offer(self) -> None:
        """Fills a list that was opened before the tools were known."""
        tools = self._session.catalogue.tools
        if self._list is not None and tools:
            self._list.offer(tools)
            self._list = None

    def again(self) -> None:
        """Repeats the selected request, or the marked ones, each with a new id."""
        rows = self._copying.requests()
        if not rows or not self._screen.app.guard.may_repeat():
            return
        # A key that is held down may repeat what it has just sent itself.
        if not {row.id for row in rows} <= self._repeated and not self._screen.steady():
            return
        sent: set[RequestId] = set()
        for row in rows[::-1]:
            asked = self._payloads.request(row)
            arguments = self._session.unsent(row) if asked is None else asked[1]
            if arguments is not None:
                # An answer in a later round belongs to that round alone.
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
                await self._open("prompts/get", [prompt_form(entry.raw)], name=entry.name)
            case "templates":
                try:
                    form = template_form(entry.raw)
                except TemplateError as error:
                    self._screen.refuse(safe("Not a valid URI template: {}", brief(str(error))), "error")
                    return
                template = as_text(entry.raw.get("uriTemplate"))
                await self._open("resources/read", [form], name=str(form["name"]), template=template)
            case _:
                self._screen.refuse(words("This resource has no URI"))
