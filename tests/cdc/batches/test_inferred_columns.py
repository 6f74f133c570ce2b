"""What messages tell of columns, and what becomes of a table by it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from support.change_messages.batches import values_batch
from support.change_messages.decoding import columns

from paimon_spark.cdc.batches.decoding import Decoding
from paimon_spark.cdc.batches.inferred_columns import column_changes, fields_of, inferred_columns, widened
from paimon_spark.cdc.batches.routing import COLUMNS, DATABASE, KEYS, PROBLEM, TABLE, route_batches
from paimon_spark.cdc.formats.mysql_types import type_mappings
from paimon_spark.errors import DataError, SchemaError
from paimon_spark.format.type_text import parse_type, type_sql

NO_CHOICES = type_mappings(())


@pytest.mark.parametrize(
    ("own", "told", "wide"),
    [
        ("INT", "INT", "INT"),
        ("INT", "BIGINT", "BIGINT"),
        ("BIGINT", "SMALLINT", "BIGINT"),
        ("TINYINT", "INT", "INT"),
        ("FLOAT", "DOUBLE", "DOUBLE"),
        ("DOUBLE", "FLOAT", "DOUBLE"),
        ("CHAR(3)", "VARCHAR(10)", "VARCHAR(10)"),
        ("VARCHAR(10)", "VARCHAR(5)", "VARCHAR(10)"),
        ("VARCHAR(10)", "STRING", "STRING"),
        ("BINARY(4)", "BYTES", "BYTES"),
        ("VARBINARY(4)", "VARBINARY(2)", "VARBINARY(4)"),
        ("DECIMAL(10, 2)", "DECIMAL(12, 2)", "DECIMAL(12, 2)"),
        ("DECIMAL(10, 4)", "DECIMAL(10, 2)", "DECIMAL(12, 4)"),
        ("DECIMAL(10, 2)", "DECIMAL(8, 2)", "DECIMAL(10, 2)"),
        ("TIMESTAMP(0)", "TIMESTAMP(6)", "TIMESTAMP(6)"),
        ("TIMESTAMP(6)", "TIMESTAMP(3)", "TIMESTAMP(6)"),
        ("TIME(0)", "TIME(3)", "TIME(3)"),
        ("ARRAY<INT>", "ARRAY<BIGINT>", "ARRAY<BIGINT>"),
    ],
)
def test_types_become_wider(own: str, told: str, wide: str) -> None:
    assert type_sql(widened(parse_type(own), parse_type(told), "c", NO_CHOICES)) == wide


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ("INT", "STRING"), ("STRING", "INT"), ("BIGINT", "DOUBLE"), ("INT", "DECIMAL(20, 0)"), ("DATE", "TIMESTAMP(3)"),
        ("TIMESTAMP_LTZ(3)", "TIMESTAMP(3)"), ("BOOLEAN", "TINYINT"), ("DECIMAL(38, 0)", "DECIMAL(38, 2)"),
        ("ARRAY<INT>", "ARRAY<STRING>"),
    ],
)  # fmt: skip
def test_other_changes_are_refused(own: str, told: str) -> None:
    with pytest.raises(SchemaError, match="column 'c' is"):
        widened(parse_type(own), parse_type(told), "c", NO_CHOICES)


def test_choices_of_changes() -> None:
    text = parse_type("STRING")
    assert widened(parse_type("INT"), text, "c", type_mappings(("allow-non-string-to-string",))) == text
    own = parse_type("DECIMAL(5, 2)")
    assert widened(own, parse_type("DECIMAL(9, 2)"), "c", type_mappings(("decimal-no-change",))) == own


def test_changes_of_a_table() -> None:
    told = inferred_columns('{"id": "BIGINT", "name": null, "new": "DATE", "other": null}')
    changes = column_changes(columns(id="INT NOT NULL", name="INT"), told)
    assert [str(change) for change in changes] == [
        "change the type of id to BIGINT",
        "add column new DATE",
        "add column other STRING",
    ]
    assert (
        column_changes(columns(ID="INT", NAME="INT", NEW="DATE", OTHER="STRING"), told, case_sensitive=False)[1:] == ()
    )


def test_columns_of_a_new_table() -> None:
    told = [inferred_columns('{"id": "INT", "a": null}'), inferred_columns('{"b": "INT", "id": "BIGINT"}')]
    fields = fields_of(told, ("id",), NO_CHOICES)
    assert [(field.name, type_sql(field.type)) for field in fields] == [("id", "BIGINT"), ("a", "STRING"), ("b", "INT")]
    with pytest.raises(SchemaError, match="the key 'x' is none of the columns id, a, b"):
        fields_of(told, ("x",), NO_CHOICES)


def test_messages_are_routed_to_their_tables() -> None:
    def message(table: str, **types: str) -> dict[str, object]:
        row = dict.fromkeys(types, "1")
        return {
            "data": [row],
            "type": "INSERT",
            "database": "shop",
            "table": table,
            "mysqlType": types,
            "pkNames": ["id"],
        }

    values = (
        message("a", id="int"),
        {"isDdl": True, "type": "ALTER"},
        message("b", id="bigint"),
        message("a", id="int"),
        "{",
    )
    decoding = Decoding("canal-json", dead_letters=True)
    (routed,) = route_batches([values_batch(*values)], decoding)
    table = pa.Table.from_batches([routed])
    assert table.column(TABLE).to_pylist() == ["a", "b", "a", None]
    assert table.column(DATABASE).to_pylist() == ["shop", "shop", "shop", None]
    assert table.column(COLUMNS).to_pylist() == ['{"id": "INT"}', '{"id": "BIGINT"}', '{"id": "INT"}', None]
    assert table.column(KEYS).to_pylist() == [["id"], ["id"], ["id"], None]
    assert [problem is not None for problem in table.column(PROBLEM).to_pylist()] == [False, False, False, True]
    with pytest.raises(DataError, match="offset 0 cannot be decoded"):
        list(route_batches([values_batch("{")], Decoding("canal-json")))


def test_rows_without_types_tell_the_names_of_all_their_columns() -> None:
    values = ({"type": "insert", "data": {"a": 1}}, {"type": "insert", "data": {"a": 1, "b": 2}})
    (routed,) = route_batches([values_batch(*values)], Decoding("maxwell-json"))
    assert routed.column(COLUMNS).to_pylist() == ['{"a": null}', '{"a": null, "b": null}']
