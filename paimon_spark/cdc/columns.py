"""JSON values of one column as an Arrow array: a whole column at a time, and value by value only around a bad one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.casts import cast_array
from paimon_spark.arrow.types import arrow_type
from paimon_spark.cdc.encoded_values import decoded_values
from paimon_spark.cdc.encodings import BYTES, TEXT, Encoding, Form
from paimon_spark.cdc.plain_values import PlainRules, array_of_texts, plain_array, within_length
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import BINARIES, INTEGERS, STRINGS, TIMESTAMPS, DataType, Root

Step = Callable[[Any], pa.Array]

_OF_TIME = frozenset({Form.DAYS, Form.MILLIS, Form.MICROS, Form.NANOS})
_BAD = (ValueError, TypeError, OverflowError, ArithmeticError, pa.ArrowException)  # DataError is a ValueError


def column_array(
    values: Sequence[Any], encoding: Encoding, target: DataType, rules: PlainRules
) -> tuple[pa.Array, dict[int, str]]:
    """The values of a column as its type.

    Args:
        values: JSON values as ``json_values`` reads them; None is null.
        encoding: how they are written.
        target: the type of the column.
        rules: how values are read whose encoding says nothing.

    Returns:
        The array, null where a value does not fit, and why it does not by the index of the value.
    """
    return bisected(_step(encoding, target, rules), values, target)


def bisected(step: Step, values: Any, target: DataType) -> tuple[pa.Array, dict[int, str]]:
    """What a step makes of the values; if it fails, of each half, down to the values that it fails for.

    Args:
        values: a sequence or an Arrow array.
        target: the type of the result.

    Returns:
        As column_array.
    """
    problems: dict[int, str] = {}
    return _bisected(step, values, 0, target, problems), problems


def _bisected(step: Step, values: Any, start: int, target: DataType, problems: dict[int, str]) -> pa.Array:
    try:
        return step(values)
    except _BAD as error:
        if len(values) == 1:
            why = "" if str(error).startswith("the text ") else f" ({error})"
            problems[start] = f"{_shown(values[0])} is no {type_sql(target.with_nullable(True))}{why}"
            return pa.nulls(1, arrow_type(target))
    middle = len(values) // 2
    halves = ((values[:middle], start), (values[middle:], start + middle))
    return pa.concat_arrays([_bisected(step, half, begin, target, problems) for half, begin in halves])


def _shown(value: Any) -> str:
    return f"{value.as_py() if isinstance(value, pa.Scalar) else value!r:.100}"


def _step(encoding: Encoding, target: DataType, rules: PlainRules) -> Step:
    form = encoding.form
    if form is Form.PLAIN or (form in _OF_TIME and target.root in INTEGERS):
        return lambda values: plain_array(values, target, rules)
    return lambda values: _fitted(*decoded_values(values, encoding, target), target, rules)


def _fitted(array: pa.Array, source: DataType, target: DataType, rules: PlainRules) -> pa.Array:
    """Decoded values as the type of their column; a value that it cannot hold is an error.

    Raises:
        DataError: a value does not fit.
    """
    if source.root in BINARIES and target.root in BINARIES:
        return within_length(array, target)
    if source.root in STRINGS and target.root in STRINGS:
        return within_length(array, target)
    if source.with_nullable(True) == target.with_nullable(True):
        return array
    if source.root in TIMESTAMPS and (target.root in TIMESTAMPS or target.root in (Root.DATE, Root.TIME)):
        return cast_array(array, source, target)
    if source.root in (Root.TIME, Root.DATE) and target.root in (source.root, *TIMESTAMPS):
        return cast_array(array, source, target)
    if source.root is Root.ARRAY:
        return plain_array(array.to_pylist(), target, rules)
    texts = array if source.root in STRINGS else cast_array(array, BYTES if source.root in BINARIES else source, TEXT)
    return array_of_texts(texts, target, rules)
