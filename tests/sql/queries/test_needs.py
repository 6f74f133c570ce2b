"""Which columns and rows of a table a query needs: never too few."""

from __future__ import annotations

import datetime as dt

import pytest

from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.sql.parse import parse
from paimon_spark.sql.queries.needs import needed_columns, pushed_filter
from paimon_spark.sql.queries.query import Query, Use, fold
from paimon_spark.sql.text.names import Names

COLUMNS = ("a", "b", "c", "Day", "order date", "é")
FIELDS = tuple(DataField(i, name, DataType(Root.BIGINT)) for i, name in enumerate("abc"))


def use(text: str, at: int = 0) -> Use:
    found = parse(text, Names())
    assert isinstance(found, Query)
    return found.uses[at]


def needed(text: str, at: int = 0) -> str | None:
    """The needed ones of the columns a, b, c."""
    found = needed_columns(use(text, at), "abc")
    return None if found is None else "".join(found)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT a FROM paimon.x.t", "a"),
        ("SELECT A, `b` FROM paimon.x.t", "ab"),
        ("SELECT count(*) FROM paimon.x.t", ""),
        ("SELECT count(1), 2 * 3 FROM paimon.x.t", ""),
        ("SELECT * FROM paimon.x.t", None),
        ("SELECT t.* FROM paimon.x.t", None),
        ("SELECT x.t.* FROM paimon.x.t", None),
        ("SELECT u.* EXCEPT (a) FROM paimon.x.t u", None),
        ("SELECT U.* FROM paimon.x.t `u`", None),
        ("SELECT count(t.*) FROM paimon.x.t", None),
        ("SELECT count(a, *) FROM paimon.x.t", None),
        ("SELECT count(DISTINCT *) FROM paimon.x.t", None),
        ("SELECT struct(*) FROM paimon.x.t", None),
        ("SELECT TRANSFORM(*) USING 'cat' FROM paimon.x.t", None),
        ("SELECT d.* FROM paimon.x.t JOIN s d USING (a)", "a"),
        ("SELECT * FROM (SELECT a FROM paimon.x.t)", "a"),
        ("SELECT a FROM (SELECT * FROM paimon.x.t)", None),
        ("WITH q AS (SELECT b FROM paimon.x.t) SELECT * FROM q", "b"),
        ("SELECT a FROM s WHERE EXISTS (SELECT * FROM s2) AND b IN (SELECT c FROM paimon.x.t)", "c"),
        ("SELECT a FROM s WHERE EXISTS (SELECT * FROM paimon.x.t WHERE t.b = s.c)", "bc"),
        ("SELECT a FROM s WHERE NOT EXISTS (SELECT t.*, b FROM paimon.x.t)", None),
        ("SELECT a FROM s WHERE EXISTS (SELECT count(1), b FROM (SELECT * FROM paimon.x.t))", None),
        ("SELECT a FROM s WHERE EXISTS (SELECT * FROM paimon.x.t UNION SELECT 1, 2)", None),
        ("SELECT a FROM s, (SELECT b FROM (s) JOIN paimon.x.t u USING (b) WHERE ((u.b + 1) = 2)) WHERE c = 1", "b"),
        ("SELECT a FROM s, LATERAL (SELECT b FROM paimon.x.t WHERE s.c = 1)", "bc"),
        ("(SELECT a FROM paimon.x.t) ORDER BY c", "ac"),
        ("SELECT a FROM s WHERE b IN (WITH q AS (SELECT 1 c) SELECT b FROM paimon.x.t, q)", "bc"),
        ("SELECT 1 FROM paimon.x.t NATURAL JOIN s", None),
        ("SELECT a FROM (paimon.x.t JOIN s USING (a))", None),
        ("SELECT sum(a) FROM paimon.x.t PIVOT (sum(b) FOR c IN (1))", None),
        ("SELECT IDENTIFIER('a') FROM paimon.x.t", None),
        ("SELECT a FROM paimon.x.t AS u(a, d)", None),
        ("TABLE paimon.x.t", None),
        ("FROM paimon.x.t |> SELECT a", None),
        ("FROM paimon.x.t SELECT a", "a"),
        ("SELECT f('a.b') FROM paimon.x.t", "ab"),
        ('SELECT "c" FROM paimon.x.t', "c"),
        ("SELECT s.x FROM paimon.x.t /* b */", "b"),
        ("SELECT a FROM paimon.x.t UNION ALL SELECT * FROM s", "a"),
        ("MERGE INTO s USING paimon.x.t t ON s.a = t.a WHEN MATCHED THEN UPDATE SET *", None),
        ("INSERT INTO s SELECT a FROM paimon.x.t", "a"),
        ("SELECT a FROM paimon.x.t GROUP BY ALL ORDER BY b", "ab"),
        ("SELECT s.* FROM paimon.x.t LATERAL VIEW explode(c) s AS d", "c"),
    ],
)
def test_columns(text: str, columns: str | None) -> None:
    assert needed(text) == columns
    assert bool(use(text).why_all) == (columns is None)


def test_names_that_are_no_words_are_always_needed() -> None:
    assert needed_columns(use("SELECT day FROM paimon.x.t"), COLUMNS) == ("Day", "order date")
    assert needed_columns(use("SELECT É FROM paimon.x.t"), COLUMNS) == ("order date", "é")


@pytest.mark.parametrize(
    ("one", "other"), [("id", "\u0131D"), ("k", "\u212a"), ("\u0130", "i"), ("\u017f", "S"), ("ß", "ß")]
)
def test_spellings_that_java_takes_for_equal_fold_alike(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1 FROM paimon.x.t WHERE a = 1", "(a = 1)"),
        ("SELECT * FROM paimon.x.t WHERE a = 1 AND b > 2 LIMIT 3", "(a = 1) AND (b > 2)"),
        ("SELECT 1 FROM paimon.x.t u WHERE u.a = 1 AND `U`.b IS NULL", "(a = 1) AND (b IS NULL)"),
        ("SELECT 1 FROM paimon.x.t WHERE T.a = 1 AND x.t.b=2 AND paimon.x.t.c=3", "(a = 1) AND (b=2) AND (c=3)"),
        ("SELECT 1 FROM paimon.x.t WHERE a BETWEEN 1 AND 2 AND b = 3", "(a BETWEEN 1 AND 2) AND (b = 3)"),
        ("SELECT 1 FROM paimon.x.t WHERE b NOT BETWEEN 3 AND 4 AND b > 1", "(b NOT BETWEEN 3 AND 4) AND (b > 1)"),
        ("SELECT 1 FROM paimon.x.t WHERE a = 1 OR b = 2 AND c = 3", "(a = 1 OR b = 2 AND c = 3)"),
        ("SELECT 1 FROM paimon.x.t WHERE (a = 1 OR b = 2) AND NOT c = 3", "((a = 1 OR b = 2)) AND (NOT c = 3)"),
        ("SELECT 1 FROM paimon.x.t WHERE a = 1 -- and b = 2\n AND /* ) */ c = 3 -- d", "(a = 1) AND (c = 3)"),
        ("SELECT 1 FROM paimon.x.t WHERE a IN (1, 2) GROUP BY b HAVING c = 1", "(a IN (1, 2))"),
        ("SELECT 1 FROM paimon.x.t WHERE a = 1 UNION SELECT 1 FROM s WHERE b = 2", "(a = 1)"),
        ("SELECT 1 FROM s WHERE a IN (SELECT b FROM paimon.x.t WHERE c = 1) AND a = 2", "(c = 1)"),
        ("SELECT 1 FROM paimon.x.t JOIN s ON t.b = s.b WHERE a = 1 AND s.c = 2", "(a = 1)"),
        ("SELECT 1 FROM paimon.x.t LEFT JOIN s ON t.b = s.b WHERE a = 1", "(a = 1)"),
        ("SELECT 1 FROM paimon.x.t LEFT ANTI JOIN s ON t.b = s.b WHERE a = 1", "(a = 1)"),
        ("SELECT 1 FROM s, paimon.x.t WHERE t.a = 1", "(a = 1)"),
        ("SELECT 1 FROM paimon.x.t JOIN (SELECT 1) s WHERE a = 1", "(a = 1)"),
        ("SELECT 1 FROM paimon.x.t WHERE CASE WHEN a = 1 AND b = 2 THEN true END AND c = 3", "(c = 3)"),
        ("SELECT 1 FROM paimon.x.t WHERE EXISTS (SELECT 1 FROM s WHERE b = 1) AND a = 1", "(a = 1)"),
        ("SELECT 1 FROM paimon.x.t WHERE a = :a AND b = 1", "(b = 1)"),
        ("SELECT 1 FROM paimon.x.t WHERE a + 1 = 2 AND rand() < 1 AND c = 1", "(c = 1)"),
        ("SELECT 1 FROM paimon.x.t, s WHERE t.a < t.b AND a = s.a AND s.a = b AND t.c = d", "(a < b)"),
        ("SELECT 1 FROM paimon.x.t, s WHERE (t.a = 1 AND s.b = 2) OR (s.b = 3 AND t.a = 4 AND c = 5)",
         "((a = 1) OR (a = 4) AND (c = 5))"),
        ("SELECT 1 FROM paimon.x.t, s WHERE ((a = 1 AND d = 2) OR (c BETWEEN 1 AND 2)) AND b = 1",
         "((a = 1) OR ((c BETWEEN 1 AND 2))) AND (b = 1)"),
        ("SELECT 1 FROM paimon.x.t, s WHERE ((a = 1 OR b = 2) AND d = 2) OR b IN (3, 4)",
         "(((a = 1 OR b = 2)) OR (b IN (3, 4)))"),
        ("SELECT 1 FROM paimon.x.t, s WHERE (a = 1 AND d = 2) OR d = 3", None),
        ("SELECT 1 FROM paimon.x.t, s WHERE (t.a = 1 AND s.b = 2) OR (s.b = 3)", None),
        ("SELECT 1 FROM paimon.x.t, s WHERE NOT (t.a = 1 AND s.b = 2 OR t.b = 3)", None),
        ("SELECT 1 FROM paimon.x.t, s WHERE CASE WHEN a = 1 OR d = 2 THEN a = 1 OR b = 2 END OR c = 1 AND d = 1", None),
        ("SELECT 1 FROM paimon.x.t WHERE d = 1 AND a = 1", "(a = 1)"),
        ("SELECT 1 FROM paimon.x.t WHERE s.a = 1 AND b.a = 2 AND t.b.x = 3", None),
        ("SELECT 1 FROM s LEFT JOIN paimon.x.t ON t.b = s.b WHERE a = 1", None),
        ("SELECT 1 FROM s RIGHT JOIN paimon.x.t ON t.b = s.b WHERE a = 1", None),
        ("SELECT 1 FROM paimon.x.t RIGHT JOIN s ON t.b = s.b WHERE a IS NULL", None),
        ("SELECT 1 FROM paimon.x.t FULL JOIN s ON t.b = s.b WHERE a = 1", None),
        ("SELECT 1 FROM paimon.x.t JOIN s USING (a) WHERE a = 1", None),
        ("SELECT 1 FROM paimon.x.t NATURAL JOIN s WHERE a = 1", None),
        ("SELECT 1 FROM paimon.x.t TABLESAMPLE (5 ROWS) WHERE a = 1", None),
        ("SELECT 1 FROM paimon.x.t LATERAL VIEW explode(b) e AS a WHERE a = 1", None),
        ("SELECT 1 FROM paimon.x.t, LATERAL (SELECT 1) WHERE a = 1", None),
        ("SELECT 1 FROM paimon.x.t PIVOT (sum(b) FOR c IN (1)) WHERE a = 1", None),
        ("SELECT 1 FROM paimon.x.t u(b, a, c) WHERE a = 1", None),
        ("SELECT 1 FROM paimon_incremental_query('x.t', '1', '2') WHERE a = 1", None),
        ("SELECT 1 FROM (paimon.x.t JOIN s) WHERE a = 1", None),
        ("FROM paimon.x.t |> WHERE a = 1", None),
        ("SELECT row_number() OVER (ORDER BY a) r FROM paimon.x.t QUALIFY a = 1", None),
    ],
)  # fmt: skip
def test_filters(text: str, expected: str | None) -> None:
    assert pushed_filter(use(text), FIELDS, "UTC") == expected


def test_strings_of_spark_4_stay_as_they_are() -> None:
    fields = [DataField(0, "s", DataType(Root.VARCHAR, length=2147483647))]
    text = "SELECT 1 FROM paimon.x.t WHERE s = 'it''s AND' AND s <> 'a\\'b' AND s = r'a\\d' AND s = \"b\"\"c\""
    assert (
        pushed_filter(use(text), fields, "UTC")
        == "(s = 'it''s AND') AND (s <> 'a\\'b') AND (s = r'a\\d') AND (s = \"b\"\"c\")"
    )


PARAMETERS = {
    "n": 7,
    "t": "it's \\",
    "none": None,
    "day": dt.date(2026, 11, 1),
    "f": 0.5,
    "at": dt.datetime(2026, 1, 1),
}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("t.a = :n AND :n < b", "(a = 7) AND (7 < b)"),
        ("a IN (:n, 1) AND s = :t", "(a IN (7, 1)) AND (s = 'it\\'s \\\\')"),
        ("s = ':n' AND d >= :day", "(s = ':n') AND (d >= DATE '2026-11-01')"),
        ("a = :none AND a = 1", "(a = NULL) AND (a = 1)"),
        ("a = :f AND d = :at AND a = :missing AND a = 2", "(a = 2)"),  # not surely the same as a literal
        ("a = ? AND a = 3", "(a = 3)"),
    ],
)
def test_values_of_parameters(condition: str, expected: str) -> None:
    types = {"a": Root.BIGINT, "b": Root.BIGINT, "s": Root.VARCHAR, "d": Root.DATE}
    fields = [DataField(i, name, DataType(root)) for i, (name, root) in enumerate(types.items())]
    found = use(f"SELECT 1 FROM paimon.x.t t WHERE {condition}")
    assert pushed_filter(found, fields, "UTC", PARAMETERS) == expected


def test_without_values_a_parameter_is_not_pushed() -> None:
    assert pushed_filter(use("SELECT 1 FROM paimon.x.t WHERE a = :n AND b = 1"), FIELDS, "UTC") == "(b = 1)"
