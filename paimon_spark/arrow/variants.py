"""Columns of VARIANT as JSON texts."""

from __future__ import annotations

import pyarrow as pa

from paimon_spark.arrow.types import is_variant
from paimon_spark.errors import DataError
from paimon_spark.format import variant


def json_texts(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The JSON text of each value of a VARIANT column of Arrow, as scans return it; null where it is NULL.

    Texts have no blanks. Decimals keep their digits; NaN and infinities, dates, times and bytes (base64) are texts.
    ``paimon_spark.json_texts(table.scan().to_arrow()["v"])`` is the column v. Each value is read for itself.

    Args:
        column: of the type VARIANT; one within other values is a child of their array.

    Raises:
        DataError: it is no VARIANT column, or a value is damaged.
    """
    if not is_variant(column.type):
        raise DataError(f"this column is {column.type} of Arrow, not the VARIANT of a scan: take such a column")
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([json_texts(chunk) for chunk in column.chunks], pa.string())
    parts = (column.field(name).to_pylist() for name in ("value", "metadata"))
    rows = zip(column.is_valid().to_pylist(), *parts, strict=True)
    texts = [variant.json_text(value, names) if is_there else None for is_there, value, names in rows]
    return pa.array(texts, pa.string())
