"""Conditions and new values of rows without Spark, computed on batches of Arrow.

A condition or a value is SQL text, as far as this package reads it without Spark; or an expression of
``pyarrow.compute``, which Arrow computes. SQL text means the same as in a statement of a session. What it cannot say is
an error, never another value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import acero

from paimon_spark.arrow.alignment import StoreRules, align_batch
from paimon_spark.arrow.default_values import default_scalar
from paimon_spark.arrow.predicates.coercion import Column
from paimon_spark.arrow.predicates.evaluate import evaluate
from paimon_spark.arrow.predicates.expressions import Expr, as_predicate, as_value
from paimon_spark.arrow.predicates.literals import Literal
from paimon_spark.arrow.predicates.predicate import TRUE, Path, Predicate, columns_of
from paimon_spark.arrow.types import VARIANT, arrow_field, arrow_schema, arrow_type, from_internal
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import DataError, PredicateError, SqlError
from paimon_spark.format.quoting import did_you_mean
from paimon_spark.format.types import DataField, Root
from paimon_spark.sql.text.cursor import column_path

Given: TypeAlias = Any
"""SQL text, an expression of pyarrow.compute or of col(...), or, for a value, a constant of Python."""
_DEFAULT = "DEFAULT"
_BYTES = "of bytes"
_PARTS = {field.name for field in VARIANT}
_WAY_OUT = (
    "a value is a column, a constant, or an expression of pyarrow.compute, such as pyarrow.compute.field('n') + 1; "
    "a session of Spark computes any SQL"
)


def computed(conditions: Iterable[Given | None], values: Iterable[Given]) -> list[Given]:
    """Conditions and values that may name columns: all but constants."""
    return [item for item in (*conditions, *values) if isinstance(item, str | pc.Expression | Expr | Predicate)]


@dataclass(frozen=True)
class Scope:
    """What expressions may name.

    Attributes:
        fields: the columns of the rows, metadata columns among them.
        zone: for constants and comparisons of local times with instants; None: one that needs it is refused.
        what: is done, for messages.
    """

    fields: Sequence[DataField]
    zone: TimeZone | None
    what: str


@dataclass(frozen=True)
class Condition:
    """Which rows are meant.

    Attributes:
        predicate: every row that is meant satisfies it.
        expression: of Arrow, which they satisfy as well; None: the predicate says all.
        what: is done, for messages.
    """

    predicate: Predicate = TRUE
    expression: pc.Expression | None = None
    what: str = ""

    @staticmethod
    def read(given: Given | None, scope: Scope) -> Condition:
        """What somebody has given; None: all rows.

        Raises:
            PredicateError: it is no condition, or does not fit the columns.
        """
        if not isinstance(given, pc.Expression):
            return Condition(as_predicate(given, scope.fields, scope.zone), None, scope.what)
        found = Condition(TRUE, given, scope.what)
        found.mask(_no_rows(scope.fields))
        return found

    def mask(self, rows: pa.RecordBatch) -> pa.BooleanArray:
        """For which rows it is true; NULL where it is neither true nor false."""
        holds = evaluate(self.predicate, rows)
        if self.expression is None:
            return holds
        truth = _computed(rows, self.expression, f"{self.what}: the condition {_text(self.expression)}")
        if not pa.types.is_boolean(truth.type):
            raise PredicateError(f"{self.what}: {_text(self.expression)} is {truth.type}, and no condition; compare it")
        return pc.and_kleene(holds, truth)

    def narrowed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Of rows that satisfy the predicate, those for which it is true."""
        return rows if self.expression is None else rows.filter(replace(self, predicate=TRUE).mask(rows))


@dataclass(frozen=True)
class Value:
    """A value of each row; one of the three is given.

    Attributes:
        path: a column, or a field in it.
        constant: one value.
        expression: of Arrow.
    """

    path: Path | None = None
    constant: pa.Array | None = None
    expression: pc.Expression | None = None

    @staticmethod
    def read(given: Given, scope: Scope, target: DataField | None = None) -> Value:
        """What somebody has given.

        Args:
            target: the column whose default value the text DEFAULT means; None: NULL.

        Raises:
            PredicateError: it is no value, or names an unknown column.
        """
        if isinstance(given, pc.Expression):
            value = Value(expression=given)
            value.of(_no_rows(scope.fields))
            return value
        if isinstance(given, str) and given.strip().upper() == _DEFAULT:
            has_default = target is not None and target.default_value is not None
            return Value(constant=pa.array([default_scalar(target)]) if target and has_default else pa.nulls(1))
        if target is not None and target.type.root is Root.VARIANT and isinstance(given, dict) and set(given) == _PARTS:
            return Value(constant=pa.array([given], VARIANT))
        try:
            return _plain(as_value(given, scope.fields, scope.zone))
        except PredicateError as error:
            problem = str(error)
            if isinstance(given, str):
                problem += f"; a text is SQL, and {given!r:.40} itself would be {repr(given)!r:.44}"
            elif not isinstance(given, Expr):
                problem = f"{given!r:.100} of the type {type(given).__name__} is no value of a column"
                if callable(getattr(given, "encode", None)):  # a BlobDescriptor, a BlobView
                    problem += ", and its encode() is one"
            raise PredicateError(f"{scope.what}: {problem}; {_WAY_OUT}") from None

    def of(self, rows: pa.RecordBatch) -> pa.Array:
        """The values of some rows.

        Raises:
            DataError: Arrow cannot compute one.
        """
        if self.path is not None:
            return column_at(rows, self.path)
        if self.constant is not None:
            return pa.repeat(self.constant[0], rows.num_rows)
        return _computed(rows, self.expression, f"the value {_text(self.expression)}")


def may_look_at(name: str, values: Iterable[Value], conditions: Iterable[Condition]) -> bool:
    """False if surely no value and no condition of a statement needs a column. Arrow tells the columns of an expression
    in its text alone."""
    values, conditions = tuple(values), tuple(conditions)
    if any(name in columns_of(condition.predicate) for condition in conditions):
        return True
    expressions = [value.expression for value in values] + [condition.expression for condition in conditions]
    texts = [_text(expression) for expression in expressions if expression is not None]
    alone = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    if any(alone.search(text) or text == _BYTES or "FieldPath" in text for text in texts):
        return True
    return any(value.path is not None and name in value.path for value in values)


def _text(expression: pc.Expression | None) -> str:
    """An expression for messages. Arrow has no text for bytes in lists that are no text."""
    try:
        return str(expression)
    except UnicodeDecodeError:
        return _BYTES


def _plain(found: Column | Literal) -> Value:
    if isinstance(found, Column):
        return Value(found.path)
    if found.value is None or found.type is None:
        return Value(constant=pa.nulls(1) if found.type is None else pa.nulls(1, arrow_type(found.type)))
    return Value(constant=from_internal([found.value], found.type))


def column_at(rows: pa.RecordBatch, path: Path) -> pa.Array:
    """A column, or a field in it, which is NULL where a ROW on the way is."""
    column = rows.column(path[0])
    for name in path[1:]:
        column = pc.struct_field(column, name)
    return column


def _computed(rows: pa.RecordBatch, expression: pc.Expression | None, what: str) -> pa.Array:
    """The values of an expression of Arrow."""
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(pa.Table.from_batches([rows])))
    project = acero.Declaration("project", acero.ProjectNodeOptions([expression], ["value"]), [source])
    try:
        made = project.to_table(use_threads=False).column("value")
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"{what} cannot be computed by Arrow: {str(error).splitlines()[0]}") from None
    return made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made


def _no_rows(fields: Sequence[DataField]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=arrow_schema(fields))


# ---------------------------------------------------------------------------------------------------------- assignments


@dataclass(frozen=True)
class Assignment:
    """A new value for a column, or for a field in it.

    Attributes:
        field: the column.
        inner: the names of nested fields; (): the whole column.
        value: its value.
    """

    field: DataField
    inner: tuple[str, ...]
    value: Value

    @property
    def target(self) -> DataField:
        """What gets the value, under the name that messages say."""
        found = self.field
        for name in self.inner:
            found = next(field for field in found.type.fields if field.name == name)
        return found if not self.inner else DataField(0, ".".join((self.field.name, *self.inner)), found.type)


def read_assignments(
    fields: Sequence[DataField], given: Mapping[str, Given], scope: Scope, aliases: Sequence[str] = ()
) -> list[Assignment]:
    """The assignments of an UPDATE or INSERT, by the names of columns, with points before nested fields.

    Args:
        fields: the columns of the table.
        scope: what the values may name.
        aliases: of the table, which may stand before a name.

    Raises:
        SqlError: a column is unknown, or it or a part of it is assigned twice.
        PredicateError: a value is none.
    """
    found: list[Assignment] = []
    for name, value in given.items():
        path = column_path(name)
        if len(path) > 1 and path[0] in aliases and not any(f.name.lower() == path[0].lower() for f in fields):
            path = path[1:]
        field = find_field(fields, path[0], scope.what)
        inner, inside = [], field
        for part in path[1:]:
            if not inside.type.fields:
                raise SqlError(f"{scope.what}: '{inside.name}' has no field {part}; assign the whole column")
            inside = find_field(inside.type.fields, part, f"{scope.what}: in '{inside.name}'")
            inner.append(inside.name)
        item = Assignment(field, tuple(inner), Value.read(value, scope, None if inner else field))
        for other in found:
            shorter = min(len(other.inner), len(item.inner))
            if other.field is field and other.inner[:shorter] == item.inner[:shorter]:
                raise SqlError(f"{scope.what}: {'.'.join((field.name, *inner))} is assigned more than once")
        found.append(item)
    return found


def find_field(fields: Sequence[DataField], name: str, what: str) -> DataField:
    """The column of a name, in any letter case unless two differ by it only.

    Raises:
        SqlError: there is none, or several.
    """
    exact = [field for field in fields if field.name == name]
    found = exact or [field for field in fields if field.name.lower() == name.lower()]
    if len(found) != 1:
        names = [field.name for field in fields]
        problem = "is ambiguous" if found else f"is no column{did_you_mean(name, names)}"
        raise SqlError(f"{what}: {name} {problem}; there are {', '.join(names)}")
    return found[0]


def new_rows(
    fields: Sequence[DataField],
    given: Sequence[Assignment],
    rows: pa.RecordBatch,
    old: pa.RecordBatch | None,
    zone: TimeZone | None,
) -> pa.RecordBatch:
    """All columns of the table, with assigned values in the place of old ones.

    Args:
        fields: the columns of the table.
        rows: in which the values are computed.
        old: the rows as the table has them; None: they are new, and columns that are not assigned are NULL.
        zone: for values that go from an instant to a local time or back.

    Raises:
        DataError: a value cannot be stored in its column.
    """
    values = {(item.field.name, *item.inner): _stored(item, rows, zone) for item in given}
    columns = []
    for field in fields:
        before = pa.nulls(rows.num_rows, arrow_type(field.type)) if old is None else old.column(field.name)
        columns.append(_replaced(field, (field.name,), values, before))
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(fields))


def _stored(item: Assignment, rows: pa.RecordBatch, zone: TimeZone | None) -> pa.Array:
    """The new values, brought to the type of the column, as a write of rows brings them."""
    target, values = item.target, item.value.of(rows)
    batch = pa.RecordBatch.from_arrays([values], names=[target.name])
    return align_batch(batch, [target], rules=StoreRules(zone)).column(0)


def _replaced(field: DataField, path: tuple[str, ...], values: Mapping[Path, pa.Array], old: pa.Array) -> pa.Array:
    """A column with some fields replaced; a NULL becomes a ROW whose other fields are NULL, as in Spark."""
    if path in values:
        return values[path]
    if not any(other[: len(path)] == path for other in values):
        return old
    parts = [
        _replaced(inner, (*path, inner.name), values, pc.struct_field(old, inner.name)) for inner in field.type.fields
    ]
    return pa.StructArray.from_arrays(parts, fields=[arrow_field(inner) for inner in field.type.fields])
