"""Which changes rows bring to a table: the cases of Java's SchemaMergingUtilsTest, as text."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from paimon_spark.errors import SchemaError
from paimon_spark.format.rules.missing_columns import Merging
from paimon_spark.format.rules.new_tables import assign_field_ids
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type, type_sql
from paimon_spark.format.types import DataField
from paimon_spark.store.evolution.changed_schema import changed_schema
from paimon_spark.store.evolution.merged_schema import merge_changes

WIDEN, CAST = Merging(type_widening=True), Merging(type_widening=True, explicit_cast=True)


def fields(columns: Mapping[str, str]) -> tuple[DataField, ...]:
    return tuple(DataField(0, name, parse_type(text)) for name, text in columns.items())


def merged(have: Mapping[str, str], rows: Mapping[str, str], merging: Merging = Merging()) -> TableSchema:  # noqa: B008
    numbered, highest = assign_field_ids(fields(have))
    before = TableSchema(3, numbered, highest, options={"bucket": "-1"})
    return changed_schema(before, merge_changes(before.fields, fields(rows), merging), lambda: True)


def shown(schema: TableSchema) -> str:
    return ", ".join(f"{f.name} {type_sql(f.type)}".replace("`", "") for f in schema.fields)


def test_columns_are_added_and_none_goes() -> None:
    """testMergeTableSchemas, testMergeSchemasWithoutTypeWidening."""
    found = merged({"a": "INT", "b": "STRING"}, {"a": "BIGINT", "c": "INT NOT NULL", "d": "ROW<x INT>"})
    assert shown(found) == "a INT, b STRING, c INT, d ROW<x INT>"
    assert [f.id for f in found.fields] == [0, 1, 2, 3]
    assert (found.fields[3].type.fields[0].id, found.highest_field_id) == (4, 4)


def test_other_orders_letter_cases_and_nulls_are_no_change() -> None:
    """testMergeTableSchemaNotChanges."""
    assert merge_changes(fields({"a": "INT", "b": "DOUBLE"}), fields({"B": "DOUBLE NOT NULL", "A": "INT"}), WIDEN) == ()
    exact = Merging(case_sensitive=True)
    assert [str(c) for c in merge_changes(fields({"a": "INT"}), fields({"A": "INT"}), exact)] == ["add column A INT"]


def test_nested_columns_are_merged() -> None:
    """testMergeSchemas, testDiffNestedSchemaChangesInArrayAndMap, testMergeArrayTypes, testMergeMapTypes."""
    have = {"s": "ROW<x INT, r ROW<y INT>>", "a": "ARRAY<ROW<x INT>>", "m": "MAP<INT, ROW<x INT>>", "l": "ARRAY<INT>"}
    rows = {
        "l": "ARRAY<BIGINT>", "m": "MAP<INT, ROW<z STRING>>", "a": "ARRAY<ROW<y INT, x BIGINT>>",
        "s": "ROW<r ROW<z INT>, x BIGINT>",
    }  # fmt: skip
    assert shown(merged(have, rows)) == (
        "s ROW<x INT, r ROW<y INT, z INT>>, a ARRAY<ROW<x INT, y INT>>, m MAP<INT, ROW<x INT, z STRING>>, l ARRAY<INT>"
    )
    assert shown(merged(have, rows, WIDEN)) == (
        "s ROW<x BIGINT, r ROW<y INT, z INT>>, a ARRAY<ROW<x BIGINT, y INT>>, m MAP<INT, ROW<x INT, z STRING>>, "
        "l ARRAY<BIGINT>"
    )


@pytest.mark.parametrize(
    ("have", "rows", "merging", "expected"),
    [
        ("INT", "BIGINT", WIDEN, "BIGINT"), ("INT NOT NULL", "BIGINT", WIDEN, "BIGINT NOT NULL"),
        ("BIGINT", "INT", WIDEN, "BIGINT"), ("BIGINT", "INT", CAST, "INT"),
        ("INT", "DECIMAL(38, 18)", WIDEN, "DECIMAL(38, 18)"),
        ("FLOAT", "DOUBLE", WIDEN, "DOUBLE"), ("INT", "STRING", WIDEN, None), ("INT", "STRING", CAST, "STRING"),
        ("STRING", "DATE", CAST, "DATE"), ("STRING", "INT", WIDEN, None),
        ("DATE", "TIMESTAMP(6)", CAST, "TIMESTAMP(6)"),
        ("DECIMAL(20, 18)", "DECIMAL(38, 18)", WIDEN, "DECIMAL(38, 18)"),
        ("DECIMAL(38, 18)", "DECIMAL(20, 18)", WIDEN, "DECIMAL(38, 18)"),
        ("DECIMAL(10, 2)", "DECIMAL(20, 3)", WIDEN, None), ("DECIMAL(10, 2)", "DECIMAL(5, 1)", WIDEN, "DECIMAL(10, 2)"),
        ("VARCHAR(5)", "STRING", WIDEN, "STRING"), ("STRING", "VARCHAR(5)", WIDEN, "STRING"),
        ("STRING", "VARCHAR(5)", CAST, "VARCHAR(5)"), ("CHAR(3)", "STRING", WIDEN, "STRING"),
        ("TIMESTAMP(3)", "TIMESTAMP(6)", WIDEN, "TIMESTAMP(6)"),
        ("TIMESTAMP(6)", "TIMESTAMP(3)", WIDEN, "TIMESTAMP(6)"),
        ("TIMESTAMP(6)", "TIMESTAMP(3)", CAST, "TIMESTAMP(3)"), ("BOOLEAN", "INT", WIDEN, None),
    ],
)  # fmt: skip
def test_types_become_wider(have: str, rows: str, merging: Merging, expected: str | None) -> None:
    """testMergeDecimalTypes, testMergeTypesWithLength, testMergeTypesWithPrecision, testMergePrimitiveTypes."""
    if expected is None:
        with pytest.raises(SchemaError, match=r"column 'v' is .* cannot become"):
            merged({"k": "INT", "v": have}, {"v": rows}, merging)
        return
    assert shown(merged({"k": "INT", "v": have}, {"v": rows}, merging)) == f"k INT, v {expected}"


def test_a_narrower_type_says_what_allows_it() -> None:
    with pytest.raises(SchemaError, match=r"may lose information, which 'write\.merge-schema\.explicit-cast'"):
        merged({"v": "STRING"}, {"v": "DATE"}, WIDEN)
