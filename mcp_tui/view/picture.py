"""Images that a server sent, as lines of half blocks: a cell is one pixel wide and two high.

The bytes are hostile. They are decoded only if they are of a format of :data:`IMAGE_FORMATS`, whatever type was declared,
and within bounds that are checked before the decoder sees a pixel; whatever it raises becomes one sentence. Only colours
reach the terminal. Pillow, which the extra ``images`` installs, is loaded when the first image is decoded.
"""

from __future__ import annotations

import base64
import io
import math
import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Final

from mcp_tui.client.results import NotDecoded, Part, PartKind, content
from mcp_tui.protocol.values import frozen
from mcp_tui.view import durations
from mcp_tui.view.lines import Line, Segments
from mcp_tui.view.pages import TextPage
from mcp_tui.view.text import SafeText, brief, clean, join, safe, words

if TYPE_CHECKING:
    from PIL.Image import Image

BYTES: Final = 16_000_000
"""Bytes of an image that is drawn."""

PIXELS: Final = 40_000_000
"""Pixels of an image that is drawn. A decoder makes room for all of them."""

PIXELS_WEBP: Final = 16_000_000
"""The same of a WebP: its decoder hands over all pixels at once, and the screen stands still meanwhile."""

SCANNED: Final = 2_000_000_000
"""Pixels that all scans of a JPEG pass over together: a scan of a few bytes passes over the whole image."""

READS: Final = 1_000_000
"""Reads that a decoder may make: empty chunks and frames cost one each."""

KEPT_PIXELS: Final = (800, 4000)
"""Pixels that are kept, across and down: more than any terminal shows."""

IMAGE_FORMATS: Final = {
    "PNG": (rb"\x89PNG\r\n\x1a\n", ("image/png", "image/apng", "image/x-png")),
    "JPEG": (rb"\xff\xd8\xff", ("image/jpeg", "image/jpg", "image/pjpeg")),
    "GIF": (rb"GIF8[79]a", ("image/gif",)),
    "WebP": (rb"RIFF....WEBP", ("image/webp",)),
    "BMP": (rb"BM", ("image/bmp", "image/x-bmp", "image/x-ms-bmp")),
}
"""Each format that is drawn: the first bytes, and the types that it may be declared as."""

_CHUNKS: Final = frozenset({b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"acTL", b"fcTL", b"fdAT"})
"""Chunks of a PNG that hold its pixels."""

Colour = tuple[int, int, int]
"""Red, green and blue, each to 255."""


class NotDrawn(ValueError):
    """An image is not drawn. The text is the reason, a clause."""


# -- before it is decoded --------------------------------------------------------------------------------------


def format_of(data: bytes) -> str:
    """Returns the format of :data:`IMAGE_FORMATS` that the first bytes belong to; empty for any other."""
    return next((name for name, (start, _) in IMAGE_FORMATS.items() if re.match(start, data, re.DOTALL)), "")


def pictured(part: Part) -> bool:
    """Whether a part is an image by its type or, if it came as mere data, by its first bytes."""
    return part.sort is PartKind.IMAGE or (part.sort is PartKind.BLOB and _begins_as(part) not in ("", "BMP"))


def _begins_as(part: Part) -> str:
    try:
        return format_of(base64.b64decode(part.data[:64]))
    except ValueError:
        return ""


def remarks(part: Part) -> list[SafeText]:
    """Returns a remark if the declared type is not that of the bytes."""
    found = _begins_as(part) if pictured(part) else ""
    declared = part.mime.partition(";")[0].strip().lower()
    if not found or declared in IMAGE_FORMATS[found][1]:
        return []
    said = f"declared as {brief(declared, 60)}" if declared else "no declared type"
    return [safe("{}, and its bytes are {}", said, found)]


# -- decoding --------------------------------------------------------------------------------------------------


@frozen
class Picture:
    """A decoded image: its original size, and its first frame, reduced to :data:`KEPT_PIXELS`."""

    width: int
    height: int
    animated: bool
    pixels: Image

    def said(self) -> list[SafeText]:
        """Returns its size, and that only the first frame is shown."""
        said = safe("{:,} × {:,} pixels", self.width, self.height)
        return [said, words("animated, the first frame")] if self.animated else [said]


class _Reader(io.BytesIO):
    """Bytes that a decoder may read :data:`READS` times."""

    left = READS

    def read(self, size: int | None = -1, /) -> bytes:
        self.left -= 1
        if self.left < 0:
            raise NotDrawn("too many pieces")
        return super().read(size)


def decoded(part: Part) -> Picture:
    """Decodes an image. This can take seconds: it needs a thread of its own, one at a time.

    Raises:
        NotDrawn: it is too large, broken, or of another format.
    """
    if part.size > BYTES:
        raise NotDrawn(f"it has more than {durations.size(BYTES)}")
    try:
        data = content(part)
    except NotDecoded as error:
        raise NotDrawn(str(error)) from None
    name = format_of(data)
    if not name:
        *most, last = IMAGE_FORMATS
        raise NotDrawn(f"not a {', '.join(most)}, or {last}")
    try:
        return _decoded(data, name)
    except NotDrawn:
        raise
    except Exception:  # noqa: BLE001 - whatever hostile bytes do to a decoder, it is one sentence
        raise NotDrawn(f"its {name} is broken") from None


def _decoded(data: bytes, name: str) -> Picture:
    # An extra, which may be missing.
    from PIL import Image, ImageOps

    # Else Pillow would load every format that it knows.
    import_module(f"PIL.{name if name == 'WebP' else name.capitalize()}ImagePlugin")
    most = PIXELS_WEBP if name == "WebP" else PIXELS
    Image.MAX_IMAGE_PIXELS = most
    warnings.filterwarnings("ignore", module="PIL")  # what it warns of would be written over the screen
    warnings.filterwarnings("error", category=Image.DecompressionBombWarning)
    too_large = NotDrawn(f"it has more than {most // 1_000_000} million pixels")
    try:
        image = Image.open(_Reader(_bare(data) if name == "PNG" else data), formats=(name,))
        width, height = image.size
        if width * height > most:
            raise too_large
        if name == "JPEG" and data.count(b"\xff\xda") * width * height > SCANNED:
            raise NotDrawn("too many JPEG scans for its size")
        image.draft("RGB", _within(width, height, *KEPT_PIXELS))
        image.load()
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise too_large from None
    pixels = _upright(image)
    pixels.thumbnail(KEPT_PIXELS, Image.Resampling.BOX)
    turned = ImageOps.exif_transpose(pixels)
    if turned.size != pixels.size:
        width, height = height, width
    animated = True
    with suppress(Exception):  # the first frame is whole, whatever is wrong with the next
        animated = bool(getattr(image, "is_animated", False))
    return Picture(width, height, animated, turned.convert("RGBA"))


def _bare(data: bytes) -> bytes:
    """Returns a PNG without chunks such as profiles and texts: an error in one does not harm the pixels."""
    kept, at = [data[:8]], 8
    while at < len(data):
        end = at + 12 + int.from_bytes(data[at : at + 4])
        if data[at + 4 : at + 8] in _CHUNKS:
            kept.append(data[at:end])
        at = end
    return b"".join(kept)


def _within(width: int, height: int, across: int, down: float) -> tuple[int, int]:
    """Returns the largest size of the same shape that fits, never larger than the image."""
    scale = min(1.0, across / width, down / height)
    return max(1, round(width * scale)), max(1, round(height * scale))


def _upright(image: Image) -> Image:
    """Returns an image in colours of eight bits, with its transparency."""
    if image.mode.startswith("I"):  # sixteen bits of grey
        scaled = image.convert("I").point(lambda value: value * (1 / 256))  # pyright: ignore[reportUnknownMemberType]
        return scaled.convert("L")
    mode = "RGBA" if image.has_transparency_data else "RGB"
    return image if image.mode == mode else image.convert(mode)


# -- drawing ---------------------------------------------------------------------------------------------------


class Drawing:
    """A picture in half blocks over ``ground``, reduced to ``cells`` across and ``rows`` down."""

    def __init__(self, picture: Picture, cells: int, ground: Colour, rows: int | None = None) -> None:
        # An extra, which may be missing.
        from PIL import Image

        size = _within(*picture.pixels.size, max(1, cells), math.inf if rows is None else 2 * rows)
        fitted = picture.pixels.resize(size, Image.Resampling.BOX)  # pyright: ignore[reportUnknownMemberType]
        self._width = size[0]
        self.count = -(-size[1] // 2)
        """The number of lines."""
        canvas = Image.new("RGBA", (size[0], 2 * self.count))
        canvas.paste(fitted)
        self._alpha = canvas.getchannel("A").tobytes()
        below = Image.new("RGBA", canvas.size, (*ground, 255))
        self._colours = Image.alpha_composite(below, canvas).convert("RGB").tobytes()

    def line(self, number: int) -> Segments:
        """Returns one line. Its tones are colours: ``#rrggbb``, or ``#rrggbb on #rrggbb``."""
        start = 2 * number * self._width
        cells = (self._cell(at, at + self._width) for at in range(start, start + self._width))
        return tuple((clean(glyph * len([*run])), tone) for (glyph, tone), run in groupby(cells))

    def _cell(self, upper: int, lower: int) -> tuple[str, str]:
        top, bottom = (
            f"#{self._colours[3 * at : 3 * at + 3].hex()}" if self._alpha[at] else "" for at in (upper, lower)
        )
        if top:
            return "▀", f"{top} on {bottom}" if bottom else top
        return ("▄", bottom) if bottom else (" ", "")


class ImagePage(TextPage):
    """The facts of an image, and below them the image, drawn over ``ground``."""

    def __init__(self, said: Sequence[SafeText], picture: Picture, ground: Colour) -> None:
        super().__init__("\n".join([*said, ""]))
        self._picture = picture
        self._ground = ground
        self._drawn: Drawing | None = None

    @property
    def count(self) -> int:
        return super().count + (self._drawn.count if self._drawn else 0)

    def lay_out(self, cells: int) -> None:
        super().lay_out(cells)
        self._drawn = Drawing(self._picture, cells, self._ground)

    def line(self, number: int) -> Line:
        below = number - super().count
        return super().line(number) if below < 0 or self._drawn is None else Line(self._drawn.line(below))


def facts(part: Part, picture: Picture | None = None) -> list[SafeText]:
    """Returns what is known of an image or other data: type, size, pixels, remarks, and URI."""
    known = join((brief(part.mime, 60) or words("no type"), durations.size(part.size)), ", ")
    said = [known, *([] if picture is None else picture.said()), *remarks(part)]
    return [*said, brief(part.uri, 400)] if part.uri else said
