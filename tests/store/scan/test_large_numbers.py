"""Numbers that fit in no machine word, or name no year of a calendar: a result or a PaimonError."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.tables.staging import put

from paimon_spark import open_table
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import SnapshotNotFound


@pytest.fixture
def place(tmp_path: Path) -> str:
    create_table(str(tmp_path), new_schema(pa.schema([("id", pa.int64())]), (), (), {}))
    put(open_table(str(tmp_path)), [(1,)])
    return str(tmp_path)


def test_the_first_rows_of_fewer(place: str) -> None:
    assert open_table(place).scan().head(10**30).to_pylist() == [{"id": 1}]
    assert open_table(place).system_table("files").head(10**30).num_rows == 1


def test_a_time_before_the_first_year(place: str) -> None:
    with pytest.raises(SnapshotNotFound, match=f"as of -146136543-09-08 .*-{2**62}.: no snapshot is that old"):
        open_table(place, {"scan.timestamp-millis": str(-(2**62))})
