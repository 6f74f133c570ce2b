"""Text as java.io.DataOutput.writeUTF stores it: NUL as two bytes, characters beyond 16 bits as two surrogates of three
bytes each, after the number of bytes (int16, big-endian)."""

from __future__ import annotations


def encode_utf(text: str) -> bytes:
    """The bytes of a text, with their number before them."""
    raw = bytearray()
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        raw += b"\xc0\x80" if unit == 0 else chr(unit).encode("utf-8", "surrogatepass")
    return len(raw).to_bytes(2, "big") + bytes(raw)


def decode_utf(raw: bytes) -> str:
    """The text of some bytes, without their number.

    Raises:
        UnicodeDecodeError: they are no such text.
    """
    plain = raw.replace(b"\xc0\x80", b"\0")
    return plain.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16")
