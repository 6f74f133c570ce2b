"""Row groups and pages in an explanation: as many as a read opens."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.faults.counting_store import RangeStore
from support.tables.compacting import make

from paimon_spark.arrow.parquet.page_index import decode_locations
from paimon_spark.arrow.parquet.thrift_compact import decode_struct, find
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.scan.scan_explanation import PartCounts
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

COUNT = 300_000
COLUMNS = pa.schema([("k", pa.int64()), ("v", pa.int64())])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of one file with three row groups: k ascends, v is in no order."""
    found = tmp_path_factory.mktemp("explained") / "t"
    table = make(found, COLUMNS, (), {"bucket": "-1"})
    random = np.random.default_rng(3)
    task = TableWrite(table, "u", 0)
    columns = [pa.array(range(COUNT)), pa.array(random.integers(0, 2**60, COUNT))]
    task.write(pa.record_batch(columns, schema=COLUMNS))
    TableCommit(table, "u").append(task.finish())
    return found


def pages_of(file: Path) -> list[tuple[int, int]]:
    """Where the data pages of all columns begin and end, as the page indexes say."""
    data = file.read_bytes()
    tree = decode_struct(data[-8 - struct.unpack("<I", data[-8:-4])[0] : -8])
    found = []
    for group in find(tree, 4).values:
        for chunk in find(group, 1).values:
            start, size = find(chunk, 4), find(chunk, 5)
            pages = decode_locations(data[start : start + size], find(group, 3))
            assert pages is not None
            found += [(a, a + b) for a, b in zip(pages.offsets.tolist(), pages.sizes.tolist(), strict=True)]
    return found


@pytest.mark.parametrize(
    ("where", "groups", "pages"),
    [
        ("k = 150000", 1, 2),
        ("k >= 150000 and k < 180000 and v >= 0", 1, 6),
        ("k >= 150000 and k < 250000 and v >= 0", 1, 14),  # most of the rows: all are read
        ("k = 5 or k = 299999", 2, 4),
        ("k = -1", 0, 0),
        ("v >= 0", 3, None),
    ],
)
def test_as_many_are_read(path: Path, where: str, groups: int, pages: int | None) -> None:
    table = open_table(str(path))
    (file,) = path.glob("bucket-0/*.parquet")
    every = pages_of(file)
    told = table.scan(where=where).explain()
    assert told is not None
    if not groups and told.parts == PartCounts():  # statistics of the file left it out
        return
    expected = PartCounts(3, groups, len(every), len(every) if pages is None else pages)
    assert told.parts == expected
    assert f"  left by page indexes: {expected.pages_left}" in str(told).splitlines()
    store = RangeStore(table.file_io)
    read = replace(table, file_io=store).scan(where=where)
    read.to_arrow()
    (ranges,) = (found for name, found in store.ranges.items() if name.endswith(".parquet"))
    opened = sum(any(first <= start and end <= last for first, last in ranges) for start, end in every)
    assert opened == expected.pages_left
