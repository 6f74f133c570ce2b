"""Which tables of ours a query names, and the text that Spark gets in their place."""

from __future__ import annotations

import pytest

from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.sql.parse import parse
from paimon_spark.sql.queries.query import Conjunct, Increment, Query, Search, TextSearch, Travel, Use
from paimon_spark.sql.queries.references import names_read
from paimon_spark.sql.statements import CreateView, Explain, Untouched, ViewColumn
from paimon_spark.sql.text.lexer import tokenize
from paimon_spark.sql.text.names import Names

NAMES = Names()
IN_SHOP = Names(database="shop")


def query(text: str, names: Names = NAMES) -> Query:
    found = parse(text, names)
    assert isinstance(found, Query)
    return found


def only(text: str, names: Names = NAMES) -> Use:
    (use,) = query(text, names).uses
    return use


def rendered(text: str, names: Names = NAMES) -> str:
    found = query(text, names)
    return found.render([f"t{i}" for i in range(len(found.uses))])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT o.id FROM paimon.shop.orders o", "SELECT o.id FROM {t0} o"),
        ("SELECT id FROM PAIMON.shop.orders", "SELECT id FROM {t0} AS `orders`"),
        ("SELECT id FROM paimon . shop . `orders` AS o;", "SELECT id FROM {t0} AS o;"),
        ("SELECT 1 FROM paimon.`/lake/t$files`", "SELECT 1 FROM {t0} AS `/lake/t$files`"),
        ("SELECT 1 FROM paimon.shop.t$files f", "SELECT 1 FROM {t0} f"),
        ("SELECT 1 FROM paimon.a.t -- the end", "SELECT 1 FROM {t0} AS `t` -- the end"),
        ("SELECT '{\"a\": 1}' FROM paimon.a.t t", "SELECT '{{\"a\": 1}}' FROM {t0} t"),
        ("SELECT paimon.a.t.c, a.t.*, t.d FROM paimon.a.t", "SELECT t.c, t.*, t.d FROM {t0} AS `t`"),
        ("SELECT a.t.c FROM paimon.x.y a", "SELECT a.t.c FROM {t0} a"),
        (
            "SELECT 1 FROM paimon.a.t TABLESAMPLE (10 PERCENT) REPEATABLE (3) WHERE 1=1",
            "SELECT 1 FROM {t0} TABLESAMPLE (10 PERCENT) REPEATABLE (3) AS `t` WHERE 1=1",
        ),
        ("SELECT 1 FROM paimon.a.t VERSION AS OF 3 x", "SELECT 1 FROM {t0} x"),
        ("SELECT 1 FROM paimon.a.t FOR TIMESTAMP AS OF '2026-11-01'", "SELECT 1 FROM {t0} AS `t`"),
        ("SELECT 1 FROM s FOR VERSION AS OF 3, paimon.a.t t", "SELECT 1 FROM s FOR VERSION AS OF 3, {t0} t"),
        ("SELECT 1 FROM paimon.a.t WITH ('k' = 'v') x", "SELECT 1 FROM {t0} x"),
        ("SELECT 1 FROM paimon_incremental_query('a.t', '1', '2') x", "SELECT 1 FROM {t0} x"),
        ("SELECT 1 FROM paimon_incremental_to_auto_tag('a.t', 'x')", "SELECT 1 FROM {t0}"),
        ("SELECT 1 FROM vector_search('a.t', 'v', array(1), 3) x", "SELECT 1 FROM {t0} x"),
        ("TABLE paimon.a.t", "SELECT * FROM {t0} AS `t`"),
        ("TABLE paimon.a.t ORDER BY t.b", "SELECT * FROM {t0} AS `t` ORDER BY t.b"),
        ("TABLE paimon.a.t |> SELECT t.b.c", "SELECT * FROM {t0} AS `t` |> SELECT t.b.c"),
        (
            "WITH x AS (SELECT 1) TABLE x |> UNION ALL TABLE paimon.a.t |> JOIN paimon.a.u u",
            "WITH x AS (SELECT 1) TABLE x |> UNION ALL SELECT * FROM {t0} AS `t` |> JOIN {t1} u",
        ),
        (
            "SELECT 1 FROM (TABLE s.t) JOIN (TABLE s |> LIMIT 1) JOIN paimon.a.t t",
            "SELECT 1 FROM (TABLE s.t) JOIN (TABLE s |> LIMIT 1) JOIN {t0} t",
        ),
        (
            "FROM paimon.a.t |> EXCEPT DISTINCT (FROM paimon.a.u |> SELECT a)",
            "FROM {t0} AS `t` |> EXCEPT DISTINCT (FROM {t1} AS `u` |> SELECT a)",
        ),
        (
            "FROM paimon.a.t |> SET a = (SELECT max(b) FROM paimon.a.u u) |> SET b = 1",
            "FROM {t0} AS `t` |> SET a = (SELECT max(b) FROM {t1} u) |> SET b = 1",
        ),
        (
            "WITH RECURSIVE r(n) MAX RECURSION LEVEL 9 AS (VALUES 1 UNION ALL SELECT n + 1 FROM r) "
            "SELECT 1 FROM r JOIN paimon.a.t t",
            "WITH RECURSIVE r(n) MAX RECURSION LEVEL 9 AS (VALUES 1 UNION ALL SELECT n + 1 FROM r) "
            "SELECT 1 FROM r JOIN {t0} t",
        ),
        (
            "SELECT shuffle(a, 7), any_value(b, true) AS any_value, count(*) FROM paimon.a.t t",
            "SELECT shuffle(a, 7), any_value(b, true) AS any_value, count(*) FROM {t0} t",
        ),
        (
            "SELECT 1 FROM paimon.a.t PIVOT (ceil(sum(b)) + 1 AS s, avg(b) FOR c IN (1))",
            "SELECT 1 FROM {t0} AS `t` PIVOT (ceil(sum(b)) + 1 AS s, avg(b) FOR c IN (1))",
        ),
        (
            "SELECT v:a.b::decimal(5, 2), v:['c'], t.v:d[0] FROM paimon.a.t t",
            "SELECT v:a.b::decimal(5, 2), v:['c'], t.v:d[0] FROM {t0} t",
        ),
        ("SELECT g::GEOMETRY(ANY) FROM paimon.a.t t", "SELECT g::GEOMETRY(ANY) FROM {t0} t"),
        ("SELECT 1 FROM IDENTIFIER('paimon.a.t') x", "SELECT 1 FROM {t0} x"),
        ("SELECT t.b FROM IDENTIFIER('paimon.a.`t`')", "SELECT t.b FROM {t0} AS `t`"),
        (
            "SELECT IDENTIFIER('max')(b) FROM paimon.a.t t LATERAL VIEW explode(c) IDENTIFIER('x') AS y",
            "SELECT IDENTIFIER('max')(b) FROM {t0} t LATERAL VIEW explode(c) IDENTIFIER('x') AS y",
        ),
        ("SELECT * FROM f(TABLE(paimon.a.t))", "SELECT * FROM f(TABLE({t0}))"),
        ("FROM paimon.a.t |> WHERE a = 1 |> SELECT b", "FROM {t0} AS `t` |> WHERE a = 1 |> SELECT b"),
        (
            "FROM paimon.a.t |> EXTEND a + 1 AS b |> AS x |> LIMIT 3 |> JOIN paimon.a.u u ON x.a = u.a |> DROP b",
            "FROM {t0} AS `t` |> EXTEND a + 1 AS b |> AS x |> LIMIT 3 |> JOIN {t1} u ON x.a = u.a |> DROP b",
        ),
        ("SELECT a FROM (FROM paimon.a.t |> LIMIT 1) x", "SELECT a FROM (FROM {t0} AS `t` |> LIMIT 1) x"),
        ("SELECT /*+ BROADCAST(t) */ a FROM paimon.a.t", "SELECT /*+ BROADCAST(t) */ a FROM {t0} AS `t`"),
        (
            "SELECT a FROM paimon.a.t PIVOT (sum(b) FOR c IN (1))",
            "SELECT a FROM {t0} AS `t` PIVOT (sum(b) FOR c IN (1))",
        ),
        (
            "WITH t AS (SELECT * FROM paimon.a.t) SELECT * FROM t JOIN paimon.a.t u ON t.a = u.a",
            "WITH t AS (SELECT * FROM {t0} AS `t`) SELECT * FROM t JOIN {t1} u ON t.a = u.a",
        ),
        (
            "SELECT a FROM s WHERE EXISTS (SELECT 1 FROM paimon.a.t WHERE t.x = s.x) UNION SELECT b FROM paimon.a.u u",
            "SELECT a FROM s WHERE EXISTS (SELECT 1 FROM {t0} AS `t` WHERE t.x = s.x) UNION SELECT b FROM {t1} u",
        ),
        ("INSERT INTO spark_t SELECT a FROM paimon.a.t t", "INSERT INTO spark_t SELECT a FROM {t0} t"),
        (
            "CREATE TABLE s USING parquet AS SELECT a FROM paimon.a.t t",
            "CREATE TABLE s USING parquet AS SELECT a FROM {t0} t",
        ),
        (
            "MERGE INTO s USING paimon.a.t t ON s.a = t.a WHEN MATCHED THEN DELETE",
            "MERGE INTO s USING {t0} t ON s.a = t.a WHEN MATCHED THEN DELETE",
        ),
        ("SELECT t.a, t.b[0], transform(t.b, x -> x + 1) FROM paimon.a.t", None),
        ("SELECT a, row_number() OVER (PARTITION BY b ORDER BY c) r FROM paimon.a.t QUALIFY r = 1", None),
        ("SELECT a FROM paimon.a.t LATERAL VIEW OUTER explode(b) e AS c WHERE c > 1", None),
        ("SELECT a FROM paimon.a.t, LATERAL (SELECT t.b + 1 AS c) l", None),
        ("SELECT a, sum(b) FROM paimon.a.t GROUP BY GROUPING SETS ((a), ()) HAVING sum(b) > 1", None),
        ("SELECT a FROM (VALUES (1)) v(a) FULL OUTER JOIN paimon.a.t USING (a)", None),
        ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) FILTER (WHERE b) FROM paimon.a.t", None),
        ("SELECT CASE WHEN a THEN b END FROM paimon.a.t DISTRIBUTE BY a SORT BY b", None),
        ("SELECT a FROM paimon.a.t EXCEPT ALL SELECT b FROM s INTERSECT SELECT c FROM s", None),
        (
            "WITH RECURSIVE r AS (SELECT 1 a UNION ALL SELECT a + 1 FROM r JOIN paimon.a.t USING (a)) SELECT a FROM r",
            None,
        ),
        ("SELECT a FROM paimon.a.t WHERE b = :b AND c = ? AND d ILIKE ANY ('x', 'y')", None),
    ],
)
def test_tables_are_exchanged_in_the_users_own_characters(text: str, expected: str | None) -> None:
    if expected is None:
        expected = text.replace("paimon.a.t", "{t0} AS `t`")
    assert rendered(text) == expected
    found = query(text)
    pieces = [piece if isinstance(piece, str) else text[piece.start : piece.end] for piece in found.pieces]
    assert "".join(pieces) == text


def test_a_use_that_is_left_keeps_all_its_characters() -> None:
    text = "SELECT shop.t.a, '{' FROM t VERSION AS OF 3, u x WHERE t.a = 1"
    found = query(text, IN_SHOP)
    assert [use.name.is_bare for use in found.uses] == [True, True]
    assert found.render([None, None]) == text
    assert found.render([None, "u"]) == "SELECT shop.t.a, '{{' FROM t VERSION AS OF 3, {u} x WHERE t.a = 1"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM shop.orders",
        "SELECT 'paimon.a.t'",
        "WITH paimon AS (SELECT 1 a) SELECT paimon.a FROM paimon",
        "SELECT FROM WHERE",
        "SELECT 'abc",
        "BEGIN SELECT 1; SELECT 2; END",
        "",
        "SHOW FUNCTIONS",
        "SET spark.sql.ansi.enabled = true",
        "CREATE VIEW v AS SELECT * FROM s",
        "-- paimon.a.t",
        "SELECT vector_search(a) FROM s",
    ],
)
def test_what_names_nothing_of_ours_is_untouched(text: str) -> None:
    assert parse(text, NAMES) == Untouched(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT a FROM t", ["t"]),
        ("SELECT a FROM db.t JOIN paimon.x.y", ["db.t", "paimon.x.y"]),
        ("SELECT a FROM spark_catalog.db.t, spark_catalog.t, global_temp.v, parquet.`/x/y`", []),
        ("SELECT a FROM cat.db.t", []),
        ("WITH t AS (SELECT 1 a) SELECT a FROM t", []),
        ("WITH t AS (SELECT a FROM t) SELECT a FROM t", ["t"]),
        ("WITH RECURSIVE t AS (SELECT a FROM t) SELECT a FROM t", []),
        ("WITH a AS (SELECT 1 FROM b), b AS (SELECT 2 FROM a) SELECT 1 FROM b", ["b"]),
        ("SELECT * FROM range(3), explode(x)", []),
        ("SELECT a AS table FROM t WHERE (table IS NULL)", ["t"]),
        ("WITH t AS (TABLE u) TABLE t", ["u"]),
        ("WITH t(a) AS (VALUES 1), IDENTIFIER('v')(b) AS (VALUES 2) SELECT IDENTIFIER('max')(a) FROM t, v", []),
        ("WITH t AS (VALUES 1) SELECT 1 FROM IDENTIFIER('t'), IDENTIFIER('u') WHERE IDENTIFIER('t.a') = 1", ["u"]),
        ("SELECT 1 FROM IDENTIFIER(:p)", []),
    ],
)
def test_the_current_database_makes_short_names_ours(text: str, names: list[str]) -> None:
    found = parse(text, IN_SHOP)
    assert [str(use.name) for use in found.uses] == names if isinstance(found, Query) else names == []


def test_parts_of_a_name() -> None:
    name = only("SELECT 1 FROM paimon.shop.`t$branch_b1$files`").name
    assert (name.database, name.table, name.branch, name.system) == ("shop", "t", "b1", "files")
    path = only("SELECT 1 FROM paimon.`s3://lake/t`").name
    assert (path.is_path, path.database, path.table) == (True, None, "s3://lake/t")
    bare = only("SELECT 1 FROM t$snapshots", IN_SHOP).name
    assert (bare.database, bare.table, bare.system, bare.is_bare) == ("shop", "t", "snapshots", True)


@pytest.mark.parametrize(
    ("clause", "travel"),
    [
        ("VERSION AS OF 3", Travel("version", 3)),
        ("FOR VERSION AS OF 'v1'", Travel("version", "v1")),
        ("FOR SYSTEM_VERSION AS OF 3", Travel("version", 3)),
        ("TIMESTAMP AS OF '2026-11-01'", Travel("timestamp", "2026-11-01")),
        ("TIMESTAMP AS OF 1700000000", Travel("timestamp", 1700000000)),
        ("SYSTEM_TIME AS OF TIMESTAMP '2026-11-01 00:00:00'", Travel("timestamp", "2026-11-01 00:00:00")),
        ("VERSION AS OF 'it''s'", Travel("version", "it's")),
        ("TIMESTAMP AS OF current_timestamp()", Travel("timestamp", "current_timestamp()", True)),
        ("TIMESTAMP AS OF now() - INTERVAL 10 DAYS", Travel("timestamp", "now() - INTERVAL 10 DAYS", True)),
        ("SYSTEM_TIME AS OF -(1) + :t", Travel("timestamp", "-(1) + :t", True)),
        ("TIMESTAMP AS OF CAST('x' AS TIMESTAMP)", Travel("timestamp", "CAST('x' AS TIMESTAMP)", True)),
        (
            "TIMESTAMP AS OF DATE '2026-11-01' + INTERVAL '1 day'",
            Travel("timestamp", "DATE '2026-11-01' + INTERVAL '1 day'", True),
        ),
        ("TIMESTAMP AS OF date(a.b)", Travel("timestamp", "date(a.b)", True)),
    ],
)
def test_time_travel(clause: str, travel: Travel) -> None:
    assert only(f"SELECT a FROM paimon.a.t {clause} x JOIN s ON x.a = s.a").travel == travel


@pytest.mark.parametrize(
    "text",
    [
        "SELECT outer.inner_arr[0].label FROM {t}",
        "SELECT outer, t.inner FROM {t} WHERE outer IS NULL ORDER BY outer",
        "SELECT cross.a, t.using.b FROM {t} WHERE inner.c = 1 AND values.x > 2",
        "SELECT a FROM {t} LEFT OUTER JOIN s ON t.outer = s.outer",
        "SELECT a FROM {t} LATERAL VIEW OUTER explode(outer.b) e AS c",
    ],
)
def test_keywords_that_spark_takes_for_names(text: str) -> None:
    found = parse(text.format(t="paimon.a.t"), NAMES)
    assert isinstance(found, Query)
    assert [str(use.name) for use in found.uses] == ["paimon.a.t"]
    assert "outer" not in text or found.uses[0].words is None or "outer" in found.uses[0].words


def test_a_column_may_be_called_version() -> None:
    assert only("SELECT t.version, a version FROM paimon.a.t t WHERE version = 1").travel is None


def test_options_and_increments() -> None:
    use = only("SELECT a FROM paimon.a.t VERSION AS OF 1 WITH (scan.mode = 'x', 'n' = 5, `b` true) t")
    assert use.options == {"scan.mode": "x", "n": "5", "b": "true"}
    use = only("SELECT a FROM paimon_incremental_between_timestamp('paimon.a.t', '1', 2) t")
    assert str(use.name) == "paimon.a.t"
    assert use.increment == Increment("paimon_incremental_between_timestamp", ("1", "2"))


def test_searches() -> None:
    use = only("SELECT f.a FROM vector_search('a.t', 'v', array(1, -2.5, 3.5f), 7, 'metric = l2; x=y') f WHERE f.a > 1")
    assert use.search == Search("v", (1.0, -2.5, 3.5), 7, {"metric": "l2", "x": "y"})
    assert [part.text for part in use.conjuncts if isinstance(part, Conjunct)] == ["a > 1"]
    use = only("SELECT *, __paimon_search_score FROM vector_search('a.t', 'v', array(1), 3, map('metric', 'l2'))")
    assert use.search == Search("v", (1.0,), 3, {"metric": "l2"})
    assert (use.metadata, len(use.stars)) == (("__paimon_search_score",), 1)


def test_searches_for_texts() -> None:
    use = only("""SELECT a FROM full_text_search('a.t', 'v', '{"match":{"query":"x"}}', 7) f WHERE f.a > 1""")
    assert use.search == TextSearch("v", '{"match":{"query":"x"}}', 7)
    assert [part.text for part in use.conjuncts if isinstance(part, Conjunct)] == ["a > 1"]
    use = only("SELECT *, __paimon_search_score FROM full_text_search('a.t', 'v', 'q', 3)")
    assert (use.metadata, len(use.stars)) == (("__paimon_search_score",), 1)


def test_explain_has_a_statement_in_it() -> None:
    found = parse("EXPLAIN FORMATTED SELECT a FROM paimon.a.t", NAMES)
    assert isinstance(found, Explain)
    assert found.mode == "FORMATTED"
    assert isinstance(found.inner, Query)
    assert found.inner.render(["x"]).strip() == "SELECT a FROM {x} AS `t`"
    assert parse("EXPLAIN SELECT 1", NAMES) == Untouched("EXPLAIN SELECT 1")


def test_temporary_views() -> None:
    found = parse("CREATE OR REPLACE TEMP VIEW v (a, b COMMENT 'of v') COMMENT 'v' AS SELECT * FROM paimon.a.t", NAMES)
    assert isinstance(found, CreateView)
    assert (found.name, found.replace, found.is_global) == ("v", True, False)
    assert found.columns == (ViewColumn("a"), ViewColumn("b", "of v"))
    assert found.query.render(["x"]).strip() == "SELECT * FROM {x} AS `t`"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT a, b FROM v", "v"), ("SELECT v, b FROM t, V AS x, (SELECT 1 AS w), u", "t v u"), ("TABLE v", "v"),
        ("SELECT * FROM (v JOIN (w) ON v.a = w.b), y LEFT JOIN z USING (q)", "v w y z q"),
        ("WITH c AS (SELECT * FROM v) SELECT * FROM c", "v"), ("SELECT a FROM range(3), d.t, `A-B`", "d.t a-b"),
        ("MERGE INTO t USING v ON t.a = v.a WHEN MATCHED THEN UPDATE SET b = v.b, c = w", "v"),
        ("DELETE FROM t WHERE a IN (SELECT m FROM v) AND b IN (w, x)", "t v"), ("DROP TABLE v", ""),
        ("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT * FROM w WHERE a IS DISTINCT FROM b", "w"),
        ("SELECT EXTRACT(DAY FROM d), f(g, h) FROM IDENTIFIER('v') ORDER BY i, j", "v"),
        ("ALTER VIEW v AS TABLE w", "w"),
        ("SELECT count(*) FROM global_temp.G", "global_temp.g"), ("INSERT INTO t VALUES (1, v), (2, w)", ""),
    ],
)  # fmt: skip
def test_names_of_which_rows_are_read(text: str, names: str) -> None:
    assert {".".join(parts) for parts in names_read(tokenize(text))} == set(names.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1 FROM paimon.a.t; SELECT 2", "line 1, column 27: one statement at a time: a second one begins here"),
        ("SELECT\n  a FROM paimon.a.t WHERE", "line 2, column 21: the query cannot be understood at its end"),
        ("SELECT a FROM paimon.a.cross", "a name which is a word of SQL stands in backquotes"),
        ("SELECT (a FROM paimon.a.t", "line 1, column 11: the query cannot be understood at 'FROM'"),
        ("SELECT a FRM paimon.a.t x y", "line 1, column 14: the query cannot be understood at 'paimon'"),
        ("SELECT 'a FROM paimon.a.t", "line 1, column 8: the string 'a FROM paimon.a.t has no end"),
        (
            "SELECT a FROM paimon.t",
            "column 15: paimon.t names no table: write paimon.<database>.<table> or paimon.`<path>`",
        ),
        (
            "SELECT a FROM paimon.a.b.c",
            "column 15: paimon.a.b.c names no table: a system table is written paimon.a.b$c",
        ),
        (
            "SELECT a FROM paimon.a.t$b$c$d",
            "column 15: paimon.a.t$b$c$d names no table: a name has the form t, t$<system",
        ),
        ("SELECT a FROM paimon.a.t VERSION AS OF 1 + 1", "column 40: VERSION AS OF takes a literal"),
        ("SELECT a FROM paimon.a.t TIMESTAMP AS OF ?", "a time is needed here"),
        ("SELECT a FROM paimon.a.t TIMESTAMP AS OF (SELECT max(x) FROM s)", "column 42: TIMESTAMP AS OF takes an expr"),
        ("SELECT a FROM paimon.a.t VERSION AS OF :v", "column 40: VERSION AS OF takes a literal"),
        (
            "SELECT a FROM paimon_incremental_query('a.t', '1')",
            "takes the name of a table as a string, the start and the end",
        ),
        ("SELECT a FROM paimon_incremental_query('t', '1', '2')", "t names no table: write paimon.<database>.<table>"),
        (
            "SELECT a FROM vector_search('a.t', 'v', 1, 3)",
            "takes the names of a table and of a column as strings, an array",
        ),
        ("SELECT a FROM vector_search('a.t', 'v', array('1'), 3)", "an array of numbers, how many rows"),
        ("SELECT a FROM vector_search('a.t', 'v', array(1), 2.5)", "takes a whole number of rows, not Decimal('2.5')"),
        ("SELECT a FROM full_text_search('a.t', 'v', 3)", "a query as a string of JSON, and how many rows"),
        ("SELECT a FROM full_text_search('a.t', 'v', 'q', 2.5)", "full_text_search takes a whole number of rows"),
        ("SELECT a FROM vector_search('a.t', 'v', array(1), 2, 'l2')", "are a map or a string 'key=value;key=value'"),
        ("SELECT paimon_incremental_query('a.t', '1', '2')", "stands where no table of ours can be read"),
        ("SELECT a FROM paimon.a.t WITH ('k' = 1 + 1) t", "the value of 'k' must be a literal; found +"),
        ("BEGIN SELECT 1 FROM paimon.a.t; END", "one statement at a time"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(SqlError) as raised:
        parse(text, NAMES)
    assert str(raised.value).startswith("SQL, line ")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE VIEW v AS SELECT a FROM paimon.a.t", "a permanent view over paimon.a.t is not possible"),
        ("CACHE TABLE paimon.a.t", "write CACHE TABLE <a new name> AS SELECT * FROM paimon.a.t, and read that"),
        ("SELECT * FROM hybrid_search('a.t', array(), array(), 3)", "hybrid_search is not supported"),
    ],
)
def test_what_is_ours_and_cannot_be_done_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(UnsupportedFeature) as raised:
        parse(text, NAMES)
    assert message in str(raised.value)
