"""Reads chain tables: partitions that a table lacks are those of its branch of whole ones, or are made of two branches.

Java: ChainTableFileStoreTable, ChainGroupReadTable. A partition that only the branch of changes has is the last whole
partition of its chain before it, with the changes of the partitions after that one, up to its own, merged by key. The
merge engine is that of the branch of changes. What a condition says of values is applied to merged rows only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from paimon_spark.arrow.predicates.predicate import TRUE, Compare, IsNull, Op, Predicate, and_, or_, restrict
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.merge.keys.sections import partition_sections
from paimon_spark.store.metadata.chains import Chains, Values
from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.metadata.schemas import no_such_branch
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import chain_branches
from paimon_spark.store.read.branched_reader import BranchedReader
from paimon_spark.store.read.splits import DeletionFile, Origin, ReadUnit, Split, pack_parts
from paimon_spark.store.scan.increments import reads_increment
from paimon_spark.store.scan.other_branches import check_alike, fields_of, listed_partitions, other_table
from paimon_spark.store.scan.read_spec import Plan, ReadSpec
from paimon_spark.store.scan.read_tags import ReadTag
from paimon_spark.store.scan.table_scan import Scan


@dataclass(frozen=True)
class ChainBranches:
    """The two branches of a chain table.

    Attributes:
        whole: the table as the branch of whole partitions has it.
        table: as that of changes has it, whose columns and merge engine count.
    """

    whole: Table
    table: Table

    def read_with(self, scan: Scan) -> ChainReads:
        """The read of the table and of its chains."""
        return ChainReads(replace(scan, spec=replace(scan.spec, first=None), second=None), self)


def chain_of(table: Table) -> ChainBranches:
    """The branches of a chain table that is opened on neither of them.

    Raises:
        SnapshotNotFound: there is no such branch.
        SchemaError: the branches do not have the same columns and partition columns.
        UnsupportedFeature: this release cannot read one of them.
    """
    named = chain_branches(table.settings, table.branch)
    assert named is not None, "the options name the branches"
    tables: list[Table] = []
    for name, of in zip(named, (table, None), strict=True):
        found = other_table(of or tables[0], name)
        if found is None:
            raise no_such_branch(table.file_io, table.location, name)
        check_alike(table, found)
        tables.append(found)
    return ChainBranches(*tables)


@dataclass(frozen=True)
class ChainReads:
    """A table and its chains, read as one.

    Attributes:
        own: the read of the table's own branch alone.
        branches: the others.
    """

    own: Scan
    branches: ChainBranches

    def plan(self) -> Plan:
        """As Scan.plan; the snapshot is that of the own branch."""
        self._check_reads_state()
        own = self.own.plan()
        here = listed_partitions(self.own.table, own.snapshot, self.own.predicate)
        return Plan(own.snapshot, (*own.splits, *ChainPlan(self.branches, self.own.spec).splits(here)))

    def plan_with_read_tags(self) -> tuple[Plan, tuple[ReadTag, ...]]:
        """As Scan.plan_with_read_tags.

        Raises:
            UnsupportedFeature: tags are asked for.
        """
        if self.own.table.settings.scan.read_tag_time_retained is not None:
            raise self._refused(f"with '{ScanSettings.read_tag_time_retained.key}'", "leave the option out")
        return self.plan(), ()

    def reader(self) -> BranchedReader:
        """Reads the splits of all branches."""
        fields = fields_of(self.branches.table, self.own.fields)
        other = Scan(self.branches.table, replace(self.own.spec, fields=fields)).split_reader()
        whole = self.branches.whole
        return BranchedReader(self.own.split_reader(), replace(other, branches={whole.branch: whole}))

    def explain(self) -> NoReturn:
        """Refuses to explain the read.

        Raises:
            UnsupportedFeature: always.
        """
        raise self._refused("to be explained", "name one of its branches by the option 'branch'")

    def _check_reads_state(self) -> None:
        if reads_increment(self.own.table.settings):
            raise self._refused("for a change", "read the changes of one of its branches, by the option 'branch'")
        ages = (ScanSettings.file_creation_time_millis, ScanSettings.creation_time_millis)
        if any(map(self.own.table.settings.is_set, ages)):
            raise self._refused("by the age of its files", "choose a state by its time, with 'scan.timestamp-millis'")

    def _refused(self, how: str, instead: str) -> UnsupportedFeature:
        return UnsupportedFeature(
            f"reading the chain table {self.own.table.location} {how} is not supported: its partitions are made of "
            f"those of several branches; {instead}"
        )


@dataclass(frozen=True)
class ChainPlan:
    """Plans the partitions that a chain table has in its two branches.

    Attributes:
        branches: of the table.
        spec: what is wanted, in the columns of the table.
        makes_whole: True makes also those partitions of their chains that the branch of whole partitions has.
    """

    branches: ChainBranches
    spec: ReadSpec
    makes_whole: bool = False

    def splits(self, known: set[bytes]) -> tuple[Split, ...]:
        """The splits of all partitions but the known ones, for the reader of the branch of changes.

        Raises:
            CorruptFile: metadata is missing or damaged.
            DataError, UnsupportedFeature: the values of a partition have no place in a chain.
        """
        whole, changes = self.branches.whole, self.branches.table
        whole_state, state = (Scan(t, ReadSpec((), TRUE)).state_now().snapshot for t in (whole, changes))
        wanted = {row for row in listed_partitions(whole, whole_state, self.spec.predicate) if row not in known}
        if self.makes_whole:
            wanted = set()
        made = listed_partitions(changes, state, self.spec.predicate) - known - wanted
        splits = [s for s in self._whole(whole_state) if self._row(s) in wanted] if wanted else []
        return (*splits, *self._chains(made, whole_state, state))

    def newest_whole(self, state: Snapshot | None) -> dict[Values, bytes]:
        """The newest whole partition of each chain that has one, in a state of the branch of whole partitions.

        Raises:
            UnsupportedFeature: a partition has NULL as a value, and so no place in a chain.
        """
        ordered = Chains(self.branches.table).ordered(listed_partitions(self.branches.whole, state, TRUE))
        return {chain: places[-1][1] for chain, places in ordered.items()}

    def whole_splits(self, state: Snapshot | None, rows: set[bytes]) -> Iterator[Split]:
        """The splits of some whole partitions, for the reader of the branch of changes."""
        return (split for split in self._whole(state) if self._row(split) in rows) if rows else iter(())

    def merged_state(self, whole_state: Snapshot | None, state: Snapshot) -> Iterator[Split]:
        """The splits of one partition of each chain: the newest whole one, merged with all changes after it.

        The partition is the last one of the chain that has a change, or the whole one if none is after it (Java:
        ChainTableStreamScan.buildMergedStartingSplits).

        Raises:
            UnsupportedFeature: as of ``newest_whole``; or the branches have different numbers of buckets.
        """
        whole, changes, chains = self.branches.whole, self.branches.table, Chains(self.branches.table)
        newest, known = self.newest_whole(whole_state), chains.ordered(listed_partitions(changes, state, TRUE))
        news: dict[Values, list[bytes]] = {}
        for chain, places in known.items():
            begin = chains.place(newest[chain]) if chain in newest else None
            news[chain] = [row for place, row in places if begin is None or place > begin]
        old_files = _files(whole, whole_state, set(newest.values()), self.spec.predicate)
        new_files = _files(changes, state, {row for rows in news.values() for row in rows}, self.spec.predicate)
        if old_files and new_files:
            _check_buckets(whole, changes)
        for chain in dict.fromkeys((*newest, *news)):
            rows = [*([newest[chain]] if chain in newest else []), *news.get(chain, [])]
            if rows:
                found = [files for row in rows[: chain in newest] for files in old_files.get(row, ())]
                found += [files for row in news.get(chain, []) for files in new_files.get(row, ())]
                yield from self._buckets(rows[-1], found)

    def _buckets(self, row: bytes, found: Iterable[_Files]) -> Iterator[Split]:
        """The splits of the files of a partition, bucket by bucket."""
        buckets: dict[int, list[_Files]] = {}
        for files in found:
            buckets.setdefault(files.bucket, []).append(files)
        for bucket, of_bucket in buckets.items():
            yield from self._bucket(row, bucket, of_bucket)

    def _row(self, split: Split) -> bytes:
        return canonical_row(split.partition, self.branches.table.schema.partition_types)

    def _whole(self, state: Snapshot | None) -> Iterator[Split]:
        """The splits of whole partitions. They are merged by the engine of the branch of changes."""
        whole, changes = self.branches.whole, self.branches.table
        keys = {*whole.schema.partition_keys, *whole.schema.trimmed_primary_keys}
        alike = whole.settings.merge_engine == changes.settings.merge_engine
        where = self.spec.predicate if alike else restrict(self.spec.predicate, keys)
        for split in _units(whole, where, state):
            origins = {file.file_name: Origin(whole.branch, split.bucket_path) for file in split.files}
            yield replace(split, branch=changes.branch, origins=origins)

    def _chains(self, made: set[bytes], whole_state: Snapshot | None, state: Snapshot | None) -> Iterator[Split]:
        if not made:
            return
        whole, changes, chains = self.branches.whole, self.branches.table, Chains(self.branches.table)
        known = chains.ordered(listed_partitions(changes, state, TRUE))
        anchors = chains.ordered(listed_partitions(whole, whole_state, TRUE))
        parts = {row: chains.anchor(row, anchors) for row in sorted(made)}
        news = {row: chains.changes(anchor, row, known) for row, anchor in parts.items()}
        old_files = _files(whole, whole_state, {a for a in parts.values() if a is not None}, self.spec.predicate)
        new_files = _files(changes, state, {row for rows in news.values() for row in rows}, self.spec.predicate)
        if old_files and new_files:
            _check_buckets(whole, changes)
        for row, anchor in parts.items():
            made_of = (*old_files.get(anchor or b"", ()), *(f for n in news[row] for f in new_files.get(n, ())))
            yield from self._buckets(row, made_of)

    def _bucket(self, row: bytes, bucket: int, found: Sequence[_Files]) -> Iterator[Split]:
        changes = self.branches.table
        types, scan = [field.type for field in changes.schema.key_fields], changes.settings.scan
        origins = {file.file_name: files.origin for files in found for file in files.files}
        deletions = {name: one for files in found for name, one in files.deletions.items()}
        sections = partition_sections([file for files in found for file in files.files], types)
        for raw, packed in pack_parts((), sections, scan.split_target_size, scan.open_file_cost):
            names = [file.file_name for section in packed for run in section for file in run.files]
            yield Split(
                row,
                bucket,
                "",
                raw,
                packed,
                {name: deletions[name] for name in names if name in deletions},
                branch=changes.branch,
                origins={name: origins[name] for name in names},
            )


@dataclass(frozen=True)
class _Files:
    """The files of one bucket of a stored partition."""

    bucket: int
    origin: Origin
    files: tuple[DataFileMeta, ...]
    deletions: Mapping[str, DeletionFile]


def _files(table: Table, state: Snapshot | None, rows: set[bytes], predicate: Predicate) -> dict[bytes, list[_Files]]:
    """The files of some partitions of a branch that may have wanted keys, by partition."""
    found: dict[bytes, list[_Files]] = {}
    if not rows:
        return found
    keys, types = set(table.schema.trimmed_primary_keys), table.schema.partition_types
    where = and_(restrict(predicate, keys), or_(*(_is_partition(table, row) for row in sorted(rows))))
    for split in _units(table, where, state):
        row = canonical_row(split.partition, types)
        if row in rows:
            files = _Files(split.bucket, Origin(table.branch, split.bucket_path), tuple(split.files), split.deletions)
            found.setdefault(row, []).append(files)
    return found


def _is_partition(table: Table, row: bytes) -> Predicate:
    values = decode_arity_row(row, table.schema.partition_types)
    pairs = zip(table.schema.partition_keys, values, strict=True)
    return and_(*(IsNull((k,)) if v is None else Compare((k,), Op.EQ, v) for k, v in pairs))


def _units(table: Table, where: Predicate, state: Snapshot | None) -> Iterable[Split]:
    if state is None:
        return ()
    units: Sequence[ReadUnit] = Scan(table, ReadSpec((), where)).plan_at(state).splits
    return [unit for unit in units if isinstance(unit, Split)]


def _check_buckets(whole: Table, changes: Table) -> None:
    if whole.settings.bucket != changes.settings.bucket:
        raise UnsupportedFeature(
            f"reading the chain table {changes.location}: '{TableSettings.bucket.key}' is {whole.settings.bucket} in "
            f"the branch '{whole.branch}', and {changes.settings.bucket} in '{changes.branch}', so that rows of one "
            "key lie in different buckets; rescale one of them"
        )
