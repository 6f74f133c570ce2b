"""The kinds of indexes, each with what it says of a condition (Java: the readers of the fileindex packages)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from paimon_spark.arrow.file_index.possible_rows import ANY, ColumnIndex, Possible, common, union
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
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.file_index.bitmap import BitmapIndex, open_bitmap
from paimon_spark.format.file_index.bloom import BloomFilter, open_bloom
from paimon_spark.format.file_index.bsi import open_bsi
from paimon_spark.format.file_index.byte_reader import ByteReader
from paimon_spark.format.file_index.keys import Key, KeyForm
from paimon_spark.format.file_index.range_bitmap import open_range_bitmap
from paimon_spark.format.file_index.row_sets import RowSet
from paimon_spark.format.file_index.settings import BITMAP, BLOOM_FILTER, BSI, RANGE_BITMAP
from paimon_spark.format.types import STRINGS, TIMESTAMPS, DataType, Root

_FROM = frozenset({Op.EQ, Op.NULL_SAFE_EQ, Op.GE, Op.GT})
_UP_TO = frozenset({Op.EQ, Op.NULL_SAFE_EQ, Op.LE, Op.LT})
_SHARED_DAYS = -141_427 + 31  # a month after 1582-10-15, from when on all calendars count the same days


@dataclass(frozen=True)
class _Bloom:
    """An index that only tells that a value is in no row."""

    bloom: BloomFilter
    data_type: DataType

    def possible(self, leaf: Leaf) -> Possible:
        match leaf:
            case Compare(_, Op.EQ | Op.NULL_SAFE_EQ, value):
                return Possible(None if self._may_hold(value) else RowSet(), None)
            case In(_, values):
                return Possible(None if any(map(self._may_hold, values)) else RowSet(), None)
        return ANY

    def _may_hold(self, value: Value) -> bool:
        values = (0.0, -0.0) if isinstance(value, float) and value == 0 else (value,)
        try:
            return any(self.bloom.may_hold(each, self.data_type) for each in values)
        except (OverflowError, UnicodeEncodeError):  # no value of the type: the index cannot be asked
            return True

    def has_none(self, leaves: Sequence[Compare]) -> bool:
        """See ColumnIndex; possible tells as much."""
        return False


class _Ordered(Protocol):
    """An index of the keys of all rows."""

    @property
    def form(self) -> KeyForm: ...

    @property
    def present(self) -> RowSet: ...

    @property
    def nulls(self) -> RowSet: ...

    def equal(self, key: Any) -> RowSet: ...

    def below(self, key: Any) -> RowSet:
        """The rows with a lesser key."""
        ...

    def may_hold(self, low: Any, high: Any) -> bool:
        """False: no row has a key from low to high. None: there is no such bound."""
        ...


@dataclass(frozen=True)
class _Unordered:
    """A bitmap index in the form of an ordered one, which is asked for values only, not for ranges."""

    index: BitmapIndex

    @property
    def form(self) -> KeyForm:
        return self.index.form

    @property
    def present(self) -> RowSet:
        return self.index.present

    @property
    def nulls(self) -> RowSet:
        return self.index.nulls

    def equal(self, key: Key) -> RowSet:
        return self.index.rows_of_key(key)

    def below(self, key: Key) -> RowSet:
        return self.present

    def may_hold(self, low: Key | None, high: Key | None) -> bool:
        return True


@dataclass(frozen=True)
class _Rows:
    """An index that knows the rows of each value.

    Attributes:
        index: the index.
        has_ranges: whether it knows the rows of ranges too.
    """

    index: _Ordered
    has_ranges: bool

    def possible(self, leaf: Leaf) -> Possible:
        index = self.index
        match leaf:
            case IsNull():
                return Possible(index.nulls, index.present)
            case IsNotNull():
                return Possible(index.present, index.nulls)
            case UnlessNull(_, result):
                return Possible(index.present, RowSet()) if result else Possible(RowSet(), index.present)
            case Compare(_, Op.NULL_SAFE_EQ, value):
                found = self._compared(Op.EQ, value)
                return Possible(found.true, union((found.false, index.nulls)))
            case Compare(_, op, value):
                return self._compared(op, value)
            case In(_, values, has_null):
                each = [self._compared(Op.EQ, value) for value in values]
                false = RowSet() if has_null else common((index.present, *(p.false for p in each)))
                return Possible(union(p.true for p in each), false)
            case StartsWith(_, text):
                return self._prefixed(text)
            case Like(_, (str(text), *_)):
                return Possible(self._prefixed(text).true, index.present)
        return Possible(index.present, index.present)

    def has_none(self, leaves: Sequence[Compare]) -> bool:
        """See ColumnIndex."""
        low: Key | None = None
        high: Key | None = None
        for leaf in leaves:
            span = self.index.form.span(leaf.value)
            if span is not None and leaf.op in _FROM:
                low = span.low if low is None else max(low, span.low)
            if span is not None and leaf.op in _UP_TO:
                high = span.high if high is None else min(high, span.high)
        return not self.index.may_hold(low, high)

    def _compared(self, op: Op, value: Value) -> Possible:
        index = self.index
        span = index.form.span(value)
        if span is None or (not self.has_ranges and op not in (Op.EQ, Op.NE)):
            return Possible(index.present, index.present)
        equal = union(index.equal(key) for key in {span.low, span.high}) or RowSet()
        if not self.has_ranges:
            other = index.present - equal if span.exact else index.present
            return Possible(equal, other) if op is Op.EQ else Possible(other, equal)
        less = index.below(span.low)
        more = index.present - less - equal
        if not span.exact:  # rows with this key may be less than the value, equal to it, or greater
            less, more = less | equal, more | equal
        match op:
            case Op.LT | Op.GE:
                found = Possible(less, equal | more)
            case Op.GT | Op.LE:
                found = Possible(more, less | equal)
            case _:
                found = Possible(equal, less | more)
        return Possible(found.false, found.true) if op in (Op.GE, Op.LE, Op.NE) else found

    def _prefixed(self, text: str) -> Possible:
        """The rows that begin with a text, and those that do not: UTF-8 has no byte 255."""
        present = self.index.present
        try:
            raw = text.encode("utf-8")
        except UnicodeEncodeError:
            return Possible(present, present)
        if not self.has_ranges or not raw or self.index.form.data_type.root not in STRINGS:
            return Possible(present, present)
        begin = self.index.below(raw[:-1] + bytes([raw[-1] + 1])) - self.index.below(raw)
        return Possible(begin, present - begin)


@dataclass(frozen=True)
class _Shifted:
    """An index of values that ORC stores in another form: timestamps of zones, old days, padded texts.

    What is read may differ from what the writer indexed, so a condition is used only if that makes no difference.
    """

    index: ColumnIndex
    data_type: DataType

    def has_none(self, leaves: Sequence[Compare]) -> bool:
        """See ColumnIndex."""
        return False

    def possible(self, leaf: Leaf) -> Possible:
        match leaf:
            case IsNull() | IsNotNull() | UnlessNull():
                return self.index.possible(leaf)
            case Compare(_, _, value) if self.data_type.root is Root.DATE and _is_shared_day(value):
                return self.index.possible(leaf)
            case In(_, values) if self.data_type.root is Root.DATE and all(map(_is_shared_day, values)):
                return self.index.possible(leaf)
        return ANY


def _is_shared_day(value: Value) -> bool:
    return isinstance(value, int) and value >= _SHARED_DAYS


_SHIFTED_BY_ORC = TIMESTAMPS | {Root.DATE, Root.CHAR}
_OPENERS: Mapping[str, Callable[[ByteReader, DataType], ColumnIndex]] = MappingProxyType(
    {
        BLOOM_FILTER: lambda reader, data_type: _Bloom(open_bloom(reader), data_type),
        BITMAP: lambda reader, data_type: _Rows(_Unordered(open_bitmap(reader, data_type)), has_ranges=False),
        BSI: lambda reader, data_type: _Rows(open_bsi(reader, data_type), has_ranges=True),
        RANGE_BITMAP: lambda reader, data_type: _Rows(open_range_bitmap(reader, data_type), has_ranges=True),
    }
)


def open_index(kind: str, reader: ByteReader, data_type: DataType, is_orc: bool) -> ColumnIndex | None:
    """An index of a column, which is read as far as conditions need it; None: this release cannot use it.

    Args:
        kind: such as "bitmap"; one that is not known is of a newer release.
        reader: of the index.
        data_type: of the column in the file.
        is_orc: whether the data file is ORC.

    Raises:
        CorruptFile: the head of the index is damaged.
    """
    opener = _OPENERS.get(kind)
    if opener is None:
        return None
    try:
        index = opener(reader, data_type)
    except UnsupportedFeature:  # such types are not indexed by the official system either; nothing is left out
        return None
    return _Shifted(index, data_type) if is_orc and data_type.root in _SHIFTED_BY_ORC else index
