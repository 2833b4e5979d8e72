"""The menu of a server: starts and stops it, and changes its settings. The requests stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.client.roots import missing_roots, root_uri
from mcp_tui.journal.masks import known_secrets
from mcp_tui.protocol.patterns import late
from mcp_tui.protocol.revisions import REVISIONS
from mcp_tui.tui.screens.dialog import MenuScreen, ask_texts
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.screens.parts.connection_keys import ConnectionKeys
from mcp_tui.tui.sources.live_session import Session
from mcp_tui.view.durations import limit
from mcp_tui.view.rows import plural
from mcp_tui.view.server_bar import Link
from mcp_tui.view.text import NOTHING, SafeText, brief, safe, words

Choices = Sequence[tuple[str, SafeText]]

MODES: Final = {"ask": words("on: you write the answer"), "off": words("off")}
"""The modes of sampling; a command is a mode too, if the settings name one."""

_VARIABLE: Final = late(r"([A-Za-z_]\w*)(=(.*))?", re.ASCII | re.DOTALL)


@dataclass(eq=False)
class ServerMenu:
    """The menu of one server, and the dialogs behind its lines."""

    _screen: LayoutScreen
    _session: Session
    _connection: ConnectionKeys

    async def open(self) -> None:
        """Opens the menu."""
        session, client = self._session, self._session.client
        choices = [("reconnect", words("Reconnect"))]
        if session.link is not Link.LOST:
            choices.append(("stop", words("Stop")))
        running = len(session.calls)
        note = safe("Reconnect and Stop cancel {} in flight", plural(running)) if running else NOTHING
        if unwritten := len(session.unwritten):
            choices.insert(0, ("terminate", words("Terminate the server: SIGTERM, then SIGKILL")))
            cancels = words("1 cancel is") if unwritten == 1 else safe("{:,} cancels are", unwritten)
            note = safe("The server does not read its stdin. {} not written.", cancels)
        given, limits, roots = client.settings, session.limits, session.settings.roots
        at_most = safe("{} · max {}", *(limit(each) for each in (limits.timeout, limits.max_timeout)))
        sampling = session.settings.sampling.mode
        choices += [
            ("protocol", safe("Protocol version   {}", brief(given.protocol, 20))),
            ("sampling", safe("Sampling           {}", MODES.get(sampling, words("on: a command")))),
            ("timeouts", safe("Timeouts           {}", at_most)),
            (
                "roots",
                safe("Roots              {}", plural(len(roots), "folder") if roots else words("none")),
            ),
        ]
        if isinstance(client.target, StdioTarget):
            choices.append(
                ("environment", safe("Environment        {}", plural(len(client.target.env), "variable")))
            )
        ways = {
            "reconnect": self._connection.connect,
            "stop": self._connection.stop,
            "terminate": self._connection.terminate,
            "protocol": self._protocol,
            "sampling": self._sampling,
            "timeouts": self._timeouts,
            "roots": self._roots,
            "environment": self._environment,
        }
        self._choose(safe("Server {}", session.name), choices, note, lambda key: ways[key]())

    def _choose(
        self, title: SafeText, choices: Choices, note: SafeText, then: Callable[[str], object]
    ) -> None:
        menu = MenuScreen(title, choices, note)
        self._screen.run_worker(partial(self._screen.ask, menu, then), exit_on_error=False)

    def _restart(self, said: SafeText) -> None:
        self._screen.show_message(safe("Reconnecting: {}", said), "muted")
        self._connection.connect()

    def _reconnects(self) -> SafeText:
        running = len(self._session.calls)
        cancels = safe(" and cancels {} in flight", plural(running)) if running else NOTHING
        return safe("Choosing reconnects{}", cancels)

    # -- settings that need a new connection -----------------------------------------------------------------

    def _protocol(self) -> None:
        client = self._session.client
        given = client.settings.protocol

        def chosen(key: str) -> None:
            client.settings = replace(client.settings, protocol=key)
            self._restart(safe("protocol version {}", key))

        choices = [(each, _marked(brief(each, 20), given == each)) for each in ("auto", *reversed(REVISIONS))]
        self._choose(words("Protocol version"), choices, self._reconnects(), chosen)

    def _sampling(self) -> None:
        session = self._session
        given = session.settings.sampling

        def chosen(key: str) -> None:
            mode = "off" if key == "off" else "ask" if key == "ask" else "command"
            session.apply(replace(session.settings, sampling=replace(given, mode=mode)))
            self._restart(safe("sampling {}", words("off") if mode == "off" else words("on")))

        choices = [(each, _marked(text, given.mode == each)) for each, text in MODES.items()]
        if given.command:
            text = safe("on: {}", brief(" ".join(given.command), 60))
            choices.append(("command", _marked(text, given.mode == "command")))
        self._choose(
            words("Sampling: the server asks for a model's answer"), choices, self._reconnects(), chosen
        )

    def _environment(self) -> None:
        target = self._session.client.target
        assert isinstance(target, StdioTarget)
        choices = [("", words("Set a variable …")), *((each, brief(each, 60)) for each in sorted(target.env))]
        first = {"": "", **{name: f"{name}=" for name in target.env}}

        def chosen(name: str) -> None:
            text = "NAME=VALUE sets a variable, NAME alone removes it"
            variable = text, first[name]
            ask_texts(self._screen, "Environment", "Restart", self._set_variable, variable=variable)

        self._choose(words("Environment of the server"), choices, self._reconnects(), chosen)

    def _set_variable(self, answers: dict[str, str]) -> None:
        session, found = self._session, _VARIABLE.fullmatch(answers["variable"])
        target = session.client.target
        if found is None or "\0" in answers["variable"] or not isinstance(target, StdioTarget):
            self._screen.refuse(words("Not NAME=VALUE. Nothing changed."))
            return
        name, value = found[1], found[3]
        env = {each: text for each, text in target.env.items() if each != name}
        session.client.target = session.target = replace(
            target, env=env if value is None else {**env, name: value}
        )
        session.client.store.learn(known_secrets(session.client.target))
        self._restart(safe("{} {}", brief(name, 40), words("removed") if value is None else words("set")))

    # -- settings that apply at once -------------------------------------------------------------------------

    def _timeouts(self) -> None:
        given = self._session.limits
        ask_texts(
            self._screen,
            "Timeouts of further requests",
            "Use",
            self._limit,
            timeout=("Timeout in seconds; progress resets it (0: none)", f"{given.timeout or 0:g}"),
            longest=("Max timeout in seconds (0: none)", f"{given.max_timeout or 0:g}"),
        )

    def _limit(self, answers: dict[str, str]) -> None:
        try:
            timeout, longest = (float(answers[name]) for name in ("timeout", "longest"))
            if not (0 <= timeout < float("inf") and 0 <= longest < float("inf")):
                raise ValueError
        except ValueError:
            self._screen.refuse(words("A timeout is a number of seconds, 0 or more. Nothing changed."))
            return
        self._session.limit(timeout or None, longest or None)
        self._screen.show_message(words("The timeouts hold for further requests"), "muted")

    def _roots(self) -> None:
        roots = self._session.settings.roots
        choices = [("add", words("Add a folder …"))]
        choices += [(str(number), safe("Remove {}", brief(each, 60))) for number, each in enumerate(roots)]

        def chosen(key: str) -> None:
            if key == "add":
                folder = "Folder or file:// URI", root_uri(".")
                ask_texts(self._screen, "Roots", "Add", self._add_root, folder=folder)
            else:
                self._share([each for number, each in enumerate(roots) if str(number) != key])

        self._choose(words("Roots: folders that you offer to the server"), choices, NOTHING, chosen)

    def _add_root(self, answers: dict[str, str]) -> None:
        if missing_roots([answers["folder"]]):
            self._screen.refuse(safe("No such folder: {}. Nothing changed.", brief(answers["folder"], 60)))
        else:
            self._share([*self._session.settings.roots, answers["folder"]])

    def _share(self, roots: list[str]) -> None:
        session = self._session
        session.client.settings = replace(session.client.settings, roots=tuple(roots))
        session.apply(replace(session.settings, roots=roots))
        revision = session.client.revision
        # From 2026-07-28 on a client sends no notification of changed roots: the server asks each time.
        if session.link is Link.CONNECTED and revision is not None and not revision.modern:
            session.client.notify("notifications/roots/list_changed")
        self._screen.show_message(safe("Roots: {}", plural(len(roots), "folder")), "muted")


def _marked(text: SafeText, current: object) -> SafeText:
    return safe("{} (now)", text) if current else text
