"""The bytes that references to blobs lead to; columns of `blob-descriptor-field` hold references (Java: BlobRef)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing

import pyarrow as pa

from paimon_spark.file_io import FileIO
from paimon_spark.format.blob_file import decode_descriptor
from paimon_spark.format.options.option import MB
from paimon_spark.store.storage.referenced import ReferencedFiles

_AT_ONCE = 32 * MB
"""Bytes of values in one batch, unless one value has more."""


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
    with closing(ReferencedFiles(file_io, location)) as source:
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
