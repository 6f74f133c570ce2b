"""Three-valued logic against Spark itself: drawn conditions with and without NULL, on columns of each kind of type.

Spark pads the texts of a CHAR column only where it knows the column from a stored table, so one is made.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession, functions

from paimon_spark.arrow.predicates.evaluate import evaluate
from paimon_spark.arrow.predicates.expressions import bind, col
from paimon_spark.arrow.predicates.sql_text import parse_predicate
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root

pytestmark = pytest.mark.spark

TYPES: dict[str, tuple[str, DataType, list[str], list[str]]] = {
    "c": ("CHAR(4)", DataType(Root.CHAR, length=4), ["'ab'", "'a'", "''", "'abcd'"], ["'ab'", "'ab  '", "'abcdef'"]),
    "v": ("VARCHAR(6)", DataType(Root.VARCHAR, length=6), ["'ab'", "'ab '", "''"], ["'ab'", "'ab  '", "''"]),
    "s": ("STRING", DataType(Root.VARCHAR, length=MAX_LENGTH), ["'ab'", "'b'", "''"], ["'ab'", "''"]),
    "n": ("INT", DataType(Root.INT), ["1", "0", "-1"], ["1", "0", "1.5", "99999999999"]),
    "x": (
        "DOUBLE",
        DataType(Root.DOUBLE),
        ["0D", "-0D", "1.5D", "double('NaN')"],
        ["0.0", "1.5D", "1", "double('NaN')"],
    ),
    "z": ("DOUBLE", DataType(Root.DOUBLE), ["0D", "-0D", "1.5D", "double('NaN')"], ["0.0", "1.5D"]),
    "y": ("DATE", DataType(Root.DATE), ["date'2020-01-01'", "date'2021-01-01'"], ["date'2020-01-01'", "'2021-01-01'"]),
    "b": ("BOOLEAN", DataType(Root.BOOLEAN), ["true", "false"], ["true", "false"]),
}
"""Column -> its type in SQL, the same as ours, values of rows, and literals."""
FIELDS = [DataField(i, name, found[1]) for i, (name, found) in enumerate(TYPES.items())]
ROWS = 40
CONDITIONS = 600


def leaf(draw: random.Random) -> str:
    name = draw.choice(list(TYPES))
    literals = [*TYPES[name][3], "NULL"]
    one, other = draw.choice(literals), draw.choice(literals)
    listed = ", ".join(draw.choice(literals) for _ in range(draw.randint(1, 3)))
    operator = draw.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
    return draw.choice([
        f"{name} {operator} {one}", f"{one} {operator} {name}", f"{name} IN ({listed})", f"{name} NOT IN ({listed})",
        f"{name} BETWEEN {one} AND {other}", f"{name} NOT BETWEEN {one} AND {other}", f"{name} IS NULL",
        f"{name} IN ({listed})", f"x {operator} z",
    ])  # fmt: skip


def condition(draw: random.Random) -> str:
    """A leaf, or two that are joined, negated or tested for a truth value."""
    one = f"({leaf(draw)})"
    test = draw.choice(["IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE"])
    forms = [one, one, f"NOT {one}", f"{one} {test}", f"{one} OR NOT ({leaf(draw)})", f"NOT ({one} AND ({leaf(draw)}))"]
    return draw.choice(forms)


@pytest.fixture(scope="module")
def stored(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place: Path = tmp_path_factory.mktemp("nulls") / "stored"
    columns = ", ".join(f"{name} {found[0]}" for name, found in TYPES.items())
    spark.sql(f"CREATE TABLE nulls_stored (i INT, {columns}) USING parquet LOCATION '{place}'")
    draw = random.Random(1)
    rows = [", ".join(draw.choice([*found[2], "NULL"]) for found in TYPES.values()) for _ in range(ROWS)]
    spark.sql("INSERT INTO nulls_stored VALUES " + ", ".join(f"({i}, {row})" for i, row in enumerate(rows)))
    yield "nulls_stored"
    spark.sql("DROP TABLE nulls_stored")


def rows_of(spark: SparkSession, stored: str) -> pa.RecordBatch:
    found = spark.sql(f"SELECT {', '.join(TYPES)} FROM {stored} ORDER BY i").toArrow()
    (batch,) = found.cast(arrow_schema(FIELDS)).combine_chunks().to_batches()
    return batch


@pytest.mark.parametrize("seed", range(3))
def test_a_condition_has_the_truth_value_of_spark_for_each_row(spark: SparkSession, stored: str, seed: int) -> None:
    draw, wrong = random.Random(seed), []
    asked = [condition(draw) for _ in range(CONDITIONS // 3)]
    asked += [f"c IN ({listed})" for listed in ("'ab', NULL", "NULL, 'ab  '", "'ab'", "'abcdef', 'a', NULL")]
    columns = ", ".join(f"cast(({text}) as boolean) c{i}" for i, text in enumerate(asked))
    answers = spark.sql(f"SELECT {columns} FROM {stored} ORDER BY i").toArrow()
    batch = rows_of(spark, stored)
    for text, theirs in zip(asked, answers.columns, strict=True):
        mine = evaluate(parse_predicate(text, FIELDS, "UTC"), batch).to_pylist()
        wrong += [] if mine == theirs.to_pylist() else [(text, mine, theirs.to_pylist())]
    assert wrong == []


def test_a_list_with_none_in_python_is_that_of_spark(spark: SparkSession, stored: str) -> None:
    batch = rows_of(spark, stored)
    for values in (["ab", None], ["ab  ", None], ["ab"], [None]):
        theirs = spark.table(stored).orderBy("i").select(functions.col("c").isin(values)).toArrow()
        assert evaluate(bind(col("c").isin(values), FIELDS, "UTC"), batch).to_pylist() == theirs[0].to_pylist(), values
