"""The keys of dialogs, and of screens that are not a session."""

from __future__ import annotations

from typing import Final

from mcp_tui.tui.keys.key import BUTTONS, LIST, Key, Scope

# fmt: off
DIALOG: Final = Scope("dialog", "Every dialog", within=("everywhere",), field=True, keys=(
    Key("app.back", "escape", "close", "Back", "closes it; what was typed or waits is not lost"),
    Key("app.interrupt", "ctrl+c", "interrupt", "Copy or close", "copies selected text; else closes it"),
))

REASON: Final = Scope("reason", "The reason of a cancel", within=("dialog",), field=True, keys=(
    Key("reason.cancel", "enter", "cancel", "Cancel it", "cancel with this reason"),
    Key("app.interrupt", "ctrl+c", "cancel", "Cancel it", "cancel it as well"),
    Key("reason.earlier", "up", "recall(1)", "Recent reason", "a recent reason"),
    Key("reason.later", "down", "recall(-1)", "Later reason", "the reason after it"),
))

OVERDUE: Final = Scope("overdue", "Overdue requests", within=("dialog",), field=True, keys=(
    Key("overdue.cancel", "enter", "choose('cancel_now')", "Cancel now", "cancel them now"),
    Key("app.interrupt", "ctrl+c", "choose('cancel_now')", "Cancel now", "cancel them now as well"),
    Key("overdue.wait", "f2,+", "choose('wait_30')", "Wait 30 s more", "30 seconds more; a character only outside of the reason"),
    Key("overdue.wait-on", "f3,w", "choose('wait_forever')", "No limit", "wait without a limit"),
    Key("overdue.next", "down,right", "move(1)", "Next", "the next button"),
    Key("overdue.previous", "left", "move(-1)", "Previous", "the button before"),
    Key("overdue.reason", "up", "edit", "Reason", "to the reason"),
))

ANSWER: Final = Scope("answer", "A question with two answers: confirm, consent", within=("dialog",), taken=BUTTONS, keys=(
    Key("answer.yes", "y", "answer(True)", "Yes", "yes"),
    Key("answer.no", "n", "answer(False)", "No", "no"),
    Key("answer.previous", "left", "move(-1)", "Previous", "the button before"),
    Key("answer.next", "right", "move(1)", "Next", "the next button"),
    Key("answer.up", "up", "scroll(-1)", "Up", "scroll back what is at stake"),
    Key("answer.down", "down", "scroll(1)", "Down", "scroll on"),
))

CHOOSE: Final = Scope("choose", "A list below a field: servers, tools, cancellations of all sessions", within=("dialog", "picker", "call"), field=True, keys=(
    Key("choose.up", "up", "choose('cursor_up')", "Up", "the line above"),
    Key("choose.down", "down", "choose('cursor_down')", "Down", "the line below"),
    Key("choose.page-up", "pageup", "choose('page_up')", "Page up", "a page up"),
    Key("choose.page-down", "pagedown", "choose('page_down')", "Page down", "a page down"),
))

PICKER: Final = Scope("picker", "Which server?", within=("everywhere",), field=True, keys=(
    Key("app.back", "escape", "close", "Back", "clears the text; else goes back"),
    Key("app.interrupt", "ctrl+c", "interrupt", "Copy or quit", "copies selected text; else goes back, or quits"),
))

CALL: Final = Scope("call", "A call", within=("dialog",), field=True, keys=(
    Key("call.arguments", "enter", "arguments", "Arguments", "in the list: the arguments of the tool chosen"),
    Key("call.send", "ctrl+s", "send", "Send", "send the call"),
    Key("call.earlier", "ctrl+r", "recall", "Earlier arguments", "arguments of earlier calls"),
    Key("form.json", "ctrl+t", "json", "JSON", "the whole as JSON, and back to fields"),
))

QUESTION: Final = Scope("question", "A question of the server's", within=("dialog",), field=True, keys=(
    # no priority: what is typed ahead of it must have reached its field
    Key("question.send", "ctrl+s", "accept", "Send", "send the answer"),
    Key("question.decline", "ctrl+d", "decline", "Decline", "say no", priority=True),
    Key("question.cancel", "ctrl+x", "cancel_question", "Dismiss", 'dismiss without deciding (MCP "cancel")', priority=True),
    Key("question.copy", "ctrl+y", "copy_draft", "Copy", "copy what was typed, or the URL", priority=True),
    Key("question.back", "pageup", "scroll_words(-1)", "Back", "scroll the text up", priority=True),
    Key("question.on", "pagedown", "scroll_words(1)", "On", "scroll the text down", priority=True),
))

LINK: Final = Scope("link", "A question that leads to a URL", within=("question",), taken=BUTTONS, keys=(
    Key("link.open", "o", "open", "Open", "open the URL in a browser, and accept"),
    Key("link.copy", "y", "copy_draft", "Copy", "copy the URL"),
))

SIGN_IN: Final = Scope("sign-in", "A sign-in", within=("dialog",), field=True, keys=(
    Key("sign-in.open", "enter", "open", "Open", "open the URL in a browser, or use the URL that was pasted"),
    Key("sign-in.copy", "ctrl+y", "copy_url", "Copy", "copy the URL", priority=True),
    Key("sign-in.decline", "ctrl+d", "decline", "Do not sign in", "do not sign in; what waits for it fails", priority=True),
))

RESULT: Final = Scope("result", "A result", within=("dialog",), keys=(
    Key("result.next", "tab,right", "part(1)", "Next part", "the next part"),
    Key("result.previous", "shift+tab,left", "part(-1)", "Previous part", "the part before"),
    Key("result.switch", "t", "switch", "Text or tree", "JSON as a tree, or as the text that it came as"),
    Key("result.copy", "y", "copy", "Copy", "copy the result"),
    Key("result.save", "w", "save", "Save", "write the part under the cursor to a file"),
))

MENU: Final = Scope("menu", "A menu, and the list of recordings", within=("dialog",), taken=LIST, keys=(
    Key("menu.close", "q", "close", "Back", "closes it"),
))

SERVERS: Final = Scope("servers", "The list of servers", within=("dialog",), taken=LIST, keys=(
    Key("servers.close-list", "q,v", "close", "Back", "closes the list"),
    Key("servers.add", "a", "choose('add')", "Add", "one more server"),
    Key("servers.close", "x,delete", "choose('close')", "Close it", "close the server"),
    Key("servers.menu", "S", "choose('menu')", "Reconnect or stop it", "reconnect or stop the server"),
    Key("servers.1", "1", "number(1)", "Show it", "the first of them; each has its digit"),
    Key("servers.2", "2", "number(2)", "Show it", "the second"),
    Key("servers.3", "3", "number(3)", "Show it", "the third"),
    Key("servers.4", "4", "number(4)", "Show it", "the fourth"),
    Key("servers.5", "5", "number(5)", "Show it", "the fifth"),
    Key("servers.6", "6", "number(6)", "Show it", "the sixth"),
    Key("servers.7", "7", "number(7)", "Show it", "the seventh"),
    Key("servers.8", "8", "number(8)", "Show it", "the eighth"),
    Key("servers.9", "9", "number(9)", "Show it", "the ninth"),
))

PROBE: Final = Scope("probe", "The probe", within=("everywhere",), keys=(
    Key("probe.start", "enter", "start", "Start", "start", footer=1, priority=True),
    Key("probe.again", "r", "again", "Again", "once more", footer=2),
    Key("probe.copy", "y", "copy", "Copy as Markdown", "copy the report as Markdown", footer=3),
    Key("probe.save", "w", "save", "Save", "write it to a file", footer=4),
    Key("probe.other", "tab,shift+tab", "other_pane", "Next pane", "to the evidence, and back to the rules"),
    Key("app.help", "?", "help", "Help", "these keys", footer=6),
    Key("app.interrupt", "ctrl+c", "interrupt", "Copy, stop or back", "copies selected text; else stops the probe; else goes back"),
    Key("app.back", "escape", "close", "Back", "back; while the probe is at work it asks for a second press", footer=5),
))

HELP: Final = Scope("help", "This help", within=("dialog",), keys=(
    Key("help.close", "q,?", "close", "Back", "closes it as well"),
))
# fmt: on
