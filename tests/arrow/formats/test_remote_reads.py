"""Data files on stores where each read is a request: few and large reads, and the same rows."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.draws.typed_batches import rows_of

from paimon_spark.arrow.formats import parquet_file
from paimon_spark.arrow.formats.data_file import WriteSettings, open_reader, open_writer
from paimon_spark.arrow.formats.patched_file import PatchedFile, ReadAhead
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root

FIELDS = (
    *(DataField(i, f"c{i}", DataType(Root.BIGINT)) for i in range(8)),
    DataField(8, "s", DataType(Root.VARCHAR, length=MAX_LENGTH)),
)


class CountingFile(io.BytesIO):
    """A file object that notes its reads."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.reads: list[int | None] = []

    def read(self, size: int | None = -1) -> bytes:
        self.reads.append(size)
        return super().read(size)


def batch(rows: int = 40_000) -> pa.RecordBatch:
    random = np.random.default_rng(9)
    columns: list[Any] = [random.integers(0, 2**60, rows) for _ in range(8)]
    return pa.RecordBatch.from_arrays(
        [*map(pa.array, columns), pa.array(map(str, columns[0]))], schema=arrow_schema(FIELDS)
    )


def written(file_format: str) -> bytes:
    sink = io.BytesIO()
    writer = open_writer(sink, file_format, FIELDS, WriteSettings(row_group_rows=2000))
    writer.write(batch())
    writer.close()
    return sink.getvalue()


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_few_reads(file_format: str) -> None:
    source = CountingFile(written(file_format))
    reader = open_reader(source, file_format, "data-1")
    found = pa.Table.from_batches([part for _, part in reader.read(FIELDS, 10_000)], arrow_schema(FIELDS))
    assert rows_of(found.slice(0, 50)) == rows_of(batch().slice(0, 50))
    assert found.to_batches()[-1].column(8)[-1] == batch().column(8)[-1]
    assert len(source.reads) <= 12  # 20 row groups of 9 columns
    reader.close()
    assert source.closed


def test_remote_parquet_is_fetched_in_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written("parquet")
    monkeypatch.setattr(parquet_file, "_REMOTE_WINDOW_BYTES", 400_000)  # two or three row groups
    source = CountingFile(data)
    reader = open_reader(source, "parquet", "data-1")
    reads_before = len(source.reads)
    positions = []
    for first, part in reader.read(FIELDS, 10_000, [0, 1, 2, 3, 4, 7, 8, 9]):
        positions += range(first, first + part.num_rows)
        assert part.column(0).equals(batch().column(0).slice(first, part.num_rows))
        assert len(source.reads) - reads_before <= 2 * (1 + first // 4000)  # no further than the window
    assert positions == [*range(10_000), *range(14_000, 20_000)]


def test_a_file_with_another_end() -> None:
    data = bytes(range(256)) * 50
    file = PatchedFile(pa.BufferReader(data), 1000, b"the end")
    whole = data[:1000] + b"the end"
    assert file.size() == len(whole)
    for at, count in ((0, 10), (990, 20), (1000, 3), (1005, 50), (2000, 5), (0, -1), (998, 2)):
        file.seek(at)
        assert file.read(count) == (whole[at:] if count < 0 else whole[at : at + count])
    file.seek(-3, io.SEEK_END)
    assert (file.tell(), file.read()) == (len(whole) - 3, b"end")


def test_blocks_are_read_whole_and_kept() -> None:
    data = np.random.default_rng(1).bytes(10 * 2**20)
    source = CountingFile(data)
    ahead = ReadAhead(pa.PythonFile(source, mode="r"))
    for offset, count in ((0, 10), (2**22 - 5, 10), (100, 2**22), (9 * 2**20, 2**21), (len(data) + 5, 3), (7, 0)):
        assert ahead.read_at(count, offset) == data[offset : offset + count]
    assert len(source.reads) <= 4
