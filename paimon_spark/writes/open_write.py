"""The beginning of a write: the table is opened or created, and all is checked that can be before there is a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from paimon_spark.arrow.alignment import align_rows
from paimon_spark.errors import OptionError, TableNotFound, UnsupportedFeature
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.partition_registration import check_registration
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.metadata.table_options import split_storage_options
from paimon_spark.store.open import find_table, open_data_table
from paimon_spark.store.write.absent_columns import omissible_columns
from paimon_spark.store.write.write_plan import plan_write
from paimon_spark.writes.options import (
    CREATES_TABLE,
    DYNAMIC_OVERWRITE,
    OVERWRITE_SCHEMA,
    OVERWRITE_WHERE,
    ROW_KIND_COLUMN,
    WriteOptions,
)
from paimon_spark.writes.row_columns import RowColumns
from paimon_spark.writes.write_job import Evolution, WriteJob

if TYPE_CHECKING:
    from paimon_spark.store.commit.table_commit import Replaced


def open_job(
    options: WriteOptions,
    columns: RowColumns,
    overwrite: bool,
    before_creation: Callable[[], object] | None = None,
    finds_keys: bool = False,
    upserts: bool = False,
) -> WriteJob:
    """Opens the table, or creates it for the rows, and checks all that can be checked before a row is written.

    Args:
        options: of the write.
        columns: of the rows.
        overwrite: whether rows are replaced: all, those of `overwrite-where`, or the partitions of the rows.
        before_creation: called if there is no table; it may raise, and nothing is made then.
        finds_keys: whether the write looks up the partitions of existing keys, as a table needs whose key is unique in
            the whole table and leaves out partition columns.
        upserts: whether the caller looks for rows with the same `upsert-key`, if the table has one.

    Raises:
        PaimonError: options, DataFrame and table do not fit together; nothing was written.
    """
    if options.overwrite_where is not None and not overwrite:
        raise OptionError(f"'{OVERWRITE_WHERE}' says what an overwrite replaces: use it with mode('overwrite')")
    given = _to_open(options) if options.overwrite_schema else options.table
    table = find_table(options.path, given, time_zone=options.time_zone)
    if table is None:
        if before_creation is not None:
            before_creation()
        if options.creates is False:
            raise TableNotFound(
                f"writing to {options.path}: there is no table any more; it was dropped or renamed, and "
                f"'{CREATES_TABLE}' = 'false' says that a write makes none. Nothing was written"
            )
        from paimon_spark.catalogs.create import create_table
        from paimon_spark.writes.table_creation import table_for_rows

        stored = _stored(options, columns)
        unmade = replace(table_for_rows(options.path, options.table, stored), time_zone=options.time_zone)
        _check_keys_found(unmade, finds_keys)
        _check_upserts(unmade, upserts or overwrite)
        job_for(unmade, options, columns, overwrite)  # what is refused leaves no table
        create_table(options.path, unmade.schema, unmade.file_io, ignore_if_exists=True)
        table = open_data_table(options.path, options.table, time_zone=options.time_zone)
    _check_keys_found(table, finds_keys)
    _check_upserts(table, upserts or overwrite)
    return job_for(table, options, columns, overwrite)


def _check_upserts(table: Table, upserts: bool) -> None:
    """Refuses to append to a table whose rows are to be replaced by a key, if nothing looks for them."""
    key = table.settings.upsert_key
    if key and not upserts and not table.schema.primary_keys:
        names = ", ".join(key)
        raise UnsupportedFeature(
            f"writing to {table.location}: the table has 'upsert-key' = '{names}', and this way of writing would not "
            f"find the rows with the same {names}, which would be there twice. Use INSERT INTO, PaimonTable.append or "
            "MERGE (PaimonTable.merge, open_table(...).merge), or give the write the option 'upsert-key' = ''"
        )


def _check_keys_found(table: Table, finds_keys: bool) -> None:
    """Refuses a table whose tasks must know the partition of existing keys, if nothing looks them up."""
    if not finds_keys and table.bucket_mode is BucketMode.KEY_DYNAMIC:
        from paimon_spark.store.write.placement import cross_partition_refusal

        raise cross_partition_refusal(table.location)


def job_for(table: Table, options: WriteOptions, columns: RowColumns, overwrite: bool) -> WriteJob:
    """A write to a table that is open, with everything checked as by open_job.

    Raises:
        PaimonError: options, DataFrame and table do not fit together; nothing was written.
    """
    kind_column = None if options.row_kind_column is None else _kind_column(options.row_kind_column, columns)
    stored = _stored(options, columns)
    before = table.schema
    if options.overwrite_schema:
        table = _with_new_columns(table, options, stored, overwrite)
    elif options.merging is not None:
        from paimon_spark.writes.evolved_table import merged_table

        table = merged_table(table, stored, options.merging)
    evolution = None if table.schema is before else Evolution(before, empties=options.overwrite_schema)
    check_writable(table.schema, table.settings)
    check_registration(table)
    if kind_column is not None and not table.schema.primary_keys:
        raise OptionError(
            f"'{ROW_KIND_COLUMN}' needs a primary key to update or delete by; the table at {table.location} has none"
        )
    omissible = omissible_columns(table, stored.names, options.missing_columns, replaces=overwrite)
    completes = options.merging is not None
    align_rows(_no_rows(stored), table.schema.fields, omissible, completes)
    replaced: Replaced = "dynamic" if options.overwrite_dynamic else None
    if options.overwrite_where is not None:
        from paimon_spark.writes.replaced_partitions import replaced_partitions

        replaced = replaced_partitions(table.schema, options.overwrite_where, table.time_zone)
    plan = plan_write(table, overwrite)
    job = WriteJob(table, new_user(table), plan, overwrite, replaced, kind_column, omissible, completes, evolution)
    if options.once is None:
        return job
    from paimon_spark.writes.named_write import named_job

    return named_job(job, options.once, options.unknown)


def _to_open(options: WriteOptions) -> dict[str, str]:
    """The options with which a table is opened whose keys and options those of the call replace."""
    storage, given = split_storage_options(options.table)
    return {**storage, **{key: value for key, value in given.items() if key.lower() == TableSettings.branch.key}}


def _with_new_columns(table: Table, options: WriteOptions, stored: RowColumns, overwrite: bool) -> Table:
    if not overwrite or options.overwrite_where is not None or options.overwrite_dynamic:
        raise OptionError(
            f"'{OVERWRITE_SCHEMA}' replaces the columns of all rows: use it with mode('overwrite'), and without "
            f"'{OVERWRITE_WHERE}' and '{DYNAMIC_OVERWRITE}'"
        )
    from paimon_spark.writes.evolved_table import replaced_table

    return replaced_table(table, stored, options.table)


def _stored(options: WriteOptions, columns: RowColumns) -> RowColumns:
    """The columns of the rows without the one that holds row kinds."""
    return (
        columns
        if options.row_kind_column is None
        else columns.without([_kind_column(options.row_kind_column, columns)])
    )


def _kind_column(name: str, columns: RowColumns) -> str:
    """The rows' name of the row kind column."""
    alike = [known for known in columns.names if known == name]
    alike = alike or [known for known in columns.names if known.lower() == name.lower()]
    if len(alike) != 1 or alike[0] not in columns.texts:
        raise OptionError(f"'{ROW_KIND_COLUMN}' = '{name}' must name one string column of the rows: {columns.words()}")
    return alike[0]


def _no_rows(columns: RowColumns) -> pa.RecordBatch:
    arrow = columns.arrow_schema()
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in arrow], schema=arrow)
