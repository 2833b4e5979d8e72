"""Saved calls in the workbench: kept from a request, and run again, both from the palette."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from mcp_tui.config import folders, saved
from mcp_tui.config.definitions import Input
from mcp_tui.config.files import ConfigError
from mcp_tui.config.saved import NAME, SavedCall, SecretArguments
from mcp_tui.protocol.messages import as_object
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.screens.workbench import Workbench
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.text import SafeText, brief, safe, words

Found = tuple[SafeText, SafeText, Callable[[], object]]


def commands(screen: Workbench, folder: Path | None) -> Iterator[Found]:
    """What the palette offers: the selected call to be saved, and the calls that are saved for this server."""
    folder = folder or folders.saved_folder()
    row = screen.table.selected
    if row is not None and row.method == "tools/call" and not row.internal:
        title = safe("Save call {} {}", row.id, request(row))
        yield title, words("under a name, to be run again"), partial(_ask, screen, row, folder)
    server = saved.server_of(screen.session.client.target)
    for each in saved.load(folder)[0]:
        if each.server == server:
            params = {"name": each.tool, "arguments": each.arguments}
            run = partial(screen.call, "tools/call", params)
            yield safe("Saved call: {}", brief(each.name, 80)), brief(each.tool, 80), run


def _ask(screen: Workbench, row: Request, folder: Path) -> None:
    """Ask for a name, then save."""
    from mcp_tui.tui.screens.inputs import InputsScreen

    asked = screen.payloads.request(row)
    params = as_object(asked[1]) if asked is not None else {}
    tool = params.get("name")
    if not isinstance(tool, str):
        screen.refuse(safe("The arguments of request {} are no longer available", row.id))
        return
    call = SavedCall(
        name="",
        tool=tool,
        arguments=as_object(params.get("arguments")),
        server=saved.server_of(screen.session.client.target),
    )

    def answered(answers: dict[str, str] | None) -> None:
        if answers is not None:
            named = SavedCall(
                name=answers["name"][:NAME].strip(),
                tool=call.tool,
                arguments=call.arguments,
                server=call.server,
            )
            _save(screen, named, folder)

    field = Input(id="name", description="Save it under which name?", default=tool[:NAME])
    screen.host.push_screen(InputsScreen("Save call", [field], ask=False), answered)


def _save(screen: Workbench, call: SavedCall, folder: Path, *, secrets: bool = False) -> None:
    try:
        saved.save(folder, call, secrets=secrets)
    except SecretArguments as found:
        _confirm(screen, call, folder, found.names)
    except ConfigError as error:
        screen.keys.tell(brief(str(error), 300), "error")
    else:
        screen.keys.tell(safe("saved: mcp-tui call --saved {}", brief(call.name, 64)), "success")


def _confirm(screen: Workbench, call: SavedCall, folder: Path, names: list[str]) -> None:
    from mcp_tui.tui.screens.confirm import ConfirmScreen

    def answered(yes: bool | None) -> None:
        if yes:
            _save(screen, call, folder, secrets=True)

    lines = [
        words("These arguments look like secrets, and the journal would not keep them:"),
        *(safe("  {}", brief(name, 60)) for name in names),
        words("Saved, they stand in a file in the clear, which only you can read."),
    ]
    screen.host.push_screen(ConfirmScreen("Save secrets?", lines, yes="save them", no="no"), answered)
