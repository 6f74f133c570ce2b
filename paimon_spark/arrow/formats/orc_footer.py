"""Decodes the tail of ORC files, which Arrow does not expose: stripes, types, statistics. Also changes parts of it.

An ORC file ends in metadata, footer and postscript, each a protobuf message, the first two compressed in chunks. A
changed tail in front of the same stripes lets Arrow's reader see some stripes only, or timestamps as their seconds.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from paimon_spark.arrow.formats.protobuf import (
    BYTES,
    Message,
    decode_message,
    encode_message,
    maybe_bytes,
    number,
    packed,
    read_varint,
    repeated,
)
from paimon_spark.limits import ADVICE, MAX_UNPACKED_BYTES

LONG, STRING, TIMESTAMP, LIST, MAP, STRUCT, TIMESTAMP_INSTANT = 4, 7, 9, 10, 11, 12, 18

_NONE, _ZLIB, _SNAPPY, _LZ4, _ZSTD = 0, 1, 2, 4, 5
_MOST_CHUNK = 2**23  # unpacked: the three bytes in front of a chunk count no more
_PS_FOOTER_LENGTH, _PS_COMPRESSION, _PS_BLOCK_SIZE, _PS_METADATA_LENGTH = 1, 2, 3, 5
_FOOTER_STRIPES, _FOOTER_TYPES, _FOOTER_METADATA, _FOOTER_ROWS, _FOOTER_STATISTICS = 3, 4, 5, 6, 7
_TYPE_KIND, _TYPE_SUBTYPES, _TYPE_NAMES = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Stripe:
    """Where a stripe lies, in bytes, and its rows."""

    offset: int
    index_length: int
    data_length: int
    footer_length: int
    row_count: int

    @property
    def end(self) -> int:
        return self.offset + self.index_length + self.data_length + self.footer_length


@dataclass(frozen=True, slots=True)
class OrcType:
    """One node of the type tree; its number in the list of types is its column id."""

    kind: int
    children: tuple[int, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class OrcTail:
    """The decoded tail; data_end is the position where the stripes end and the metadata begins."""

    postscript: Message
    footer: Message
    metadata: bytes
    data_end: int

    @property
    def compression(self) -> int:
        return number(self.postscript, _PS_COMPRESSION, _NONE)

    @property
    def block_size(self) -> int:
        return max(1, number(self.postscript, _PS_BLOCK_SIZE, 2**18))

    @cached_property
    def stripes(self) -> tuple[Stripe, ...]:
        decoded = [decode_message(raw) for raw in repeated(self.footer, _FOOTER_STRIPES)]
        stripes = tuple(Stripe(*(number(message, field) for field in range(1, 6))) for message in decoded)
        if any(stripe.end > self.data_end for stripe in stripes):
            raise ValueError("a stripe ends behind the data")
        return stripes

    @cached_property
    def types(self) -> tuple[OrcType, ...]:
        types = tuple(_orc_type(decode_message(raw)) for raw in repeated(self.footer, _FOOTER_TYPES))
        if any(not parent < child < len(types) for parent, kind in enumerate(types) for child in kind.children):
            raise ValueError("the types are no tree")
        return types

    @cached_property
    def top_level(self) -> dict[str, int]:
        """The column ids of the top-level columns by name.

        Raises:
            ValueError: the file is no table.
        """
        if not self.types or self.types[0].kind != STRUCT:
            raise ValueError("the ORC file is not a struct of columns")
        return dict(zip(self.types[0].names, self.types[0].children, strict=True))

    @cached_property
    def statistics(self) -> tuple[Message, ...]:
        """The statistics of the file, one message for each column id; empty if the writer stored none."""
        return tuple(decode_message(raw) for raw in repeated(self.footer, _FOOTER_STATISTICS))

    @cached_property
    def stripe_statistics(self) -> tuple[tuple[Message, ...], ...]:
        """The statistics of each stripe, one message for each column id; empty if the writer stored none."""
        stripes = [decode_message(raw) for raw in repeated(decode_message(self.metadata), 1)]
        return tuple(tuple(decode_message(raw) for raw in repeated(stripe, 1)) for stripe in stripes)

    def user_metadata(self, name: str) -> bytes | None:
        """What the writer has noted under a name; None: nothing."""
        for raw in repeated(self.footer, _FOOTER_METADATA):
            item = decode_message(raw)
            if maybe_bytes(item, 1) == name.encode():
                return maybe_bytes(item, 2)
        return None

    def below(self, column: int) -> Iterable[int]:
        """The column and all columns nested in it."""
        yield column
        for child in self.types[column].children:
            yield from self.below(child)

    def changed(self, stripes: Collection[int], as_long: Collection[int]) -> bytes:
        """The tail of the same file with these stripes only, in file order, and these columns declared as LONG."""
        footer: Message = []
        stripe = column = -1
        for field, wire, value in self.footer:
            if field == _FOOTER_STRIPES:
                stripe += 1
                if stripe not in stripes:
                    continue
            if field == _FOOTER_TYPES:
                column += 1
                value = _as_long(value) if column in as_long else value
            if field == _FOOTER_ROWS:
                value = sum(self.stripes[i].row_count for i in stripes)
            if field != _FOOTER_STATISTICS:
                footer.append((field, wire, value))
        body = self._chunks(encode_message(footer))
        lengths = {_PS_FOOTER_LENGTH: len(body), _PS_METADATA_LENGTH: 0}
        postscript = encode_message([(f, w, lengths.get(f, v)) for f, w, v in self.postscript])
        return body + postscript + bytes([len(postscript)])

    def _chunks(self, data: bytes) -> bytes:
        """Data in the chunks of a compressed file, each left as it is."""
        if self.compression == _NONE:
            return data
        out = bytearray()
        for start in range(0, len(data), self.block_size):
            chunk = data[start : start + self.block_size]
            out += (len(chunk) << 1 | 1).to_bytes(3, "little") + chunk
        return bytes(out)

    def decompress(self, data: bytes) -> bytes:
        """A stream of the file, decompressed.

        Raises:
            ValueError: the chunks are damaged, or of a codec that is not supported.
        """
        return decompress(data, self.compression)


def _orc_type(message: Message) -> OrcType:
    children: list[int] = []
    for field, wire, value in message:
        if field == _TYPE_SUBTYPES:
            children += packed(value) if wire == BYTES else [value]
    names = tuple(name.decode() for name in repeated(message, _TYPE_NAMES))
    return OrcType(number(message, _TYPE_KIND), tuple(children), names)


def _as_long(raw: bytes) -> bytes:
    return encode_message([(f, w, LONG if f == _TYPE_KIND else v) for f, w, v in decode_message(raw)])


def decompress(data: bytes, compression: int) -> bytes:
    """Chunks of a stream joined; compression as numbered in the postscript."""
    if compression == _NONE:
        return data
    out, size, at = [], 0, 0
    while at < len(data):
        head = int.from_bytes(data[at : at + 3], "little")
        chunk = data[at + 3 : at + 3 + (head >> 1)]
        if len(chunk) != head >> 1:
            raise ValueError("a compressed chunk ends early")
        out.append(chunk if head & 1 else _inflate(chunk, compression))
        size += len(out[-1])
        if size > MAX_UNPACKED_BYTES:
            raise ValueError(f"a stream is unpacked to more than {MAX_UNPACKED_BYTES} bytes; {ADVICE}")
        at += 3 + len(chunk)
    return b"".join(out)


def _lz4_size(chunk: bytes) -> int:
    """The size that an LZ4 block unpacks to, which ORC does not record: the sum over its sequences."""
    size = at = 0
    while at < len(chunk):
        token = chunk[at]
        literals, at = _lz4_count(chunk, at + 1, token >> 4)
        size += literals
        at += literals
        if at >= len(chunk):
            break
        copied, at = _lz4_count(chunk, at + 2, token & 15)
        size += copied + 4
    return size


def _lz4_count(chunk: bytes, at: int, nibble: int) -> tuple[int, int]:
    if nibble < 15:
        return nibble, at
    while chunk[at] == 255:
        nibble, at = nibble + 255, at + 1
    return nibble + chunk[at], at + 1


def _inflate(chunk: bytes, compression: int) -> bytes:
    try:
        if compression == _ZLIB:
            inflater = zlib.decompressobj(-15)
            found = _whole_chunk(inflater.decompress(chunk, _MOST_CHUNK + 1))
            if not inflater.eof:
                raise ValueError("a compressed chunk ends early")
            return found
        if compression == _ZSTD:
            return _whole_chunk(pa.input_stream(pa.BufferReader(chunk), compression="zstd").read(_MOST_CHUNK + 1))
        if compression == _SNAPPY:
            return bytes(pa.Codec("snappy").decompress(chunk, _chunk_size(read_varint(chunk, 0)[0])))
        if compression == _LZ4:
            return bytes(pa.Codec("lz4_raw").decompress(chunk, _chunk_size(_lz4_size(chunk))))
    except pa.ArrowMemoryError:
        raise
    except (zlib.error, OSError, IndexError, pa.ArrowException) as error:
        raise ValueError(f"a compressed chunk is damaged: {error}") from error
    raise ValueError(f"ORC compression {compression} is not supported")


def _chunk_size(size: int) -> int:
    if size > _MOST_CHUNK:
        raise ValueError(f"a compressed chunk is unpacked to {size} bytes or more, and it may have {_MOST_CHUNK}")
    return size


def _whole_chunk(data: bytes) -> bytes:
    _chunk_size(len(data))
    return bytes(data)


def read_tail(source: pa.NativeFile) -> OrcTail:
    """The tail of an open file.

    Raises:
        ValueError: not an ORC file, or its tail is damaged.
    """
    size = source.size()
    if size < 4:
        raise ValueError(f"the file has {size} bytes, too few for an ORC file")
    length = source.read_at(1, size - 1)[0]
    postscript = decode_message(source.read_at(length, max(0, size - 1 - length)))
    footer_length, metadata_length = number(postscript, _PS_FOOTER_LENGTH), number(postscript, _PS_METADATA_LENGTH)
    footer_start = size - 1 - length - footer_length
    data_end = footer_start - metadata_length
    if data_end < 0:
        raise ValueError("the ORC footer is longer than the file")
    compression = number(postscript, _PS_COMPRESSION, _NONE)
    footer = decompress(source.read_at(footer_length, footer_start), compression)
    metadata = decompress(source.read_at(metadata_length, data_end), compression)
    return OrcTail(postscript, decode_message(footer), metadata, data_end)
