"""Big-endian numbers read one after the other, with a named error where the bytes end too early."""

from __future__ import annotations

from typing import Protocol

from pyroaring import BitMap

from paimon_spark.errors import CorruptFile


class Bytes(Protocol):
    """Bytes in memory, or those of a file that are read when they are asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, span: slice, /) -> bytes: ...


class ByteReader:
    """A position in bytes; where names the file in errors. Every read raises CorruptFile where bytes are missing.

    Attributes:
        position: of the next byte, counted from the first byte of this reader.
    """

    __slots__ = ("_data", "_end", "_start", "_where", "position")

    def __init__(self, data: Bytes, where: str, start: int = 0, end: int | None = None) -> None:
        """A reader of the bytes from start to end, by default of all."""
        self._data = data
        self._where = where
        self._start = start
        self._end = len(data) if end is None else end
        self.position: int = 0

    @property
    def rest(self) -> int:
        """The number of bytes from the position on."""
        return self._end - self._start - self.position

    def take(self, count: int) -> bytes:
        """The next count bytes."""
        begin = self._start + self.position
        end = begin + count
        if not begin <= end <= self._end:
            raise self.corrupt(f"{count} bytes are announced at byte {self.position}, {self.rest} are there")
        self.position += count
        return self._data[begin:end]

    def __contains__(self, part: bytes) -> bool:
        """True if the bytes from the position on have this part."""
        return part in self._data[self._start + self.position : self._end]

    def number(self, width: int, signed: bool = True) -> int:
        return int.from_bytes(self.take(width), "big", signed=signed)

    def byte(self) -> int:
        return int.from_bytes(self.take(1), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def int64(self) -> int:
        return self.number(8)

    def flag(self) -> bool:
        return self.take(1) != b"\0"

    def version(self, newest: int) -> int:
        """A version byte from 1 to newest."""
        version = int.from_bytes(self.take(1), "big", signed=True)
        if not 1 <= version <= newest:
            raise self.corrupt(f"its version is {version}, this release reads 1 to {newest}")
        return version

    def part(self, start: int, length: int) -> ByteReader:
        """A reader of length bytes from start; the position of this reader does not change."""
        first = self._start + start
        end = first + length
        if not self._start <= first <= end <= self._end:
            size = self._end - self._start
            raise self.corrupt(f"bytes {start} to {start + length} are announced, {size} are there")
        return ByteReader(self._data, self._where, first, end)

    def after(self, start: int) -> ByteReader:
        """A reader of the bytes from start on; the position of this reader does not change."""
        first = self._start + start
        if not self._start <= first <= self._end:
            raise self.corrupt(f"byte {start} is announced, {self._end - self._start} are there")
        return ByteReader(self._data, self._where, first, self._end)

    def loaded(self) -> ByteReader:
        """A reader of the rest, which is brought into memory at once."""
        return ByteReader(self._data[self._start + self.position : self._end], self._where)

    def bitmap(self) -> BitMap:
        """A Roaring bitmap in the portable format, which contains its own length."""
        bitmap = self.last_bitmap()
        self.take(len(bitmap.serialize()))
        return bitmap

    def last_bitmap(self) -> BitMap:
        """A Roaring bitmap that begins here; the position does not change."""
        raw = self._data[self._start + self.position : self._end]
        try:
            bitmap = BitMap.deserialize(raw) if raw else None
        except ValueError:
            bitmap = None
        if bitmap is None:
            raise self.corrupt(f"there is no whole bitmap at byte {self.position}")
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
