"""The official connector for Spark as a process that runs statements of SQL, over tables in directories.

``PAIMON_JVM_PYTHON`` names a Python with the PySpark that the connector is made for, ``PAIMON_JVM_JAR`` its jar. The
process imports nothing of ours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

EXTENSIONS = "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions"
CATALOG = "org.apache.paimon.spark.SparkCatalog"


def is_there() -> bool:
    return "PAIMON_JVM_PYTHON" in os.environ and "PAIMON_JVM_JAR" in os.environ


class GenuineSpark:
    """A session of the official connector."""

    def __init__(self) -> None:
        python = os.environ["PAIMON_JVM_PYTHON"]
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"PYSPARK_PYTHON": python}
        self._process = subprocess.Popen(
            [python, __file__, os.environ["PAIMON_JVM_JAR"]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
            text=True,
        )

    def run(self, statement: str, path: str) -> None:
        """Runs a statement on the table in a directory ``<warehouse>/<database>.db/<table>``, which it calls {table}.
        Its catalog is {catalog}.

        Raises:
            RuntimeError: the connector refuses it; with its words.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps([statement, path]) + "\n")
        stdin.flush()
        for line in stdout:
            if line.startswith('{"error"'):
                error = json.loads(line)["error"]
                if error is not None:
                    raise RuntimeError(f"{statement}: {error}")
                return
        raise RuntimeError(f"the process ended at {statement}")

    def end(self) -> None:
        self._process.communicate()


def main(jar: str) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.jars", jar).config("spark.ui.enabled", "false")
    for name in ("shuffle.partitions", "adaptive.coalescePartitions.initialPartitionNum"):
        builder = builder.config(f"spark.sql.{name}", "1")
    builder = builder.config("spark.sql.codegen.wholeStage", "false")
    builder = builder.config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    builder = builder.config("spark.sql.extensions", EXTENSIONS).config("spark.sql.session.timeZone", "UTC")
    spark = builder.getOrCreate()
    known: dict[str, str] = {}
    for line in sys.stdin:
        statement, path = json.loads(line)
        table = Path(path)
        warehouse = str(table.parents[1])
        name = known.setdefault(warehouse, f"w{len(known)}")
        spark.conf.set(f"spark.sql.catalog.{name}", CATALOG)
        spark.conf.set(f"spark.sql.catalog.{name}.warehouse", f"file:{warehouse}")
        spark.conf.set(f"spark.sql.catalog.{name}.cache-enabled", "false")
        try:
            full = f"{name}.{table.parent.name.removesuffix('.db')}.{table.name}"
            spark.sql(statement.replace("{table}", full).replace("{catalog}", name)).collect()
            error = None
        except Exception as failure:
            error = str(failure).split("JVM stacktrace")[0][:2000]
        print(json.dumps({"error": error}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
