"""What reads of several branches of a table have in common: the other branches, their columns and their partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from paimon_spark.arrow.predicates.predicate import Predicate, restrict
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import SchemaError, UnsupportedFeature
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.rules.supported import check_readable
from paimon_spark.format.schema import ROW_KIND_FIELD, SEQUENCE_FIELD, TableSchema, metadata_fields
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataField
from paimon_spark.merge.engines.choice import check_engine
from paimon_spark.store.metadata.live_files import canonical_row, fold
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.scan.read_spec import ReadSpec
from paimon_spark.store.scan.split_plan import (
    data_lists,
    merges_postponed,
    read_entries,
    reads_compacted_only,
    top_level,
)
from paimon_spark.store.scan.time_travel import travelled


def listed_partitions(
    table: Table, snapshot: Snapshot | None, predicate: Predicate, top_only: bool = False
) -> set[bytes]:
    """The partitions in which a branch has files that a read looks at, as canonical rows.

    Args:
        table: the branch.
        snapshot: its state; None: it has none.
        predicate: its part on partition columns leaves out partitions.
        top_only: whether only files of the highest level count.

    Raises:
        CorruptFile: metadata is missing or damaged.
    """
    if snapshot is None:
        return set()
    schema, options = table.schema, table.settings
    spec, lists = ReadSpec((), restrict(predicate, set(schema.partition_keys))), data_lists(snapshot)
    skips = reads_compacted_only(table, spec)
    entries = read_entries(table, spec, lists, skips, merges_postponed(options))
    live = fold(entries.columns, entries.partition_codes, entries.chosen)
    level = top_level(schema, options) if top_only else None
    if level is not None:
        live = live[entries.columns.level[live] == level]
    types = schema.partition_types
    codes = np.unique(entries.partition_codes[live]).tolist()
    return {canonical_row(entries.columns.partitions[code], types) for code in codes}


def fields_of(table: Table, fields: Iterable[DataField]) -> tuple[DataField, ...]:
    """The columns of the same names as a branch has them."""
    made = (ROW_KIND_FIELD, SEQUENCE_FIELD)
    by_name = {field.name: field for field in (*metadata_fields(table.schema), *table.schema.fields)}
    return tuple(field if field in made else by_name[field.name] for field in fields)


def other_table(table: Table, branch: str) -> Table | None:
    """The other branch: its own stored options, with those that the caller gave on top; None: it is not there."""
    other = replace(table, branch=branch, opened=None)
    schema = other.schemas.latest()
    if schema is None:
        return None
    stored = table.schemas.latest()
    dynamic = _for_other(table, other, {} if stored is None else stored.options)
    opened = schema if table.server is None else None
    other = replace(other, schema=schema, settings=TableSettings(schema.options).merged(dynamic), opened=opened)
    name = other.settings.scan.tag_name
    if name is None or other.snapshots.find_tag(name) is not None:
        other = travelled(other, other.settings)
    try:
        check_readable(other.schema, other.settings)
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"reading {table.location} through the branch '{branch}': {error}") from None
    if other.schema.primary_keys:
        check_engine(other.schema, other.settings)
    return other


def _for_other(own: Table, other: Table, stored: Mapping[str, str]) -> dict[str, str]:
    """The options of the caller for the other branch: a snapshot id is replaced by the commit time of the snapshot."""
    dynamic = {key: value for key, value in own.settings.items() if stored.get(key) != value}
    for key in (TableSettings.branch.key, TableSettings.bucket.key):
        dynamic.pop(key, None)
    if own.settings.is_set(ScanSettings.snapshot_id):
        chosen = own.snapshots.load(own.settings.scan.snapshot_id or 0)
        then = other.snapshots.find_at_time(chosen.time_millis)
        dynamic[ScanSettings.snapshot_id.key] = str(1 if then is None else then.id)
    return dynamic


def check_alike(own: Table, other: Table) -> None:
    """Raises SchemaError unless both branches have the same columns in the same order; nullability may differ."""
    mine, theirs = ([(f.name, f.type.with_nullable(True)) for f in t.schema.fields] for t in (own, other))
    if mine != theirs:
        raise SchemaError(_differ(own, other, "columns", _words(own.schema), _words(other.schema)))
    if own.schema.partition_keys != other.schema.partition_keys:
        keys = (", ".join(table.schema.partition_keys) or "none" for table in (own, other))
        raise SchemaError(_differ(own, other, "partition columns", *keys))


def _differ(own: Table, other: Table, what: str, mine: str, theirs: str) -> str:
    return (
        f"reading {own.location} through the branch '{other.branch}': the {what} must be the same in both, but those "
        f"of '{own.branch}' are {mine}, those of '{other.branch}' are {theirs}. Change one of the schemas, or set the "
        f"options '{ScanSettings.fallback_branch.key}' and '{ScanSettings.primary_branch.key}' to '' to read one "
        "branch alone"
    )


def _words(schema: TableSchema) -> str:
    return str(arrow_schema(schema.fields)).replace("\n", ", ")
