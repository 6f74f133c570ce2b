"""New values of rows: assignments to columns and nested fields, by Spark's store assignment (ANSI).

Java: PaimonAssignmentUtils, which follows Spark's AssignmentUtils: fields of structs meet by their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from paimon_spark.errors import DataError, SqlError
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.store_assignment import StoredAs, StorePolicy, has_names_of, stored
from paimon_spark.spark.adapters.types import spark_type
from paimon_spark.sql.text.single_name import column_path

Expression = str | Column
Path = tuple[str, ...]
_DEFAULT = "DEFAULT"


@dataclass(frozen=True)
class Assignment:
    """A value for a column, or for a field in it.

    Attributes:
        field: the column.
        inner: the names of nested fields, as the table has them; (): the whole column.
        value: the expression.
    """

    field: DataField
    inner: Path
    value: Column


def as_column(value: Expression) -> Column:
    """An expression in SQL, or a Column as it is."""
    return sf.expr(value) if isinstance(value, str) else value


def find_field(fields: Sequence[DataField], name: str, what: str) -> DataField:
    """The column of a name, in any letter case unless two differ by it only.

    Raises:
        SqlError: there is none, or several.
    """
    found = [f for f in fields if f.name == name] or [f for f in fields if f.name.lower() == name.lower()]
    if len(found) != 1:
        names = ", ".join(f.name for f in fields)
        raise SqlError(f"{what}: {name} is {'ambiguous' if found else 'no column of the table'}; there are {names}")
    return found[0]


def read_assignments(
    fields: Sequence[DataField], given: Mapping[str, Expression], what: str, aliases: Sequence[str] = ()
) -> list[Assignment]:
    """The assignments of a SET, by the names of columns, with points before nested fields.

    Args:
        aliases: of the table, that may stand before a name.

    Raises:
        SqlError: a column is unknown, or it or a part of it is assigned twice.
    """
    found: list[Assignment] = []
    for name, value in given.items():
        path = column_path(name)
        known = {f.name.lower() for f in fields}
        if len(path) > 1 and path[0].lower() in map(str.lower, aliases) and path[0].lower() not in known:
            path = path[1:]
        column = find_field(fields, path[0], what)
        inner = _inner(column, path[1:], what)
        for other in found:
            shorter = min(len(other.inner), len(inner))
            if other.field is column and other.inner[:shorter] == inner[:shorter]:
                raise SqlError(f"{what}: {'.'.join((column.name, *inner))} is assigned more than once")
        is_default = isinstance(value, str) and value.strip().upper() == _DEFAULT
        default = column.default_value if not inner else None
        expression = sf.expr(default or "NULL") if is_default else as_column(value)
        found.append(Assignment(column, inner, expression))
    return found


def _inner(column: DataField, names: Path, what: str) -> Path:
    at, found = column.type, []
    for name in names:
        if not at.fields:
            raise SqlError(f"{what}: '{column.name}' has no field {'.'.join(names)}; assign the whole column")
        field = find_field(at.fields, name, f"{what}: in '{column.name}'")
        found.append(field.name)
        at = field.type
    return tuple(found)


def new_values(
    rows: DataFrame, alias: str | None, fields: Sequence[DataField], given: Sequence[Assignment], what: str
) -> list[Column]:
    """All columns of the table, with assigned values in the place of old ones.

    Args:
        rows: in which the expressions are read.
        alias: of the table in them; None: a row is new, and columns that are not assigned are NULL.
        what: is done, for messages.

    Raises:
        DataError: a value cannot be stored in its column.
        AnalysisException: Spark does not understand an expression.
    """
    rules = StorePolicy.of(rows.sparkSession)
    numbered = [item.value.alias(f"v{number}") for number, item in enumerate(given)]
    types = [f.dataType for f in rows.select(*numbered).schema.fields] if given else []
    values = {
        (item.field.name, *item.inner): _stored(item, have, what, rules)
        for item, have in zip(given, types, strict=True)
    }
    return [_column(field, values, alias).alias(field.name) for field in fields]


def _stored(item: Assignment, have: st.DataType, what: str, rules: StorePolicy) -> Column:
    data_type = item.field.type
    for name in item.inner:
        data_type = next(f.type for f in data_type.fields if f.name == name)
    want, name = spark_type(data_type), ".".join((item.field.name, *item.inner))
    value = item.value
    if not has_names_of(have, want):
        value = aligned(value, have, want, f"{what}: '{name}'")
        have = _names_taken(have, want)
    return stored(value, have, StoredAs(name, want, what), rules)


def _column(field: DataField, values: Mapping[Path, Column], alias: str | None) -> Column:
    if (field.name,) in values:
        return values[(field.name,)]
    old = (
        sf.lit(None).cast(spark_type(field.type)) if alias is None else sf.col(f"{quoted(alias)}.{quoted(field.name)}")
    )
    return _nested(field, (field.name,), values, old)


def _nested(field: DataField, path: Path, values: Mapping[Path, Column], old: Column) -> Column:
    """A struct with some fields replaced; a NULL becomes a struct whose other fields are NULL, as in Spark."""
    if path in values:
        return values[path]
    if not any(other[: len(path)] == path for other in values):
        return old
    return sf.struct(
        *(_nested(f, (*path, f.name), values, old.getField(f.name)).alias(f.name) for f in field.type.fields)
    )


# ------------------------------------------------------------------------------------------------------ structs by name


def aligned(value: Column, have: st.DataType, want: st.DataType, what: str) -> Column:
    """A value whose structs have their fields in the order of another type, by their names.

    Raises:
        DataError: a field is missing, or not in the other type.
    """
    match have, want:
        case st.StructType(), st.StructType():
            known = {f.name.lower(): f for f in have.fields}
            wanted = {f.name.lower() for f in want.fields}
            if known.keys() != wanted or len(known) != len(have.fields):
                raise DataError(
                    f"{what} has the fields {', '.join(want.names)}, and the value {', '.join(have.names)}; give it "
                    "the fields of the table"
                )
            parts = []
            for f in want.fields:
                source = known[f.name.lower()]
                part = aligned(value.getField(source.name), source.dataType, f.dataType, f"{what}.{f.name}")
                parts.append(part.alias(f.name))
            return sf.when(value.isNotNull(), sf.struct(*parts))
        case st.ArrayType(), st.ArrayType():
            return sf.transform(value, lambda item: aligned(item, have.elementType, want.elementType, what))
        case st.MapType(), st.MapType():
            keys = sf.transform(sf.map_keys(value), lambda item: aligned(item, have.keyType, want.keyType, what))
            items = sf.transform(sf.map_values(value), lambda item: aligned(item, have.valueType, want.valueType, what))
            return sf.map_from_arrays(keys, items)
    return value


def _names_taken(have: st.DataType, want: st.DataType) -> st.DataType:
    """The type of an aligned value: the parts of the one in the order of the other."""
    match have, want:
        case st.StructType(), st.StructType():
            known = {f.name.lower(): f for f in have.fields}
            return st.StructType(
                [
                    st.StructField(
                        f.name, _names_taken(known[f.name.lower()].dataType, f.dataType), known[f.name.lower()].nullable
                    )
                    for f in want.fields
                ]
            )
        case st.ArrayType(), st.ArrayType():
            return st.ArrayType(_names_taken(have.elementType, want.elementType), have.containsNull)
        case st.MapType(), st.MapType():
            return st.MapType(
                _names_taken(have.keyType, want.keyType),
                _names_taken(have.valueType, want.valueType),
                have.valueContainsNull,
            )
    return have
