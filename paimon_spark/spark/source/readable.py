"""What ``spark.read`` can read: a table or a system table, and the columns that it shows."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_spark.errors import OptionError
from paimon_spark.spark.adapters.options import ReadOptions, read_options
from paimon_spark.spark.adapters.readable_columns import Readable
from paimon_spark.store.open import find_system_table, open_any_table
from paimon_spark.store.system_tables.names import is_of_warehouse


def open_readable(options: Mapping[str, str]) -> tuple[Readable, ReadOptions]:
    """What the options of a read name, opened, and the options.

    Raises:
        OptionError: an option does not fit the path.
        PaimonError: nothing there can be read, as in open_table.
    """
    read = read_options(options)
    if read.native:
        raise OptionError(
            f"reading {read.path}: 'read.native' = 'true' cannot hold here, because Spark takes rows of a Python data "
            "source from Python only; use PaimonTable.forPath(spark, path).toDF(native=True), or leave the option out"
        )
    system = _find_system(read)
    if system is not None and read.row_kinds:
        raise OptionError(f"reading {read.path}: a system table has no row kinds but those that it shows")
    return system or open_any_table(read.path, read.table, time_zone=read.time_zone), read


def _find_system(read: ReadOptions) -> Readable | None:
    if is_of_warehouse(read.path):
        from paimon_spark.catalogs.warehouse import find_warehouse_table

        table = find_warehouse_table(read.path, read.table, time_zone=read.time_zone)
        if table is not None:
            return table
    return find_system_table(read.path, read.table, time_zone=read.time_zone)
