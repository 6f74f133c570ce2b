"""Refuses new values of VECTOR columns with files of their own that release 2.0 of the official system would not read.

Java: DataEvolutionSplitRead.splitFieldBunches (release 2.0). Of the files that have values of one column in the same
rows, that release takes files of all columns first, and then those of VECTOR columns by their schema, format and
columns. Their age counts only among files that have all three in common.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import file_format_of
from paimon_spark.format.rules.blobs import vector_file_columns
from paimon_spark.format.types import DataField
from paimon_spark.merge.keys.row_ids import is_blob_file, is_part_file
from paimon_spark.store.compact.task import AppendTask
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.file_statistics import ids_of_file


def check_vector_columns(table: Table, tasks: Mapping[str, AppendTask], names: Collection[str]) -> None:
    """Checks that new values of VECTOR columns are read by release 2.0 of the official system, and not those before.

    Args:
        table: with data evolution, and the schema that new files get.
        tasks: all files that have columns of the rows that change, as of column_tasks.
        names: the columns that get new values.

    Raises:
        UnsupportedFeature: the old values would be read; the message says what to do.
        CorruptFile: the name of a file does not tell its format.
    """
    fields = [field for field in vector_file_columns(table.schema.fields, table.settings) if field.name in names]
    for task in tasks.values() if fields else ():
        older = _read_before(table, task.files, fields)
        if older is not None:
            columns = ", ".join(f"'{field.name}'" for field in fields)
            raise UnsupportedFeature(
                f"changing rows of {table.location}: release 2.0 of the official system would read old values of "
                f"{columns} from {older.file_name}, whose schema, format or columns it takes before those of a new "
                "file; delete these rows, and insert them with the new values"
            )


def _read_before(table: Table, files: Sequence[DataFileMeta], fields: Sequence[DataField]) -> DataFileMeta | None:
    """A file with values of some of these columns that Java takes before a new file of them."""
    assert table.settings.files.vector_format is not None, "columns with files of their own, without a format"
    ids = frozenset(field.id for field in fields)
    new = _order(table.schema.id, table.settings.files.vector_format.lower(), [field.name for field in fields])
    for file in files:
        if is_blob_file(file) or ids.isdisjoint(ids_of_file(file, table.schema, table.schemas.load)):
            continue
        if not is_part_file(file) or _order_of(table, file) < new:
            return file
    return None


def _order_of(table: Table, file: DataFileMeta) -> tuple[int, bytes, list[bytes]]:
    written = table.schema if file.schema_id == table.schema.id else table.schemas.load(file.schema_id)
    listed = file.write_cols or ()
    columns = [field.name for field in written.fields if field.name in listed]
    return _order(file.schema_id, file_format_of(file.file_name), columns)


def _order(schema_id: int, file_format: str, columns: Sequence[str]) -> tuple[int, bytes, list[bytes]]:
    """What files of VECTOR columns are sorted by; Java compares texts by their UTF-16 units."""
    return schema_id, file_format.encode("utf-16-be"), [name.encode("utf-16-be") for name in columns]
