"""Creates reads of a table, which include another branch if an option names one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from paimon_spark.arrow.predicates.predicate import Predicate, columns_of
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.rules.blobs import resolved_views
from paimon_spark.format.rules.supported import check_columns
from paimon_spark.format.schema import TRACKING_FIELDS
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import other_branch
from paimon_spark.store.read.row_places import check_views_known
from paimon_spark.store.scan.read_spec import ReadSpec
from paimon_spark.store.scan.table_scan import OtherBranch, Scan

if TYPE_CHECKING:
    from paimon_spark.arrow.shredding.paths import PathColumn


def new_scan(
    table: Table, fields: Sequence[DataField], predicate: Predicate, parts: tuple[PathColumn, ...] = ()
) -> Scan:
    """A read of chosen fields of the rows that satisfy a predicate.

    Args:
        table: the table.
        fields: the columns of the result.
        predicate: which rows.
        parts: those of the fields and of the columns of the predicate that are parts of VARIANT values.

    Raises:
        UnsupportedFeature: this release cannot read one of the fields, or the other branch; or row ids of two branches
            are wanted.
        SchemaError: the branches do not have the same columns and partition columns.
        SnapshotNotFound: an option names a snapshot, tag or time that does not exist.
        AccessDenied: the server of the table does not let the user read one of the columns.
    """
    own = _shown_scan(table, fields, predicate)
    own = own if not parts else replace(own, spec=replace(own.spec, parts=parts))
    if other_branch(table.settings, table.branch) is None:
        return _limited(own)
    second = _second(table)
    named = {field.name for field in fields if field in TRACKING_FIELDS} | columns_of(predicate)
    tracking = [field.name for field in table.schema.tracking_fields if field.name in named]
    if second is not None and tracking:
        raise UnsupportedFeature(
            f"reading {tracking[0]} of {table.location}: the rows of two branches do not share one numbering; set the "
            "options 'scan.fallback-branch' and 'scan.primary-branch' to '' to see those of its own branch"
        )
    if second is not None and parts:
        raise UnsupportedFeature(
            f"reading {parts[0].field.name} of {table.location}: parts of VARIANT values are not read of two branches; "
            "read the VARIANT as a whole"
        )
    return _limited(replace(own, second=second))


def own_scan(table: Table, fields: Sequence[DataField], predicate: Predicate) -> Scan:
    """A read for writers, of the branch that the table is opened on, and of no other.

    Raises:
        UnsupportedFeature: this release cannot read one of the fields, or a server shows the user a part of the rows
            or values only: what is written of them would lose the others.
    """
    if table.auth is not None:
        from paimon_spark.store.scan.row_limits import check_unlimited

        check_unlimited(table, "reading whole rows, which is done to change or to count them,")
    return _plain_scan(table, fields, predicate)


def stream_scan(table: Table, fields: Sequence[DataField], predicate: Predicate) -> Scan:
    """A read of what a stream shows, of the branch that the table is opened on.

    Raises:
        UnsupportedFeature: this release cannot read one of the fields.
        AccessDenied: the server of the table does not let the user read one of the columns.
    """
    return _limited(_shown_scan(table, fields, predicate))


def _second(table: Table) -> OtherBranch | None:
    if table.settings.chain_table_enabled:
        from paimon_spark.store.scan.chain_scan import chain_of

        return chain_of(table)
    from paimon_spark.store.scan.branched_scan import second_branch

    return second_branch(table)


def _limited(scan: Scan) -> Scan:
    if scan.table.auth is None:
        return scan
    from paimon_spark.store.scan.row_limits import with_limits

    return with_limits(scan)


def _shown_scan(table: Table, fields: Sequence[DataField], predicate: Predicate) -> Scan:
    """A read whose result shows all the fields."""
    wanted = {field.name for field in fields} | columns_of(predicate)
    for name in sorted(resolved_views(table.schema, table.settings) & wanted):
        check_views_known(table, name)
    return _plain_scan(table, fields, predicate)


def _plain_scan(table: Table, fields: Sequence[DataField], predicate: Predicate) -> Scan:
    _check_columns(table, fields, columns_of(predicate))
    return Scan(table, ReadSpec(tuple(fields), predicate))


def branches_read(table: Table) -> tuple[Table, ...]:
    """The branches that rows are read from, each as a table; a partition is read from the first that has it.

    Raises:
        SchemaError: the branches do not have the same columns and partition columns.
        UnsupportedFeature: this release cannot read the other branch.
        SnapshotNotFound: an option names a snapshot, tag or time that does not exist.
    """
    if other_branch(table.settings, table.branch) is None:
        return (table,)
    if table.settings.chain_table_enabled:
        from paimon_spark.store.scan.chain_scan import chain_of

        chain = chain_of(table)
        return (table.without_fallback, chain.whole, chain.table)
    from paimon_spark.store.scan.branched_scan import second_branch

    second = second_branch(table)
    if second is None:
        return (table,)
    other, own = second.table.without_fallback, table.without_fallback
    return (other, own) if second.goes_first else (own, other)


def _check_columns(table: Table, fields: Sequence[DataField], conditions: Collection[str]) -> None:
    try:
        check_columns(table.schema, fields, conditions)
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"reading {table.location}: {error}") from None
