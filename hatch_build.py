"""Build hooks: README with absolute links, project URLs, the man page, and the commit of what is no release."""

# pyright: basic
# hatchling has no complete types.

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


def absolute(text: str, repository: str) -> str:
    """Return Markdown with its relative links and pictures below ``repository``; unchanged where that is empty."""
    if not repository:
        return text
    text = re.sub(r"(!\[[^]]*\]\()(?!https?:|#)", rf"\g<1>{repository}/raw/main/", text)
    return re.sub(r"((?<!!)\[[^]]*\]\()(?!https?:|#)", rf"\g<1>{repository}/blob/main/", text)


class ReadmeHook(MetadataHookInterface):
    """Sets ``readme`` and ``urls``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what pyproject.toml declares as dynamic."""
        repository = self.config["repository"].rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, repository)}
        metadata["urls"] = {}
        if repository:
            metadata["urls"] = {
                "Repository": repository,
                "Changelog": f"{repository}/blob/main/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }


def manual(version: str, description: str) -> Iterator[str]:
    """Yield the lines of the man page (roff), from the tables that help and the command line itself are made from."""
    options, words = import_module("mcp_tui.cli.options"), import_module("mcp_tui.cli.manual")
    yield f'.TH MCP\\-TUI 1 "" "mcp\\-tui {version}" "User Commands"'
    yield ".nh\n.ad l"
    yield f".SH NAME\nmcp\\-tui \\- {_roff(description)}"
    yield f".SH SYNOPSIS\n{_roff(words.usage(None))}"
    yield ".SH DESCRIPTION\nWithout a command, mcp\\-tui opens the workbench."
    yield "Options and arguments may come in any order. Put a stdio server's command after \\-\\-."
    yield ".SH OPTIONS\nOf the workbench, and of every command that connects:"
    yield from _options(options.groups_of(None))
    for title, lines in words.GROUPS.items():
        yield f'.SH "COMMANDS: {title.upper()}"'
        for name in ", ".join(lines).split(", "):
            spec = options.COMMANDS[name]
            yield f'.SS "{_roff(f"{name} {spec.words}".strip())}"\n{_roff(spec.does[0].upper() + spec.does[1:])}.'
            if spec.connects:
                yield "Takes the options above, too."
            yield from _options((*spec.groups, *((options.JSON,) if spec.prints else ())))
    yield '.SH "WHICH CHECK DO I NEED?"'
    for asked, (check, needs, _) in words.CHECKS.items():
        yield f".TP\n{_roff(asked)}\n\\fB{_roff(check)}\\fR (needs {_roff(needs)})"
    yield '.SH "EXIT STATUS"'
    for status in import_module("mcp_tui.cli.output").Exit:
        yield f".TP\n{status.value}\n{_roff(status.name.lower().replace('_', ' '))}"
    yield ".SH EXAMPLES"
    for lines in words.EXAMPLES.values():
        for line, said in lines.items():
            yield f".PP\n.EX\n{f'# {_roff(said)}' * bool(said)}\n{_roff(line)}\n.EE".replace("\n\n", "\n")
    for title, lines in (("FILES", words.FILES), ("ENVIRONMENT", words.ENVIRONMENT)):
        yield f".SH {title}"
        yield from (f".TP\n{_roff(name)}\n{_roff(said)}" for name, said in lines.items())
    yield ".SH SEE ALSO\n.BR npx (1),\n.BR uvx (1),\n.BR docker (1)"
    yield f".PP\n{_roff(words.SEE_ALSO)}"


def _options(groups: tuple[Any, ...]) -> Iterator[str]:
    for group in groups:
        if group.title:
            yield f".PP\n{_roff(group.title[0].upper() + group.title[1:])}:"
        for option in group.options:
            value = option.how.get("metavar", "|".join(option.how.get("choices", ())))
            value = value if isinstance(value, str) else " ".join(value)
            names = ", ".join(f"\\fB{_roff(name)}\\fR" for name in option.names)
            yield f".TP\n{names} {_roff(value)}\n{_roff(option.how['help'])}"


def _roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq").replace("…", "\\&...")
    text = text.replace("'", "\\(aq").replace("~", "\\(ti")
    return f"\\&{text}" if text.startswith(".") else text


class FilesHook(BuildHookInterface):
    """Adds the man page, and ``mcp_tui/COMMIT`` where no tag says that this is a release."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files and name them to the builder; an editable installation asks git itself."""
        sys.path.insert(0, self.root)
        try:
            commit = import_module("mcp_tui.cli.version").commit_of(Path(self.root))
            lines = manual(self.metadata.version, self.metadata.core.description)
            page = "\n".join(lines) + "\n"
        finally:
            sys.path.remove(self.root)
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        if self.target_name == "wheel":
            (folder / "mcp-tui.1").write_text(page, encoding="utf-8")
            build_data["shared_data"][str(folder / "mcp-tui.1")] = "share/man/man1/mcp-tui.1"
        if commit and version != "editable":
            (folder / "COMMIT").write_text(f"{commit}\n", encoding="utf-8")
            build_data["force_include"][str(folder / "COMMIT")] = "mcp_tui/COMMIT"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the files again."""
        self._folder.cleanup()
