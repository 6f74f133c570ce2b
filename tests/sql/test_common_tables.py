"""WITH and FROM before the statements that read what they name."""

from __future__ import annotations

import pytest

from paimon_spark.sql.parse import parse
from paimon_spark.sql.statements import Delete, InsertSeveral, Merge, Update
from paimon_spark.sql.text.names import Names

NAMES = Names()


def test_inserts_behind_from() -> None:
    inserts = "INSERT INTO paimon.a.t SELECT x WHERE x > 1 INSERT OVERWRITE paimon.a.u SELECT y"
    found = parse(f"WITH q AS (SELECT 1) FROM paimon.b.s {inserts}", NAMES)
    assert isinstance(found, InsertSeveral)
    queries = [" ".join(one.query.render(["f"]).split()) for one in found.inserts]
    head = "WITH q AS (SELECT 1) FROM {f} AS `s`"
    assert queries == [f"{head} SELECT x WHERE x > 1", f"{head} SELECT y"]
    assert [(one.table.table, one.overwrite) for one in found.inserts] == [("t", False), ("u", True)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x IN (SELECT id FROM Q)", "x IN (WITH q AS (SELECT 1 AS id), r(y) AS (SELECT 2) SELECT id FROM Q)"),
        ("x = (SELECT max(id) FROM q) OR EXISTS (SELECT 1 FROM s)",
         "x = (WITH q AS (SELECT 1 AS id), r(y) AS (SELECT 2) SELECT max(id) FROM q) OR EXISTS (SELECT 1 FROM s)"),
        ("x IN (WITH p AS (SELECT * FROM r) SELECT y FROM p WHERE y IN (SELECT id FROM q))",
         "x IN (WITH q AS (SELECT 1 AS id), r(y) AS (SELECT 2), p AS (SELECT * FROM r) SELECT y FROM p WHERE y IN "
         "(SELECT id FROM q))"),
        ("x IN (with recursive p AS (SELECT * FROM q) SELECT y FROM p)",
         "x IN (WITH RECURSIVE q AS (SELECT 1 AS id), r(y) AS (SELECT 2), p AS (SELECT * FROM q) SELECT y FROM p)"),
        ("x = 1 AND (y = 2 OR z IN (1, 2))", "x = 1 AND (y = 2 OR z IN (1, 2))"),
    ],
)  # fmt: skip
def test_sub_queries_of_row_changes_know_the_common_table_expressions(expression: str, expected: str) -> None:
    head = "with q AS (SELECT 1 AS id), r(y) AS (SELECT 2)"
    found = parse(f"{head} DELETE FROM paimon.a.t WHERE {expression}", NAMES)
    assert isinstance(found, Delete)
    assert found.where is not None
    assert found.where.text == expected
    update = parse(f"{head} UPDATE paimon.a.t SET x = ({expression})", NAMES)
    assert isinstance(update, Update)
    assert update.values["`x`"].text == f"({expected})"
    merged = f"MERGE INTO paimon.a.t USING q s ON t.id = s.id WHEN MATCHED AND {expression} THEN DELETE"
    merge = parse(f"{head} {merged}", NAMES)
    assert isinstance(merge, Merge)
    assert merge.source.text == "WITH q AS (SELECT 1 AS id), r(y) AS (SELECT 2) SELECT * FROM q s"
    assert merge.clauses[0].condition is not None
    assert merge.clauses[0].condition.text == expected
