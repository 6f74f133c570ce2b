"""Where rows lie, as the values of metadata columns (Java: PaimonRecordReaderIterator, 2.0.0)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.predicates.predicate import Predicate, columns_of, restrict
from paimon_spark.arrow.types import arrow_field, from_internal
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import data_file_path
from paimon_spark.format.rules.blobs import resolved_views
from paimon_spark.format.schema import (
    BUCKET,
    FILE_PATH,
    PARTITION,
    POSITION,
    TRACKING_FIELDS,
    TableSchema,
    is_metadata,
    metadata_fields,
    tells_place,
)
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import ReadUnit, Split
from paimon_spark.store.storage.publishers import WAREHOUSE


def named_metadata(schema: TableSchema, fields: Iterable[DataField], predicate: Predicate) -> tuple[DataField, ...]:
    """The metadata columns among some columns, then those that only a condition names."""
    wanted = tuple(field for field in fields if is_metadata(field))
    more = columns_of(predicate) - {field.name for field in wanted} - set(schema.names)
    return (*wanted, *(field for field in metadata_fields(schema) if field.name in more)) if more else wanted


def stored_part(table: Table, predicate: Predicate) -> Predicate:
    """What a condition says of values as the table stores them: all rows that satisfy it satisfy that too.

    Metadata columns are not stored, and what a view leads to may be NULL.
    """
    stored = table.schema.by_name.keys() - resolved_views(table.schema, table.settings)
    return predicate if columns_of(predicate) <= stored else restrict(predicate, stored)


def check_views_known(table: Table, column: str) -> None:
    """Checks that a read can follow the views of a column.

    Raises:
        UnsupportedFeature: nobody told of the catalog when the table was opened.
    """
    if table.views is None:
        raise UnsupportedFeature(
            f"reading the column '{column}' of {table.location}: its values are views of rows of other tables of a "
            "catalog, and the table was opened by its path, which tells of no catalog. Open it by its name, with "
            f"open_catalog or in SQL; or give the option '{WAREHOUSE}', the directory of the databases, or "
            "'blob-view.resolve.enabled' = 'false', which reads the views themselves"
        )


def check_places(table: Table, fields: Iterable[DataField], predicate: Predicate, units: Sequence[ReadUnit]) -> None:
    """Checks that the rows of a plan lie where the metadata columns of a read can tell.

    Raises:
        UnsupportedFeature: rows are merged of several files, and their file or place is wanted; or they are those that
            differ in two states, or wait for a bucket.
    """
    wanted = named_metadata(table.schema, fields, predicate)
    if not wanted:
        return
    places = [field.name for field in wanted if tells_place(field)]
    for unit in units:
        if not isinstance(unit, Split):
            raise UnsupportedFeature(
                f"reading {wanted[0].name} of {table.location}: rows that are compared between two states, or wait for "
                "a bucket, lie in no single place; leave the column out"
            )
        if places and unit.sections:
            raise UnsupportedFeature(
                f"reading {places[0]} of {table.location}: rows are merged of several files, so they lie in none of "
                "them alone; compact the table in full, or leave the column out"
            )


def with_places(
    rows: pa.RecordBatch,
    fields: Sequence[DataField],
    partition: Mapping[str, Any],
    split: Split,
    file: DataFileMeta | None = None,
) -> pa.RecordBatch:
    """Rows with metadata columns behind their other columns.

    Args:
        rows: of one file with the column POSITION, or merged ones. They have the columns of row tracking already.
        fields: the metadata columns.
        partition: internal values of the partition columns.
        split: has the rows.
        file: has the rows; None: they are merged of several files, and check_places was asked before.
    """
    for field in fields:
        if field in TRACKING_FIELDS:
            continue
        rows = rows.append_column(arrow_field(field), _values(rows, field, partition, split, file))
    return rows


def _values(
    rows: pa.RecordBatch,
    field: DataField,
    partition: Mapping[str, Any],
    split: Split,
    file: DataFileMeta | None,
) -> pa.Array:
    count, wanted = rows.num_rows, arrow_field(field).type
    if field.name == BUCKET:
        return pa.repeat(pa.scalar(split.bucket, wanted), count)
    if field.name == PARTITION:
        if not field.type.fields:
            return pa.Array.from_buffers(wanted, count, [None])
        values = [pa.repeat(from_internal([partition[f.name]], f.type)[0], count) for f in field.type.fields]
        return pa.StructArray.from_arrays(values, fields=list(wanted))
    if file is None:
        raise UnsupportedFeature(f"reading {field.name}: rows that are merged of several files lie in none of them")
    if field.name == FILE_PATH:
        return pa.repeat(pa.scalar(data_file_path(split.bucket_path, file), wanted), count)
    return rows.column(POSITION)
