"""Which types columns get from rows: the tables of types of Java's SchemaMergingUtilsTest."""

from __future__ import annotations

import pytest

from paimon_spark.errors import SchemaError
from paimon_spark.format.rules.missing_columns import Merging
from paimon_spark.format.type_text import parse_type, type_sql
from paimon_spark.format.types import DataField
from paimon_spark.store.evolution.changes import UpdateType
from paimon_spark.store.evolution.merged_schema import merge_changes

WIDEN, CAST = Merging(type_widening=True), Merging(type_widening=True, explicit_cast=True)
NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 0)")


def merged(own: str, given: str, merging: Merging) -> str:
    """The type that a column has after rows of another type."""
    changes = merge_changes((DataField(0, "v", parse_type(own)),), (DataField(0, "v", parse_type(given)),), merging)
    if not changes:
        return own
    (change,) = changes
    assert isinstance(change, UpdateType)
    return type_sql(change.type)


@pytest.mark.parametrize("own", NUMBERS)
def test_numbers(own: str) -> None:
    """testMergePrimitiveTypes. Where rows have a narrower type, Java refuses them, and they fit the column here."""
    place = 4 if own.startswith("DECIMAL") else NUMBERS.index(own)
    assert [merged(own, given, WIDEN) for given in NUMBERS[:place]] == [own] * place
    assert [merged(own, given, WIDEN) for given in NUMBERS[place:]] == list(NUMBERS[place:])
    assert [merged(own, given, CAST) for given in NUMBERS] == list(NUMBERS)


def test_numbers_and_booleans_exclude_each_other() -> None:
    """testMergePrimitiveTypes."""
    for number in NUMBERS[:4]:
        for own, given in (("BOOLEAN", number), (number, "BOOLEAN")):
            with pytest.raises(SchemaError, match="explicit-cast"):
                merged(own, given, WIDEN)
            assert merged(own, given, CAST) == given
    assert merged("BOOLEAN", "BOOLEAN", WIDEN) == "BOOLEAN"


@pytest.mark.parametrize("name", ["BINARY", "VARCHAR", "CHAR", "VARBINARY"])
def test_lengths(name: str) -> None:
    """testMergeTypesWithLength."""
    assert merged(f"{name}(2)", f"{name}(2)", WIDEN) == f"{name}(2)"
    assert merged(f"{name}(2)", f"{name}(5)", WIDEN) == f"{name}(5)"
    assert merged(f"{name}(2)", f"{name}(1)", WIDEN) == f"{name}(2)"  # Java refuses these rows, which fit
    assert merged(f"{name}(2)", f"{name}(1)", CAST) == f"{name}(1)"


@pytest.mark.parametrize(("short", "long"), [("CHAR", "VARCHAR"), ("BINARY", "VARBINARY")])
def test_fixed_and_variable_lengths(short: str, long: str) -> None:
    """testMergeTypesWithLength."""
    assert merged(f"{short}(1)", f"{long}(10)", WIDEN) == f"{long}(10)"
    assert merged(f"{long}(10)", f"{short}(1)", WIDEN) == f"{long}(10)"  # Java refuses these rows, which fit
    assert merged(f"{long}(10)", f"{short}(1)", CAST) == f"{short}(1)"
    with pytest.raises(SchemaError, match="explicit-cast"):
        merged("VARCHAR(10)", "VARBINARY(1)", WIDEN)
    assert merged("VARCHAR(10)", "VARBINARY(1)", CAST) == "VARBINARY(1)"


@pytest.mark.parametrize("name", ["TIMESTAMP({})", "TIMESTAMP({}) WITH LOCAL TIME ZONE", "TIME({})"])
def test_precisions(name: str) -> None:
    """testMergeTypesWithPrecision."""
    three, six = name.format(3), name.format(6)
    assert merged(six, six, WIDEN) == six
    assert merged(three, six, WIDEN) == six
    assert merged(six, three, WIDEN) == six  # Java refuses these rows, which fit
    assert merged(six, three, CAST) == three


@pytest.mark.parametrize(
    ("own", "given", "is_wider", "is_cast"),
    [
        ("TIMESTAMP(6)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", True, True),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIMESTAMP(6)", True, True),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "TIME(6)", False, True),
        ("TIMESTAMP(6)", "TIME(6)", True, True),
        ("TIME(6)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", False, True),
        ("TIME(6)", "TIMESTAMP(6)", False, True),
        ("DATE", "TIMESTAMP(6)", False, True),
        ("DECIMAL(10, 0)", "DECIMAL(10, 0)", True, True),
        ("DECIMAL(5, 2)", "DECIMAL(7, 2)", True, True),
        ("DECIMAL(5, 2)", "DECIMAL(7, 3)", False, False),
    ],
)
def test_other_types(own: str, given: str, is_wider: bool, is_cast: bool) -> None:
    """testMergeTypesWithPrecision, testMergeDecimalTypes: a time of day has no place for a date, nor the reverse."""
    for merging, fits in ((WIDEN, is_wider), (CAST, is_cast)):
        if fits:
            assert merged(own, given, merging) == given
        else:
            with pytest.raises(SchemaError, match=r"column 'v' is .* cannot become"):
                merged(own, given, merging)


def test_fewer_digits_stay_as_they_are() -> None:
    """testMergeDecimalTypes."""
    assert merged("DECIMAL(7, 2)", "DECIMAL(5, 2)", WIDEN) == "DECIMAL(7, 2)"
    assert merged("DECIMAL(5, 2) NOT NULL", "DECIMAL(7, 2)", WIDEN) == "DECIMAL(7, 2)"


@pytest.mark.parametrize("text", ["ARRAY<{}>", "MAP<STRING, {}>"])
def test_types_in_arrays_and_maps(text: str) -> None:
    """testMergeArrayTypes, testMergeMapTypes, testDiffNestedSchemaChangesDoesNotTreatMapKeyAsValueChange."""
    int_, long, short = (text.format(name) for name in ("INT", "BIGINT", "SMALLINT"))
    assert merged(int_, int_, WIDEN) == int_
    assert merged(int_, long, WIDEN) == "BIGINT"  # of what is in it
    assert merged(int_, short, WIDEN) == int_  # Java refuses these rows, which fit
    assert merged(int_, short, CAST) == "SMALLINT"
    assert merged("MAP<ROW<x INT>, INT>", "MAP<ROW<x INT, y INT>, INT>", WIDEN) == "MAP<ROW<x INT>, INT>"


@pytest.mark.parametrize(
    ("own", "given", "wide"),
    [
        ("DECIMAL(10, 2)", "DECIMAL(12, 2)", "DECIMAL(12, 2)"),
        ("DECIMAL(12, 2)", "DECIMAL(10, 2)", "DECIMAL(12, 2)"),
        ("DECIMAL(10, 4)", "DECIMAL(8, 2)", "DECIMAL(10, 4)"),
        ("DECIMAL(10, 4)", "DECIMAL(7, 2)", "DECIMAL(10, 4)"),
        ("DECIMAL(10, 4)", "DECIMAL(9, 2)", None),
        ("DECIMAL(10, 8)", "DECIMAL(5, 1)", None),
        ("DECIMAL(10, 2)", "DECIMAL(10, 4)", None),
        ("DECIMAL(38, 2)", "DECIMAL(5, 4)", None),
    ],
)
def test_decimals_keep_their_scale(own: str, given: str, wide: str | None) -> None:
    """A column holds all values of the rows, or the rows are refused."""
    if wide is not None:
        assert merged(own, given, WIDEN) == wide
        return
    with pytest.raises(SchemaError, match="the scales of decimals do not change"):
        merged(own, given, WIDEN)
