"""What a user of Delta Lake, Iceberg or plain Spark tables types first is answered with what to type."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import types as st

import paimon_spark
from paimon_spark import PaimonTable, open_catalog, open_table
from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.errors import OptionError, PaimonError, UnsupportedFeature, UnsupportedMethod
from paimon_spark.format.options.catalogue import known_key
from paimon_spark.format.options.connector_keys import CONNECTOR_KEYS
from paimon_spark.format.options.foreign_names import ForeignNames
from paimon_spark.format.options.other_systems import (
    CATALOG_ADVICE,
    MERGE_ADVICE,
    METHOD_ADVICE,
    MODULE_ADVICE,
    OPTION_ADVICE,
    SCAN_ADVICE,
    STATEMENT_ADVICE,
    STORE_CATALOG_ADVICE,
)
from paimon_spark.procedures.catalogue import PROCEDURES
from paimon_spark.procedures.procedure import sql_signature
from paimon_spark.spark.adapters import options as connector
from paimon_spark.spark.adapters.types import paimon_fields
from paimon_spark.spark.catalog.session_catalog import SessionCatalog
from paimon_spark.spark.merge_into.clauses import MergeBuilder
from paimon_spark.spark.source.source import PaimonDataSource
from paimon_spark.spark.table.new_table import NewTable
from paimon_spark.spark.table.table_api import TableOptimizer
from paimon_spark.sql.queries.references import statement_advice
from paimon_spark.sql.text.cursor import column_path
from paimon_spark.store.metadata.table_options import resolve_keys, resolve_properties
from paimon_spark.store.scan.table_scan import Scan
from paimon_spark.store.system_tables.names import NAMES
from paimon_spark.writes.table_creation import create

OURS = {value for name, value in vars(connector).items() if re.fullmatch(r"[A-Z_]+", name) and isinstance(value, str)}
VALUES = {"true", "lookup", "deduplicate", "overwrite", "restart"}  # in quotes, but no option
OWNERS = (PaimonTable, TableOptimizer, NewTable)
ARROW = "paimon_spark.open_table(path).scan()"


@pytest.mark.parametrize("name", OPTION_ADVICE)
def test_a_foreign_option_is_unknown_here_and_those_in_its_advice_are_known(name: str) -> None:
    assert known_key(name) is None
    assert name not in OURS
    with pytest.raises(
        OptionError, match=r"^the option '.*' is one of (Delta Lake|Apache Iceberg|Spark's own sources) and not"
    ) as error:
        resolve_keys({name.upper(): "x"}, ["id"])
    advice = str(error.value).partition("known here: ")[2]
    for quoted in re.findall(r"'([a-z][a-z.-]+)'", advice):
        assert quoted in OURS | VALUES | CONNECTOR_KEYS.keys() or known_key(quoted), quoted


PROPERTIES = [
    ("delta.logRetentionDuration", "Delta Lake .*'snapshot.time-retained'"),
    ("Delta.EnableChangeDataFeed", "Delta Lake .*'changelog-producer'"),
    ("appendOnly", "Delta Lake .*no option of a table forbids DELETE"),
    ("delta.checkpointInterval", "Delta Lake .*it would do nothing here; .*'user.delta.checkpointInterval'"),
    ("history.expire.max-ref-age-ms", "Apache Iceberg .*it would do nothing here"),
    ("history.expire.max-snapshot-age-ms", "Apache Iceberg .*'snapshot.time-retained'"),
    ("write.distribution-mode", "Apache Iceberg"),
    ("format-version", "Apache Iceberg"),
    ("partitionBy", "Spark's own sources .*'partition' names the partition columns of a new table"),
    ("maxRecordsPerFile", "Spark's own sources .*'target-file-row-num'"),
]


@pytest.mark.parametrize(("key", "told"), PROPERTIES)
def test_a_table_stores_no_property_of_another_system(key: str, told: str) -> None:
    """It would look as if it were in force; a label of the user stays one."""
    with pytest.raises(OptionError, match=rf"(?i)^the option '{key}' is one of {told}"):
        resolve_properties({key: "1"}, ["id"])
    labels = {f"user.{key}": "1", "deltas": "2", "my.own": "3"}
    assert resolve_properties(labels, ["id"]) == labels


@pytest.mark.parametrize("key", ["row-tracking", "Deletion_Vectors", "data-evolution", "query-auth"])
def test_an_option_without_its_end_is_no_label(key: str) -> None:
    with pytest.raises(OptionError, match=rf"'{key}' is not known; did you mean '[a-z-]+\.enabled'\? Or name it 'user"):
        resolve_properties({key: "true"}, ["id"])


def called(advice: str) -> list[str]:
    """The methods that a sentence says to call."""
    return re.findall(r"(?<![\w.])(\w+)\(", advice.replace(ARROW, "").replace("PaimonTable.", ""))


@pytest.mark.parametrize("name", [name for name in METHOD_ADVICE if "(" in name])
def test_an_argument_with_advice_is_one_that_the_call_does_not_take_or_needs(name: str) -> None:
    method, argument = name.removesuffix(")").split("(")
    takes = [inspect.signature(getattr(owner, method)).parameters for owner in OWNERS if method in dir(owner)]
    assert takes
    assert all(argument not in each or each[argument].default is inspect.Parameter.empty for each in takes)


@pytest.mark.parametrize("name", METHOD_ADVICE)
def test_a_foreign_method_is_not_there_and_those_in_its_advice_are(name: str) -> None:
    assert not all(hasattr(owner, name) for owner in OWNERS)
    assert all(any(hasattr(owner, method) for owner in OWNERS) for method in called(METHOD_ADVICE[name]))


@pytest.mark.parametrize("name", CATALOG_ADVICE)
def test_a_foreign_method_of_a_catalog_is_not_there_and_those_in_its_advice_are(name: str) -> None:
    assert not hasattr(SessionCatalog, name)
    advice = CATALOG_ADVICE[name].replace("PaimonTable.create(spark)", "")
    assert all(hasattr(SessionCatalog, method) for method in called(advice))
    with pytest.raises(UnsupportedFeature, match=f"^SessionCatalog has no '{name}': "):
        getattr(SessionCatalog, name)


@pytest.fixture
def one_row(tmp_path: Path) -> Scan:
    create(str(tmp_path / "d.db" / "t"), {}, paimon_fields(st.StructType([st.StructField("id", st.LongType())])))
    return open_catalog(str(tmp_path))["d.t"].scan()


@pytest.mark.parametrize("name", MODULE_ADVICE)
def test_a_foreign_name_of_the_package_is_not_there_and_those_in_its_advice_are(name: str) -> None:
    assert not hasattr(paimon_spark, name)
    with pytest.raises(UnsupportedMethod, match=f"^paimon_spark has no '{name}': "):
        getattr(paimon_spark, name)
    with pytest.raises(ImportError, match=f"cannot import name '{name}' from 'paimon_spark'"):
        exec(f"from paimon_spark import {name}", {})
    for function in re.findall(r"(?<![.\w])(\w+)\('", MODULE_ADVICE[name]):
        assert hasattr(paimon_spark, function)


ELSEWHERE = re.compile(r"PaimonTable\.forPath\([^)]*\)|paimon_spark\.catalog\([^)]*\)|open_table\([^)]*\)")
ADVISED: list[tuple[type[ForeignNames], Mapping[str, str]]] = [
    (MergeBuilder, MERGE_ADVICE), (FileCatalog, STORE_CATALOG_ADVICE),
]  # fmt: skip


@pytest.mark.parametrize(("owner", "advice"), ADVISED)
def test_other_objects_have_no_foreign_method_either(owner: type[ForeignNames], advice: Mapping[str, str]) -> None:
    for name, sentence in advice.items():
        assert name not in dir(owner)
        assert all(hasattr(owner, method) for method in called(ELSEWHERE.sub("", sentence))), sentence
        with pytest.raises(
            UnsupportedMethod, match=f"^{owner.__name__} has no '{re.escape(name)}': {re.escape(sentence)}$"
        ):
            getattr(owner, name)


@pytest.mark.parametrize("name", [*(name for name in SCAN_ADVICE if not hasattr(Scan, name)), "toPandas"])
def test_a_scan_has_no_foreign_method_either(one_row: Scan, name: str) -> None:
    sentence = SCAN_ADVICE.get(name, "it is called to_pandas here")
    assert not hasattr(one_row, name)
    assert all(hasattr(one_row, method) for method in called(ELSEWHERE.sub("", sentence))), sentence
    with pytest.raises(UnsupportedMethod, match=f"^Scan has no '{name}': {re.escape(sentence)}$"):
        getattr(one_row, name)


SPELLINGS = [
    (PaimonTable, "for_name", "forName"),
    (PaimonTable, "createTag", "create_tag"),
    (PaimonTable, "to_df", "toDF"),
    (MergeBuilder, "when_matched_update_all", "whenMatchedUpdateAll"),
    (MergeBuilder, "when_not_matched_by_source_delete", "whenNotMatchedBySourceDelete"),
    (MergeBuilder, "with_schema_evolution", "withSchemaEvolution"),
    (FileCatalog, "listTables", "list_tables"),
    (SessionCatalog, "createDatabase", "create_database"),
]


@pytest.mark.parametrize(("owner", "name", "ours"), SPELLINGS)
def test_a_name_in_another_spelling_is_answered(owner: type[ForeignNames], name: str, ours: str) -> None:
    assert ours in dir(owner)
    with pytest.raises(UnsupportedMethod, match=rf"{owner.__name__} has no '{name}': .*\b{ours}\b"):
        getattr(owner, name)


def test_objects_themselves_answer_too(one_row: Scan, tmp_path: Path) -> None:
    catalog = open_catalog(str(tmp_path))
    for asked, name in ((catalog, "tables"), (one_row, "where"), (MergeBuilder(lambda *_: None), "whenMatched")):  # type: ignore[arg-type, return-value]
        assert not hasattr(asked, name)
        with pytest.raises(UnsupportedMethod, match=f" has no '{name}': "):
            getattr(asked, name)
        with pytest.raises(AttributeError, match="has no attribute 'nope'"):
            getattr(asked, "nope")  # noqa: B009
    assert pickle.loads(pickle.dumps(one_row)).to_arrow() == copy.copy(one_row).to_arrow()


@pytest.mark.parametrize("words", STATEMENT_ADVICE)
def test_procedures_and_options_in_advice_about_statements_are_there(words: tuple[str, ...]) -> None:
    advice = STATEMENT_ADVICE[words]
    for name in re.findall(r"sys\.(\w+)", advice):
        assert name in PROCEDURES
    for name, arguments in re.findall(r"sys\.(\w+)\((.*?)\)", advice):
        ordered, named = sql_signature(PROCEDURES[name])
        assert set(re.findall(r"(\w+) =>", arguments)) <= {*ordered, *named}
    for key in re.findall(r"'([a-z][a-z.-]+)' =", advice):
        assert known_key(key), key
    for table in re.findall(r"\$(\w+)", advice):
        assert table in NAMES


@pytest.mark.parametrize(
    ("table", "system", "procedure"),
    [
        ("t", "`t$snapshots`", "sys"),
        ("d.t", "d.`t$snapshots`", "sys"),
        ("lake.d.t", "lake.d.`t$snapshots`", "lake.sys"),
        ("`my-lake`.`d.e`.`t \\1`", "`my-lake`.`d.e`.`t \\1$snapshots`", "`my-lake`.sys"),
    ],
)
def test_advice_names_the_catalog_of_a_procedure_and_a_system_table_as_spark_reads_it(
    table: str, system: str, procedure: str
) -> None:
    parts = column_path(table)
    assert statement_advice(("DESCRIBE", "HISTORY"), parts) == f"SELECT * FROM {system} shows the snapshots"
    called = f"CALL {procedure}.compact(table => '{table}', compact_strategy => 'full') rewrites the files"
    assert statement_advice(("REORG",), parts) == called
    assert statement_advice(("NOTHING",), parts) is None


def test_most_advice_names_a_method() -> None:
    assert called("PaimonTable.append(df) adds, a.b(c) not") == ["append"]
    assert sum(bool(called(advice)) for advice in METHOD_ADVICE.values()) >= 30


def test_a_foreign_method_is_an_attribute_error_that_says_what_to_call() -> None:
    table = PaimonTable(SimpleNamespace(), "/nowhere")  # type: ignore[arg-type]  # no call gets as far as Spark
    for owner in (table, PaimonTable):
        assert not hasattr(owner, "vacuum")
        assert getattr(owner, "upsert", None) is None
        with pytest.raises(AttributeError, match=r"^PaimonTable has no 'vacuum': expire_snapshots\(\) ") as error:
            owner.vacuum  # type: ignore[union-attr]  # noqa: B018
        assert isinstance(error.value, PaimonError)
        with pytest.raises(AttributeError, match=r"^'PaimonTable' has no attribute 'vacum'$") as error:
            owner.vacum  # type: ignore[union-attr]  # noqa: B018
        assert not isinstance(error.value, PaimonError)
        assert error.value.obj is owner  # so that Python finds near names
    assert repr(copy.copy(table)) == repr(table)  # copies ask for names that are not there
    with pytest.raises(UnsupportedFeature, match=r"TableOptimizer has no 'zorder': "):
        table.optimize().zorder  # type: ignore[attr-defined]  # noqa: B018


FOREIGN = [
    ("versionAsOf", "1", "'scan.snapshot-id' reads a snapshot"),
    ("timestampAsOf", "2026-11-01", "'scan.timestamp'"),
    ("readChangeFeed", "true", "'incremental-between' = '3,7'.*'row-kinds' = 'true'.*changelog-producer lookup"),
    ("snapshot-id", "1", "'scan.snapshot-id'"),
    ("as-of-timestamp", "1", "'scan.timestamp-millis'"),
    ("replaceWhere", "dt = 'a'", "'overwrite-where'"),
    ("partitionOverwriteMode", "dynamic", "'dynamic-partition-overwrite' = 'true'"),
    ("mergeSchema", "true", "'write.merge-schema' = 'true' adds the columns"),
    ("overwriteSchema", "true", "lets an overwrite replace the columns"),
    ("userMetadata", "x", "create_tag"),
]


@pytest.mark.parametrize(("key", "value", "message"), FOREIGN)
def test_foreign_options_are_answered_by_the_source(tmp_path: Path, key: str, value: str, message: str) -> None:
    """As Spark calls it, with options in lower case; in a read, a write, and a write that makes the table."""
    path = str(tmp_path / "t")
    columns = st.StructType([st.StructField("id", st.LongType()), st.StructField("dt", st.StringType())])
    create(path, {"partition": "dt"}, paimon_fields(columns))
    answer = pytest.raises(
        OptionError, match=rf"the option '{key}' is one of (Delta Lake|Apache Iceberg|Spark's own sources).*{message}"
    )
    with answer:
        PaimonDataSource({"path": path, key.lower(): value}).schema()
    for target in (path, f"{path}-new"):
        with answer:
            PaimonDataSource({"path": target, key.lower(): value}).writer(columns, overwrite=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["t"]


@pytest.fixture
def orders(spark: SparkSession, tmp_path: Path) -> str:
    """A table (id, dt) of two rows."""
    path = str(tmp_path / "orders")
    rows(spark, (1, "a"), (2, "b")).write.format("paimon").mode("append").option("partition", "dt").save(path)
    return path


def rows(spark: SparkSession, *given: tuple[int, str]) -> DataFrame:
    return spark.createDataFrame(list(given), "id long, dt string")


@pytest.mark.spark
def test_create_table_says_what_makes_a_name(spark: SparkSession, orders: str) -> None:
    with pytest.raises(AnalysisException, match=r"CREATE TABLE \.\.\. USING paimon is not supported") as error:
        spark.sql(f"CREATE TABLE no_name USING paimon LOCATION '{orders}'")
    advised = re.search(r"CREATE TEMPORARY VIEW <name> USING paimon OPTIONS \(path '[^']+'\)", str(error.value))
    assert advised
    assert not spark.catalog.tableExists("no_name")
    spark.sql(advised[0].replace("<name>", "some_name"))
    try:
        assert spark.table("some_name").count() == 2
    finally:
        spark.catalog.dropTempView("some_name")
    with pytest.raises(UnsupportedFeature, match="CREATE TABLE"):
        PaimonDataSource({"owner": "me", "provider": "paimon"}).schema()  # as Spark asks where no LOCATION is given


@pytest.mark.spark
def test_a_name_that_spark_made_without_asking_says_how_to_go_on(spark: SparkSession, orders: str) -> None:
    """CREATE TABLE with columns makes a name in Spark's own catalog, and hands no path over when it is used."""
    spark.sql(f"CREATE TABLE lost (id bigint, dt string) USING paimon LOCATION '{orders}'")
    frame = rows(spark, (9, "a"))
    uses: list[Callable[[], object]] = [
        lambda: spark.table("lost").collect(),
        lambda: frame.write.insertInto("lost"),
    ]
    try:
        for use in uses:
            with pytest.raises(
                Exception, match=r"OptionError: no path was given.*CREATE TEMPORARY VIEW v USING paimon"
            ):
                use()
    finally:
        spark.sql("DROP TABLE lost")
    assert open_table(orders).snapshots.latest_id() == 1


@pytest.mark.spark
def test_spark_itself_refuses_partition_by(spark: SparkSession, tmp_path: Path) -> None:
    """docs/compare/from-delta-iceberg.md says so: Spark compares with a table of no partitions."""
    writer = rows(spark, (1, "a")).write.format("paimon").mode("append")
    with pytest.raises(IllegalArgumentException, match="do not match the existing table's"):
        writer.partitionBy("dt").save(str(tmp_path / "t"))
    assert not (tmp_path / "t").exists()


@pytest.mark.spark
def test_a_view_keeps_its_snapshot_until_it_is_made_again(spark: SparkSession, orders: str) -> None:
    table = PaimonTable.forPath(spark, orders)
    table.createOrReplaceTempView("orders_view")
    try:
        assert spark.table("orders_view").count() == 2
        spark.sql("INSERT INTO orders_view VALUES (3, 'c')")
        spark.sql("REFRESH TABLE orders_view")
        assert spark.sql("SELECT id FROM orders_view x JOIN orders_view y USING (id)").count() == 2
        assert table.toDF().count() == 3, "the row is committed"
        table.createOrReplaceTempView("orders_view")
        assert spark.table("orders_view").count() == 3
        table.createOrReplaceTempView("orders_view", {"scan.snapshot-id": "1", "filter": "id = 1"})
        assert spark.table("orders_view").collect() == [Row(1, "a")]
    finally:
        spark.catalog.dropTempView("orders_view")


@pytest.mark.spark
def test_a_batch_that_is_written_again_does_what_the_streaming_error_says(spark: SparkSession, tmp_path: Path) -> None:
    batch = spark.createDataFrame([(1, 10), (2, 20)], "id long, total long")
    sums = {"primary-key": "id", "merge-engine": "aggregation", "fields.total.aggregate-function": "sum"}
    found = {}
    for name, options in {"keyed": {"primary-key": "id"}, "plain": {}, "sums": {**sums}}.items():
        for _ in range(2):
            batch.write.format("paimon").mode("append").options(**options).save(str(tmp_path / name))
        read = spark.read.format("paimon").load(str(tmp_path / name)).collect()
        found[name] = sorted(row.total for row in read)
    assert found == {"keyed": [10, 20], "plain": [10, 10, 20, 20], "sums": [20, 40]}
