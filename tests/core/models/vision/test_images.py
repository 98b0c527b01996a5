"""Any picture file becomes upright RGB, or one sentence."""

import io
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from PIL import Image, ImageOps

from core.errors import InputError
from core.models.vision import images
from core.models.vision.images import open_picture, sample_picture


def encoded(image, kind="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def pixel(picture, x=0, y=0):
    return picture.pixels.getpixel((x, y))


def test_v7_sixteen_bit_grey_is_scaled_not_clipped():
    ramp = np.linspace(0, 65535, 7 * 256).astype(np.uint16).reshape(7, 256)
    picture = open_picture(encoded(Image.fromarray(ramp)), "deep.png")
    shown = np.asarray(picture.pixels)
    assert picture.pixels.mode == "RGB"
    np.testing.assert_allclose(shown[..., 1], ramp / 257.0, atol=0.51)
    assert "16-bit grey" in picture.notes[0]


def test_v7_float_grey_is_scaled_to_its_own_range_and_nan_is_survived():
    values = np.array([[-2.0, 0.0, 2.0], [np.nan, np.inf, 1.0]], dtype=np.float32)
    picture = open_picture(encoded(Image.fromarray(values), "TIFF"), "depth.tiff")
    np.testing.assert_array_equal(
        np.asarray(picture.pixels)[..., 0], [[0, 128, 255], [0, 255, 191]]
    )


def test_v7_constant_deep_grey_does_not_divide_by_zero():
    flat = Image.fromarray(np.full((3, 5), 7.0, dtype=np.float32))
    assert pixel(open_picture(encoded(flat, "TIFF"), "flat.tiff")) == (0, 0, 0)


@pytest.mark.parametrize(
    ("dtype", "kind"), [(np.uint16, "PNG"), (np.int32, "TIFF"), (np.float32, "TIFF")]
)
def test_v7_deep_grey_is_scaled_in_little_memory(dtype, kind):
    side = 2003
    values = (np.arange(side * side) % 1009).astype(dtype).reshape(side, side)
    data = encoded(Image.fromarray(values), kind)
    open_picture(data, "warm.png")  # imports that the first call makes are not counted
    tracemalloc.start()
    picture = open_picture(data, "deep.png")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 14 * side * side
    high = 65535 if dtype == np.uint16 else 1008
    wanted = np.round(values[-1].astype(np.float64) * (255 / high))
    np.testing.assert_array_equal(np.asarray(picture.pixels)[-1, :, 0], wanted)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_v7_transparency_is_laid_on_white_and_said(mode):
    image = Image.new("RGBA", (5, 3), (0, 0, 0, 0))
    image.putpixel((1, 0), (0, 0, 0, 255))
    options = {}
    if mode == "P":
        image = Image.new("P", (5, 3), 0)
        image.putpalette([9, 9, 9, 0, 0, 0])
        image.putpixel((1, 0), 1)
        options = {"transparency": 0}
    data = encoded(image.convert(mode) if mode != "P" else image, **options)
    picture = open_picture(data, "glass.png")
    assert pixel(picture) == (255, 255, 255)
    assert pixel(picture, x=1) == (0, 0, 0)
    assert picture.notes == ("'glass.png' is transparent in places; it was laid on white.",)


def test_v7_an_alpha_channel_that_hides_nothing_is_not_mentioned():
    picture = open_picture(encoded(Image.new("RGBA", (5, 3), (7, 8, 9, 255))), "solid.png")
    assert pixel(picture) == (7, 8, 9)
    assert picture.notes == ()


def test_v7_red_stays_red_in_cmyk():
    red = Image.new("CMYK", (16, 16), (0, 255, 255, 0))
    picture = open_picture(encoded(red, "JPEG", quality=95), "print.jpg")
    assert b"Adobe" in encoded(red, "JPEG")  # the variant whose values are stored inverted
    np.testing.assert_allclose(pixel(picture, 8, 8), (255, 0, 0), atol=6)
    assert "CMYK" in picture.notes[0]


def test_v7_an_animation_shows_its_first_frame_and_says_so():
    frames = [Image.new("RGB", (5, 3), colour) for colour in ("red", "blue")]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    picture = open_picture(data, "wave.gif")
    assert pixel(picture) == (255, 0, 0)
    assert picture.notes == ("'wave.gif' holds several frames; the first one is shown.",)


def test_v6_exif_orientation_turns_the_picture_upright():
    image = Image.new("RGB", (40, 20), "white")
    image.paste((255, 0, 0), (0, 0, 8, 8))  # top left in the file: top right once turned
    exif = Image.Exif()
    exif[images.ORIENTATION] = 6
    picture = open_picture(encoded(image, exif=exif), "phone.png")
    assert picture.size == (40, 20)
    assert pixel(picture, 19, 0) == (255, 0, 0)
    assert pixel(picture, 0, 0) == (255, 255, 255)
    assert "EXIF" in picture.notes[0]


def test_v7_one_pixel_is_a_picture():
    assert open_picture(encoded(Image.new("RGB", (1, 1), "lime")), "dot.png").size == (1, 1)


def test_v7_a_truncated_jpeg_is_one_clear_line():
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    data = encoded(Image.fromarray(noise), "JPEG")
    with pytest.raises(InputError, match=r"^A whole picture .*'cut\.jpg' is cut off or damaged\.$"):
        open_picture(data[: len(data) // 2], "cut.jpg")


def chunk(kind, body):
    check = struct.pack(">I", zlib.crc32(kind + body))
    return struct.pack(">I", len(body)) + kind + body + check


def with_chunk(data, piece):
    """A PNG with one more chunk behind its header."""
    end = 8 + 12 + 13
    return data[:end] + piece + data[end:]


@pytest.mark.parametrize(
    "piece",
    [
        chunk(b"eXIf", b"no exif at all"),
        chunk(b"eXIf", b"MM\x00*\x00\x00\xff\xff"),
        chunk(b"eXIf", b"MM\x00*")[:-4] + b"oops",
        chunk(b"tEXt", b"Comment")[:-4] + b"oops",
        chunk(b"iCCP", b"name\x00\x00no profile"),
        chunk(b"zTXt", b"name\x00\x00no zlib"),
    ],
    ids=["words", "directory", "sum", "comment", "profile", "packed"],
)
def test_u9_a_fault_in_metadata_says_nothing_about_the_pixels(piece):
    data = encoded(Image.new("RGB", (5, 3), (9, 8, 7)))
    assert pixel(open_picture(with_chunk(data, piece), "sound.png")) == (9, 8, 7)


def test_u9_deep_grey_with_a_transparent_value_lies_on_white():
    values = np.array([[0, 65535, 257], [0, 514, 0]], dtype=np.uint16)
    data = with_chunk(encoded(Image.fromarray(values)), chunk(b"tRNS", struct.pack(">H", 0)))
    picture = open_picture(data, "scan.png")
    np.testing.assert_array_equal(
        np.asarray(picture.pixels)[..., 0], [[255, 255, 1], [255, 2, 255]]
    )
    assert "'scan.png' is transparent in places; it was laid on white." in picture.notes


@pytest.mark.parametrize("orientation", range(1, 9))
def test_v6_every_orientation_is_turned_as_pillow_turns_it(orientation):
    image = Image.fromarray(np.arange(45, dtype=np.uint8).reshape(3, 5, 3))
    exif = Image.Exif()
    exif[images.ORIENTATION] = orientation
    data = encoded(image, exif=exif)
    wanted = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    np.testing.assert_array_equal(open_picture(data, "a.png").pixels, wanted)


def header_only_png(width, height):
    """A PNG whose header claims a size, with hardly any data behind it."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"0")) + chunk(b"IEND", b"")


@pytest.mark.parametrize("side", [50_000, 9_700, 6_331])
def test_v7_a_header_that_claims_too_much_is_refused_without_decoding(side, monkeypatch):
    monkeypatch.setattr(Image.Image, "load", lambda image: pytest.fail("decoded"))
    with pytest.raises(InputError, match=r"at most 40 million pixels was wanted; 'bomb\.png'"):
        open_picture(header_only_png(side, side), "bomb.png")


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"\x89PNG\r\n\x1a\n", b"%!PS-Adobe-3.0 EPSF-3.0\n"]
)
def test_v7_what_is_no_picture_is_named(data):
    with pytest.raises(InputError, match=r"'letter\.txt' is none of them"):
        open_picture(data, "letter.txt")


def test_v7_more_than_fifty_megabytes_are_refused(tmp_path):
    path = tmp_path / "huge.png"
    with path.open("wb") as file:
        file.truncate(50_000_001)
    for data in (path, bytes(50_000_001)):
        with pytest.raises(InputError, match=r"at most 50 MB was wanted; 'huge\.png' has 50 MB"):
            open_picture(data, "huge.png")


def test_a_file_on_disk_opens_as_its_bytes_do(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(encoded(Image.new("RGB", (5, 3), "lime")))
    assert pixel(open_picture(path, "a.png")) == (0, 255, 0)
    with pytest.raises(InputError, match=r"'b\.png' cannot be read"):
        open_picture(tmp_path / "b.png", "b.png")


@pytest.mark.parametrize("name", images.SAMPLES)
def test_samples_are_photographs_in_colour(name):
    picture = sample_picture(name)
    assert picture.pixels.mode == "RGB"
    assert min(picture.size) >= 300


def test_an_unknown_sample_is_named():
    with pytest.raises(InputError, match="chelsea, astronaut, coffee, rocket was wanted; 'dog'"):
        sample_picture("dog")
