"""How the files of indexes are read: in few pieces, each of which may be a request to a store; and never half."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pytest
from support.faults.counting_store import RangeStore
from support.tables.compacting import make, write

from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import FileIO
from paimon_spark.store.read.splits import Split
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("s", pa.string()), ("n", pa.int64()), ("kind", pa.string())])
ROWS = 20_000
OPTIONS = {
    "bucket": "-1",
    "metadata.stats-mode": "none",
    "file-index.in-manifest-threshold": "0 b",
    "file-index.bloom-filter.columns": "s",
    "file-index.bloom-filter.s.items": str(ROWS),
    "file-index.range-bitmap.columns": "n",
    "file-index.bitmap.columns": "kind",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of one file, with 7 times each number below ROWS in n."""
    path = tmp_path_factory.mktemp("indexed")
    write(make(path, COLUMNS, (), OPTIONS), [(f"s{i}", 7 * i, f"kind {i % 50}") for i in range(ROWS)])
    return path


@pytest.mark.parametrize(
    ("where", "files", "most"),
    [
        ("s = 's77'", 1, 5),  # the head, the beginning of the filter, and up to three of its bits
        ("s = 'none'", 0, 5),
        ("kind = 'kind 7'", 1, 3),  # the head, the entries, a bitmap
        ("kind = 'none'", 0, 2),
        ("n = 70000", 1, 4),  # the head, the beginning of the dictionary, a chunk of its keys, all slices
        ("n between 70001 and 70006", 0, 3),
        ("n >= 70000 and n < 70050", 1, 4),
        ("n > 140000", 0, 2),
        ("n > 139000", 1, 4),
    ],
)
def test_an_index_is_read_in_few_pieces(path: Path, where: str, files: int, most: int) -> None:
    table = open_table(str(path))
    store = RangeStore(table.file_io)
    plan = replace(table, file_io=store).scan(where=where).plan()  # type: ignore[arg-type]  # it passes everything on
    assert sum(split.file_count for split in plan.splits) == files
    (ranges,) = (ranges for file, ranges in store.ranges.items() if file.endswith(".index"))
    assert len(ranges) <= most


def test_all_rows_of_a_range_are_found(path: Path) -> None:
    scan = open_table(str(path)).scan(["n"], where="n >= 70000 and n < 70050")
    (split,) = scan.plan().splits
    assert isinstance(split, Split)
    assert split.selections
    assert scan.to_arrow().column("n").to_pylist() == list(range(70000, 70050, 7))


class _Cut(io.BytesIO):
    """A file that another process cuts after it was opened."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(size)[:3000]


@dataclass
class _CutStore:
    inner: FileIO

    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        return _Cut(self.inner.read_bytes(path))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_an_index_that_is_cut_while_it_is_read_is_refused(path: Path) -> None:
    """What a number lacks must not make it a smaller one."""
    table = open_table(str(path))
    cut = replace(table, file_io=_CutStore(table.file_io))  # type: ignore[arg-type]  # it passes everything on
    for where in ("s = 's77'", "kind = 'kind 7'", "n = 70000"):
        with pytest.raises(CorruptFile, match=r"\.index: it ends before byte"):
            cut.scan(where=where).plan()
