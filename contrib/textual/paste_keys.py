"""Keys within a bracketed paste: prints what Textual's parser makes of three pastes. Only ``Paste`` events are expected."""

from textual._xterm_parser import XTermParser

PASTES = {
    "an escape in the middle": "\x1b[200~one\x1btwo\x1b[201~",
    "two escapes": "\x1b[200~one\x1b\x1btwo\x1b[201~",
    "an escape at the end": "\x1b[200~one\x1b\x1b[201~",
}
for what, text in PASTES.items():
    parser = XTermParser()
    events = [*parser.feed(text), *parser.tick()]
    print(f"{what}: {', '.join(getattr(event, 'key', repr(event)) for event in events)}")
