"""Uses catalogs in every way that shows something, and keeps all that is shown: ``secret_life.py FOLDER < CATALOGS``.

The input is JSON: by the name of each catalog its options, and those of catalogs that do not work. What the calls
return and raise is in ``FOLDER/<name>.txt``; ``python.log`` and ``spark.log`` are the logs at DEBUG, and ``events`` is
Spark's log of events, of which its UI is made.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from pyspark.sql import SparkSession
from typer.testing import CliRunner

import paimon_spark
from paimon_spark import PaimonTable, open_catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.cli.program import app
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

LOG4J = """
rootLogger.level = debug
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {place}/spark.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %c %m%n%throwable
"""
EXPLAINED = ("simple", "extended", "cost", "formatted")
STATEMENTS = (
    "CREATE DATABASE IF NOT EXISTS paimon.shop",
    "CREATE TABLE paimon.shop.orders (id BIGINT NOT NULL, total INT) "
    "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'changelog-producer' = 'input')",
    "INSERT INTO paimon.shop.orders VALUES (1, 10), (2, 20), (3, 30)",
    "DELETE FROM paimon.shop.orders WHERE id = 3",
    "UPDATE paimon.shop.orders SET total = 11 WHERE id = 1",
    "MERGE INTO paimon.shop.orders t USING (SELECT 4L AS id, 40 AS total) s ON t.id = s.id "
    "WHEN NOT MATCHED THEN INSERT *",
    "CREATE TABLE paimon.shop.copy TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1') AS SELECT * FROM "
    "paimon.shop.orders",
    "CREATE VIEW paimon.shop.big AS SELECT * FROM orders WHERE total > 10",
    "ALTER TABLE paimon.shop.orders SET TBLPROPERTIES ('snapshot.num-retained.max' = '90')",
    "SHOW DATABASES IN paimon",
    "SHOW TABLES IN paimon.shop",
    "SHOW TABLE EXTENDED IN paimon.shop LIKE '*'",
    "SHOW CREATE TABLE paimon.shop.orders",
    "SHOW CREATE TABLE paimon.shop.big",
    "SHOW TBLPROPERTIES paimon.shop.orders",
    "DESCRIBE DATABASE EXTENDED paimon.shop",
    "DESCRIBE EXTENDED paimon.shop.orders",
    "DESCRIBE EXTENDED paimon.shop.big",
    "SELECT * FROM paimon.shop.big",
    "SELECT * FROM paimon.shop.`orders$options`",
    "SELECT * FROM paimon.shop.`orders$snapshots`",
    "SELECT * FROM paimon.shop.`orders$schemas`",
    "SELECT * FROM paimon.shop.`orders$files`",
    "SELECT * FROM paimon.sys.catalog_options",
    "SELECT * FROM paimon.sys.all_table_options",
    "SELECT * FROM paimon.sys.tables",
    "CALL sys.compact('shop.orders')",
    "CALL sys.repair('shop.orders')",
    "CALL sys.create_tag('shop.orders', 'one')",
    "EXPLAIN SELECT * FROM paimon.shop.orders",
    "EXPLAIN EXTENDED SELECT * FROM paimon.shop.orders WHERE total > 10",
    "SELECT nothing FROM paimon.shop.orders",
    "SELECT * FROM paimon.shop.nothing",
    "ALTER TABLE paimon.shop.orders SET TBLPROPERTIES ('no.such.option' = '1')",
    "SELECT assert_true(id < 0) FROM paimon.shop.orders",
)

BY_THE_DRIVER = (
    "INSERT INTO paimon.shop.orders VALUES (5, 50)",
    "DELETE FROM paimon.shop.orders WHERE id = 5",
    "SELECT * FROM paimon.shop.orders",
)


class Shown:
    """Writes what a user would see."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def add(self, *things: object) -> None:
        for thing in things:
            self._file.write(f"{thing!r}\n{thing}\n")
        self._file.flush()

    def call(self, work: Callable[[], object]) -> None:
        """What the call returns, or raises, with all that led to it."""
        try:
            self.add(work())
        except Exception as error:
            self.add(error, "".join(traceback.format_exception(error)))

    def run(self, cat: SessionCatalog, text: str) -> None:
        """What a statement returns and how it is planned, with the tasks."""

        def explained() -> list[object]:
            frame = cat.sql(text)
            execution: Any = frame._jdf.queryExecution()  # of a classic session
            return [frame.collect(), execution.toString(), execution.logical().toJSON(), execution.optimizedPlan()]

        self._file.write(f"-- {text}\n")
        self.call(explained)


def main(folder: str) -> None:
    place = Path(folder)
    catalogs = json.load(sys.stdin)
    logging.basicConfig(filename=place / "python.log", level=logging.DEBUG, format="%(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.INFO)  # it logs each argument of each call of any program of Spark
    (place / "log4j2.properties").write_text(LOG4J.format(place=place))
    (place / "events").mkdir()
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile=file:{place}/log4j2.properties")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", f"file:{place}/events")
        .config("spark.eventLog.compress", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.paimon.read.local", "false")
        .config("spark.paimon.write.local", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.default.parallelism", "1")
        .config("spark.sql.codegen.wholeStage", "false")  # compiling a plan takes longer than running it
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.warehouse.dir", str(place / "warehouse"))
        .getOrCreate()
    )
    for name, settings in catalogs.items():
        with (place / f"{name}.txt").open("w") as file:
            shown = Shown(file)
            _use(spark, shown, settings["options"], place / f"checkpoint-{name}")
            _on_the_line(shown, settings["options"])
            for options in settings["wrong"]:
                _fail(spark, shown, options)
                _on_the_line(shown, options)
    spark.stop()


def _use(spark: SparkSession, shown: Shown, options: dict[str, str], checkpoint: Path) -> None:
    cat = paimon_spark.catalog(spark, options)
    for text in STATEMENTS:
        shown.run(cat, text)
    for key in ("spark.paimon.read.local", "spark.paimon.write.local"):  # by the driver; before, by tasks
        spark.conf.set(key, "true")
    for text in BY_THE_DRIVER:
        shown.run(cat, text)
    for key in ("spark.paimon.read.local", "spark.paimon.write.local"):
        spark.conf.set(key, "false")
    table, name = cat["shop.orders"], Identifier("shop", "orders")
    stored = cat.catalog.load_table(name)
    shown.add(cat, cat.catalog, table, stored, stored.file_io, stored.settings)
    shown.add(*(value for key, value in vars(cat.catalog).items() if key != "options"))  # which is what the user gave
    shown.add(cat.catalog.load_database("shop"))
    shown.call(lambda: cat.catalog.load_view(Identifier("shop", "big")))
    shown.add(cat.explain("SELECT * FROM paimon.shop.orders"), table.detail().collect(), table.check())
    shown.call(lambda: cat.publish("shop.orders", "default.published"))
    shown.call(lambda: cat.catalog.create_table(name, stored.schema))
    shown.call(lambda: cat.catalog.create_database("shop"))
    frame = cat.table("shop.orders")
    with suppress(AttributeError):
        for mode in EXPLAINED:
            shown.add(frame._jdf.queryExecution().explainString(_mode(spark, mode)))  # of a classic session
    _by_path(spark, shown, cat, frame)
    _stream(shown, cat, checkpoint)


def _mode(spark: SparkSession, name: str) -> Any:
    jvm: Any = spark.sparkContext._jvm
    return jvm.org.apache.spark.sql.execution.ExplainMode.fromString(name)


def _by_path(spark: SparkSession, shown: Shown, cat: SessionCatalog, frame: Any) -> None:
    """With the options of tables in the calls of Spark itself."""
    options = dict(cat.catalog.table_options(Identifier("shop", "orders")))
    path = cat.catalog.table_location(Identifier("shop", "copy"))
    frame.write.format("paimon").mode("append").options(**options).save(path)
    read = spark.read.format("paimon").options(**options).load(path)
    shown.add(read.collect(), read._jdf.queryExecution(), PaimonTable.forPath(spark, path, options))
    shown.call(lambda: spark.read.format("paimon").options(**options).load(f"{path}_none").collect())
    shown.call(lambda: spark.read.format("paimon").options(**options, nothing="1").load(path).collect())
    shown.call(lambda: frame.selectExpr("total").write.format("paimon").mode("append").options(**options).save(path))


def _stream(shown: Shown, cat: SessionCatalog, checkpoint: Path) -> None:
    """From table to table: what the query tells of itself, and a query that fails."""
    source, options = cat.stream("shop.orders"), dict(cat.catalog.table_options())
    path = cat.catalog.table_location(Identifier("shop", "copy"))

    def run(frame: Any, place: str) -> list[object]:
        writer = frame.writeStream.format("paimon").options(**options).trigger(availableNow=True)
        query = writer.option("checkpointLocation", place).start(path)
        try:
            query.awaitTermination(120)
            return [query.lastProgress, query.recentProgress, query.status]
        finally:
            shown.add(query.exception(), query._jsq.explainInternal(True), query.name)

    shown.call(lambda: run(source, str(checkpoint)))
    shown.call(lambda: run(source.selectExpr("id", "total AS other"), f"{checkpoint}-wrong"))


def _on_the_line(shown: Shown, options: dict[str, str]) -> None:
    """What the program `paimon-spark` prints, with the options in a file."""
    with tempfile.NamedTemporaryFile("w", suffix=".properties") as file:
        file.write("".join(f"{key}={text}\n" for key, text in options.items()))
        file.flush()
        printed = CliRunner().invoke(app, ["sql", "--catalog", file.name, "SHOW TABLES IN paimon.shop"])
    shown.add(printed.output, printed.exception)


def _fail(spark: SparkSession, shown: Shown, options: dict[str, str]) -> None:
    """Calls of a catalog that cannot be opened, or whose server or storage refuses."""
    orders = Identifier("shop", "orders")
    shown.call(lambda: open_catalog(options))
    shown.call(lambda: open_catalog(options).list_databases())
    shown.call(lambda: open_catalog(options).create_database("other"))
    shown.call(lambda: open_catalog(options).load_table(orders))
    shown.call(lambda: paimon_spark.catalog(spark, options).sql("SELECT * FROM paimon.shop.orders").collect())
    shown.call(lambda: paimon_spark.catalog(spark, options)["shop.orders"].append(spark.range(1)))


if __name__ == "__main__":
    main(sys.argv[1])
