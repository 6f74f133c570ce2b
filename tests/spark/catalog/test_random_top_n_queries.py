"""Random queries with ORDER BY and LIMIT over random tables: the rows that Spark finds among all rows of the table.

Each query runs by ``cat.sql``, and by ``spark.sql`` with the catalog registered.

PAIMON_LEADING_TABLES=300 tries so many tables, PAIMON_LEADING_SEED=n begins with the n-th one. Rows that the order does
not tell apart may come in any order, and any of them may be the last ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from support.draws.ordered_tables import OrderedTable, draw_ordered_table
from support.draws.top_n_queries import ARGS, TABLE, LeadingQuery, draw_query
from support.long_runs import tries
from support.registered_catalogs import forget_catalogs

import paimon_spark
from paimon_spark.errors import PaimonError
from paimon_spark.spark.catalog.session_catalog import SessionCatalog
from paimon_spark.sql.parse import parse
from paimon_spark.sql.text.names import Names

pytestmark = pytest.mark.spark

TABLES = tries("PAIMON_LEADING_TABLES", ci=4, long=300)
SEED = tries("PAIMON_LEADING_SEED", ci=0)
QUERIES = 8  # of a table
REGISTERED = "lake"
Rows = list[str]


@pytest.fixture
def session(quick_spark: SparkSession) -> Iterator[SparkSession]:
    made = quick_spark.newSession()
    for key, value in {**quick_spark.conf.getAll, "spark.paimon.read.local": "true"}.items():
        if made.conf.get(key, None) != value:
            made.conf.set(key, value)
    yield made
    forget_catalogs(made)


@pytest.fixture
def lake(tmp_path: Path, session: SparkSession) -> SessionCatalog:
    catalog = paimon_spark.catalog(session, str(tmp_path))
    catalog.create_database("web")
    paimon_spark.register_catalog(session, REGISTERED, str(tmp_path))
    return catalog


def test_the_rows_are_those_of_spark(session: SparkSession, lake: SessionCatalog, tmp_path: Path) -> None:
    told: Counter[str] = Counter()
    for number in range(SEED, SEED + TABLES):
        random = Random(number)
        table = draw_ordered_table(random, tmp_path / "web.db")
        views = _Views(session, lake, table)
        for at in range(QUERIES):
            query = draw_query(random, table.name, views.of(None).columns, table.states, table.struct)
            try:
                told[_check(session, lake, views, query)] += 1
            except Exception as error:
                raise AssertionError(f"table {number}, query {at}, {query}: {error}") from error
        views.drop()
    print(dict(told))
    assert told["cut"] > TABLES * QUERIES / 20
    assert told["refused"] < TABLES * QUERIES / 2


class _Views:
    """Temporary views of all rows of a table, of which Spark alone knows. The latest one has the name of the table."""

    def __init__(self, spark: SparkSession, lake: SessionCatalog, table: OrderedTable) -> None:
        self._spark = spark
        self._lake = lake
        self._table = table
        self._frames: dict[int | None, DataFrame] = {}

    def of(self, state: int | None) -> DataFrame:
        if state not in self._frames:
            rows = self._lake.table(f"web.{self._table.name}", version=state)
            frame = self._spark.createDataFrame(rows.toArrow(), rows.schema)
            frame.createOrReplaceTempView(self._name(state))
            self._frames[state] = frame
        return self._frames[state]

    def texts(self, text: str, state: int | None) -> tuple[str, str, str]:
        """A query for the catalog, for the registered one, and for Spark."""
        self.of(state)
        ours, by_name = (
            text.replace(f"{TABLE}@", f"{name} VERSION AS OF {state}").replace(TABLE, name)
            for name in (f"{catalog}.web.{self._table.name}" for catalog in ("paimon", REGISTERED))
        )
        return ours, by_name, text.replace(f"{TABLE}@", self._name(state)).replace(TABLE, self._name(None))

    def drop(self) -> None:
        for state in self._frames:
            self._spark.catalog.dropTempView(self._name(state))

    def _name(self, state: int | None) -> str:
        return self._table.name if state is None else f"{self._table.name}_{state}"


def _check(spark: SparkSession, lake: SessionCatalog, views: _Views, query: LeadingQuery) -> str:
    """Compares the results of one query; how it was read."""
    before = {key: spark.conf.get(key, None) for key in query.settings}
    for key, value in query.settings.items():
        spark.conf.set(key, value)
    try:
        return _compared(spark, lake, views, query)
    finally:
        for key, old in before.items():
            spark.conf.unset(key) if old is None else spark.conf.set(key, old)


def _compared(spark: SparkSession, lake: SessionCatalog, views: _Views, query: LeadingQuery) -> str:
    ours, by_name, theirs = views.texts(query.text, query.state)
    doors: list[Callable[[], DataFrame]] = [lambda: lake.sql(ours, ARGS), lambda: spark.sql(by_name, ARGS)]
    try:
        expected = _rows(spark.sql(theirs, ARGS))
    except AnalysisException:
        for door in doors:
            with pytest.raises((PySparkException, PaimonError)):
                _rows(door())
        return "refused"
    except PySparkException:  # of a value that is not read where other rows come first
        return "failed"
    for door in doors:
        try:
            found = _rows(door())
            if found != expected:
                _check_alike(spark, views, query, found, expected)
        except AnalysisException:
            raise
        except PySparkException:  # Spark looked at the parts of a condition in another order
            return "failed"
        except Py4JJavaError as error:  # Spark 4.3 fails so over Parquet too: two unions of one column under one name
            if "Rule org.apache.spark.sql.catalyst.optimizer.RemoveRedundantAliases" not in str(error):
                raise
            return "failed"
    uses = getattr(parse(ours, Names("paimon", None)), "uses", ())
    if all(use.top_n is None for use in uses):
        return "other"
    told = lake.explain(ours, ARGS)
    return "cut" if "left out by the order" in told or "which rows may come first" in told else "whole"


def _check_alike(spark: SparkSession, views: _Views, query: LeadingQuery, found: Rows, expected: Rows) -> None:
    """Checks that rows which are not in the same places are those that the order does not tell apart."""
    assert len(found) == len(expected), (found, expected)
    if query.ordered is None:
        assert sorted(found) == sorted(expected), (found, expected)
        return
    one, other = (_tuples(spark.sql(views.texts(query.all_rows(d), query.state)[-1], ARGS)) for d in ("ASC", "DESC"))
    start, balance = 0, Counter[Any]()
    for end, (left, right) in enumerate(zip(one, other, strict=True), start=1):
        balance.update({left[-1]: 1})
        balance.subtract({right[-1]: 1})
        if not any(balance.values()):
            alike = Counter(str(row[:-1]) for row in one[start:end])
            places = slice(max(start - query.offset, 0), max(end - query.offset, 0))
            assert Counter(found[places]) <= alike, (found, expected)
            start, balance = end, Counter()


def _rows(frame: DataFrame) -> Rows:
    return list(map(str, _tuples(frame)))


def _tuples(frame: DataFrame) -> list[tuple[Any, ...]]:
    table = frame.toArrow()
    return [tuple(map(_shown, row)) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def _shown(value: Any) -> Any:
    """The value, of which -0.0 and 0.0 are one."""
    if isinstance(value, dict):
        return {name: _shown(inner) for name, inner in value.items()}
    return value + 0.0 if isinstance(value, float) and not math.isnan(value) else value
