"""Files of a format table: hidden until all are whole, named and replaced at once; Java's rows are in tests/interop."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults.faulty_store import FaultyFileIO, InjectedFault

from paimon_spark.arrow.predicates.predicate import Compare, Op
from paimon_spark.arrow.text_files.compression import SUFFIXES
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import CorruptFile, DataError, MissingFile, StorageError, UnsupportedFeature
from paimon_spark.file_io.local import LocalFileIO
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField
from paimon_spark.store.file_tables import format_table as format_tables
from paimon_spark.store.file_tables.format_table import FormatTable, format_table
from paimon_spark.store.file_tables.format_write import (
    FormatWriter,
    StagedFile,
    check_in_patterns,
    discard_job,
    publish,
)
from paimon_spark.store.metadata.table import Table


def made(path: Path, columns: Mapping[str, str], keys: tuple[str, ...] = (), **options: str) -> FormatTable:
    fields = tuple(DataField(number, name, parse_type(kind)) for number, (name, kind) in enumerate(columns.items()))
    stored = {"type": "format-table", **options}
    schema = TableSchema(0, fields, len(fields), keys, (), stored)
    return format_table(Table(str(path), LocalFileIO(), schema, TableSettings(stored)), {})


def staged(table: FormatTable, *rows: tuple[Any, ...]) -> list[StagedFile]:
    schema = arrow_schema(table.table.schema.fields)
    columns = [pa.array(column, kind.type) for column, kind in zip(zip(*rows, strict=True), schema, strict=True)]
    writer = FormatWriter(table, "job")
    writer.write(pa.RecordBatch.from_arrays(columns, schema=schema))
    return writer.finish()


def rows_of(table: FormatTable) -> list[tuple[Any, ...]]:
    found = table.scan().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def names(path: Path) -> set[str]:
    return {one.name[:9] for one in path.rglob("*") if one.is_file()}


def test_files_are_hidden_until_they_are_published(tmp_path: Path) -> None:
    table = made(tmp_path, {"id": "INT", "p": "INT"}, ("p",))
    first = staged(table, (1, 1), (2, 1), (3, 2))
    assert len(first) == 2
    assert rows_of(table) == []
    publish(table, first, "nothing")
    assert rows_of(table) == [(1, 1), (2, 1), (3, 2)]
    publish(table, staged(table, (4, 2)), "dynamic")
    assert rows_of(table) == [(1, 1), (2, 1), (4, 2)]
    publish(table, staged(table, (5, 1)), ({"p": 1}, {"p": 9}))
    assert rows_of(table) == [(4, 2), (5, 1)]
    publish(table, [], "dynamic")
    assert rows_of(table) == [(4, 2), (5, 1)]
    publish(table, [], "all")
    assert rows_of(table) == []
    lost = staged(table, (6, 1), (7, 2))
    discard_job(table, "another")
    assert all(Path(file.hidden_path).exists() for file in lost)
    discard_job(table, "job")
    assert names(tmp_path) == set()


@dataclass(frozen=True)
class Failing(LocalFileIO):
    """Fails at the n-th move, before or after it, or at every deletion of a file that readers see."""

    left: list[None] = field(default_factory=list)
    is_late: bool = False
    keeps: bool = False

    def move_file(self, path: str, target: str) -> None:
        if not self.left:
            if self.is_late:
                super().move_file(path, target)
            raise StorageError(f"moving {path}: no space")
        self.left.pop()
        super().move_file(path, target)

    def delete_many(self, paths: Any) -> None:
        if self.keeps:
            raise StorageError("deleting: not permitted")
        super().delete_many(paths)


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("moves", [0, 1, 2])
def test_a_file_that_gets_no_name(tmp_path: Path, moves: int, is_late: bool) -> None:
    table = made(tmp_path, {"id": "INT", "p": "INT"}, ("p",))
    publish(table, staged(table, (1, 1)), "nothing")
    failing = replace(table, table=replace(table.table, file_io=Failing([None] * moves, is_late)))
    with pytest.raises(StorageError, match="no space"):
        publish(failing, staged(failing, (2, 1), (3, 2), (4, 3)), "all")
    assert rows_of(table) == [(1, 1)]
    assert not [name for name in names(tmp_path) if name.startswith(".")]


def test_a_replaced_file_that_stays(tmp_path: Path) -> None:
    table = made(tmp_path, {"id": "INT"})
    publish(table, staged(table, (1,)), "nothing")
    failing = replace(table, table=replace(table.table, file_io=Failing([None], keeps=True)))
    with pytest.raises(StorageError, match="some of those that they replace are too"):
        publish(failing, staged(failing, (2,)), "all")
    assert rows_of(table) == [(1,), (2,)]


VALUES: list[tuple[str, Any]] = [
    ("INT", -5), ("STRING", "a/b =%ä"), ("BOOLEAN", True), ("DATE", dt.date(1969, 1, 1)),
    ("DECIMAL(5, 2)", Decimal("-1.50")),
    ("DOUBLE", 1e10), ("DOUBLE", float("nan")), ("FLOAT", 0.5), ("BIGINT", None), ("STRING", None),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value"), VALUES)
@pytest.mark.parametrize("only", ["true", "false"])
def test_partitions_come_back(tmp_path: Path, kind: str, value: Any, only: str) -> None:
    table = made(tmp_path, {"id": "INT", "p": kind}, ("p",), **{"format-table.partition-path-only-value": only})
    publish(table, staged(table, (1, value), (2, value)), "nothing")
    assert list(map(repr, rows_of(table))) == [repr((1, value)), repr((2, value))]
    assert len(table.partitions()) == 1


def test_partitions_that_no_reader_would_find(tmp_path: Path) -> None:
    time = dt.datetime(2026, 1, 1, 12)
    with pytest.raises(DataError, match=r"'partition.legacy-name' to 'false'"):
        staged(made(tmp_path, {"id": "INT", "p": "TIMESTAMP(3)"}, ("p",)), (1, time))
    named = made(tmp_path, {"id": "INT", "p": "TIMESTAMP(3)"}, ("p",), **{"partition.legacy-name": "false"})
    publish(named, staged(named, (1, time)), "nothing")
    assert rows_of(named) == [(1, time)]
    with pytest.raises(DataError, match=r"begin with '_' or '.'"):
        staged(made(tmp_path, {"id": "INT", "_p": "INT"}, ("_p",)), (1, 1))
    with pytest.raises(DataError, match="NOT NULL column 'id'"):
        staged(made(tmp_path, {"id": "INT NOT NULL"}), (None,))
    with pytest.raises(UnsupportedFeature, match="have one of none, gzip"):
        FormatWriter(made(tmp_path, {"id": "STRING"}, **{"file.format": "text", "compression": "brotli"}), "job")


def test_files_are_closed_at_their_target(tmp_path: Path) -> None:
    table = made(tmp_path, {"id": "INT"}, **{"target-file-row-num": "1"})
    writer = FormatWriter(table, "job")
    for number in range(3):
        writer.write(pa.RecordBatch.from_pydict({"id": pa.array([number], pa.int32())}))
    files = writer.finish()
    assert [file.rows for file in files] == [1, 1, 1]
    publish(table, files, "nothing")
    assert rows_of(table) == [(0,), (1,), (2,)]
    aborted = FormatWriter(table, "other")
    aborted.write(pa.RecordBatch.from_pydict({"id": pa.array([7], pa.int32())}))
    aborted.abort()
    assert names(tmp_path) == {"data-" + file.name[5:9] for file in files}


TEXT = st.text(',"\\ aé😀\n\r\u2003\ufeff|N', max_size=6)


@pytest.mark.parametrize("file_format", ["csv", "json"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"csv.null-literal": "N", "csv.field-delimiter": "||", "csv.include-header": "true"},
        {"csv.line-delimiter": "|"},
    ],
)
@given(rows=st.lists(st.tuples(TEXT | st.none(), TEXT | st.none()), min_size=1, max_size=4))
def test_texts_come_back_or_are_refused(
    tmp_path_factory: pytest.TempPathFactory, file_format: str, options: dict[str, str], rows: list[tuple[Any, Any]]
) -> None:
    path = tmp_path_factory.mktemp("t")
    table = made(path, {"a": "STRING", "b": "STRING"}, **{"file.format": file_format, **options})
    try:
        files = staged(table, *rows)
    except DataError:
        assert file_format == "csv"
        null, ends = options.get("csv.null-literal", ""), options.get("csv.line-delimiter", "\n\r")
        texts = [text for row in rows for text in row if text is not None]
        assert null in texts or any(end in text for text in texts for end in ends)
        return
    publish(table, files, "nothing")
    assert rows_of(table) == sorted(rows, key=repr)
    assert table.scan("b").count() == len(rows)


def test_one_column_of_lines(tmp_path: Path) -> None:
    table = made(tmp_path, {"a": "STRING"}, **{"file.format": "csv", "csv.null-literal": "null"})
    rows = [("",), (" ",), (None,), ("\ufeffx",), ("x",)]
    publish(table, staged(table, *rows), "nothing")
    publish(table, staged(table, *rows[3:]), "nothing")
    assert rows_of(table) == sorted([*rows, *rows[3:]], key=repr)


@given(rows=st.lists(TEXT | st.none(), min_size=1, max_size=4))
@pytest.mark.parametrize("end", ["\n", "\r\n", "|", "||", "|N"])
def test_lines_of_text_come_back_or_are_refused(
    tmp_path_factory: pytest.TempPathFactory, end: str, rows: list[str | None]
) -> None:
    options = {"file.format": "text", "text.line-delimiter": end}
    table = made(tmp_path_factory.mktemp("t"), {"a": "STRING"}, **options)
    try:
        files = staged(table, *((row,) for row in rows))
    except DataError:
        ends = ("\n", "\r") if end in ("\n", "\r\n") else (end,)
        broken = [row for row in rows if row is None or any(mark in row for mark in ends)]
        assert broken or any(row is not None and row.endswith(end[0]) for row in rows)
        return
    publish(table, files, "nothing")
    assert rows_of(table) == sorted(((row,) for row in rows), key=repr)


@pytest.mark.parametrize(("codec", "suffix"), SUFFIXES.items())
@pytest.mark.parametrize("file_format", ["csv", "json", "text"])
def test_compressed_lines(tmp_path: Path, file_format: str, codec: str, suffix: str) -> None:
    table = made(tmp_path, {"a": "STRING"}, **{"file.format": file_format, "file.compression": codec.upper()})
    rows = [(f"{number}-{number * number}" * 9,) for number in range(9_000)]
    files = staged(table, *rows)
    publish(table, files, "nothing")
    assert [file.name.partition(".")[2] for file in files] == [f"{file_format}.{suffix}"]
    assert rows_of(table) == sorted(rows, key=repr)
    path = Path(files[0].path)
    data = path.read_bytes()
    assert len(data) < 400_000
    for cut in (len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(CorruptFile, match="its compression is damaged"):
            rows_of(table)
    path.write_bytes(data + data)
    assert len(rows_of(table)) == 18_000


def test_nested_values_of_json(tmp_path: Path) -> None:
    kinds = {
        "l": "ARRAY<DATE>",
        "m": "MAP<STRING NOT NULL, DECIMAL(5, 2)>",
        "r": "ROW<x INT, y ARRAY<BYTES>>",
        "t": "TIMESTAMP(6)",
    }
    table = made(tmp_path, kinds, **{"file.format": "json"})
    rows = [
        ([dt.date(2026, 1, 1), None], [("a", Decimal("1.50")), ("", None)], {"x": 1, "y": [b"\x00", None]}, None),
        (None, None, None, dt.datetime(1969, 1, 1, 0, 0, 0, 5)),
        ([], [], {"x": None, "y": None}, dt.datetime(2026, 1, 1)),
    ]
    publish(table, staged(table, *rows), "nothing")
    assert rows_of(table) == sorted(rows, key=repr)


def test_directories_and_files_that_are_no_partitions_are_passed_over(tmp_path: Path) -> None:
    table = made(tmp_path, {"id": "INT", "p": "INT", "q": "STRING"}, ("p", "q"))
    publish(table, staged(table, (1, 1, "a"), (2, 1, None), (3, 2, "b")), "nothing")
    for name in (".p=3/q=a", "_p=3/q=a", "p/q=a", "r=3/q=a", "p=1/.q=c", "p=1/r=c"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "data-x.parquet").write_bytes(b"no file of this table")
    (tmp_path / "p=5").write_text("a file")
    assert rows_of(table) == [(1, 1, "a"), (2, 1, None), (3, 2, "b")]
    default = "__DEFAULT_PARTITION__"
    assert [found.name for found in table.partitions()] == [f"p=1/q={default}", "p=1/q=a", "p=2/q=b"]
    assert [found.values for found in table.partitions()][:2] == [{"p": 1, "q": None}, {"p": 1, "q": "a"}]
    assert [found.name for found in table.partitions(Compare(("p",), Op.EQ, 2))] == ["p=2/q=b"]
    (tmp_path / "p=x").mkdir()
    with pytest.raises(CorruptFile, match=r"the directory .*/p=x is no partition of the column 'p'"):
        table.partitions()


def test_partitions_that_are_named_by_their_value_alone(tmp_path: Path) -> None:
    table = made(tmp_path, {"id": "INT", "q": "STRING"}, ("q",), **{"format-table.partition-path-only-value": "true"})
    publish(table, staged(table, (1, "a=b"), (2, None)), "nothing")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "_hidden").mkdir()
    assert rows_of(table) == [(1, "a=b"), (2, None)]
    assert [found.values["q"] for found in table.partitions()] == [None, "a=b"]


def test_a_scan_is_read_file_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path, {"id": "INT", "p": "INT"}, ("p",))
    publish(table, staged(table, *((number, number) for number in range(5))), "nothing")
    scan = table.scan()
    sizes = [file.size for file in table.files()]
    assert [len(task) for task in scan.tasks()] == [5]
    monkeypatch.setattr(format_tables, "_TASK_BYTES", sizes[0] + sizes[1])
    assert [len(task) for task in scan.tasks()] == [2, 2, 1]
    monkeypatch.setattr(format_tables, "_TASK_BYTES", 1)
    tasks = scan.tasks()
    assert [len(task) for task in tasks] == [1] * 5
    found = [row for task in tasks for file in task for batch in scan.reader().read(file) for row in batch.to_pylist()]
    assert found == [{"id": number, "p": number} for number in range(5)]
    assert list(made(tmp_path / "none", {"id": "INT"}).scan().tasks()) == []
    (lost,) = tasks[3]
    Path(lost.path).unlink()
    with pytest.raises(MissingFile, match="was there when the read began") as error:
        list(scan.read(lost))
    assert lost.path in str(error.value)
    assert repr(table) == f"<FormatTable {tmp_path}: {table.schema!r}>"
    assert table.hidden_fields == ()


@pytest.mark.parametrize("file_format", ["parquet", "csv", "json"])
def test_partition_columns_of_each_format(file_format: str, tmp_path: Path) -> None:
    table = made(tmp_path, {"p": "INT", "id": "INT", "s": "STRING"}, ("p",), **{"file.format": file_format})
    publish(table, staged(table, (7, 1, "a"), (8, 2, None)), "nothing")
    assert rows_of(table) == [(7, 1, "a"), (8, 2, None)]
    assert table.scan(["s", "p"], "id = 1").to_arrow().to_pylist() == [{"s": "a", "p": 7}]
    assert table.scan(["id"], "p = 8").to_arrow().to_pylist() == [{"id": 2}]


def test_rows_of_partitions_that_an_overwrite_does_not_replace(tmp_path: Path) -> None:
    table = made(tmp_path, {"id": "INT", "p": "INT", "q": "STRING"}, ("p", "q"))
    columns = {"id": [1, 2], "p": [1, 2], "q": ["a", None]}
    batch = pa.RecordBatch.from_pydict(columns, schema=arrow_schema(table.table.schema.fields))
    check_in_patterns(table, batch, "all")
    check_in_patterns(table, batch.slice(0, 0), ({"p": 9},))
    check_in_patterns(table, batch, ({"p": 1, "q": "a"}, {"q": None}))
    for patterns, shown in ((({"p": 1},), "p = 2, q = None"), (({"p": 1, "q": None}, {"p": 2}), "p = 1, q = a")):
        with pytest.raises(DataError, match=f"a row has {shown}, which the condition does not choose"):
            check_in_patterns(table, batch, patterns)


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_a_store_that_fails_at_any_operation_of_a_task(file_format: str, tmp_path: Path) -> None:
    table = made(tmp_path / "t", {"id": "INT"}, **{"file.format": file_format})
    rows = pa.RecordBatch.from_pydict({"id": pa.array([1], pa.int32())})

    def work(writer: FormatWriter) -> None:
        writer.write(rows)
        writer.finish()

    whole = FaultyFileIO(LocalFileIO())
    counted = FormatWriter(replace(table, table=replace(table.table, file_io=whole)), "job")
    work(counted)
    operations = len(whole.log)
    counted.abort()
    for at in range(operations):
        store = FaultyFileIO(LocalFileIO(), at)
        writer = FormatWriter(replace(table, table=replace(table.table, file_io=store)), "job")
        with pytest.raises((InjectedFault, StorageError)):
            work(writer)
        store.at = None
        writer.abort()
        assert names(tmp_path) == set()


@pytest.mark.parametrize("name", [".", ".."])
def test_a_null_leads_to_no_other_directory(name: str, tmp_path: Path) -> None:
    """The option names the directory of NULL, and whoever made the table wrote the option."""
    options = {"format-table.partition-path-only-value": "true", "partition.default-name": name}
    (tmp_path / "victim.parquet").write_bytes(b"of others")
    table = made(tmp_path / "t", {"a": "INT", "p": "STRING"}, ("p",), **{"file.format": "parquet", **options})
    with pytest.raises(DataError, match=r"which leads out of the table; set 'partition\.default-name'"):
        staged(table, (1, None))
    assert [one.name for one in tmp_path.rglob("*") if one.is_file()] == ["victim.parquet"]
