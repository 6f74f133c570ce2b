"""What matters of a table, gathered from its metadata: for one screen, for programs, and for a picture."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.predicates.expressions import col
from paimon_spark.arrow.raw_values import Int64s, from_numpy, scalar_of, text_array, to_numpy
from paimon_spark.cli.arguments import current_zone, state_options
from paimon_spark.cli.texts import shown_options
from paimon_spark.errors import OptionError
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.type_text import type_sql
from paimon_spark.merge.compaction.rules import compaction_rules
from paimon_spark.store.file_tables.object_table import ObjectTable, object_table
from paimon_spark.store.history.branches import branch_names
from paimon_spark.store.holds.consumer_files import ConsumerLag, consumer_lag, readable_positions
from paimon_spark.store.holds.retention import Retention, retention_rules
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.open import find_stored_table, find_system_table, open_data_table
from paimon_spark.store.storage.local_time import epoch_millis_of_wall, iso_time
from paimon_spark.store.system_tables.entries import no_texts
from paimon_spark.store.system_tables.request import NANOS_OF_MILLI, Request, shown_snapshot
from paimon_spark.store.system_tables.table import SystemScan, system_table
from paimon_spark.store.system_tables.totals import partition_totals

_ZERO, _ONE = scalar_of(0, pa.int64()), scalar_of(1, pa.int64())  # pyarrow would import pandas to make them
_FILES = ("partition", "bucket", "level", "record_count", "file_size_in_bytes", "file_path")


@dataclass(frozen=True)
class SnapshotFacts:
    """One snapshot; time: ISO 8601 with the offset of the zone; rows: in its files, before equal keys are merged."""

    id: int
    time: str
    kind: str
    rows: int | None


@dataclass(frozen=True)
class TagFacts:
    """A tag; lives_until: None for ever."""

    name: str
    snapshot: SnapshotFacts
    lives_until: str | None


@dataclass(frozen=True)
class LevelFacts:
    """All files of a level: how many sorted runs and files, bytes and rows they have."""

    level: int
    runs: int
    files: int
    bytes: int
    rows: int


@dataclass(frozen=True)
class StoredFacts:
    """The files of a state.

    Attributes:
        partitions, buckets: that have files.
        files, bytes, rows: of data files; rows before equal keys are merged.
        postponed_files, postponed_rows: that wait for a bucket and are not among those.
        levels: ascending; a table without a key has none.
        most_runs: sorted runs of the bucket that has most.
        crowded_buckets: buckets with at least as many sorted runs as start a compaction.
    """

    partitions: int
    buckets: int
    files: int
    bytes: int
    rows: int
    postponed_files: int
    postponed_rows: int
    levels: tuple[LevelFacts, ...]
    most_runs: int
    crowded_buckets: int


@dataclass(frozen=True)
class RetentionFacts:
    """How long snapshots stay.

    Attributes:
        at_least, at_most: so many snapshots.
        millis: younger ones stay.
        by_writers: whether writers let them expire after their commits.
        due: how many are there longer than that, as far as numbers and times tell.
    """

    at_least: int
    at_most: int
    millis: int
    by_writers: bool
    due: int


@dataclass(frozen=True)
class TableFacts:
    """What matters of a table.

    Attributes:
        buckets: the option `bucket`; bucket_mode: what it means.
        trigger: sorted runs of a bucket that start a compaction.
        options: as they are stored, without the values of secrets.
        schemas: how many there have been.
        snapshot: whose state this is; None before the first commit.
        first, last, snapshots: the oldest and the newest snapshot, and how many there are.
        changelogs: how many live longer than their snapshots.
        consumers: what each reads next, and how far it is behind.
        problems: what the user may want to do something about, in words.
    """

    location: str
    branch: str
    comment: str | None
    columns: tuple[str, ...]
    primary_keys: tuple[str, ...]
    partition_keys: tuple[str, ...]
    bucket_mode: str
    buckets: int
    bucket_keys: tuple[str, ...]
    merge_engine: str
    changelog_producer: str
    deletion_vectors: bool
    trigger: int
    options: Mapping[str, str]
    schema_id: int
    schemas: int
    snapshot: SnapshotFacts | None
    first: SnapshotFacts | None
    last: SnapshotFacts | None
    snapshots: int
    changelogs: int
    stored: StoredFacts
    tags: tuple[TagFacts, ...]
    branches: tuple[str, ...]
    consumers: Mapping[str, ConsumerLag]
    retention: RetentionFacts
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableView:
    """A table in one state. runs: see sorted_runs; sizes: bytes of each file."""

    table: Table
    facts: TableFacts
    runs: pa.Table
    sizes: pa.Array


def view_table(path: str, options: dict[str, str], at: str | None) -> TableView:
    """Looks at a table, also at one that this release cannot read; its problems are not looked for yet.

    Raises:
        PaimonError: there is no such table or state, or its metadata are damaged.
    """
    table = find_in_state(path, options, at)
    files = system_table(table, "files").scan(_FILES).to_arrow()
    runs = sorted_runs(files, table.schema)
    return TableView(table, _facts(table, files, runs), runs, files.column("file_size_in_bytes").combine_chunks())


@dataclass(frozen=True)
class FilesFacts:
    """What matters of an object table.

    Attributes:
        kind: the option `type`.
        files, bytes: below its directory.
        newest: when the file that was changed last was, ISO 8601; None: there is no file.
    """

    kind: str
    location: str
    comment: str | None
    options: Mapping[str, str]
    files: int
    bytes: int
    newest: str | None


def files_facts(table: ObjectTable) -> FilesFacts:
    """Looks at the files of an object table."""
    found = table.scan(["length", "mtime"]).to_arrow()
    newest = pc.max(found.column("mtime")).as_py()
    return FilesFacts(
        table.kind,
        table.location,
        table.schema.comment,
        shown_options(table.schema.options),
        found.num_rows,
        pc.sum(found.column("length")).as_py() or 0,
        None if newest is None else iso_time(newest),
    )


def find_object_table(path: str, options: dict[str, str], at: str | None) -> ObjectTable | None:
    """The object table at a path; None: a table of another kind is there, or none.

    Raises:
        OptionError: a state is named, of which it has none.
    """
    stored = find_stored_table(path, options)
    if stored is None or stored.settings.table_type != TableKind.OBJECT_TABLE:
        return None
    if at is not None:
        raise OptionError(f"--at {at}: {stored.location} is an object table, which has no snapshots; leave --at out")
    return object_table(stored, options)


def find_in_state(path: str, options: dict[str, str], at: str | None) -> Table:
    """The table in a state, even if this release cannot read its rows.

    Raises:
        PaimonError: the table or the state does not exist, or its metadata are damaged.
    """
    chosen = {**options, **state_options(path, options, at)}
    found = find_system_table(f"{path.rstrip('/')}$files", chosen)
    return open_data_table(path, chosen) if found is None or not isinstance(found.table, Table) else found.table


def find_system_scan(
    path: str, name: str, options: dict[str, str], columns: Sequence[str] | None = None, where: str | None = None
) -> SystemScan:
    """A read of a system table of the table at a path, also of one that this release cannot read.

    Raises:
        TableNotFound, OptionError, PredicateError: there is no such table, option or column.
    """
    found = find_system_table(f"{path.rstrip('/')}${name}", options, time_zone=current_zone())
    if found is None:  # a directory has that name
        found = system_table(open_data_table(path, options, time_zone=current_zone()), name)
    return replace(found, shows_instants=True).scan(columns, where)


def sorted_runs(files: pa.Table, schema: TableSchema) -> pa.Table:
    """The sorted runs of a key table: partition, bucket, level, rows, bytes, files. Each file of level 0 is one.

    The column directory tells partitions apart whose texts are the same, such as those of NULL and 'null'.

    Args:
        files: the columns _FILES of ``$files``.
        schema: of the table; files of one without a primary key are no runs.
    """
    place, sums = ["partition", "bucket", "level", "directory"], ["rows", "bytes", "files"]
    depth = len(schema.partition_keys) + 1  # and the bucket; a table may have its files at several roots
    directories = ["/".join(path.split("/")[-depth - 1 : -1]) for path in files.column("file_path").to_pylist()]
    columns = [
        *files.columns[:3],
        text_array(directories),
        *files.columns[3:5],
        pa.repeat(_ONE, files.num_rows),
    ]
    named = pa.table(dict(zip([*place, *sums], columns, strict=True)))  # all nullable, as sums are
    if not schema.primary_keys:
        return named.slice(0, 0)
    fresh = named.filter(pc.equal(named.column("level"), _ZERO))
    above = named.filter(pc.greater(named.column("level"), _ZERO))
    return pa.concat_tables([fresh, _summed(above, place, sums)])


def _summed(rows: pa.Table, by: Sequence[str], sums: Sequence[str]) -> pa.Table:
    """The sums of numbers by other columns. ``Table.group_by`` does the same, but imports pandas first."""
    if not rows.num_rows:
        return rows.select([*by, *sums])
    first, group, _ = _groups(rows, by)
    totals = {name: np.zeros(len(first), np.int64) for name in sums}
    for name, total in totals.items():
        np.add.at(total, group, to_numpy(rows.column(name).combine_chunks()))
    keys = {name: rows.column(name).take(from_numpy(first)) for name in by}
    return pa.table({**keys, **{name: from_numpy(total) for name, total in totals.items()}})


def _groups(rows: pa.Table, by: Sequence[str]) -> tuple[Int64s, Int64s, Int64s]:
    """(the first row of each group of equal values, the group of each row, the number of rows of each group)"""
    if not rows.num_rows:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    columns = [pc.dictionary_encode(rows.column(name).combine_chunks(), null_encoding="encode") for name in by]
    codes = np.stack([to_numpy(column.indices) for column in columns])
    _, first, group, counts = np.unique(codes, axis=1, return_index=True, return_inverse=True, return_counts=True)
    return first.astype(np.int64), group.reshape(-1).astype(np.int64), counts.astype(np.int64)


def snapshot_facts(snapshot: Snapshot) -> SnapshotFacts:
    return SnapshotFacts(
        snapshot.id, iso_time(snapshot.time_millis), str(snapshot.commit_kind), snapshot.total_record_count
    )


def _facts(table: Table, files: pa.Table, runs: pa.Table) -> TableFacts:
    schema, settings, store = table.schema, table.settings, table.snapshots
    ids = store.ids()
    ends = {i: store.find(i) for i in (ids[:1] + ids[-1:])}
    first, last = (ends[ids[0]], ends[ids[-1]]) if ids else (None, None)
    shown = shown_snapshot(table)
    kept = retention_rules(settings).snapshots
    trigger = compaction_rules(settings).trigger
    newest = table.schemas.latest() or schema
    return TableFacts(
        location=table.location,
        branch=table.branch,
        comment=schema.comment,
        columns=tuple(f"{field.name} {type_sql(field.type)}" for field in schema.fields),
        primary_keys=tuple(schema.primary_keys),
        partition_keys=tuple(schema.partition_keys),
        bucket_mode=str(table.bucket_mode),
        buckets=settings.bucket,
        bucket_keys=settings.bucket_key or schema.trimmed_primary_keys,
        merge_engine=settings.merge_engine,
        changelog_producer=settings.changelog_producer,
        deletion_vectors=settings.deletion_vectors_enabled,
        trigger=trigger,
        options=shown_options(newest.options),
        schema_id=schema.id,
        schemas=len(table.schemas.ids()),
        snapshot=None if shown is None else snapshot_facts(shown),
        first=None if first is None else snapshot_facts(first),
        last=None if last is None else snapshot_facts(last),
        snapshots=len(ids),
        changelogs=_changelogs(table),
        stored=_stored(table, files, runs, trigger),
        tags=_tags(table),
        branches=tuple(branch_names(table.file_io, table.location)),
        consumers={
            name: consumer_lag(table.snapshots, position)
            for name, position in readable_positions(table.file_io, table.location, table.branch)[0].items()
        },
        retention=_retention(table, ids, kept),
    )


def _stored(table: Table, files: pa.Table, runs: pa.Table, trigger: int) -> StoredFacts:
    per_bucket = _groups(runs, ["directory", "bucket"])[2]
    postponed_files, postponed_rows = _postponed(table)
    return StoredFacts(
        partitions=len(partition_totals(Request(table), no_texts)),  # of which several may have the same text
        buckets=system_table(table, "buckets").scan(["bucket"], col("bucket") >= 0).to_arrow().num_rows,
        files=files.num_rows,
        bytes=pc.sum(files.column("file_size_in_bytes")).as_py() or 0,
        rows=pc.sum(files.column("record_count")).as_py() or 0,
        postponed_files=postponed_files,
        postponed_rows=postponed_rows,
        levels=_levels(runs),
        most_runs=int(per_bucket.max(initial=0)),
        crowded_buckets=int((per_bucket >= trigger).sum()),
    )


def _postponed(table: Table) -> tuple[int, int]:
    """The files that wait for a bucket and their rows; ``$files`` has none of them."""
    if table.bucket_mode is not BucketMode.POSTPONE_MODE:
        return 0, 0
    waiting = system_table(table, "buckets").scan(["file_count", "record_count"], col("bucket") < 0).to_arrow()
    files, rows = (pc.sum(column).as_py() or 0 for column in waiting.columns)
    return files, rows


def _levels(runs: pa.Table) -> tuple[LevelFacts, ...]:
    counted = runs.append_column("runs", pa.repeat(_ONE, runs.num_rows))
    names = ("level", "runs", "files", "bytes", "rows")
    totals = [column.to_pylist() for column in _summed(counted, names[:1], names[1:]).columns]
    return tuple(LevelFacts(*row) for row in sorted(zip(*totals, strict=True)))


def _tags(table: Table) -> tuple[TagFacts, ...]:
    found = []
    for name, tag in table.snapshots.readable_tags()[0].items():
        until = None
        if tag.create_time is not None and tag.time_retained is not None:
            made = epoch_millis_of_wall(tag.create_time // NANOS_OF_MILLI)
            until = iso_time(made + tag.time_retained // NANOS_OF_MILLI)
        found.append(TagFacts(name, snapshot_facts(tag.snapshot), until))
    return tuple(sorted(found, key=lambda tag: (tag.snapshot.id, tag.name)))


def _changelogs(table: Table) -> int:
    return len(table.snapshots.changelog_ids())


def _retention(table: Table, ids: Sequence[int], kept: Retention) -> RetentionFacts:
    """A snapshot is due when the one after it is too old as well, and enough younger ones are there."""
    young = table.snapshots.find_since_time(kept.keep_since) if ids else None
    old = 0 if not ids else (len(ids) if young is None else bisect_left(ids, young.id)) - 1
    due = max(0, len(ids) - kept.retain_max, min(old, len(ids) - kept.retain_min))
    by_writers = not table.settings.write_only
    return RetentionFacts(kept.retain_min, kept.retain_max, kept.millis_retained, by_writers, due)
