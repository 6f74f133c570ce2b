"""DELETE, UPDATE and MERGE as text: what they ask for, and what is wrong with them."""

from __future__ import annotations

import pytest

from paimon_spark.errors import SqlError
from paimon_spark.sql.parse import parse
from paimon_spark.sql.statements import Delete, Expression, Merge, Untouched, Update
from paimon_spark.sql.text.names import Names

NAMES = Names("paimon", None)


def text(expression: Expression | None) -> str | None:
    return None if expression is None else expression.text


def test_delete() -> None:
    found = parse("DELETE FROM paimon.a.t AS x WHERE x.id IN (1, 2) OR x.c LIKE '%;%'", NAMES)
    assert isinstance(found, Delete)
    assert (str(found.table), found.alias, text(found.where)) == (
        "paimon.a.t", "x", "x.id IN (1, 2) OR x.c LIKE '%;%'"
    )  # fmt: skip
    everything = parse("DELETE FROM paimon.a.t", NAMES)
    assert isinstance(everything, Delete)
    assert (everything.alias, everything.where) == ("t", None)


def test_the_name_of_the_table_may_qualify_its_columns() -> None:
    found = parse("DELETE FROM paimon.a.t WHERE paimon.a.t.id = 1 AND a.t.s.x = t.y AND a.u = 2", NAMES)
    assert isinstance(found, Delete)
    assert text(found.where) == "t.id = 1 AND t.s.x = t.y AND a.u = 2"


def test_update() -> None:
    found = parse(
        "UPDATE paimon.a.t SET a.t.x = CASE WHEN x > 1 THEN 2 ELSE 3 END, s.`b c` = f(1, 2) WHERE y = (1 + 2)", NAMES
    )
    assert isinstance(found, Update)
    assert {name: text(value) for name, value in found.values.items()} == {
        "`t`.`x`": "CASE WHEN x > 1 THEN 2 ELSE 3 END",
        "`s`.`b c`": "f(1, 2)",
    }
    assert text(found.where) == "y = (1 + 2)"


def test_from_that_belongs_to_a_value_is_no_clause() -> None:
    values = {
        "a": "x IS DISTINCT FROM y", "b": "x IS NOT DISTINCT FROM y", "c": "extract(YEAR FROM d)", "d": "t.from",
        "e": "from", "f": "1 + from", "g": "(SELECT max(x) FROM s)", "h": "x AND from",
    }  # fmt: skip
    assigned = ", ".join(f"{name} = {value}" for name, value in values.items())
    found = parse(f"UPDATE paimon.a.t SET {assigned} WHERE from IS NOT NULL", NAMES)
    assert isinstance(found, Update)
    assert {name.strip("`"): text(value) for name, value in found.values.items()} == values


def test_merge() -> None:
    found = parse(
        """MERGE INTO paimon.a.t USING paimon.b.s AS q ON t.id = q.id AND CASE WHEN t.x THEN TRUE ELSE FALSE END
        WHEN MATCHED AND CASE WHEN q.op = 'D' THEN TRUE END THEN DELETE
        WHEN MATCHED THEN UPDATE SET x = q.x, y = paimon.a.t.y + 1
        WHEN NOT MATCHED BY TARGET AND q.x > 1 THEN INSERT (id, x) VALUES (q.id, f(q.x, 1))
        WHEN NOT MATCHED THEN INSERT *
        WHEN NOT MATCHED BY SOURCE THEN UPDATE SET x = NULL""",
        NAMES,
    )
    assert isinstance(found, Merge)
    assert [str(use.name) for use in found.source.uses] == ["paimon.b.s"]
    assert (found.alias, found.source_alias) == ("t", "q")
    assert text(found.condition) == "t.id = q.id AND CASE WHEN t.x THEN TRUE ELSE FALSE END"
    told = [
        (c.when, c.action, text(c.condition), None if c.values is None else {n: text(v) for n, v in c.values.items()})
        for c in found.clauses
    ]
    assert told == [
        ("MATCHED", "DELETE", "CASE WHEN q.op = 'D' THEN TRUE END", None),
        ("MATCHED", "UPDATE", None, {"`x`": "q.x", "`y`": "t.y + 1"}),
        ("NOT MATCHED", "INSERT", "q.x > 1", {"`id`": "q.id", "`x`": "f(q.x, 1)"}),
        ("NOT MATCHED", "INSERT", None, None),
        ("NOT MATCHED BY SOURCE", "UPDATE", None, {"`x`": "NULL"}),
    ]


@pytest.mark.parametrize(
    ("source", "alias"),
    [
        ("paimon.b.s", "s"), ("u", "u"), ("d.u", "u"), ("u AS v", "v"), ("(SELECT 1 AS id) v", "v"),
        ("(SELECT 1 AS id)", None), ("paimon.b.s VERSION AS OF 3", "s"), ("paimon.b.s VERSION AS OF 3 AS v", "v"),
    ],
)  # fmt: skip
def test_the_source_has_a_name(source: str, alias: str | None) -> None:
    found = parse(f"MERGE INTO paimon.a.t USING {source} ON 1 = 1 WHEN MATCHED THEN DELETE", NAMES)
    assert isinstance(found, Merge)
    assert found.source_alias == alias


def test_tables_of_ours_in_sub_queries_are_found() -> None:
    found = parse("DELETE FROM paimon.a.t WHERE id IN (SELECT id FROM paimon.b.s WHERE v > t.w) AND c = 1", NAMES)
    assert isinstance(found, Delete)
    assert found.where is not None
    assert [str(use.name) for use in found.where.query.uses] == ["paimon.b.s"]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DELETE FROM paimon.a.t WHERE", "a condition is needed"),
        ("DELETE FROM paimon.a.t x y", "should end here"),
        ("DELETE FROM paimon.a.t AS x (a, b)", "names of columns"),
        ("UPDATE paimon.a.t SET x", "= is needed"),
        ("UPDATE paimon.a.t WHERE x = 1", "SET is needed"),
        ("UPDATE paimon.a.t SET x = 1, x = 2", "assigned twice"),
        ("MERGE INTO paimon.a.t USING s ON 1 = 1", "a clause is needed"),
        ("MERGE INTO paimon.a.t USING s WHEN MATCHED THEN DELETE", "ON is needed"),
        ("MERGE INTO paimon.a.t USING s ON 1 = 1 WHEN MATCHED THEN INSERT *", "UPDATE or DELETE is needed"),
        ("MERGE INTO paimon.a.t USING s ON 1 = 1 WHEN NOT MATCHED THEN DELETE", "INSERT is needed"),
        ("MERGE INTO paimon.a.t USING s ON 1 = 1 WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1)", "as many values"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(sql: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        parse(sql, NAMES)


def test_a_condition_that_ends_with_a_word_is_read() -> None:
    """Spark refuses it; the text ended where the name of a table was looked for."""
    found = parse("MERGE INTO paimon.a.t USING s ON t.id = s.id WHEN MATCHED AND s.id > 0 TABLE THEN DELETE", NAMES)
    assert isinstance(found, Merge)
    assert found.clauses[0].condition is not None
    assert found.clauses[0].condition.text == "s.id > 0 TABLE"


def test_a_merge_may_say_that_the_schema_evolves() -> None:
    rest = "INTO paimon.a.t USING s ON 1 = 1 WHEN MATCHED THEN UPDATE SET *"
    plain, evolving = parse(f"MERGE {rest}", NAMES), parse(f"MERGE with schema evolution {rest}", NAMES)
    assert isinstance(plain, Merge)
    assert isinstance(evolving, Merge)
    assert not plain.evolves
    assert evolving.evolves
    assert evolving.condition.text == plain.condition.text


@pytest.mark.parametrize(
    "sql", ["DELETE FROM d.t", "UPDATE t SET x = 1", "MERGE INTO u USING s ON 1=1 WHEN MATCHED THEN DELETE"]
)
def test_tables_of_spark_are_left_to_spark(sql: str) -> None:
    assert isinstance(parse(sql, NAMES), Untouched)
