"""A format table in a process without Spark: read as any, and written by this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.errors import OptionError, TableNotFound, UnsupportedFeature
from paimon_spark.store.file_tables.format_table import FormatTable
from paimon_spark.store.open import find_any_table
from paimon_spark.writes.format_writes import write_format_here
from paimon_spark.writes.options import DYNAMIC_OVERWRITE, OVERWRITE_WHERE, write_options_of
from paimon_spark.writes.write_job import WriteResult

_NO_OPTIONS: Mapping[str, str] = {}


@checks_arguments
@dataclass(frozen=True, repr=False)
class WritableFormatTable(FormatTable):
    """An open format table that can be read and written; picklable. Each write opens the table that is there then.

    - Read: ``scan``, ``partitions``
    - Write: ``append``, ``overwrite``, ``dynamic_partition_overwrite``

    Attributes:
        place: the location that the caller gave.
        given: the options that the caller gave, those of the storage among them.
    """

    offers = (
        "scan() reads its files, partitions() lists its partitions, append(), overwrite() and "
        "dynamic_partition_overwrite() write rows"
    )

    place: str = field(default="", compare=False)
    given: Mapping[str, str] = field(default_factory=dict, compare=False)

    def append(self, rows: Any, options: Mapping[str, str] = _NO_OPTIONS) -> WriteResult:
        """Adds the rows.

        Args:
            rows: as for ``WritableTable.append``. Columns are matched by name, values are cast as there.
            options: of this write, such as ``write.missing-columns``.

        Raises:
            DataError: the rows do not fit the table, or readers would find other values; nothing was written.
            TableNotFound: the table was dropped.
            PaimonError: the options and the table do not fit, or a file could not be written.
        """
        return self._write(rows, options, False)

    def overwrite(self, rows: Any, where: str | None = None, options: Mapping[str, str] = _NO_OPTIONS) -> WriteResult:
        """Replaces all rows, or those of some partitions: when all new files are there, the old ones are deleted.

        Args:
            rows, options: as for append.
            where: SQL text that gives partition columns their values, such as ``dt = '2026-11-01'``; rows of other
                partitions are refused.

        Raises:
            As for append.
        """
        return self._write(rows, options if where is None else {**options, OVERWRITE_WHERE: where}, True)

    def dynamic_partition_overwrite(self, rows: Any, options: Mapping[str, str] = _NO_OPTIONS) -> WriteResult:
        """Replaces the partitions that the rows belong to, and no other; arguments and errors as for append.

        Raises:
            OptionError: the table has no partitions, so that all its rows would go.
        """
        if not self.schema.partition_keys:
            raise OptionError(
                f"dynamic_partition_overwrite of {self.place}: the table has no partitions; overwrite(rows) replaces "
                "all its rows"
            )
        return self._write(rows, {**options, DYNAMIC_OVERWRITE: "true"}, True)

    def _write(self, rows: Any, options: Mapping[str, str], overwrite: bool) -> WriteResult:
        write = write_options_of(self.place, {**self.given, **options})
        table = find_any_table(self.place, write.table)
        if table is None:
            raise TableNotFound(f"writing to {self.place}: there is no table any more; it was dropped or renamed")
        if not isinstance(table, FormatTable):
            raise UnsupportedFeature(
                f"writing to {self.place}: it was a format table when it was opened, and is another one now; open it "
                "again"
            )
        return write_format_here(table, rows, write, overwrite, write.time_zone or self.time_zone)


def writable_format_table(table: FormatTable, place: str, given: Mapping[str, str]) -> WritableFormatTable:
    """An open table as one that can be written; place, given: see WritableFormatTable."""
    return WritableFormatTable(table.table, place=place, given=given)
