from __future__ import annotations

import io
import subprocess
import sys

import pytest
from PIL import Image

from mcp_tui.client.results import Part, PartKind
from mcp_tui.view.picture import (
    BYTES,
    READS,
    Drawing,
    ImagePage,
    NotDrawn,
    decoded,
    facts,
    format_of,
    pictured,
)
from tests.cases import cases
from tests.tui.hostile import PAYLOADS, assert_harmless
from tests.tui.imaging import (
    BLUE,
    GREEN,
    RED,
    animation,
    bmp,
    chunk,
    gif,
    jpeg_of_scans,
    part,
    png,
    quarters,
    saved,
    webp,
)

GROUND = (16, 32, 48)
FORMATS = {"PNG": "PNG", "JPEG": "JPEG", "GIF": "GIF", "WebP": "WEBP", "BMP": "BMP"}


def refused(data: bytes | Part) -> str:
    with pytest.raises(NotDrawn) as error:
        decoded(data if isinstance(data, Part) else part(data))
    assert_harmless(str(error.value))
    assert "\n" not in str(error.value)
    return str(error.value)


# -- formats ---------------------------------------------------------------------------------------------------


@cases("shown", FORMATS)
def test_an_image_of_each_format_is_decoded_with_its_size_and_its_colours(shown: str):
    image = quarters(64, 32).convert("RGBA" if shown in ("PNG", "WebP") else "RGB")
    data = saved(image, FORMATS[shown], **({"lossless": True} if shown == "WebP" else {}))
    assert format_of(data) == shown
    picture = decoded(part(data))
    assert (picture.width, picture.height, picture.animated) == (64, 32, False)
    for at, wanted in (((8, 8), RED), ((56, 8), GREEN), ((8, 24), BLUE)):
        found = picture.pixels.getpixel(at)
        assert isinstance(found, tuple)
        assert all(abs(one - other) < 16 for one, other in zip(found, wanted, strict=False))
    assert facts(part(data, f"image/{shown.lower()}"), picture)[1:] == ["64 × 32 pixels"]


@cases("shown", ["GIF", "PNG", "WEBP"])
def test_of_an_animation_the_first_frame_is_shown(shown: str):
    picture = decoded(part(animation(3, shown)))
    assert picture.said() == ["4 × 4 pixels", "animated, the first frame"]
    assert picture.pixels.getpixel((0, 0)) == pytest.approx((*RED, 255), abs=16)


# -- what is not drawn -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [png(60_000, 60_000), png(10_000, 4_001), gif(60_000, 60_000), bmp(60_000, 60_000), webp(16_383, 16_383)],
    ids=["png", "png-just", "gif", "bmp", "webp"],
)
def test_an_image_of_too_many_pixels_is_refused_by_its_header(data: bytes):
    assert refused(data) in ("it has more than 40 million pixels", "it has more than 16 million pixels")


def test_a_header_costs_no_memory():
    code = (
        "import resource, sys\n"
        "from tests.tui.imaging import part, png, gif, bmp, webp\n"
        "from mcp_tui.view.picture import NotDrawn, decoded\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for data in (png(60000, 60000), gif(60000, 60000), bmp(60000, 60000), webp(16383, 16383)):\n"
        "    try:\n"
        "        decoded(part(data))\n"
        "    except NotDrawn:\n"
        "        pass\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert int(ran.stdout) < 60


def test_a_file_of_too_many_bytes_is_not_even_read():
    large = Part(PartKind.IMAGE, mime="image/png", data="A" * (BYTES * 4 // 3 + 8))
    assert refused(large) == "it has more than 16.0 MB"


def test_a_jpeg_of_many_scans_is_refused():
    assert refused(jpeg_of_scans(3000, 3000, 300)) == "too many JPEG scans for its size"


@pytest.mark.slow
def test_a_png_of_endless_chunks_is_refused():
    assert refused(png(8, 1, between=chunk(b"IDAT", b"") * (READS // 2))) == ("too many pieces")


@cases("shown", FORMATS)
def test_a_file_that_breaks_off_anywhere_is_refused_or_shown_and_nothing_else_happens(shown: str):
    data = saved(quarters(40, 40).convert("RGB"), FORMATS[shown])
    said: list[str] = []
    for end in range(0, len(data), max(1, len(data) // 60)):
        try:
            decoded(part(data[:end]))
        except NotDrawn as error:
            said.append(str(error))
    assert len(said) > 20
    assert all(each.startswith(("not a PNG", f"its {shown} is broken")) for each in said)


@pytest.mark.parametrize("shown", FORMATS)
def test_a_file_with_one_byte_changed_is_refused_or_shown_and_nothing_else_happens(shown: str):
    data = bytearray(saved(quarters(24, 24).convert("RGB"), FORMATS[shown]))
    for at in range(0, len(data), max(1, len(data) // 150)):
        kept, data[at] = data[at], data[at] ^ 0xFF
        try:
            picture = decoded(part(bytes(data)))
            assert Drawing(picture, 40, GROUND, 20).count <= 20
        except NotDrawn as error:
            assert_harmless(str(error))
        data[at] = kept


@cases(
    "data",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        saved(quarters(), "TIFF"),
        saved(quarters(), "ICO"),
        saved(quarters().convert("RGB"), "PPM"),
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n",
        *(payload.encode(errors="surrogatepass") for payload in PAYLOADS.values()),
    ],
)
def test_what_is_of_no_format_that_is_drawn_is_refused_whatever_it_says_to_be(data: bytes):
    assert refused(part(data, "image/png")) == "not a PNG, JPEG, GIF, WebP, or BMP"


# -- what is said ----------------------------------------------------------------------------------------------


def test_data_that_is_an_image_is_one_whatever_it_came_as():
    data = saved(quarters(), "PNG")
    assert pictured(part(data, "application/octet-stream", PartKind.BLOB))
    assert pictured(part(data, "", PartKind.BLOB))
    assert not pictured(part(b"BM, he wrote, and no more", "text/plain", PartKind.BLOB))
    assert not pictured(part(b"PK\x03\x04", "application/zip", PartKind.BLOB))
    assert not pictured(part(data, "audio/wav", PartKind.AUDIO))
    assert not pictured(Part(PartKind.BLOB, data="%%%"))


# -- drawing ---------------------------------------------------------------------------------------------------


def test_a_cell_is_two_pixels_and_nothing_is_drawn_where_it_is_transparent():
    drawing = Drawing(decoded(part(saved(quarters(4, 6), "PNG"))), 80, GROUND)
    assert [[*drawing.line(number)] for number in range(drawing.count)] == [
        [("▀▀", "#ff0000 on #ff0000"), ("▀▀", "#00ff00 on #00ff00")],
        [("▀▀", "#ff0000 on #0000ff"), ("▀▀", "#00ff00")],
        [("▀▀", "#0000ff on #0000ff"), ("  ", "")],
    ]


@pytest.mark.parametrize(
    ("size", "cells"), [((640, 400), 80), ((30, 20), 80), ((5000, 1000), 37), ((3, 4000), 2)]
)
def test_it_is_as_wide_as_there_is_room_never_larger_than_it_is_and_keeps_its_shape(
    size: tuple[int, int], cells: int
):
    drawing = Drawing(decoded(part(saved(Image.new("RGB", size, RED), "PNG"))), cells, GROUND)
    width = sum(len(text) for text, _ in drawing.line(0))
    assert width == min(cells, size[0])
    assert abs(drawing.count - size[1] * width / size[0] / 2) <= 1


def test_a_page_says_what_it_is_and_shows_it_below_and_follows_the_width():
    data = saved(quarters(100, 50), "PNG")
    page = ImagePage(facts(part(data), None), decoded(part(data)), (0, 0, 0))
    page.lay_out(80)
    assert page.line(0).text.startswith("image/png")
    assert page.line(1).text == ""
    assert page.count == 2 + 20
    assert page.line(2).segments[0] == ("▀" * 40, "#ff0000 on #ff0000")
    page.lay_out(40)
    assert page.count == 2 + 10
    assert page.find("png", lambda: False) == [(0, 6)]
    assert page.reveal((0, 6)) == 0
    assert not page.toggle(0)


def test_what_pillow_warns_of_is_written_nowhere(capfd: pytest.CaptureFixture[str]):
    data = saved(quarters().convert("RGB"), "JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0\xff\xff\x12\x01")
    with pytest.warns(UserWarning, match="Corrupt EXIF"):
        Image.open(io.BytesIO(data)).getexif()
    assert decoded(part(data)).width == 8
    assert capfd.readouterr() == ("", "")
