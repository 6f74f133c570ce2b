"""DEFAULT in VALUES becomes the default expression of its column."""

from __future__ import annotations

import pytest

from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.spark.statements.inserts import with_defaults
from paimon_spark.sql.queries.query import Query

COLUMNS = [
    DataField(0, "a", DataType(Root.INT), default_value="7"),
    DataField(1, "b", DataType(Root.VARCHAR), default_value="'it''s, (x)'"),
    DataField(2, "c", DataType(Root.INT)),
    DataField(3, "d", DataType(Root.VARCHAR), default_value="as Flink writes it"),
    DataField(4, "e", parse_type("ARRAY<INT>"), default_value="[1, 2]"),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("VALUES (DEFAULT, default, DEFAULT)", "VALUES (7, 'it''s, (x)', NULL)"),
        ("VALUES (1, 'x', 2), (DEFAULT, 'DEFAULT', 3)", "VALUES (1, 'x', 2), (7, 'DEFAULT', 3)"),
        ("VALUES (f(1, 2), DEFAULT, array(1, 2)[0])", "VALUES (f(1, 2), 'it''s, (x)', array(1, 2)[0])"),
        ("VALUES (f(1, DEFAULT), 'x', 3)", "VALUES (f(1, DEFAULT), 'x', 3)"),  # Spark refuses it
        ("VALUES (`DEFAULT`, 'x', DEFAULT + 1)", "VALUES (`DEFAULT`, 'x', DEFAULT + 1)"),
        ("VALUES (1, 'x', 2, DEFAULT, DEFAULT)", "VALUES (1, 'x', 2, NULL, NULL)"),  # a write fills them in
        ("VALUES (1, 2, 3, 4, 5, DEFAULT)", "VALUES (1, 2, 3, 4, 5, DEFAULT)"),  # one column too many: refused later
        ("VALUES 1, DEFAULT", "VALUES 1, DEFAULT"),
        ("SELECT DEFAULT FROM t", "SELECT DEFAULT FROM t"),
        ("", ""),
    ],
)
def test_defaults_are_filled_in(text: str, expected: str) -> None:
    assert with_defaults(Query(text), COLUMNS).text == expected
