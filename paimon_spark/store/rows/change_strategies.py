"""Chooses the strategy by which the rows of a table are deleted and updated (features 2.3).

Java: PrimaryKeyTableUtils.validatePKUpsertDeletable, RowLevelOp, DeleteFromPaimonTableCommand (release 2.0).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.bucket import bucket_fields
from paimon_spark.format.options.engines import ChangelogProducer, MergeEngine
from paimon_spark.format.options.index_settings import GlobalIndexSettings
from paimon_spark.format.rules.blobs import vector_file_columns
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.global_indexes import indexed_columns
from paimon_spark.store.metadata.manifest_files import read_global_indexes
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.write.placement import writes_fixed_buckets


class Statement(StrEnum):
    """What is done to rows; the value is the operation that snapshots record (Java: Snapshot.Operation)."""

    DELETE = "DELETE"
    UPDATE = "UPDATE"
    MERGE = "MERGE"


class ChangeStrategy(StrEnum):
    """How rows are changed."""

    ROWS_WITH_KINDS = "rows with kinds"
    """Rows of kind -D and +U are written; the merge engine applies them. Tables with keys."""
    MERGED_BUCKETS = "merged buckets"
    """Buckets are merged and written again without the rows. Tables with keys where a row of kind -D removes none."""
    COPIED_FILES = "copied files"
    """Files are written again without the rows, or with new values. Append tables."""
    DELETION_VECTORS = "deletion vectors"
    """Vectors hide the rows, new values go to new files. Append tables with `deletion-vectors.enabled`."""
    COLUMN_FILES = "files of some columns"
    """New values go to files that have the updated columns alone, of all rows of a file; vectors hide deleted rows.
    Tables with data evolution."""


_UPDATES = (MergeEngine.DEDUPLICATE, MergeEngine.PARTIAL_UPDATE)


def change_strategy(table: Table, statement: Statement, inserts_only: bool = False) -> ChangeStrategy:
    """How the rows of a table are changed by a statement.

    Args:
        inserts_only: a MERGE of which no clause updates or deletes; every merge engine takes its rows.

    Raises:
        UnsupportedFeature: the statement cannot change rows of this table; the message says why and what to do.
    """
    check_writable(table.schema, table.settings)
    if table.settings.data_evolution_enabled:
        return ChangeStrategy.COLUMN_FILES
    if not table.schema.primary_keys:
        has_vectors = table.settings.deletion_vectors_enabled
        return ChangeStrategy.DELETION_VECTORS if has_vectors else ChangeStrategy.COPIED_FILES
    _check_keyed(table, statement, statement is not Statement.DELETE and not inserts_only)
    if statement is Statement.DELETE and not _removes_rows(table):
        return ChangeStrategy.MERGED_BUCKETS
    return ChangeStrategy.ROWS_WITH_KINDS


def ids_to_keep(table: Table, strategy: ChangeStrategy, moves: bool) -> tuple[DataField, ...]:
    """The column with the ids of rows, if the table tracks its rows, and updated ones go to new files.

    Args:
        strategy: how rows are changed.
        moves: whether updated rows may belong to another partition or bucket than before.
    """
    return table.schema.tracking_fields[:1] if moves or strategy is ChangeStrategy.DELETION_VECTORS else ()


def check_deletes(table: Table, statement: Statement) -> None:
    """Checks that rows of an append table can be deleted one by one.

    Raises:
        UnsupportedFeature: they cannot; the message says what to do.
    """
    if table.settings.data_evolution_enabled and not table.settings.deletion_vectors_enabled:
        raise UnsupportedFeature(
            f"{statement} of {table.location}: rows of a table with data evolution are deleted by deletion vectors, "
            "because the files with some of their columns name them by their ids (so does the official system); set "
            "'deletion-vectors.enabled' to true, or delete whole partitions"
        )


def check_column_files(table: Table, statement: Statement, names: Collection[str]) -> None:
    """Checks that columns of a table with data evolution can get new values in the rows that are there.

    Args:
        names: the columns.

    Raises:
        UnsupportedFeature: a row would move to another partition; some VECTOR columns that share files would change
            and others not; or an index of the whole table is over a column, and `global-index.column-update-action`
            refuses that.
    """
    keys = sorted(set(names).intersection(table.schema.partition_keys))
    if keys:
        raise UnsupportedFeature(
            f"{statement} of {table.location}: '{keys[0]}' is a partition column, and a row of a table with data "
            "evolution stays in its partition, where its id is (so it does in the official system); delete the row, "
            "and insert it with the new value"
        )
    vectors = {field.name for field in vector_file_columns(table.schema.fields, table.settings)}
    left = sorted(vectors.difference(names))
    if left and vectors.intersection(names):
        raise UnsupportedFeature(
            f"{statement} of {table.location}: the VECTOR column '{left[0]}' is left as it is while others change that "
            "share files with it ('vector.file.format'), and release 2.0.0 of the official system would read their old "
            f"values, as after its own changes; set all of them in the statement, such as {left[0]} = {left[0]}"
        )
    latest = table.snapshots.latest()
    if latest is None or table.settings.global_index.update_action != "THROW_ERROR":
        return
    indexed = indexed_columns(table.schema, read_global_indexes(table.file_io, table.location, latest.index_manifest))
    found = sorted(set(names).intersection(indexed))
    if found:
        raise UnsupportedFeature(
            f"{statement} of {table.location}: an index of the whole table, {indexed[found[0]]}, is over the column "
            f"'{found[0]}', and readers would look up the old values (so it is in the official system); drop the index "
            f"with CALL sys.drop_global_index, or set '{GlobalIndexSettings.update_action.key}' to "
            "'DROP_PARTITION_INDEX', which takes its files away in the partitions that change"
        )


def moves_rows(table: Table, assigned: Iterable[str]) -> bool:
    """True if rows with new values in these columns may belong to another partition or bucket of an append table."""
    return not place_columns(table).isdisjoint(assigned)


def place_columns(table: Table) -> frozenset[str]:
    """The columns that decide in which partition and bucket a row lies."""
    fields = (*table.schema.partition_fields, *bucket_fields(table.schema, table.settings))
    return frozenset(field.name for field in fields)


def keeps_old_rows(table: Table) -> bool:
    """True if a table with keys wants the rows before an update too, for its changelog (`changelog-producer` = input).

    Only the engine deduplicate takes rows of kind -U; with partial-update the changelog has +U rows alone, as in Java.
    """
    settings = table.settings
    keeps = settings.changelog_producer is ChangelogProducer.INPUT
    takes = settings.merge_engine is MergeEngine.DEDUPLICATE and not settings.ignore_update_before
    from_column = settings.rowkind_field is not None  # a column has the kind of a row, which is never -U
    return keeps and takes and not from_column and not settings.ignore_delete


def deletes_by_kind(table: Table) -> bool:
    """True if a table with keys removes a row when one of kind -D is written."""
    return _removes_rows(table)


def _check_keyed(table: Table, statement: Statement, updates: bool) -> None:
    engine = table.settings.merge_engine
    begin = f"{statement} of {table.location}"
    if updates and engine not in _UPDATES:
        raise UnsupportedFeature(
            f"{begin}: rows of a table with the merge engine '{engine}' cannot be updated, because the engine does not "
            "replace stored values by written ones (neither does the official system); append rows, and let the "
            "engine merge them, by INSERT or by a MERGE that has WHEN NOT MATCHED THEN INSERT alone"
        )
    if updates and engine is MergeEngine.PARTIAL_UPDATE:
        _check_no_functions(table, begin)
    if table.bucket_mode is BucketMode.POSTPONE_MODE and not writes_fixed_buckets(table):
        raise UnsupportedFeature(
            f"{begin}: rows of a table with postponed buckets are not visible before a compaction, so an update could "
            "be lost; set 'postpone.batch-write-fixed-bucket' to true"
        )


def _check_no_functions(table: Table, begin: str) -> None:
    """An update writes the row with its new values, which an aggregate function would combine with the old ones."""
    found = sorted(key for key in table.settings if key.startswith("fields.") and key.endswith("aggregate-function"))
    replacing = {"last_value", "last_non_null_value"}
    combining = [key for key in found if table.settings[key] not in replacing]
    if combining:
        raise UnsupportedFeature(
            f"{begin}: '{combining[0]}' = '{table.settings[combining[0]]}' combines written values with stored ones, "
            "so that a row cannot be replaced; append rows, and let the function combine them"
        )


def _removes_rows(table: Table) -> bool:
    """Java writes rows of kind -D also where they are ignored, or where a column tells another kind: none goes then."""
    settings = table.settings
    if settings.ignore_delete or settings.rowkind_field is not None:
        return False
    match settings.merge_engine:
        case MergeEngine.DEDUPLICATE:
            return True
        case MergeEngine.PARTIAL_UPDATE:
            return settings.partial_update_remove_record_on_delete or bool(
                settings.partial_update_remove_record_on_sequence_group
            )
        case MergeEngine.AGGREGATION:
            return settings.aggregation_remove_record_on_delete
    return False
