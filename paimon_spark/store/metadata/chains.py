"""The partitions of chain tables: their order, and which of them make one that is not stored as a whole.

Java: ChainTableUtils, ChainPartitionProjector. A chain is a group of partitions with equal values of the first
partition columns; the other columns order them, and tell a time by ``partition.timestamp-pattern`` and ``-formatter``.
"""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any, TypeAlias

import pyarrow as pa

from paimon_spark.arrow.casts import cast_array
from paimon_spark.arrow.types import to_internal
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.java.time_pattern import TimePattern, time_pattern
from paimon_spark.format.options.upkeep_settings import PartitionSettings
from paimon_spark.format.paths import partition_text
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root
from paimon_spark.store.metadata.table import Table

Values: TypeAlias = tuple[Any, ...]
Ordered: TypeAlias = Mapping[Values, Sequence[tuple[Values, bytes]]]
"""Partitions by what those of a chain share; each with its place in the chain, in ascending order."""
_TEXT = DataType(Root.VARCHAR, length=MAX_LENGTH)
_EPOCH = dt.datetime(1970, 1, 1)
_COLUMN = re.compile(r"\$(\w+)", re.ASCII)


@dataclass(frozen=True)
class Chains:
    """The partitions of a chain table.

    Attributes:
        table: one of its branches.
    """

    table: Table

    @cached_property
    def _fields(self) -> tuple[DataField, ...]:
        return self.table.schema.partition_fields

    @cached_property
    def _group_count(self) -> int:
        keys = self.table.settings.chain_partition_keys
        return len(self._fields) - (len(keys) if keys else len(self._fields))

    @property
    def chain_fields(self) -> tuple[DataField, ...]:
        """The columns that order the partitions of a group."""
        return self._fields[self._group_count :]

    def group(self, row: bytes) -> Values:
        """The values that the partitions of one chain share.

        Args:
            row: of a partition, arity-prefixed.

        Raises:
            UnsupportedFeature: a value is NULL; Java finds no rows of such a partition.
        """
        return self._values(row)[: self._group_count]

    def place(self, row: bytes) -> Values:
        """The values that order the partitions of a chain; arguments and errors as of ``group``."""
        return self._values(row)[self._group_count :]

    def _values(self, row: bytes) -> Values:
        values = tuple(decode_arity_row(row, [field.type for field in self._fields]))
        if any(value is None for value in values):
            raise UnsupportedFeature(
                f"reading the chain table {self.table.location}: one of its partitions has NULL as a value, and has no "
                "place in a chain; drop that partition, or read the branches one by one"
            )
        return values

    def ordered(self, rows: Iterable[bytes]) -> Ordered:
        """Partitions by the chain they are in, each with its place, in their order; errors as of ``group``."""
        found: dict[Values, list[tuple[Values, bytes]]] = {}
        for row in rows:
            found.setdefault(self.group(row), []).append((self.place(row), row))
        return {group: sorted(places) for group, places in found.items()}

    def anchor(self, row: bytes, whole: Ordered) -> bytes | None:
        """The last whole partition of its chain before a partition; None: there is none."""
        places = whole.get(self.group(row), [])
        before = bisect_left(places, self.place(row), key=itemgetter(0))
        return places[before - 1][1] if before else None

    def changes(self, begin: bytes | None, end: bytes, known: Ordered) -> list[bytes]:
        """The partitions with changes that make a partition, of those that are known, in their order.

        Args:
            begin: the whole partition that they come after; None: from the first one on.
            end: the partition that they make.
            known: of the branch with changes.

        Raises:
            DataError: the values of a partition tell no time by the options ``partition.timestamp-*``.
        """
        places = known.get(self.group(end), [])
        if begin is None:
            return [row for _, row in places[: bisect_right(places, self.place(end), key=itemgetter(0))]]
        wanted = set(self._between(self.place(begin), self.place(end)))
        return [row for place, row in places if place in wanted]

    def _between(self, begin: Values, end: Values) -> Iterator[Values]:
        """The places after one up to another, at each midnight or, with several columns, at each hour.

        A partition at another time of the day is none of them, as in Java (ChainTableUtils.getDeltaPartitions).
        """
        first, last = self._time(begin), self._time(end)
        if len(self.chain_fields) == 1:
            times = list(_midnights(first, last))
            yield from self._places([time for time in times if time > first])
            return
        days = (first.date() + dt.timedelta(days=day) for day in range(_days_until(first, last)))
        times = [dt.datetime.combine(day, dt.time(hour)) for day in days for hour in range(24)]
        yield from (place for place in self._places(times) if begin < place <= end)

    def nanos(self, row: bytes) -> int:
        """The local time of a partition, in nanoseconds since 1970-01-01 00:00.

        Raises:
            DataError: its values tell no time by the options ``partition.timestamp-*``.
            UnsupportedFeature: as of ``group``.
        """
        return self._nanos(self.place(row))

    def _time(self, place: Values) -> dt.datetime:
        return _EPOCH + dt.timedelta(microseconds=self._nanos(place) // 1000)

    def _nanos(self, place: Values) -> int:
        try:
            return self._times.parse(self._time_text(place))
        except ValueError as error:
            raise DataError(
                f"reading the chain table {self.table.location}: the partition {place} tells no time by the options "
                f"'{PartitionSettings.timestamp_pattern.key}' and '{PartitionSettings.timestamp_formatter.key}': "
                f"{error}"
            ) from None

    def _time_text(self, place: Values) -> str:
        text, legacy = self._pattern, self.table.settings.partitions.legacy_name
        for value, field in zip(place, self.chain_fields, strict=True):
            if f"${field.name}" in text:
                text = text.replace(f"${field.name}", partition_text(value, field.type, legacy))
        return text

    def _places(self, times: Sequence[dt.datetime]) -> list[Values]:
        """The values of the partitions at some times, which need not be there."""
        texts = [self._texts(time) for time in times]
        columns = []
        for number, field in enumerate(self.chain_fields):
            array = pa.array([text[number] for text in texts], pa.string())
            columns.append([to_internal(value) for value in cast_array(array, _TEXT, field.type)])
        return list(zip(*columns, strict=True))

    def _texts(self, time: dt.datetime) -> tuple[str, ...]:
        """The texts of the columns at a time, as the pattern divides the formatted time between them."""
        found = self._division.fullmatch(self._times.format(time))
        if found is None:
            raise DataError(
                f"reading the chain table {self.table.location}: '{PartitionSettings.timestamp_pattern.key}' does not "
                f"divide the time {self._times.format(time)} into partition columns"
            )
        by_name = dict(zip(_COLUMN.findall(self._pattern), found.groups(), strict=True))
        return tuple(by_name.get(field.name, "") for field in self.chain_fields)

    @cached_property
    def _division(self) -> re.Pattern[str]:
        parts = _COLUMN.split(self._pattern)  # text, name, text, name, ..., text
        return re.compile("(.+)".join(re.escape(text) for text in parts[::2]))

    @property
    def _pattern(self) -> str:
        return self.table.settings.partitions.timestamp_pattern or ""

    @cached_property
    def _times(self) -> TimePattern:
        option = PartitionSettings.timestamp_formatter
        return time_pattern(self.table.settings.partitions.timestamp_formatter or "", option.key)


def _midnights(first: dt.datetime, last: dt.datetime) -> Iterator[dt.datetime]:
    """The first time, then each midnight after it up to the last."""
    time = first
    while time <= last:
        yield time
        time = dt.datetime.combine(time.date() + dt.timedelta(days=1), dt.time())


def _days_until(first: dt.datetime, last: dt.datetime) -> int:
    """How many days begin with the first time and the midnights after it, up to the last time."""
    return sum(1 for _ in _midnights(first, last))
