"""The lines of a file (Java: StandardLineReader, CustomLineReader)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.text_files.compression import plain_stream
from paimon_spark.errors import CorruptFile

_BLOCK = 4 << 20
_LONGEST = 1 << 30
_BOM = b"\xef\xbb\xbf"
USUAL_ENDS = ("\n", "\r", "\r\n")
"""Delimiters of which each one, where it is set, ends a line."""


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
    """
    read, is_usual = plain_stream(source, path), delimiter in USUAL_ENDS
    end = b"\n" if is_usual else delimiter.encode()
    rest = None
    while True:
        chunk = read(block_bytes)
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


def _decoded(lines: list[bytes], path: str) -> pa.StringArray:
    try:
        return pa.array(lines, pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        raise CorruptFile(f"reading {path}: it is not in UTF-8: write it again in UTF-8") from None
