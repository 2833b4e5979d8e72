"""``tap install``, ``tap uninstall``, and ``tap status``: manage the taps in the config files of clients."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, Final

from mcp_tui import clock
from mcp_tui.cli.grammar import Words
from mcp_tui.cli.options import options_of
from mcp_tui.cli.output import Exit, Failure, confirm, out, show, table, warn
from mcp_tui.cli.target import NeedsConsent, in_force, require_consent
from mcp_tui.client.session_store import shown
from mcp_tui.config import consent
from mcp_tui.config.definitions import Definition
from mcp_tui.config.files import ConfigError, guess
from mcp_tui.config.once_policy import OncePolicy
from mcp_tui.config.own_program import tap_problem, tap_version
from mcp_tui.config.servers import discover, find
from mcp_tui.config.sharing import Sharing, sharing
from mcp_tui.config.sources import CLIENTS, PLAIN_FILE, REGISTRY, Place, Source, Surroundings, place_of
from mcp_tui.config.tap_words import split
from mcp_tui.journal import index
from mcp_tui.journal.journal_files import journal_folder
from mcp_tui.protocol import units
from mcp_tui.protocol.states import Limits
from mcp_tui.protocol.values import frozen
from mcp_tui.tap.installation import ConfigEntry, Edit, NotEditable, command_lines, options, own_path
from mcp_tui.tap.serve_entry import SERVER_NAME, add, blank, entry_lines, future, own_places, remove
from mcp_tui.view.text import clean

FITTING_OPTIONS: Final = {
    "install": {"all", "client", "config", "yes", "timeout", "max_timeout", "name"},
    "uninstall": {"all", "client", "config", "yes", "serve"},
    "status": {"client", "config", "json"},
    "install --serve": {"all", "client", "config", "yes", "name", "serve", "allow_cancel"},
}
"""The options of each of the three, and of ``install`` with ``--serve``."""


@frozen
class Row:
    """The result for one server: a change of its file, or the reason why there is none, with lines to write there."""

    server: Definition
    edit: Edit | None = None
    why: str = ""
    lines: tuple[str, ...] = ()
    fine: bool = False
    """Nothing needs to be done."""


def run(given: Words) -> int:
    """Runs one of the three; returns the exit status.

    Raises:
        Failure: the words do not fit together, there is no such server, it cannot be edited, or nobody agreed.
    """
    chosen = given.options
    does, *names = given.words
    serve = chosen.serve or (does == "install" and chosen.allow_cancel)
    what = f"{does} --serve" if serve and does == "install" else does
    extra = names if does == "status" or chosen.serve else ()
    if others := [*(given.command or ()), *filter(None, [given.url]), *extra]:
        raise Failure(f"Unexpected argument {others[0]!r}. See mcp-tui tap --help.")
    for option in options_of("tap"):
        if option.dest not in FITTING_OPTIONS[what] and getattr(chosen, option.dest) != option.default:
            raise Failure(f"{option.names[-1]} does not go with tap {what}.")
    if does == "status":
        return _status(given)
    if not (names or chosen.all or chosen.client is not None or (chosen.serve and chosen.config)):
        if chosen.serve:
            raise Failure(
                f"No client to {does} mcp-tui serve for. Use --client NAME, --all, or --config FILE."
            )
        raise Failure(f"No server to {does} a tap for. Use tap {does} NAME, --client NAME, or --all.")
    adds = chosen.serve and does == "install"
    rows = list(_new_rows(given) if adds else _rows(given, does, _servers(given, names)))
    _report(rows)
    changes = [each for each in rows if each.edit is not None]
    if not changes:
        if (names or adds) and (left := next((each for each in rows if not each.fine), None)):
            is_sentence = left.why[:1].isupper()
            raise Failure(left.why if is_sentence else f"{_named(left.server)} {left.why}", lines=left.lines)
        out("Nothing changed.")
        return Exit.COMPLETED
    for each in changes if does == "install" and not adds else ():
        limits = in_force(warns=False).tap.limits_of(each.server.name, "", chosen.timeout, chosen.max_timeout)
        if text := _unreachable(each.server, limits):
            warn(f"{_named(each.server)}: {text}.")
    last = {each.edit.file.resolve(): each.edit for each in changes if each.edit is not None}
    if len(changes) == 1:
        for line in changes[0].edit.diff() if changes[0].edit else ():
            out(clean(line))
    what = f"{_count(len(changes), 'entry', 'entries')} in {_count(len(last), 'file', 'files')}"
    if not (chosen.yes or confirm(f"Change {what}?", "write it in a script")):
        raise Failure("Nothing was written.")
    return _write(changes, last.values(), what)


def _count(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def _named(server: Definition) -> str:
    return f"Server {server.name!r} ({server.place})"


# -- the servers -------------------------------------------------------------------------------------------------


def _servers(given: Words, names: list[str]) -> list[Definition]:
    """Returns the servers that the words name, each entry once."""
    config = Path(given.options.config) if given.options.config else None
    found = discover(config=config, all_projects=True)
    if config is not None and found.problems:
        words = [own_path(), "tap", "--", "COMMAND", "ARGS"]
        place = place_of(config, Surroundings.now())
        raise Failure(
            f"{found.problems[0]}. Put the tap there by hand, in front of the server's command:",
            lines=command_lines(config, place.source.form, [*words]),
        )
    clients = _clients(given.options.client)
    for problem in () if given.options.client else found.problems:
        warn(f"Skipped {problem}.")
    entries = {
        (each.file.resolve(), each.way): each
        for each in reversed(found.servers)
        if each.source in clients or each.source is PLAIN_FILE
    }
    servers = list(reversed(entries.values()))
    for name in names:
        if not any(each.name == name for each in servers):
            find(name, config)  # its error lists the names
            raise Failure(f"No server {name!r} in the files of {', '.join(each.title for each in clients)}.")
    if not servers and not found.problems:
        warn(_no_servers(config))
    if given.options.serve:
        return [each for each in servers if each.serves]
    return [each for each in servers if not names or each.name in names]


def _no_servers(config: Path | None) -> str:
    return f"No servers in {config}." if config else "No servers in the config files. Use --config FILE."


def _clients(name: str | None) -> list[Source]:
    """Returns the client with this name or id, or those whose name or id begins with it; all without a name."""
    known = [each for each in CLIENTS if each is not REGISTRY]
    if name is None:
        return known
    named = {each.id: (each.id, each.title.lower()) for each in known}
    word = name.lower()
    exact = [each for each in known if word in named[each.id]]
    if found := exact or [
        each for each in known if word and any(map(str.startswith, named[each.id], (word, word)))
    ]:
        return found
    close = guess(word, (each for names in named.values() for each in names))
    raise Failure(f"Unknown client {name!r}.{close or ' Choose from: ' + ', '.join(named) + '.'}")


# -- changes -----------------------------------------------------------------------------------------------------


def _rows(given: Words, does: str, servers: list[Definition]) -> Iterator[Row]:
    """Yields the result for each server. The changes of one file are adjacent."""
    program = own_path() if does == "install" else ""
    edits: dict[Path, Edit] = {}
    shared_with = cache(sharing)
    files = list(dict.fromkeys(each.file for each in servers))
    # An entry of a list is removed last: those after it get other numbers.
    for server in sorted(servers, key=lambda each: (files.index(each.file), each.serves)):
        if row := _left_alone(given, does, server):
            yield row
            continue
        file = server.file.resolve()
        try:
            shared = shared_with(server.file) if does == "install" else Sharing.OWN
            _refuse_shared(given, server.file, shared)
            named_tap = server.tapped and given.words[1:] and not given.options.serve
            if server.serves and does == "uninstall" and not named_tap:
                edits[file] = remove(server, edits.get(file))
                yield Row(server, edits[file])
                continue
            entry = ConfigEntry(server, edits.get(file))
            if does == "install":
                if not given.options.config:  # nothing is started, and a person named the file
                    require_consent(given, server)
                limits = given.options.timeout, given.options.max_timeout
                edit = entry.install(program, options(*limits, given.options.name or server.name))
            else:
                edit = entry.uninstall()
        except NeedsConsent as error:
            short = f"needs approval: mcp-tui servers --trust {shlex.quote(server.name)}"
            yield Row(server, why=str(error) if given.words[1:] else short)
        except NotEditable as error:
            yield Row(server, why=str(error), lines=tuple(error.lines))
        except (ConfigError, Failure) as error:
            yield Row(server, why=str(error))
        else:
            edits[file] = edit
            yield Row(server, edit, shared.value * (shared is not Sharing.OWN))
            for text in entry.repeated:
                warn(f"{server.file}: {text}. Only the last one is used, and only that is changed.")


def _refuse_shared(given: Words, file: Path, shared: Sharing) -> None:
    if shared in (Sharing.TRACKED, Sharing.MAYBE_TRACKED) and not given.options.config:
        raise NotEditable(
            f"has a file that {shared.value}: others would get a path of this machine. "
            f"Name the file to write it: --config {shlex.quote(str(file))}",
            [],
        )


def _new_rows(given: Words) -> Iterator[Row]:
    """Yields the result for each file that gets ``mcp-tui serve`` as a server, or has it."""
    chosen, around = given.options, Surroundings.now()
    name = chosen.name or SERVER_NAME
    words = [own_path(), "serve", *["--allow-cancel"] * chosen.allow_cancel]
    clients = _clients(chosen.client)
    for place in _places(given, clients, around):
        server = blank(place, name, around)
        try:
            entries = discover(around, place.path, all_projects=True).servers if place.path.exists() else []
            mine = [each for each in entries if each.scope == server.scope]
            server = future(place, name, words, around)
            if found := next((each for each in mine if each.serves), None):
                yield _has_serve(found, chosen.allow_cancel)
                continue
            if any(each.name == name for each in mine):
                raise ConfigError(f"has another server {name!r}: use --name")
            if not place.path.exists():
                raise NotEditable(
                    f"{server.source.title} has no {place.path}. Write this into it:", entry_lines(server)
                )
            shared = sharing(place.path)
            _refuse_shared(given, place.path, shared)
            yield Row(server, add(server), shared.value * (shared is not Sharing.OWN))
        except NotEditable as error:
            yield Row(server, why=str(error), lines=tuple(error.lines))
        except ConfigError as error:
            yield Row(server, why=str(error))


def _places(given: Words, clients: list[Source], around: Surroundings) -> list[Place]:
    """Returns the files that get ``mcp-tui serve``: of one client also its first one if none exists."""
    if given.options.config:
        return [place_of(Path(given.options.config), around)]
    found = [place for each in clients for place in own_places(each, around)]
    if not found and given.options.client:
        return around.own_files(clients[0])[:1]
    return found


def _has_serve(server: Definition, allow_cancel: bool) -> Row:
    allowed = "--allow-cancel" in server.command_words
    if allowed == allow_cancel:
        return Row(server, why="has mcp-tui serve", fine=True)
    which = "with" if allowed else "without"
    return Row(
        server, why=f"has mcp-tui serve {which} --allow-cancel: run mcp-tui tap uninstall --serve first"
    )


def _left_alone(given: Words, does: str, server: Definition) -> Row | None:
    """Returns why a server is left unchanged; ``None`` if it may be changed."""
    if server.tapped and does == "install":
        problem = tap_problem(server)
        return Row(server, why=_broken(server, problem) if problem else "has a tap", fine=not problem)
    if not server.tapped and not server.serves and does == "uninstall":
        return Row(server, why="has no tap", fine=True)
    if server.serves and does == "install" and not given.words[1:]:
        return Row(server, why="is mcp-tui itself, which answers at once", fine=True)
    if server.url and (given.options.all or given.options.client) and not given.words[1:]:
        return Row(server, why="has a URL: mcp-tui tap --http PORT URL", fine=True)
    return None


def _summary(row: Row) -> str:
    if row.edit:
        return row.server.summary
    # The lines to write are printed for a named server only, and so is the sentence that announces them.
    return row.why.partition(". ")[0] if row.lines else row.why.rstrip(".:")


def _report(rows: Iterable[Row]) -> None:
    """Prints the changes, and the unchanged servers with the reasons."""
    cells = [
        (
            "leave" if each.edit is None else "change",
            each.server.tool,
            each.server.name,
            each.server.around.short(each.server.place),
            _summary(each),
        )
        for each in rows
    ]
    for line in table([[clean(cell) for cell in row] for row in cells]):
        out(line)
    for file, shared in {
        each.server.file: each.why for each in rows if each.edit is not None and each.why
    }.items():
        warn(f"{file} {shared}: others get a path of this machine with it, and cannot start the server.")


def _write(changes: list[Row], edits: Iterable[Edit], what: str) -> int:
    agreed = [each.server for each in changes if not each.server.serves and consent.is_given(each.server)]
    written: dict[Path, Path] = {}
    problems: list[str] = []
    for edit in edits:
        try:
            written[edit.file] = edit.write()
        except ConfigError as error:
            problems.append(f"{error}.")
    for each in agreed:  # they start the same command as before
        now = discover(config=each.file, all_projects=True).servers
        for server in now if each.file in written else ():
            if server.way == each.way:
                consent.give(server)
    if written:
        done = "" if problems else f" {what[:1].upper()}{what[1:]}."
        out(f"Written.{done} Restart the clients.")
    for file, kept in written.items():
        out(clean(f"{file} as it was: {kept}"))
    if problems:
        raise Failure(problems[0], lines=problems[1:])
    return Exit.COMPLETED


def _broken(server: Definition, problem: str) -> str:
    name = shlex.quote(server.name)
    if not server.tapped:
        return f"has to be replaced ({problem}): mcp-tui tap uninstall --serve, then install it again"
    return (
        f"has a tap that has to be replaced: {problem}. "
        f"Run mcp-tui tap uninstall {name}, then mcp-tui tap install {name}"
    )


# -- status ------------------------------------------------------------------------------------------------------


def _status(given: Words) -> int:
    config = Path(given.options.config) if given.options.config else None
    found = discover(config=config, all_projects=True)
    if config is not None and found.problems:
        raise Failure(found.problems[0])
    clients = _clients(given.options.client)
    servers = [each for each in found.servers if each.source in clients or each.source is PLAIN_FILE]
    sessions = _sessions() if any(each.tapped for each in servers) else {}
    all_fields = [_fields(each, sessions) for each in servers]
    rows = [
        (
            each.name,
            f"{'broken ' if fields['problem'] else ''}{_kind(each)}",
            each.tool,
            each.around.short(each.place),
            _in_words(fields) if each.tapped else each.summary or each.problem,
        )
        for each, fields in zip(servers, all_fields, strict=True)
    ]
    show(all_fields, table([[clean(cell) for cell in row] for row in rows]), as_json=given.options.json)
    for each, fields in zip(servers, all_fields, strict=True):
        if fields["problem"]:
            warn(f"{_named(each)} {_broken(each, fields['problem'])}")
        if fields["unreachable"]:
            warn(f"{_named(each)}: {fields['unreachable']}.")
    for problem in found.problems:
        warn(problem)
    if not servers and not found.problems:
        warn(_no_servers(config))
    return Exit.COMPLETED


def _kind(server: Definition) -> str:
    return "tap" if server.tapped else "serve" if server.serves else "no tap"


def _sessions() -> dict[str, index.RecordedSession]:
    """Returns the last session of each server with a tap, by its command line."""
    return {each.target: each for each in index.sessions(journal_folder()) if each.client}


def _fields(server: Definition, sessions: dict[str, index.RecordedSession]) -> dict[str, Any]:
    problem = tap_problem(server)
    target = ""
    with suppress(ConfigError):
        launched = server.launched() if server.tapped else None
        target = shown(launched) if launched else ""
    last = sessions.get(target)
    calls = [each.wall for each in index.calls([last]) if each.method == "tools/call"] if last else []
    limits = _limits(server) if server.tapped else None
    return {
        "name": server.name,
        "tap": server.tapped,
        "serve": server.serves,
        "problem": problem or None,
        "tool": server.source.title,
        "scope": server.scope,
        "file": str(server.file),
        "line": server.line,
        "command": server.command_words or None,
        "url": server.url or None,
        "version": tap_version(server) if server.own_program and not problem else None,
        "last_session": clock.utc_stamp(last.wall) if last else None,
        "last_call": clock.utc_stamp(max(calls)) if calls else None,
        "client": last.client if last else None,
        "timeout": limits.timeout if limits else None,
        "max_timeout": limits.max_timeout if limits else None,
        "once": _once(server) if limits else None,
        "tools": _tools(server) if limits else None,
        "client_timeout": server.call_limit,
        "client_start_timeout": server.start_limit,
        "unreachable": _unreachable(server, limits) if limits else None,
    }


def _tap_options(server: Definition) -> tuple[str, tuple[float | None, ...]]:
    """Returns the name, timeout, and max timeout on the command line of a tap."""
    given = _tap_words(server)
    values = (given.get("timeout"), given.get("max_timeout"))
    return str(given.get("name") or server.name), tuple(
        each if isinstance(each, float) else None for each in values
    )


def _tap_words(server: Definition) -> dict[str, float | str]:
    words = ["".join(part for part in each if isinstance(part, str)) for each in server.tap]
    return split(words[words.index("tap") + 1 :])[1] or {}


def _limits(server: Definition, tool: str = "") -> Limits:
    """Returns the limits of a server's tap, from its command line or the settings."""
    name, limits = _tap_options(server)
    return in_force(warns=False).tap.limits_of(name, tool, *limits)


def _once(server: Definition, tool: str = "") -> bool | list[str] | None:
    """Returns which tools the tap of a server guards, or whether it guards one: by its command line, else the settings."""
    given = _tap_words(server).get("once")
    policy = OncePolicy(asdict(in_force(warns=False).tap)) if given is None else OncePolicy.given(str(given))
    name = _tap_options(server)[0]
    return policy.of_tools(name).get(tool) if tool else policy.tools(name)


def _tools(server: Definition) -> dict[str, dict[str, Any]]:
    """Returns what the settings say about single tools, which the command line overrides."""
    of_server = in_force(warns=False).tap.servers.get(_tap_options(server)[0])
    made = {tool: _limits(server, tool) for tool in (of_server.tools if of_server else ())}
    return {
        tool: {"timeout": each.timeout, "max_timeout": each.max_timeout, "once": _once(server, tool)}
        for tool, each in made.items()
    }


def _unreachable(server: Definition, limits: Limits) -> str | None:
    """Returns why a limit of the tap is never reached; ``None`` if it can be reached."""
    own = server.call_limit
    if not own:
        return None
    longer = {
        name: value
        for name, value in (("timeout", limits.timeout), ("max timeout", limits.max_timeout))
        if value and value >= own
    }
    if not longer:
        return None
    limits_text = " and ".join(f"{name} of {units.limit(value)}" for name, value in longer.items())
    return (
        f"{server.source.title} ends a call after {units.limit(own)}: the tap's {limits_text} "
        f"{'are' if len(longer) > 1 else 'is'} not reached, unless progress extends the call in the client"
    )


def _in_words(fields: dict[str, Any]) -> str:
    parts = [f"mcp-tui {fields['version'] or 'of an unknown version'}"]
    for tool, limits in (("", fields), *fields["tools"].items()):
        for name, value in (("timeout", limits["timeout"]), ("max timeout", limits["max_timeout"])):
            if value:
                parts.append(f"{tool}{' ' * bool(tool)}{name} {units.limit(value)}")
        if once := limits["once"]:
            tools = "" if once is True else f" for {' and '.join(once)}"
            parts.append(f"{tool}{' ' * bool(tool)}once{tools}")
    if fields["client_timeout"]:
        parts.append(f"{fields['tool']}'s own limit {units.limit(fields['client_timeout'])}")
    last = fields["last_call"] or fields["last_session"]
    parts.append(
        f"last {'call' if fields['last_call'] else 'session'} {last[:16]}Z" if last else "never started"
    )
    return ", ".join(parts)
