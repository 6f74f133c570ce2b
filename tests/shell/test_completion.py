"""What the shell offers at the cursor, which stands at the mark ``|``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables.compacted_tables import new_table

from paimon_spark.catalogs.factory import open_catalog
from paimon_spark.shell.completion import KnownNames, suggest

TABLES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "default": {"orders": ("id", "dt", "total"), "customers": ("id", "name", "group"), "odd name": ("x",)},
    "shop": {"items": ("sku", "price")},
}


class Lake:
    """The names of TABLES."""

    catalog = "paimon"
    system_tables = ("files", "manifests", "snapshots")
    procedures: Mapping[str, tuple[str, ...]] = {"compact": ("table", "partitions"), "rollback": ("table", "version")}

    def databases(self) -> tuple[str, ...]:
        return tuple(TABLES)

    def tables(self, database: str) -> tuple[str, ...]:
        return tuple(TABLES.get(database, ()))

    def columns(self, database: str, table: str) -> tuple[str, ...]:
        return TABLES.get(database, {}).get(table, ())


def texts(marked: str, *kinds: str) -> list[str]:
    """What is offered, of these kinds."""
    before, _, after = marked.partition("|")
    return [found.text for found in suggest(before, after, Lake(), "default") if not kinds or found.kind in kinds]


def completed(marked: str, number: int = 0) -> str:
    """The text before the cursor with a suggestion in it."""
    before, _, after = marked.partition("|")
    found = suggest(before, after, Lake(), "default")[number]
    return before[: len(before) - found.replaces] + found.text


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("sel|", "select"),
        ("SEL|", "SELECT"),
        ("SELECT * FROM ord|", "SELECT * FROM orders"),
        ("SELECT * FROM shop.|", "SELECT * FROM shop.items"),
        ("SELECT * FROM paimon.sh|", "SELECT * FROM paimon.shop"),
        ("SELECT * FROM paimon.shop.|", "SELECT * FROM paimon.shop.items"),
        ("SELECT * FROM `shop`.i|", "SELECT * FROM `shop`.items"),
        ("SELECT * FROM odd|", "SELECT * FROM `odd name`"),
        ("SELECT * FROM `odd|", "SELECT * FROM `odd name`"),
        ("SELECT * FROM `ord|", "SELECT * FROM `orders`"),
        ("SELECT * FROM orders$sn|", "SELECT * FROM orders$snapshots"),
        ("SELECT * FROM orders, cus|", "SELECT * FROM orders, customers"),
        ("SELECT * FROM orders o JOIN cus|", "SELECT * FROM orders o JOIN customers"),
        ("SELECT tot| FROM orders", "SELECT total"),
        ("SELECT gr| FROM customers", "SELECT `group`"),
        ("SELECT o.t| FROM orders AS o", "SELECT o.total"),
        ("SELECT c.na| FROM orders o, customers c", "SELECT c.name"),
        ("SELECT * FROM shop.items i WHERE i.pr|", "SELECT * FROM shop.items i WHERE i.price"),
        ("SELECT * FROM orders$files f WHERE f.d|", "SELECT * FROM orders$files f WHERE f.dt"),
        ("INSERT INTO or|", "INSERT INTO orders"),
        ("SELECT 1; DESCRIBE cu|", "SELECT 1; DESCRIBE customers"),
        ("USE s|", "USE shop"),
        ("SHOW TABLES IN sh|", "SHOW TABLES IN shop"),
        ("SHOW COLUMNS IN cu|", "SHOW COLUMNS IN customers"),
        ("CALL |", "CALL sys.compact"),
        ("CALL sys.ro|", "CALL sys.rollback"),
        ("CALL paimon.sys.ro|", "CALL paimon.sys.rollback"),
        ("CALL sys.rollback(ta|", "CALL sys.rollback(table => "),
        ("CALL sys.rollback(table => 't', v|", "CALL sys.rollback(table => 't', version => "),
    ],
)
def test_the_first_suggestion(marked: str, expected: str) -> None:
    assert completed(marked) == expected


def test_columns_come_before_keywords() -> None:
    assert texts("SELECT | FROM orders")[:3] == ["id", "dt", "total"]
    assert "CAST" in texts("SELECT | FROM orders", "keyword")


def test_tables_of_the_current_database_and_other_databases() -> None:
    assert texts("SELECT * FROM |") == ["orders", "customers", "`odd name`", "default", "shop", "paimon"]


def test_a_comma_in_a_list_of_columns_is_none_of_tables() -> None:
    assert "total" in texts("SELECT id, | FROM orders", "column")
    assert "orders" not in texts("SELECT id, coalesce(dt, | ", "column")
    assert texts("SELECT count(a, |", "table") == []


@pytest.mark.parametrize("marked", ["SELECT 'or|", "SELECT 1 -- or|", "SELECT /* or|", 'SELECT "or|', "SELECT 'a''b|"])
def test_nothing_in_strings_and_comments(marked: str) -> None:
    assert texts(marked) == []


@pytest.mark.parametrize("marked", ["x.|", "SELECT nothere.| FROM orders", "CALL sys.nothere(|", "SELECT * FROM no.|"])
def test_what_is_not_known_has_no_suggestions(marked: str) -> None:
    assert texts(marked) == []


WORDS = st.sampled_from(
    ["SELECT", "FROM", "JOIN", "CALL", "USE", "SHOW", "TABLES", "IN", "orders", "o", "shop", ".", ",", "(", ")", "`",
     "'", "sys", "$", ";", "--", "/*", "\n", "id", "=>", "AS", "ü"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=12).map("".join) | st.lists(WORDS, max_size=12).map(" ".join), st.integers(0, 60))
def test_any_text(text: str, at: int) -> None:
    """A suggestion always goes on from what is typed."""
    before = text[:at]
    for found in suggest(before, text[at:], Lake(), "default"):
        typed = before[len(before) - found.replaces :].strip("`").lower()
        assert found.text.strip("`").lower().startswith(typed)


def test_names_of_a_lake(tmp_path: Path) -> None:
    new_table(tmp_path / "lake" / "shop.db" / "items")
    names = KnownNames(open_catalog(str(tmp_path / "lake")))
    assert names.databases() == ("shop",)
    assert names.tables("shop") == ("items",)
    assert names.columns("shop", "items") == ("k", "a", "b")
    assert names.columns("shop", "others") == names.tables("nothere") == ()
    assert "table" in names.procedures["compact"]
    new_table(tmp_path / "lake" / "shop.db" / "others")
    assert names.tables("shop") == ("items",)
    names.forget()
    assert names.tables("shop") == ("items", "others")
