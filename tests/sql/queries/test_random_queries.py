"""Random queries, run by SQLite over whole tables, and over tables with the columns and rows alone that a query needs.

SQLite stands for Spark: what the two understand alike is all that is drawn. PAIMON_QUERIES=5000 tries so many.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.sql.parse import parse
from paimon_spark.sql.queries.needs import needed_columns, pushed_filter
from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.text.names import Names

QUERIES = int(os.environ.get("PAIMON_QUERIES", "60"))
TABLES = {"t": "abc", "u": "bcd", "v": "acd"}
ROWS = [(i % 3, i % 2, (i * 7) % 5 or None) for i in range(9)]


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    for shift, (table, columns) in enumerate(TABLES.items()):
        connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", ROWS[shift:])
    yield connection
    connection.close()


class Drawing:
    """One query being drawn: the tables it names, and the columns that it is known to need of each."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.count = 0
        self.needs: list[set[str]] = []

    def pick(self, *items: str) -> str:
        return self.draw(st.sampled_from(items))

    def alias(self) -> str:
        self.count += 1
        return f"r{self.count}"

    def table(self) -> tuple[str, str, str, int]:
        """(text, alias, columns, number of the use)."""
        table, alias = self.pick(*TABLES), self.alias()
        self.needs.append(set())
        word = self.pick(" ", " AS ", " /* ' */ ", "\n")
        return f"paimon.x.{table}{word}{alias}", alias, TABLES[table], len(self.needs) - 1

    def column(self, scope: list[tuple[str, str, int]]) -> str:
        alias, columns, use = self.draw(st.sampled_from(scope))
        name = self.pick(*columns)
        if use >= 0:
            self.needs[use].add(name)
        return f"{alias}.{self.pick(name, name.upper())}"

    def condition(self, scope: list[tuple[str, str, int]], depth: int) -> str:
        match self.draw(st.integers(0, 7 if depth else 5)):
            case 0 | 1:
                return f"{self.column(scope)} {self.pick('=', '<', '>=', '<>')} {self.pick('0', '1', '2')}"
            case 2:
                return f"{self.column(scope)} BETWEEN 0 AND {self.pick('1', '2')}"
            case 3:
                return f"({self.condition(scope, 0)} OR {self.condition(scope, 0)})"
            case 4:
                return f"NOT {self.column(scope)} IN (0, 2)"
            case 5:
                return f"{self.column(scope)} IS {self.pick('NULL', 'NOT NULL')}"
            case 6:
                return f"EXISTS ({self.select(depth - 1, scope, stars=True)})"
        return f"{self.column(scope)} IN ({self.select(depth - 1, scope, width=1)})"

    def where(self, scope: list[tuple[str, str, int]], depth: int) -> str:
        parts = [self.condition(scope, depth) for _ in range(self.draw(st.integers(0, 3)))]
        if not parts:
            return ""
        text = parts[0]
        for part in parts[1:]:
            text += self.pick(" AND ", " AND ", "\n and -- ' or\n ", " OR ") + part
        return f" WHERE {text}"

    def select(
        self, depth: int, outer: list[tuple[str, str, int]] | None = None, width: int = 2, stars: bool = False
    ) -> str:
        text, alias, columns, use = self.source(depth)
        scope = [(alias, columns, use)]
        for _ in range(self.draw(st.integers(0, 2))):
            kind = self.pick(" JOIN ", " LEFT JOIN ", " CROSS JOIN ", ", ", " RIGHT JOIN ", " FULL JOIN ")
            more, alias, columns, use = self.source(depth)
            scope.append((alias, columns, use))
            is_bare = kind in (", ", " CROSS JOIN ")
            on = "" if is_bare else f" ON {self.column(scope)} = {self.column(scope)}"
            text += f"{kind}{more}{on}"
        visible = scope + (outer or [])
        if stars and self.draw(st.booleans()):
            items = "*"  # EXISTS asks for no column
        else:
            items = ", ".join(f"{self.column(visible)} c{i}" for i in range(width))
        return f"SELECT {items} FROM {text}{self.where(visible, depth)}"

    def source(self, depth: int) -> tuple[str, str, str, int]:
        if depth and self.draw(st.integers(0, 3)) == 0:
            alias = self.alias()
            inner = self.select(depth - 1).replace(" c0", " a").replace(" c1", " b")
            return f"({inner}) {alias}", alias, "ab", -1
        return self.table()

    def query(self) -> str:
        text = self.select(2)
        kind = self.draw(st.integers(0, 3))
        if kind == 0:
            return f"WITH q AS ({text}) SELECT q.c0, count(*) FROM q GROUP BY q.c0"
        if kind == 1:
            return f"{text} UNION ALL {self.select(1)}"
        if kind == 2:
            return f"SELECT s.*, row_number() OVER (PARTITION BY s.c0 ORDER BY s.c0) > 0 FROM ({text}) s"
        return text


@st.composite
def queries(draw: st.DrawFn) -> tuple[str, list[set[str]]]:
    drawing = Drawing(draw)
    return drawing.query(), drawing.needs


@settings(max_examples=QUERIES, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=queries())
def test_less_columns_and_rows_give_the_same_result(
    database: sqlite3.Connection, drawn: tuple[str, list[set[str]]]
) -> None:
    text, needs = drawn
    found = parse(text, Names())
    assert isinstance(found, Query)
    assert len(found.uses) == len(needs)
    assert "".join(p if isinstance(p, str) else text[p.start : p.end] for p in found.pieces) == text
    narrow = []
    for needed, use in zip(needs, found.uses, strict=True):
        columns = TABLES[use.name.table]
        fields = [DataField(i, name, DataType(Root.BIGINT)) for i, name in enumerate(columns)]
        kept = needed_columns(use, columns)
        if kept is not None:
            assert needed <= set(kept)
        condition = pushed_filter(use, fields, "UTC")
        where = f" WHERE {condition}" if condition else ""
        names = ", ".join(columns if kept is None else kept) or "NULL AS unused"
        narrow.append(f"(SELECT {names} FROM {use.name.table}{where})")
    frames = [f"f{i}" for i in range(len(narrow))]
    whole = found.render(frames).format(**{f: use.name.table for f, use in zip(frames, found.uses, strict=True)})
    less = found.render(frames).format(**dict(zip(frames, narrow, strict=True)))
    assert Counter(database.execute(less)) == Counter(database.execute(whole))
