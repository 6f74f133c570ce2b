"""Which types may become which when a column changes its type (features 8.2; Java: DataTypeCasts)."""

from __future__ import annotations

from paimon_spark.format.types import BINARIES, FLOATS, INTEGERS, STRINGS, TIMESTAMPS, DataType, Root

_NUMBERS = INTEGERS | FLOATS | {Root.DECIMAL}
_TO_INTEGER = {
    Root.TINYINT: frozenset[Root](),
    Root.SMALLINT: frozenset({Root.TINYINT}),
    Root.INT: frozenset({Root.TINYINT, Root.SMALLINT}),
    Root.BIGINT: INTEGERS,
}
_IMPLICIT: dict[Root, frozenset[Root]] = {
    **_TO_INTEGER,
    Root.VARCHAR: STRINGS,
    Root.VARBINARY: BINARIES,
    Root.DECIMAL: _NUMBERS,
    Root.FLOAT: INTEGERS | {Root.DECIMAL},
    Root.DOUBLE: _NUMBERS,
    Root.DATE: frozenset({Root.TIMESTAMP}),
    Root.TIME: frozenset({Root.TIMESTAMP}),
    Root.TIMESTAMP: TIMESTAMPS,
    Root.TIMESTAMP_LTZ: TIMESTAMPS,
}
"""By the new type; a type may also become itself with other parameters."""

_TO_NUMBER = _NUMBERS | STRINGS | TIMESTAMPS | {Root.BOOLEAN}
_TO_TIMESTAMP = TIMESTAMPS | STRINGS | _NUMBERS | {Root.DATE, Root.TIME}
_EXPLICIT: dict[Root, frozenset[Root]] = {
    Root.CHAR: frozenset(Root),
    Root.VARCHAR: frozenset(Root),
    Root.BOOLEAN: STRINGS | INTEGERS,
    Root.BINARY: STRINGS | {Root.VARBINARY},
    Root.VARBINARY: STRINGS | BINARIES,
    Root.DECIMAL: STRINGS | TIMESTAMPS | {Root.BOOLEAN},
    **dict.fromkeys((*INTEGERS, *FLOATS), _TO_NUMBER),
    Root.DATE: TIMESTAMPS | STRINGS,
    Root.TIME: TIMESTAMPS | STRINGS,
    Root.TIMESTAMP: _TO_TIMESTAMP,
    Root.TIMESTAMP_LTZ: _TO_TIMESTAMP,
}


def may_cast(source: DataType, target: DataType, allow_explicit: bool) -> bool:
    """True if the rules of types let a column change from one type to another.

    Args:
        source: the type of the column.
        target: the type that it is to have.
        allow_explicit: also changes that may lose information, such as BIGINT to INT.
    """
    if source.nullable and not target.nullable and not allow_explicit:
        return False
    if source.root is target.root or source.root in _IMPLICIT.get(target.root, frozenset()):
        return True
    return allow_explicit and source.root in _EXPLICIT.get(target.root, frozenset())
