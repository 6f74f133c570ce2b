"""The rule for the rows of a compacted file that is sorted by other columns than the key (`pk-clustering-override`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from paimon_spark.arrow.types import to_internal
from paimon_spark.errors import CorruptFile
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import file_format_of
from paimon_spark.format.types import DataField, Root
from paimon_spark.merge.clustering.merge_order import RowOrder
from paimon_spark.merge.compaction.clustered_picks import values_of
from paimon_spark.store.checks.report import Rule


class ClusterCheck:
    """The first and the last values of the columns are the recorded ones.

    Attributes:
        is_sorted: whether the rows so far are sorted by the columns, nulls first. If not, no row is wrong, and
            conditions leave out less: release 1.4 of the official system writes such files.
    """

    def __init__(self, fields: Sequence[DataField], meta: DataFileMeta) -> None:
        """The check of one file.

        Args:
            fields: the columns, the most important first.
            meta: the metadata of the file.
        """
        self.fields = fields
        self._meta = meta
        self.is_sorted: bool = True
        self._order = RowOrder(fields)
        self._first: bytes | None = None
        self._last = b""

    def look(self, batch: pa.RecordBatch) -> None:
        if self._first is None:
            self._first = self._row(batch, 0)
        self._last = self._row(batch, batch.num_rows - 1)
        self.is_sorted = self.is_sorted and self._order.goes_on(batch)

    def faults(self) -> Iterator[tuple[Rule, str]]:
        names = ", ".join(field.name for field in self.fields)
        pads = any(field.type.root is Root.CHAR for field in self.fields)
        if self._first is None or (pads and file_format_of(self._meta.file_name) == "orc"):
            return  # ORC does not tell the blanks at the end of CHAR
        values = values_of(self.fields)
        try:
            recorded = values(self._meta)
        except CorruptFile as error:
            yield Rule.KEY_RANGE, f"the recorded first and last values of {names} cannot be read: {error}"
            return
        if recorded != values(self._meta._replace(min_key=self._first, max_key=self._last)):
            yield Rule.KEY_RANGE, f"the first and last values of {names} are not those that are recorded"

    def _row(self, batch: pa.RecordBatch, row: int) -> bytes:
        values = [to_internal(batch.column(field.name)[row]) for field in self.fields]
        return encode_arity_row(values, [field.type for field in self.fields])
