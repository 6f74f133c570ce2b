"""PARTITION (...): the columns that it names, and its literals as values of their types."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark.errors import SqlError
from paimon_spark.format.rules.new_tables import assign_field_ids
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.aligned_values import Naming
from paimon_spark.spark.statements.partition_specs import fixed_values, leading_values, required_values, whole_values
from paimon_spark.sql.text.cursor import PartitionValue
from paimon_spark.sql.text.literals import Value

pytestmark = pytest.mark.spark
FIELDS = [DataField(0, "dt", parse_type("STRING")), DataField(1, "h", parse_type("INT"))]


def test_columns_are_those_of_the_table(quick_spark: SparkSession) -> None:
    spec = (PartitionValue("DT", True, "x"), PartitionValue("h"))
    assert fixed_values(quick_spark, "t", FIELDS, spec) == {"dt": "x"}
    with pytest.raises(SqlError, match="nope is no partition column; those of the table are: dt, h"):
        fixed_values(quick_spark, "t", FIELDS, (PartitionValue("nope", True, 1),))
    with pytest.raises(SqlError, match="h has no value; write h"):
        required_values(quick_spark, "t", FIELDS, spec)


def test_where_letter_case_counts_columns_are_exact(quick_spark: SparkSession) -> None:
    exact = Naming(is_exact=True)
    with pytest.raises(SqlError, match="DT is no partition column"):
        fixed_values(quick_spark, "t", FIELDS, (PartitionValue("DT", True, "x"),), exact)
    both = [DataField(0, "DT", parse_type("STRING")), DataField(1, "dt", parse_type("STRING"))]
    twins = (PartitionValue("dt", True, "x"), PartitionValue("DT", True, "y"))
    assert fixed_values(quick_spark, "t", both, twins, exact) == {"dt": "x", "DT": "y"}
    with pytest.raises(SqlError, match="Dt may be several columns"):
        fixed_values(quick_spark, "t", both, (PartitionValue("Dt", True, "x"),))


def test_some_statements_name_the_first_columns_and_others_all(quick_spark: SparkSession) -> None:
    numbered, highest = assign_field_ids([*FIELDS, DataField(2, "v", parse_type("INT"))])
    schema = TableSchema(0, numbered, highest, ("dt", "h"), (), {}, None)
    first, second = PartitionValue("dt", True, "x"), PartitionValue("h", True, 1)
    assert leading_values(quick_spark, "t", schema, (first,)) == {"dt": "x"}
    assert leading_values(quick_spark, "t", schema, (second, first)) == {"dt": "x", "h": "1"}
    with pytest.raises(SqlError, match="h is given and dt is not"):
        leading_values(quick_spark, "t", schema, (second,))
    assert whole_values(quick_spark, "t", schema, (first, second)) == {"dt": "x", "h": "1"}
    with pytest.raises(SqlError, match="PARTITION of t: h needs a value too"):
        whole_values(quick_spark, "t", schema, (first,))


VALUES: list[tuple[str, Value, str, str | None]] = [
    ("STRING", 11, "", "11"),
    ("STRING", True, "", "true"),
    ("STRING", Decimal("1.50"), "", "1.50"),
    ("STRING", "2025-1-1", "DATE", "2025-01-01"),
    ("STRING", "2025-01-01", "TIMESTAMP", "2025-01-01 00:00:00"),
    ("STRING", 1e20, "", "1.0E20"),
    ("INT", 11, "", "11"),
    ("INT", " 12 ", "", "12"),
    ("INT", None, "", None),
    ("DATE", "2025-1-1", "", "2025-01-01"),
    ("BOOLEAN", 1, "", "true"),
    ("DECIMAL(5, 2)", Decimal("1.555"), "", "1.56"),
    ("DOUBLE", 2, "", "2.0"),
    ("TIMESTAMP(6)", "2025-01-01", "DATE", "2025-01-01 00:00:00"),
]


@pytest.mark.parametrize(("data_type", "value", "word", "expected"), VALUES)
def test_a_literal_is_cast_by_its_text(
    quick_spark: SparkSession, data_type: str, value: Value, word: str, expected: str | None
) -> None:
    column = DataField(0, "p", parse_type(data_type))
    assert fixed_values(quick_spark, "t", [column], (PartitionValue("p", True, value, word),)) == {"p": expected}


@pytest.mark.parametrize(
    ("data_type", "value"),
    [("INT", "x"), ("INT", Decimal("12.6")), ("INT", True), ("INT", 2**31), ("TINYINT", 300), ("DATE", "soon")],
)
def test_a_literal_that_is_no_value_is_refused(quick_spark: SparkSession, data_type: str, value: Value) -> None:
    column = DataField(0, "p", parse_type(data_type))
    with pytest.raises(SqlError, match="is no value of the partition column p, which is"):
        fixed_values(quick_spark, "t", [column], (PartitionValue("p", True, value),))


def test_an_overwrite_of_a_whole_partition_empties_it_if_there_is_no_row(
    quick_spark: SparkSession, tmp_path: Path
) -> None:
    """Spark: with a value for every partition column no row chooses a partition, whatever the session says."""
    cat = paimon_spark.catalog(quick_spark, str(tmp_path))
    cat.sql("CREATE DATABASE d")
    cat.sql("CREATE TABLE d.t (id INT, dt STRING, h INT) PARTITIONED BY (dt, h)")
    cat.sql("INSERT INTO d.t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 1)")
    quick_spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        cat.sql("INSERT OVERWRITE d.t PARTITION (h = 1, dt = 'a') SELECT 9 WHERE false")
        assert sorted(row.id for row in cat.table("d.t").collect()) == [2, 3]
        cat.sql("INSERT OVERWRITE d.t PARTITION (dt = 'b', h) SELECT 9, 7 WHERE false")
        assert sorted(row.id for row in cat.table("d.t").collect()) == [2, 3]
    finally:
        quick_spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
