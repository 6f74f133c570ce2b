"""Big-endian numbers read one after the other, with a named error where the bytes end too early."""

from __future__ import annotations

from pyroaring import BitMap

from paimon_spark.errors import CorruptFile


class ByteReader:
    """A position in bytes; where names the file in errors. Every read raises CorruptFile where bytes are missing."""

    def __init__(self, data: bytes, where: str) -> None:
        self._data = data
        self._where = where
        self.position = 0

    @property
    def rest(self) -> int:
        return len(self._data) - self.position

    def take(self, count: int) -> bytes:
        """The next count bytes."""
        if not 0 <= count <= self.rest:
            raise self.corrupt(f"{count} bytes are announced at byte {self.position}, {self.rest} are there")
        self.position += count
        return self._data[self.position - count : self.position]

    def number(self, width: int, signed: bool = True) -> int:
        return int.from_bytes(self.take(width), "big", signed=signed)

    def byte(self) -> int:
        return self.number(1)

    def int32(self) -> int:
        return self.number(4)

    def int64(self) -> int:
        return self.number(8)

    def flag(self) -> bool:
        return self.take(1) != b"\0"

    def version(self, newest: int) -> int:
        """A version byte from 1 to newest."""
        version = self.byte()
        if not 1 <= version <= newest:
            raise self.corrupt(f"its version is {version}, this release reads 1 to {newest}")
        return version

    def part(self, start: int, length: int) -> ByteReader:
        """A reader of length bytes from start; the position of this reader does not change."""
        if start < 0 or length < 0 or start + length > len(self._data):
            raise self.corrupt(f"bytes {start} to {start + length} are announced, {len(self._data)} are there")
        return ByteReader(self._data[start : start + length], self._where)

    def bitmap(self) -> BitMap:
        """A Roaring bitmap in the portable format, which contains its own length."""
        try:
            bitmap = BitMap.deserialize(self._data[self.position :]) if self.rest else None
        except ValueError:
            bitmap = None
        if bitmap is None:
            raise self.corrupt(f"there is no whole bitmap at byte {self.position}")
        self.take(len(bitmap.serialize()))
        return bitmap

    def corrupt(self, why: str) -> CorruptFile:
        return CorruptFile(
            f"cannot read {self._where}: {why}; the index is truncated or damaged, "
            "rewrite the data file or read with file-index.read.enabled=false"
        )


def bitmap_bytes(bitmap: BitMap) -> bytes:
    """The portable bytes, with runs where they are shorter, as the Java system writes them."""
    copy = BitMap(bitmap)
    copy.run_optimize()
    return bytes(copy.serialize())
