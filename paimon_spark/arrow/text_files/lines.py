"""The lines of a file, and its compression (Java: StandardLineReader, CustomLineReader, HadoopCompressionUtils)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from paimon_spark.errors import CorruptFile, UnsupportedFeature

_BLOCK = 4 << 20
_LONGEST = 1 << 30
_BOM = b"\xef\xbb\xbf"
USUAL_ENDS = ("\n", "\r", "\r\n")
"""Delimiters of which each one, where it is set, ends a line."""
_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_REFUSED = (".snappy", ".lz4", ".deflate")


def lines_of(source: Any, path: str, delimiter: str, block_bytes: int = _BLOCK) -> Iterator[pa.StringArray]:
    """The lines of a file, without what ends them, in blocks.

    A line feed, a carriage return, or both, end a line if the delimiter is one of them; then a mark of UTF-8 at the
    begin of the file is left out. Nothing behind the last delimiter is no line.

    Args:
        source: a binary file; the caller closes it.
        path: of the file; the end of its name tells how it is compressed.
        delimiter: what ends a line.
        block_bytes: how many bytes are read at once.

    Raises:
        CorruptFile: the file is not in UTF-8, its compression is damaged, or a line is longer than 1 GiB.
        UnsupportedFeature: a compression that this release cannot read.
    """
    stream, is_usual = _plain(source, path), delimiter in USUAL_ENDS
    end = b"\n" if is_usual else delimiter.encode()
    rest = None
    while True:
        chunk = _read(stream, path, block_bytes)
        text = chunk if rest is None else rest + chunk
        held = b""
        if is_usual:
            text = text.removeprefix(_BOM) if rest is None else text
            held = b"\r" if chunk and text.endswith(b"\r") else b""  # a line feed may follow
            text = text[: len(text) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = text.split(end)
        rest = lines.pop() + held
        if not chunk and rest:
            lines.append(rest)
        if lines:
            yield _decoded(lines, path)
        if not chunk:
            return
        if len(rest) > _LONGEST:
            raise CorruptFile(f"reading {path}: it has a line of more than {_LONGEST} bytes: check the line delimiter")


def _plain(source: Any, path: str) -> Any:
    name = path.rpartition("/")[2]
    for suffix in _REFUSED:
        if name.endswith(suffix):
            raise UnsupportedFeature(
                f"reading {path}: this release does not read files of lines that are compressed as '{suffix}'; it "
                f"reads {', '.join(_CODECS)} and those without compression: compress the file in another way"
            )
    codec = next((codec for suffix, codec in _CODECS.items() if name.endswith(suffix)), None)
    return source if codec is None else pa.CompressedInputStream(source, codec)


def _read(stream: Any, path: str, most: int) -> bytes:
    if not isinstance(stream, pa.CompressedInputStream):
        return bytes(stream.read(most))
    try:
        return bytes(stream.read(most))
    except (OSError, pa.ArrowException) as error:
        raise CorruptFile(f"reading {path}: its compression is damaged: {error}") from None


def _decoded(lines: list[bytes], path: str) -> pa.StringArray:
    try:
        return pa.array(lines, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        raise CorruptFile(f"reading {path}: it is not in UTF-8: write it again in UTF-8") from None
