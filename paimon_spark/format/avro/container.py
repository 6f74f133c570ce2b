"""The Avro object container: header, codec and blocks of a file, before any record is decoded (Avro 1.11).

A container has no end mark: a file cut at the end of a block is a valid, shorter file. Callers that know the recorded
size of the file compare it (``manifests.codec.check_size``).
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cramjam
import zstandard

from paimon_spark.errors import CorruptFile, OptionError
from paimon_spark.format.avro.limits import Budget, LimitError
from paimon_spark.format.json_text import load_json

MAGIC = b"Obj\x01"
SYNC_SIZE = 16
MAX_BLOCK_BYTES = 2**28  # of one decompressed block; writers make blocks of some 64 kB
_SLICE = 2**13
_MOST_AT_ONCE = 2**24  # decompressed bytes of a block that are taken on its word
_SCHEMAS, _MOST_REMEMBERED = 16, 2**15  # that are remembered; bytes of one

# names of the compression options of tables, and of Avro itself -> codec name in the header
_CODECS = {
    "zstd": "zstandard", "zstandard": "zstandard", "snappy": "snappy", "deflate": "deflate", "null": "null",
    "none": "null", "bzip2": "bzip2", "xz": "xz",
}  # fmt: skip


class BlockError(ValueError):
    """The bytes do not follow the Avro format; the reader that knows the file makes it a CorruptFile."""


@dataclass(frozen=True)
class Container:
    """One file: the writer's schema as JSON, and for each block its number of records and its decompressed bytes."""

    schema: Any
    blocks: Iterable[tuple[int, bytes]]


def codec_name(compression: str) -> str:
    """The Avro codec for the value of an option such as ``manifest.compression``.

    Raises:
        OptionError: Avro has no such codec.
    """
    if compression.lower() not in _CODECS:
        raise OptionError(f"Avro files cannot be compressed with '{compression}': use one of {', '.join(_CODECS)}")
    return _CODECS[compression.lower()]


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The zigzag integer at a position, and the position after it.

    Raises:
        BlockError: the data ends within it, or it is longer than 10 bytes.
    """
    value = shift = 0
    for i in range(at, min(at + 10, len(data))):
        byte = data[i]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), i + 1
        shift += 7
    raise BlockError(f"no integer ends after byte {at}")


def _skip_bytes(data: bytes, at: int) -> tuple[int, int]:
    """Where the bytes announced at a position start and end."""
    length, start = read_varint(data, at)
    if length < 0 or start + length > len(data):
        raise BlockError(f"{length} bytes are announced at byte {at}, the file ends at {len(data)}")
    return start, start + length


def _read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    start, end = _skip_bytes(data, at)
    return data[start:end], end


@dataclass(frozen=True)
class PackedContainer:
    """One file, its blocks still compressed: for each its number of records and where its bytes start and end."""

    data: bytes
    schema: Any
    codec: str
    blocks: tuple[tuple[int, int, int], ...]

    def unpack(self, budget: Budget | None = None) -> Iterator[tuple[int, bytes]]:
        """Number of records and decompressed bytes of each block, one block at a time.

        Args:
            budget: shared by the files that are decoded together. None: no limit, for a caller that keeps no more than
                one block in memory.

        Raises:
            BlockError: a block is damaged.
            LimitError: the budget does not allow it.
        """
        if budget is not None:
            budget.announce(count for count, _, _ in self.blocks)
        decompress = _DECOMPRESS[self.codec]()
        for count, start, end in self.blocks:
            try:
                raw = decompress(self.data[start:end])
            except (ValueError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError) as error:
                raise BlockError(str(error)) from None
            except cramjam.DecompressionError as error:
                raise BlockError(str(error)) from None
            if not 0 <= count <= len(raw) or (raw and not count):
                raise BlockError(f"a block of {len(raw)} bytes announces {count} records")
            if budget is not None:
                budget.unpack(len(raw))
            yield count, raw


def scan_container(data: bytes, where: str) -> PackedContainer:
    """Split a file into blocks and check every sync marker.

    Raises:
        CorruptFile: not an Avro container, truncated, damaged, or compressed with an unknown codec.
    """
    try:
        if not data.startswith(MAGIC):
            raise BlockError(f"it begins with {data[:4]!r}, not with {MAGIC!r}")
        header, at = read_header(data)
        schema = _schema_of(header.get("avro.schema", b""))
        codec = header.get("avro.codec", b"null").decode("utf-8")
        if codec not in _DECOMPRESS:
            raise BlockError(f"the codec '{codec}' is not known")
        sync = data[at : at + SYNC_SIZE]
        at += SYNC_SIZE
        if len(sync) < SYNC_SIZE:
            raise BlockError("it ends within its header")
        blocks, end = list[tuple[int, int, int]](), len(data)
        while at < end:
            # A large table has a block for some ten files: integers of one and two bytes are decoded here.
            count = data[at]
            if count < 0x80:
                count, at = (count >> 1) ^ -(count & 1), at + 1
            else:
                count, at = read_varint(data, at)
            if count < 0:  # blocks that are copied are not unpacked, which compares the count with the bytes
                raise BlockError(f"a block announces {count} records")
            low, high = data[at : at + 2] if at + 2 <= end else (0xFF, 0xFF)
            if low >= 0x80 > high and not low & 1:
                start = at + 2
                at = start + (((high << 7) | (low & 0x7F)) >> 1)
            else:
                start, at = _skip_bytes(data, at)
            if not data.startswith(sync, at):
                raise BlockError(f"there is no sync marker at byte {at}")
            blocks.append((count, start, at))
            at += SYNC_SIZE
    except (ValueError, RecursionError) as error:
        raise corrupt(where, data, error) from None
    return PackedContainer(data, schema, codec, tuple(blocks))


def _schema_of(text: bytes) -> Any:
    """The schema of a file. Most files of a process have one of few, so it is shared, and must not be changed."""
    return load_json(text) if len(text) > _MOST_REMEMBERED else _remembered_schema(text)


_remembered_schema = lru_cache(_SCHEMAS)(load_json)


def read_container(data: bytes, where: str, budget: Budget | None = None) -> Container:
    """Split a file into blocks, check every sync marker and decompress.

    Args:
        data: the bytes of the file.
        where: the name of the file, for errors.
        budget: shared by the files that are decoded together. None: this file has a budget of its own.

    Raises:
        CorruptFile: not an Avro container, truncated, damaged, compressed with an unknown codec, or more than the
            budget allows.
    """
    packed = scan_container(data, where)
    return Container(packed.schema, tuple(unpacked_blocks(packed, where, budget or Budget(len(data)))))


def unpacked_blocks(packed: PackedContainer, where: str, budget: Budget) -> Iterator[tuple[int, bytes]]:
    """The blocks of a Container, decompressed one by one; for arguments and errors see read_container."""
    try:
        yield from packed.unpack(budget)
    except (BlockError, LimitError) as error:
        raise corrupt(where, packed.data, error) from None


def corrupt(where: str, data: bytes, error: Exception | str) -> CorruptFile:
    """The error for a file that does not decode."""
    return CorruptFile(f"cannot read {where} as Avro: {error}; the file of {len(data)} bytes is truncated or damaged")


def read_header(data: bytes) -> tuple[dict[str, bytes], int]:
    """The entries of the header, and the position behind them, where the sync marker begins.

    Raises:
        BlockError: it is damaged.
    """
    header: dict[str, bytes] = {}
    at = len(MAGIC)
    while True:
        count, at = read_varint(data, at)
        if count == 0:
            return header, at
        if count < 0:
            _, at = read_varint(data, at)
        for _ in range(abs(count)):
            key, at = _read_bytes(data, at)
            header[key.decode("utf-8")], at = _read_bytes(data, at)


def packed_with_checksums(plain: bytes, level: int) -> bytes:
    """The same file, its blocks compressed with zstandard, in frames with a checksum (RFC 8878).

    fastavro writes frames without one, as the Java system does; then a damaged bit of a block may go unnoticed. Every
    reader of zstandard checks one that is there.

    Args:
        plain: a whole file of the codec ``null``.
        level: of zstandard.
    """
    header, at = read_header(plain)
    header["avro.codec"] = b"zstandard"
    sync = plain[at : at + SYNC_SIZE]
    entries = b"".join(_sized(key.encode("utf-8")) + _sized(value) for key, value in header.items())
    parts = [MAGIC, varint(len(header)), entries, varint(0), sync]
    packer = zstandard.ZstdCompressor(level=level, write_checksum=True)
    for count, start, end in scan_container(plain, "a new file").blocks:
        parts += [varint(count), _sized(packer.compress(plain[start:end])), sync]
    return b"".join(parts)


def _sized(data: bytes) -> bytes:
    return varint(len(data)) + data


def varint(value: int) -> bytes:
    """The zigzag integer of a number of 64 bits."""
    left, parts = (value << 1) ^ (value >> 63), bytearray()
    while left > 0x7F:
        parts.append(left & 0x7F | 0x80)
        left >>= 7
    parts.append(left)
    return bytes(parts)


def _zstandard() -> Callable[[bytes], bytes]:
    context = zstandard.ZstdDecompressor()

    def decompress(payload: bytes) -> bytes:
        try:  # a frame that tells its size takes one call
            if 0 < zstandard.frame_content_size(payload) <= _MOST_AT_ONCE:
                return context.decompress(payload, allow_extra_data=False)
        except zstandard.ZstdError:
            pass  # the error is raised below
        frame = context.decompressobj()
        pieces, total = [], 0
        for start in range(0, len(payload), _SLICE):  # in slices, so that a damaged frame cannot fill the memory
            pieces.append(frame.decompress(payload[start : start + _SLICE]))
            total = _limited(total + len(pieces[-1]))
        if not frame.eof or frame.unused_data:
            raise BlockError("a zstandard frame does not end with its block")
        return b"".join(pieces)

    return decompress


def _deflate() -> Callable[[bytes], bytes]:
    def decompress(payload: bytes) -> bytes:
        stream = zlib.decompressobj(-15)
        raw = stream.decompress(payload, MAX_BLOCK_BYTES)
        if not stream.eof:
            raise BlockError("a deflate stream does not end with its block")
        return raw

    return decompress


def _bzip2() -> Callable[[bytes], bytes]:
    def decompress(payload: bytes) -> bytes:
        stream = bz2.BZ2Decompressor()
        raw = stream.decompress(payload, MAX_BLOCK_BYTES)
        if not stream.eof:
            raise BlockError("a bzip2 stream does not end with its block")
        return raw

    return decompress


def _xz() -> Callable[[bytes], bytes]:
    def decompress(payload: bytes) -> bytes:
        stream = lzma.LZMADecompressor(memlimit=MAX_BLOCK_BYTES)
        raw = stream.decompress(payload, MAX_BLOCK_BYTES)
        if not stream.eof:
            raise BlockError("an xz stream does not end with its block")
        return raw

    return decompress


def _snappy() -> Callable[[bytes], bytes]:
    def decompress(payload: bytes) -> bytes:
        body, checksum = payload[:-4], payload[-4:]
        _limited(cramjam.snappy.decompress_raw_len(body))
        raw = bytes(cramjam.snappy.decompress_raw(body))
        if zlib.crc32(raw).to_bytes(4, "big") != checksum:
            raise BlockError("the checksum of a snappy block does not match")
        return raw

    return decompress


def _null() -> Callable[[bytes], bytes]:
    return bytes


def _limited(size: int) -> int:
    if size > MAX_BLOCK_BYTES:
        raise BlockError(f"a block decompresses to more than {MAX_BLOCK_BYTES} bytes")
    return size


_DECOMPRESS: dict[str, Callable[[], Callable[[bytes], bytes]]] = {
    "zstandard": _zstandard, "deflate": _deflate, "bzip2": _bzip2, "xz": _xz, "snappy": _snappy, "null": _null,
}  # fmt: skip
