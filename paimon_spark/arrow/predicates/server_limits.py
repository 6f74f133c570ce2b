"""Row filters and column masks as a server of a REST catalog sends them, in JSON.

Java: Predicate, LeafPredicate, CompoundPredicate, LeafFunction and Transform, as JsonSerdeUtil reads them, and
TableQueryAuthResult. A condition there is true or false, and false where it meets a NULL. As only AND and OR join
conditions, the rows are those for which SQL's three-valued condition is true. What Java cannot read in such a text,
such as literals of dates and decimals, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.predicates.binding import matched_text, pattern_parts
from paimon_spark.arrow.predicates.evaluate import filter_batch
from paimon_spark.arrow.predicates.predicate import (
    FALSE,
    TRUE,
    Compare,
    Contains,
    EndsWith,
    In,
    IsNotNull,
    IsNull,
    Op,
    Path,
    Predicate,
    StartsWith,
    UnlessNull,
    Value,
    Wildcard,
    and_,
    columns_of,
    not_,
    or_,
    restrict,
)
from paimon_spark.arrow.predicates.transforms import TEXT, ColumnInput, Input, Kind, Transform
from paimon_spark.errors import SchemaError, UnsupportedFeature
from paimon_spark.format.json_text import load_json
from paimon_spark.format.type_text import parse_type, type_sql
from paimon_spark.format.types import FLOATS, INTEGERS, STRINGS, DataField, DataType, Root

_COMPARED = {
    "EQUAL": Op.EQ,
    "NOT_EQUAL": Op.NE,
    "LESS_THAN": Op.LT,
    "LESS_OR_EQUAL": Op.LE,
    "GREATER_THAN": Op.GT,
    "GREATER_OR_EQUAL": Op.GE,
}
_OF_TEXTS: Mapping[str, type[StartsWith | EndsWith | Contains]] = {
    "STARTS_WITH": StartsWith,
    "ENDS_WITH": EndsWith,
    "CONTAINS": Contains,
}
_BITS = {Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32, Root.BIGINT: 64}
_SENT = (Kind.FIELD_REF, Kind.CAST, Kind.CONCAT, Kind.CONCAT_WS, Kind.UPPER, Kind.LOWER, Kind.NULL)
_TRUE = DataType(Root.BOOLEAN)
_ORDER = DataType(Root.BIGINT)


@dataclass(frozen=True)
class RowFilter:
    """Which rows a server lets a user read.

    Attributes:
        predicate: over columns of the table and the computed ones; a row is read for which it is true.
        computed: their names, which no column of a table has, and what they are.
    """

    predicate: Predicate = TRUE
    computed: tuple[tuple[str, Transform], ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        """The columns of the table that it looks at."""
        made = dict(self.computed)
        return (columns_of(self.predicate) - made.keys()).union(*(one.columns for one in made.values()))

    @property
    def of_columns(self) -> Predicate:
        """A condition on columns of the table alone, which every row fulfils that it lets through."""
        return restrict(self.predicate, self.columns - dict(self.computed).keys()) if self.computed else self.predicate

    def kept(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that may be read.

        Args:
            rows: with the columns that it looks at.
        """
        if not self.computed:
            return filter_batch(self.predicate, rows)
        names, arrays = list(rows.schema.names), list(rows.columns)
        for name, transform in self.computed:
            names.append(name)
            arrays.append(transform.values(rows))
        whole = pa.RecordBatch.from_arrays(arrays, names=names)
        return filter_batch(self.predicate, whole).select(rows.schema.names)


def decode_filter(texts: Sequence[str], fields: Sequence[DataField], doing: str) -> RowFilter:
    """The filter that several texts make together.

    Args:
        texts: of conditions, which must all hold; an empty one is none.
        fields: of the table.
        doing: for errors: "reading db.t".

    Raises:
        UnsupportedFeature: a text is none that this release, or the official system, can apply.
    """
    decoder = _Decoder(fields, f"{doing}: the server of the catalog filters its rows")
    try:
        parts = [decoder.predicate(node) for node in map(decoder.json, filter(None, texts)) if node is not None]
    except RecursionError:
        raise decoder.refused("a condition is nested too deep") from None
    return RowFilter(and_(*parts), tuple(decoder.computed))


def decode_masks(
    texts: Mapping[str, str], fields: Sequence[DataField], doing: str
) -> tuple[tuple[str, Transform], ...]:
    """What is read in the place of columns, by their names.

    Args:
        texts: by the column. An empty one, and one of a column that the table does not have, is none.
        fields, doing: as of ``decode_filter``.

    Raises:
        UnsupportedFeature: a text is none that this release, or the official system, can apply, or gives values of
            another type than that of the column.
    """
    by_name, by_lower = {field.name: field for field in fields}, {field.name.lower() for field in fields}
    masks: list[tuple[str, Transform]] = []
    for name, text in sorted(texts.items()):
        decoder = _Decoder(fields, f"{doing}: the server of the catalog masks the column '{name}'")
        node = decoder.json(text) if text else None
        if node is None or name.lower() not in by_lower:
            continue
        if name not in by_name:
            raise decoder.refused("a column of the table has that name in other letter case only")
        transform, column = decoder.transform(node), by_name[name]
        if transform.kind is Kind.NULL:
            transform = Transform(Kind.NULL, (), column.type)
        if not _alike(transform.type, column.type):
            raise decoder.refused(f"the mask gives {type_sql(transform.type)}, the column is {type_sql(column.type)}")
        masks.append((name, transform))
    return tuple(masks)


def _alike(one: DataType, other: DataType) -> bool:
    return one.with_nullable(True) == other.with_nullable(True) or {one.root, other.root} <= STRINGS


class _Decoder:
    """Reads the texts of one server for one table."""

    def __init__(self, fields: Sequence[DataField], begin: str) -> None:
        self._fields = {field.name: field for field in fields}
        self._begin = begin
        self.computed: list[tuple[str, Transform]] = []

    def refused(self, why: str) -> UnsupportedFeature:
        return UnsupportedFeature(
            f"{self._begin}, and this release cannot apply that: {why}; ask the owner of the table for another rule, "
            "or use the official system"
        )

    def json(self, text: Any) -> Any:
        try:
            return load_json(text.encode())
        except (AttributeError, ValueError, RecursionError):
            raise self.refused("the text is no JSON, or nested too deep") from None

    # ------------------------------------------------------------------------------------------------------ predicates

    def predicate(self, node: Any) -> Predicate:
        match node:
            case {"kind": "COMPOUND", "function": "AND" | "OR" as function, "children": [_, *_] as children}:
                parts = [self.predicate(child) for child in children]
                return and_(*parts) if function == "AND" else or_(*parts)
            case {"kind": "LEAF", "transform": transform, "function": str(function)}:
                return self._leaf(self.transform(transform), function, node.get("literals") or [])
        raise self.refused("a condition is neither a LEAF nor a COMPOUND of others by AND or OR")

    def _leaf(self, of: Transform, function: str, literals: Any) -> Predicate:
        if not isinstance(literals, list):
            raise self.refused(f"the values of {function} are no list")
        match function:
            case "TRUE" | "FALSE":
                return TRUE if function == "TRUE" else FALSE
            case "IS_NULL" | "IS_NOT_NULL":
                path = self._path(of)
                return IsNull(path) if function == "IS_NULL" else IsNotNull(path)
            case "IS_NAN":
                return Compare(self._path(of), Op.NULL_SAFE_EQ, float("nan")) if of.type.root in FLOATS else FALSE
            case "LIKE" | "STARTS_WITH" | "ENDS_WITH" | "CONTAINS":
                return self._of_text(of, function, literals)
        values = [None if one is None else self._value(of.type, one, function) for one in literals]
        return self._compared(of, function, values)

    def _compared(self, of: Transform, function: str, values: list[Value | None]) -> Predicate:
        of, known = self._comparable(of, function, [one for one in values if one is not None])
        has_null = len(known) < len(values)
        if function in _COMPARED and len(values) == 1:
            return FALSE if has_null else Compare(self._path(of), _COMPARED[function], known[0])
        if function in ("IN", "NOT_IN"):
            if function == "NOT_IN" and has_null:
                return FALSE
            if not known:
                return FALSE if function == "IN" else UnlessNull(self._path(of), True)
            found = In(self._path(of), tuple(known))
            return found if function == "IN" else not_(found)
        if function in ("BETWEEN", "NOT_BETWEEN") and len(values) == 2:
            if has_null:
                return FALSE
            path = self._path(of)
            if function == "BETWEEN":
                return and_(Compare(path, Op.GE, known[0]), Compare(path, Op.LE, known[1]))
            return or_(Compare(path, Op.LT, known[0]), Compare(path, Op.GT, known[1]))
        raise self.refused(f"the condition {function:.40} with {len(values)} values is not known")

    def _comparable(self, of: Transform, function: str, values: list[Value]) -> tuple[Transform, list[Value]]:
        """Values as Java compares them where SQL compares otherwise: 0.0 and -0.0, and which boolean is less."""
        is_zero = of.type.root in FLOATS and any(value == 0 for value in values)
        is_less = of.type.root is Root.BOOLEAN and function not in ("EQUAL", "NOT_EQUAL")
        if not is_zero and not is_less:
            return of, values
        ordered = Transform(Kind.ORDER, (of,), _ORDER)
        given = pa.array(values, pa.bool_() if is_less else pa.float64())
        row = pa.RecordBatch.from_arrays([given], names=["v"])
        as_numbers = Transform(Kind.ORDER, (ColumnInput("v", of.type),), _ORDER).values(row)
        return ordered, as_numbers.to_pylist()

    def _of_text(self, of: Transform, function: str, literals: list[Any]) -> Predicate:
        if of.type.root not in STRINGS or len(literals) != 1:
            raise self.refused(f"{function} of {type_sql(of.type)} with {len(literals)} values is not known")
        if literals[0] is None:
            return FALSE
        text = str(self._value(of.type, literals[0], function))
        if function in _OF_TEXTS:
            return _OF_TEXTS[function](self._path(of), text)
        if "\\" in text:
            raise self.refused("the pattern of LIKE has a backslash, which Java takes for a sign or for an escape")
        parts = pattern_parts(text, "\\")
        if parts == [Wildcard.ANY]:
            return UnlessNull(self._path(of), True)
        if Wildcard.ONE not in parts:
            return matched_text(self._path(of), parts)
        return Compare(self._path(Transform(Kind.LIKE, (of, text), _TRUE)), Op.EQ, True)

    def _path(self, of: Transform) -> Path:
        """The column that a condition looks at: one of the table, or a computed one."""
        only = of.inputs[0] if of.kind is Kind.FIELD_REF else None
        if isinstance(only, ColumnInput):
            return (only.name,)
        for name, known in self.computed:
            if known == of:
                return (name,)
        number = len(self.computed)
        while (name := f"_computed_{number}") in self._fields:
            number += 1
        self.computed.append((name, of))
        return (name,)

    def _value(self, data_type: DataType, given: Any, function: str) -> Value:
        """A literal as a value of a type (Java: PredicateBuilder.convertJavaObject of what Jackson reads)."""
        root = data_type.root
        if root in STRINGS and isinstance(given, str | int) and not isinstance(given, bool):
            return str(given)
        if root is Root.BOOLEAN and isinstance(given, bool):
            return given
        if root in INTEGERS and type(given) is int and -(2 ** (_BITS[root] - 1)) <= given < 2 ** (_BITS[root] - 1):
            return given
        if root in FLOATS and type(given) in (int, float):
            return float(np.float32(given)) if root is Root.FLOAT else float(given)
        raise self.refused(f"{function:.40} compares {type_sql(data_type)} with a value of JSON that is none")

    # ------------------------------------------------------------------------------------------------------ transforms

    def transform(self, node: Any) -> Transform:
        kind = node.get("name") if isinstance(node, dict) else None
        if kind not in _SENT:
            raise self.refused(f"the transform {kind!r:.40} is not known")
        match Kind(kind):
            case Kind.NULL:
                return Transform(Kind.NULL, (), _TRUE)
            case Kind.FIELD_REF:
                column = self._column(node.get("fieldRef"))
                return Transform(Kind.FIELD_REF, (column,), column.type)
            case Kind.CAST:
                return Transform(Kind.CAST, (self._column(node.get("fieldRef")),), self._type(node.get("type")))
        inputs = node.get("inputs")
        if not isinstance(inputs, list):
            raise self.refused(f"the transform {kind} has no list of inputs")
        least, most = {Kind.CONCAT: (0, None), Kind.CONCAT_WS: (2, None)}.get(Kind(kind), (1, 1))
        if len(inputs) < least or (most is not None and len(inputs) > most):
            raise self.refused(f"the transform {kind} has {len(inputs)} inputs")
        return Transform(Kind(kind), tuple(map(self._text_input, inputs)), TEXT)

    def _text_input(self, node: Any) -> Input:
        if node is None or isinstance(node, str):
            return node
        column = self._column(node)
        if column.type.root not in STRINGS:
            raise self.refused(f"it takes the column '{column.name}' of type {type_sql(column.type)} for a text")
        return column

    def _column(self, node: Any) -> ColumnInput:
        match node:
            case {"name": str(name), "type": data_type}:
                field = self._fields.get(name)
                if field is None:
                    raise self.refused(f"the table has no column '{name:.100}'")
                if not _alike(self._type(data_type), field.type):
                    raise self.refused(f"it takes the column '{name}' of type {type_sql(field.type)} for another type")
                return ColumnInput(name, field.type)
        raise self.refused("a reference to a column has no name and type")

    def _type(self, node: Any) -> DataType:
        try:
            return parse_type(node)
        except (SchemaError, UnsupportedFeature):
            raise self.refused("a type is not known") from None
