"""Which keys of an index the rows have for which a condition is true, or false (Java: SortedFileMetaSelector)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_spark.arrow.predicates.predicate import (
    Compare,
    In,
    IsNotNull,
    IsNull,
    Leaf,
    Like,
    Op,
    StartsWith,
    UnlessNull,
    Value,
)
from paimon_spark.format.file_index.keys import Key
from paimon_spark.format.global_index.keys import GlobalKeyForm, Interval
from paimon_spark.format.types import STRINGS

_NEGATED = {Op.EQ: Op.NE, Op.NE: Op.EQ, Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT}


@dataclass(frozen=True)
class KeySet:
    """The keys of rows.

    Attributes:
        intervals: of keys, ascending.
        nulls: whether rows that are NULL are among them.
        is_scan: whether a large part of the index may have to be read.
    """

    intervals: tuple[Interval, ...] = ()
    nulls: bool = False
    is_scan: bool = False

    def meets(self, first: Key, last: Key) -> bool:
        """True if a key from the first to the last is among them."""
        return any(not each.is_after(last) and not each.is_before(first) for each in self.intervals)

    def common(self, other: KeySet) -> KeySet:
        """The keys that are in both."""
        pairs = (_common(one, two) for one in self.intervals for two in other.intervals)
        intervals = tuple(pair for pair in pairs if not pair.is_empty)
        return KeySet(intervals, self.nulls and other.nulls, self.is_scan and other.is_scan)


def _common(one: Interval, two: Interval) -> Interval:
    """The keys between the greater of two lower bounds and the lesser of two upper ones."""
    lows = [(each.low, not each.with_low) for each in (one, two) if each.low is not None]
    highs = [(each.high, each.with_high) for each in (one, two) if each.high is not None]
    low, without_low = max(lows, default=(None, False))
    high, with_high = min(highs, default=(None, True))
    return Interval(low, high, not without_low, with_high)


_NONE = KeySet()
_PRESENT = KeySet((Interval(),), is_scan=True)


def key_set(leaf: Leaf, wanted: bool, form: GlobalKeyForm) -> KeySet | None:
    """The keys of the rows for which a condition may have a truth value; None: any, the index does not tell.

    Args:
        leaf: the condition, on the column of the index.
        wanted: True or False. Rows for which it is NULL have neither.
        form: of the keys.
    """
    match leaf:
        case IsNull():
            return KeySet(nulls=True) if wanted else _PRESENT
        case IsNotNull():
            return _PRESENT if wanted else KeySet(nulls=True)
        case UnlessNull(_, result):
            return _PRESENT if result == wanted else _NONE
        case Compare(_, Op.NULL_SAFE_EQ, value):
            found = _compared(Op.EQ if wanted else Op.NE, value, form)
            return found if wanted or found is None else KeySet(found.intervals, True, is_scan=True)
        case Compare(_, op, value):
            return _compared(op if wanted else _NEGATED[op], value, form)
        case In(_, values, has_null):
            return _listed(values, wanted, has_null, form)
        case StartsWith(_, text):
            return _prefixed(text, wanted, form)
        case Like(_, (str(text), *_)) if wanted:
            return _prefixed(text, True, form)
    return None


def _compared(op: Op, value: Value, form: GlobalKeyForm) -> KeySet | None:
    span = form.span(value)
    if span is None:
        return None
    open_ = span.exact  # else rows with such a key may be less than the value, equal to it, or greater
    below = Interval(high=span.low if open_ else span.high, with_high=not open_)
    above = Interval(low=span.high if open_ else span.low, with_low=not open_)
    match op:
        case Op.EQ:
            return KeySet((Interval(span.low, span.high),))
        case Op.NE:
            return KeySet((below, above), is_scan=True) if open_ else _PRESENT
        case Op.LT:
            return KeySet((below,), is_scan=True)
        case Op.GT:
            return KeySet((above,), is_scan=True)
        case Op.LE:
            return KeySet((Interval(high=span.high),), is_scan=True)
        case _:
            return KeySet((Interval(low=span.low),), is_scan=True)


def _listed(values: Sequence[Value], wanted: bool, has_null: bool, form: GlobalKeyForm) -> KeySet | None:
    spans = [form.span(value) for value in values]
    known = sorted({span for span in spans if span is not None})
    if any(span is None for span in spans):
        return None
    if wanted:
        return KeySet(tuple(Interval(span.low, span.high) for span in known))
    if has_null:
        return _NONE
    if not all(span.exact for span in known):
        return _PRESENT
    lows: list[Key | None] = [None, *(span.high for span in known)]
    highs: list[Key | None] = [*(span.low for span in known), None]
    between = (Interval(low, high, False, False) for low, high in zip(lows, highs, strict=True))
    return KeySet(tuple(between), is_scan=True)


def _prefixed(text: str, wanted: bool, form: GlobalKeyForm) -> KeySet | None:
    """The texts that begin with a text, or do not: UTF-8 has no byte 255."""
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError:
        return None
    if form.data_type.root not in STRINGS:
        return None
    if not raw:
        return _PRESENT if wanted else _NONE
    end = raw[:-1] + bytes([raw[-1] + 1])
    if wanted:
        return KeySet((Interval(raw, end, with_high=False),))
    return KeySet((Interval(high=raw, with_high=False), Interval(low=end)), is_scan=True)
