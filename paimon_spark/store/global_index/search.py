"""The ids of rows that may satisfy a condition, by indexes of the whole table.

Java: DataEvolutionGlobalIndexScanner, GlobalIndexEvaluator, DataEvolutionGlobalIndexCoverage (release 2.0). Java looks
for rows that no index covers once, for all columns of a condition together; here each part of a condition adds those
that its own index does not cover. Without an option Java leaves such rows out of the result; here they are found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import islice

from pyroaring import BitMap64

from paimon_spark.arrow.predicates.predicate import (
    AlwaysFalse,
    AlwaysNull,
    AlwaysTrue,
    And,
    CompareColumns,
    IsNotNull,
    IsNull,
    Leaf,
    Not,
    Or,
    Padded,
    Predicate,
    Remainder,
    columns_of,
)
from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.file_index.keys import Key
from paimon_spark.format.global_index.bitmap import BITMAP
from paimon_spark.format.global_index.file_meta import read_key_bounds
from paimon_spark.format.global_index.keys import GlobalKeyForm, global_key_form
from paimon_spark.format.manifest import IndexManifestEntry
from paimon_spark.format.paths import index_file_path
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import Root
from paimon_spark.limits import MAX_ROW_IDS
from paimon_spark.store.global_index.index_files import can_open, opened_global_index
from paimon_spark.store.global_index.key_sets import KeySet, key_set
from paimon_spark.store.metadata.global_indexes import may_have_old_values, type_of_keys
from paimon_spark.store.metadata.manifest_files import read_global_indexes
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.parallel import map_parallel

_NO_LEAVES = (AlwaysTrue, AlwaysFalse, AlwaysNull, And, Or, Not, CompareColumns)
_COMPUTED = (Padded, Remainder)
_LARGE_SHARE = 0.25  # of a file, whose rows are found as fast without the index
_FEW_KEYS = 16
_ROWS_A_LOOKUP = 5_000  # are read as fast as a key is looked up
Span = tuple[int, int]
"""The first of some row ids, and the one after the last."""


@dataclass(frozen=True)
class _IndexFile:
    """A file of an index; first and last: of its keys, None: it has none."""

    entry: IndexManifestEntry
    start: int
    end: int
    first: Key | None
    last: Key | None
    has_nulls: bool

    def may_have(self, keys: KeySet) -> bool:
        """True if a row of the file may have one of the keys."""
        if keys.nulls and self.has_nulls:
            return True
        return self.first is not None and self.last is not None and keys.meets(self.first, self.last)


@dataclass(frozen=True)
class _ColumnIndex:
    """An index over a column.

    Attributes:
        form: of its keys.
        files: all of it.
        most_bytes: a scan of files of more does without the index.
    """

    form: GlobalKeyForm
    files: tuple[_IndexFile, ...]
    most_bytes: int


def find_rows(table: Table, snapshot: Snapshot, predicate: Predicate, spans: Sequence[Span]) -> BitMap64 | None:
    """The ids of rows that may satisfy a condition; None: no index tells.

    Args:
        table: a table with data evolution, with the options of the read.
        snapshot: the state that is read.
        predicate: over the columns of the table.
        spans: the ids of the rows that are read, none twice; others may be left out.

    Raises:
        MissingFile: an index file does not exist.
        CorruptFile: an index file, or the index manifest, is damaged.
    """
    settings = table.settings.global_index
    if not settings.enabled or settings.update_action == "IGNORE" or snapshot.index_manifest is None or not spans:
        return None
    if sum(end - start for start, end in spans) > MAX_ROW_IDS:
        return None
    indexes = _indexes(table, snapshot, columns_of(predicate))
    if not indexes or may_have_old_values(table.schema, table.schemas, snapshot.schema_id):
        return None
    return _Search(table, indexes, sorted(spans)).rows(predicate, wanted=True)


def _indexes(table: Table, snapshot: Snapshot, names: Iterable[str]) -> dict[str, list[_ColumnIndex]]:
    """The indexes that can be used, by column."""
    wanted = {table.schema.by_name[name].id: name for name in names if name in table.schema.by_name}
    found: dict[tuple[int, str], list[IndexManifestEntry]] = defaultdict(list)
    for entry in read_global_indexes(table.file_io, table.location, snapshot.index_manifest):
        if can_open(entry) and entry.global_index is not None and entry.global_index.index_field_id in wanted:
            found[entry.global_index.index_field_id, entry.index_type].append(entry)
    indexes: dict[str, list[_ColumnIndex]] = defaultdict(list)
    for (field_id, kind), entries in found.items():
        form = _form(table, field_id)
        if form is not None:
            settings = table.settings.global_index
            most = settings.bitmap_fallback if kind == BITMAP else settings.btree_fallback
            indexes[wanted[field_id]].append(
                _ColumnIndex(form, tuple(_index_file(each, form) for each in entries), most)
            )
    return indexes


def _form(table: Table, field_id: int) -> GlobalKeyForm | None:
    """The form of the keys; None: conditions cannot be asked of an index over such a column."""
    data_type = type_of_keys(table.schema, table.schemas, field_id)
    if data_type is None or data_type.root is Root.CHAR:  # a text may be indexed with its blanks, or without
        return None
    try:
        return global_key_form(data_type)
    except UnsupportedFeature:  # of a newer release
        return None


def _index_file(entry: IndexManifestEntry, form: GlobalKeyForm) -> _IndexFile:
    meta = entry.global_index
    assert meta is not None, "can_open has looked"
    if not 0 <= meta.row_range_start <= meta.row_range_end:
        raise CorruptFile(
            f"reading the index file {entry.file_name}: its entry in the index manifest says it is over the row ids "
            f"{meta.row_range_start} to {meta.row_range_end}; drop the index and create it again, or read with "
            "'global-index.enabled' = 'false'"
        )
    bounds = read_key_bounds(meta.index_meta)
    first = None if bounds.first is None else form.loaded(bounds.first)
    last = None if bounds.last is None else form.loaded(bounds.last)
    return _IndexFile(entry, meta.row_range_start, meta.row_range_end + 1, first, last, bounds.has_nulls)


def _rows_of(spans: Iterable[Span]) -> BitMap64:
    rows = BitMap64()
    for start, end in spans:
        rows.add_range(start, end)
    return rows


def _common(spans: Sequence[Span], others: Sequence[Span]) -> Iterator[Span]:
    """The ids that are in both; all are ascending, and those of the first have none in common."""
    place = 0
    for start, end in others:
        while place < len(spans) and spans[place][1] <= start:
            place += 1
        for first, after in islice(spans, place, None):
            if first >= end:
                break
            yield max(start, first), min(end, after)


class _Search:
    """Looks up the parts of one condition."""

    def __init__(self, table: Table, indexes: Mapping[str, Sequence[_ColumnIndex]], spans: Sequence[Span]) -> None:
        self._table = table
        self._indexes = indexes
        self._spans = spans
        self._every = _rows_of(spans)
        self._only_indexed = table.finds_only_indexed

    def rows(self, predicate: Predicate, wanted: bool) -> BitMap64 | None:
        """The rows for which a condition may be true, or false; None: any."""
        match predicate:
            case AlwaysTrue() | AlwaysFalse():
                return None if isinstance(predicate, AlwaysTrue) == wanted else BitMap64()
            case AlwaysNull():
                return BitMap64()
            case Not(part):
                return self.rows(part, not wanted)
            case And(parts) | Or(parts):
                is_and = isinstance(predicate, And) == wanted
                return self._common(_without_needless(parts), wanted) if is_and else self._union(parts, wanted)
            case CompareColumns() | Padded() | Remainder():
                return None
            case leaf:
                return None if len(leaf.column) > 1 else self._of_column(leaf.column[0], [leaf], wanted)

    def _common(self, parts: Iterable[Predicate], wanted: bool) -> BitMap64 | None:
        """The rows of a conjunction; what is asked of one column is looked up at once."""
        leaves: dict[str, list[Leaf]] = defaultdict(list)
        others: list[Predicate] = []
        for part in parts:
            if isinstance(part, (*_NO_LEAVES, *_COMPUTED)) or len(part.column) > 1:
                others.append(part)
            else:
                leaves[part.column[0]].append(part)
        left: BitMap64 | None = None
        found = (partial(self._of_column, name, each, wanted) for name, each in leaves.items())
        for find in (*found, *(partial(self.rows, part, wanted) for part in others)):
            rows = find()
            if rows is not None:
                left = rows if left is None else left & rows
            if left is not None and not left:
                break
        return left

    def _union(self, parts: Iterable[Predicate], wanted: bool) -> BitMap64 | None:
        found = BitMap64()
        for part in parts:
            rows = self.rows(part, wanted)
            if rows is None:
                return None
            found |= rows
        return found

    def _of_column(self, name: str, leaves: Sequence[Leaf], wanted: bool) -> BitMap64 | None:
        """The rows for which all of some conditions on a column may have a truth value."""
        left: BitMap64 | None = None
        for index in self._indexes.get(name, ()):
            sets = [keys for leaf in leaves if (keys := key_set(leaf, wanted, index.form)) is not None]
            rows = self._of_index(index, reduce(KeySet.common, sets)) if sets else None
            if rows is None:
                continue
            if left is None:
                left = rows
            elif self._only_indexed:  # each may cover other rows
                left |= rows
            else:
                left &= rows
        return left

    def _of_index(self, index: _ColumnIndex, keys: KeySet) -> BitMap64 | None:
        files = [file for file in index.files if file.may_have(keys)]
        if not self._only_indexed and len(keys.intervals) > max(_FEW_KEYS, len(self._every) // _ROWS_A_LOOKUP):
            return None
        if keys.is_scan and sum(file.entry.file_size for file in files) > index.most_bytes:
            return None
        found = BitMap64()
        try:
            for rows in map_parallel(partial(self._of_file, index.form, keys), files):
                if rows is None:
                    return None
                found |= rows
        except UnsupportedFeature:  # a codec of its own: the rows are found without the index
            return None
        if not self._only_indexed:
            covered = _common(self._spans, sorted((file.start, file.end) for file in index.files))
            found |= self._every - _rows_of(covered)
        return found & self._every

    def _of_file(self, form: GlobalKeyForm, keys: KeySet, file: _IndexFile) -> BitMap64 | None:
        """The rows of a file; None: so many that it is no help to know them."""
        table, found = self._table, BitMap64()
        path = index_file_path(table.location, "", file.entry, table.settings)
        with opened_global_index(table.file_io, path, file.entry, form) as rows:
            asks_much = keys.is_scan or len(keys.intervals) == 1
            if not self._only_indexed and asks_much and sum(map(rows.share, keys.intervals)) > _LARGE_SHARE:
                return None
            for wanted in keys.intervals:
                found |= rows.present() if wanted.low is None and wanted.high is None else rows.rows(wanted)
            if keys.nulls:
                found |= rows.nulls()
        if found and found.max() >= file.end - file.start:
            raise CorruptFile(
                f"reading the index file {path}: it names row {found.max()} of {file.end - file.start}; drop the index "
                "and create it again, or read with 'global-index.enabled' = 'false'"
            )
        return found.shift(file.start)


def _without_needless(parts: Sequence[Predicate]) -> list[Predicate]:
    """The parts of a conjunction without `c IS NOT NULL` where another part is true for no row that is NULL there."""
    leaves = (part for part in parts if not isinstance(part, (*_NO_LEAVES, IsNull, IsNotNull, *_COMPUTED)))
    bound = frozenset().union(*(columns_of(leaf) for leaf in leaves))
    return [part for part in parts if not (isinstance(part, IsNotNull) and part.column[0] in bound)]
