"""Writes with clustering.columns: what a task buffers is sorted before it goes to files."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from support.tables.compacting import file_rows, make, rows_of, write

from paimon_spark.errors import OptionError, SchemaError
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite

COLUMNS = pa.schema([("p", pa.string()), ("a", pa.int32()), ("b", pa.int32())])
PLAIN = {"bucket": "-1"}
ROWS = [(p, (i * 7) % 40, (i * 11) % 40) for i in range(40) for p in "xy"]


def stored(table: Table) -> list[list[tuple[int, int]]]:
    """The rows of each file, in their order."""
    found = []
    for path in sorted(Path(table.location).glob("p=*/bucket-0/*.parquet")):
        found.append([(a, b) for _, a, b in file_rows(table, str(path), table.schema.fields)])
    return found


@pytest.mark.parametrize("strategy", ["order", "auto", "hilbert"])
def test_rows_are_sorted_within_their_partition(tmp_path: Path, strategy: str) -> None:
    options = {**PLAIN, "clustering.columns": "p,a,b", "clustering.strategy": strategy}
    table = make(tmp_path / "t", COLUMNS, [], options, ["p"])
    write(table, ROWS)
    files = stored(table)
    assert [len(rows) for rows in files] == [40, 40]
    assert [rows == sorted(rows) for rows in files] == [strategy == "order"] * 2
    near = [sum(abs(a - c) + abs(b - d) for (a, b), (c, d) in pairwise(rows)) for rows in files]
    given = [(a, b) for p, a, b in ROWS if p == "x"]
    assert max(near) < 0.8 * sum(abs(a - c) + abs(b - d) for (a, b), (c, d) in pairwise(given))
    assert rows_of(table) == sorted(ROWS, key=repr)


@pytest.mark.parametrize(
    ("options", "is_sorted"),
    [
        ({"clustering.columns": "a"}, True),
        ({"sink.clustering.by-columns": "a"}, True),
        ({"clustering.columns": "a", "clustering.incremental": "true"}, False),
        (
            {
                "clustering.columns": "a",
                "clustering.incremental": "true",
                "clustering.incremental.optimize-write": "true",
            },
            True,
        ),
        ({"clustering.columns": "a", "bucket": "1", "bucket-key": "b"}, False),
        ({"clustering.columns": ""}, False),
    ],
)
def test_when_a_write_sorts(tmp_path: Path, options: dict[str, str], is_sorted: bool) -> None:
    table = make(tmp_path / "t", COLUMNS, [], {**PLAIN, **options}, ["p"])
    write(table, ROWS)
    keys = [[a for a, _ in rows] for rows in stored(table)]
    assert [found == sorted(found) for found in keys] == [is_sorted] * 2


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    """They are refused where they are stored, and where another writer has stored them, in the write."""
    with pytest.raises(SchemaError, match="'nope', which is no column"):
        make(tmp_path / "refused", COLUMNS, [], {**PLAIN, "clustering.columns": "nope"})
    table = make(tmp_path / "t", COLUMNS, [], PLAIN)
    with pytest.raises(OptionError, match="'nope', which is no column"):
        TableWrite(replace(table, settings=table.settings.merged({"clustering.columns": "nope"})), "user")
