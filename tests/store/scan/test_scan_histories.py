"""Random histories of writes and schema changes, read with random conditions, against a dictionary in memory."""

from __future__ import annotations

import math
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import event, given, settings
from hypothesis import strategies as st
from support.long_runs import examples
from support.oracles.comparing import Row, comparable, comparable_rows
from support.oracles.plain_predicates import order, truth

from paimon_spark import open_table
from paimon_spark.arrow.predicates.predicate import (
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Not,
    Op,
    Or,
    Predicate,
    StartsWith,
)
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table
from paimon_spark.format.schema import TableSchema, encode_schema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.write.table_write import TableWrite

INT, BIGINT, DOUBLE = DataType(Root.INT), DataType(Root.BIGINT), DataType(Root.DOUBLE)
TEXT = DataType(Root.VARCHAR, length=2**31 - 1)
FIELDS = (
    DataField(0, "p", INT.with_nullable(False)),
    DataField(1, "k", INT.with_nullable(False)),
    DataField(2, "v", INT),
    DataField(3, "s", TEXT),
    DataField(4, "f", DOUBLE),
)
VALUES: dict[str, list[Any]] = {
    "p": [1, 2],
    "k": [-1, 0, 1, 2, 3],
    "v": [None, -2, 0, 1, 2**31 - 1],
    "s": [None, "", "a", "ab", "b", "\u00e9"],
    "f": [None, math.nan, 0.0, -0.0, 1.5, math.inf],
    "n": [None, 7],
}

row = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in VALUES.items()})
change = st.tuples(row, st.sampled_from([0, 0, 0, 3]))
step = st.one_of(
    st.tuples(st.just("append"), st.lists(change, min_size=1, max_size=6)),
    st.tuples(st.just("append"), st.lists(change, min_size=1, max_size=6)),
    st.tuples(st.just("overwrite"), st.lists(row, max_size=3)),
    st.tuples(st.just("overwrite partition 1"), st.lists(row, max_size=3)),
    st.tuples(st.just("evolve"), st.just([])),
)


@st.composite
def options(draw: st.DrawFn) -> dict[str, str]:
    chosen = {
        "bucket": draw(st.sampled_from(["1", "3"])),
        "file.format": draw(st.sampled_from(["parquet", "parquet", "avro", "orc"])),
        "metadata.stats-dense-store": draw(st.sampled_from(["true", "false"])),
        "metadata.stats-mode": draw(st.sampled_from(["truncate(1)", "full", "none"])),
        "manifest.merge-min-count": "2",
        "source.split.open-file-cost": "1 b",
        "source.split.target-size": draw(st.sampled_from(["1 b", "1 mb"])),
    }
    if draw(st.booleans()):
        chosen["data-file.thin-mode"] = "true"
    if draw(st.booleans()):
        chosen["sequence.field"] = draw(st.sampled_from(["v", "s", "v,s"]))
    return chosen


def leaves(name: str) -> st.SearchStrategy[Predicate]:
    column, known = (name,), [value for value in VALUES[name] if value is not None]
    value = st.sampled_from(known)
    found: list[st.SearchStrategy[Predicate]] = [
        st.builds(Compare, st.just(column), st.sampled_from([op for op in Op if op is not Op.NULL_SAFE_EQ]), value),
        st.builds(lambda v: Compare(column, Op.EQ, v), value),
        st.builds(lambda vs, n: In(column, tuple(vs), n), st.lists(value, min_size=1, max_size=3), st.booleans()),
        st.just(IsNull(column)),
        st.just(IsNotNull(column)),
    ]
    if name == "s":
        found.append(st.builds(lambda v: StartsWith(column, v), value))
    return st.one_of(found)


conditions = st.recursive(
    st.sampled_from(["p", "k", "v", "s", "f"]).flatmap(leaves),
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(lambda *parts: And(parts), inner, inner),
        st.builds(lambda *parts: Or(parts), inner, inner),
    ),
    max_leaves=5,
)


@dataclass
class Model:
    """What the table must hold: rows by key, or a list of rows."""

    has_key: bool
    sequence: tuple[str, ...] = ()
    rows: dict[Any, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    count: int = 0

    def add(self, new: dict[str, Any], kind: int) -> None:
        self.count += 1
        key = (new["p"], new["k"]) if self.has_key else self.count
        old = self.rows.get(key)
        if old is None or self._wins(new, old[1]):
            self.rows[key] = (kind, new)

    def _wins(self, new: dict[str, Any], old: dict[str, Any]) -> bool:
        """The later row, unless a sequence field says otherwise; a null loses against any value."""
        for name in self.sequence:
            left, right = new[name], old[name]
            if left is None or right is None:
                if left is None and right is None:
                    continue
                return right is None
            if order(left) != order(right):
                return bool(order(left) > order(right))
        return True

    def clear(self, partition: int | None = None) -> None:
        self.rows = {k: r for k, r in self.rows.items() if partition is not None and r[1]["p"] != partition}

    def live(self) -> list[dict[str, Any]]:
        return [new for kind, new in self.rows.values() if kind == 0]


@dataclass
class History:
    """A table beside its model."""

    path: str
    schema: TableSchema
    model: Model
    states: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    def apply(self, what: str, changes: list[Any]) -> None:
        if what == "evolve":
            self._evolve()
            return
        if what == "append":
            rows = [new for new, _ in changes]
            kinds = [kind if self.model.has_key else 0 for _, kind in changes]
        else:
            rows, kinds = changes, [0] * len(changes)
        if what == "overwrite partition 1":
            rows = [{**new, "p": 1} for new in rows]
            kinds = [0] * len(rows)
            self.model.clear(1)
        elif what == "overwrite":
            self.model.clear()
        names = {f.name for f in self.schema.fields}
        for new, kind in zip(rows, kinds, strict=True):
            self.model.add({name: value if name in names else None for name, value in new.items()}, kind)
        self._commit(what, rows, kinds)

    def _commit(self, what: str, rows: list[dict[str, Any]], kinds: list[int]) -> None:
        table = open_table(self.path)
        user = str(uuid.uuid4())
        writer = TableWrite(table, user)
        batch = pa.RecordBatch.from_pylist(rows, schema=arrow_schema(self.schema.fields))
        writer.write(batch, np.array(kinds, np.int8) if any(kinds) else None)
        messages = writer.finish()
        commit = TableCommit(table, user)
        if what == "append":
            result = commit.append(messages)
        else:
            result = commit.overwrite(messages, {"p": 1} if what == "overwrite partition 1" else None)
        if result is not None:
            self.states[result.snapshot_id] = self.model.live()

    def _evolve(self) -> None:
        """The first time a column comes, later v becomes BIGINT; files keep the schema they were written with."""
        fields = self.schema.fields
        if len(fields) == 5:
            fields = (fields[0], DataField(5, "n", INT), *fields[1:])
        elif self.schema.by_name["v"].type == INT and "v" not in self.model.sequence:
            fields = tuple(replace(f, type=BIGINT) if f.name == "v" else f for f in fields)
        else:
            return
        self.schema = replace(self.schema, id=self.schema.id + 1, fields=fields, highest_field_id=5)
        (Path(self.path) / "schema" / f"schema-{self.schema.id}").write_bytes(encode_schema(self.schema))


def rows_of(rows: list[dict[str, Any]], fields: tuple[DataField, ...]) -> Counter[Row]:
    return comparable_rows([tuple(r[f.name] for f in fields) for r in rows], [f.type for f in fields])


def run(has_key: bool, chosen: dict[str, str], steps: list[Any]) -> Iterator[History]:
    """The history played; the table lives until the caller is done."""
    chosen = dict(chosen)
    if not has_key:
        chosen.pop("sequence.field", None)
        chosen.pop("data-file.thin-mode", None)
        chosen |= {"bucket": "-1"} if chosen["bucket"] == "1" else {"bucket-key": "v,k"}
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/t"
        keys = ("p", "k") if has_key else ()
        schema = create_table(path, TableSchema(0, FIELDS, 4, ("p",), keys, chosen))
        sequence = tuple(chosen.get("sequence.field", "").split(",")) if "sequence.field" in chosen else ()
        history = History(path, schema, Model(has_key, sequence))
        for what, changes in steps:
            history.apply(what, changes)
        yield history


@settings(max_examples=examples(40))
@given(
    has_key=st.booleans(),
    chosen=options(),
    steps=st.lists(step, min_size=1, max_size=6),
    where=conditions,
    columns=st.lists(st.sampled_from(["p", "k", "v", "s", "f"]), unique=True),
    data=st.data(),
)
def test_a_scan_is_a_filter_of_the_model(
    has_key: bool, chosen: dict[str, str], steps: list[Any], where: Predicate, columns: list[str], data: st.DataObject
) -> None:
    for history in run(has_key, chosen, steps):
        table, live = open_table(history.path), history.model.live()
        fields = table.schema.fields
        assert comparable(table.scan().to_arrow()) == rows_of(live, fields)
        assert table.scan().count() == len(live)
        matching = [r for r in live if truth(where, r)]
        event(f"matching {min(len(matching), 2)} of {min(len(live), 3)}")
        assert comparable(table.scan(where=where).to_arrow()) == rows_of(matching, fields)
        assert table.scan(where=where).count() == len(matching)
        narrow = table.scan(columns, where)
        assert narrow.to_arrow().schema == narrow.arrow_schema
        assert comparable(narrow.to_arrow()) == rows_of(matching, narrow.fields)
        if history.states:
            snapshot_id = data.draw(st.sampled_from(sorted(history.states)))
            old = open_table(history.path, {"scan.snapshot-id": str(snapshot_id)})
            assert comparable(old.scan().to_arrow()) == rows_of(history.states[snapshot_id], old.schema.fields)
