"""One data file: row groups left out, rows deleted, columns it lacks."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.tables.golden_tables import GoldenTable

from paimon_spark.arrow.formats.data_file import WriteSettings, open_writer
from paimon_spark.arrow.predicates.predicate import Compare, IsNull, Op, Predicate
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.manifest import EMPTY_ROW, EMPTY_STATS, DataFileMeta
from paimon_spark.format.schema import VALUE_KIND, VALUE_KIND_ID, TableSchema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.read.file_rows import FileRequest, StoredFile, read_file
from paimon_spark.tables.open import open_table

INT, TEXT = DataType(Root.INT), DataType(Root.VARCHAR, length=2**31 - 1)
P, A, B, C = DataField(0, "p", INT), DataField(1, "a", INT), DataField(2, "b", INT), DataField(3, "c", TEXT)
SCHEMA = TableSchema(0, (P, A, B, C), 3, ("p",))
ROWS, GROUP = 100, 10
KIND = DataField(VALUE_KIND_ID, VALUE_KIND, DataType(Root.TINYINT, nullable=False))


def stored(
    path: Path, columns: dict[DataField, list[Any]], file_format: str = "parquet", deleted: list[int] | None = None
) -> StoredFile:
    """A file with these columns, in row groups of ten."""
    count = len(next(iter(columns.values())))
    name = path / f"f.{file_format}"
    schema = arrow_schema(tuple(columns))
    arrays = [pa.array(values, field.type) for values, field in zip(columns.values(), schema, strict=True)]
    with LocalFileIO().open_output(str(name)) as sink:
        writer = open_writer(sink, file_format, tuple(columns), WriteSettings(row_group_rows=GROUP))
        writer.write(pa.RecordBatch.from_arrays(arrays, schema=schema))
        writer.close()
    meta = DataFileMeta(
        name.name, name.stat().st_size, count, EMPTY_ROW, EMPTY_ROW, EMPTY_STATS, EMPTY_STATS, 0, 0, 0, 0
    )
    found = None if deleted is None else np.array(deleted, np.int64)
    return StoredFile(str(name), meta, SCHEMA, {"p": 7}, found)


def numbers(path: Path, **more: Any) -> StoredFile:
    """a ascends, b repeats 0 to 9 within each group, c is the text of the row number."""
    columns: dict[DataField, list[Any]] = {
        P: [7] * ROWS,
        A: list(range(ROWS)),
        B: [i % 10 + (1000 if i == 55 else 0) for i in range(ROWS)],
        C: [str(i) for i in range(ROWS)],
    }
    return stored(path, columns, **more)


def read(file: StoredFile, request: FileRequest, batch_rows: int = 64) -> pa.Table:
    return pa.Table.from_batches(
        read_file(LocalFileIO(), file, request, batch_rows), arrow_schema((*request.fields, *request.system))
    )


def row_numbers(file: StoredFile, prunes: Predicate, probes: bool = False) -> list[int]:
    table = read(file, FileRequest((A, B, C), prunes=prunes, probes=probes))
    return [int(text) for text in table.column("c").to_pylist()]


def compare(column: str, op: Op, value: Any) -> Compare:
    return Compare((column,), op, value)


def test_whole_file(tmp_path: Path) -> None:
    table = read(numbers(tmp_path), FileRequest((C, A)))
    assert table.column_names == ["c", "a"]
    assert table.column("a").to_pylist() == list(range(ROWS))


def test_row_groups_that_cannot_match_are_skipped(tmp_path: Path) -> None:
    file = numbers(tmp_path)
    assert row_numbers(file, compare("a", Op.EQ, 42)) == list(range(40, 50))
    assert row_numbers(file, compare("a", Op.GE, 85)) == list(range(80, 100))
    assert row_numbers(file, compare("a", Op.EQ, 1000)) == []
    assert row_numbers(file, IsNull(("a",))) == []


def test_statistics_of_another_type_or_time_skip_nothing(tmp_path: Path) -> None:
    """As texts 10 is less than 9; and a column that came later is null in every row."""
    file = stored(tmp_path, {A: list(range(20)), B: [0] * 20, C: [str(i) for i in range(20)]})
    retyped, new = replace(C, type=INT), DataField(9, "new", INT)
    for where, count in [
        (compare("c", Op.EQ, 9), 20),
        (IsNull(("new",)), 20),
        (compare("new", Op.EQ, 0), 0),
        (compare("a", Op.EQ, 9), 10),
    ]:
        assert read(file, FileRequest((A, retyped, new), prunes=where)).num_rows == count


def test_columns_of_the_condition_are_read_first_where_that_may_save_the_others(tmp_path: Path) -> None:
    file = numbers(tmp_path)
    # Statistics of b say 0 to 9 of all groups but one; only the values tell.
    assert row_numbers(file, compare("b", Op.EQ, 20), probes=False) == list(range(50, 60))
    assert row_numbers(file, compare("b", Op.EQ, 20), probes=True) == []
    assert row_numbers(file, compare("b", Op.EQ, 1005), probes=True) == list(range(50, 60))


def test_a_condition_that_most_groups_satisfy_is_not_probed_to_the_end(tmp_path: Path) -> None:
    columns = {A: [i % 10 for i in range(50)] + [0, 9] * 25, B: [0] * 100, C: [str(i) for i in range(100)]}
    file = stored(tmp_path, columns)
    # The last groups hold no 5, which nobody finds out: four groups with one were enough to stop looking.
    assert row_numbers(file, compare("a", Op.EQ, 5), probes=True) == list(range(100))


def test_deleted_rows_are_counted_from_the_first_row_of_the_file(tmp_path: Path) -> None:
    file = numbers(tmp_path, deleted=[0, 3, 41, 42, 99])
    assert row_numbers(file, compare("a", Op.GE, 0)) == [i for i in range(100) if i not in (0, 3, 41, 42, 99)]
    assert row_numbers(file, compare("a", Op.EQ, 44)) == [40, *range(43, 50)]
    for batch_rows in (1, 7, 100):
        assert read(file, FileRequest((A,)), batch_rows).num_rows == 95


def test_every_row_deleted(tmp_path: Path) -> None:
    assert read(numbers(tmp_path, deleted=list(range(ROWS))), FileRequest((A,))).num_rows == 0


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_columns_an_append_file_lacks(file_format: str, tmp_path: Path) -> None:
    """Files imported from Hive: the partition comes from the manifest, a column that was not there yet is null."""
    file = stored(tmp_path, {A: [1, 2, 3], C: ["x", "y", None]}, file_format)
    table = read(file, FileRequest((B, P, A)))
    assert table.to_pydict() == {"b": [None] * 3, "p": [7] * 3, "a": [1, 2, 3]}
    assert read(file, FileRequest((P,))).to_pydict() == {"p": [7] * 3}


def test_conditions_see_the_partition_the_file_lacks(tmp_path: Path) -> None:
    file = stored(tmp_path, {A: list(range(30)), B: [0] * 30, C: [str(i) for i in range(30)]})
    request = FileRequest((A, B, C, P), prunes=compare("p", Op.EQ, 7), probes=True)
    assert read(file, request).num_rows == 30
    assert read(file, replace(request, prunes=compare("p", Op.EQ, 8))).num_rows == 0


def test_a_primary_key_file_that_lacks_a_column_is_damaged(tmp_path: Path) -> None:
    file = stored(tmp_path, {A: [1, 2, 3], C: ["x", "y", None]})
    keyed = replace(file, schema=replace(SCHEMA, primary_keys=("p", "a")))
    with pytest.raises(CorruptFile, match="lacks the columns b of schema 0, it has a, c"):
        read(keyed, FileRequest((A, B)))
    assert read(keyed, FileRequest((A, C, P))).num_rows == 3
    partial = replace(keyed, meta=keyed.meta._replace(write_cols=("a", "c")))
    assert read(partial, FileRequest((B,))).to_pydict() == {"b": [None] * 3}


def test_a_file_without_the_row_kind_it_should_have(tmp_path: Path) -> None:
    with pytest.raises(CorruptFile, match="lacks the columns _VALUE_KIND"):
        read(numbers(tmp_path), FileRequest((A,), (KIND,)))


def test_system_columns_follow_the_fields(tmp_path: Path) -> None:
    file = stored(tmp_path, {KIND: [0, 3, 1], A: [1, 2, 3]})
    assert read(file, FileRequest((B, A), (KIND,))).to_pydict() == {
        "b": [None] * 3,
        "a": [1, 2, 3],
        VALUE_KIND: [0, 3, 1],
    }


@pytest.mark.parametrize("count", [99, 101])
def test_another_number_of_rows_than_the_manifest_says(count: int, tmp_path: Path) -> None:
    file = numbers(tmp_path)
    with pytest.raises(CorruptFile, match=f"holds 100 rows, the manifest says {count}"):
        read(replace(file, meta=file.meta._replace(row_count=count)), FileRequest((A,)))


def test_a_deletion_vector_of_a_longer_file(tmp_path: Path) -> None:
    with pytest.raises(CorruptFile, match="deletes row 100, it has 100 rows"):
        read(numbers(tmp_path, deleted=[5, 100]), FileRequest((A,)))


def test_no_columns_at_all_still_counts_rows(tmp_path: Path) -> None:
    batches = read_file(LocalFileIO(), numbers(tmp_path, deleted=[1]), FileRequest(()), 30)
    assert sum(batch.num_rows for batch in batches) == 99


def test_the_option_of_orc_instants_reaches_the_reader(tmp_path: Path) -> None:
    """A table of Java 0.9 in Asia/Shanghai: taken as true instants its LTZ values are 8 hours off."""
    table = str(GoldenTable("java-0.9", "tz_orc_shanghai").unpack(tmp_path))
    as_written = open_table(table).scan().to_arrow()
    as_instants = open_table(table, {"orc.timestamp-ltz.legacy.type": "false"}).scan().to_arrow()
    for name in as_written.schema.names:
        if getattr(as_written.schema.field(name).type, "tz", None) is None:
            assert as_written.column(name).equals(as_instants.column(name))
        else:
            shift = pc.subtract(as_written.column(name), as_instants.column(name)).cast(pa.duration("s"), safe=False)
            assert set(shift.drop_null().to_pylist()) == {timedelta(hours=8)}
