"""The ends of columns from metadata beside those of genuine Java: the same, wherever Java's are right.

PAIMON_BOUNDS_TABLES says how many random tables are asked.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import java_bounds
import pyarrow as pa
import pytest
from genuine import Genuine, table_path
from support.draws.counted_tables import draw_reads
from support.long_runs import run_seed, tries

from paimon_spark.arrow.types import arrow_type, to_internal
from paimon_spark.format.types import FLOATS, DataField, Root
from paimon_spark.store.open import ReadableTable
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.interop

SHARED_DAYS = -141_427  # 1582-10-15: ORC counts days before it in another calendar
COLUMNS = {
    "b": "BOOLEAN", "t": "TINYINT", "s": "SMALLINT", "i": "INT", "l": "BIGINT", "day": "DATE", "x": "DOUBLE",
    "text": "STRING",
}  # fmt: skip
ROWS = [
    (True, -128, 32767, -(2**31), 2**63 - 1, 18_000, 1.5, "a"),
    (None, None, None, None, None, None, float("nan"), None),
    (False, 127, -32768, 2**31 - 1, -(2**63), -1, -0.0, "é" * 40),
]


def ends(table: ReadableTable, field: DataField) -> java_bounds.Ends:
    low, high = table.scan().min(field.name), table.scan().max(field.name)
    made = [None if end is None else to_internal(pa.scalar(end, arrow_type(field.type))) for end in (low, high)]
    return made[0], made[1]


def known_without_a_read(table: ReadableTable, field: DataField) -> bool:
    return not table.scan().metadata_aggregates([field.name]).rest


def reads_by_rule(table: ReadableTable, field: DataField, known: java_bounds.Ends) -> bool:
    """Whether we read where Java takes statistics: of another type than the column has now, or of old days in ORC."""
    schemas = [table.schemas.load(number) for number in table.schemas.ids()]
    types = {other.type.root for schema in schemas for other in schema.fields if other.id == field.id}
    is_orc = table.schema.options.get("file.format") == "orc"
    return len(types) > 1 or (is_orc and field.type.root is Root.DATE and known[0] < SHARED_DAYS)


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_the_ends_of_files_of_java(java: Genuine, tmp_path: Path, file_format: str) -> None:
    path = table_path(tmp_path)
    options = {"bucket": "-1", "file.format": file_format, "deletion-vectors.enabled": "true"}
    java.create(path, COLUMNS, options=options)
    java.write(path, ROWS[:2], options={"write-only": "true"})
    java.write(path, ROWS[2:], options={"write-only": "true"})
    theirs, table = java.run(java_bounds.known_bounds, path), open_table(path)
    assert set(theirs) == {*COLUMNS} - {"text"}
    assert theirs["l"] == (-(2**63), 2**63 - 1)
    for name in {*theirs} - {"x"}:
        field = table.schema.by_name[name]
        assert (ends(table, field), known_without_a_read(table, field)) == (theirs[name], True), name
    # The statistics of ORC leave out NaN, the greatest value of Spark, so ends of fractions are read here.
    assert str(table.scan().max("x")) == "nan"
    assert str(theirs["x"][1]) == ("1.5" if file_format == "orc" else "nan")
    java.delete_positions(path, {java.files(path)[0][0]: [0]})
    assert java.run(java_bounds.known_bounds, path) == {}
    table = open_table(path)
    assert not known_without_a_read(table, table.schema.by_name["i"])


def test_the_ends_of_random_tables(java: Genuine, tmp_path: Path) -> None:
    roads: Counter[str] = Counter()
    for number in range(tries("PAIMON_BOUNDS_TABLES", 40, 1000)):
        read = next(iter(draw_reads(random.Random(f"{run_seed()}-{number}"), tmp_path)))
        table = open_table(read.path)
        for name, known in java.run(java_bounds.known_bounds, read.path).items():
            field = table.schema.by_name[name]
            if field.type.root in FLOATS:
                continue
            found = ends(table, field)
            if known == (None, None) and found != known:
                roads["java: none"] += 1  # it takes statistics that were not collected for those of nulls
                continue
            assert found == known, (read, name)
            is_read = known != (None, None) and not known_without_a_read(table, field)
            assert not is_read or reads_by_rule(table, field, known), (read, name)
            roads["same, but we read" if is_read else "same"] += 1
    print(dict(roads))
    assert roads["same"] > 0
