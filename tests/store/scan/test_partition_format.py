"""`partition.timestamp-format.strict`: partitions that say no time are not written."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.tables.commit_states import latest
from support.tables.compacting import make, rows_of, write
from support.tables.staging import put

from paimon_spark.errors import DataError

COLUMNS = pa.schema(
    [pa.field("k", pa.int32(), nullable=False), pa.field("dt", pa.string(), nullable=False), ("v", pa.int64())]
)
ROWS = [(1, "2026-11-08", 1), (2, "2026-11-09", 2), (3, "2026-11-10", 3), (4, "soon", 4)]
STRICT = {"partition.timestamp-format.strict": "true", "partition.timestamp-formatter": "yyyy-MM-dd"}


@pytest.mark.parametrize("bucket", ["1", "-1", "-2"])
def test_partitions_that_say_no_time_are_not_written(tmp_path: Path, bucket: str) -> None:
    table = make(tmp_path / f"t{bucket}", COLUMNS, ["k", "dt"], {"bucket": bucket, **STRICT}, ["dt"])
    put(table, ROWS[:2])
    with pytest.raises(DataError, match=r"partition dt=soon says no time .*partition\.timestamp-format\.strict"):
        put(table, ROWS[2:])
    assert latest(table).id == 1


def test_a_null_is_no_time_either(tmp_path: Path) -> None:
    table = make(
        tmp_path / "t", pa.schema([("dt", pa.string()), ("v", pa.int32())]), [], {"bucket": "-1", **STRICT}, ["dt"]
    )
    with pytest.raises(DataError, match="dt is null"):
        write(table, [(None, 1)])


@pytest.mark.parametrize("left_out", STRICT)
def test_otherwise_all_are_written(tmp_path: Path, left_out: str) -> None:
    options = {key: value for key, value in STRICT.items() if key != left_out}
    table = make(tmp_path / "t", COLUMNS, ["k", "dt"], options, ["dt"])
    write(table, ROWS)
    assert len(rows_of(table)) == 4
