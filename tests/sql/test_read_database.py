"""Statements of functions of a catalog of ours; those of Spark stay Spark's."""

from __future__ import annotations

import pytest

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.sql.listings import DescribeFunction, DropFunction, ShowFunctions
from paimon_spark.sql.parse import parse
from paimon_spark.sql.statements import ColumnDefinition, CreateFunction, Statement, Untouched
from paimon_spark.sql.text.names import Names

HERE, IN_SHOP = Names(), Names(database="shop")


@pytest.mark.parametrize(
    ("text", "doing"),
    [
        ("REFRESH FUNCTION paimon.shop.f", "REFRESH FUNCTION paimon.shop.f"),
        ("SHOW USER FUNCTIONS FROM paimon LIKE 'a*'", "SHOW FUNCTIONS IN paimon"),
        ("SELECT paimon.shop.f(1)", "calling the function paimon.shop.f"),
        ("SELECT 1 + paimon.shop.f(id) FROM paimon.shop.t", "calling the function paimon.shop.f"),
        ("SELECT id FROM paimon.shop.t WHERE NOT paimon.shop.f(id)", "calling the function paimon.shop.f"),
        ("DELETE FROM paimon.shop.t WHERE id = paimon.shop.f(2)", "calling the function paimon.shop.f"),
    ],
)
@pytest.mark.parametrize("names", [HERE, IN_SHOP])
def test_functions_that_no_catalog_has(names: Names, text: str, doing: str) -> None:
    with pytest.raises(UnsupportedFeature, match=f"column .*: {doing}: no catalog of Paimon has it"):
        parse(text, names)


def test_names_without_the_catalog() -> None:
    for text in ("CREATE FUNCTION f AS 'a.B'", "DROP FUNCTION other.f"):
        assert parse(text, HERE) == Untouched(text)
    assert parse("CREATE FUNCTION f AS 'a.B'", IN_SHOP) == CreateFunction("shop", "f", class_name="a.B")
    assert parse("DESCRIBE FUNCTION upper", IN_SHOP) == DescribeFunction("shop", "upper", is_bare=True)
    assert parse("DROP FUNCTION other.f", IN_SHOP) == DropFunction("other", "f")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "CREATE OR REPLACE FUNCTION paimon.shop.f(x INT DEFAULT a(1, 2), y DECIMAL(3, 1) COMMENT 'c') COMMENT 'd' "
            "NOT DETERMINISTIC READS SQL DATA RETURN WITH q AS (SELECT 1) SELECT x FROM q -- end",
            CreateFunction(
                "shop",
                "f",
                True,
                parameters=(
                    ColumnDefinition("x", "INT", default="a(1, 2)"),
                    ColumnDefinition("y", "DECIMAL(3, 1)", comment="c"),
                ),
                comment="d",
                deterministic=False,
                contains_sql=False,
                body="WITH q AS (SELECT 1) SELECT x FROM q",
                is_query=True,
            ),
        ),
        (
            "CREATE FUNCTION IF NOT EXISTS paimon.shop.f() RETURNS ARRAY<INT> LANGUAGE SQL CONTAINS SQL "
            "RETURN (SELECT 1)",
            CreateFunction("shop", "f", if_not_exists=True, returns="ARRAY<INT>", contains_sql=True, body="(SELECT 1)"),
        ),
        (
            "CREATE FUNCTION paimon.shop.f AS 'a.B' USING JAR '/x.jar', FILE '/y'",
            CreateFunction("shop", "f", class_name="a.B", resources=(("jar", "/x.jar"), ("file", "/y"))),
        ),
        ("DROP FUNCTION IF EXISTS paimon.shop.f", DropFunction("shop", "f", True)),
        ("DROP FUNCTION paimon.shop.f", DropFunction("shop", "f")),
        ("DESC FUNCTION EXTENDED `paimon`.shop.f", DescribeFunction("shop", "f", True)),
        ("DESCRIBE FUNCTION paimon.shop.f", DescribeFunction("shop", "f")),
        ("SHOW FUNCTIONS IN paimon.shop", ShowFunctions("shop")),
        ("SHOW USER FUNCTIONS FROM paimon.sys LIKE 'max*'", ShowFunctions("sys", "USER", "max*")),
    ],
)
def test_functions_that_are_dropped_and_shown(text: str, expected: Statement) -> None:
    assert parse(text, HERE) == expected
    assert parse(text, IN_SHOP) == expected


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TEMPORARY FUNCTION f AS 'a.B'",
        "DROP TEMPORARY FUNCTION f",
        "SHOW FUNCTIONS",
        "SHOW FUNCTIONS LIKE 'a*'",
        "CREATE FUNCTION spark_catalog.default.f AS 'a.B'",
    ],
)
def test_functions_of_spark(text: str) -> None:
    assert parse(text, IN_SHOP) == Untouched(text)


def test_parentheses_behind_a_table_call_nothing() -> None:
    made: Statement = parse("INSERT INTO paimon.shop.t (id) VALUES (1)", HERE)
    assert type(made).__name__ == "Insert"
