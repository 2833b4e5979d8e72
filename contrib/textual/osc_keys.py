"""The terminal's answer to OSC 11: prints what Textual's parser makes of it. No ``Key`` is expected."""

from textual import events
from textual._xterm_parser import XTermParser

parser = XTermParser()
found = [*parser.feed("\x1b]11;rgb:ffff/ffff/ffff\x1b\\"), *parser.tick()]
print("".join(event.character or "?" for event in found if isinstance(event, events.Key)), len(found))
