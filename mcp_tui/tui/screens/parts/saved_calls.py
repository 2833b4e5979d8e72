"""Saved calls: sends those of this server, and saves the selected one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mcp_tui.config import saved
from mcp_tui.config.files import ConfigError
from mcp_tui.config.saved import NAME, SavedCall, SavedServer, SecretArguments
from mcp_tui.protocol.messages import as_object
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.host import Offer
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.screens.parts.connection import ConnectionKeys
from mcp_tui.tui.screens.parts.details import Payloads
from mcp_tui.tui.session import Session
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.text import brief, safe, words
from mcp_tui.tui.widgets.request_table import RequestTable


@dataclass(eq=False)
class SavedCalls:
    """Lists the calls that are saved for the server of a session, and saves one."""

    _screen: LayoutScreen
    _session: Session
    _table: RequestTable
    _payloads: Payloads
    _connection: ConnectionKeys

    @property
    def _server(self) -> SavedServer:
        return saved.server_of(self._session.client.target)

    @property
    def _folder(self) -> Path:
        return self._session.settings.saved_folder

    def offers(self) -> Iterator[Offer]:
        """Yields the commands that save the selected call and run the saved calls of this server."""
        row = self._table.selected
        if row is not None and row.method == "tools/call" and not row.internal:
            title = safe("Save call {} {}", row.id, request(row))
            yield title, words("save it under a name to run it again"), partial(self._ask_name, row)
        for each in saved.load(self._folder)[0]:
            if each.server == self._server:
                params = {"name": each.tool, "arguments": each.arguments}
                run = partial(self._connection.call, "tools/call", params)
                yield safe("Saved call: {}", brief(each.name, 80)), brief(each.tool, 80), run

    async def choose(self) -> None:
        """Opens a menu of the commands."""
        from mcp_tui.tui.screens.dialog import MenuScreen

        if not self._connection.connected():
            return
        found = list(self.offers())

        def chosen(number: str | None) -> None:
            if number is not None:
                found[int(number)][2]()

        if found:
            choices = [(str(number), title) for number, (title, _, _) in enumerate(found)]
            await self._screen.ask(MenuScreen(words("Saved calls"), choices, words("")), chosen)
        else:
            said = "No saved calls yet. Select a call, then press the key again to save it."
            self._screen.refuse(words(said))

    def _ask_name(self, row: Request) -> None:
        """Asks for a name, then saves the call."""
        from mcp_tui.config.definitions import Input
        from mcp_tui.tui.screens.inputs import InputsScreen

        asked = self._payloads.request(row)
        params = as_object(asked[1]) if asked is not None else {}
        tool, arguments = params.get("name"), as_object(params.get("arguments"))
        if not isinstance(tool, str):
            self._screen.refuse(safe("The arguments of request {} are no longer available", row.id))
            return

        def answered(answers: dict[str, str] | None) -> None:
            if answers is not None:
                name = answers["name"][:NAME].strip()
                self._save(SavedCall(name=name, tool=tool, arguments=arguments, server=self._server))

        field = Input(id="name", description="Name of the saved call", default=tool[:NAME])
        self._screen.app.push_screen(InputsScreen("Save call", [field], ask=False), answered)

    def _save(self, call: SavedCall, *, secrets: bool = False) -> None:
        from mcp_tui.tui.screens.dialog import ConfirmScreen

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
            self._screen.tell(brief(str(error), 300), "error")
        else:
            said = "Saved. Run it with: mcp-tui call --saved {}"
            self._screen.tell(safe(said, brief(call.name, 64)), "success")
