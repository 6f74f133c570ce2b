"""What an expression of ``pyarrow.compute`` tells of the rows that it keeps, as a condition that leaves out files.

DuckDB, Polars and DataFusion hand their conditions to a dataset of pyarrow as such expressions. pyarrow has no calls
that take an expression apart, but the form in which it pickles one is plain: a file of Arrow's IPC format, whose
columns are the constants and the options of functions, and whose metadata list the nodes in order (Arrow:
``SerializeExpression`` in ``expression.cc``). What is not known here, a newer form too, tells nothing, so that all
files are read.

The condition is only for leaving out: who gave the expression filters with it. So the condition must be true wherever
the expression is, whether NaN is greater than all numbers there (Polars, DuckDB) or compares as false (pyarrow), and
whether ``is_in`` is false or NULL for NULL.
"""

from __future__ import annotations

import ctypes
import operator
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from paimon_spark.arrow.predicates.expressions import ColumnExpr, Expr, bind
from paimon_spark.arrow.predicates.predicate import TRUE, Predicate
from paimon_spark.errors import PredicateError
from paimon_spark.format.types import FLOATS, INTEGERS, DataField, DataType, Root

_COMPARISONS: Mapping[str, tuple[Callable[[Any, Any], Any], str]] = {
    "equal": (operator.eq, "equal"),
    "not_equal": (operator.ne, "not_equal"),
    "less": (operator.lt, "greater"),
    "less_equal": (operator.le, "greater_equal"),
    "greater": (operator.gt, "less"),
    "greater_equal": (operator.ge, "less_equal"),
}
"""Function of Arrow -> the comparison, and the function with its sides exchanged."""
_AND, _OR = ("and", "and_kleene"), ("or", "or_kleene")
_WITHOUT_NAN = ("equal", "less", "less_equal")  # false for NaN and a number, whoever compares them
_MOST_MICROS = 6  # digits of a fraction of a second: constants of finer times are compared in more than one way


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments, and its options if it has any."""

    function: str
    arguments: tuple[Node, ...]
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FieldNode:
    """A column, or a field inside a struct."""

    names: tuple[str, ...]


Node: TypeAlias = "Call | FieldNode | pa.Scalar"


class _UnknownForm(Exception):
    """Nothing is known of a part of an expression."""


def parse_expression(expression: Any) -> Node | None:
    """The tree of an expression of ``pyarrow.compute``; None: pyarrow does not pickle it, or in another form."""
    try:
        (data,) = expression.__reduce__()[1]
        constants = pa.ipc.open_file(data).get_batch(0)
        return _node(deque(_metadata(constants.schema)), constants)
    except (pa.ArrowException, ValueError, KeyError, IndexError, TypeError):
        return None


def names_in(node: Node) -> frozenset[str]:
    """The top-level columns that an expression looks at."""
    if isinstance(node, FieldNode):
        return frozenset(node.names[:1])
    if isinstance(node, Call):
        return frozenset().union(*map(names_in, node.arguments))
    return frozenset()


def implied_condition(node: Node, fields: Sequence[DataField]) -> Predicate:
    """A condition that is true wherever the expression is, as strong as is known here; TRUE: nothing is known.

    Args:
        node: the expression.
        fields: the columns that the condition may be on.
    """
    try:
        condition = _condition(node, {field.name: field.type for field in fields}, negated=False)
        return bind(condition, fields, None)
    except (_UnknownForm, PredicateError):
        return TRUE


def _condition(node: Node, types: Mapping[str, DataType], negated: bool) -> Expr:
    """A condition that is true wherever the node is; negated: one that is false wherever the node is."""
    match node:
        case FieldNode() if _type_of(node, types).root is Root.BOOLEAN:
            return ColumnExpr(node.names)
        case Call("invert", (part,)):
            return ~_condition(part, types, not negated)
        case Call(function, (left, right)) if function in _AND:
            return _joined(operator.and_, left, right, types, negated, may_drop=not negated)
        case Call(function, (left, right)) if function in _OR:
            return _joined(operator.or_, left, right, types, negated, may_drop=negated)
        case Call(function, (FieldNode() as field, pa.Scalar() as value)) if function in _COMPARISONS:
            return _comparison(function, field, value, types, negated)
        case Call(function, (pa.Scalar() as value, FieldNode() as field)) if function in _COMPARISONS:
            return _comparison(_COMPARISONS[function][1], field, value, types, negated)
        case Call("is_valid", (FieldNode() as field,)):
            return _column(field, types).is_not_null()
        case Call("is_null", (FieldNode() as field,), options) if not _flag(options, "nan_is_null"):
            return _column(field, types).is_null()
        case Call("is_in", (FieldNode() as field,), options) if not negated:
            return _is_in(field, options, types)
        case Call("if_else", (Call("is_valid", (tested,)), Call("is_in", (FieldNode() as field,), options), other)):
            if tested == field and isinstance(other, pa.Scalar) and not other.is_valid:  # NULL for NULL, as in SQL
                return _is_in(field, options, types)
        case Call("starts_with", (FieldNode() as field,), options) if not _flag(options, "ignore_case"):
            _require_text(field, types)
            return ColumnExpr(field.names).startswith(options["pattern"].as_py())
    raise _UnknownForm


def _joined(
    join: Callable[[Expr, Expr], Expr],
    left: Node,
    right: Node,
    types: Mapping[str, DataType],
    negated: bool,
    may_drop: bool,
) -> Expr:
    """Both sides; one of them alone, if nothing is known of the other and it may be dropped."""
    known = list[Expr]()
    for side in (left, right):
        try:
            known.append(_condition(side, types, negated))
        except _UnknownForm:
            if not may_drop:
                raise
    if not known:
        raise _UnknownForm
    return join(*known) if len(known) == 2 else known[0]


def _comparison(
    function: str, field: FieldNode, value: pa.Scalar, types: Mapping[str, DataType], negated: bool
) -> Expr:
    compared = _type_of(field, types)
    _check_constant(compared, value)
    if compared.root in FLOATS and negated and function not in _WITHOUT_NAN:
        raise _UnknownForm
    found: Expr = _COMPARISONS[function][0](ColumnExpr(field.names), value)
    return found


def _is_in(field: FieldNode, options: Mapping[str, Any], types: Mapping[str, DataType]) -> Expr:
    compared, values = _type_of(field, types), options["value_set"].values
    wanted = list(values)
    for value in wanted:
        _check_constant(compared, value)
    if compared.root in FLOATS or not wanted:
        raise _UnknownForm
    return ColumnExpr(field.names).isin(wanted)


def _check_constant(compared: DataType, value: pa.Scalar) -> None:
    """Checks that a column and a constant compare in one way, whoever does it: of one kind, neither NULL nor NaN."""
    root, arrow, types = compared.root, value.type, pa.types
    is_same = value.is_valid and (
        (root in INTEGERS and types.is_integer(arrow))
        or (root is Root.BOOLEAN and types.is_boolean(arrow))
        or (root is Root.VARCHAR and (types.is_string(arrow) or types.is_large_string(arrow)))
        or (root is Root.DECIMAL and types.is_decimal(arrow))
        or (root is Root.DATE and types.is_date32(arrow))
        or (root is Root.TIMESTAMP and types.is_timestamp(arrow) and arrow.tz is None)
        or (root is Root.TIMESTAMP_LTZ and types.is_timestamp(arrow) and arrow.tz is not None)
        or (root in FLOATS and types.is_floating(arrow) and value.as_py() == value.as_py())
    )
    is_finer = root in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ) and (compared.precision or 0) > _MOST_MICROS
    if not is_same or is_finer:
        raise _UnknownForm


def _require_text(field: FieldNode, types: Mapping[str, DataType]) -> None:
    if _type_of(field, types).root is not Root.VARCHAR:  # of CHAR columns blanks behind the text may count
        raise _UnknownForm


def _column(field: FieldNode, types: Mapping[str, DataType]) -> ColumnExpr:
    _type_of(field, types)
    return ColumnExpr(field.names)


def _type_of(field: FieldNode, types: Mapping[str, DataType]) -> DataType:
    if len(field.names) != 1 or field.names[0] not in types:
        raise _UnknownForm
    return types[field.names[0]]


def _flag(options: Mapping[str, Any], name: str) -> bool:
    """True if an option is set; one that is not there might be, in a newer form."""
    return bool(options[name].as_py()) if name in options else True


def _node(nodes: deque[tuple[str, str]], constants: pa.RecordBatch) -> Node:
    """The first of the nodes that are left, which are taken from the queue."""
    kind, text = nodes.popleft()
    if kind == "literal":
        return constants.column(int(text))[0]
    if kind == "field_ref":
        return FieldNode((text,))
    if kind == "nested_field_ref":
        return FieldNode(tuple(nodes.popleft()[1] for _ in range(int(text))))
    if kind != "call":
        raise ValueError(kind)
    arguments: list[Node] = []
    options: dict[str, Any] = {}
    while nodes[0][0] != "end":
        if nodes[0][0] == "options":
            options = dict(constants.column(int(nodes.popleft()[1]))[0].items())
        else:
            arguments.append(_node(nodes, constants))
    nodes.popleft()
    return Call(text, tuple(arguments), options)


class _ArrowSchema(ctypes.Structure):
    """The head of the struct ArrowSchema of Arrow's C data interface."""

    _fields_ = (("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p))


def _metadata(schema: pa.Schema) -> list[tuple[str, str]]:
    """All metadata of a schema in order; ``schema.metadata`` is a dictionary, and the keys here are not unique.

    Source: the C data interface of Arrow, ArrowSchema.metadata: a count, then each key and value behind its length, as
    int32 of this machine.
    """
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = schema.__arrow_c_schema__()  # which owns the memory
    at = _ArrowSchema.from_address(pointer(capsule, b"arrow_schema") or 0).metadata

    def number() -> int:
        nonlocal at
        found = ctypes.c_int32.from_address(at).value
        at += 4
        return found

    def text() -> str:
        nonlocal at
        length = number()
        found = ctypes.string_at(at, length).decode("utf-8")
        at += length
        return found

    return [(text(), text()) for _ in range(number())] if at else []
