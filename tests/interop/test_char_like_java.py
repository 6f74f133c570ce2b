"""The core of Java Paimon pads no CHAR: its rows are found, shown padded, and changed beside those that we padded."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from genuine import Genuine, table_path
from pyspark.sql import SparkSession
from support.long_runs import LONG, draws
from support.oracles.checker import check_table

from paimon_spark import PaimonTable, open_table

pytestmark = [pytest.mark.interop, pytest.mark.spark]
COLUMNS = {"c": "CHAR(4) NOT NULL", "v": "INT NOT NULL"}
INDEXED = {"file-index.bloom-filter.columns": "c", "file-index.bitmap.columns": "c"}
TEXTS = ["a", "b ", "c   ", "long", "\u00e9"]
CONDITIONS = {
    "c = '{}'": lambda text, literal: text == literal.ljust(4),
    "c <=> '{}'": lambda text, literal: text == literal.ljust(4),
    "c IN ('{}', 'q')": lambda text, literal: text == literal.ljust(4),
    "c >= '{}'": lambda text, literal: text >= literal.ljust(4),
    "c < '{}'": lambda text, literal: text < literal.ljust(4),
    "c LIKE '{}%'": lambda text, literal: text.startswith(literal),
}


@pytest.mark.parametrize("keys", [["c"], [], ["c", "v"]], ids=["key", "append", "partition"])
@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_rows_of_java_and_ours_are_found_by_one_text(
    keys: list[str], file_format: str, java: Genuine, quick_spark: SparkSession, tmp_path: Path
) -> None:
    path = table_path(tmp_path)
    partitions = ["c"] if len(keys) == 2 else []
    options = {"bucket": "2", "bucket-key": "v" if partitions else "c", "file.format": file_format, **INDEXED}
    java.create(path, COLUMNS, keys=keys, partitions=partitions, options=options)
    java.write(path, [(text, number) for number, text in enumerate(TEXTS)])
    ours = quick_spark.createDataFrame([(text, 10 + number) for number, text in enumerate(TEXTS)], "c string, v int")
    table = PaimonTable.forPath(quick_spark, path)
    table.append(ours)
    rows = sorted(tuple(row) for row in table.toDF().collect())
    assert {text for text, _ in rows} == {text.ljust(4) for text in TEXTS}
    if not keys or partitions:  # where c is the key, ours replaces the texts that are long enough, and ORC pads all
        assert len(rows) == 2 * len(TEXTS)
    asked = list(itertools.product(CONDITIONS, ("a", "b  ", "c", "long", "\u00e9")))
    for condition, literal in asked:
        text = condition.format(literal)
        expected = [row for row in rows if CONDITIONS[condition](row[0], literal)]
        found = open_table(path).scan(where=text).to_arrow().to_pydict()  # it shows the texts as they are stored
        assert sorted((c.ljust(4), v) for c, v in zip(found["c"], found["v"], strict=True)) == expected, text
    for condition, literal in asked if LONG else draws().sample(asked, 4):  # each takes jobs of Spark
        text = condition.format(literal)
        expected = [row for row in rows if CONDITIONS[condition](row[0], literal)]
        for frame in (table.toDF(where=text), table.toDF().where(text)):
            assert sorted(map(tuple, frame.collect())) == expected, text
    check_table(path)


def test_java_reads_what_row_changes_leave_of_its_rows(
    java: Genuine, quick_spark: SparkSession, tmp_path: Path
) -> None:
    path = table_path(tmp_path)
    java.create(path, COLUMNS, keys=["c"], options={"bucket": "2"})
    java.write(path, [("a", 1), ("b", 2), ("c", 3)])
    table = PaimonTable.forPath(quick_spark, path)
    table.append(quick_spark.createDataFrame([("b", 4)], "c string, v int"))
    table.update("c = 'b'", {"v": "v * 10"})
    table.delete("c = 'c'")
    assert sorted(row for _, row in java.read(path)) == [("a", 1), ("b", 20), ("b   ", 40)]
    java.write(path, [("b", 0)], ["-D"])
    assert sorted(map(tuple, table.toDF().collect())) == [("a   ", 1), ("b   ", 40)]
    check_table(path)
