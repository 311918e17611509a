"""From bytes to text, whatever was sent: compression, byte order marks, wrong encodings."""

import codecs
import zlib

from incidents.intake.normal import Unreadable

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def unpack(body: bytes, encoding: str, limit: int) -> bytes:
    """Return the body without its ``Content-Encoding``.

    Raises:
        Unreadable: it is no gzip, is larger than the limit in bytes once unpacked, or is packed in another way.
    """
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "x-gzip"):
        raise Unreadable(f"The content encoding {encoding[:40]} is not understood.")
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(body, limit + 1)
    except zlib.error:
        raise Unreadable("The body says that it is gzip, and is not.") from None
    if len(unpacked) > limit:
        raise Unreadable("The body is larger than allowed once it is unpacked.")
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
