"""Integers of the rows that manifests hold, of many entries at once: bounds in the statistics of data files."""

from __future__ import annotations

import numpy as np

from paimon_spark.format.avro.lanes import Bools, Ints, Path
from paimon_spark.format.binary_row import header_size
from paimon_spark.format.manifests.columns import ManifestColumns
from paimon_spark.format.types import Root

WIDTHS = {Root.TINYINT: 1, Root.SMALLINT: 2, Root.INT: 4, Root.BIGINT: 8, Root.TIME: 4}
"""Bytes in a BinaryRow. DATE is not among them: ORC shifts it."""


def row_integers(
    columns: ManifestColumns, path: Path, entries: Ints, place: tuple[int, int], root: Root
) -> tuple[Ints, Bools]:
    """One integer field of the BinaryRows of a column, and where it is known (format sections 5.1, 5.2).

    Args:
        columns: the entries.
        path: the column that holds the rows.
        entries: numbers of entries.
        place: the number of fields that the rows must have, and the index of the wanted one.
        root: the type of the field, one of WIDTHS.
    """
    arity, position = place
    rows, header, width = columns.columns[path], header_size(arity), WIDTHS[root]
    starts, sizes = rows.values[entries] + 4, (rows.ends - rows.values)[entries] - 4
    known = sizes >= header + 8 * arity
    at = np.where(known, starts, 4)
    raw = np.frombuffer(columns.buffer, np.uint8)
    for i, byte in enumerate(arity.to_bytes(4, "big")):
        known &= raw[at - 4 + i] == byte
    bits = np.where(known, at + ((position + 8) >> 3), 0)  # behind a row of fewer fields the buffer may end
    known &= raw[bits] & (1 << (position & 7)) == 0
    slots = np.where(known, starts + header + 8 * position, 0)
    fields = np.ndarray((len(raw) - width + 1,), np.dtype(f"<i{width}"), columns.buffer, strides=(1,))
    return fields[slots].astype(np.int64), known
