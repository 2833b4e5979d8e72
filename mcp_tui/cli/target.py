"""Makes the target and the client settings from the words of a command line."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from mcp_tui.cli.grammar import Words
from mcp_tui.cli.output import Failure, warn
from mcp_tui.client.client_settings import ClientSettings, HttpTarget, Offers, StdioTarget, Target
from mcp_tui.config.files import ConfigError
from mcp_tui.config.settings import Loaded, Settings, load
from mcp_tui.protocol.errors import McpError
from mcp_tui.protocol.framing import header_fault
from mcp_tui.protocol.revisions import REVISIONS
from mcp_tui.protocol.states import GRACE, Limits
from mcp_tui.view.text import clean

if TYPE_CHECKING:
    from mcp_tui.config.definitions import AskedInput, Definition
    from mcp_tui.config.saved import SavedCall, SavedServer


@cache
def loaded() -> Loaded:
    """Returns the settings of the file and the environment."""
    return load()


def in_force(*, warns: bool = True) -> Settings:
    """Returns the settings. Warns about unknown ones, unless ``warns`` is false.

    Raises:
        Failure: a value is invalid.
    """
    found = loaded()
    for wrong in found.wrong:
        more = f" (and {len(found.wrong) - 1} more; see mcp-tui config)" if len(found.wrong) > 1 else ""
        raise Failure(f"{wrong}{more}")
    for problem in found.problems if warns else ():
        warn(problem)
    return found.settings


MEGABYTE: Final = 1024 * 1024


class NeedsConsent(Failure):
    """A person must agree to the ``definition`` of a project's server before it starts."""

    def __init__(self, text: str, definition: Definition) -> None:
        super().__init__(text)
        self.definition = definition


def settings(given: Words, *, grace: float | None = None, server: str | None = None) -> ClientSettings:
    """Returns the settings of a client, for the server that the words name or another one.

    ``grace`` is the time in seconds for which a cancelled request is watched.

    Raises:
        Failure: an unknown protocol version, a message cap of 0, or an invalid setting.
    """
    options = given.options
    chosen = in_force(warns=server is None)
    if options.protocol != "auto" and options.protocol not in REVISIONS:
        raise Failure(f"Unknown protocol version {options.protocol!r}. Choose from: {', '.join(REVISIONS)}.")
    if options.max_message is not None and options.max_message <= 0:
        raise Failure("--max-message must be above 0.")
    roots = tuple(options.roots)
    if roots:
        # This loads asyncio.
        from mcp_tui.client.roots import missing_roots, root_uri

        if missing := missing_roots(roots):
            raise Failure(f"No such folder: {missing[0]!r} (--root).")
        roots = tuple(map(root_uri, roots))
    return ClientSettings(
        protocol=options.protocol,
        offers=Offers(roots=bool(roots)),
        roots=roots,
        # 0 means no limit, which must be a number here.
        connect_timeout=_first(options.connect_timeout, chosen.limits.connect_timeout) or 1e9,
        limits=limits(given, server=server),
        max_message=int(_first(options.max_message, chosen.limits.max_message) * MEGABYTE),
        log_level="" if chosen.log_level == "off" else chosen.log_level,
        trace=chosen.trace,
        grace=GRACE if grace is None else grace,
    )


def limits(given: Words, tool: str = "", *, server: str | None = None, ask: float = 0.0) -> Limits:
    """Returns the limits of a request: from the options, else from the settings of the tool, the server, or all.

    ``ask`` is the time in seconds for which a person may be asked before a timeout cancels, if the settings enable
    that.
    """
    options = given.options
    name = server if server is not None else options.server or ("demo" if options.demo else "")
    timeout, longest, policy = in_force(warns=False).limits_of(name, tool)
    return Limits(
        timeout=_first(options.timeout, timeout) or None,
        max_timeout=_first(options.max_timeout, longest) or None,
        ask=ask if policy == "ask" else 0.0,
    )


def _first(given: float | None, otherwise: float) -> float:
    return otherwise if given is None else given


def target(given: Words) -> Target | None:
    """Returns the server that the words name; ``None`` without one.

    Raises:
        Failure: two servers, a missing folder, or an option that does not fit.
    """
    options = given.options
    named = [given.command is not None, given.url is not None, options.server is not None, options.demo]
    if sum(named) > 1:
        raise Failure("More than one server. Use one of: a URL, -- COMMAND, --server, --demo.")
    if given.url is not None:
        return _with_options(HttpTarget(url=given.url), given)
    if options.server is not None:
        return _configured(given, options.server)
    # -P: the server must not import a file of the current folder, such as your random.py.
    demo = (sys.executable, "-P", "-m", "mcp_tui.demo")
    command = demo if options.demo else tuple(given.command or ())
    if not command:
        return None
    stdio = StdioTarget(command=command, name="demo" if options.demo else "")
    return _with_options(stdio, given)


def _configured(given: Words, name: str) -> Target:
    """Returns the server with this name from a config file.

    Raises:
        ConfigError: there is none, or there are several.
        NeedsConsent: a person must agree first.
    """
    # This loads the configs of all clients.
    from mcp_tui.config import consent
    from mcp_tui.config.servers import find

    found = find(name, Path(given.options.config) if given.options.config else None)
    require_consent(given, found)
    if found.disabled:
        warn(f"Server {found.name!r} is disabled in {found.place}. It is used because you named it.")
    if text := consent.twice(found):
        warn(f"{text}.")
    return of_definition(given, found)


def require_consent(given: Words, found: Definition) -> None:
    """Refuses a server of a project's file to which nobody agreed.

    Raises:
        Failure: it cannot start anyway, so nobody need agree.
        NeedsConsent: a person must agree first.
    """
    # As above.
    from mcp_tui.config import consent

    if not consent.is_needed(found):
        return
    if wrong := consent.problem(found):
        raise Failure(f"Cannot use server {found.name!r} ({found.place}): {wrong}.")
    file = f" --config {found.file}" if given.options.config else ""
    text = (
        f"Server {found.name!r} comes from a project's file ({found.place}) and needs your approval. "
        f"Run mcp-tui servers --trust {shlex.quote(found.name)}{file}"
    )
    raise NeedsConsent(text, found)


def of_definition(given: Words, found: Definition, answers: Mapping[str, str] | None = None) -> Target:
    """Returns the target of a definition with the options applied; without ``answers`` a person is asked for its inputs.

    Raises:
        ConfigError: it cannot be used.
        Failure: nobody answers, or an option does not fit it.
    """
    known = _answers(found) if answers is None and not found.find_problem() else answers
    return _with_options(found.target(known), given)


def _answers(definition: Definition) -> dict[str, str]:
    """Asks for each input of a definition that has neither a default nor an environment variable.

    Raises:
        Failure: there is no terminal, or the answer is empty.
    """
    asked = definition.questions
    if not asked:
        return {}
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        names = ", ".join(each.variable for each in asked)
        text = f"Server {definition.name!r} ({definition.place}) needs {asked[0].id!r}. Set {names}, or use a terminal."
        raise Failure(text)
    return {each.id: _ask(each) for each in asked}


def _ask(each: AskedInput) -> str:
    choices = f" ({', '.join(each.options)})" if each.options else ""
    text = clean(f"{each.description or each.id}{choices}")
    try:
        if each.secret:
            # Imported late: only for a secret.
            from getpass import getpass

            answer = getpass(f"{text}: ", stream=sys.stderr)
        else:
            print(f"{text}: ", end="", file=sys.stderr, flush=True)
            answer = sys.stdin.readline().rstrip("\r\n")
    except (EOFError, UnicodeDecodeError):
        answer = ""
    if not answer:
        raise Failure(f"No value given for {each.id!r}.")
    if each.options and answer not in each.options:
        raise Failure(f"Unknown choice {answer!r}. Choose from: {', '.join(each.options)}.")
    return answer


def _with_options(found: Target, given: Words) -> Target:
    """Returns a server with the options applied.

    Raises:
        Failure: an option does not fit it.
    """
    options = given.options
    stdio = isinstance(found, StdioTarget)
    for name, option in (_OF_HTTP if stdio else _OF_STDIO).items():
        if getattr(options, name):
            kind, this = ("HTTP servers", "a stdio server") if stdio else ("stdio servers", "a URL")
            raise Failure(f"{option} is only for {kind}, but this is {this}.")
    if isinstance(found, HttpTarget):
        # This loads an HTTP library, which a server on stdio does not need.
        import ssl

        from mcp_tui.transport.addresses import parse
        from mcp_tui.transport.base import TransportError
        from mcp_tui.transport.http_client import load_client_certificate

        try:
            address = parse(found.url)
        except TransportError as error:
            raise Failure(str(error)) from None
        if options.transport == "stdio":
            raise Failure("--transport stdio needs -- COMMAND, not a URL.")
        made = _headers(options.headers)
        names = {name.lower() for name, _ in made}
        headers = {name: value for name, value in found.headers.items() if name.lower() not in names}
        repeated = tuple((name, value) for name, value in found.repeated if name.lower() not in names)
        headers |= dict(reversed(made))  # the first one of each name
        repeated += tuple(made[at] for at in range(len(made)) if made[at][0] in dict(made[:at]))
        reached = replace(
            found,
            headers=headers,
            repeated=repeated,
            transport=found.transport if options.transport == "auto" else options.transport,
            insecure=found.insecure or options.insecure,
            client_cert=options.client_cert or found.client_cert,
            client_key=options.client_key or found.client_key,
        )
        if reached.client_key and not reached.client_cert:
            raise Failure("--client-key needs --client-cert FILE as well.")
        if reached.client_cert and not address.secure:
            raise Failure("--client-cert needs a URL that begins with https://.")
        try:
            # Read once, so that a wrong file is refused before connecting.
            load_client_certificate(reached, ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        except TransportError as error:
            raise Failure(str(error)) from None
        return reached
    if options.transport not in ("auto", "stdio"):
        raise Failure(f"--transport {options.transport} needs a URL, not a command.")
    if not found.command[0]:
        raise Failure("Empty server command. Put the program and its arguments after --")
    cwd = Path(options.cwd) if options.cwd else None
    if cwd is not None and not cwd.is_dir():
        raise Failure(f"Directory not found: {options.cwd} (--cwd).")
    return replace(
        found,
        env={**found.env, **dict(_pairs(options.env, "=", "-e"))},
        cwd=cwd or found.cwd,
        # options on the command line are the person's own choice of what runs
        approved="" if options.env or options.cwd else found.approved,
        inherit_env=found.inherit_env or options.inherit_env,
    )


_OF_STDIO: Final = {"env": "-e", "cwd": "--cwd", "inherit_env": "--inherit-env"}
_OF_HTTP: Final = {
    "headers": "-H",
    "insecure": "--insecure",
    "client_cert": "--client-cert",
    "client_key": "--client-key",
}


def required(given: Words) -> Target:
    """Returns the server that the words name.

    Raises:
        Failure: as :func:`target`, and if the words name no server.
    """
    made = target(given)
    if made is None and given.options.config:
        return _configured(given, _only(Path(given.options.config)))
    if made is None:
        raise Failure("No server given. Add a URL, -- COMMAND ARGS…, --server NAME, or --demo.")
    return made


_CHECKED: Final = frozenset(
    {
        *("cancel_after", "connect_timeout", "cwd", "demo", "env", "inherit_env", "json", "linger"),
        *("max_message", "max_timeout", "no_journal", "protocol", "timeout", "transport", "words"),
    }
)
"""The options that are fully checked here or when the command line is parsed."""


def start_server(given: Words) -> None:
    """Starts the server of a plain command line, so that it starts while the command loads its modules.

    It does nothing if the command or this function may still report an error; the command then reports it.
    """
    if any(value for name, value in vars(given.options).items() if name not in _CHECKED):
        return
    # Imported late: a URL starts no process.
    from mcp_tui.transport.launching import start_early

    with suppress(Failure, McpError, UnicodeEncodeError):
        "".join((*given.words, *map("".join, given.pairs))).encode()
        where = required(given)
        if isinstance(where, StdioTarget):
            settings(given, server=where.name)
            start_early(where)
            load_asyncio()


def load_asyncio() -> None:
    """Loads asyncio without ``ssl``, which takes a fifth of that time. Only httpx uses TLS, not asyncio."""
    modules = cast("dict[str, object]", sys.modules)
    if not {"asyncio", "ssl"} & modules.keys():
        modules["ssl"] = None
        import_module("asyncio")
        del modules["ssl"]


def _only(config: Path) -> str:
    """Returns the name of the only server of a config file.

    Raises:
        Failure: it has none or several.
        ConfigError: it cannot be read.
    """
    # This loads the configs of all clients.
    from mcp_tui.config.servers import discover

    found = discover(config=config)
    if found.problems:
        raise ConfigError(found.problems[0])
    defined = [each for each in found.servers if not each.shadowed]
    names = [each.name for each in defined if not each.disabled]
    if len(names) == 1:
        return names[0]
    none = f"No enabled server in {config}."
    if not names and defined:
        none = f"{none} Use a disabled one with --server NAME: {', '.join(each.name for each in defined)}."
    raise Failure(f"{config} defines {', '.join(names)}. Choose one with --server NAME." if names else none)


def _headers(given: list[str]) -> list[tuple[str, str]]:
    """Returns the given headers, each name as it was first written."""
    pairs = _pairs(given, ":", "-H")
    first = {name.lower(): name for name, _ in reversed(pairs)}
    return [(first[name.lower()], value) for name, value in pairs]


def _pairs(given: list[str], separator: str, option: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for text in given:
        name, found, value = text.partition(separator)
        if not found or not name.strip():
            form = "KEY=VALUE" if separator == "=" else "'Name: value'"
            raise Failure(f"Invalid {option} {text!r}. Use {form}.")
        if separator == ":":
            name, value = name.strip(), value.strip()
            if fault := header_fault(name, value):
                raise Failure(f"{fault}. Replace or remove that character.")
        pairs.append((name, value))
    return pairs


def recall(given: Words) -> tuple[SavedCall, Words]:
    """Returns the saved call that the words name, and the words with its server if they name none.

    Raises:
        ConfigError: there is none, or there are several.
        Failure: its server was not saved.
    """
    # Imported late: only for --saved.
    from mcp_tui.config import saved

    if given.options.session is not None:
        return saved.find(loaded().settings.saved_folder, given.options.saved), given
    if given.options.server is not None:
        # its inputs are asked for once, when it starts
        kept = saved.SavedServer(name=given.options.server)
    else:
        where = target(given)
        kept = None if where is None else saved.server_of(where)
    call = saved.find(loaded().settings.saved_folder, given.options.saved, kept)
    return call, _on(call.server, given) if kept is None else given


def _on(server: SavedServer, given: Words) -> Words:
    options = given.options
    if not server.found:
        text = "This call was saved without its server, which had a secret in it. Add a URL, -- COMMAND, or --server NAME."
        raise Failure(text)
    if server.name == "demo":
        options.demo = True
        return given
    if server.name:
        options.server = server.name
        return given
    if server.url:
        _lacking(server.headers, [each.partition(":")[0].strip() for each in options.headers], "-H '{}: …'")
        if options.transport == "auto":
            options.transport = server.transport
        if not options.client_cert:
            options.client_cert, options.client_key = (
                server.client_cert,
                options.client_key or server.client_key,
            )
        return given._replace(url=server.url)
    options.cwd = options.cwd or server.cwd or None
    have = [f"{name}={os.environ[name]}" for name in server.env if name in os.environ]
    options.env = [*have, *options.env]  # given ones override saved ones
    _lacking(server.env, [each.partition("=")[0] for each in options.env], "-e {}=…")
    return given._replace(command=list(server.command))


def _lacking(names: tuple[str, ...], given: list[str], option: str) -> None:
    """Warns about values that were neither saved nor given."""
    have = {name.lower() for name in given}
    for name in names:
        if name.lower() not in have:
            warn(f"The value of {name!r} was not saved with the call. Add {option.format(name)}")
