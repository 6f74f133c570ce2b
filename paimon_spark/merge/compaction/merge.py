"""The merge of a compaction that knows the rows above its output level (Java: ChangelogMergeTreeRewriter).

It produces the rows of the new files, the changelog, and the positions of rows that deletion vectors must delete
because newer rows replace them. There are three ways, each a wrapper of merge functions in Java:

* ``full-compaction``: all rows of a key are in the merge, including the one of the last full compaction, which is the
  row before.
* ``first-row``: a key without a row above the output level is new.
* lookup: the row of the key on the lowest level above 0 is the row before. A key that has rows on level 0 only is
  looked up above the output level, and the row found there is merged with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.format.options.engines import ChangelogProducer, MergeEngine
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.row_kind import is_retract
from paimon_spark.format.schema import FILE_NUMBER, LEVEL, POSITION, SEQUENCE_NUMBER, VALUE_KIND, TableSchema
from paimon_spark.merge.compaction.changelog import Befores, changelog_rows
from paimon_spark.merge.compaction.rules import needs_lookup
from paimon_spark.merge.compaction.upper_rows import FoundRows, UpperRows, UpperRun, taken_keys
from paimon_spark.merge.engines.choice import TableEngine, deduplicate_engine, engine_for
from paimon_spark.merge.engines.groups import small_windows
from paimon_spark.merge.engines.lookup import key_levels, lowest_level, row_where, rows_that_count
from paimon_spark.merge.keys.key_words import key_columns
from paimon_spark.merge.keys.row_order import ignored_rows
from paimon_spark.merge.keys.rows import COPY_BYTES, one_batch
from paimon_spark.merge.keys.window import Engine, MergeSpec, Piece, Window, merge_spec
from paimon_spark.merge.keys.winners import Mask, Rows
from paimon_spark.merge.runs.sort_merge import windows

_SMALL = 16  # a part of less than 1/16 of the wanted rows is put together with others


@dataclass(frozen=True)
class CompactRules:
    """How a compaction merges the rows of a key; made by ``compact_rules``.

    Attributes:
        spec: the order of rows; without ``keep_deletes`` retractions are dropped. It must have sequence numbers and
            kinds.
        engine: the merge engine of the table.
        output: columns of rows and changelog: those of the table, then ``_SEQUENCE_NUMBER`` and ``_VALUE_KIND``.
        producer: ``changelog-producer``; only lookup and full-compaction write a changelog here.
        looks_up: whether rows that leave level 0 are looked up above.
        vectors: whether rows above are deleted by deletion vectors.
        max_level: the level of the rows that a full compaction compares with.
        compared: a key whose values in these columns are unchanged has no changelog; None: every key has one.
    """

    spec: MergeSpec
    engine: TableEngine
    output: tuple[str, ...]
    producer: ChangelogProducer
    looks_up: bool
    vectors: bool
    max_level: int
    compared: tuple[str, ...] | None = None

    @cached_property
    def merge(self) -> Engine:
        """The engine for all rows of a key, which include ``_LEVEL``; used for a merge without a changelog too."""
        counts_levels = self.looks_up and self.engine.kind != MergeEngine.FIRST_ROW
        return lowest_level(self.engine.merge) if counts_levels else self.engine.merge

    def of_stored_rows(self) -> CompactRules:
        """The rules of merged rows of the table, of which each key has one: none is dropped or looked up."""
        return replace(
            self,
            spec=replace(self.spec, ignore_delete=False, ignore_update_before=False),
            engine=deduplicate_engine(),
            producer=ChangelogProducer.NONE,
            looks_up=False,
            vectors=False,
        )


@dataclass(frozen=True)
class Superseded:
    """Rows above that newer rows replace: the numbers of their files (int32) and their positions there (int64)."""

    files: npt.NDArray[np.int32]
    positions: npt.NDArray[np.int64]


@dataclass(frozen=True)
class CompactBatch:
    """A part of the result; an attribute that is None has no rows in this part.

    Attributes:
        rows: for the new files, sorted by key.
        changelog: sorted by key; within a key -U is before +U.
        superseded: the rows that deletion vectors must delete.
    """

    rows: pa.RecordBatch | None = None
    changelog: pa.RecordBatch | None = None
    superseded: Superseded | None = None


def compact_rules(schema: TableSchema, settings: TableSettings, max_level: int, drop_deletes: bool) -> CompactRules:
    """The rules of a table with a primary key.

    Args:
        schema: the columns and keys of the table.
        settings: the options of the table, with those of the call on top.
        max_level: the highest level that the bucket can have.
        drop_deletes: True drops retractions from the result.

    Raises:
        OptionError, UnsupportedFeature: see ``engine_for``.
    """
    spec = replace(merge_spec(schema, settings), keep_deletes=not drop_deletes)
    ignored = settings.changelog_row_deduplicate_ignore_fields
    deduplicates = settings.changelog_row_deduplicate
    return CompactRules(
        spec,
        engine_for(schema, settings),
        output=(*schema.names, SEQUENCE_NUMBER, VALUE_KIND),
        producer=settings.changelog_producer,
        looks_up=needs_lookup(settings),
        vectors=settings.deletion_vectors_enabled,
        max_level=max_level,
        compared=tuple(name for name in schema.names if name not in ignored) if deduplicates else None,
    )


def needs_values_above(rules: CompactRules) -> bool:
    """True if the rows above must have the output columns, and not only their keys and places."""
    if rules.producer == ChangelogProducer.FULL_COMPACTION or rules.engine.kind == MergeEngine.FIRST_ROW:
        return False
    newest_wins = rules.engine.kind.keeps_whole_rows and not rules.spec.sequence_fields
    return not rules.vectors or rules.producer == ChangelogProducer.LOOKUP or not newest_wins


def compact_merge(
    runs: Sequence[Iterator[pa.RecordBatch]],
    above: Sequence[UpperRun],
    rules: CompactRules,
    batch_rows: int = 65536,
) -> Iterator[CompactBatch]:
    """Merge sorted runs for a new file and its changelog.

    Args:
        runs: as for ``merge_runs``; their batches hold the output columns and ``_LEVEL``.
        above: the levels greater than the output level, the lowest first; none for ``full-compaction``. Their batches
            hold the key columns, with vectors ``_FILE`` and ``_POSITION``, and with ``needs_values_above`` the output
            columns. Rows of keys that runs do not have are left out.
        rules: made by ``compact_rules``.
        batch_rows: the approximate number of rows of a batch.

    Raises:
        CorruptFile: a null in a key column.
        DataError: rows that the engine cannot merge.
        UnsupportedFeature: a key or sequence column of a type without an order.
    """
    return combined(_merged(runs, UpperRows(above, rules.spec.key_names), rules), batch_rows)


def _merged(runs: Sequence[Iterator[pa.RecordBatch]], upper: UpperRows, rules: CompactRules) -> Iterator[CompactBatch]:
    spec = replace(rules.spec, keep_deletes=True)
    for window in windows(runs, spec.key_names):
        for small in small_windows(window):
            yield from _merge_window(small, upper, rules, spec)


@dataclass(frozen=True)
class _Keys:
    """The plan for the keys of a window, in key order.

    Attributes:
        window: the rows to merge.
        befores: the rows of the keys before.
        comes_out: False for keys whose result is not written; None: all results are.
        superseded: the rows above that are replaced.
    """

    window: Window
    befores: Befores
    comes_out: Mask | None = None
    superseded: Sequence[FoundRows] = ()


def _merge_window(window: Window, upper: UpperRows, rules: CompactRules, spec: MergeSpec) -> Iterator[CompactBatch]:
    if rules.producer == ChangelogProducer.FULL_COMPACTION:
        keys = _full(window, rules)
    elif rules.engine.kind == MergeEngine.FIRST_ROW:
        keys = _first_row(window, upper, rules)
    else:
        keys = _lookup(window, upper, rules)
    for found in keys.superseded:
        yield CompactBatch(superseded=_places(found))
    left = _keys_with_result(keys.window, rules)
    befores = keys.befores if left is None else keys.befores.of(left)
    comes_out = keys.comes_out if left is None or keys.comes_out is None else keys.comes_out[left]
    makes_changelog = rules.producer.is_compaction
    start = 0
    for rows in rules.engine.merge(keys.window, spec, rules.output, True):
        part = slice(start, start + rows.num_rows)
        start += rows.num_rows
        changelog = None
        if makes_changelog:
            keeps_kinds = rules.engine.kind == MergeEngine.FIRST_ROW
            changelog = changelog_rows(rows, befores.of(part), rules.compared, keeps_kinds)
        kept = _kept(rows, None if comes_out is None else comes_out[part], rules)
        if kept is not None or changelog is not None:
            yield CompactBatch(kept, changelog)
    assert start == len(befores.rows), "an engine must make one row of every key"


def _full(window: Window, rules: CompactRules) -> _Keys:
    """The row of the max level is the row before; without others it stays (Java: FullChangelogMergeFunctionWrapper)."""
    groups, levels = window.groups, window.column(LEVEL).to_numpy()
    top = row_where(levels[groups.order] == rules.max_level, groups)
    befores = Befores(window, top, (groups.sizes > 1) | (top < 0))
    if rules.looks_up:
        counts = key_levels(groups, levels).counts
        window = window if counts is None else rows_that_count(window, counts)
    return _Keys(window, befores)


def _first_row(window: Window, upper: UpperRows, rules: CompactRules) -> _Keys:
    """Keys without a row on a level above 0 are new (Java: FirstRowMergeFunctionWrapper)."""
    groups = window.groups
    high = window.column(LEVEL).to_numpy() > 0
    if (ignored := _ignored(window, rules)) is not None:
        high &= ~ignored
    has_high = np.logical_or.reduceat(high[groups.order], groups.starts)
    known = has_high.copy()
    comes_out = np.ones(len(known), np.bool_)
    for found in _find(window, upper, np.flatnonzero(~has_high), rules):
        known[found.keys], comes_out[found.keys] = True, False
    befores = Befores(window, np.full(len(known), -1), ~known)
    return _Keys(_merging_all(window), befores, None if comes_out.all() else comes_out)


def _lookup(window: Window, upper: UpperRows, rules: CompactRules) -> _Keys:
    """The row before is looked up on the levels above 0 (Java: LookupChangelogMergeFunctionWrapper)."""
    levels = key_levels(window.groups, window.column(LEVEL).to_numpy())
    found = _find(window, upper, np.flatnonzero(levels.upper < 0), rules)
    before = levels.upper
    if levels.counts is not None:
        numbers = np.cumsum(levels.counts) - 1
        before = np.where(before >= 0, numbers[before], -1)
        window = rows_that_count(window, levels.counts)
    if found and needs_values_above(rules):
        before = before.copy()
        pieces, count = list(window.pieces), window.row_count
        schema = pieces[0].rows.select(rules.output).schema
        for rows in found:
            pieces.append(_piece(rows, schema, rules.spec.key_names))
            before[rows.keys] = count + np.arange(len(rows.keys))
            count += len(rows.keys)
        window = Window(tuple(pieces))
    kinds = window.kinds(rules.spec)
    if kinds is not None:
        before = np.where(is_retract(kinds[before]), -1, before)
    if not rules.engine.kind.keeps_whole_rows:
        window = _merging_all(window)
    befores = Befores(window, before, levels.has_level_0)
    return _Keys(window, befores, superseded=found if rules.vectors else ())


def _find(window: Window, upper: UpperRows, numbers: Rows, rules: CompactRules) -> list[FoundRows]:
    """The rows above of the keys of these numbers."""
    if not upper or not len(numbers):
        return []
    rows = window.groups.order[window.groups.starts[numbers]]
    names = rules.spec.key_names
    found = upper.find(taken_keys(window.keys, rows), lambda i: window.row(int(rows[i])).select(names))
    return [FoundRows(numbers[level.keys], level.rows) for level in found]


def _piece(found: FoundRows, schema: pa.Schema, key_names: Sequence[str]) -> Piece:
    rows = pa.RecordBatch.from_arrays([found.rows.column(name) for name in schema.names], schema=schema)
    return Piece(rows, key_columns(rows, key_names))


def _merging_all(window: Window) -> Window:
    """The window with every row marked as merged, so that single rows go through the merge function too."""
    pieces = [replace(piece, merged=np.ones(piece.rows.num_rows, np.bool_)) for piece in window.pieces]
    return Window(tuple(pieces), window.groups)


def _ignored(window: Window, rules: CompactRules) -> Mask | None:
    kinds = window.kinds(rules.spec)
    return None if kinds is None else ignored_rows(kinds, rules.spec)


def _keys_with_result(window: Window, rules: CompactRules) -> Rows | None:
    """The numbers of the keys of which the engine leaves a row; None: all."""
    ignored = _ignored(window, rules) if rules.engine.kind.keeps_whole_rows else None
    if ignored is None:
        return None
    return np.flatnonzero(np.logical_or.reduceat(~ignored[window.groups.order], window.groups.starts))


def _kept(rows: pa.RecordBatch, comes_out: Mask | None, rules: CompactRules) -> pa.RecordBatch | None:
    """The merged rows that go into a file."""
    kept = comes_out
    if not rules.spec.keep_deletes:
        adds = ~is_retract(rows.column(VALUE_KIND).to_numpy())
        kept = adds if kept is None else kept & adds
    if kept is not None and not kept.all():
        rows = rows.filter(pa.array(kept))
    return rows if rows.num_rows else None


def _places(found: FoundRows) -> Superseded:
    return Superseded(found.rows.column(FILE_NUMBER).to_numpy(), found.rows.column(POSITION).to_numpy())


def combined(parts: Iterable[CompactBatch], batch_rows: int) -> Iterator[CompactBatch]:
    """The parts combined into batches of about batch_rows rows: small parts are joined, large ones pass unchanged."""
    waiting: list[CompactBatch] = []
    count = size = 0
    for part in parts:
        rows = max(_length(part.rows), _length(part.changelog))
        big = rows * _SMALL >= batch_rows
        if big and not waiting:
            yield part
            continue
        more = sum(batch.nbytes for batch in (part.rows, part.changelog) if batch is not None)
        if waiting and size + more > COPY_BYTES:
            yield _joined(waiting)
            waiting, count, size = [], 0, 0
        waiting.append(part)
        count += rows
        size += more
        if big or count >= batch_rows:
            yield _joined(waiting)
            waiting, count, size = [], 0, 0
    if waiting:
        yield _joined(waiting)


def _joined(parts: Sequence[CompactBatch]) -> CompactBatch:
    superseded = [part.superseded for part in parts if part.superseded is not None]
    return CompactBatch(
        _concat([part.rows for part in parts if part.rows is not None]),
        _concat([part.changelog for part in parts if part.changelog is not None]),
        Superseded(
            np.concatenate([one.files for one in superseded]), np.concatenate([one.positions for one in superseded])
        )
        if superseded
        else None,
    )


def _concat(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch | None:
    return one_batch(batches) if batches else None


def _length(rows: pa.RecordBatch | None) -> int:
    return 0 if rows is None else int(rows.num_rows)
