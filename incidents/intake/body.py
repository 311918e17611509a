"""From bytes to text, whatever was sent: compression, byte order marks, wrong encodings."""

import codecs
import zlib

from incidents.intake.normal import Unreadable

_GZIP = b"\x1f\x8b\x08"
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class TooLarge(Unreadable):
    """Unpacked, the body would be larger than allowed."""


def unpack(body: bytes, encoding: str, limit: int) -> bytes:
    """Return the body without its ``Content-Encoding``; gzip is known by itself, as some senders do not name it.

    Never makes more than ``limit`` bytes.

    Raises:
        TooLarge: it holds more than that.
        Unreadable: it is no gzip, or is packed in another way.
    """
    if encoding in ("", "identity"):
        if not body.startswith(_GZIP):
            return body
        encoding = "gzip"
    if encoding not in ("gzip", "x-gzip"):
        raise Unreadable(f"The content encoding {encoding[:40]} is not understood.")
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(body, limit + 1)
    except zlib.error:
        raise Unreadable("The body says that it is gzip, and is not.") from None
    if len(unpacked) > limit:
        raise TooLarge("The body is larger than allowed once it is unpacked.")
    if not unpacker.eof:
        raise Unreadable("The gzip body ends too early.")
    return unpacked


def decode(body: bytes) -> tuple[str, str]:
    """Return the text, and a sentence about what was lost in reading it ("" when nothing was)."""
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace"), ""
    try:
        return body.decode("utf-8"), ""
    except UnicodeDecodeError:
        text = body.decode("utf-8", "replace")
        return text, "Some bytes were no UTF-8 and are shown as �."
