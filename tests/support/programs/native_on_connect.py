"""A Connect session in which Spark reads files itself. Run by test_native_on_connect."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

from paimon_spark import open_table
from paimon_spark.spark.native.read_table import ReadRequest, read_table
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.read.splits import Split
from support.oracles.comparing import comparable
from support.programs.connect_session import session_on_a_free_port
from support.tables.compacting import compact, make, write
from support.tables.three_files import delete_rows

COLUMNS = pa.schema([pa.field("k", pa.int32(), nullable=False), ("p", pa.string()), ("v", pa.float64())])


def key_table(path: Path) -> ReadableTable:
    """A compacted file in each of two buckets, and one to merge."""
    table = make(path, COLUMNS, ["k"], {"bucket": "2"})
    write(table, [(number, "ü b", float(number)) for number in range(20)])
    compact(table)
    write(table, [(7, None, float("nan"))])
    return open_table(path.as_posix())


def append_table(path: Path) -> ReadableTable:
    """Two partitions, and a deletion vector."""
    table = make(path, COLUMNS, (), {"bucket": "-1", "deletion-vectors.enabled": "true"}, ["p"])
    write(table, [(1, "a", -0.0), (2, "a", 1.0), (3, "b", None)])
    (split,) = open_table(table.location).scan(where="p = 'a'").plan().splits
    assert isinstance(split, Split)
    delete_rows(table, split.raw_files[0].file_name, "a", 1)
    return open_table(table.location)


def main(lake: str) -> None:
    spark = session_on_a_free_port()
    for table, native, local in ((key_table(Path(lake, "k")), 1, True), (append_table(Path(lake, "a")), 2, False)):
        for columns, where in ((None, None), (("v", "k"), "v > 5 or k = 1"), (("p",), "k = 7")):
            made = read_table(spark, ReadRequest(table.location, {"read.local": "false"}, columns, where))
            mine = open_table(table.location).scan(columns, where).to_arrow()
            assert comparable(made.frame.toArrow()) == comparable(mine), (table.location, where)
            assert made.explanation.local_rows == (local and where == "k = 7"), made.explanation
            small = read_table(spark, ReadRequest(table.location, {}, columns, where))
            assert small.explanation.local_rows == (local or where != "k = 7")  # no file is left of the other table
            assert comparable(small.frame.toArrow()) == comparable(mine), (table.location, where)
        made = read_table(spark, ReadRequest(table.location, {"read.local": "false"}, ()))
        assert (made.explanation.native_files, made.frame.count()) == (native, table.scan().count())
    print("native reads are as they should be")


if __name__ == "__main__":
    main(*sys.argv[1:])
