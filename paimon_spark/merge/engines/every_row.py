"""An engine that keeps every row: many sorted runs become one run with repeated keys, when too many to open at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from paimon_spark.merge.keys.rows import take_rows
from paimon_spark.merge.keys.window import MergeSpec, Window


def every_row(window: Window, spec: MergeSpec, output: Sequence[str], ordered: bool) -> Iterator[pa.RecordBatch]:
    """All rows of a window in key order, those of one key in the order of the runs; columns ``output``."""
    pieces = [piece.rows.select(output) for piece in window.pieces]
    if len(pieces) == 1:
        return iter(pieces)
    return take_rows(pieces, window.groups.order)
