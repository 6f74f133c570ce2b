"""Which queries need no rows, but aggregates: numbers of rows and ends of columns, sums, counts and means."""

from __future__ import annotations

import pytest

from paimon_spark.sql.parse import parse
from paimon_spark.sql.queries.aggregate_calls import Constant, Term
from paimon_spark.sql.queries.query import Query, Totals
from paimon_spark.sql.text.names import Names

SUM = "coalesce(sum(`__paimon_rows`), 0L)"


def words(term: Term) -> str:
    match term:
        case str(name):
            return name
        case Constant(units, _, scale):
            return f"{units}e-{scale}" if scale else f"{units}"
    return f"({words(term[1])} {term[0]} {words(term[2])})"


def read(text: str) -> Query:
    query = parse(text.replace("{t}", "paimon.db.t"), Names("paimon", None))
    assert isinstance(query, Query)
    return query


def exchanged(text: str) -> tuple[Totals, str]:
    """What the query needs, and its text with the numbers of rows summed; ~ stands for the table."""
    query = read(text)
    (use,) = query.uses
    assert use.totals is not None
    assert use.totals.edits is not None
    new = query.text
    for start, end, words in sorted([*use.totals.edits, (use.start, use.end, "~")], reverse=True):
        new = new[:start] + words + new[end:]
    return use.totals, new


@pytest.mark.parametrize(
    ("text", "new", "ends", "plain"),
    [
        ("SELECT count(*) FROM {t}", f"SELECT {SUM} AS `count(1)` FROM ~", "", ""),
        ("SELECT COUNT ( 1 ) n, dt FROM {t} GROUP BY ALL", f"SELECT {SUM} n, dt FROM ~ GROUP BY ALL", "", "dt"),
        (
            "SELECT count(*), count(*) c FROM {t} ORDER BY 'count(*)', count(*)",
            f"SELECT {SUM} AS `count(1)`, {SUM} c FROM ~ ORDER BY 'count(*)', {SUM}",
            "",
            "",
        ),
        ("SELECT max(t.X) FROM {t} WHERE t.dt > 'a'", "SELECT max(t.X) FROM ~ WHERE t.dt > 'a'", "x", "dt"),
        ("SELECT DISTINCT a, b FROM {t}", "SELECT DISTINCT a, b FROM ~", "", "a b"),
        ("SELECT 1 + (SELECT min(v) FROM {t})", "SELECT 1 + (SELECT min(v) FROM ~)", "v", ""),
    ],
)
def test_what_is_needed(text: str, new: str, ends: str, plain: str) -> None:
    needed, found = exchanged(text)
    assert (found, needed.ends, needed.plain | needed.filtered) == (
        new,
        frozenset(ends.split()),
        frozenset(plain.split()),
    )


@pytest.mark.parametrize(
    "text",
    [
        "SELECT dt FROM {t}",
        "SELECT max(x) FROM {t} AS r(y, x)",
        "SELECT *, max(x) FROM {t}",
        "SELECT sum(DISTINCT x) FROM {t}",
        "SELECT sum(x + 1) FROM {t}",  # Spark names the column after the term
        "SELECT sum(1 + 2 + x) AS s FROM {t}",
        "SELECT sum(2) AS s FROM {t}",
        "SELECT sum(x / 2) AS s FROM {t}",
        "SELECT sum(x + 1e3) AS s FROM {t}",
        "SELECT max(x + 1) AS s FROM {t}",
        "SELECT mean(x) FROM {t}",
        "SELECT count(DISTINCT x) FROM {t}",
        "SELECT count(2), count('1') FROM {t}",
        "SELECT min(x + 1) FROM {t}",
        "SELECT max(x, 2) FROM {t}",
        "SELECT max(s.x) FROM {t} a",
        "SELECT count(*) + 1 FROM {t}",
        "SELECT count(*) FILTER (WHERE x > 1) FROM {t}",
        "SELECT max(x) OVER () FROM {t}",
        "SELECT count(*) FROM {t} WHERE x IN (SELECT 1)",
        "SELECT count(*) FROM {t}, s",
        "SELECT count(*) FROM {t} JOIN s ON true",
        "SELECT count(*) FROM {t} LATERAL VIEW explode(x) e",
        "SELECT count(*) FROM {t} TABLESAMPLE (10 PERCENT)",
        "SELECT count(*) FROM {t} GROUP BY CUBE (dt)",
        "SELECT (SELECT count(*) FROM {t}), (SELECT count(*) FROM {t})",
        "SELECT 1 FROM {t} HAVING count(*) > 1",
        "SELECT count(*) FROM {t} PIVOT (max(x) FOR dt IN ('a'))",
    ],
)
def test_what_needs_rows(text: str) -> None:
    assert all(use.totals is None for use in read(text).uses)


@pytest.mark.parametrize("condition", ["rand() < 1", "dt < date '2026-01-01' - interval 1 day", "upper(dt) = 'A'"])
def test_a_condition_that_only_rows_tell_the_result_of(condition: str) -> None:
    totals = read(f"SELECT dt, count(*), max(x) FROM {{t}} WHERE {condition} GROUP BY dt").uses[0].totals
    assert totals is not None
    assert (totals.edits, len(totals.calls or ()), totals.plain) == (None, 2, {"dt"})


@pytest.mark.parametrize(
    ("text", "calls", "plain", "where"),
    [
        ("SELECT g, SUM ( t.`X` ) FROM {t} GROUP BY g", ["sum x SUM ( t.`X` ) sum(X)"], "g", None),
        (
            "SELECT count(*), count(x) n FROM {t} WHERE a > 1 AND (b = 2) HAVING avg(y) > 0 ORDER BY max(x)",
            ["avg y avg(y) ", "count rows  count(*) count(1)", "count x count(x) ", "max x max(x) "],
            "",
            "a > 1 AND (b = 2)",
        ),
        ("SELECT sum(x) / count(x) AS m, g + 1 FROM {t} GROUP BY g", ["count x count(x) ", "sum x sum(x) "], "g", None),
        (
            "SELECT sum((a + 0.05) * (12 - t.B)*c) AS s FROM {t} ORDER BY SUM(((d) - d)), SUM(x)",
            [
                "sum (((a + 5e-2) * (12 - b)) * c) sum((a + 0.05) * (12 - t.B)*c) ",
                "sum (d - d) SUM(((d) - d)) ",
                "sum x SUM(x) ",
            ],
            "",
            None,
        ),
        ("SELECT max(x) + 1 FROM {t}", None, "", None),
    ],
)
def test_aggregates_and_where_they_stand(text: str, calls: list[str] | None, plain: str, where: str | None) -> None:
    query = read(text)
    totals = query.uses[0].totals
    assert totals is not None
    written = [f"{c.function} {words(c.of)} {query.text[c.start : c.end]} {c.name}" for c in totals.calls or ()]
    assert (None if totals.calls is None else sorted(written)) == calls
    assert totals.plain == frozenset(plain.split())
    assert (None if totals.where is None else query.text[slice(*totals.where)]) == where
