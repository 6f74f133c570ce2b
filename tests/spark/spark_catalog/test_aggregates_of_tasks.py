"""Aggregates of which our tasks make a part have the results of Spark over the same rows in a file of its own.

Both the catalog that Spark knows and ``SessionCatalog.sql`` have tasks make them.

``PAIMON_AGGREGATES`` sets how many queries are tried.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from support.long_runs import draws, tries

from conftest import Lake

QUERIES = tries("PAIMON_AGGREGATES", ci=24, long=5000)
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Most of the time of a query of few rows is that of the Java compiler, for code that runs once."""
PARTIAL = "partial aggregates"
IN_PART = "aggregated in part by the tasks"
COLUMNS = {
    "g": "STRING", "v": "VARCHAR(5)", "c": "CHAR(4)", "t": "TINYINT", "s": "SMALLINT", "i": "INT", "l": "BIGINT",
    "d": "DECIMAL(6,2)", "e": "DECIMAL(14,3)", "w": "DECIMAL(38,6)", "m": "DECIMAL(20,0)", "day": "DATE",
    "ts": "TIMESTAMP", "tn": "TIMESTAMP_NTZ", "b": "BOOLEAN",
    "f": "FLOAT", "x": "DOUBLE", "y": "BINARY", "a": "ARRAY<INT>", "p": "STRING",
}  # fmt: skip
NUMBERS = ("t", "s", "i", "l", "d", "e", "w", "m")
ENDS = (*NUMBERS, "day", "ts", "tn", "b", "g", "x", "c", "p")
GROUPS = ("g", "v", "c", "t", "s", "d", "day", "tn", "b", "x", "p", "f", "id", "t + 1")
CONDITIONS = (
    "",
    "",
    "WHERE i > 0",
    "WHERE p = 'a'",
    "WHERE g LIKE 'g%' OR t IS NULL",
    "WHERE id % 3 = 1",
    "WHERE 1 = 0",
    "WHERE day < DATE'2026-01-09' - INTERVAL 2 DAYS",
    "WHERE length(g) > 1",
    "WHERE tn <= TIMESTAMP_NTZ'2026-01-01 00:00:00' AND t < s",
)
_ENDS_OF = {
    "t": "tinyint(r * 250 - 125)", "s": "smallint(r * 60000 - 30000)", "i": "int(r * 4e9 - 2e9)",
    "l": "bigint((r - 0.5) * {huge})", "d": "cast((r - 0.5) * 19000 AS DECIMAL(6,2))",
    "e": "cast((r - 0.5) * 1e11 AS DECIMAL(14,3))",
    "w": "cast((r - 0.5) * {huge} AS DECIMAL(38,6)) * 1000000000000", "m": "cast((r - 0.5) * 1e19 AS DECIMAL(20,0))",
}  # fmt: skip


def make(lake: Lake, folder: Path, seed: int, huge: str) -> None:
    """A table `t` of two partitions whose rows are in several files each, and a view `copied` of the same rows."""
    number = {name: text.replace("{huge}", huge) for name, text in _ENDS_OF.items()}
    values = {
        **number, "g": "element_at(array('g', 'g ', 'ü', '', 'gg'), 1 + int(r * 5))", "v": "string(int(r * 20))",
        "c": "element_at(array('a', 'ab', 'abcd', ' '), 1 + int(r * 4))",
        "day": "date_add(DATE'2026-01-01', int(r * 9))",
        "ts": "timestamp_millis(bigint(r * 2e12))", "tn": "TIMESTAMP_NTZ'2026-01-01 00:00:00'", "b": "r < 0.5",
        "f": "if(r < 0.2, float('NaN'), if(r < 0.4, -0.0F, float(int(r * 4))))", "x": "if(r < 0.2, -0.0D, r)",
        "y": "cast(string(r) AS BINARY)", "a": "array(int(r * 3))", "p": "if(id % 2 = 0, 'a', 'b')",
    }  # fmt: skip
    columns = [f"{name} {kind}{' NOT NULL' * (name == 'p')}" for name, kind in COLUMNS.items()]
    lake.sql(
        f"CREATE TABLE t (id INT NOT NULL, {', '.join(columns)}) PARTITIONED BY (p) "
        "TBLPROPERTIES ('primary-key' = 'id, p', 'bucket' = '2', 'write-only' = 'true')"
    )
    for run, (first, count) in enumerate([(0, 300), (100, 300), (50, 20)]):
        shown = [
            f"cast({text} AS {COLUMNS[name]}) {name}" if name == "p" else
            f"cast(if(pmod(hash(id, '{name}', {run}), 7) = 0, NULL, {text}) AS {COLUMNS[name]}) {name}"
            for name, text in ((name, values[name]) for name in COLUMNS)
        ]  # fmt: skip
        rows = f"SELECT int(id) id, rand({seed + run}) r FROM range({first}, {first + count}, 1, 1)"
        lake.sql(f"INSERT INTO t SELECT id, {', '.join(shown)} FROM ({rows})")
    lake.sql("SELECT * FROM t").write.parquet(str(folder / "copied"))
    shown = ", ".join(f"rpad({n}, 4, ' ') {n}" if n == "c" else n for n in ["id", *COLUMNS])
    lake.spark.read.parquet(str(folder / "copied")).createOrReplaceTempView("all_rows")
    lake.sql(f"SELECT {shown} FROM all_rows").createOrReplaceTempView("copied")


def query(draw: random.Random, huge: bool) -> str:
    """A query over ``{}``.

    Means of huge integers and sums of huge decimals of 38 digits are left out: Spark itself has several, by the order
    of the rows. A sum that overflows on its way is null or an error, and fits where negative numbers come earlier.
    """
    groups = draw.sample(GROUPS, draw.choice([0, 0, 1, 1, 2, 3]))
    functions = [function(draw, huge) for _ in range(draw.choice([1, 1, 2, 4]))]
    names = draw.random() < 0.8  # else Spark names the columns, after what it computes
    items = [*groups, *(f"{text} AS f{number}" if names else text for number, text in enumerate(functions))]
    by = f"GROUP BY {', '.join(groups)}" if groups else ""
    having = f"HAVING count(*) > {draw.randrange(4)}" if draw.random() < 0.2 else ""
    text = f"SELECT {', '.join(items)} FROM {{}} {draw.choice(CONDITIONS)} {by} {having}"
    return f"SELECT count(*), max(f0) FROM ({text})" if names and draw.random() < 0.1 else text


def function(draw: random.Random, huge: bool) -> str:
    numbers = [number for number in NUMBERS if not (huge and number == "w")]
    kind = draw.choice(
        ["count(*)", "count", "sum", "sum", "min", "max", "avg", "distinct", "filter", "expression", "term", "term"]
    )
    match kind:
        case "count(*)":
            return kind
        case "count":
            return f"count({draw.choice([*COLUMNS])})"
        case "min" | "max":
            return f"{kind}({draw.choice(ENDS)})"
        case "distinct":
            return f"{draw.choice(['count', 'sum'])}(DISTINCT {draw.choice(NUMBERS[:5])})"
        case "filter":
            return f"{draw.choice(['count', 'sum', 'max'])}({draw.choice(numbers)}) FILTER (WHERE t > 0)"
        case "expression":
            return f"{draw.choice(['sum', 'max'])}({draw.choice(['t + 1', '-i', 'if(b, s, 0)'])})"
        case "term":
            return f"sum({term(draw, draw.choice([1, 2, 2, 3]), huge)})"
    number = draw.choice([name for name in numbers if not (huge and kind == "avg" and name == "l")])
    return f"{kind}({draw.choice([number, number.upper(), f'{{}}.{number}'])})"


def term(draw: random.Random, depth: int, huge: bool) -> str:
    """Arithmetic of decimals, and of an integer now and then."""
    if depth == 0:
        return draw.choice(["d", "d", "e", "e", "d" if huge else "w", "m", "1", "2.50", "-0.001", "1e3BD", "i"])
    return f"({term(draw, depth - 1, huge)} {draw.choice('+-**')} {term(draw, draw.randrange(depth), huge)})"


def result(lake: Lake, text: str, run: Callable[[str], DataFrame] | None = None) -> object:
    """The rows, their types and names; or the kind of the error of Spark."""
    try:
        frame = (run or lake.sql)(text)
        return frame.dtypes, lake.rows(frame)
    except PySparkException as error:
        return re.findall(r"\[([A-Z_.]+)\]", str(error))[:1]


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("huge", ["1e6", "1.8e19"], ids=["small", "huge"])
def test_results_are_those_of_spark(lake: Lake, tmp_path: Path, ansi: str, huge: str) -> None:
    draw = random.Random(f"{draws().random()} {ansi} {huge}")
    lake.spark.conf.set("spark.paimon.read.local", "false")
    make(lake, tmp_path, draw.randrange(1000), huge)
    settings = {"spark.sql.ansi.enabled": ansi, **(INTERPRETED if QUERIES > 100 else {})}
    for key, value in settings.items():
        lake.spark.conf.set(key, value)
    try:
        pushed = in_text = False
        for _ in range(QUERIES // 4):
            text = query(draw, huge != "1e6")
            expected = result(lake, text.replace("{}", "copied"))
            ours, of_cat = text.replace("{}", "t"), text.replace("{}", "lake.d.t")
            assert result(lake, ours) == expected, text
            assert result(lake, of_cat, lake.cat.sql) == expected, text
            pushed = pushed or PARTIAL in lake.sql(f"EXPLAIN {ours}").collect()[0][0]
            in_text = in_text or IN_PART in lake.cat.explain(of_cat)
        assert (pushed and in_text) or QUERIES < 100
    finally:
        for key in settings:
            lake.spark.conf.unset(key)


def test_what_spark_leaves_to_the_tasks(lake: Lake, tmp_path: Path) -> None:
    """Sums of integers and decimals, counts and ends, by columns whose equal values are one group for Spark too."""
    lake.spark.conf.set("spark.paimon.read.local", "false")
    make(lake, tmp_path, 1, "1e6")
    of = "{} FROM lake.d.t WHERE i > 0 GROUP BY {}"
    for items, groups in (
        ("g, sum(i)", "g"),
        ("tn, count(a), min(w)", "tn"),
        ("v, d, max(ts)", "v, d"),
        ("b", "b"),
        ("g, avg(i), avg(s), avg(e)", "g"),
    ):
        assert PARTIAL in lake.sql(f"EXPLAIN SELECT {of.format(items, groups)}").collect()[0][0], items
        assert items == "b" or IN_PART in lake.cat.explain(f"SELECT {of.format(items, groups)}"), items
    for term in ("e * (1 - d)", "e * (1 - d) * (1 + e)", "d + e - 0.5", "d * d"):
        query = f"SELECT {of.format(f'g, sum({term}) s, sum(i)', 'g')}"
        assert PARTIAL in lake.sql(f"EXPLAIN {query}").collect()[0][0], term
        assert IN_PART in lake.cat.explain(query), term
        expected = lake.rows(query.replace("lake.d.t", "copied"))
        assert lake.rows(query) == lake.rows(lake.cat.sql(query)) == expected, term
    assert lake.rows("SELECT sum(2.5) FROM t WHERE i > 0") == lake.rows("SELECT sum(2.5) FROM copied WHERE i > 0")
    for items, groups in (
        ("g, sum(w * w)", "g"), ("g, sum(2.5)", "g"), ("g, sum(d / e)", "g"), ("g, max(d * e)", "g"),
        ("g, sum(DISTINCT d * e)", "g"),
        ("g, sum(x)", "g"), ("x, count(*)", "x"), ("c, count(*)", "c"), ("g, min(f)", "g"), ("g, avg(d)", "g"),
        ("g, avg(x)", "g"),
        ("id, sum(l)", "id"), ("g, count(DISTINCT i)", "g"), ("g, sum(i + 1)", "g"), ("g, max(v)", "g"),
    ):  # fmt: skip
        assert PARTIAL not in lake.sql(f"EXPLAIN SELECT {of.format(items, groups)}").collect()[0][0], items
        assert IN_PART not in lake.cat.explain(f"SELECT {of.format(items, groups)}"), items


def test_spark_takes_groups_to_be_as_many_as_rows(lake: Lake, tmp_path: Path) -> None:
    """Else it would send a result of millions of groups to all tasks, as the small side of a join."""
    lake.spark.conf.set("spark.paimon.read.local", "false")
    make(lake, tmp_path, 1, "1e6")

    def size(query: str) -> int:
        return int(lake.sql(query)._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())

    read = size("SELECT l FROM t WHERE i > 0")
    assert size("SELECT l, count(*) FROM t WHERE i > 0 GROUP BY l") >= read
    assert size("SELECT count(l) FROM t WHERE i > 0") < read / 10


def test_rows_are_counted_from_their_keys_alone(lake: Lake, tmp_path: Path) -> None:
    """Partial aggregates of a text read a column at least, which takes several times as long."""
    lake.spark.conf.set("spark.paimon.read.local", "false")
    make(lake, tmp_path, 1, "1e6")
    for where in ("", "WHERE i > 0"):
        query = f"SELECT count(*) FROM {{}} {where}"
        assert lake.rows(lake.cat.sql(query.format("lake.d.t"))) == lake.rows(query.format("copied"))
        assert IN_PART not in lake.cat.explain(query.format("lake.d.t"))
    assert IN_PART in lake.cat.explain("SELECT count(*), count(i) FROM lake.d.t")


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("(1, 9007199254740993), (2, 1)", False),
        ("(1, 2251799813685248), (2, -3)", True),
        ("(1, -2251799813685249), (2, NULL)", False),
        ("(1, NULL), (2, NULL)", True),
    ],
)
def test_a_mean_of_large_integers_is_left_to_spark(lake: Lake, text: str, means: bool) -> None:
    """Spark adds them as DOUBLE, and a sum beyond 2^53 depends on the order; statistics of 4 rows tell that none is."""
    lake.spark.conf.set("spark.paimon.read.local", "false")
    lake.sql("CREATE TABLE big (id INT NOT NULL, l BIGINT) TBLPROPERTIES ('primary-key' = 'id', 'write-only' = 'true')")
    for _ in range(2):
        lake.sql(f"INSERT INTO big VALUES {text}")
    rows = lake.rows("SELECT avg(l) FROM (SELECT l + 0 AS l FROM big)")
    assert rows == lake.rows("SELECT avg(l) FROM big") == lake.rows(lake.cat.sql("SELECT avg(l) FROM lake.d.big"))
    assert (PARTIAL in lake.sql("EXPLAIN SELECT avg(l) FROM big").collect()[0][0]) is means
    assert (IN_PART in lake.cat.explain("SELECT avg(l) FROM lake.d.big")) is means


def test_a_mean_of_merged_sums_is_not_bound_by_statistics(lake: Lake) -> None:
    """An aggregation makes values of several, which are in no file."""
    lake.spark.conf.set("spark.paimon.read.local", "false")
    options = "'primary-key' = 'id', 'write-only' = 'true', 'merge-engine' = 'aggregation'"
    options += ", 'fields.l.aggregate-function' = 'product'"
    lake.sql(f"CREATE TABLE big (id INT NOT NULL, l BIGINT) TBLPROPERTIES ({options})")
    for _ in range(2):
        lake.sql("INSERT INTO big VALUES (1, 1000000000)")
    assert lake.rows("SELECT avg(l) FROM big") == [(1e18,)]
    assert PARTIAL not in lake.sql("EXPLAIN SELECT avg(l) FROM big").collect()[0][0]
    assert IN_PART not in lake.cat.explain("SELECT avg(l) FROM lake.d.big")


def test_a_condition_that_is_not_understood_is_left_to_spark(lake: Lake, tmp_path: Path) -> None:
    lake.spark.conf.set("spark.paimon.read.local", "false")
    make(lake, tmp_path, 1, "1e6")
    for condition, ours in (("i > 0", True), ("i > 0 AND g <> 'g'", True), ("hash(i) > 0", False), ("i > :x", True)):
        args = {"x": 0} if ":x" in condition else {}
        query = f"SELECT g, sum(i), count(*) FROM {{}} WHERE {condition} GROUP BY g"
        expected = lake.rows(lake.sql(query.format("copied"), **args))
        assert lake.rows(lake.cat.sql(query.format("lake.d.t"), args or None)) == expected
        assert (IN_PART in lake.cat.explain(query.format("lake.d.t"), args or None)) is ours, condition
