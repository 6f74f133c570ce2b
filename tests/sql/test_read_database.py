"""Functions of a catalog of ours: DROP, SHOW and DESCRIBE are read, others refused; those of Spark stay Spark's."""

from __future__ import annotations

import pytest

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.sql.listings import DescribeFunction, DropFunction, ShowFunctions
from paimon_spark.sql.parse import parse
from paimon_spark.sql.statements import Statement, Untouched
from paimon_spark.sql.text.names import Names

HERE, IN_SHOP = Names(), Names(database="shop")


@pytest.mark.parametrize(
    ("text", "doing"),
    [
        ("CREATE FUNCTION paimon.shop.f(x INT) RETURNS INT RETURN x + 1", "CREATE FUNCTION paimon.shop.f"),
        ("CREATE OR REPLACE FUNCTION IF NOT EXISTS paimon.shop.f AS 'a.B'", "CREATE FUNCTION paimon.shop.f"),
        ("REFRESH FUNCTION paimon.shop.f", "REFRESH FUNCTION paimon.shop.f"),
        ("SHOW USER FUNCTIONS FROM paimon LIKE 'a*'", "SHOW FUNCTIONS IN paimon"),
        ("SELECT paimon.shop.f(1)", "calling the function paimon.shop.f"),
        ("SELECT 1 + paimon.shop.f(id) FROM paimon.shop.t", "calling the function paimon.shop.f"),
        ("SELECT id FROM paimon.shop.t WHERE NOT paimon.shop.f(id)", "calling the function paimon.shop.f"),
        ("DELETE FROM paimon.shop.t WHERE id = paimon.shop.f(2)", "calling the function paimon.shop.f"),
    ],
)
@pytest.mark.parametrize("names", [HERE, IN_SHOP])
def test_functions_of_ours(names: Names, text: str, doing: str) -> None:
    with pytest.raises(UnsupportedFeature, match=f"column .*: {doing}: this release .* runs no functions of a catalog"):
        parse(text, names)


def test_names_without_the_catalog() -> None:
    for text in ("CREATE FUNCTION f AS 'a.B'", "DROP FUNCTION other.f"):
        assert parse(text, HERE) == Untouched(text)
    with pytest.raises(UnsupportedFeature, match="runs no functions"):
        parse("CREATE FUNCTION f AS 'a.B'", IN_SHOP)
    assert parse("DROP FUNCTION other.f", IN_SHOP) == DropFunction("other", "f")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
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
        "DESCRIBE FUNCTION upper",
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
