"""Which queries need no rows: numbers of rows and ends of columns, by partition columns."""

from __future__ import annotations

import pytest

from paimon_spark.sql.parse import parse
from paimon_spark.sql.queries.query import Query, Totals
from paimon_spark.sql.text.names import Names

SUM = "coalesce(sum(`__paimon_rows`), 0L)"


def read(text: str) -> Query:
    query = parse(text.replace("{t}", "paimon.db.t"), Names("paimon", None))
    assert isinstance(query, Query)
    return query


def exchanged(text: str) -> tuple[Totals, str]:
    """What the query needs, and its text with the numbers of rows summed; ~ stands for the table."""
    query = read(text)
    (use,) = query.uses
    assert use.totals is not None
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
    assert (found, needed.ends, needed.plain) == (new, frozenset(ends.split()), frozenset(plain.split()))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT dt FROM {t}",
        "SELECT max(x) FROM {t} AS r(y, x)",
        "SELECT *, max(x) FROM {t}",
        "SELECT sum(x) FROM {t}",
        "SELECT count(x) FROM {t}",
        "SELECT count(DISTINCT x) FROM {t}",
        "SELECT count(2), count('1') FROM {t}",
        "SELECT min(x + 1) FROM {t}",
        "SELECT max(x, 2) FROM {t}",
        "SELECT max(s.x) FROM {t} a",
        "SELECT count(*) + 1 FROM {t}",
        "SELECT count(*) FILTER (WHERE x > 1) FROM {t}",
        "SELECT max(x) OVER () FROM {t}",
        "SELECT count(*) FROM {t} WHERE rand() < 1",
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
