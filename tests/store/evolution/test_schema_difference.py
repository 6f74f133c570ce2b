"""What is different between two schemas of a table, as the lines that people read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField
from paimon_spark.store.evolution.difference import difference

IDS = {"a": 0, "b": 1, "c": 2, "d": 3}


def schema(columns: Mapping[str, str], ids: Mapping[str, int] = IDS) -> TableSchema:
    fields = tuple(DataField(ids[name], name, parse_type(text)) for name, text in columns.items())
    return TableSchema(0, fields, 9)


AB = schema({"a": "INT", "b": "STRING"})


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        (AB, replace(AB, id=5, time_millis=7), ()),
        (AB, schema({"c": "INT", "a": "INT", "b": "STRING"}), ("+ c INT FIRST",)),
        (AB, schema({"a": "INT", "c": "INT", "b": "STRING"}), ("+ c INT AFTER a",)),
        (AB, schema({"a": "INT", "b": "STRING", "c": "INT NOT NULL"}), ("+ c INT NOT NULL",)),
        (AB, schema({"b": "STRING"}), ("- a INT",)),
        (AB, schema({"b": "STRING", "a": "INT"}), ("~ order: b, a",)),
        (AB, schema({"a": "BIGINT", "b": "STRING"}), ("~ a INT -> BIGINT",)),
        (AB, schema({"x": "INT", "b": "STRING"}, {"x": 0, "b": 1}), ("~ a is now called x",)),
        (replace(AB, primary_keys=("a",)), AB, ("~ primary key: a -> none",)),
        (AB, replace(AB, primary_keys=("a", "b")), ("~ primary key: none -> a,b",)),
        (AB, replace(AB, partition_keys=("b",)), ("~ partition: none -> b",)),
        (AB, replace(AB, comment="new"), ("~ comment: none -> new",)),
        (
            replace(AB, options={"same": "1", "gone": "2", "set": "3"}),
            replace(AB, options={"same": "1", "set": "4", "added": "5"}),
            ("+ option added = 5", "- option gone = 2", "~ option set = 3 -> 4"),
        ),
    ],
)
def test_lines(old: TableSchema, new: TableSchema, lines: tuple[str, ...]) -> None:
    assert difference(old, new) == lines


def test_what_a_column_says_of_itself() -> None:
    a, b = AB.fields
    other = replace(AB, fields=(replace(a, description="of a"), replace(b, default_value="x")))
    assert difference(AB, other) == ("~ a comment: none -> of a", "~ b default: none -> x")
    assert difference(replace(AB, fields=(b,)), replace(other, fields=(other.fields[0], b))) == (
        "+ a INT COMMENT 'of a' FIRST",
    )


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("ROW<x INT>", "ROW<x INT> NOT NULL", ("~ a is NOT NULL now",)),
        ("ARRAY<INT> NOT NULL", "ARRAY<INT>", ("~ a is nullable now",)),
        ("ROW<x INT, y INT>", "ROW<x BIGINT, y INT>", ("~ a.x INT -> BIGINT",)),
        ("ROW<x INT>", "ROW<x INT, y INT>", ("+ a.y INT",)),
        ("ARRAY<INT>", "ARRAY<BIGINT>", ("~ a.element INT -> BIGINT",)),
        ("MAP<INT, INT>", "MAP<BIGINT, STRING>", ("~ a.key INT -> BIGINT", "~ a.value INT -> STRING")),
        ("ARRAY<INT>", "INT", ("~ a ARRAY<INT> -> INT",)),
        ("INT", "INT NOT NULL", ("~ a INT -> INT NOT NULL",)),
    ],
)
def test_lines_of_nested_types(old: str, new: str, lines: tuple[str, ...]) -> None:
    assert difference(schema({"a": old}), schema({"a": new})) == lines
