"""New values of rows: assignments to columns and nested fields, cast to the types of their columns.

Java: PaimonAssignmentUtils, which follows Spark's AssignmentUtils: fields of structs meet by their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from paimon_spark.errors import SqlError
from paimon_spark.format.quoting import did_you_mean
from paimon_spark.format.types import DataField, DataType
from paimon_spark.spark.adapters.aligned_values import Naming, aligned
from paimon_spark.spark.adapters.char_columns import padded, stored_column
from paimon_spark.spark.adapters.store_assignment import StoredAs, StorePolicy, has_names_of, stored
from paimon_spark.spark.adapters.types import spark_type
from paimon_spark.sql.text.cursor import column_path
from paimon_spark.sql.text.default_texts import default_expression
from paimon_spark.sql.text.lexer import closes_its_own, tokenize

Expression = str | Column
Path = tuple[str, ...]
_DEFAULT = "DEFAULT"
_NAMING = Naming()


@dataclass(frozen=True)
class Assignment:
    """A value for a column, or for a field in it.

    Attributes:
        field: the column.
        inner: the names of nested fields, as the table has them; (): the whole column.
        value: the expression.
        naming: how fields of structs in the value meet those of the column.
        keeps: fields that the value lacks stay as they are in the row, where naming completes; else they are NULL.
    """

    field: DataField
    inner: Path
    value: Column
    naming: Naming = _NAMING
    keeps: bool = False


def as_column(value: Expression) -> Column:
    """An expression in SQL, or a Column as it is.

    In parentheses Spark reads no alias: of ``id = 1 AND`` it would take AND for the name of the column. A text that
    closes parentheses which it did not open is left to Spark, which refuses it.
    """
    if not isinstance(value, str):
        return value
    return sf.expr(f"(\n{value}\n)" if closes_its_own(tokenize(value)) else value)


def find_field(fields: Sequence[DataField], name: str, what: str, naming: Naming = _NAMING) -> DataField:
    """The column of a name, in any letter case unless two differ by it only, or the session tells them apart.

    Raises:
        SqlError: there is none, or several.
    """
    names = [f.name for f in fields]
    found = naming.alike(name, names)
    if len(found) != 1:
        problem = "ambiguous" if found else "no column of the table"
        near = "" if found else did_you_mean(name, names)
        raise SqlError(f"{what}: {name} is {problem}{near}; there are {', '.join(names)}")
    return fields[names.index(found[0])]


def read_assignments(
    fields: Sequence[DataField],
    given: Mapping[str, Expression],
    what: str,
    aliases: Sequence[str] = (),
    naming: Naming = _NAMING,
) -> list[Assignment]:
    """The assignments of a SET, by the names of columns, with points before nested fields.

    Args:
        aliases: of the table, that may stand before a name.
        naming: how names meet those of the table.

    Raises:
        SqlError: a column is unknown, or it or a part of it is assigned twice.
    """
    found: list[Assignment] = []
    for name, value in given.items():
        path = without_alias(column_path(name), aliases, [f.name for f in fields], naming)
        column = find_field(fields, path[0], what, naming)
        inner = _inner(column, path[1:], what, naming)
        for other in found:
            shorter = min(len(other.inner), len(inner))
            if other.field is column and other.inner[:shorter] == inner[:shorter]:
                raise SqlError(f"{what}: {'.'.join((column.name, *inner))} is assigned more than once")
        is_default = isinstance(value, str) and value.strip().upper() == _DEFAULT
        expression = sf.expr(default_expression(column) if not inner else "NULL") if is_default else as_column(value)
        found.append(Assignment(column, inner, expression, naming))
    return found


def keeps_itself(
    item: Assignment, value: Expression, alias: str, fields: Sequence[DataField], others: Sequence[str] = ()
) -> bool:
    """True if an assignment gives a column its own value by its name, such as ``id = t.id``.

    Args:
        alias: of the table.
        others: the columns of another table, which a name without a table may mean.
    """
    if item.inner or not isinstance(value, str):
        return False
    try:
        path = column_path(value)
    except SqlError:
        return False
    if len(path) == 1 and item.naming.alike(path[0], others):
        return False
    own = without_alias(path, [alias], [field.name for field in fields], item.naming)
    return len(own) == 1 and item.naming.alike(own[0], [field.name for field in fields]) == [item.field.name]


def without_alias(path: Path, aliases: Sequence[str], names: Sequence[str], naming: Naming) -> Path:
    """The name of a column without the name of the table before it.

    Where the table has a column of its own name too, ``t.x`` is its column x, if it has one, as in Spark; else it is
    the field x of the column t.
    """
    if len(path) < 2 or path[0].lower() not in map(str.lower, aliases):
        return path
    return path[1:] if naming.alike(path[1], names) or not naming.alike(path[0], names) else path


def _inner(column: DataField, names: Path, what: str, naming: Naming) -> Path:
    at, found = column.type, []
    for name in names:
        if not at.fields:
            raise SqlError(f"{what}: '{column.name}' has no field {'.'.join(names)}; assign the whole column")
        field = find_field(at.fields, name, f"{what}: in '{column.name}'", naming)
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
        (item.field.name, *item.inner): _stored(item, have, alias, what, rules)
        for item, have in zip(given, types, strict=True)
    }
    return [_column(field, values, alias).alias(field.name) for field in fields]


def _stored(item: Assignment, have: st.DataType, alias: str | None, what: str, rules: StorePolicy) -> Column:
    data_type = inner_type(item)
    want, name = spark_type(data_type), ".".join((item.field.name, *item.inner))
    value = item.value
    if item.naming.is_exact or not has_names_of(have, want):
        old = None if alias is None or not item.keeps else stored_column(item.field, alias)
        made = aligned(value, have, want, f"{what}: '{name}'", item.naming, old)
        value, have = made.value, made.type
    made_as = stored(value, have, StoredAs(name, want, what), rules)
    return padded(made_as, data_type) if rules.pads_char else made_as


def inner_type(item: Assignment) -> DataType:
    """The type of the column, or of the field in it, that gets the value."""
    data_type = item.field.type
    for name in item.inner:
        data_type = next(f.type for f in data_type.fields if f.name == name)
    return data_type


def _column(field: DataField, values: Mapping[Path, Column], alias: str | None) -> Column:
    if (field.name,) in values:
        return values[(field.name,)]
    old = sf.lit(None).cast(spark_type(field.type)) if alias is None else stored_column(field, alias)
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
