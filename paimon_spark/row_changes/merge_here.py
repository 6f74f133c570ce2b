"""MERGE by this process, without Spark: rows of a source meet rows of the table by equal columns.

The source is held in memory, the table is read split by split. Rows of both meet by Arrow's hash join. Conditions and
values name the two sides as ROWs: ``target.n`` is the column n of the table, ``source.n`` that of the source.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.alignment import align_batch
from paimon_spark.arrow.predicates.expressions import col
from paimon_spark.arrow.predicates.predicate import TRUE, Predicate, and_
from paimon_spark.arrow.types import arrow_type
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import DataError, SqlError
from paimon_spark.format.options.column_names import parse_columns
from paimon_spark.format.quoting import quoted
from paimon_spark.format.rules.missing_columns import Merging
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import BINARIES, FLOATS, INTEGERS, NESTED, STRINGS, DataField, DataType, Root
from paimon_spark.row_changes import clauses as of_merge
from paimon_spark.row_changes.arrow_values import (
    Assignment,
    Condition,
    Given,
    Scope,
    computed,
    find_field,
    new_rows,
    read_assignments,
)
from paimon_spark.row_changes.attempts import RowChange, run_attempts
from paimon_spark.row_changes.clauses import (
    Action,
    When,
    check_clauses,
    check_deletions,
    deletes_all_matched,
    inserts_only,
)
from paimon_spark.row_changes.read_table import ReadTable
from paimon_spark.row_changes.result import Outcome, RowChangeResult
from paimon_spark.row_changes.source_values import SourceValues, has_order
from paimon_spark.row_changes.update_rules import DELETE, INSERT, UPDATE, delete_rules, insert_rules, update_rules
from paimon_spark.row_changes.written_here import Changed, Changes, Found, write_appended, write_keyed
from paimon_spark.sql.queries.conjuncts import equalities
from paimon_spark.sql.text.cursor import column_path
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rows.change_strategies import (
    ChangeStrategy,
    Statement,
    change_strategy,
    check_column_files,
    ids_to_keep,
    moves_rows,
    place_columns,
)
from paimon_spark.writes.end_write import one_process
from paimon_spark.writes.evolved_table import merged_table
from paimon_spark.writes.row_columns import ArrowColumns
from paimon_spark.writes.write_job import Evolution

Clause: TypeAlias = of_merge.Clause[Given]
Numbers: TypeAlias = npt.NDArray[np.int64]
V = TypeVar("V")
_COMPARES = re.compile(r"[=<>!()]")
_JOINED_BYTES = 1 << 28  # of rows of the table that meet the source at once


@dataclass(frozen=True)
class Merge:
    """A MERGE.

    Attributes:
        change: the table.
        alias, source_alias: the names of the two sides.
        source: the rows that come.
        condition: equal columns: SQL text such as ``target.id = source.id``, or names that both sides have, as a list
            or one text with commas.
        clauses: what becomes of the rows.
        merging: what the columns of the source may do to the schema of the table; None: nothing.
    """

    change: RowChange
    alias: str
    source: pa.Table
    source_alias: str
    condition: str | Sequence[str]
    clauses: Sequence[Clause]
    merging: Merging | None = None

    @property
    def what(self) -> str:
        """For messages."""
        return f"MERGE INTO {self.change.name}"


def merge_here(merge: Merge) -> RowChangeResult:
    """Does the MERGE.

    Raises:
        SqlError: no clause, an unknown column, a column assigned twice or of the primary key; or the condition is more
            than equal columns.
        SchemaError: the columns of the table cannot become what the source needs.
        PredicateError: a condition or a value of a clause does not fit the columns.
        DataError: a value cannot be stored in its column, the merge engine would not apply it, or several rows of the
            source match one row of the table.
        UnsupportedFeature: rows of this table cannot be merged.
        CommitConflict: other jobs changed the same rows in every attempt; nothing was committed.
        CommitStateUnknown: the storage did not answer; nothing was deleted.
    """
    check_clauses(merge.clauses, merge.what)
    if merge.alias.lower() == merge.source_alias.lower():
        raise SqlError(f"{merge.what}: both sides are called {merge.alias}; give the source another name")
    words = [merge.condition] if isinstance(merge.condition, str) else merge.condition
    given = computed(words, (item for clause in merge.clauses for item in clause.expressions))
    change = replace(merge.change, inserts_only=inserts_only(merge.clauses), expressions=given)

    def write(read: ReadTable) -> Outcome:
        return _Merging(merge, _evolved(read, merge)).write()

    return run_attempts(change, one_process, write)


def _evolved(read: ReadTable, merge: Merge) -> ReadTable:
    """The table with the columns that the source brings; the same if it has them. Nothing is published yet.

    With a clause that assigns all columns by name, all columns of the source count, else those that clauses assign and
    the table lacks (Java: MergeSchemaEvolutionHelper).

    Raises:
        SchemaError: the columns cannot become what the source needs.
    """
    if merge.merging is None:
        return read
    scoped = [clause for clause in merge.clauses if clause.when is not When.NOT_MATCHED_BY_SOURCE]
    before, schema = read.table.schema, merge.source.schema
    if not any(clause.is_star for clause in scoped):
        known = {name.lower() for name in before.names}
        paths = [column_path(key) for clause in scoped for key in clause.values or {}]
        names = {path[-1].lower() for path in paths if len(path) == 1 or path[:-1] == (merge.alias,)}
        schema = pa.schema([field for field in schema if field.name.lower() in names - known])
    table = merged_table(read.table, ArrowColumns(schema), merge.merging)
    return read if table.schema is before else replace(read, table=table, evolution=Evolution(before))


class _Merging:
    """One attempt of a MERGE, on one state of the table."""

    def __init__(self, merge: Merge, read: ReadTable) -> None:
        table = read.table
        self._merge, self._read, self._table, self._what = merge, read, table, merge.what
        self._strategy = change_strategy(table, Statement.MERGE, inserts_only(merge.clauses))
        self._keyed = self._strategy is ChangeStrategy.ROWS_WITH_KINDS
        check_deletions(table, merge.clauses)
        self._source_fields = _source_fields(merge.source.schema, table.schema.fields)
        self._source = _one_batch(merge.source, self._source_fields)
        self._pairs = _pairs(merge, table, self._source_fields)
        self._keys = [_compared(self._source.column(theirs.name), mine.type) for mine, theirs in self._pairs]
        self._matched = np.zeros(self._source.num_rows, np.bool_)
        self._actions = [self._action(clause) for clause in merge.clauses]

    def write(self) -> Outcome:
        """Finds the rows that change, and writes them."""
        updated = [item.field.name for action in self._of(Action.UPDATE) for item in action.given]
        if self._strategy is ChangeStrategy.COLUMN_FILES:
            check_column_files(self._table, Statement.MERGE, updated)
        moves = not self._keyed and moves_rows(self._table, updated)
        fields = (*self._table.schema.fields, *ids_to_keep(self._table, self._strategy, moves))
        values = None if self._keyed else [item.value for action in self._actions for item in action.given]
        conditions = [action.condition for action in self._actions]
        found = Found.of(self._read, fields, self._predicate(), values, conditions)
        if self._keyed:
            rules = {
                UPDATE: update_rules(self._table, updated),
                DELETE: delete_rules(self._table),
                INSERT: insert_rules(self._table),
            }
            return write_keyed(found, self._changes(found), rules)
        return write_appended(found, self._changes(found), self._strategy, moves, updated)

    def _changes(self, found: Found) -> Changes:
        for batches in found.batches(placed=not self._keyed):
            yield [item for rows in _joined_batches(batches) for item in self._of_rows(rows)]
        yield list(self._inserts())

    def _of_rows(self, target: pa.RecordBatch) -> Iterator[Changed]:
        """What becomes of rows of the table."""
        mine, theirs = _equal_rows([_compared(target.column(f.name), f.type) for f, _ in self._pairs], self._keys)
        self._matched[theirs] = True
        if self._for(When.MATCHED):
            mine, theirs = self._one_each(target, mine, theirs)
            old = target.take(pa.array(mine))
            both = {self._merge.alias: self._columns(old), self._merge.source_alias: self._taken(theirs)}
            yield from self._applied(When.MATCHED, _joined(both), old)
        if self._for(When.NOT_MATCHED_BY_SOURCE):
            alone = target.filter(pa.array(~np.isin(np.arange(target.num_rows), mine)))
            yield from self._applied(
                When.NOT_MATCHED_BY_SOURCE, _joined({self._merge.alias: self._columns(alone)}), alone
            )

    def _one_each(self, target: pa.RecordBatch, mine: Numbers, theirs: Numbers) -> tuple[Numbers, Numbers]:
        """The pairs of rows, of which each row of the table is in one.

        Raises:
            DataError: a row is in several, and it matters in which.
        """
        rows, first = np.unique(mine, return_index=True)
        if len(rows) < len(mine) and not deletes_all_matched(self._merge.clauses):
            repeated = mine[np.setdiff1d(np.arange(len(mine)), first)[0]]
            raise _several(self._what, "match the row", self._columns(target).slice(int(repeated), 1), " of the target")
        return rows, theirs[first]

    def _inserts(self) -> Iterator[Changed]:
        """The rows of the source that match none."""
        if not self._for(When.NOT_MATCHED):
            return
        numbers = np.flatnonzero(~self._matched)
        rows = self._taken(numbers)
        for item in self._applied(When.NOT_MATCHED, _joined({self._merge.source_alias: rows}), None):
            self._check_keys(item.new)
            yield item

    def _check_keys(self, rows: pa.RecordBatch | None) -> None:
        """Refuses new rows of one key, where the key is what the two sides are compared by: one of them would be lost.

        Raises:
            DataError: there are such rows.
        """
        unique = self._table.unique_names if self._keyed else ()
        if rows is None or not unique or not {*unique} <= {mine.name for mine, _ in self._pairs}:
            return
        keys = [*unique]
        counts = pa.Table.from_batches([rows.select(keys)]).group_by(keys).aggregate([([], "count_all")])
        repeated = counts.filter(pc.field("count_all") > 1).select(keys)
        if repeated.num_rows:
            raise _several(self._what, "have the key", repeated)

    def _columns(self, target: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of the table without their places and ids."""
        return target.select(self._table.schema.names)

    def _taken(self, numbers: Numbers) -> pa.RecordBatch:
        return self._source.take(pa.array(numbers))

    # ----------------------------------------------------------------------------------------------------- the clauses

    def _for(self, when: When) -> list[_Action]:
        return [action for action in self._actions if action.clause.when is when]

    def _of(self, kind: Action) -> list[_Action]:
        return [action for action in self._actions if action.clause.action is kind]

    def _applied(self, when: When, rows: pa.RecordBatch, old: pa.RecordBatch | None) -> Iterator[Changed]:
        """What the clauses make of rows, each by the first whose condition is true.

        Args:
            rows: the sides that the clauses may name.
            old: the rows of the table; None: there are none.
        """
        left = np.ones(rows.num_rows, np.bool_)
        for action in self._for(when):
            holds = action.condition.mask(rows).fill_null(False).to_numpy(zero_copy_only=False) & left
            left &= ~holds
            chosen = pa.array(holds)
            mine, before = rows.filter(chosen), None if old is None else old.filter(chosen)
            if not mine.num_rows:
                continue
            if action.clause.action is Action.DELETE:
                yield Changed(DELETE, before, None)
            else:
                new = new_rows(self._table.schema.fields, action.given, mine, before, self._zone)
                yield Changed(INSERT if before is None else UPDATE, before, new)

    @property
    def _zone(self) -> TimeZone | None:
        return self._table.time_zone

    def _action(self, clause: Clause) -> _Action:
        """A clause with its expressions read.

        Raises:
            SqlError: a column is unknown, missing in the source, or part of the primary key.
            PredicateError: an expression does not fit the sides that it may name.
        """
        sides = {
            When.MATCHED: (self._merge.alias, self._merge.source_alias),
            When.NOT_MATCHED: (self._merge.source_alias,),
            When.NOT_MATCHED_BY_SOURCE: (self._merge.alias,),
        }[clause.when]
        fields = {self._merge.alias: self._table.schema.fields, self._merge.source_alias: self._source_fields}
        scope = Scope(_scope_fields({name: fields[name] for name in sides}), self._zone, self._what)
        condition = Condition.read(clause.condition, scope)
        if clause.action is Action.DELETE:
            return _Action(clause, condition, ())
        values = self._by_name() if clause.values is None else clause.values
        given = read_assignments(self._table.schema.fields, values, scope, [self._merge.alias])
        return _Action(clause, condition, given if clause.action is Action.INSERT else self._changing(clause, given))

    def _by_name(self) -> Mapping[str, Given]:
        """All columns of the table, from those of the source with their names; with schema evolution those that it has.

        Raises:
            SqlError: the source lacks one, or has two that differ by letter case only.
        """
        found: dict[str, Given] = {}
        names = [field.name for field in self._source_fields]
        for field in self._table.schema.fields:
            alike = [name for name in names if name == field.name] or [
                name for name in names if name.lower() == field.name.lower()
            ]
            if not alike and self._merge.merging is not None:
                continue  # it keeps its value, or has none in a new row
            if len(alike) != 1:
                problem = "several columns" if alike else "no column"
                raise SqlError(
                    f"{self._what}: the source has {problem} '{field.name}', which is to get the value of its column "
                    f"of that name; it has {', '.join(names)}. Name the columns to assign, or let the schema evolve "
                    "with with_schema_evolution()"
                )
            found[quoted(field.name)] = col(self._merge.source_alias, alike[0])
        return found

    def _changing(self, clause: Clause, given: Sequence[Assignment]) -> list[Assignment]:
        """The assignments of an UPDATE without those that change nothing: where a row lies is compared already."""
        keys = self._table.schema.primary_keys
        fixed = place_columns(self._table).union(keys)
        pairs = {(mine.name, theirs.name) for mine, theirs in self._pairs} if clause.when is When.MATCHED else set()
        kept = []
        for item in given:
            name, path = item.field.name, item.value.path or ()
            is_compared = path[:1] == (self._merge.source_alias,) and (name, path[-1]) in pairs and len(path) == 2
            if not item.inner and name in fixed and is_compared:
                continue
            if name in keys:
                if not item.inner and path == (self._merge.alias, name):
                    continue
                raise SqlError(
                    f"{self._what}: '{name}' belongs to the primary key and cannot be updated; leave it out, or "
                    f"compare it with the value in the condition of the MERGE: {self._merge.alias}.{name} = "
                    f"{self._merge.source_alias}.{name}"
                )
            kept.append(item)
        return kept

    def _predicate(self) -> Predicate:
        """What rows of the table must satisfy to match. With clauses for rows that do not match, all matter."""
        if self._for(When.NOT_MATCHED_BY_SOURCE):
            return TRUE
        pairs = zip(self._pairs, self._keys, strict=True)
        known = ((mine, SourceValues.of(keys)) for (mine, _), keys in pairs if has_order(mine))
        return and_(*(values.predicate(self._table, mine) for mine, values in known))


@dataclass(frozen=True)
class _Action:
    """A clause, with its condition and its assignments read."""

    clause: Clause
    condition: Condition
    given: Sequence[Assignment]


# ------------------------------------------------------------------------------------------------------ the two sides


def _source_fields(schema: pa.Schema, known: Sequence[DataField]) -> tuple[DataField, ...]:
    """The columns of a source. One that holds nothing but NULL has the type of the table's column of that name."""
    types = {field.name.lower(): arrow_type(field.type) for field in known}
    untyped = ArrowColumns(schema).untyped
    typed = [f.with_type(types.get(f.name.lower(), pa.string())) if f.name in untyped else f for f in schema]
    return tuple(ArrowColumns(pa.schema(typed)).fields())


def _joined_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches in larger ones: for each the rows of the source are hashed once more."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(part.nbytes for part in held) >= _JOINED_BYTES:
            yield pa.concat_batches(held)
            held = []
    if held:
        yield pa.concat_batches(held)


def _one_batch(source: pa.Table, fields: Sequence[DataField]) -> pa.RecordBatch:
    """The rows of the source in the types of columns of a table."""
    batches = source.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=source.schema)]
    return pa.concat_batches([align_batch(batch, fields) for batch in batches])


def _joined(sides: Mapping[str, pa.RecordBatch]) -> pa.RecordBatch:
    """Rows as expressions see them: each side as a ROW, then the columns whose names one side alone has."""
    rows = {name: pa.StructArray.from_arrays(side.columns, fields=list(side.schema)) for name, side in sides.items()}
    plain = _plain({name: dict(zip(side.schema.names, side.columns, strict=True)) for name, side in sides.items()})
    return pa.RecordBatch.from_arrays([*rows.values(), *plain.values()], names=[*rows, *plain])


def _scope_fields(sides: Mapping[str, Sequence[DataField]]) -> list[DataField]:
    """The columns of ``_joined``."""
    rows = [DataField(0, name, DataType(Root.ROW, nullable=False, fields=tuple(f))) for name, f in sides.items()]
    return [*rows, *_plain({name: {f.name: f for f in fields} for name, fields in sides.items()}).values()]


def _plain(sides: Mapping[str, Mapping[str, V]]) -> dict[str, V]:
    """The columns whose names, in any letter case, no other column and no side has."""
    counts = Counter(name.lower() for columns in sides.values() for name in columns)
    counts.update(name.lower() for name in sides)
    return {name: column for columns in sides.values() for name, column in columns.items() if counts[name.lower()] == 1}


def _pairs(merge: Merge, table: Table, source: Sequence[DataField]) -> list[tuple[DataField, DataField]]:
    """The columns of the table and of the source that are equal in rows that match.

    Raises:
        SqlError: the condition says something else, or names an unknown column.
        DataError: two columns cannot be compared without a loss.
    """
    if isinstance(merge.condition, str) and _COMPARES.search(merge.condition):
        found, is_all = equalities(merge.condition)
        names = [_sides(merge, left, right) for left, right in found]
        if not is_all or None in names:
            raise SqlError(
                f"{merge.what}: the condition {merge.condition!r:.200} is more than columns that are equal, joined by "
                f"AND, such as {merge.alias}.id = {merge.source_alias}.id: the table is called {merge.alias} in it, "
                f"and the rows {merge.source_alias}. Put other conditions into the clauses, or merge in a session of "
                "Spark"
            )
        pairs = [pair for pair in names if pair is not None]
    else:
        given = merge.condition
        pairs = [(name, name) for name in (parse_columns(given) if isinstance(given, str) else given)]
    if not pairs:
        raise SqlError(f"{merge.what}: no column is compared; name those that are equal in rows that match")
    made = [(find_field(table.schema.fields, a, merge.what), find_field(source, b, merge.what)) for a, b in pairs]
    for mine, theirs in made:
        if not _is_comparable(mine.type, theirs.type):
            raise DataError(
                f"{merge.what}: the column '{mine.name}' of the table is {type_sql(mine.type)}, '{theirs.name}' of the "
                f"source is {type_sql(theirs.type)}, and no value of one is compared with the other; cast the source "
                "first"
            )
    return made


def _sides(merge: Merge, left: Sequence[str], right: Sequence[str]) -> tuple[str, str] | None:
    """The column of the table and that of the source; None: they are of one side, or of none."""
    if len(left) != 2 or len(right) != 2:
        return None
    sides = {left[0].lower(): left[1], right[0].lower(): right[1]}
    if sides.keys() != {merge.alias.lower(), merge.source_alias.lower()}:
        return None
    return sides[merge.alias.lower()], sides[merge.source_alias.lower()]


def _is_comparable(mine: DataType, theirs: DataType) -> bool:
    """True if equal values of both types are the same value of the type of the table."""
    if mine.root in INTEGERS or mine.root in STRINGS or mine.root in BINARIES:
        return any({mine.root, theirs.root} <= kinds for kinds in (INTEGERS, STRINGS, BINARIES))
    if mine.root is not theirs.root or mine.root in NESTED | {Root.VARIANT, Root.BLOB}:
        return False
    return (theirs.scale or 0) <= (mine.scale or 0) and (
        mine.root is Root.DECIMAL or (theirs.precision or 0) <= (mine.precision or 0)
    )


def _compared(values: pa.Array, target: DataType) -> pa.Array:
    """Values in a form in which equal ones have equal bytes.

    Args:
        target: the type of the column of the table.
    """
    root = target.root
    if root in INTEGERS:
        return values.cast(pa.int64())
    if root is Root.CHAR:
        return pc.utf8_rpad(values, target.length or 1)
    if root in FLOATS:  # -0.0 equals 0.0, and NaN is one value
        plain = pc.add(values, pa.scalar(0.0, values.type))
        return pc.if_else(pc.is_nan(plain), pa.scalar(math.nan, values.type), plain)
    return values.cast(pa.decimal128(38, target.scale or 0) if root is Root.DECIMAL else arrow_type(target))


def _equal_rows(mine: Sequence[pa.Array], theirs: Sequence[pa.Array]) -> tuple[Numbers, Numbers]:
    """The numbers of rows of both sides whose values are equal, ordered by the first ones; NULL equals nothing."""
    keys = [str(number) for number in range(len(mine))]
    sides = [
        pa.table([*columns, pa.array(np.arange(len(columns[0])))], names=[*keys, side])
        for side, columns in (("mine", mine), ("theirs", theirs))
    ]
    pairs = sides[0].join(sides[1], keys, join_type="inner", use_threads=False)
    left, right = (pairs.column(side).to_numpy() for side in ("mine", "theirs"))
    order = np.lexsort((right, left))
    return left[order], right[order]


def _several(what: str, verb: str, rows: pa.Table | pa.RecordBatch, rest: str = "") -> DataError:
    """The error of several rows of the source that, as verb says, "match the row" which comes first."""
    shown = json.dumps(rows.slice(0, 1).to_pylist()[0], default=str)
    return DataError(
        f"{what}: several rows of the source {verb} {shown}{rest}, so it is not clear which one counts; make the "
        "source have one row for each"
    )
