"""Random tables with changed schemas, partitions and deleted rows: the same rows, whoever reads which file.

``PAIMON_LONG=1`` tries 300 tables, and ``PAIMON_NATIVE_TABLES`` as many as it says.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from support.draws.evolved_tables import evolved_tables
from support.long_runs import tries
from support.oracles.comparing import comparable

from paimon_spark import open_table
from paimon_spark.spark.native.read_table import ReadRequest, read_table

TABLES = tries("PAIMON_NATIVE_TABLES", ci=6, long=300)


def test_rows_do_not_depend_on_who_reads_them(unpadded: SparkSession, tmp_path: Path) -> None:
    read: Counter[str] = Counter()

    @settings(
        max_examples=TABLES,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )
    @given(st.data())
    def same_rows(data: st.DataObject) -> None:
        path = data.draw(evolved_tables(tmp_path)).location
        made = read_table(unpadded, ReadRequest(path))
        read.update(native=made.explanation.native_files, rest=made.explanation.merged_files, tables=1)
        assert comparable(made.frame.toArrow()) == comparable(open_table(path).scan().to_arrow())

    same_rows()
    print(dict(read))
    if TABLES > 20:
        assert read["native"] > TABLES // 4
        assert read["rest"] > TABLES // 4
