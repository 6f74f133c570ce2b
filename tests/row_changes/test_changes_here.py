"""DELETE, UPDATE and MERGE without Spark: every kind of table against a list of rows, every form of expressions."""

from __future__ import annotations

import datetime as dt
import math
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from support.long_runs import examples
from support.oracles.checker import check_table

from paimon_spark import BlobDescriptor, RowChangeResult, col, create_table, open_table
from paimon_spark.errors import (
    ArgumentError,
    DataError,
    OptionError,
    PaimonError,
    PredicateError,
    SqlError,
    UnsupportedFeature,
)
from paimon_spark.tables.open import WritableTable

Row = dict[str, Any]
COLUMNS = {"id": "BIGINT", "dt": "STRING", "v": "STRING", "n": "INT"}
VECTORS = {"deletion-vectors.enabled": "true"}
KEYED = (("id", "dt"), ("dt",))
KINDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]] = {
    "fixed buckets": (*KEYED, {"bucket": "2"}),
    "dynamic buckets": (*KEYED, {"bucket": "-1", "dynamic-bucket.target-row-num": "3"}),
    "old rows in the changelog": (*KEYED, {"bucket": "1", "changelog-producer": "input"}),
    "lookup": (*KEYED, {"bucket": "1", "changelog-producer": "lookup"}),
    "key and vectors": (*KEYED, {"bucket": "1", **VECTORS}),
    "partial update": (
        *KEYED,
        {"bucket": "1", "merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    ),
    "append": ((), ("dt",), {}),
    "append and vectors": ((), ("dt",), VECTORS),
    "append in buckets": ((), (), {"bucket": "2", "bucket-key": "id"}),
    "evolved": ((), ("dt",), {"row-tracking.enabled": "true", "data-evolution.enabled": "true", **VECTORS}),
    "tracked": ((), ("dt",), {"row-tracking.enabled": "true"}),
    "tracked and vectors": ((), ("dt",), {"row-tracking.enabled": "true", **VECTORS}),
}


def made(path: Path, kind: str = "append", **options: str) -> WritableTable:
    keys, parts, given_options = KINDS[kind]
    return create_table(str(path), COLUMNS, keys, parts, {**given_options, **options})


def rows_of(table: WritableTable) -> list[Row]:
    return table.scan().to_arrow().to_pylist()


def arrow(rows: Sequence[Row]) -> pa.Table:
    types = [pa.int64(), pa.string(), pa.string(), pa.int32()]
    return pa.Table.from_pylist(list(rows), schema=pa.schema(list(zip(COLUMNS, types, strict=True))))


def counted(rows: Sequence[Row]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in COLUMNS) for row in rows)


@dataclass(frozen=True)
class Where:
    """A condition in each form, and in Python.

    Attributes:
        target: for a MERGE, of the row of the table.
    """

    forms: Sequence[Any]
    target: Any
    of: Callable[[Row], bool | None]


CONDITIONS = [
    Where(
        ["n > 1", col("n") > 1, pc.field("n") > 1],
        pc.field("target", "n") > 1,
        lambda r: r["n"] is not None and r["n"] > 1,
    ),
    Where(["dt = 'a'", col("DT") == "a", pc.field("dt") == "a"], col("target", "dt") == "a", lambda r: r["dt"] == "a"),
    Where(
        ["v is null and id < 3", col("v").is_null() & (col("id") < 3)],
        "target.v is null and target.id < 3",
        lambda r: r["v"] is None and r["id"] < 3,
    ),
    Where(
        [pc.equal(pc.bit_wise_and(pc.field("id"), 1), 1)],
        pc.equal(pc.bit_wise_and(pc.field("target", "id"), 1), 1),
        lambda r: r["id"] % 2 == 1,
    ),
    Where(["true"], "true", lambda r: True),
    Where(["id > 100"], "target.id > 100", lambda r: False),
]
VALUES: list[tuple[str, Any, Callable[[Row], Any]]] = [
    ("n", pc.field("n") + 1, lambda r: None if r["n"] is None else r["n"] + 1),
    ("n", "7", lambda r: 7),
    ("n", pc.field("id").cast(pa.int32()), lambda r: r["id"]),
    ("v", "'new'", lambda r: "new"),
    ("V", "dt", lambda r: r["dt"]),
    ("v", pc.utf8_upper(pc.field("v")), lambda r: None if r["v"] is None else r["v"].upper()),
    ("v", None, lambda r: None),
    ("v", col("dt"), lambda r: r["dt"]),
]
drawn_rows = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.integers(0, 6),
            "dt": st.sampled_from(["a", "b"]),
            "v": st.sampled_from([None, "", "x", "ä"]),
            "n": st.none() | st.integers(-2, 3),
        }
    ),
    max_size=7,
    unique_by=lambda row: (row["id"], row["dt"]),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), drawn_rows),
        st.tuples(st.just("delete"), st.sampled_from(CONDITIONS), st.integers(0, 2)),
        st.tuples(st.just("update"), st.sampled_from(CONDITIONS), st.integers(0, 2), st.sampled_from(VALUES)),
        st.tuples(st.just("merge"), drawn_rows, st.sampled_from(CONDITIONS), st.booleans()),
    ),
    min_size=2,
    max_size=6,
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(60))
@given(drawn=steps)
def test_statements_are_what_a_list_of_rows_has(kind: str, drawn: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = made(Path(folder, "t"), kind)
        model: list[Row] = []
        for what, *step in drawn:
            model = STEPS[what](table, model, *step)
            assert counted(rows_of(table)) == counted(model)
        check_table(table.location)


def appended(table: WritableTable, model: list[Row], rows: list[Row]) -> list[Row]:
    if table.settings.merge_engine == "partial-update":
        rows = [{**row, "v": row["v"] or "", "n": row["n"] or 0} for row in rows]  # NULL would keep the old value
    table.append(arrow(rows))
    if not table.schema.primary_keys:
        return model + rows
    return list({(row["id"], row["dt"]): row for row in (*model, *rows)}.values())


def deleted(table: WritableTable, model: list[Row], where: Where, form: int) -> list[Row]:
    done = table.delete(where.forms[form % len(where.forms)])
    left = [row for row in model if not where.of(row)]
    if done.counts_exact:
        assert done.rows_deleted == len(model) - len(left)
    return left


def updated(
    table: WritableTable, model: list[Row], where: Where, form: int, value: tuple[str, Any, Callable[[Row], Any]]
) -> list[Row]:
    name, new, of = value
    changed = [{**row, name.lower(): of(row)} if where.of(row) else row for row in model]
    cleared = [
        row[name.lower()] is not None and other[name.lower()] is None for row, other in zip(model, changed, strict=True)
    ]
    given_condition = where.forms[form % len(where.forms)]
    if table.settings.merge_engine == "partial-update" and any(cleared):
        with pytest.raises(DataError, match="cannot be set to NULL"):
            table.update(given_condition, {name: new})
        return model
    done = table.update(given_condition, {name: new})
    assert done.rows_updated == sum(bool(where.of(row)) for row in model)
    return changed


def merged(table: WritableTable, model: list[Row], rows: list[Row], where: Where, by_source: bool) -> list[Row]:
    """Matched rows for which the condition is true go, others get the source's n; rows that match none are added."""
    rows = [{**row, "n": row["n"] or 0} for row in rows]
    statement = (
        table.merge(arrow(rows), "target.id = source.id AND source.dt = target.dt")
        .when_matched_delete(where.target)
        .when_matched_update({"n": "source.n"})
        .when_not_matched_insert_all("source.n >= 0")
    )
    if by_source:
        statement = statement.when_not_matched_by_source_update({"v": "'gone'"}, "target.n = 1")
    done = statement.execute()
    source = {(row["id"], row["dt"]): row for row in rows}
    result, counts = [], Counter[str]()
    for row in model:
        other = source.get((row["id"], row["dt"]))
        if other is None:
            changes = by_source and row["n"] == 1
            counts["updated"] += changes
            result.append({**row, "v": "gone"} if changes else row)
        elif where.of(row):
            counts["deleted"] += 1
        else:
            counts["updated"] += 1
            result.append({**row, "n": other["n"]})
    known = {(row["id"], row["dt"]) for row in model}
    added = [row for key, row in source.items() if key not in known and row["n"] >= 0]
    found = (done.rows_updated, done.rows_deleted, done.rows_inserted)
    assert found == (counts["updated"], counts["deleted"], len(added))
    return result + added


STEPS: Mapping[str, Callable[..., list[Row]]] = {
    "append": appended,
    "delete": deleted,
    "update": updated,
    "merge": merged,
}


def sample(path: Path, kind: str = "append", **options: str) -> WritableTable:
    table = made(path, kind, **options)
    rows = [{"id": n, "dt": "ab"[n % 2], "v": f"v{n}", "n": n} for n in range(4)]
    table.append(arrow(rows))
    return table


def test_values_of_every_kind_are_stored(tmp_path: Path) -> None:
    """Constants of Python, columns, fields of structs, and what Arrow computes are cast as a write casts them."""
    columns = {
        "id": "INT",
        "d": "DECIMAL(10, 2)",
        "day": "DATE",
        "at": "TIMESTAMP(6)",
        "s": "ROW<a INT, b ROW<c STRING>>",
        "c": "CHAR(3)",
        "b": "BYTES",
        "f": "DOUBLE",
    }
    table = create_table(str(tmp_path / "t"), columns)
    table.append({"id": [1, 2], **{name: [None, None] for name in columns if name != "id"}})
    table.update(
        "id = 1",
        {
            "d": Decimal("1.005"),
            "day": dt.date(2026, 11, 28),
            "at": "TIMESTAMP_NTZ '2026-11-28 01:02:03.5'",
            "s.b.c": "'deep'",
            "c": "'x'",
            "b": b"\0\xff",
            "f": pc.divide(pc.field("id").cast(pa.float64()), 4.0),
        },
    )
    [one] = table.scan(where="id = 1").to_arrow().to_pylist()
    assert one == {
        "id": 1,
        "d": Decimal("1.01"),
        "day": dt.date(2026, 11, 28),
        "at": dt.datetime(2026, 11, 28, 1, 2, 3, 500_000),
        "s": {"a": None, "b": {"c": "deep"}},
        "c": "x  ",
        "b": b"\0\xff",
        "f": 0.25,
    }
    table.update(col("id") == 1, {"s.a": "id", "s.b": None})
    assert table.scan("s", where="id = 1").to_arrow().to_pylist() == [{"s": {"a": 1, "b": None}}]


def test_default_is_the_default_value(tmp_path: Path) -> None:
    table = create_table(str(tmp_path / "t"), {"id": "INT", "v": "STRING"})
    with table.update_schema() as change:
        change.set_default("v", "std")
    table.append({"id": [1, 2], "v": ["x", "y"]})
    table.update("id = 2", {"v": "DEFAULT"})
    assert table.scan("v").to_arrow().column("v").to_pylist() == ["x", "std"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.delete(None), OptionError, "is None, and nothing was changed"),
        (lambda t: t.delete(" "), OptionError, "is empty"),
        (lambda t: t.delete("nope = 1"), PredicateError, "there is no column 'nope'"),
        (lambda t: t.delete("length(v) = 2"), PredicateError, "is not supported"),
        (lambda t: t.delete(pc.field("n") + 1), PredicateError, "no condition"),
        (lambda t: t.delete(pc.field("nope") == 1), DataError, "cannot be computed"),
        (lambda t: t.update("true", {}), SqlError, "no assignment is given"),
        (lambda t: t.update("true", {"w": "1"}), SqlError, "w is no column"),
        (lambda t: t.update("true", {"n": "1", "N": "2"}), SqlError, "assigned more than once"),
        (lambda t: t.update("true", {"n.x": "1"}), SqlError, "has no field x"),
        (lambda t: t.update("true", {"n": "n + 1"}), PredicateError, r"pyarrow.compute.field\('n'\) \+ 1"),
        (lambda t: t.update("true", {"v": "new"}), PredicateError, "no column 'new'.*itself would be \"'new'\""),
        (lambda t: t.update("true", {"n": "'x'"}), DataError, "the table has INT: cast it first"),
        (lambda t: t.update("true", {"n": 2**40}), DataError, "does not fit into INT"),
        (lambda t: t.update("true", {"n": pc.field("n") + pa.scalar(2**31 - 1, pa.int32())}), DataError, "overflow"),
        (lambda t: t.update("true", {"n": col("n") == 1}), PredicateError, "is a condition, and stands"),
        (lambda t: t.update("true", {"v": BlobDescriptor("/a")}), PredicateError, r"and its encode\(\) is one"),
        (lambda t: t.create_global_index("n", "btree", options={}), ArgumentError, r"'options' .*; open_table\("),
        (lambda t: t.update("true", {"n": len}), PredicateError, "of the type builtin_function_or_method is no value"),
        (lambda t: t.update(where="true", set={"n": 1}), ArgumentError, "the first argument, says which rows"),
        (lambda t: t.merge({"id": [1]}, on="id"), ArgumentError, "says which columns are equal"),
        (lambda t: t.upsert([{"id": 1}]), OptionError, "name the columns"),
        (lambda t: t.upsert({"id": [1]}, on="nope"), OptionError, "nope"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_changes_nothing(
    tmp_path: Path, call: Callable[[WritableTable], Any], error: type[PaimonError], message: str
) -> None:
    table = sample(tmp_path / "t")
    before = rows_of(table)
    with pytest.raises(error, match=message):
        call(table)
    assert (rows_of(table), table.history().num_rows) == (before, 1)
    check_table(table.location)


MERGES: list[tuple[Callable[[WritableTable], Any], type[PaimonError], str]] = [
    (lambda t: t.merge({"id": [1]}, "id").execute(), SqlError, "no clause"),
    (lambda t: t.merge({"id": [1]}, "target.id > source.id").when_matched_delete().execute(), SqlError, "more than"),
    (lambda t: t.merge({"id": [1]}, "target.id = 1").when_matched_delete().execute(), SqlError, "more than columns"),
    (lambda t: t.merge({"id": [1]}, []).when_matched_delete().execute(), SqlError, "no column is compared"),
    (lambda t: t.merge({"id": ["1"]}, ["id"]).when_matched_delete().execute(), DataError, "cast the source"),
    (lambda t: t.merge({"id": [1.5]}, ["id"]).when_matched_delete().execute(), DataError, "cast the source"),
    (lambda t: t.merge({"id": [1]}, "t.id = s.id").when_matched_delete().execute(), SqlError, "is called target in it"),
    (lambda t: t.merge({"x": [1]}, "id").when_matched_delete().execute(), SqlError, "id is no column"),
    (lambda t: t.merge({"id": [1]}, ["id"]).when_matched_update_all().execute(), SqlError, "the source has no column"),
    (lambda t: t.merge({"id": [1]}, ["id"]).when_matched_delete("id = 1").execute(), PredicateError, "no column 'id'"),
    (lambda t: t.merge({"id": [1]}, ["id"], "target").when_matched_delete().execute(), SqlError, "both sides"),
    (
        lambda t: t.merge({"id": [1]}, ["id"]).when_matched_delete().when_matched_delete("n = 1").execute(),
        SqlError,
        "only the last",
    ),
    (
        lambda t: t.merge({"id": [1, 1]}, ["id"]).when_matched_update({"n": "0"}).execute(),
        DataError,
        re.escape('several rows of the source match the row {"id": 1, "dt": "b", "v": "v1", "n": 1} of the'),
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), MERGES)
def test_a_merge_that_cannot_be_done_changes_nothing(
    tmp_path: Path, call: Callable[[WritableTable], Any], error: type[PaimonError], message: str
) -> None:
    table = sample(tmp_path / "t")
    before = rows_of(table)
    with pytest.raises(error, match=message):
        call(table)
    assert (rows_of(table), table.history().num_rows) == (before, 1)


def test_several_rows_of_the_source_may_delete_one(tmp_path: Path) -> None:
    table = sample(tmp_path / "t")
    done = table.merge({"id": [1, 1, 9]}, "id").when_matched_delete().execute()
    assert (done.rows_deleted, [row["id"] for row in rows_of(table)]) == (1, [0, 2, 3])


def test_new_rows_of_one_key_are_refused(tmp_path: Path) -> None:
    table = sample(tmp_path / "t", "fixed buckets")
    rows = arrow([{"id": 9, "dt": "a", "v": v, "n": 1} for v in "xy"])
    with pytest.raises(DataError, match=re.escape('have the key {"id": 9, "dt": "a"}')):
        table.merge(rows, ["id", "dt"]).when_not_matched_insert_all().execute()
    assert table.history().num_rows == 1


def test_keys_are_equal_as_in_spark(tmp_path: Path) -> None:
    """NaN equals NaN, 0.0 equals -0.0, NULL equals nothing, blanks at the end of a CHAR do not count."""
    columns = {"f": "DOUBLE", "c": "CHAR(3)", "hit": "BOOLEAN"}
    table = create_table(str(tmp_path / "t"), columns)
    values = [0.0, -0.0, math.nan, None, 1.0]
    table.append({"f": values, "c": ["a", "b", "c", "d", None], "hit": [False] * 5})
    done = table.merge({"f": [-0.0, math.nan, None]}, ["f"]).when_matched_update({"hit": "true"}).execute()
    assert done.rows_updated == 3
    hits = {row["c"]: row["hit"] for row in rows_of(table)}
    assert hits == {"a  ": True, "b  ": True, "c  ": True, "d  ": False, None: False}
    done = table.merge({"c": ["d", "c ", None]}, ["c"]).when_matched_delete().execute()
    assert (done.rows_deleted, sorted(row["c"] or "" for row in rows_of(table))) == (2, ["", "a  ", "b  "])


@pytest.mark.parametrize("kind", ["append", "append and vectors", "fixed buckets"])
def test_upsert_finds_rows_by_columns(tmp_path: Path, kind: str) -> None:
    table = sample(tmp_path / "t", kind)
    rows = arrow([{"id": 1, "dt": "b", "v": "new", "n": 10}, {"id": 7, "dt": "a", "v": "more", "n": 70}])
    table.upsert(rows, on="id, dt")
    assert sorted((row["id"], row["v"]) for row in rows_of(table)) == [
        (0, "v0"), (1, "new"), (2, "v2"), (3, "v3"), (7, "more")
    ]  # fmt: skip


def test_an_upsert_reads_only_files_that_may_have_its_rows(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    for first in range(0, 400, 100):
        table.append(arrow([{"id": first + n, "dt": "a", "v": "x", "n": 0} for n in range(100)]))
    done = table.upsert(arrow([{"id": n, "dt": "a", "v": "y", "n": 1} for n in (3, 350)]), on=["id"])
    assert isinstance(done, RowChangeResult)
    assert (done.rows_updated, done.files_read, done.files_rewritten) == (2, 2, 2)


def test_a_condition_on_partitions_reads_no_file(tmp_path: Path) -> None:
    table = sample(tmp_path / "t")
    done = table.delete("dt = 'a'")
    assert (done.files_read, done.rows_deleted, table.history().column("commit_kind")[0].as_py()) == (0, 2, "OVERWRITE")
    assert table.delete().rows_deleted == 2
    assert rows_of(table) == []


def test_an_emptied_file_is_removed_without_being_written(tmp_path: Path) -> None:
    table = sample(tmp_path / "t")
    done = table.delete(pc.field("n") == pc.field("id"))
    assert (done.rows_deleted, done.files_rewritten, done.files_added) == (4, 2, 0)


@pytest.mark.parametrize("kind", ["tracked", "tracked and vectors"])
def test_updated_rows_keep_their_ids(tmp_path: Path, kind: str) -> None:
    """Also those that move to another partition; only updated ones get new numbers."""
    table = sample(tmp_path / "t", kind)
    columns = "id, _ROW_ID, _SEQUENCE_NUMBER"
    before = {row["id"]: row for row in table.scan(columns).to_arrow().to_pylist()}
    table.update("id = 1", {"v": "'new'"})
    table.update("id = 2", {"dt": "'z'"})
    after = {row["id"]: row for row in table.scan(columns).to_arrow().to_pylist()}
    assert {n: row["_ROW_ID"] for n, row in after.items()} == {n: row["_ROW_ID"] for n, row in before.items()}
    changed = {n for n, row in after.items() if row["_SEQUENCE_NUMBER"] != before[n]["_SEQUENCE_NUMBER"]}
    assert changed == {1, 2}
    table.delete("_ROW_ID = " + str(before[3]["_ROW_ID"]))
    assert sorted(row["id"] for row in rows_of(table)) == [0, 1, 2]


@pytest.mark.parametrize("engine", ["first-row", "aggregation"])
def test_engines_that_remove_no_row_get_their_buckets_written_again(tmp_path: Path, engine: str) -> None:
    options = {"bucket": "2", "merge-engine": engine}
    table = create_table(str(tmp_path / "t"), COLUMNS, "id, dt", "dt", options)
    for number in range(2):
        table.append(arrow([{"id": n, "dt": "ab"[n % 2], "v": f"v{n}", "n": number} for n in range(8)]))
    if engine == "first-row":
        table.compact()
    done = table.delete("id in (3, 4)")
    assert (done.rows_deleted, sorted(row["id"] for row in rows_of(table))) == (2, [0, 1, 2, 5, 6, 7])
    table.delete("__paimon_bucket = 0 and id > 4")
    with pytest.raises(UnsupportedFeature, match="cannot be updated"):
        table.update("true", {"n": "1"})
    check_table(table.location)


@pytest.mark.parametrize(
    ("options", "values", "message"),
    [
        ({"sequence.field": "n"}, {"n": "-1"}, "older than the stored"),
        ({"sequence.field": "n", "sequence.field.sort-order": "descending"}, {"n": "99"}, "older than the stored"),
        ({"merge-engine": "partial-update"}, {"v": None}, "cannot be set to NULL"),
        ({"merge-engine": "partial-update", "fields.n.sequence-group": "v"}, {"n": "0"}, "older than the stored"),
        ({"merge-engine": "partial-update", "fields.n.sequence-group": "v"}, {"n": None, "v": "'x'"}, "older|is NULL"),
        ({"rowkind.field": "v"}, {"v": "'-D'"}, "use DELETE to remove rows"),
    ],
)
def test_updates_that_the_merge_engine_would_not_apply_are_refused(
    tmp_path: Path, options: dict[str, str], values: dict[str, Any], message: str
) -> None:
    table = create_table(str(tmp_path / "t"), COLUMNS, "id", options={"bucket": "1", **options})
    table.append(arrow([{"id": 1, "dt": "a", "v": "+I", "n": 5}]))
    before = rows_of(table)
    with pytest.raises(DataError, match=message):
        table.update("id = 1", values)
    assert (rows_of(table), table.history().num_rows) == (before, 1)


def test_a_key_cannot_be_updated_but_to_itself(tmp_path: Path) -> None:
    table = sample(tmp_path / "t", "fixed buckets")
    with pytest.raises(SqlError, match="'id' belongs to the primary key"):
        table.update("id = 1", {"id": "2"})
    assert table.update("id = 1", {"id": "id", "v": "'x'"}).rows_updated == 1


def test_a_statement_with_a_name_happens_once(tmp_path: Path) -> None:
    table = sample(tmp_path / "t")
    for repeated in (False, True):
        done = table.update("id = 1", {"n": pc.field("n") + 10}, once=("job", 1))
        assert done.repeated is repeated
    assert sorted(row["n"] for row in rows_of(table)) == [0, 2, 3, 11]
    merge = table.merge(arrow([{"id": 9, "dt": "a", "v": "x", "n": 1}]), ["id"], once=("job", 2))
    assert [merge.when_not_matched_insert_all().execute().repeated for _ in range(2)] == [False, True]
    assert len(rows_of(table)) == 5
    assert table.delete("id = 9", once=("job", 3)).rows_deleted == 1
    assert table.delete("dt = 'a'", once=("job", 3)).repeated


def test_names_of_columns_that_statements_use_are_refused(tmp_path: Path) -> None:
    table = create_table(str(tmp_path / "t"), {"id": "INT", "_paimon_kind": "STRING"})
    with pytest.raises(UnsupportedFeature, match="rename the column"):
        table.delete("id = 1")


def test_columns_called_as_places_are_no_places(tmp_path: Path) -> None:
    table = create_table(str(tmp_path / "t"), {"file": "STRING", "row": "BIGINT"})
    table.append({"file": ["a", "b"], "row": [7, 8]})
    table.update("row = 7", {"file": "'c'"})
    assert rows_of(table) == [{"file": "c", "row": 7}, {"file": "b", "row": 8}]


def test_nothing_of_spark_is_imported(tmp_path: Path) -> None:
    sample(tmp_path / "t")
    code = (
        "import sys, paimon_spark as p\n"
        f"t = p.open_table({str(tmp_path / 't')!r})\n"
        "t.delete('id = 1'); t.update('id = 2', {'v': \"'x'\"}); t.upsert(t.scan(), on='id')\n"
        "assert not [name for name in sys.modules if name.startswith('pyspark')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert open_table(str(tmp_path / "t")).history().num_rows == 4
