"""Runs the scripts of tests/spark/statements/genuine in the official Spark connector, and stores what they return.

    python tests/release/genuine_statements.py <jar of the connector> [script ...]

The Python, which is PYSPARK_PYTHON too, must have the release of PySpark that the jar is made for (4.1 with
paimon-spark-4.1). The results of release 2.0.0 are stored.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from pyspark.sql import SparkSession
from support.oracles.statement_results import result_of, statements

SCRIPTS = Path(__file__).parents[1] / "spark" / "statements" / "genuine"


def main(jar: str, chosen: list[str]) -> None:
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.jars", jar)
        .config("spark.sql.extensions", "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions")
        .config("spark.sql.catalog.paimon", "org.apache.paimon.spark.SparkCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    for script in sorted(SCRIPTS.glob("*.sql")):
        if not chosen or script.name in chosen:
            record(spark.newSession(), script)
    spark.stop()


def record(session: SparkSession, script: Path) -> None:
    """Stores the results of a script. It has its session and its warehouse for itself."""
    with tempfile.TemporaryDirectory() as warehouse:
        session.conf.set("spark.sql.catalog.paimon.warehouse", warehouse)
        results = [result_of(session.sql, text, warehouse) for text in statements(script)]
        lines = ",\n".join(json.dumps(result, ensure_ascii=False) for result in results)
        script.with_suffix(".json").write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # it tells each refusal
    main(sys.argv[1], sys.argv[2:])
