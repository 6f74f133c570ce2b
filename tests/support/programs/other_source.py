"""``python other_source.py FOLDER``: a session with a catalog reads a Python data source of another package."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import paimon_spark

_SOURCE = """
from pyspark.sql.datasource import DataSource, DataSourceReader

class DefaultSource(DataSource):
    @classmethod
    def name(cls): return "other"
    def schema(self): return "id int"
    def reader(self, schema): return Reader()

class Reader(DataSourceReader):
    def read(self, partition): yield (7,)
"""


def main(folder: str) -> None:
    Path(folder, "pyspark_other.py").write_text(_SOURCE)
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, os.environ["PYTHONPATH"]])
    sys.path.append(folder)
    spark = SparkSession.builder.master("local[1]").getOrCreate()
    paimon_spark.register_catalog(spark, "lake", folder)
    spark.sql("CREATE TABLE lake.default.t AS SELECT 8 AS id")
    rows = [spark.read.format(name).load(f"{folder}/default.db/t").collect() for name in ("other", "paimon")]
    print([row.id for found in rows for row in found])
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
