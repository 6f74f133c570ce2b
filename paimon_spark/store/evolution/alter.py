"""Publishes changes of a schema (Java: SchemaManager.commitChanges)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paimon_spark.errors import CommitConflict, OptionError, PaimonError, SchemaError, TableNotFound, UnsupportedFeature
from paimon_spark.format.options.index_settings import GlobalIndexSettings
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.evolution.changed_schema import changed_schema
from paimon_spark.store.evolution.changes import SchemaChange, described
from paimon_spark.store.evolution.difference import difference
from paimon_spark.store.metadata.alter import next_schema, publish_schema
from paimon_spark.store.metadata.global_indexes import field_ids, indexed_columns
from paimon_spark.store.metadata.manifest_files import read_global_indexes
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result

_log = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class AlterResult(Result):
    """What an alteration did, or would do.

    Attributes:
        schema_id: of the latest schema of the table now.
        difference: what is different since then, one line each: ``+ note STRING``, ``~ n INT -> BIGINT``; (): nothing.
        dry_run: nothing was changed.
    """

    schema_id: int
    difference: tuple[str, ...] = ()
    dry_run: bool = False


def alter(
    table: Table, changes: Sequence[SchemaChange], case_sensitive: bool = True, dry_run: bool = False
) -> AlterResult:
    """Makes changes to the schema of a table, all or none; see alter_table.

    Args:
        dry_run: only says what would be different.
    """
    before = _latest(table)
    if dry_run:
        return AlterResult(before.id, difference(before, planned_schema(table, changes, case_sensitive)), dry_run)
    after = alter_table(table, changes, case_sensitive)
    known = before if after.id <= before.id + 1 else table.schemas.load(after.id - 1)
    return AlterResult(after.id, difference(known, after))


def planned_schema(table: Table, changes: Sequence[SchemaChange], case_sensitive: bool = True) -> TableSchema:
    """The schema that `alter_table` would publish now; nothing is changed.

    Returns:
        The latest schema itself if the changes change nothing.

    Raises:
        As alter_table.
    """
    return _changed(table, _latest(table), changes, case_sensitive)


def alter_table(table: Table, changes: Sequence[SchemaChange], case_sensitive: bool = True) -> TableSchema:
    """Publishes one schema with all the changes made to the latest one.

    If another job publishes a schema at the same moment, the changes are made to that one, as if they came later.

    Args:
        table: in any state; only its location, branch and storage are used.
        changes: made one after the other.
        case_sensitive: as for changed_schema.

    Returns:
        The schema that the table has now; nothing is published if the changes change nothing.

    Raises:
        SchemaError, OptionError, UnsupportedFeature: a change does not fit; nothing was published.
        CommitConflict: another job has changed the schema concurrently, so that the changes do not fit any more; the
            message shows both.
        StorageError: the storage failed.
    """
    first = latest = _latest(table)
    while True:
        try:
            changed = _changed(table, latest, changes, case_sensitive)
        except PaimonError as error:
            if latest is first:
                raise
            raise _lost(first, latest, changes, error) from None
        if changed == latest:
            return latest
        wanted = next_schema(latest, changed)
        if table.server is not None:
            table.server.change_schema(table.branch, latest, wanted)
            wanted = _latest(table)
        elif not publish_schema(table, wanted):
            latest = _latest(table)
            continue
        _warn_of_buckets(table, latest, wanted)
        return wanted


def _warn_of_buckets(table: Table, before: TableSchema, after: TableSchema) -> None:
    """Tells what a change of the number of buckets leaves to do: writes are refused until then (Java does not tell)."""
    buckets = TableSettings(after.options).bucket
    if buckets > 0 and buckets != TableSettings(before.options).bucket and has_snapshots(table)():
        _log.warning("%s", buckets_to_rescale(table, buckets))


def buckets_to_rescale(table: Table, buckets: int) -> str:
    """What another number of buckets of a table with rows leaves to do."""
    return (
        f"the table at {table.location} has another number of buckets, but rows that are there stay in their buckets, "
        "and writes to their partitions are refused until they are rescaled: CALL sys.rescale(table => '<table>', "
        f"bucket_num => {buckets}), or PaimonTable.rescale({buckets})"
    )


def _changed(table: Table, latest: TableSchema, changes: Sequence[SchemaChange], case_sensitive: bool) -> TableSchema:
    try:
        changed = changed_schema(latest, changes, has_snapshots(table), case_sensitive)
        _check_branches(table, changed)
    except (SchemaError, OptionError) as error:
        raise type(error)(f"altering {table.location}: {error}") from None
    _check_indexes(table, latest, changed)
    return changed


def _check_indexes(table: Table, before: TableSchema, after: TableSchema) -> None:
    """Checks that each index of the whole table still gives the right rows; the official system does not.

    The files of an index do not say which type their keys have: readers of the official system would take them for
    keys of a new type, and find other rows. An index that was left as it is while its column changed
    (`global-index.column-update-action` = `IGNORE`) has old values, and reads do without it only under that option.

    Raises:
        UnsupportedFeature: there is an index over a column that changes its type, or one that may have old values.
    """
    if not TableSettings(before.options).data_evolution_enabled:
        return
    types = {field.id: field.type.with_nullable(True) for field in before.fields}
    changed = {f.id: f.name for f in after.fields if f.id in types and types[f.id] != f.type.with_nullable(True)}
    actions = [TableSettings(schema.options).global_index.update_action for schema in (before, after)]
    uses_old_values = actions[0] == "IGNORE" != actions[1]
    if not changed and not uses_old_values:
        return
    snapshot = table.snapshots.latest()
    manifest = None if snapshot is None else snapshot.index_manifest
    entries = read_global_indexes(table.file_io, table.location, manifest)
    for entry in entries:
        name = next((changed[number] for number in field_ids(entry) if number in changed), None)
        if name is not None:
            raise UnsupportedFeature(
                f"altering {table.location}: an index of the whole table, {entry.index_type}, is over the column "
                f"'{name}', and has keys of the old type, which readers would take for the new; drop the index first"
            )
    names = {field.name for field in before.fields}
    live = {name: kind for name, kind in indexed_columns(before, entries).items() if name in names}
    if uses_old_values and live:
        name, kind = next(iter(live.items()))
        raise UnsupportedFeature(
            f"altering {table.location}: '{GlobalIndexSettings.update_action.key}' was 'IGNORE', so that an index of "
            f"the whole table, {kind} of '{name}', may have old values, and reads would use it again; drop the index "
            "first, and create it again afterwards"
        )


def has_snapshots(table: Table) -> Callable[[], bool]:
    """Returns what says if the table has or had snapshots; the storage is asked once, at the first call."""
    known: list[bool] = []

    def ask() -> bool:
        if not known:
            known.append(table.snapshots.latest_id() is not None)
        return known[0]

    return ask


def _latest(table: Table) -> TableSchema:
    latest = table.schemas.latest()
    if latest is None:
        raise TableNotFound(f"altering {table.location}: there is no table (branch {table.branch}) any more")
    return latest


def _check_branches(table: Table, schema: TableSchema) -> None:
    """The branches that the options name must exist (Java: SchemaValidation.validateFallbackBranch)."""
    settings = TableSettings(schema.options)
    named = [
        key
        for key in (ScanSettings.fallback_branch, ScanSettings.primary_branch)
        if (settings.get(key.key) or "").strip()
    ]
    if len(named) > 1:
        raise OptionError(f"the options '{named[0].key}' and '{named[1].key}' exclude each other; set one of them")
    for key in named:
        branch = settings[key.key]
        if not SchemaStore(table.file_io, table.location, branch).ids():
            raise OptionError(
                f"the option '{key.key}' names the branch '{branch}', which does not exist; create it first"
            )


def _lost(
    first: TableSchema, latest: TableSchema, changes: Sequence[SchemaChange], error: PaimonError
) -> CommitConflict:
    theirs = "; ".join(difference(first, latest)) or "no visible change"
    return CommitConflict(
        f"{error}. Another job has changed the schema meanwhile (schema {first.id} to {latest.id}: {theirs}), so that "
        f"these changes do not fit any more: {described(tuple(changes))}. Nothing was changed; look at the table again"
    )
