"""Functions that a REST server keeps: made, changed, dropped, shown and described by SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.registered_catalogs import forget_catalogs
from support.rest_server import RestServer, rest_server

import paimon_spark
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import FunctionAlreadyExists, FunctionNotFound, OptionError, UnsupportedFeature
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark

INPUTS = '[{"id": 0, "name": "length", "type": "INT"}, {"id": 1, "name": "w", "type": "BIGINT"}]'
RETURNS = '[{"id": 0, "name": "area", "type": "BIGINT"}]'
NAMED = f"inputParams => '{INPUTS}', returnParams => '{RETURNS}'"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    with rest_server(tmp_path_factory.mktemp("lake")) as server:
        yield server


@pytest.fixture
def catalog(spark: SparkSession, server: RestServer) -> SessionCatalog:
    made = paimon_spark.catalog(spark, server.options)
    made.create_database("f", ignore_if_exists=True)
    return made


def alter(catalog: SessionCatalog, of: str, **change: object) -> list[object]:
    found = catalog.sql(f"CALL paimon.sys.alter_function('f.{of}', '{json.dumps(change)}')")
    return [tuple(row) for row in found.collect()]


def described(catalog: SessionCatalog, name: str, how: str = "") -> list[str]:
    found = catalog.sql(f"DESCRIBE FUNCTION {how} paimon.f.{name}")
    assert found.columns == ["function_desc"]
    return [row[0] for row in found.collect()]


def test_a_function_of_sql(spark: SparkSession, catalog: SessionCatalog, server: RestServer) -> None:
    make = f"CALL paimon.sys.create_function(function => 'f.area', {NAMED}, comment => 'of a field', options => 'a=b')"
    assert [tuple(row) for row in catalog.sql(make).collect()] == [(True,)]
    with pytest.raises(FunctionAlreadyExists):
        catalog.sql(make)
    assert [row[0] for row in catalog.sql("SHOW USER FUNCTIONS IN paimon.f LIKE 'area'").collect()] == ["paimon.f.area"]
    with pytest.raises(UnsupportedFeature, match="no definition 'spark'"):
        described(catalog, "area")
    body = {"type": "sql", "definition": "length * w"}
    assert alter(catalog, "area", action="addDefinition", name="spark", definition=body) == [(True,)]
    assert described(catalog, "area") == [
        "Function: f.area",
        "Type:     SCALAR",
        "Input:    length INT   ",
        "          w      BIGINT",
        "Returns:  BIGINT",
    ]
    alter(catalog, "area", action="updateComment", comment="new")
    assert described(catalog, "area", "EXTENDED")[-3:] == [
        "Comment:       new",
        "Deterministic: true",
        "Body:          length * w",
    ]
    try:
        paimon_spark.register_catalog(spark, "served", server.options)
        assert spark.sql("DESCRIBE FUNCTION served.f.area").collect()[0][0] == "Function: f.area"
        assert "served.f.area" in [row[0] for row in spark.sql("SHOW USER FUNCTIONS IN served.f").collect()]
        spark.sql('CALL served.sys.alter_function(\'f.area\', \'{"action": "setOption", "key": "k", "value": "v"}\')')
    finally:
        forget_catalogs(spark)
    assert catalog.catalog.load_function(Identifier("f", "area")).options["k"] == "v"
    assert [tuple(row) for row in catalog.sql("SELECT paimon.f.area(3, 2)").collect()] == [(6,)]
    assert [tuple(row) for row in catalog.sql("CALL paimon.sys.drop_function('f.area')").collect()] == [(True,)]
    with pytest.raises(FunctionNotFound):
        described(catalog, "area")
    with pytest.raises(FunctionNotFound):
        catalog.sql("CALL paimon.sys.drop_function('f.area')")


def test_a_function_of_a_file(catalog: SessionCatalog) -> None:
    catalog.sql(f"CALL paimon.sys.create_function('f.udf', '{INPUTS}', '{RETURNS}', false)")
    resources = [{"resourceType": "jar", "uri": "file:/a.jar"}]
    body = {"type": "file", "fileResources": resources, "language": "JAVA", "className": "a.B", "functionName": "udf"}
    alter(catalog, "udf", action="addDefinition", name="spark", definition=body)
    assert described(catalog, "udf") == ["Function: f.udf", "Class: a.B"]
    assert described(catalog, "udf", "EXTENDED")[-1] == "File Resources: file:/a.jar"
    body = {"type": "lambda", "definition": "(Integer a) -> a", "language": "JAVA"}
    alter(catalog, "udf", action="updateDefinition", name="spark", definition=body)
    with pytest.raises(UnsupportedFeature, match="of the type sql or file"):
        described(catalog, "udf")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (f"create_function('f.g', '{{}}', '{RETURNS}')", "'inputParams' wants parameters"),
        (f"create_function('f.g', 'no', '{RETURNS}')", "'inputParams' is no JSON"),
        ("alter_function('f.g', '[]')", "an object with 'action'"),
    ],
)
def test_what_does_not_fit(catalog: SessionCatalog, call: str, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        catalog.sql(f"CALL paimon.sys.{call}")


def test_catalogs_without_functions(spark: SparkSession, tmp_path: Path) -> None:
    catalog = paimon_spark.catalog(spark, str(tmp_path))
    catalog.create_database("f")
    with pytest.raises(UnsupportedFeature, match="only a REST catalog stores functions"):
        catalog.sql(f"CALL paimon.sys.create_function('f.g', '{INPUTS}', '{RETURNS}')")
    assert "paimon.f.g" not in [row[0] for row in catalog.sql("SHOW USER FUNCTIONS IN paimon.f").collect()]
