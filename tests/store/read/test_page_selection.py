"""Rows read from some pages of a file: the same rows, at the same places, as the whole file filtered."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.draws.indexed_tables import POOLS, draw_condition
from support.faults.counting_store import RangeStore
from support.long_runs import run_seed, tries

from paimon_spark.arrow.conform import conform_batch
from paimon_spark.arrow.formats.data_file import open_reader
from paimon_spark.arrow.formats.physical_schema import parquet_schema
from paimon_spark.arrow.predicates.evaluate import filter_batch
from paimon_spark.arrow.predicates.predicate import Compare, Op, Predicate, and_, or_
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import new_schema
from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.manifest import EMPTY_ROW, EMPTY_STATS, DataFileMeta
from paimon_spark.format.schema import POSITION, TableSchema
from paimon_spark.store.read.file_rows import FileRequest, StoredFile, read_file

NESTED = {
    "l": pa.list_(pa.int64()),
    "s": pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))]),
    "m": pa.map_(pa.string(), pa.int64()),
}
CODECS = ("none", "snappy", "gzip", "zstd", "lz4", "brotli")


def stored(path: Path, schema: TableSchema, rows: pa.Table, **options: Any) -> StoredFile:
    """A file of another writer, in the physical types that Java writes."""
    physical = parquet_schema(schema.fields)
    batches = [conform_batch(batch, physical) for batch in rows.combine_chunks().to_batches()]
    pq.write_table(pa.Table.from_batches(batches, physical), path, store_schema=False, **options)
    meta = DataFileMeta(
        path.name, path.stat().st_size, rows.num_rows, EMPTY_ROW, EMPTY_ROW, EMPTY_STATS, EMPTY_STATS, 0, 0, 0, 0
    )
    return StoredFile(str(path), meta, schema, {})


def read(file: StoredFile, request: FileRequest, batch_rows: int = 65536) -> pa.Table:
    batches = list(read_file(LocalFileIO(), file, request, batch_rows))
    schema = arrow_schema(request.fields)
    if request.positions:
        schema = schema.append(pa.field(POSITION, pa.int64(), nullable=False))
    return pa.Table.from_batches(batches, schema)


def drawn_rows(draws: random.Random, value_type: pa.DataType, count: int) -> pa.Table:
    """Values in runs, so that pages differ: some have one value, some no value, some all kinds."""
    pool = list(POOLS[value_type])
    values: list[Any] = []
    while len(values) < count:
        some = draws.choice([[None], [draws.choice(pool)], draws.sample(pool, min(2, len(pool))), [*pool, None]])
        values += [draws.choice(some) for _ in range(draws.randint(1, 40))]
    if draws.random() < 0.3 and value_type != pa.bool_():
        values.sort(key=lambda value: (value is None, value != value, value if value == value else 0))
    lists = [None if draws.random() < 0.1 else [draws.randint(0, 9)] * draws.randint(0, 4) for _ in range(count)]
    texts = [None if draws.random() < 0.1 else ["x" * draws.randint(0, 9)] * draws.randint(0, 3) for _ in range(count)]
    columns = {
        "id": pa.array(range(count), pa.int64()),
        "v": pa.array(values[:count], value_type),
        "w": pa.array([draws.choice([None, 1, 2]) for _ in range(count)], pa.int32()),
        "l": pa.array(lists, NESTED["l"]),
        "s": pa.array([None if b is None else {"a": len(b), "b": b} for b in texts], NESTED["s"]),
        "m": pa.array([None if b is None else [(k, 1) for k in set(b)] for b in texts], NESTED["m"]),
    }
    return pa.table(columns)


def written_as(draws: random.Random, count: int) -> dict[str, Any]:
    """How a file is written: pages of a few rows up to one page for all."""
    return {
        "write_page_index": draws.random() < 0.95,
        "data_page_version": draws.choice(["1.0", "2.0"]),
        "compression": draws.choice(CODECS),
        "use_dictionary": draws.choice([True, False, ["v"]]),
        "data_page_size": draws.choice([8, 8, 100, 1000, 2**20]),
        "write_batch_size": draws.choice([1, 7, 20, 64]),
        "row_group_size": draws.choice([count, count, max(count // 3, 1)]),
        "write_page_checksum": draws.random() < 0.5,
        "store_decimal_as_integer": draws.random() < 0.5,
        "write_statistics": draws.choice([True, True, ["id"]]),
    }


def let_small_files_have_ranges(monkeypatch: pytest.MonkeyPatch, draws: random.Random) -> None:
    """Files of some hundred rows must have ranges too."""
    monkeypatch.setattr("paimon_spark.store.read.rows_to_read.NEAR_ROWS", draws.choice([1, 5, 50]))
    monkeypatch.setattr("paimon_spark.arrow.formats.parquet_file._ROWS_AT_ONCE", draws.choice([10, 100, 1000]))


def test_random_files_and_conditions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(tries("PAIMON_PAGE_FILES", 8, 3000)):
        draws = random.Random(f"{run_seed()}-{number}")
        let_small_files_have_ranges(monkeypatch, draws)
        value_type, count = draws.choice(list(POOLS)), draws.choice([1, 30, 200, 600])
        rows = drawn_rows(draws, value_type, count)
        schema = new_schema(rows.schema, (), (), {})
        options = written_as(draws, count)
        file = stored(tmp_path / "f.parquet", schema, rows, **options)
        whole = read(file, FileRequest(schema.fields, positions=True))
        assert whole[POSITION].to_pylist() == list(range(count))
        for _ in range(6):
            check(draws, file, whole, condition(draws, value_type), f"{run_seed()}-{number}, {options}")


def check(draws: random.Random, file: StoredFile, whole: pa.Table, where: Predicate, told: str) -> None:
    """Reads some columns with a condition, with deletions and a selection or without."""
    count, fields = whole.num_rows, file.schema.fields
    chosen = replace(file, deleted=some_rows(draws, count), selected=some_rows(draws, count))
    wanted = tuple(draws.sample(fields, draws.randint(0, len(fields))))
    wanted += tuple(field for field in fields if field.name in ("v", "w") and field not in wanted)
    request = FileRequest(wanted, prunes=where, probes=draws.random() < 0.5, positions=True)
    found = filtered(read(chosen, request, draws.choice([1, 17, 65536])), where)
    kept = np.ones(count, np.bool_)
    if chosen.selected is not None:
        kept = np.isin(np.arange(count), chosen.selected)
    if chosen.deleted is not None:
        kept[chosen.deleted] = False
    expected = filtered(whole.filter(pa.array(kept)), where).select(found.column_names)
    assert texts(found) == texts(expected), (told, where)


def some_rows(draws: random.Random, count: int) -> np.ndarray[Any, Any] | None:
    if draws.random() < 0.6:
        return None
    return np.array(sorted(draws.sample(range(count), draws.randint(0, count))), np.int64)


def filtered(rows: pa.Table, where: Predicate) -> pa.Table:
    return pa.Table.from_batches([filter_batch(where, batch) for batch in rows.to_batches()], rows.schema)


def texts(rows: pa.Table) -> list[str]:
    return list(map(repr, rows.to_pylist()))


def condition(draws: random.Random, value_type: pa.DataType) -> Predicate:
    found = draw_condition(draws, value_type, POOLS[value_type])
    if draws.random() < 0.7:
        return found
    other = Compare(("w",), draws.choice(list(Op)), draws.choice([0, 1, 2]))
    return and_(found, other) if draws.random() < 0.5 else or_(found, other)


IDS = new_schema(pa.schema([("id", pa.int64()), ("text", pa.string()), ("f", pa.float64())]), (), (), {})
COUNT = 50_000


def numbered(path: Path, **options: Any) -> StoredFile:
    """A big row group: ids ascend, texts and floats are in no order."""
    random_numbers = np.random.default_rng(5)
    columns = [
        pa.array(range(COUNT)),
        pa.array(map(str, random_numbers.integers(0, 2**60, COUNT).tolist())),
        pa.array(random_numbers.random(COUNT)),
    ]
    rows = pa.table(columns, names=["id", "text", "f"])
    defaults = {"write_page_index": True, "data_page_size": 4096, "row_group_size": COUNT, "use_dictionary": False}
    return stored(path / "f.parquet", IDS, rows, **defaults | options)


def bytes_of(file: StoredFile, request: FileRequest) -> tuple[int, int]:
    """How many rows are read, and how many bytes of the file."""
    store = RangeStore(LocalFileIO())
    rows = sum(batch.num_rows for batch in read_file(store, file, request))
    return rows, store.bytes_read(file.path)


def by_id(op: Op, value: int, **more: Any) -> FileRequest:
    return FileRequest(IDS.fields, prunes=Compare(("id",), op, value), **more)


@pytest.mark.parametrize("probes", [False, True])
def test_a_row_is_read_from_its_pages(tmp_path: Path, probes: bool) -> None:
    file = numbered(tmp_path)
    rows, size = bytes_of(file, by_id(Op.EQ, 31_234, probes=probes))
    assert rows == 1 if probes else rows < 2000
    assert size < file.meta.file_size / 10


def test_without_a_page_index_all_is_read(tmp_path: Path) -> None:
    file = numbered(tmp_path, write_page_index=False)
    rows, size = bytes_of(file, by_id(Op.EQ, 31_234))
    assert (rows, size > file.meta.file_size * 0.9) == (COUNT, True)


def test_rows_of_a_file_index_are_read_from_their_pages(tmp_path: Path) -> None:
    file = replace(numbered(tmp_path), selected=np.array([5, 6, 40_000], np.int64))
    rows, size = bytes_of(file, FileRequest(IDS.fields))
    assert (rows, size < file.meta.file_size / 5) == (3, True)


def test_other_columns_are_read_where_a_row_satisfies_the_condition(tmp_path: Path) -> None:
    """No bound of a page tells that a text is in it; the texts do, before ids and floats are read."""
    file = numbered(tmp_path)
    text = read(file, FileRequest(IDS.fields[1:2]))["text"][31_234].as_py()
    where = Compare(("text",), Op.EQ, text)
    late, first = (bytes_of(file, FileRequest(IDS.fields, prunes=where, probes=probes)) for probes in (True, False))
    assert late[0] == 1
    assert first[0] == COUNT
    assert first[1] > file.meta.file_size * 0.9
    assert late[1] < first[1] * 0.75


def test_rows_in_most_pages_are_not_read_page_by_page(tmp_path: Path) -> None:
    """Nothing is saved then, and each range of rows would be a batch."""
    data = Path(numbered(tmp_path, data_page_size=2**17).path).read_bytes()
    scattered = [(row, row + 1) for row in range(1000, COUNT, 12_000)]
    for rows, found in ((scattered[2:3], 1), (scattered, COUNT)):
        reader = open_reader(pa.BufferReader(data), "parquet", "data-1.parquet")
        assert sum(batch.num_rows for _, batch in reader.read(IDS.fields, 65536, None, rows)) == found


def test_damaged_indexes_are_named(tmp_path: Path) -> None:
    """Neither a crash nor other rows: the index is between the pages and the footer."""
    file = numbered(tmp_path)
    whole = Path(file.path).read_bytes()
    request = by_id(Op.EQ, 31_234)
    place = whole.rindex(b"\x19", 0, len(whole) - 600)
    for cut in (whole[:place] + b"\xff" * 12 + whole[place + 12 :],):
        Path(file.path).write_bytes(cut)
        with pytest.raises(CorruptFile, match=re.escape(file.path)):
            read(file, request)
