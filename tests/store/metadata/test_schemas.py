"""Readers and jobs that opened a table before somebody changed its columns, and wrote rows by the new ones.

The model: what such a reader may show are the values as they were written, in the columns that it knows.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.oracles.checker import check_table

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table
from paimon_spark.errors import PaimonError, TableChanged
from paimon_spark.format.schema import TableSchema, encode_schema
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root
from paimon_spark.spark.source.source import PaimonDataSource
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rescale.postpone_compact import compact_postponed
from paimon_spark.store.rescale.rescale import rescale
from paimon_spark.store.upkeep.compact_call import compact_on_call
from paimon_spark.store.write.task_write import open_task_write
from paimon_spark.store.write.write_plan import plan_write
from paimon_spark.tables.open import open_table

INT, BIGINT = DataType(Root.INT), DataType(Root.BIGINT)
STRING = DataType(Root.VARCHAR, length=MAX_LENGTH)
PAIR = DataType(Root.ROW, fields=(DataField(11, "a", INT), DataField(12, "b", STRING)))
FIELDS = (
    DataField(0, "k", INT.with_nullable(False)),
    DataField(1, "v", INT),
    DataField(2, "s", STRING),
    DataField(3, "n", INT.with_nullable(False)),
    DataField(4, "p", PAIR),
)
OLD = [(1, 10, "x", 1, {"a": 1, "b": "y"})]
Fields = tuple[DataField, ...]


def make(path: Path, **options: str) -> Table:
    stored = {"bucket": "1", "write-only": "true", **options}
    create_table(str(path), TableSchema(0, FIELDS, 12, (), ("k",), stored))
    table = open_table(str(path))
    write(table, OLD)
    return open_table(str(path))


def write(table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    user = f"user-{table.snapshots.latest_id()}"
    schema = arrow_schema(table.schema.fields)
    columns = [pa.array(list(c), f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
    task = open_task_write(table, user, 0, plan_write(table))
    task.write(pa.RecordBatch.from_arrays(columns, schema=schema))
    TableCommit(table, user).append(task.finish())


def rows_of(found: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in found.sort_by("k").to_pylist()]


def change(table: Table, fields: Fields) -> Table:
    """What another job does: other columns, in a new schema; the table as that job has it."""
    schema = replace(table.schema, id=1, fields=fields, primary_keys=(fields[0].name,))
    Path(table.location, "schema", f"schema-{schema.id}").write_bytes(encode_schema(schema))
    return open_table(table.location)


def changed(name: str, to: DataType | None) -> Fields:
    """The columns with one of another type, or without it."""
    return tuple(replace(f, type=to) if f.name == name and to else f for f in FIELDS if f.name != name or to)


CHANGES: dict[str, tuple[Fields, tuple[Any, ...], str]] = {
    "wider": (changed("v", BIGINT), (2, 2**40, "x", 2, None), r"'v' was INT .*schema 0.* schema 1, where it is BIGINT"),
    "narrower": (changed("v", DataType(Root.SMALLINT)), (2, 5, "x", 2, None), "'v' was INT .*where it is SMALLINT"),
    "another": (changed("v", STRING), (2, "five", "x", 2, None), "'v' was INT .*where it is STRING"),
    "dropped": (changed("v", None), (2, "x", 2, None), "'v' was INT .*where it is no more"),
    "came again": (
        (*changed("v", None), DataField(13, "v", INT)),
        (2, "x", 2, None, 7),
        "'v' was INT .*where it is no more",
    ),
    "may be null": (changed("n", INT), (2, 5, "x", None, None), r"'n' was INT NOT NULL .*where it is INT\."),
    "within": (
        changed("p", replace(PAIR, fields=(replace(PAIR.fields[0], type=BIGINT), PAIR.fields[1]))),
        (2, 5, "x", 2, {"a": 2**40, "b": "y"}),
        r"'p' was ROW<.*a.* INT.*where it is ROW<.*a.* BIGINT",
    ),
}


def reads_of(table: Table) -> dict[str, Callable[[], object]]:
    scan = pickle.loads(pickle.dumps(table.scan()))
    return {
        "arrow": table.scan().to_arrow,
        "batches": lambda: list(table.scan().to_batches()),
        "another process": scan.to_arrow,
        "change": lambda: table.with_options({"incremental-between": "1,2"}).scan().to_arrow(),
        "difference": lambda: table.with_options(
            {"incremental-between": "1,2", "incremental-between-scan-mode": "diff"}
        ).scan().to_arrow(),
    }  # fmt: skip


def called(read: Callable[[], object], how: str) -> None:
    read()
    pytest.fail(f"no error: {how}")


@pytest.mark.parametrize("name", CHANGES)
def test_a_reader_that_knows_another_column(tmp_path: Path, name: str) -> None:
    fields, row, told = CHANGES[name]
    early = make(tmp_path / "t")
    write(change(early, fields), [row])
    for how, read in reads_of(early).items():
        with pytest.raises(TableChanged, match=told):
            called(read, how)
    assert rows_of(early.with_options({"scan.snapshot-id": "1"}).scan().to_arrow()) == OLD
    assert open_table(early.location).scan().to_arrow().num_rows == 2
    check_table(early.location)


@pytest.mark.parametrize("name", ["wider", "dropped", "another"])
def test_a_condition_on_the_column_is_not_answered_by_statistics(tmp_path: Path, name: str) -> None:
    """No column of it is asked for, and the file would be left out."""
    fields, row, told = CHANGES[name]
    early = make(tmp_path / "t")
    write(change(early, fields), [row])
    for condition in ("v = 10", "v is null", "v > 1000"):
        with pytest.raises(TableChanged, match=told):
            early.scan(columns=["k"], where=condition).to_arrow()


@pytest.mark.parametrize("name", CHANGES)
def test_what_did_not_change_is_read(tmp_path: Path, name: str) -> None:
    fields, row, _ = CHANGES[name]
    early = make(tmp_path / "t")
    write(change(early, fields), [row])
    assert early.scan(columns=["s", "k"]).to_arrow().to_pylist() == [{"s": "x", "k": 1}, {"s": "x", "k": 2}]
    assert early.scan().count() == 2
    assert early.scan(columns=["k"], where="s = 'x' and k > 1").to_arrow().to_pylist() == [{"k": 2}]


def test_columns_that_came_and_new_names_harm_nobody(tmp_path: Path) -> None:
    early = make(tmp_path / "t")
    wider = DataType(Root.ROW, fields=(DataField(14, "c", INT), *PAIR.fields))
    fields = (replace(FIELDS[0], name="key"), *FIELDS[1:4], replace(FIELDS[4], type=wider), DataField(13, "more", INT))
    write(change(early, fields), [(2, 20, "z", 2, {"c": 9, "a": 3, "b": "w"}, 99)])
    assert rows_of(early.scan().to_arrow()) == [*OLD, (2, 20, "z", 2, {"a": 3, "b": "w"})]
    assert early.scan(columns=["v"], where="k = 2").to_arrow().to_pylist() == [{"v": 20}]


def test_jobs_that_write_rows_again(tmp_path: Path) -> None:
    """A column that came would be lost from the rows, and from the table."""
    fields = (*FIELDS, DataField(13, "more", INT))
    row = (2, 20, "z", 2, None, 99)
    for number, (options, call) in enumerate(
        [
            ({}, lambda table: rescale(table, 2)),
            ({"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"}, compact_postponed),
        ]
    ):
        early = make(tmp_path / str(number), **options)
        write(change(early, fields), [row])
        before = early.snapshots.latest_id()
        with pytest.raises(TableChanged, match=r"schema 0.*schema 1.*Open it again"):
            call(early)
        assert open_table(early.location).snapshots.latest_id() == before
        call(open_table(early.location))
        late = open_table(early.location)
        assert late.scan(columns=["k", "more"]).to_arrow().sort_by("k").to_pylist() == [
            {"k": 1, "more": None},
            {"k": 2, "more": 99},
        ]


def test_a_compaction_takes_the_new_columns(tmp_path: Path) -> None:
    early = make(tmp_path / "t")
    fields, row, _ = CHANGES["wider"]
    write(change(early, (*fields, DataField(13, "more", INT))), [(*row, 99)])
    compact_on_call(early, LocalRunner(), full=True)
    late = open_table(early.location).scan(columns=["v", "more"]).to_arrow().to_pylist()
    assert late == [{"v": 10, "more": None}, {"v": 2**40, "more": 99}]
    check_table(early.location)


@pytest.mark.parametrize(("name", "told"), [("wider", "BIGINT|bigint"), ("dropped", "'v'.*not in the table")])
def test_a_data_frame_that_was_loaded_before(tmp_path: Path, name: str, told: str) -> None:
    """Spark asks for the schema when it is loaded, and for the reader at its first query."""
    early = make(tmp_path / "t")
    schema = PaimonDataSource({"path": early.location}).schema()
    planned = PaimonDataSource({"path": early.location}).reader(schema)
    parts = pickle.loads(pickle.dumps(planned)), planned.partitions()
    fields, row, _ = CHANGES[name]
    write(change(early, fields), [row])
    with pytest.raises(PaimonError, match=told):
        PaimonDataSource({"path": early.location}).reader(schema)
    read = [b for part in parts[1] for b in parts[0].read(part)]
    assert rows_of(pa.Table.from_batches(read)) == OLD  # its snapshot was chosen before


def test_a_writer_that_opened_the_table_before(tmp_path: Path) -> None:
    """Its rows are old ones, which newer readers read as those of any old file."""
    early = make(tmp_path / "t")
    user, task = "late", open_task_write(early, "late", 0, plan_write(early))
    fields, row, _ = CHANGES["wider"]
    write(change(early, fields), [row])
    schema = arrow_schema(FIELDS)
    columns = [pa.array([value], f.type) for value, f in zip((3, 30, "q", 3, None), schema, strict=True)]
    task.write(pa.RecordBatch.from_arrays(columns, schema=schema))
    TableCommit(early, user).append(task.finish())
    found = open_table(early.location).scan(columns=["k", "v"]).to_arrow().sort_by("k").to_pylist()
    assert found == [{"k": 1, "v": 10}, {"k": 2, "v": 2**40}, {"k": 3, "v": 30}]
    check_table(early.location)
