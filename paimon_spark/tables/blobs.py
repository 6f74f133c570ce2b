"""Opens the bytes that a value of a BLOB column names (Java: Blob.fromDescriptor, OffsetSeekableInputStream)."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import IO, cast

from paimon_spark.errors import CorruptFile, DataError
from paimon_spark.file_io import file_io_for
from paimon_spark.file_io.locate import plain_location
from paimon_spark.format.blob_file import BlobDescriptor, decode_descriptor, is_descriptor

NO_OPTIONS: Mapping[str, str] = {}
_BUFFER = 1 << 16


def open_blob(reference: bytes | BlobDescriptor, options: Mapping[str, str] = NO_OPTIONS) -> IO[bytes]:
    """Opens the bytes that a reference leads to, as a file of their own: ``seek`` and ``read`` take any part of them.

    A read of a table with `blob-as-descriptor` = `true` returns such references. No table is opened. In a task of Spark
    it works as in any process.

    Args:
        reference: a value of a BLOB column, or a BlobDescriptor.
        options: how to reach the storage (``s3.endpoint``, ...).

    Raises:
        DataError: the value is no reference, or leads to a place that no value has.
        FileNotFoundError: there is no such file; some stores say so when it is read.
        CorruptFile: when it is read: the file ends before the bytes do.
    """
    if not isinstance(reference, BlobDescriptor):
        if not is_descriptor(reference):
            raise DataError(
                f"opening a blob: a value of {len(reference)} bytes is no reference; read the table with "
                "'blob-as-descriptor' = 'true', which gives references instead of bytes"
            )
        reference = decode_descriptor(reference, "a reference")
    if reference.offset < 0 or reference.length < -1:
        raise DataError(
            f"opening a blob: the reference to {reference.uri} has the offset {reference.offset} and the length "
            f"{reference.length}, which no value has; correct it"
        )
    source = file_io_for(reference.uri, options).open_input(plain_location(reference.uri))
    return cast("IO[bytes]", io.BufferedReader(_Part(source, reference), _BUFFER))


class _Part(io.RawIOBase):
    """A part of a file as a file."""

    def __init__(self, source: IO[bytes], reference: BlobDescriptor) -> None:
        self._source, self._uri, self._start = source, reference.uri, reference.offset
        whole = reference.length < 0
        self._length = max(source.seek(0, io.SEEK_END) - self._start, 0) if whole else reference.length
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._length}[whence]
        if base + offset < 0:
            raise ValueError(f"the position {base + offset} is before the first byte")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        count = max(min(len(buffer), self._length - self._at), 0)
        if not count:
            return 0
        self._source.seek(self._start + self._at)
        data = self._source.read(count)
        if not data:
            raise CorruptFile(
                f"reading a blob: the file {self._uri} ends before byte {self._start + self._length}, to which the "
                "reference leads; it is damaged or not the file meant"
            )
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        self._source.close()
        super().close()
