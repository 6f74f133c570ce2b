"""The data files of many manifest entries as a sequence that makes its objects when they are asked for.

A plan of a million files needs their sizes to divide them into splits, but no objects: those take a second to make, and
the collector of cyclic garbage another one to traverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import overload

import numpy as np

from paimon_spark.format.avro.lanes import Ints
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.manifests.columns import ManifestColumns

LEAST_FILES = 1000
"""Fewer files are made at once, in some milliseconds."""
_BLOCK = 4096
"""Files that are made together: making any takes a quarter of a millisecond, and each of them a microsecond."""


class EntryFiles(Sequence[DataFileMeta]):
    """The data files of entries of a table without primary key, without key ranges, in an order.

    It equals the tuple of the same files and travels to other processes as one. Slices of it share the objects.
    """

    __slots__ = ("_end", "_start", "source")

    def __init__(self, source: EntrySource, start: int, end: int) -> None:
        self.source, self._start, self._end = source, start, end

    @property
    def place(self) -> slice:
        """Which of the entries of the source they are."""
        return slice(self._start, self._end)

    @property
    def sizes(self) -> list[int]:
        """The bytes of each file."""
        sizes: list[int] = self.source.sizes[self._start : self._end].tolist()
        return sizes

    @property
    def row_counts(self) -> list[int]:
        """The rows of each file."""
        counts: list[int] = self.source.row_counts[self._start : self._end].tolist()
        return counts

    def __len__(self) -> int:
        return self._end - self._start

    def __iter__(self) -> Iterator[DataFileMeta]:
        return chain.from_iterable(self._pieces())

    def _pieces(self) -> Iterator[list[DataFileMeta]]:
        for number in range(self._start // _BLOCK, -(-self._end // _BLOCK)):
            first = number * _BLOCK
            yield self.source.block(number)[max(self._start - first, 0) : self._end - first]

    @overload
    def __getitem__(self, index: int) -> DataFileMeta: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[DataFileMeta]: ...
    def __getitem__(self, index: int | slice) -> DataFileMeta | Sequence[DataFileMeta]:
        if isinstance(index, int):
            number, place = divmod(range(self._start, self._end)[index], _BLOCK)
            return self.source.block(number)[place]
        start, end, step = index.indices(len(self))
        if step != 1:
            return tuple(self)[index]
        return EntryFiles(self.source, self._start + start, self._start + max(start, end))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (tuple, EntryFiles)):
            return NotImplemented
        return len(self) == len(other) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[tuple[DataFileMeta, ...]], tuple[list[DataFileMeta]]]:
        return tuple, (list(self),)

    def __repr__(self) -> str:
        return repr(tuple(self))


class EntrySource:
    """The entries of a plan, and the objects made of them so far.

    Attributes:
        columns: has them.
        chosen: their numbers, in the order of the files.
        sizes, row_counts: of the files.
    """

    def __init__(self, columns: ManifestColumns, chosen: Ints, stats: bool) -> None:
        self.columns, self.chosen = columns, chosen
        self.sizes, self.row_counts = columns.file_size[chosen], columns.row_count[chosen]
        self._stats = stats
        self._blocks: list[list[DataFileMeta] | None] = [None] * -(-len(chosen) // _BLOCK)

    def block(self, number: int) -> list[DataFileMeta]:
        found = self._blocks[number]
        if found is None:
            chosen = self.chosen[number * _BLOCK : (number + 1) * _BLOCK]
            found = self._blocks[number] = self.columns.data_files(chosen, stats=self._stats, keys=False)
        return found


def find_entry_files(columns: ManifestColumns, chosen: Ints, stats: bool = False) -> EntryFiles | None:
    """The files of entries of a table without primary key, in this order, without key ranges.

    Args:
        columns: has the entries.
        chosen: their numbers.
        stats: False leaves the statistics empty.

    Returns:

        None, if ``ManifestColumns.data_files`` has to make them at once: they are few, or few of those that the columns
        hold in memory, or one of them has what it has to check, or to find damaged: an external path, the name of
        another file, names of columns, or a file name that is not plain.
    """
    if len(chosen) < LEAST_FILES or 2 * len(chosen) < len(columns) or not columns.has_plain_names:
        return None
    if len(columns.with_extra_files()):
        return None
    rare = ("external_path", "embedded_index", "write_cols", "write_cols_sequences")
    if any(np.count_nonzero(columns.attribute(name).valid) for name in rare):
        return None
    return EntryFiles(EntrySource(columns, chosen, stats), 0, len(chosen))
