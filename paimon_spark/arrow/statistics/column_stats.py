"""Statistics of the values of one column in a file, row group or partition, and their collection batch after batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow import kernels as pc
from paimon_spark.arrow.types import to_internal
from paimon_spark.format.types import UNORDERED, DataField


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """Bounds as internal values and the number of nulls; None = unknown.

    The bounds hold for all values that are not null; the maximum of a FLOAT or DOUBLE column is None where a NaN
    (the greatest value) may hide.
    """

    minimum: Any = None
    maximum: Any = None
    null_count: int | None = None


class StatsCollector:
    """Collects the statistics that manifests hold, of the columns whose values have an order (format section 6).

    As in parquet footers a float column with a NaN has no bounds, a minimum of zero is -0.0 and a maximum of zero 0.0.
    """

    def __init__(self, fields: Sequence[DataField]) -> None:
        self._columns = [(i, f.name) for i, f in enumerate(fields) if f.type.root not in UNORDERED]
        self._nulls = [0] * len(self._columns)
        self._bounds: list[tuple[Any, Any] | None] = [None] * len(self._columns)
        self._unbounded = [False] * len(self._columns)

    def add(self, batch: pa.RecordBatch) -> None:
        for at, (i, _) in enumerate(self._columns):
            array = batch.column(i)
            self._nulls[at] += array.null_count
            if self._unbounded[at] or array.null_count == len(array):
                continue
            if pt.is_floating(array.type) and pc.any(pc.is_nan(array)).as_py():
                self._unbounded[at] = True
                continue
            found = pc.min_max(array)
            low, high = to_internal(found["min"]), to_internal(found["max"])
            known = self._bounds[at]
            self._bounds[at] = (low, high) if known is None else (min(low, known[0]), max(high, known[1]))

    def result(self) -> dict[str, ColumnStats]:
        """The statistics by column name."""
        result = {}
        for at, (_, name) in enumerate(self._columns):
            known = self._bounds[at]
            low, high = (None, None) if known is None or self._unbounded[at] else known
            result[name] = ColumnStats(_zero(low, -0.0), _zero(high, 0.0), self._nulls[at])
        return result


def _zero(bound: Any, zero: float) -> Any:
    return zero if isinstance(bound, float) and bound == 0 else bound
