"""Which columns Spark reads from Parquet files exactly as our reader does, and how.

Columns are matched by field id, as in ``arrow.evolution``: a file has the names and types of the schema that it was
written with. The tests of this room prove each type and each conversion against our reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import FLOATS, TIMESTAMPS, DataField, DataType, Root

_PLAIN = frozenset(
    {
        Root.BOOLEAN,
        Root.TINYINT,
        Root.SMALLINT,
        Root.INT,
        Root.BIGINT,
        Root.FLOAT,
        Root.DOUBLE,
        Root.DECIMAL,
        Root.CHAR,
        Root.VARCHAR,
        Root.BINARY,
        Root.VARBINARY,
        Root.DATE,
        Root.VARIANT,
    }
)
_WIDER = {
    Root.TINYINT: (Root.SMALLINT, Root.INT, Root.BIGINT),
    Root.SMALLINT: (Root.INT, Root.BIGINT),
    Root.INT: (Root.BIGINT,),
    Root.FLOAT: (Root.DOUBLE,),
}
_FINEST = 6  # digits of a second in Parquet's own timestamps; finer ones are INT96, which Spark reads otherwise


@dataclass(frozen=True)
class NativeColumn:
    """A column of a DataFrame, and what it is in some files.

    Attributes:
        field: the column as the table has it now.
        name: its name in the files; None: they have no such column, so it is NULL.
        type: its type in the files; that of field if name is None.
    """

    field: DataField
    name: str | None
    type: DataType


def native_columns(
    fields: Sequence[DataField], written: TableSchema, case_sensitive: bool
) -> tuple[NativeColumn, ...] | str:
    """How Spark gets the columns from files of a schema, or in words why it cannot.

    Args:
        fields: columns of the table.
        written: the schema of the files.
        case_sensitive: whether Spark tells names apart that differ by letter case only.
    """
    twins = _twins(written.fields)
    if twins and not case_sensitive:
        return f"the columns {twins} differ by letter case only, and spark.sql.caseSensitive is off"
    by_id, settings = {field.id: field for field in written.fields}, TableSettings(written.options)
    columns = []
    for field in fields:
        source = by_id.get(field.id)
        if source is None:
            columns.append(NativeColumn(field, None, field.type))
            continue
        if source.type.root is Root.MAP and settings.column(source.name).map_layout != "default":
            return f"column '{field.name}' is a map whose keys share columns of the files"
        if not _is_readable(source.type) or not _is_readable(field.type):
            return f"column '{field.name}' is {type_sql(source.type)}"
        if not _is_same(source.type, field.type) and not _is_wider(source.type, field.type):
            return f"column '{field.name}' was {type_sql(source.type)} and is {type_sql(field.type)} now"
        columns.append(NativeColumn(field, source.name, source.type))
    return tuple(columns)


def holds_floats(data_type: DataType) -> bool:
    """True if a filter on the column may compare a FLOAT or DOUBLE: the column is one, or a ROW with one."""
    if data_type.root is Root.ROW:
        return any(holds_floats(field.type) for field in data_type.fields)
    return data_type.root in FLOATS


def _is_readable(data_type: DataType) -> bool:
    root = data_type.root
    if root is Root.ARRAY:
        return _is_readable(data_type.inner)
    if root is Root.MAP:
        return _is_readable(data_type.key_type) and _is_readable(data_type.inner)
    if root is Root.ROW:
        fields = data_type.fields
        return bool(fields) and not _twins(fields) and all(_is_readable(field.type) for field in fields)
    if root in TIMESTAMPS:
        return (_FINEST if data_type.precision is None else data_type.precision) <= _FINEST
    return root in _PLAIN


def _is_same(source: DataType, target: DataType) -> bool:
    """True if values of the types are equal, in files too; whether NULL is allowed does not matter."""
    if source.root is not target.root:
        return False
    if source.root is Root.ARRAY:
        return _is_same(source.inner, target.inner)
    if source.root is Root.MAP:
        return _is_same(source.key_type, target.key_type) and _is_same(source.inner, target.inner)
    if source.root is Root.ROW:
        return len(source.fields) == len(target.fields) and all(
            (old.id, old.name) == (new.id, new.name) and _is_same(old.type, new.type)
            for old, new in zip(source.fields, target.fields, strict=True)
        )
    return source.with_nullable(True) == target.with_nullable(True)


def _is_wider(source: DataType, target: DataType) -> bool:
    """True if the target has all values of the source, and a cast changes none."""
    if source.root is Root.VARCHAR and target.root is Root.VARCHAR:
        return (source.length or 0) <= (target.length or 0)
    return target.root in _WIDER.get(source.root, ())


def _twins(fields: Sequence[DataField]) -> str:
    """The first two names that differ by letter case only, or an empty text."""
    seen: dict[str, str] = {}
    for field in fields:
        other = seen.setdefault(field.name.lower(), field.name)
        if other is not field.name:
            return f"'{other}' and '{field.name}'"
    return ""
