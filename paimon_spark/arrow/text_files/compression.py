"""How files of lines are compressed: by the codecs of Hadoop, which the end of the name of a file tells.

Java: HadoopCompressionType, HadoopCompressionUtils of release 2.0.0; Hadoop: BlockCompressorStream,
BlockDecompressorStream. gzip, bzip2, zstd and deflate (zlib) are streams, of which one may follow another in a file.
snappy and lz4 are blocks: four bytes with the size of its data, then chunks, each behind four bytes with its own size.
"""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pyarrow as pa

from paimon_spark.errors import CorruptFile, PaimonError, UnsupportedFeature

SUFFIXES = {"gzip": "gz", "bzip2": "bz2", "zstd": "zst", "deflate": "deflate", "snappy": "snappy", "lz4": "lz4"}
"""The end of the name of a file, by the compression of the table."""
_STREAMS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_BLOCKS = {".snappy": "snappy", ".lz4": "lz4_raw"}
_DEFLATE = ".deflate"
_BLOCK = 128 << 10
"""Bytes of a block that is written. Hadoop's readers take chunks of up to 256 KiB."""
_MOST = 1 << 30
_LZ4_MOST = 255
"""How many bytes one byte of lz4 can become."""
_INPUT = 1 << 20


class Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


def plain_stream(source: Any, path: str) -> Callable[[int], bytes]:
    """Reads a file without its compression: the next bytes, up to a number, and none at its end.

    Args:
        source: the file; the caller closes it.
        path: of the file.

    Raises:
        CorruptFile: by a call of what is returned: the compression is damaged.
    """
    suffix = next((one for one in (*_STREAMS, *_BLOCKS, _DEFLATE) if path.endswith(one)), None)
    if suffix is None:
        return lambda most: bytes(source.read(most))
    if suffix in _STREAMS:
        stream = pa.CompressedInputStream(source, _STREAMS[suffix])
        return _guarded(lambda most: bytes(stream.read(most)), path)
    pieces = _inflated(source) if suffix == _DEFLATE else _of_blocks(source, pa.Codec(_BLOCKS[suffix]))
    return _guarded(lambda _: next(pieces, b""), path)


def _guarded(read: Callable[[int], bytes], path: str) -> Callable[[int], bytes]:
    def guarded(most: int) -> bytes:
        try:
            return read(most)
        except (FileNotFoundError, MemoryError, PaimonError):
            raise
        except (OSError, ValueError, zlib.error, pa.ArrowException) as error:
            raise CorruptFile(f"reading {path}: its compression is damaged: {error}") from None

    return guarded


def _inflated(source: Any) -> Iterator[bytes]:
    """The data of streams of zlib. Raises ValueError: the last one is cut off."""
    inflater, is_begun = zlib.decompressobj(), False
    while data := bytes(source.read(_INPUT)):
        while data:
            is_begun = True
            if found := inflater.decompress(data, _INPUT):
                yield found
            data = inflater.unconsumed_tail
            if inflater.eof:
                data, inflater, is_begun = inflater.unused_data, zlib.decompressobj(), False
    if is_begun:
        raise ValueError("it is cut off")


def _of_blocks(source: Any, codec: pa.Codec) -> Iterator[bytes]:
    """The data of blocks. Raises ValueError: a size is wrong, or the file is cut off."""
    while (size := _number(source, may_end=True)) is not None:
        left = size
        while left:
            chunk = _exactly(source, _number(source) or 0)
            most = _snappy_size(chunk) if codec.name == "snappy" else min(left, len(chunk) * _LZ4_MOST)
            if most > left:
                raise ValueError(f"a chunk has {most} bytes, and {left} of its block are left")
            found = codec.decompress(chunk, most, asbytes=True)
            if not found:
                raise ValueError("a chunk is empty")
            left -= len(found)
            yield found


def _snappy_size(chunk: bytes) -> int:
    """The number of bytes that a chunk has without its compression, which stands at its begin."""
    size = 0
    for place, byte in enumerate(chunk[:5]):
        size |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return size
    raise ValueError("a chunk has no size")


def _number(source: Any, may_end: bool = False) -> int | None:
    data = bytes(source.read(4))
    if not data and may_end:
        return None
    number = int.from_bytes(data, "big")
    if len(data) < 4 or number > _MOST:
        raise ValueError("a size is cut off, or too large")
    return number


def _exactly(source: Any, size: int) -> bytes:
    data = bytes(source.read(size))
    if len(data) < size:
        raise ValueError("it is cut off")
    return data


class CompressedSink:
    """Writes a file with a compression of the table; see SUFFIXES. The file stays open."""

    def __init__(self, sink: Sink, compression: str) -> None:
        """compression: a key of SUFFIXES, or ``none``.

        Raises:
            UnsupportedFeature: it is none of them.
        """
        if compression not in (*SUFFIXES, "none"):
            raise UnsupportedFeature(
                f"writing files of lines with the compression '{compression}': it is one of none, "
                f"{', '.join(SUFFIXES)}; set 'file.compression' to one of them"
            )
        self._sink, self._held = sink, bytearray()
        self._streams = _compressor(compression)
        self._codec = {"zstd": "zstd", "snappy": "snappy", "lz4": "lz4_raw"}.get(compression)

    def write(self, data: bytes) -> None:
        """Adds bytes of the file as it is without compression."""
        if self._codec is None:
            self._sink.write(data if self._streams is None else self._streams.compress(data))
            return
        self._held += data
        while len(self._held) >= _BLOCK:
            self._sink.write(_block(bytes(self._held[:_BLOCK]), self._codec))
            del self._held[:_BLOCK]

    def finish(self) -> None:
        """Writes what is held back."""
        if self._streams is not None:
            self._sink.write(self._streams.flush())
        if self._codec is not None and self._held:
            self._sink.write(_block(bytes(self._held), self._codec))
            self._held.clear()


def _compressor(compression: str) -> Any:
    match compression:
        case "gzip":
            return zlib.compressobj(wbits=31)
        case "deflate":
            return zlib.compressobj()
        case "bzip2":
            return bz2.BZ2Compressor()
    return None


def _block(data: bytes, codec: str) -> bytes:
    """One block with one chunk; for zstd one frame."""
    chunk = bytes(pa.Codec(codec).compress(data, asbytes=True))
    sizes = b"" if codec == "zstd" else len(data).to_bytes(4, "big") + len(chunk).to_bytes(4, "big")
    return sizes + chunk
