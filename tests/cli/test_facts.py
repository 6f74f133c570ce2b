"""What `info` and `plot` count."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from support.tables.compacting import make, write

from paimon_spark.cli.facts import view_table
from paimon_spark.cli.picture.tree import runs_of_partitions


def test_null_and_the_text_null_are_two_partitions(tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.int32()), ("dt", pa.string())])
    table = make(tmp_path / "t", columns, ["id"], {"bucket": "1"}, ["dt"])
    for number in range(3):
        write(table, [(number, None), (number, "null")])
    view = view_table(table.location, {}, None)
    assert view.facts.stored.most_runs == 3
    assert [partition.runs for partition in runs_of_partitions(view.runs)] == [3]
