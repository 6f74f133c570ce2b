"""What the genuine Java says of curves and of incremental clustering; run where the JVM is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jpype
from genuine_values import codec
from java_table import table_at

Row = tuple[Any, ...]


def z_values(paimon: Any, path: str, columns: Sequence[str], rows: Sequence[Row]) -> list[bytes]:
    """The z-value of each row, of all columns of the table in its order."""
    row_type = table_at(paimon, path).rowType()
    indexer = paimon.sort.zorder.ZIndexer(row_type, jpype.java.util.ArrayList(columns))
    indexer.open()
    return [bytes(indexer.index(row)) for row in _rows(paimon, row_type, rows)]


def hilbert_values(paimon: Any, path: str, columns: Sequence[str], rows: Sequence[Row]) -> list[bytes]:
    """The position of each row on the Hilbert curve."""
    row_type = table_at(paimon, path).rowType()
    indexer = paimon.sort.hilbert.HilbertIndexer(row_type, jpype.java.util.ArrayList(columns))
    indexer.open()
    return [bytes(indexer.index(row)) for row in _rows(paimon, row_type, rows)]


def clustering_picks(paimon: Any, path: str, full: bool) -> list[tuple[int, list[str]]]:
    """The level and the files of each pick of a table with incremental clustering."""
    manager = paimon.append.cluster.IncrementalClusterManager(table_at(paimon, path))
    units = manager.createCompactUnits(full).values()
    return sorted((int(u.outputLevel()), sorted(str(f.fileName()) for f in u.files())) for u in units)


def _rows(paimon: Any, row_type: Any, rows: Sequence[Row]) -> list[Any]:
    codecs = [codec(t) for t in row_type.getFieldTypes()]
    made = []
    for row in rows:
        values = [c.encode(v) for c, v in zip(codecs, row, strict=True)]
        made.append(paimon.data.GenericRow.of(jpype.JArray(jpype.java.lang.Object)(values)))
    return made
