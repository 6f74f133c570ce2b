"""Which queries need only the rows of a table that come first in the order of a column."""

from __future__ import annotations

import pytest

from paimon_spark.sql.parse import parse
from paimon_spark.sql.queries.query import Query, TopNClause
from paimon_spark.sql.text.names import Names


def top_n(text: str) -> list[TopNClause | None]:
    query = parse(text.replace("{t}", "paimon.db.t"), Names("paimon", None))
    assert isinstance(query, Query)
    return [use.top_n for use in query.uses]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM {t} ORDER BY c LIMIT 10", TopNClause("c", 10, False, True, False, 0)),
        ("SELECT * FROM {t} ORDER BY C DESC LIMIT 10", TopNClause("c", 10, True, False, False, 0)),
        ("SELECT a FROM {t} ORDER BY t.c ASC NULLS LAST LIMIT 3 OFFSET 4", TopNClause("c", 7, False, False, False, 0)),
        ("SELECT x.* FROM {t} x ORDER BY x.c DESC NULLS FIRST LIMIT 1", TopNClause("c", 1, True, True, False, 0)),
        ("SELECT c, d AS e FROM {t} ORDER BY c, e DESC LIMIT 2", TopNClause("c", 2, False, True, True, 0)),
        ("SELECT t.c c FROM {t} WHERE d = 'a' AND q > 1 ORDER BY c LIMIT 2", TopNClause("c", 2, False, True, False, 2)),
        ("SELECT * FROM {t} WHERE dt = 'a' OR q > 1 ORDER BY c LIMIT 2", TopNClause("c", 2, False, True, False, 1)),
        ("SELECT * FROM (SELECT a FROM {t} ORDER BY c LIMIT 2) WHERE a > 1", TopNClause("c", 2, False, True, False, 0)),
        ("WITH w AS (SELECT * FROM {t} ORDER BY c LIMIT 2) SELECT 1 FROM w", TopNClause("c", 2, False, True, False, 0)),
        ("SELECT * EXCEPT (c) FROM {t} ORDER BY c LIMIT 2", TopNClause("c", 2, False, True, False, 0)),
        ("SELECT (a), CAST(b AS STRING) FROM {t} ORDER BY t.c LIMIT 2", TopNClause("c", 2, False, True, False, 0)),
        ("SELECT upper(a), IF(b > 1, 2, 3) FROM {t} ORDER BY c LIMIT 2", TopNClause("c", 2, False, True, False, 0)),
        ("INSERT INTO {t} SELECT * FROM paimon.db.s ORDER BY c LIMIT 1", TopNClause("c", 1, False, True, False, 0)),
    ],
)  # fmt: skip
def test_rows_that_come_first(text: str, expected: TopNClause) -> None:
    if text.startswith("INSERT"):
        statement = parse(text.replace("{t}", "paimon.db.t"), Names("paimon", None))
        query = getattr(statement, "query", statement)
        assert [use.top_n for use in query.uses][-1:] == [expected]
        return
    assert top_n(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM {t} LIMIT 10",
        "SELECT * FROM {t} ORDER BY c",
        "SELECT * FROM {t} ORDER BY c LIMIT 0",
        "SELECT * FROM {t} ORDER BY c LIMIT ALL",
        "SELECT * FROM {t} ORDER BY c LIMIT 1 + 1",
        "SELECT * FROM {t} ORDER BY c LIMIT 1 OFFSET 1 + 1",
        "SELECT * FROM {t} ORDER BY c LIMIT :n",
        "SELECT * FROM {t} ORDER BY 1 LIMIT 1",
        "SELECT * FROM {t} ORDER BY ALL LIMIT 1",
        "SELECT * FROM {t} ORDER BY c + 1 LIMIT 1",
        "SELECT * FROM {t} ORDER BY abs(c) LIMIT 1",
        "SELECT * FROM {t} ORDER BY s.c LIMIT 1",
        "SELECT * FROM {t} SORT BY c LIMIT 1",
        "SELECT a AS c, c AS a FROM {t} ORDER BY c LIMIT 1",
        "SELECT *, -c AS C FROM {t} ORDER BY c LIMIT 1",
        "SELECT s.c FROM {t} ORDER BY c LIMIT 1",
        "SELECT s.* FROM {t} ORDER BY c LIMIT 1",
        "SELECT DISTINCT c FROM {t} ORDER BY c LIMIT 1",
        "SELECT max(a) FROM {t} ORDER BY c LIMIT 1",
        "SELECT c, count(*) FROM {t} GROUP BY c ORDER BY c LIMIT 1",
        "SELECT c, row_number() OVER (ORDER BY a) FROM {t} ORDER BY c LIMIT 1",
        "SELECT explode(l), c FROM {t} ORDER BY c LIMIT 1",
        "SELECT my_function(a), c FROM {t} ORDER BY c LIMIT 1",
        "SELECT c FROM {t} LATERAL VIEW explode(l) e AS x ORDER BY c LIMIT 1",
        "SELECT c FROM {t} TABLESAMPLE (10 PERCENT) ORDER BY c LIMIT 1",
        "SELECT a.c FROM {t} a CROSS JOIN VALUES (1) ORDER BY a.c LIMIT 1",
        "SELECT c FROM {t} UNION ALL SELECT c FROM VALUES (1) v(c) ORDER BY c LIMIT 1",
        "SELECT c FROM (SELECT * FROM {t}) ORDER BY c LIMIT 1",
        "SELECT c FROM {t} HAVING c > 1 ORDER BY c LIMIT 1",
        "SELECT d FROM {t} AS x(d, c) ORDER BY c LIMIT 1",
        "SELECT s AS x FROM {t} x ORDER BY x.c LIMIT 1",
        "SELECT s AS db FROM {t} ORDER BY db.t.c LIMIT 1",
        "SELECT d, (t) FROM {t} ORDER BY t.c LIMIT 1",
        "SELECT * EXCEPT (c) FROM {t} x ORDER BY x.c LIMIT 1",
        "SELECT x.* EXCEPT (c) FROM {t} x ORDER BY x.c LIMIT 1",
        "SELECT (s.c) FROM {t} ORDER BY c LIMIT 1",
        "SELECT (CAST(c AS STRING)) FROM {t} ORDER BY c LIMIT 1",
        "SELECT CAST((c) AS STRING) FROM {t} ORDER BY c LIMIT 1",
        "SELECT (c)::STRING FROM {t} ORDER BY c LIMIT 1",
        "SELECT upper(w) FROM {t} ORDER BY `upper(w)` LIMIT 1",
        "SELECT true, d FROM {t} ORDER BY `true`, d LIMIT 1",
        "SELECT 'i' 'd', d FROM {t} ORDER BY id, d LIMIT 1",
        "SELECT :name, d FROM {t} ORDER BY c, d LIMIT 1",
        "SELECT c FROM {t} WHERE d = '${v}' ORDER BY c LIMIT 1",
    ],
)
def test_all_rows_may_be_needed(text: str) -> None:
    assert top_n(text) == [None]
