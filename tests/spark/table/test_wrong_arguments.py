"""Arguments of wrong types: each public call refuses them in one sentence, before it does anything."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import dataset
from pyspark.sql import Row, SparkSession

import paimon_spark
from paimon_spark import PaimonTable, open_catalog, open_table
from paimon_spark.catalogs.functions import Function
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import View
from paimon_spark.errors import ArgumentError, PaimonError, UnsupportedFeature
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.spark.catalog.session_catalog import SessionCatalog
from paimon_spark.store.evolution.schema_update import SchemaUpdate

pytestmark = pytest.mark.spark


class Alien:
    """A value that no parameter takes."""


@pytest.fixture
def table(quick_spark: SparkSession, tmp_path: Path) -> PaimonTable:
    made = PaimonTable.create(quick_spark).location(str(tmp_path / "lake/default.db/t"))
    made = made.addColumn("id", "BIGINT").addColumn("v", "STRING").primaryKey("id").property("bucket", "1")
    return made.execute()


@pytest.fixture
def catalog(quick_spark: SparkSession, tmp_path: Path) -> SessionCatalog:
    return paimon_spark.catalog(quick_spark, str(tmp_path / "lake"))


@pytest.fixture
def owners(quick_spark: SparkSession, table: PaimonTable, catalog: SessionCatalog) -> list[Any]:
    frame, stored = quick_spark.range(1).alias("s"), open_table(f"{catalog.catalog.warehouse}/default.db/t")
    return [
        PaimonTable,
        table,
        table.optimize(),
        PaimonTable.create(quick_spark),
        table.merge(frame, "s.id = target.id"),
        SchemaUpdate(),
        catalog,
        catalog.catalog,
        stored,
        stored.scan(),
        stored.system_table("files"),
        stored.system_table("audit_log"),
    ]


def calls(owner: Any) -> Iterator[tuple[Callable[..., Any], inspect.Parameter, list[inspect.Parameter]]]:
    """The public calls of an object, with each of their parameters, and the others that must be given.

    ``Scan.with_top_n`` takes a value that no user makes; its type is imported for checkers alone. So do the catalogs'
    ``opening``.
    """
    for name, call in inspect.getmembers(owner, inspect.isroutine):
        if (
            name.startswith("_")
            or name in ("with_top_n", "opening")
            or (isinstance(owner, type) and not inspect.ismethod(call))
        ):
            continue
        parameters = list(inspect.signature(call).parameters.values())
        for parameter in parameters:
            others = (p for p in parameters if p is not parameter)
            yield call, parameter, [p for p in others if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]


def said(call: Callable[..., Any], *args: Any, **named: Any) -> str:
    """The message of the refusal."""
    with pytest.raises(PaimonError) as raised:
        call(*args, **named)
    message = str(raised.value)
    assert "\n" not in message
    return message


def test_every_parameter_of_every_public_call_refuses_an_object_of_another_kind(
    quick_spark: SparkSession, owners: list[Any]
) -> None:
    schema = TableSchema(0, (DataField(0, "id", DataType(Root.BIGINT)),), 0)
    fitting: dict[str, Any] = {"SparkSession": quick_spark, "DataFrame": quick_spark.range(1), "int": 1}
    fitting |= {"Mapping": {"v": "'x'"}, "Identifier": Identifier("a", "b"), "Rows": quick_spark.range(1)}
    fitting |= {
        "tuple": (),
        "Sequence": (),
        "View": View((), "SELECT 1"),
        "Function": Function(),
        "TableSchema": schema,
        "Columns": {"id": "BIGINT"},
        "Executor": ThreadPoolExecutor(1),
    }
    seen = 0
    for owner in owners:
        for call, parameter, needed in calls(owner):
            several = parameter.kind is parameter.VAR_POSITIONAL
            name = "binary" if parameter.kind is parameter.VAR_KEYWORD else parameter.name  # of DecodingOptions
            kinds = {one.name: str(getattr(one.annotation, "__name__", one.annotation)) for one in needed}
            given = {name: fitting.get(kind.partition("[")[0], "files") for name, kind in kinds.items()}
            message = said(call, Alien()) if several else said(call, **given, **{name: Alien()})
            assert "Alien" in message, f"{call.__qualname__}({parameter.name}): {message}"
            seen += 1
    assert seen > 200


def test_a_refusal_names_the_call_the_argument_and_what_is_expected(
    table: PaimonTable, catalog: SessionCatalog
) -> None:
    wanted = "expected a text, a list of texts or None"
    assert said(table.stream, columns=5) == f"PaimonTable.stream: the argument 'columns' is 5: {wanted}"
    assert said(table.toDF, [1, 2]) == f"PaimonTable.toDF: the argument 'columns' holds 1: {wanted}"
    assert said(catalog.table, None) == "SessionCatalog.table: the argument 'name' is None: expected a text"
    assert said(table.write_stream, None).endswith("write_stream: the argument 'df' is None: expected a DataFrame")
    assert said(table.merge, "src", "id").endswith("expected a DataFrame, such as spark.table('src')")
    assert said(catalog.table, "d.t", timestamp=datetime(2026, 11, 1)).endswith("such as '2026-11-01 12:00:00'")
    assert said(catalog.__getitem__, ("shop", "cust")).endswith("expected one text, such as 'shop.cust'")
    third = said(paimon_spark.catalog, table._spark, "lake2", {"s3.endpoint": "x"})
    assert third.endswith(
        "in place of the warehouse, which is one of them: catalog(spark, {'warehouse': '/lake', ...})"
    )
    assert said(table.optimize().where, 5).startswith("TableOptimizer.where: the argument 'condition' is 5")
    assert said(table.append, None).startswith(
        "writing rows given as NoneType: expected a DataFrame of pandas, Polars or, in a session, Spark"
    )
    for wrong in ("x", None, 5):
        assert said(paimon_spark.register, wrong).endswith(": expected a SparkSession")
    assert said(PaimonTable.forPath, None, "/lake").endswith("the argument 'spark' is None: expected a SparkSession")
    assert "expected a text, a mapping from names to texts or None" in said(paimon_spark.catalog, table._spark, 5)
    assert said(open_catalog, None).startswith("open_catalog: the argument 'options' has the type NoneType")


def test_an_argument_that_is_missing_or_unknown_is_named_with_the_call(
    quick_spark: SparkSession, table: PaimonTable, catalog: SessionCatalog
) -> None:
    update = "the call is update(condition, set, once=..., once_skips_older=...)"
    merge, new = table.merge(quick_spark.range(1).alias("s"), "true"), PaimonTable.create(quick_spark)
    wrong: list[tuple[Callable[[], Any], str]] = [
        (
            lambda: table.update(set={"v": "'x'"}),  # type: ignore[call-arg]
            "PaimonTable.update: the argument 'condition' is missing: expected a text, a Column or None; "
            f"update('true', {{'<column>': '<SQL>'}}) updates all rows; {update}",
        ),
        (
            lambda: table.update(cond="id = 1", set={}),  # type: ignore[call-arg]
            f"PaimonTable.update: the argument 'cond' is not known; did you mean 'condition'? {update.capitalize()}",
        ),
        (
            lambda: table.merge(quick_spark.range(1)),  # type: ignore[call-arg]
            "PaimonTable.merge: the argument 'condition' is missing: expected a text or a Column; the call is "
            "merge(source, condition, source_alias=..., once=..., once_skips_older=...)",
        ),
        (
            lambda: merge.whenMatchedUpdate({"v": "s.v"}, condition="true"),  # type: ignore[arg-type,misc]
            "MergeBuilder.whenMatchedUpdate: the argument 'condition' is given twice, by its place and by its name; "
            "the call is whenMatchedUpdate(condition=..., set=...)",
        ),
        (
            lambda: new.addColumn("d", "DATE", generatedAlwaysAs="CAST(at AS DATE)"),  # type: ignore[call-arg]
            "NewTable.addColumn: the argument 'generatedAlwaysAs' is not known; a table has no generated columns; "
            "compute the values in the rows that append(df) writes; the call is "
            "addColumn(name, dataType, nullable=..., comment=...)",
        ),
        (
            lambda: catalog.table("default.t", versoin=1),  # type: ignore[call-arg]
            "SessionCatalog.table: the argument 'versoin' is not known; did you mean 'version'? The call is "
            "table(name, columns=..., where=..., version=..., timestamp=..., options=..., native=...)",
        ),
        (
            lambda: open_table("/lake", versoin=1),  # type: ignore[call-arg]
            "open_table: the argument 'versoin' is not known; did you mean 'version'? The call is "
            "open_table(location, options=..., *, version=..., timestamp=..., time_zone=...)",
        ),
        (
            lambda: table.history(5, 6),  # type: ignore[call-arg]
            "PaimonTable.history: too many arguments are given by their place: 2 instead of 1; the call is "
            "history(limit=...)",
        ),
        (
            lambda: table.unset_options("a", dryrun=True),  # type: ignore[call-arg]
            "PaimonTable.unset_options: the argument 'dryrun' is not known; did you mean 'dry_run'? The call is "
            "unset_options(*keys, dry_run=...)",
        ),
        (table.sync, "the argument 'rows' is missing: expected a DataFrame; the call is sync(rows, format"),  # type: ignore[call-arg]
        (
            paimon_spark.register,
            "register: the argument 'spark' is missing: expected a SparkSession; the call is register(spark)",
        ),  # type: ignore[call-arg]
    ]
    with pytest.raises(TypeError, match=r"update\(\) missing .* 'self'"):
        PaimonTable.update()  # type: ignore[call-arg]
    for call, sentence in wrong:
        with pytest.raises(TypeError) as raised:
            call()
        assert isinstance(raised.value, ArgumentError)
        assert sentence in str(raised.value)


def test_a_condition_for_reads_without_spark_is_named(table: PaimonTable) -> None:
    where: Any = paimon_spark.col("id") > 1
    calls: list[tuple[Callable[..., Any], str]] = [
        (table.toDF, "where"),
        (table.count, "where"),
        (table.delete, "condition"),
        (table.drop_partitions, "where"),
    ]
    for call, name in calls:
        message = said(call, **{name: where})
        assert (
            f"'{name}' is an expression of paimon_spark.col, which only the 'where' of open_table takes: expected"
            in message
        )


def test_rows_of_other_libraries_and_empty_ones_are_taken(table: PaimonTable, catalog: SessionCatalog) -> None:
    rows = pa.table({"id": [1, 2], "v": ["a", None]})
    stored = open_table(table._path)
    for given in (rows.to_reader(), rows.to_batches()[0], stored.scan()):
        assert table.append(given).rows == 2
    views = pa.table({"id": [3], "v": pa.array(["c"], pa.string_view())})
    assert table.append(views).rows == 1
    for empty in (pd.DataFrame({"id": [], "v": []}), pd.DataFrame({"id": pd.Series([], dtype="int64"), "v": []})):
        assert table.append(empty).rows == 0
    assert table.toDF().count() == 3
    assert table.append(dataset.dataset(rows).scanner()).rows == 2
    for held in (catalog, catalog.catalog):
        assert ("default.t" in held, "default.u" in held) == (True, False)
        with pytest.raises(UnsupportedFeature, match=r"is no iterator: \w+\('<database>'\) names the tables"):
            iter(held)  # type: ignore[call-overload]  # that it is none is what is tried
    assert catalog.catalog["paimon.default.t"].scan().count() == 3


@pytest.mark.parametrize("value", ["false", "true", "no", 0, 1, None, []])
def test_a_flag_is_true_or_false_alone(table: PaimonTable, catalog: SessionCatalog, value: object) -> None:
    """The text 'false' counts as true in Python, and None is not what says no."""
    doors: list[tuple[Callable[..., Any], str]] = [
        (table.stream, "row_kinds"),
        (table.check, "read_files"),
        (table.remove_orphan_files, "dry_run"),
        (table.delete, "once_skips_older"),
        (table.update_schema, "dry_run"),
        (catalog.catalog.drop_database, "cascade"),
        (catalog.drop_database, "cascade"),
        (PaimonTable.create(table._spark).addColumn, "nullable"),
    ]
    for door, name in doors:
        needed = {"name": "x", "dataType": "INT"} if name == "nullable" else {"name": "x"} if name == "cascade" else {}
        assert f"the argument '{name}' is " in said(door, **needed, **{name: value})


def test_texts_and_numbers_that_mean_nothing(quick_spark: SparkSession, table: PaimonTable) -> None:
    for blank in ("", "  "):
        assert said(table.copy, blank).startswith("no path was given")
        assert said(PaimonTable.forPath, quick_spark, blank).startswith("no path was given")
    assert said(table.copy, "\0").endswith("is no path: it holds a zero byte")
    assert table.history(limit=2**40).count() == 0


def test_a_path_of_pathlib_is_one_wherever_a_text_is(
    quick_spark: SparkSession, table: PaimonTable, tmp_path: Path
) -> None:
    """The types say str, as those of Spark do; a path is turned into its text."""
    lake: Any = tmp_path / "lake"
    place: Any = lake / "default.db" / "t"
    for catalog in (open_catalog(lake), open_catalog({"warehouse": lake}), paimon_spark.catalog(quick_spark, lake)):
        assert catalog["default.t"]
    table.append(quick_spark.createDataFrame([(1, "a")], "id long, v string"))
    assert open_table(place).scan().count() == 1
    assert paimon_spark.check(place).problems == ()
    assert PaimonTable.isPaimonTable(quick_spark, place)
    assert PaimonTable.forPath(quick_spark, place).copy(lake / "copied").rows == 1
    made = PaimonTable.create(quick_spark).location(lake / "made").addColumn("id", "BIGINT").execute()
    stream = quick_spark.readStream.format("paimon").load(str(place)).select("id")
    made.write_stream(stream, checkpoint=lake / "ck").trigger(availableNow=True).start().awaitTermination()
    assert open_table(lake / "made").scan().to_arrow().to_pylist() == [{"id": 1}]
    assert said(open_table, Path("s3://bucket/t")).startswith("'s3:/bucket/t' has one slash behind s3:")


def test_a_merge_that_nobody_does_says_so(quick_spark: SparkSession, table: PaimonTable) -> None:
    merge = table.merge(quick_spark.range(1).alias("s"), "s.id = target.id")
    assert (
        repr(merge) == "<MERGE that is not done yet: no clause yet, such as whenMatchedUpdateAll(); execute() does it>"
    )
    merge = merge.whenMatchedDelete("s.id > 1").whenNotMatchedInsert(values={"id": "s.id"})
    assert repr(merge) == (
        "<MERGE that is not done yet: WHEN MATCHED THEN DELETE; WHEN NOT MATCHED THEN INSERT; execute() does it>"
    )


def test_a_refusal_shows_no_option(quick_spark: SparkSession, table: PaimonTable) -> None:
    secret = "s3.secret-key=hidden"
    for wrong in (secret, [secret], {"s3.secret-key": ["hidden"]}, {"s3.secret-key": b"hidden"}):
        assert "hidden" not in said(PaimonTable.forPath, quick_spark, "/lake", wrong)
    assert said(table.toDF, options={"scan.snapshot-id": None}) == (
        "PaimonTable.toDF: the argument 'options' has a value of the type NoneType for the key 'scan.snapshot-id': "
        "expected a text"
    )


def test_numbers_and_flags_of_numpy_and_in_options_are_taken(table: PaimonTable) -> None:
    table.append(table._spark.createDataFrame([(1, "a"), (2, "b")], "id bigint, v string"))
    assert table.create_tag("first", snapshot=np.int64(1)).snapshot_id == 1  # type: ignore[arg-type]
    assert table.expire_tags(dry_run=np.True_).names == ()  # type: ignore[arg-type]
    assert table.toDF({"v": 1}.keys(), options={"scan.snapshot-id": 1}).count() == 2  # type: ignore[arg-type,dict-item]
    table.set_options({"write-only": True, "num-sorted-run.compaction-trigger": 7})  # type: ignore[dict-item]
    stored = open_table(table._path).schema.options
    assert (stored["write-only"], stored["num-sorted-run.compaction-trigger"]) == ("true", "7")
    (shown,) = table.toDF(columns=(name for name in ["v"]), where="id = 2").collect()  # type: ignore[arg-type]
    assert shown == Row(v="b")
