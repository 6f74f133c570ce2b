"""The bytes that references to blobs lead to; columns of `blob-descriptor-field` hold references (Java: BlobRef).

Columns of `blob-view-field` hold views of rows of other tables, which have references to the bytes, or the bytes (Java:
BlobViewResolvingRow).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.raw_values import to_numpy
from paimon_spark.errors import MissingRow
from paimon_spark.file_io import FileIO
from paimon_spark.format.blob_file import decode_descriptor, is_descriptor, is_view
from paimon_spark.format.options.option import MB
from paimon_spark.store.storage.referenced import ReferencedFiles
from paimon_spark.store.storage.served import ViewLookup

_AT_ONCE = 32 * MB
"""Bytes of values in one batch, unless one value has more."""


@dataclass(frozen=True)
class FollowedViews:
    """Some columns of a batch with references in the place of views.

    Attributes:
        rows: the batch.
        places: by column, where the bytes of each row are, by their number in stores.
        stores: the stores of tables, and their locations.
    """

    rows: pa.RecordBatch
    places: Mapping[str, np.ndarray[Any, np.dtype[np.int64]]]
    stores: Sequence[tuple[FileIO, str]]

    def chosen(self, mask: pa.BooleanArray) -> FollowedViews:
        """Those rows for which the mask is true."""
        if mask.true_count == len(mask):
            return self
        kept = to_numpy(mask.fill_null(False))
        places = {name: numbers[kept] for name, numbers in self.places.items()}
        return FollowedViews(self.rows.filter(mask), places, self.stores)


def follow_views(batch: pa.RecordBatch, columns: Collection[str], lookup: ViewLookup, location: str) -> FollowedViews:
    """A batch with references to bytes in the place of views.

    Args:
        batch: rows.
        columns: those of views among its columns.
        lookup: of the read.
        location: of the table, for messages.

    Raises:
        MissingRow: one leads to what is not there, or to NULL in a NOT NULL column.
        PaimonError: as of ViewLookup.
    """
    places = {}
    for name in columns:
        at = batch.schema.get_field_index(name)
        values, places[name] = lookup.follow(batch.column(at), f"column '{name}' of {location}")
        field = batch.schema.field(at)
        if values.null_count and not field.nullable:
            raise MissingRow(
                f"reading {location}: a view in the NOT NULL column '{name}' leads to a NULL; give that row a value, "
                "or read the views themselves with 'blob-view.resolve.enabled' = 'false'"
            )
        batch = batch.set_column(at, field, values)
    return FollowedViews(batch, places, lookup.stores)


def with_bytes(
    batch: pa.RecordBatch,
    columns: Collection[str],
    file_io: FileIO,
    location: str,
    rewrites: bool = False,
    views: FollowedViews | None = None,
) -> Iterator[pa.RecordBatch]:
    """A batch with the bytes in the place of the references to them, in pieces that may be held at once.

    Args:
        batch: rows.
        columns: those of references among its columns.
        file_io: the store of the table, of which alone bytes are read that its own references lead to.
        location: of the table.
        rewrites: whether a reference stays where its bytes begin as a reference does: a write would follow them.
        views: of these rows, which tell where the bytes are of columns that had views.

    Raises:
        CorruptFile: a value is no reference, or the file ends before its bytes do.
        MissingFile: a file that a reference names does not exist.
        UnsupportedFeature: a reference leads to another store.
    """
    found = {name: batch.column(name).to_pylist() for name in columns}
    start, held = 0, 0
    others = () if views is None else views.stores
    places = {name: [0] * batch.num_rows for name in columns}
    places |= {} if views is None else {name: (at + 1).tolist() for name, at in views.places.items() if name in places}
    with ExitStack() as opened:
        own = ((file_io, location), *others)
        sources = [opened.enter_context(closing(ReferencedFiles(*store))) for store in own]
        read: dict[str, list[Any]] = {name: [] for name in columns}
        for row in range(batch.num_rows):  # each value is a read of its own
            for name in columns:
                source = sources[places[name][row]]
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
