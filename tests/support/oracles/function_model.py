"""Naive models of aggregate functions: one value after the other, as features.md describes them; no product code.

Values are those of ``pyarrow``'s to_pylist: rows are dicts, maps lists of pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from paimon_spark.format.types import Root
from support.draws.function_columns import Settings, frozen

# Character.isWhitespace of Java 17, from its documentation: no 00A0, 2007, 202F.
SPACES = {*range(0x9, 0xE), *range(0x1C, 0x21), 0x1680, *range(0x2000, 0x2007), *range(0x2008, 0x200B)}
SPACES |= {0x2028, 0x2029, 0x205F, 0x3000}
WIDE = Context(prec=200)
BITS = {Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32, Root.BIGINT: 64}


class ModelError(Exception):
    """The fold is an error."""


Function = Callable[[Settings, Any, Any], Any]


def same(left: Any, right: Any) -> bool:
    return bool(frozen(left) == frozen(right))


def product(s: Settings, acc: Any, value: Any) -> Any:
    if acc is None or value is None:
        return value if acc is None else acc
    if s.type.root in (Root.FLOAT, Root.DOUBLE):
        return _float(s, acc, value, np.multiply)
    if s.type.root is Root.DECIMAL:
        return _decimal(s, WIDE.multiply(acc, value))
    return _integer(s, acc * value)


def divide(s: Settings, acc: Any, value: Any) -> Any:
    if acc is None or value is None:
        return acc
    if s.type.root in (Root.FLOAT, Root.DOUBLE):
        return _float(s, acc, value, np.divide)
    if value == 0:
        raise ModelError("division by zero")
    if s.type.root is Root.DECIMAL:
        denominator = (Fraction(acc) / Fraction(value)).denominator
        for prime in (2, 5):
            while denominator % prime == 0:
                denominator //= prime
        if denominator != 1:
            raise ModelError("no end")
        return _decimal(s, WIDE.divide(acc, value))
    quotient = abs(acc) // abs(value)
    return _integer(s, quotient if (acc < 0) == (value < 0) else -quotient)


def _float(s: Settings, left: float, right: float, ufunc: Any) -> float:
    kind = np.float32 if s.type.root is Root.FLOAT else np.float64
    with np.errstate(all="ignore"):
        return float(ufunc(kind(left), kind(right)))


def _decimal(s: Settings, value: Decimal) -> Decimal:
    scale = s.type.scale or 0
    value = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, WIDE)
    if abs(value) >= Decimal(10) ** ((s.type.precision or 10) - scale):
        raise ModelError("overflow")
    return value


def _integer(s: Settings, value: int) -> int:
    limit = 1 << (BITS[s.type.root] - 1)
    if not -limit <= value < limit:
        raise ModelError("overflow")
    return value


def bool_and(s: Settings, acc: Any, value: Any) -> Any:
    return (acc and value) if acc is not None and value is not None else value if acc is None else acc


def bool_or(s: Settings, acc: Any, value: Any) -> Any:
    return (acc or value) if acc is not None and value is not None else value if acc is None else acc


def blank(text: str) -> bool:
    return all(ord(char) in SPACES for char in text)


def listagg(s: Settings, acc: Any, value: Any) -> Any:
    if value is None or blank(value):
        return acc
    if acc is None or blank(acc):
        return value
    if not s.distinct:
        return acc + s.delimiter + value
    known = acc.split(s.delimiter or " ")
    for part in value.split(s.delimiter or " "):
        if not blank(part) and part not in known:
            known.append(part)
            acc += s.delimiter + part
    return acc


def collect(s: Settings, acc: Any, value: Any) -> Any:
    if not s.distinct:
        return acc + value if acc is not None and value is not None else value if acc is None else acc
    if acc is None and value is None:
        return None
    by_hash = s.type.inner.root not in (Root.ARRAY, Root.MAP, Root.ROW, Root.BINARY, Root.VARBINARY)
    result: list[Any] = []
    for i, item in enumerate([*(acc or []), *(value or [])]):
        old = i < len(acc or [])
        if (old and not by_hash) or not any(same(item, other) for other in result):
            result.append(item)
    return result


def uncollect(s: Settings, acc: Any, value: Any) -> Any:
    if acc is None or value is None:
        return acc
    out, result = list(value), []
    for item in acc:
        for i, other in enumerate(out):
            if same(item, other):
                del out[i]
                break
        else:
            result.append(item)
    return result


def merge_map(s: Settings, acc: Any, value: Any) -> Any:
    if acc is None or value is None:
        return value if acc is None else acc
    merged = {frozen(key): (key, item) for key, item in [*acc, *value]}
    return list(merged.values())


def unmerge_map(s: Settings, acc: Any, value: Any) -> Any:
    if acc is None or value is None:
        return acc
    gone = {frozen(key) for key, _ in value}
    return [(key, item) for key, item in acc if frozen(key) not in gone]


def merge_map_with_keytime(s: Settings, acc: Any, value: Any) -> Any:
    if acc is None or value is None:
        return value if acc is None else acc
    time = s.ts_field or s.type.inner.fields[-1].name
    merged = {frozen(key): (key, row) for key, row in acc}
    for key, row in value:
        at = frozen(key)
        there = merged.get(at, (None, None))[1]
        if row is None:
            merged.pop(at, None)
        elif row[time] is not None and (
            there is None or there[time] is None or _utf16(row[time]) > _utf16(there[time])
        ):
            merged[at] = (key, row)
    return list(merged.values())


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def nested_update(s: Settings, acc: Any, value: Any) -> Any:
    if value is None:
        return acc
    new = [row for row in value if row is not None]
    if not s.nested_key:
        if acc is None:
            return new[: s.count_limit]
        if len(acc) >= s.count_limit:
            return acc
        return [row for row in acc if row is not None] + new[: s.count_limit - len(acc)]
    table: dict[Any, Any] = {}
    for rows, limited in ((acc or [], False), (new, True)):
        for row in rows:
            key = _nested_key(s, row)
            if key is None:
                continue
            if key in table:
                if not s.nested_sequence or _sequence(s, row) >= _sequence(s, table[key]):
                    table[key] = row
            elif not limited or len(table) < s.count_limit:
                table[key] = row
    return list(table.values())


def nested_retract(s: Settings, acc: Any, value: Any) -> Any:
    if acc is None or value is None:
        return acc
    rows, gone = [row for row in acc if row is not None], [row for row in value if row is not None]
    if not s.nested_key:
        return [row for row in rows if not any(same(row, other) for other in gone)]
    table = {key: row for row in rows if (key := _nested_key(s, row)) is not None}
    for row in gone:
        table.pop(_nested_key(s, row), None)
    return list(table.values())


def nested_partial_update(s: Settings, acc: Any, value: Any) -> Any:
    if value is None:
        return acc
    table: dict[Any, dict[str, Any]] = {}
    for row in [*(acc or []), *value]:
        key = _nested_key(s, row)
        if key is not None:
            made = table.setdefault(key, dict.fromkeys(row))
            made.update({name: item for name, item in row.items() if item is not None})
    return list(table.values())


def _nested_key(s: Settings, row: Any) -> Any:
    if row is None:
        return None
    key = tuple(row[name] for name in s.nested_key)
    if any(item is None for item in key):
        if s.nested_key_null == "error":
            raise ModelError("null in nested key")
        if s.nested_key_null == "ignore":
            return None
    return frozen(key)


def _sequence(s: Settings, row: Any) -> Any:
    return tuple((row[name] is not None, row[name] or 0) for name in s.nested_sequence)


def swapped(agg: Function) -> Function:
    """A late value becomes the accumulator, and the accumulator is folded into it."""
    return lambda s, acc, value: agg(s, value, acc)


# name -> (agg, the same for late rows, retract)
MODELS: dict[str, tuple[Function, Function, Function | None]] = {
    "product": (product, swapped(product), divide),
    "bool_and": (bool_and, swapped(bool_and), None),
    "bool_or": (bool_or, swapped(bool_or), None),
    "listagg": (listagg, swapped(listagg), None),
    "collect": (collect, collect, uncollect),
    "merge_map": (merge_map, swapped(merge_map), unmerge_map),
    "merge_map_with_keytime": (merge_map_with_keytime, swapped(merge_map_with_keytime), None),
    "nested_update": (nested_update, swapped(nested_update), nested_retract),
    "nested_partial_update": (nested_partial_update, swapped(nested_partial_update), None),
}


def fold_model(name: str, s: Settings, steps: list[tuple[str, Any]]) -> Any:
    """The value after all steps; a step is "seed", "put", "late" or "retract" and a value."""
    agg, late, retract = MODELS[name]
    acc: Any = None
    for what, value in steps:
        if what == "seed":
            acc = value
        elif what == "retract":
            assert retract is not None
            acc = retract(s, acc, value)
        else:
            acc = (late if what == "late" else agg)(s, acc, value)
    return acc
