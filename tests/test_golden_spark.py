"""Genuine tables through Spark: at least 20, of every writer, with and without keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from support.oracles.comparing import comparable
from support.tables.golden_tables import GoldenTable, expected_rows, unpack_with_geometry

from paimon_spark import open_table

pytestmark = pytest.mark.spark

TABLES = [
    *(GoldenTable("java-0.7", name) for name in ("append_bucketed", "dyn_bucket", "overwrite", "schema_evo")),
    *(GoldenTable("java-0.9", name) for name in ("append_part", "drop_part", "key_types", "neg_ts_parquet")),
    *(GoldenTable("java-0.9", name) for name in ("pk_dedup_writeonly", "pk_dv", "pk_part_buckets", "tags_branches")),
    *(GoldenTable("java-2.1", name) for name in ("append_compacted", "append_dv32", "append_part", "bucket_mod")),
    *(GoldenTable("java-2.1", name) for name in ("cl_lookup", "data_dir", "file_index_21", "part_date_new")),
    *(GoldenTable("java-2.1", name) for name in ("per_level_format", "pk_dv64", "pk_dv_l0", "pk_seq_desc")),
    *(GoldenTable("java-2.1", name) for name in ("pk_thin", "row_tracking", "schema_evo", "vector")),
    *(GoldenTable("java-2.1", name) for name in ("blob", "data_evolution")),
    *(GoldenTable("pypaimon-2.1.0", name) for name in ("append_part", "pk_dedup", "types_orc")),
    *(GoldenTable("pypaimon-rust-0.4.0", name) for name in ("pk_dedup", "types_avro", "types_parquet")),
]


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_spark_reads_as_its_writer(table: GoldenTable, unpadded: SparkSession, tmp_path: Path) -> None:
    path = str(table.unpack(tmp_path))
    types = [field.type for field in open_table(path).schema.fields]
    rows = unpadded.read.format("paimon").load(path).toArrow()
    assert comparable(rows) == expected_rows(table.expectation()["rows"], types)


def test_a_column_without_a_reader_is_refused_and_the_others_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """A schema that left it out would hide that there is such a column."""
    path = str(unpack_with_geometry(tmp_path))
    reader = spark.read.format("paimon")
    advice = r"column 'e' has the type GEOMETRY.*\.option\(\"columns\", \"id\"\)"
    with pytest.raises(AnalysisException, match=advice):
        reader.load(path)
    with pytest.raises(PySparkException, match=advice):
        reader.schema("id int, e string").load(path).collect()
    assert sorted(row.id for row in reader.schema("id int").load(path).collect()) == [1, 2]
    assert [row.id for row in reader.option("columns", "id").load(path).where("id > 1").collect()] == [2]
