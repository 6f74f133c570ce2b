"""Files of one BLOB column, and references to bytes in other files, or in rows of other tables (format section 10).

Java: BlobFormatWriter, BlobDescriptor, BlobViewStruct.

A file is entries, then an index. An entry is the magic number (int32), the bytes of a value, the length of the whole
entry (int64) and the CRC-32 of all that; NULL and placeholders have none. The index has the length of
each row's entry, -1 for NULL, -2 for a placeholder: the row keeps the value that an older file has. Lengths are
differences to the one before, as zigzag varints. Behind it come the length of the index (int32) and the version, 1.
All numbers are little-endian.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import numpy.typing as npt

from paimon_spark.errors import CorruptFile, DataError

Ints = npt.NDArray[np.int64]
BLOB = "blob"
"""The extension of the names of such files."""
MAGIC = struct.pack("<i", 1481511375)
_MAGIC_CHECKSUM = zlib.crc32(MAGIC)
HEAD = len(MAGIC)
FRAME = HEAD + 12
"""Bytes of an entry beside those of its value: the magic number before it, length and checksum behind it."""
TAIL = 5
"""Bytes behind the index: its length, and the version of the file."""
NULL, PLACEHOLDER = -1, -2
_VERSION = 1
_VARINT_BITS = 7
_LONGEST_VARINT = 10
_TRAILER = struct.Struct("<qI")
_CHECKSUM = 4

_DESCRIPTOR_VERSION = 2
_DESCRIPTOR_MAGIC = 0x424C4F4244455343
_DESCRIPTOR_HEAD = struct.Struct("<bqi")
_DESCRIPTOR_PLACE = struct.Struct("<qq")
_DESCRIPTOR_START = struct.Struct("<bq")
REFERENCE_START = _DESCRIPTOR_START.pack(_DESCRIPTOR_VERSION, _DESCRIPTOR_MAGIC)
"""How a reference begins; then comes the length of its address."""
REFERENCE_URI = _DESCRIPTOR_HEAD.size
"""Where the address begins."""
REFERENCE_FRAME = _DESCRIPTOR_HEAD.size + _DESCRIPTOR_PLACE.size
"""Bytes of a reference beside those of its address."""
_VIEW_START = struct.Struct("<bq")
_VIEW_INT, _VIEW_ROW = struct.Struct("<i"), struct.Struct("<q")
VIEW_START = _VIEW_START.pack(1, 0x424C4F4256494557)
"""How a view begins: its version and the magic number; then come the length of the name of its table, and the name."""
VIEW_NAME = _VIEW_START.size + _VIEW_INT.size
"""Where the name begins, ``<database>.<table>`` in UTF-8."""
VIEW_IDS = _VIEW_INT.size + _VIEW_ROW.size
"""Bytes behind the name: the ids of the column and of the row."""
_WITHOUT_DATABASE = "unknown"  # Java writes no view of a table of a database of this name: it stands for none


def index_length(tail: bytes, where: str) -> int:
    """The bytes of the index, from the last TAIL bytes of a file.

    Raises:
        CorruptFile: they are not those of such a file.
    """
    length, version = struct.unpack("<ib", tail) if len(tail) == TAIL else (-1, 0)
    if version != _VERSION or length < 0:
        raise _damaged(where, f"it ends in {tail.hex()}, which is no index length and the version {_VERSION}")
    return int(length)


def decode_index(data: bytes, size: int, rows: int, where: str) -> tuple[Ints, Ints]:
    """The length of each row's entry, negative for NULL and PLACEHOLDER, and where it begins.

    Args:
        data: the index.
        size: bytes of the entries before it.
        rows: how many rows the file has, as its metadata say.
        where: the path, for messages.

    Raises:
        CorruptFile: the index is damaged, or of another number of rows.
    """
    lengths = decode_lengths(data, where)
    if len(lengths) != rows:
        raise _damaged(where, f"its index has {len(lengths)} rows, and the manifest says {rows}")
    there = np.where(lengths >= 0, lengths, 0)
    wrong = ((lengths >= 0) & (lengths < FRAME)) | (lengths < PLACEHOLDER) | (lengths > size)
    if wrong.any():
        raise _damaged(where, f"its index says that an entry has {lengths[wrong][0]} bytes")
    ends = np.cumsum(there)
    if rows and ends[-1] != size:
        raise _damaged(where, f"its entries have {ends[-1]} bytes by its index, and {size} are there")
    return lengths, ends - there


def encode_index(lengths: Ints) -> bytes:
    """The index of a file and what follows it, from the length of each row's entry, NULL or PLACEHOLDER."""
    index = encode_lengths(lengths)
    return index + struct.pack("<ib", len(index), _VERSION)


def encode_lengths(lengths: Ints) -> bytes:
    """Lengths as zigzag varints of their differences."""
    deltas = np.diff(lengths, prepend=np.int64(0))
    words = ((deltas << 1) ^ (deltas >> 63)).astype(np.uint64)
    sizes = np.ones(len(words), np.int64)
    for size in range(1, _LONGEST_VARINT):
        sizes += words >= np.uint64(1) << np.uint64(size * _VARINT_BITS)
    starts = np.cumsum(sizes) - sizes
    index = np.empty(int(sizes.sum()), np.uint8)
    for place in range(int(sizes.max(initial=0))):
        rows = sizes > place
        bits = (words[rows] >> np.uint64(place * _VARINT_BITS)).astype(np.uint8) & 0x7F
        index[starts[rows] + place] = bits | np.where(sizes[rows] > place + 1, 0x80, 0).astype(np.uint8)
    return index.tobytes()


class EntryCheck:
    """The checksum of an entry whose value comes in pieces."""

    def __init__(self) -> None:
        self._checksum, self._bytes = _MAGIC_CHECKSUM, 0

    def add(self, piece: bytes | memoryview) -> None:
        """Takes the next bytes of the value."""
        self._checksum = zlib.crc32(piece, self._checksum)
        self._bytes += len(piece)

    @property
    def length(self) -> int:
        """The bytes of the whole entry."""
        return FRAME + self._bytes

    def trailer(self) -> bytes:
        """What follows the value: the length of the entry, and its checksum."""
        return _trailer(self.length, self._checksum)


def entry_trailer(value: bytes | memoryview) -> bytes:
    """What follows a value in its entry: the length of the entry, and its checksum."""
    return _trailer(FRAME + len(value), zlib.crc32(value, _MAGIC_CHECKSUM))


def _trailer(length: int, checksum: int) -> bytes:
    end = struct.pack("<q", length)
    return end + struct.pack("<I", zlib.crc32(end, checksum))


def check_entries(data: bytes, lengths: Ints, where: str) -> None:
    """Checks neighbouring entries: each has its magic number, its length and the checksum of its value.

    Args:
        data: the bytes of the entries.
        lengths: the length of each.
        where: the path, for messages.

    Raises:
        CorruptFile: one of them is damaged.
    """
    starts = np.cumsum(lengths) - lengths
    whole = memoryview(data)
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):  # CRC-32 is of one entry at a time
        stop = start + length - _TRAILER.size
        recorded, checksum = _TRAILER.unpack_from(data, stop)
        if data[start : start + HEAD] != MAGIC or recorded != length:
            raise _damaged(where, "an entry does not begin and end where its index says")
        if zlib.crc32(whole[start : start + length - _CHECKSUM]) != checksum:
            raise _damaged(where, "the checksum of an entry is not that of its bytes")


def decode_lengths(encoded: bytes, where: str) -> Ints:
    """Lengths from zigzag varints of their differences.

    Raises:
        CorruptFile: they break off.
    """
    data = np.frombuffer(encoded, np.uint8)
    if not len(data):
        return np.empty(0, np.int64)
    last = np.flatnonzero(data < 0x80)
    if not len(last) or last[-1] != len(data) - 1:
        raise _damaged(where, "its index breaks off")
    first = np.concatenate((np.zeros(1, np.int64), last[:-1] + 1))
    sizes = last - first + 1
    if sizes.max() > _LONGEST_VARINT:
        raise _damaged(where, "a number in its index is longer than 64 bits")
    shifts = (np.arange(len(data)) - np.repeat(first, sizes)) * _VARINT_BITS
    words = (data & 0x7F).astype(np.uint64) << shifts.astype(np.uint64)
    sums = np.add.reduceat(words, first)
    deltas = (sums >> np.uint64(1)).astype(np.int64) ^ -(sums & np.uint64(1)).astype(np.int64)
    total: Ints = np.cumsum(deltas)
    return total


@dataclass(frozen=True)
class BlobDescriptor:
    """Where the bytes of a value lie: a reference to them (Java: BlobDescriptor).

    A write to a BLOB column takes the encoded form, and copies the bytes that it names.

    Attributes:
        uri: the file.
        offset: of the first byte in it.
        length: how many bytes; -1: to the end of the file.
    """

    uri: str
    offset: int = 0
    length: int = -1

    def encode(self) -> bytes:
        """The reference as a value of a BLOB column.

        Raises:
            DataError: the address is no text, or the place is no number. A write looks whether it is in the file.
        """
        if not isinstance(self.uri, str):
            raise DataError(f"a reference to a blob: its uri is {self.uri!r}; give the address as a text")
        for what, number in (("offset", self.offset), ("length", self.length)):
            if not isinstance(number, Integral):
                raise DataError(f"a reference to a blob in {self.uri}: its {what} is {number!r}; give a whole number")
        uri = self.uri.encode()
        head = _DESCRIPTOR_HEAD.pack(_DESCRIPTOR_VERSION, _DESCRIPTOR_MAGIC, len(uri))
        return head + uri + _DESCRIPTOR_PLACE.pack(self.offset, self.length)


@dataclass(frozen=True)
class BlobView:
    """A row of a table whose BLOB column has the bytes of a value (Java: BlobViewStruct).

    A write to a column of `blob-view-field` takes the encoded form, and stores it.

    Attributes:
        table: ``<database>.<table>``, of the catalog in which the view is read.
        field_id: of the column.
        row_id: the ``_ROW_ID`` of the row.
    """

    table: str
    field_id: int
    row_id: int

    def encode(self) -> bytes:
        """The view as a value of a column.

        Raises:
            DataError: the name of the table has no database, or an id is no whole number.
        """
        for what, number in (("field_id", self.field_id), ("row_id", self.row_id)):
            if not isinstance(number, Integral):
                raise DataError(
                    f"a view of a blob in the table '{self.table}': its {what} is {number!r}; give a whole number: "
                    "schema.by_name['<column>'].id of the table is that of a column, _ROW_ID of a scan that of a row"
                )
        return view_head(self.table, self.field_id) + _VIEW_ROW.pack(self.row_id)


def view_head(table: str, field_id: int) -> bytes:
    """What a view has before the id of the row.

    Raises:
        DataError: the name of the table has no database.
    """
    database, _, name = table.partition(".")
    if not database or not name or database == _WITHOUT_DATABASE:
        raise DataError(f"a view of a blob in the table '{table}': give its name as <database>.<table>")
    encoded = table.encode()
    return VIEW_START + _VIEW_INT.pack(len(encoded)) + encoded + _VIEW_INT.pack(field_id)


def is_descriptor(value: bytes | memoryview) -> bool:
    """True if a value that is to be written is a reference to its bytes (Java: BlobDescriptor.isBlobDescriptor)."""
    if len(value) < _DESCRIPTOR_START.size:
        return False
    version, magic = _DESCRIPTOR_START.unpack_from(value)
    return bool(version <= _DESCRIPTOR_VERSION and magic == _DESCRIPTOR_MAGIC)


def is_view(value: bytes | memoryview) -> bool:
    """True if a value names a row of another table, which has the bytes (Java: BlobViewStruct.isBlobViewStruct)."""
    return bytes(value[: len(VIEW_START)]) == VIEW_START


def decode_descriptor(data: bytes, where: str) -> BlobDescriptor:
    """The reference that a column of references holds.

    Args:
        data: its bytes, of the versions 1 or 2.
        where: what holds it, for messages.

    Raises:
        CorruptFile: the bytes are no such reference.
    """
    at = 9 if data[:1] == b"\x02" else 1
    magic = data[1:9]
    if data[:1] not in (b"\x01", b"\x02") or (at == 9 and magic != struct.pack("<q", _DESCRIPTOR_MAGIC)):
        raise CorruptFile(f"reading {where}: a value of {len(data)} bytes is no reference to a blob")
    length = struct.unpack_from("<i", data, at)[0] if len(data) >= at + 4 else -1
    end = at + 4 + length
    if length < 0 or len(data) < end + _DESCRIPTOR_PLACE.size:
        raise CorruptFile(f"reading {where}: a reference to a blob breaks off")
    try:
        uri = data[at + 4 : end].decode()
    except UnicodeDecodeError:
        raise CorruptFile(f"reading {where}: the address in a reference to a blob is not UTF-8") from None
    return BlobDescriptor(uri, *_DESCRIPTOR_PLACE.unpack_from(data, end))


def _damaged(where: str, found: str) -> CorruptFile:
    return CorruptFile(f"reading the blob file {where}: {found}; it is damaged: restore it from a copy")
