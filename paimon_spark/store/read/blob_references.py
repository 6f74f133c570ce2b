"""The bytes that references to blobs lead to; columns of `blob-descriptor-field` hold references (Java: BlobRef)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa

from paimon_spark.file_io import FileIO
from paimon_spark.format.blob_file import decode_descriptor, is_descriptor, is_view
from paimon_spark.format.options.option import MB
from paimon_spark.store.storage.referenced import ReferencedFiles

_AT_ONCE = 32 * MB
"""Bytes of values in one batch, unless one value has more."""


def with_bytes(
    batch: pa.RecordBatch, columns: Collection[str], file_io: FileIO, location: str, rewrites: bool = False
) -> Iterator[pa.RecordBatch]:
    """A batch with the bytes in the place of the references to them, in pieces that may be held at once.

    Args:
        batch: rows.
        columns: those of references among its columns.
        file_io: the store of the table, of which alone bytes are read.
        location: of the table.
        rewrites: whether a reference stays where its bytes begin as a reference does: a write would follow them.

    Raises:
        CorruptFile: a value is no reference, or the file ends before its bytes do.
        MissingFile: a file that a reference names does not exist.
        UnsupportedFeature: a reference leads to another store.
    """
    found = {name: batch.column(name).to_pylist() for name in columns}
    start, held = 0, 0
    with closing(ReferencedFiles(file_io, location)) as source:
        read: dict[str, list[Any]] = {name: [] for name in columns}
        for row in range(batch.num_rows):  # each value is a read of its own
            for name in columns:
                value, size = _read(source, found[name][row], f"column '{name}' of {location}", rewrites)
                read[name].append(value)
                held += size
            if held >= _AT_ONCE or row + 1 == batch.num_rows:
                piece = batch.slice(start, row + 1 - start)
                for name, values in read.items():
                    place = piece.schema.get_field_index(name)
                    field = piece.schema.field(place)
                    piece = piece.set_column(place, field, pa.array(values, field.type))
                yield piece
                start, held, read = row + 1, 0, {name: [] for name in columns}


def _read(source: ReferencedFiles, value: Any, where: str, rewrites: bool) -> tuple[Any, int]:
    """The bytes that a reference leads to, or those of an array or a map; and how many they are."""
    if value is None:
        return None, 0
    if isinstance(value, bytes):
        data = source.read(decode_descriptor(value, where))
        return (value if rewrites and (is_descriptor(data) or is_view(data)) else data), len(data)
    keys = [entry[0] if isinstance(entry, tuple) else None for entry in value]
    parts = [_read(source, entry[1] if isinstance(entry, tuple) else entry, where, rewrites) for entry in value]
    found = [part for part, _ in parts]
    is_map = any(isinstance(entry, tuple) for entry in value)
    return list(zip(keys, found, strict=True)) if is_map else found, sum(size for _, size in parts)
