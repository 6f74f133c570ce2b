"""Lives of tables in which genuine Java and we write, delete, update, merge and alter in turns.

After every step both readers see the rows that a naive model has, and the checker finds nothing. The changelog of the
whole life, replayed, leads to the rows too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

import java_changes
import java_dynamic
import java_rows
import our_engine
import pytest
from genuine import NO_OPTIONS, Genuine
from genuine_spark import GenuineSpark
from pyspark.errors import PySparkException
from readers import java_read
from row_doors import ByMethods, Door, merge_statement, of_source, of_spark, sql_rows
from row_tables import Kind, draw_table
from support.draws.row_merges import clauses_of, compared, drawn_steps, match_of, merge_changes
from support.draws.row_pieces import MAP, Piece, drawn_condition, drawn_value, limit_of
from support.oracles.checker import check_table
from support.oracles.comparing import Row
from support.oracles.naive_table import Change, Lost, NaiveTable, Role, Values

from paimon_spark import open_table
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.type_text import parse_type
from paimon_spark.row_changes.clauses import Action
from paimon_spark.store.evolution import changes as c
from paimon_spark.store.rescale.postpone_compact import compact_postponed

FAILURES_AT_LIMITED = (
    "MISSING_ATTRIBUTES",
    "INTERNAL_ERROR_ATTRIBUTE_NOT_FOUND",
    "source is missing this column",  # UPDATE SET *, of a source that has the column
    "`__paimon_file_path` cannot be resolved",
    "Logical plan should not have output of char/varchar type",
)
"""How the official connector fails at many changes of rows of tables with columns of CHAR(n) and VARCHAR(n)."""
WRITE_ONLY = {"write-only": "true"}


class RowHistory:
    """One table and what was done to it; log is shown when something is wrong."""

    def __init__(
        self, seed: int, kind: Kind, path: str, java: Genuine, door: Door, official: GenuineSpark | None = None
    ) -> None:
        self.random = Random(f"{kind.name} {seed}")
        self.path, self.java, self.door, self.official = path, java, door, official
        self.table = draw_table(self.random, kind)
        self.model: NaiveTable = self.table.model
        self.log: list[str] = []
        self.done: Counter[str] = Counter()
        self.altered = 0
        self.is_truncated = False

    def run(self, rounds: int) -> None:
        maker: Any = self.random.choice([our_engine, self.java])
        table = self.table
        self._note(f"create {table.types} keys {table.keys} partitions {table.partitions} {table.options}")
        self._note(f"Java writes blanks: {not table.is_foreign}")
        maker.create(self.path, table.stored_types, table.keys, table.partitions, table.options)
        if self.random.random() < 0.8:
            self.random.choice((self._java_writes, self._we_write))()
        for _ in range(rounds):
            for deed in (self.random.choice(self._java_deeds()), self._alter, self._we_write, self._change_rows):
                if deed not in (self._alter, self._we_write) or self.random.random() < 0.3:
                    deed()
                    self._apply_deletions()
                    self.check()
        if table.producer != "none" and not self.is_truncated:
            self.check_changelog()

    def _apply_deletions(self) -> None:
        """Where rows of a key are merged column by column, a deletion must meet the rows that it deletes first.

        A compaction of a deletion with a later row alone makes a row that deletes nothing, in Java as here: columns
        that are NULL in it would then show the values of before the deletion.
        """
        kind = self.table.kind
        if kind.engine in ("partial-update", "aggregation") and kind.removes and self.table.options["bucket"] != "-2":
            our_engine.compact(self.path, full=True)

    def check(self) -> None:
        """Both readers see the rows of the model, and the table is sound."""
        ours, model = _each(self._told, our_engine.read(self.path)), self.model.counted(self._names)
        theirs = _each(self._told, java_read(self.java, self.path))
        assert theirs == ours, f"only in Java: {list(theirs - ours)}; only in ours: {list(ours - theirs)}"
        assert ours == model, f"only in the table: {list(ours - model)}; only in the model: {list(model - ours)}"
        found = _each(self._told, self.door.read())
        expected = model if isinstance(self.door, ByMethods) else _each(self._shown, model)
        assert found == expected, f"only found: {list(found - expected)}; only expected: {list(expected - found)}"
        check_table(self.path)

    def check_changelog(self) -> None:
        """The changelog of all snapshots, as Java streams it, leads to the rows."""
        if self.table.producer in ("lookup", "full-compaction"):
            our_engine.compact(self.path, full=True)
            self.check()
        table = self.table
        state = NaiveTable(table.keys, table.kind.engine, dict(self.model.roles))
        strict = table.producer != "input"
        for kind, row in self.java.run(java_rows.streamed_changelog, self.path, 1):
            values = self._values(row)
            self._note(f"changelog: {kind} {values}")
            if not strict:
                state.put(values, kind)
            elif kind in ("-U", "-D"):
                state.rows.remove(values)
            else:
                assert not any(all(values[k] == other[k] for k in table.keys) for other in state.rows), (kind, row)
                state.rows.append(values)
        replayed, model = state.counted(self._names), self.model.counted(self._names)
        told = f"only in the changelog: {list(replayed - model)}; only in the model: {list(model - replayed)}"
        assert replayed == model, told

    # ------------------------------------------------------------------------------------------------------- Java

    def _java_deeds(self) -> list[Callable[[], None]]:
        deeds = [self._java_writes, self._java_writes, self._java_compacts]
        if self.table.kind.engine == "append":
            return [*deeds, self._java_changes_files, self._java_changes_files, *self._official_deeds()]
        deletes = [self._java_deletes] if self.table.kind.removes else []
        updates = [self._java_updates] if self.table.kind.engine == "deduplicate" else []
        return [*deeds, *deletes, *updates, *self._official_deeds()]

    def _java_writes(self) -> None:
        rows = self.table.rows_of_java(self.random, self.random.randint(1, 6))
        self._java_puts(rows, ["+I"] * len(rows))

    def _java_deletes(self) -> None:
        condition = self._condition()
        rows = [row for row in self.model.rows if condition.of(row, {})]
        self._java_puts(rows, ["-D"] * len(rows))

    def _java_updates(self) -> None:
        condition, sets = self._condition(), self._sets()
        rows = [
            {**row, **{name: piece.of(row, {}) for name, piece in sets.items()}}
            for row in self.model.rows
            if condition.of(row, {})
        ]
        self._java_puts(rows, ["+U"] * len(rows))

    def _java_puts(self, rows: Sequence[Values], kinds: Sequence[str]) -> None:
        if not rows:
            return
        values, options = self._tuples(rows), NO_OPTIONS
        if self.table.kind.is_across:
            self.java.run(java_dynamic.write_cross_partition, self.path, self._by_name(rows, "kpv"), kinds)
        else:
            if not self.table.hides_new_files and self.random.random() < 0.4:
                options = WRITE_ONLY
            self.java.write(self.path, values, kinds, options)
        self._note(f"Java writes {dict(options)} {list(zip(kinds, rows, strict=True))}")
        self._moves_postponed()
        for row, kind in zip(rows, kinds, strict=True):
            self.model.put(row, kind)

    def _java_compacts(self) -> None:
        if self.java.files(self.path) and self.table.options["bucket"] != "-2":
            full = self.model.keys == () or self.random.random() < 0.5
            self._note(f"Java compacts, full: {full}")
            self.java.compact(self.path, full)

    def _java_changes_files(self) -> None:
        """DELETE or UPDATE of an append table: copied files, or vectors and new rows."""
        condition, sets = self._condition(), self.random.choice(({}, self._sets()))
        self._note(f"Java changes {condition.sql}: { {name: piece.sql for name, piece in sets.items()} }")
        files = self.java.run(java_rows.rows_by_file, self.path)
        chosen: dict[str, list[int]] = {}
        for name, rows in files.items():
            places = [n for n, row in enumerate(rows) if condition.of(self._values(row), {})]
            chosen |= {name: places} if places else {}
        changes = self.model.deleted(lambda row: condition.of(row, {}))
        if sets:
            changes = self.model.updated(lambda row: condition.of(row, {}), _on_target(sets))
        new = self._tuples([change.after for change in changes if change.after is not None])
        if self.table.has_vectors:
            if chosen:
                self.java.delete_positions(self.path, chosen)
            if new:
                self.java.write(self.path, new, options=WRITE_ONLY)
        elif chosen:
            kept = [row for name, at in chosen.items() for n, row in enumerate(files[name]) if n not in at]
            self.java.run(java_rows.rewrite_files, self.path, list(chosen), [*kept, *new])
        self.model.change(changes)

    def _official_deeds(self) -> list[Callable[[], None]]:
        """Statements of the official connector for Spark."""
        kind = self.table.kind
        if self.official is None or self.table.options["bucket"] == "-2" or (kind.is_across and not kind.limited):
            return []
        updates = [self._official_updates] if kind.engine not in ("aggregation", "first-row") else []
        inserts = [self._official_inserts] * 2 if kind.limited else []
        merges = [self._official_merges] if kind.limited and updates and kind.removes else []
        if self.table.is_foreign or kind.is_across:
            return inserts  # in foreign tables its changes of rows would add blanks to keys
        return [*([self._official_deletes] if kind.removes else []), *updates, *inserts, *merges] * 2

    def _official_inserts(self) -> None:
        rows = self.table.rows(self.random, self.random.randint(1, 6))
        changes = [Change(None, row) for row in rows]
        query = sql_rows(self.table.given(self.random, rows), self._columns)
        self._official_runs(f"INSERT INTO {{table}} {query}", changes)

    def _official_merges(self) -> None:
        on = self.table.keys or ("k",)
        rows = self.table.rows(self.random, self.random.randint(1, 5), on)
        steps = drawn_steps(self.random, self.table.types, self.table.settable)
        try:
            changes = merge_changes(self.model, rows, steps, on, self.table.shown)
        except Lost:
            return
        query = sql_rows(self.table.given(self.random, rows, compared(steps, on)), self._columns)
        self._official_runs(merge_statement("{table}", f"({query})", match_of(on), clauses_of(steps)), changes)

    def _official_deletes(self) -> None:
        """Where Spark finds a condition to be always true, the connector truncates the table: no changelog has the rows
        then, and none is made of them later, `delete.force-produce-changelog` or not."""
        condition = self._condition()
        try:
            changes = self.model.deleted(lambda row: condition.of(row, {}))
        except Lost:
            return
        self._official_runs(f"DELETE FROM {{table}} AS t WHERE {condition.sql}", changes)
        latest = open_table(self.path).snapshots.latest()
        self.is_truncated |= latest is not None and latest.operation == "TRUNCATE"

    def _official_updates(self) -> None:
        condition, sets = self._condition(), self._sets()
        try:
            changes = self.model.updated(lambda row: condition.of(row, {}), _on_target(sets))
        except Lost:
            return
        given = ", ".join(f"t.{name} = {piece.sql}" for name, piece in sets.items())
        self._official_runs(f"UPDATE {{table}} AS t SET {given} WHERE {condition.sql}", changes)

    def _official_runs(self, statement: str, changes: Sequence[Change]) -> None:
        assert self.official is not None
        self._note(f"the official connector: {statement}")
        try:
            self.official.run(statement, self.path)
        except RuntimeError as error:
            is_limited = any(limit_of(kind) is not None for kind in self.table.types.values())
            if is_limited and any(text in str(error) for text in FAILURES_AT_LIMITED):
                self.done["official failed"] += 1
                return
            raise
        self.done["official"] += 1
        self.model.change(changes)

    # --------------------------------------------------------------------------------------------------------- ours

    def _we_write(self) -> None:
        rows = self.table.rows(self.random, self.random.randint(1, 6))
        self._note(f"we write {rows}")
        given = self.table.given(self.random, rows)
        self.door.write(self._tuples(given), self._columns)
        self._moves_postponed()
        if self.table.hides_new_files:
            our_engine.compact(self.path, full=False)
        for row in rows:
            self.model.put(row)

    def _change_rows(self) -> None:
        self.random.choice((self._delete, self._delete, self._update, self._update, self._merge))()

    def _delete(self) -> None:
        condition = self._condition()
        self._note(f"we delete {condition.sql}")
        try:
            changes = self.model.deleted(lambda row: condition.of(row, {}))
        except Lost as reason:
            if not self._is_of_files(condition):
                self._note(f"refused: {reason}")
                self._expect(DataError, "NULL", lambda: self.door.delete(condition.sql))
            return
        count = self.door.delete(condition.sql)
        self.done["DELETE"] += 1
        if not self._is_of_files(condition):
            assert count == len(changes)
        self.model.change(changes)

    def _update(self) -> None:
        condition, sets = self._condition(), self._sets()
        given = {name: piece.sql for name, piece in sets.items()}
        self._note(f"we update {condition.sql}: {given}")
        if self.table.kind.engine in ("aggregation", "first-row"):
            self._expect(UnsupportedFeature, "cannot be updated", lambda: self.door.update(condition.sql, given))
            return
        try:
            changes = self.model.updated(lambda row: condition.of(row, {}), _on_target(sets))
        except Lost as reason:
            self._note(f"refused: {reason}")
            self._expect(DataError, "sequence|NULL", lambda: self.door.update(condition.sql, given))
            return
        count = self.door.update(condition.sql, given)
        self.done["UPDATE"] += 1
        assert count == len(changes)
        self.model.change(changes)

    def _merge(self) -> None:
        on = self.table.keys or ("k",)
        rows = self.table.rows(self.random, self.random.randint(1, 5), on)
        steps = drawn_steps(self.random, self.table.types, self.table.settable)
        self._note(f"we merge {rows}: {[step.clause for step in steps]}")
        schema = ", ".join(f"{name} {of_source(kind)}" for name, kind in self.table.types.items())
        given = self.table.given(self.random, rows, compared(steps, on))
        source = self.door.spark.createDataFrame([tuple(map(of_spark, row.values())) for row in given], schema)
        merge = partial(self.door.merge, source, match_of(on), clauses_of(steps))
        deletes = any(step.clause.action is Action.DELETE for step in steps)
        updates = any(step.clause.action is not Action.INSERT for step in steps)
        refused = updates and self.table.kind.engine in ("aggregation", "first-row")
        if refused or (deletes and not self.table.kind.removes):
            self._expect(UnsupportedFeature, "cannot be updated|does not remove", merge)
            return
        try:
            changes = merge_changes(self.model, rows, steps, on, self.table.shown)
        except Lost as reason:
            self._note(f"refused: {reason}")
            self._expect(DataError, "sequence|NULL", merge)
            return
        merge()
        self.done["MERGE"] += 1
        self.model.change(changes)

    def _expect(self, error: type[Exception], text: str, call: Callable[[], object]) -> None:
        """A refusal leaves the table as it is. Spark shows ours as errors of its own."""
        self.done["refused"] += 1
        with pytest.raises(error if isinstance(self.door, ByMethods) else PySparkException, match=text):
            call()

    # ------------------------------------------------------------------------------------------------------- schemas

    def _alter(self) -> None:
        if self.table.kind.is_across:
            return
        change = self._drawn_change()
        by_us = self.random.random() < 0.5 or self._is_refused_by_java(change)
        self._note(f"{'we' if by_us else 'Java'}: {change}")
        if by_us:
            self.door.alter(change)
        else:
            told = self.java.run(java_changes.alter_all, [(self.path, (change,))])
            assert told == [None], told
        self.done["ALTER"] += 1

    def _is_refused_by_java(self, change: c.SchemaChange) -> bool:
        """Java's rename leaves this option as it is, and then finds it wrong."""
        named = self.table.options.get("partial-update.remove-record-on-sequence-group")
        return isinstance(change, c.RenameColumn) and change.path == (named,)

    def _drawn_change(self) -> c.SchemaChange:
        """A change, that the model has made."""
        types, roles = self.table.types, self.model.roles
        self.altered += 1
        plain = [name for name in self.table.free if roles[name] is Role.PLAIN]
        numbers = [name for name in self.table.free if types[name] == "INT" and roles[name] in (Role.PLAIN, Role.SUM)]
        match self.random.choice(("add", "add", "rename", "drop", "type")):
            case "rename":
                old, new = self.random.choice(self.table.free), f"r{self.altered}"
                types[new] = types.pop(old)
                self.model.rename(old, new)
                return c.RenameColumn((old,), new)
            case "drop" if len(plain) > 1:
                name = self.random.choice(plain)
                del types[name]
                self.model.drop(name)
                return c.DropColumn((name,))
            case "type" if numbers:
                name = self.random.choice(numbers)
                types[name] = "BIGINT"
                return c.UpdateType((name,), parse_type("BIGINT"))
        name, kind = f"c{self.altered}", self.random.choice(("INT", "STRING", "CHAR(5)", "VARCHAR(2)"))
        types[name] = kind
        self.model.add(name)
        position = self.random.choice((None, c.Position(c.Place.FIRST)))
        return c.AddColumn((name,), parse_type(kind), None, position)

    # ------------------------------------------------------------------------------------------------------- helpers

    def _note(self, text: str) -> None:
        self.log.append(f"{len(self.log)}: {text}")

    @property
    def _names(self) -> list[str]:
        return [field.name for field in open_table(self.path).schema.fields]

    @property
    def _columns(self) -> dict[str, str]:
        return {name: self.table.types[name] for name in self._names}

    def _tuples(self, rows: Sequence[Values]) -> list[tuple[Any, ...]]:
        return self._by_name(rows, self._names)

    def _values(self, row: Sequence[Any]) -> Values:
        """A row that Java gives, as the model has it."""
        named = zip(self._names, self._told(row), strict=True)
        maps = [name for name, kind in self.table.types.items() if kind == MAP]
        return {name: frozenset(value) if name in maps and value is not None else value for name, value in named}

    def _told(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """A row that is read. The readers of ORC leave out the blanks at the end of CHAR values."""
        return self._shown(row) if self.table.options["file.format"] == "orc" else tuple(row)

    def _shown(self, row: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(self.table.shown(dict(zip(self._names, row, strict=True))).values())

    def _by_name(self, rows: Sequence[Values], names: Sequence[str]) -> list[Any]:
        return [tuple(row[name] for name in names) for row in rows]

    def _condition(self) -> Piece:
        return drawn_condition(self.random, self.table.types)

    def _sets(self) -> dict[str, Piece]:
        names = self.random.sample(self.table.settable, min(len(self.table.settable), self.random.choice((1, 1, 2))))
        return {name: drawn_value(self.random, self.table.types, name) for name in names}

    def _is_of_files(self, condition: Piece) -> bool:
        """Whether a DELETE counts the rows of files, before equal keys are merged."""
        forced = self.table.options.get("delete.force-produce-changelog") == "true"
        return condition.names <= set(self.table.partitions) and not forced

    def _moves_postponed(self) -> None:
        if self.table.options["bucket"] != "-2":
            return
        by_us = self.random.random() < 0.5
        self._note(f"{'we' if by_us else 'Java'} place postponed rows")
        if by_us:
            compact_postponed(open_table(self.path))
        else:
            self.java.compact_postponed(self.path, 2)


def _each(of: Callable[[Row], Row], rows: Counter[Row]) -> Counter[Row]:
    return Counter(map(of, rows.elements()))


def _on_target(sets: Mapping[str, Piece]) -> dict[str, Callable[[Values], Any]]:
    return {name: _of_target(piece) for name, piece in sets.items()}


def _of_target(piece: Piece) -> Callable[[Values], Any]:
    return lambda row: piece.of(row, {})
