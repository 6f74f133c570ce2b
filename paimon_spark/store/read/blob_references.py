"""The bytes that references to blobs lead to; columns of `blob-descriptor-field` hold references (Java: BlobRef)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack
from typing import IO

import pyarrow as pa

from paimon_spark.errors import CorruptFile, MissingFile, UnsupportedFeature
from paimon_spark.file_io import FileIO
from paimon_spark.file_io.locate import is_same_store, plain_location
from paimon_spark.format.blob_file import BlobDescriptor, decode_descriptor
from paimon_spark.format.options.option import MB

_AT_ONCE = 32 * MB
"""Bytes of values in one batch, unless one value has more."""
_OPEN_FILES = 64
_LARGEST = 2**31 - 1


def with_bytes(
    batch: pa.RecordBatch, columns: Collection[str], file_io: FileIO, location: str
) -> Iterator[pa.RecordBatch]:
    """A batch with the bytes in the place of the references to them, in pieces that may be held at once.

    Args:
        batch: rows.
        columns: those of references among its columns.
        file_io: the store of the table, of which alone bytes are read.
        location: of the table.

    Raises:
        CorruptFile: a value is no reference, or the file ends before its bytes do.
        MissingFile: a file that a reference names does not exist.
        UnsupportedFeature: a reference leads to another store.
    """
    found = {
        name: [None if v is None else decode_descriptor(v, f"column '{name}' of {location}") for v in values]
        for name in columns
        for values in (batch.column(name).to_pylist(),)
    }
    start, held = 0, 0
    with ExitStack() as closing:
        source = _Files(file_io, location, closing)
        read: dict[str, list[bytes | None]] = {name: [] for name in columns}
        for row in range(batch.num_rows):  # each value is a read of its own
            for name in columns:
                reference = found[name][row]
                data = None if reference is None else source.read(reference)
                read[name].append(data)
                held += len(data or b"")
            if held >= _AT_ONCE or row + 1 == batch.num_rows:
                piece = batch.slice(start, row + 1 - start)
                for name, values in read.items():
                    place = piece.schema.get_field_index(name)
                    piece = piece.set_column(place, piece.schema.field(place), pa.array(values, pa.binary()))
                yield piece
                start, held, read = row + 1, 0, {name: [] for name in columns}


class _Files:
    """Files that references lead to; the last ones stay open."""

    def __init__(self, file_io: FileIO, location: str, closing: ExitStack) -> None:
        self._file_io = file_io
        self._location = location
        self._closing = closing
        self._open: dict[str, IO[bytes]] = {}

    def read(self, reference: BlobDescriptor) -> bytes:
        if not is_same_store(reference.uri, self._location):
            raise UnsupportedFeature(
                f"reading {self._location}: the blob at {reference.uri} is in another store than the table, from which "
                "this release does not read; read with 'blob-as-descriptor' = 'true', which gives the references"
            )
        path = plain_location(reference.uri)
        if reference.offset < 0 or reference.length > _LARGEST:
            raise CorruptFile(
                f"reading {self._location}: a reference to {path} is to {reference.length} bytes from "
                f"{reference.offset} on, which no value has; read with 'blob-as-descriptor' = 'true'"
            )
        try:
            if path not in self._open:
                if len(self._open) >= _OPEN_FILES:
                    self._closing.close()
                    self._open.clear()
                self._open[path] = self._closing.enter_context(self._file_io.open_input(path))
            source = self._open[path]
            source.seek(reference.offset)
            data = source.read() if reference.length < 0 else source.read(reference.length)
        except FileNotFoundError:
            raise MissingFile(
                f"reading {self._location}: the blob file {path}, to which a row refers, does not exist; restore it, "
                "or read with 'blob-as-descriptor' = 'true', which gives the references",
                path,
            ) from None
        if reference.length >= 0 and len(data) != reference.length:
            raise CorruptFile(
                f"reading {self._location}: the blob file {path} ends before byte "
                f"{reference.offset + reference.length}, to which a row refers; it is damaged or not the file meant"
            )
        return bytes(data)
