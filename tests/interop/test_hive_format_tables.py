"""Format tables in a Hive metastore: this release and Java 2.0.0 make, write and drop them, and find the same rows.

``PAIMON_FORMAT_HISTORIES=40`` tries so many histories of each format; the number of a test is a seed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import java_hive
import java_jdbc
import pytest
from format_histories import FORMATS, Sides, internal_rows, new_history
from genuine import Genuine, java_process
from genuine_jars import JavaUnavailable, spark_jars
from java_object_tables import make_format_table, write_by_java
from java_rest import rows_by_java
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.long_runs import tries
from support.paths import ROOT
from support.registered_catalogs import forget_catalogs
from support.tables.hive_files import add_hive_table, write_file

import paimon_spark
from paimon_spark import open_catalog
from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.catalogs.hive.format_tables import check_like_hive, is_format_table
from paimon_spark.catalogs.hive.names import HiveNames
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import DatabaseNotEmpty, PaimonError, TableAlreadyExists, TableNotFound, UnsupportedFeature
from paimon_spark.store.file_tables.format_table import FormatTable

pytestmark = pytest.mark.interop
_STEPS = 4
_BY_TIME = {"transient_lastDdlTime", "totalSize", "numFiles", "path", "numFilesErasureCoded", "bucketing_version"}
"""What the metastore adds to the parameters, and the place."""
OLD = Identifier("d", "old")
NULL = "__HIVE_DEFAULT_PARTITION__"


@pytest.fixture(scope="module")
def java() -> Iterator[Genuine]:
    """Java Paimon 2.0.0 with Hive's client."""
    try:
        with java_process("2.0.0", jars=spark_jars(*java_hive.JARS)) as served:
            yield served
    except JavaUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def options(hive_options: dict[str, str]) -> dict[str, str]:
    """Java would show an older state from its cache."""
    return {**hive_options, "cache-enabled": "false"}


@pytest.fixture
def hive(options: dict[str, str]) -> FileCatalog:
    made = open_catalog(options)
    assert isinstance(made.names, HiveNames)
    made.create_database("d")
    return made


def opened(hive: FileCatalog, name: str) -> FormatTable:
    return cast(FormatTable, hive.table(f"d.{name}"))


@pytest.mark.parametrize("seed", range(tries("PAIMON_FORMAT_HISTORIES", 1, 40)))
@pytest.mark.parametrize("file_format", FORMATS)
def test_writes_of_both(java: Genuine, hive: FileCatalog, options: dict[str, str], file_format: str, seed: int) -> None:
    sides = Sides(java, options, lambda name: opened(hive, name))
    history = new_history(seed, file_format, in_hive=True)
    columns: dict[str, Any] = dict(history.columns)
    if seed % 2:
        java.run(make_format_table, options, "d", "t", columns, history.keys, history.options)
    else:
        hive.new_table("d.t", columns, partition_keys=history.keys, options=history.options)
    done = [f"{history.columns} {history.keys} {history.options}"]
    for _ in range(_STEPS):
        done.append(sides.step(history, "t"))
        try:
            sides.check(history, "t")
        except AssertionError as error:
            raise AssertionError("\n".join([*done, str(error)])) from error
    hive.drop_table(Identifier("d", "t"))
    assert java.run(java_jdbc.state, options)["d"] == {}
    assert not Path(f"{hive.warehouse}/d.db/t").exists()


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("more", [{}, {"table.type": "external"}])
def test_what_the_metastore_gets(
    java: Genuine, hive: FileCatalog, options: dict[str, str], file_format: str, more: dict[str, str]
) -> None:
    both, ours = {**options, **more}, open_catalog({**options, **more})
    columns: dict[str, Any] = {"p": "INT", "s": "STRING", "q": "STRING"}
    given = {"type": "format-table", "file.format": file_format, "csv.field-delimiter": ";"}
    java.run(make_format_table, both, "d", "theirs", columns, ["q", "p"], given)
    ours.new_table("d.ours", columns, partition_keys=["q", "p"], options=given)
    told = [java.run(java_hive.told, both, name) for name in ("d.theirs", "d.ours")]
    for one in told:
        one["parameters"] = {key: text for key, text in one["parameters"].items() if key not in _BY_TIME}
    assert told[0] == told[1]
    for name in ("theirs", "ours"):
        found = opened(hive, name)
        assert (found.schema.names, found.schema.partition_keys) == (("s", "q", "p"), ("q", "p"))
        assert found.file_format == file_format


def test_names(java: Genuine, hive: FileCatalog, options: dict[str, str], tmp_path: Path) -> None:
    columns, given = {"id": "BIGINT"}, {"type": "format-table", "file.format": "csv"}
    table: Any = hive.new_table("d.t", columns, options=given, comment="of files")
    assert (table.schema.comment, hive.list_tables("d"), "d.t" in hive) == ("of files", ["t"], True)
    table.append({"id": [1, 2]})
    with pytest.raises(TableAlreadyExists):
        hive.new_table("d.t", columns, options=given)
    hive.new_table("d.t", {"x": "INT"}, ignore_if_exists=True)
    with pytest.raises(DatabaseNotEmpty, match=r"1 tables \(t\)"):
        hive.drop_database("d")
    hive.rename_table(Identifier("d", "t"), Identifier("d", "u"))
    assert java.run(java_jdbc.state, options)["d"].keys() == {"u"}
    assert java.run(rows_by_java, options, "d", "u") == [(1,), (2,)] == internal_rows(opened(hive, "u"))
    with pytest.raises(TableNotFound):
        table.append({"id": [3]})
    hive.drop_table(Identifier("d", "u"))
    assert (hive.list_tables("d"), (tmp_path / "lake/d.db/u").exists()) == ([], False)
    place = tmp_path / "elsewhere"
    kept: Any = hive.new_table("d.kept", columns, options={**given, "path": str(place)})
    kept.append({"id": [7]})
    hive.drop_table(Identifier("d", "kept"))
    assert len(list(place.iterdir())) == 1
    kept = hive.new_table("d.kept", columns, options={**given, "path": str(place)})
    assert java.run(rows_by_java, options, "d", "kept") == [(7,)] == internal_rows(kept)
    hive.drop_database("d", cascade=True)
    assert (hive.list_databases(), len(list(place.iterdir()))) == (["default"], 1)


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_tables_that_hive_has_made(
    java: Genuine, hive: FileCatalog, options: dict[str, str], file_format: str, tmp_path: Path
) -> None:
    place = tmp_path / "lake/d.db/old"
    for number, (day, hour) in enumerate([("a b", "1"), ("c", "2")]):
        path = place / f"day={day}" / f"hour={hour}" / "000000_0"
        write_file(path, file_format, {"id": [number, 10 + number], "name": ["x", None]})
        path.with_name("_SUCCESS").touch()
    keys, known = {"day": "string", "hour": "int"}, [("a b", "1"), ("c", "2")]
    metastore = hive.names.metastore  # type: ignore[attr-defined]
    add_hive_table(metastore, OLD, place, file_format, keys, known, {"comment": "old orders"})
    assert hive.list_tables("d") == ["old"] == list(java.run(java_jdbc.state, options)["d"])
    table: Any = opened(hive, "old")
    assert (table.schema.comment, table.schema.names) == ("old orders", ("id", "name", "day", "hour"))
    rows = [(0, "x", "a b", 1), (1, "x", "c", 2), (10, None, "a b", 1), (11, None, "c", 2)]
    assert sorted(internal_rows(table)) == rows == sorted(java.run(rows_by_java, options, "d", "old"))
    table.append({"id": [5], "name": ["new"], "day": ["d/e"], "hour": [3]})
    java.run(write_by_java, options, "d", "old", [(6, "java", "c", 2)])
    rows += [(5, "new", "d/e", 3), (6, "java", "c", 2)]
    assert sorted(internal_rows(table)) == sorted(rows) == sorted(java.run(rows_by_java, options, "d", "old"))
    found = {tuple(one.values): str(one.sd.location) for one in metastore.partitions(OLD)}
    assert found.keys() == {*known, ("d/e", "3")}
    assert found["d/e", "3"] == f"file:{place}/day=d%2Fe/hour=3"
    (place / f"day={NULL}" / "hour=1").mkdir(parents=True)
    with pytest.raises(UnsupportedFeature, match=f"set 'partition.default-name' = '{NULL}'"):
        table.scan().count()
    write_file(place / f"day={NULL}" / "hour=1" / "x", file_format, {"id": [9], "name": ["n"]})
    read = hive.table("d.old", options={"partition.default-name": NULL}).scan(where="day IS NULL")
    assert read.to_arrow().to_pylist() == [{"id": 9, "name": "n", "day": None, "hour": 1}]


def test_lines_that_hive_has_written(java: Genuine, hive: FileCatalog, options: dict[str, str], tmp_path: Path) -> None:
    place = tmp_path / "lake/d.db/old"
    metastore = hive.names.metastore  # type: ignore[attr-defined]
    add_hive_table(metastore, OLD, place, "text", {"day": "string"}, [("a",)])
    (place / "day=a" / "000000_0").write_text("1\x01ann\n2\x01b,c\n")
    table: Any = opened(hive, "old")
    table.append({"id": [3], "name": ["d;e"], "day": ["b"]})
    rows = [(1, "ann", "a"), (2, "b,c", "a"), (3, "d;e", "b")]
    assert sorted(internal_rows(table)) == rows == sorted(java.run(rows_by_java, options, "d", "old"))
    assert next((place / "day=b").iterdir()).read_text() == "3\x01d;e\n"


def test_tables_whose_rows_hive_alone_knows(hive: FileCatalog, tmp_path: Path) -> None:
    place = tmp_path / "lake/d.db/old"
    metastore = hive.names.metastore  # type: ignore[attr-defined]
    add_hive_table(metastore, OLD, place, "parquet", {"day": "string"}, [("a",)])
    cases: list[tuple[str, str, dict[str, str]]] = [
        ("transactional", "", {"transactional": "true"}),
        ("HoodieParquetInputFormat", "org.apache.hudi.hadoop.HoodieParquetInputFormat", {}),
        ("Spark's source 'delta'", "", {"spark.sql.sources.provider": "delta"}),
        ("'skip.header.line.count' is 1", "", {"skip.header.line.count": "1"}),
        ("'skip.footer.line.count' is 2", "", {"skip.footer.line.count": "2"}),
    ]
    for words, input_format, parameters in cases:
        told = metastore.table(OLD)
        told.sd.inputFormat, told.parameters = input_format or told.sd.inputFormat, parameters
        assert is_format_table(told)
        with pytest.raises(UnsupportedFeature, match=f"a table of Hive, and .*{words}"):
            check_like_hive(OLD, told)
    add_hive_table(metastore, Identifier("d", "lines"), place / "lines", "text")
    told = metastore.table(Identifier("d", "lines"))
    check_like_hive(OLD, told)
    told.parameters = {"skip.header.line.count": "1", "csv.include-header": "true"}
    check_like_hive(OLD, told)
    told.sd.serdeInfo.serializationLib = "org.apache.hadoop.hive.serde2.OpenCSVSerde"
    with pytest.raises(UnsupportedFeature, match=r"reads its lines by .*OpenCSVSerde"):
        check_like_hive(OLD, told)
    told = metastore.table(OLD)
    told.parameters = {"skip.header.line.count": "1"}
    metastore.alter_table(OLD, told, {})
    assert hive.list_tables("d") == ["lines", "old"]
    with pytest.raises(UnsupportedFeature, match="a table of Hive"):
        hive.table("d.old")
    told.parameters = {}
    metastore.alter_table(OLD, told, {})
    assert hive.table("d.old").scan().count() == 0
    (partition,) = metastore.partitions(OLD)
    partition.sd.location = f"file:{tmp_path}/elsewhere"
    metastore.alter_partition(OLD, partition)
    with pytest.raises(UnsupportedFeature, match="outside of its directory"):
        hive.table("d.old")
    hive.drop_database("d", cascade=True)


@pytest.mark.spark
def test_statements(java: Genuine, hive: FileCatalog, options: dict[str, str], spark: SparkSession) -> None:
    """Both roads of SQL, and PaimonTable, over a table of each maker."""
    session = spark.newSession()
    cat = paimon_spark.catalog(session, options, name="lake")
    paimon_spark.register_catalog(session, "lake", options)
    try:
        for sql, name in ((cat.sql, "a"), (session.sql, "b")):
            sql(f"""
                CREATE TABLE lake.d.{name} (id BIGINT COMMENT 'key', day DATE, s STRING) PARTITIONED BY (day)
                TBLPROPERTIES ('type' = 'format-table', 'file.format' = 'json', 'file.compression' = 'gzip')
            """)
            sql(f"INSERT INTO lake.d.{name} VALUES (1, 'x', DATE '2026-11-01'), (2, NULL, NULL)").collect()
            java.run(write_by_java, options, "d", name, [(3, "java", 1)])
            sql(f"INSERT OVERWRITE lake.d.{name} PARTITION (day = DATE '2026-11-01') SELECT 4L, 'y'").collect()
            found = sorted(map(tuple, sql(f"SELECT id, s FROM lake.d.{name}").collect()), key=repr)
            assert found == [(2, None), (3, "java"), (4, "y")]
            assert sorted(row[:2] for row in java.run(rows_by_java, options, "d", name)) == found
            assert sql(f"SELECT count(*) FROM lake.d.{name} WHERE day = DATE '1970-01-02'").collect() == [(1,)]
            assert name in [row[1] for row in sql("SHOW TABLES IN lake.d").collect()]
            shown = {row[0]: row[1] for row in sql(f"DESCRIBE EXTENDED lake.d.{name}").collect()}
            assert (shown["id"], shown["s"]) == ("bigint", "string")
            with pytest.raises((PaimonError, PySparkException), match="is a format table"):
                sql(f"DELETE FROM lake.d.{name} WHERE id = 1").collect()
        assert sorted(row[0] for row in cat.sql("SHOW PARTITIONS lake.d.a").collect())[0] == "day=1"
        cat["d.a"].append(session.sql("SELECT 7L AS id, 'z' AS s, DATE '2026-11-01' AS day"))
        cat["d.a"].dynamic_partition_overwrite(session.sql("SELECT 8L AS id, 'd' AS s, CAST(NULL AS DATE) AS day"))
        assert sorted(row[0] for row in cat["d.a"].toDF("id").collect()) == [3, 4, 7, 8]
        for name in "ab":
            (cat.sql if name == "a" else session.sql)(f"DROP TABLE lake.d.{name}")
        assert hive.list_tables("d") == []
    finally:
        forget_catalogs(session)


@pytest.mark.spark
@pytest.mark.parametrize("session", ["classic", "connect"])
def test_the_guide(
    options: dict[str, str], spark: SparkSession, session: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks of the guide that need a catalog, one after the other; the last one prints what the guide says."""
    page = (ROOT / "docs/guides/tables-of-files.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall("<!-- not run: [^\n]* -->\n```python\n(.*?)```", page, re.DOTALL))
    given = re.search(r"^options = \{.*?^\}", code, re.DOTALL | re.MULTILINE)
    assert given is not None
    program = tmp_path / "guide.py"
    program.write_text(code.replace(given[0], f"options = {options!r}"), encoding="utf-8")
    if session == "connect":
        pytest.importorskip("grpc")
    if session == "classic":
        exec(compile(program.read_text(encoding="utf-8"), str(program), "exec"), {"spark": spark.newSession()})
        printed = capsys.readouterr().out
    else:
        script = ROOT / "tests/support/programs/format_guide.py"
        env = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYTHONPATH"))}
        env |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        env |= {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT}/tests"}
        command = [sys.executable, str(script), str(program)]
        run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600, check=False)
        assert run.returncode == 0, run.stderr
        printed = run.stdout
    assert printed.endswith("[{'id': 6}]\n['dt=20758', 'dt=20760']\n")
    assert "[{'id': 6}]\n['dt=20758', 'dt=20760']\n" in page
    assert "dt=20759" in printed
