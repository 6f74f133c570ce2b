"""Chooses the rows of a data file that may satisfy a condition: row groups, then pages, then rows.

Statistics of row groups and of pages leave out what cannot satisfy it. Of the rest the columns of the condition are
read first, if other columns are wanted, and these only where a row satisfies it (late materialisation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from paimon_spark.arrow.formats.file_access import RowGroup, RowRange, clipped
from paimon_spark.arrow.parquet.page_file import covering
from paimon_spark.arrow.parquet.page_index import RowPieces
from paimon_spark.arrow.predicates.evaluate import evaluate
from paimon_spark.arrow.predicates.predicate import Predicate, columns_of
from paimon_spark.store.read.open_file import TRUE, OpenFile, Positions, within

NEAR_ROWS = 8192
"""Rows with less than so many between them are read as one range: each range becomes a batch of its own."""
_PROBES = 4  # row groups or batches looked at before it is decided whether a condition is selective
_PROBE_ROWS = 1 << 16  # of such a batch


def rows_to_read(file: OpenFile, selected: Positions | None) -> Mapping[int, Sequence[RowRange]]:
    """The rows of each row group that may satisfy the condition of the request; groups without such a row are left out.

    Args:
        file: the file, with the request.
        selected: ascending row numbers, of which alone rows are wanted; None: of all.

    Raises:
        CorruptFile: the footer or a page index is damaged.
    """
    predicate = file.request.prunes
    left: dict[int, Sequence[RowRange]] = {}
    for number, group in enumerate(file.reader.row_groups):
        rows = [group.rows] if selected is None else near(within(selected, *group.rows) + group.first_row)
        if rows and file.request.prunes_parts != TRUE and not file.parts_may_match(number):
            continue
        if rows and predicate != TRUE:
            rows = clip_to(rows, _by_statistics(file, number)) if file.may_match(predicate, number) else []
        if rows:
            left[number] = rows
    columns = columns_of(predicate)
    if not columns or not file.request.probes or selected is not None or len(columns) >= len(file.request.fields):
        return left
    return _probed(file.narrowed(columns), predicate, left)


def near(rows: npt.NDArray[np.int64]) -> list[RowRange]:
    """Ranges that have all of some ascending rows, and those between rows that are near to each other."""
    if not len(rows):
        return []
    last = np.flatnonzero(np.diff(rows) > NEAR_ROWS)
    starts, ends = rows[np.append(0, last + 1)], rows[np.append(last, len(rows) - 1)] + 1
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def clip_to(rows: Sequence[RowRange], others: Sequence[RowRange]) -> list[RowRange]:
    """The rows that are in both of two lists of ascending ranges."""
    return [part for span in rows for part in clipped(others, span)]


def _by_statistics(file: OpenFile, number: int) -> list[RowRange]:
    """The rows of a row group whose pages may have one that satisfies the condition."""
    group = file.reader.row_groups[number]
    predicate = file.request.prunes
    pieces = _pieces(file, group, predicate)
    if pieces is None:
        return [group.rows]
    found: list[RowRange] = []
    waiting = [(0, len(pieces))]
    while waiting:  # halves what may match, so that few pieces are looked at where few match
        first, end = waiting.pop()
        start, stop = pieces.cuts[first], pieces.cuts[end]
        if not file.some_may_match(predicate, partial(pieces.stats, first, end), stop - start):
            continue
        if end - first > 1:
            middle = (first + end) // 2
            waiting += [(middle, end), (first, middle)]
        elif found and found[-1][1] == group.first_row + start:
            found[-1] = (found[-1][0], group.first_row + stop)
        else:
            found.append((group.first_row + start, group.first_row + stop))
    return found


def _pieces(file: OpenFile, group: RowGroup, predicate: Predicate) -> RowPieces | None:
    names = [name for name in file.stored_columns(predicate).values() if name is not None]
    return group.pages(names) if names else None


@dataclass
class _Looked:
    """How many rows were looked at, and how many of them must be read."""

    times: int = 0
    rows: int = 0
    kept: int = 0

    def add(self, rows: int, kept: int) -> None:
        self.times += 1
        self.rows += rows
        self.kept += kept

    @property
    def is_in_vain(self) -> bool:
        """True if most rows must be read, so that it is not worth it to look at more."""
        return self.times >= _PROBES and self.kept * 2 > self.rows


def _probed(
    narrow: OpenFile, predicate: Predicate, left: Mapping[int, Sequence[RowRange]]
) -> Mapping[int, Sequence[RowRange]]:
    """The rows that satisfy the condition, by reading its columns; stops if these are most."""
    looked = _Looked()
    found: dict[int, Sequence[RowRange]] = {}
    for number, rows in left.items():
        hits = rows if looked.is_in_vain else _hits(narrow, predicate, number, rows, looked)
        if hits:
            found[number] = hits
    return found


def _hits(
    narrow: OpenFile, predicate: Predicate, number: int, rows: Sequence[RowRange], looked: _Looked
) -> Sequence[RowRange]:
    """Ranges with the rows of a row group that satisfy the condition."""
    group = narrow.reader.row_groups[number]
    is_whole = list(rows) == [group.rows]
    batches = narrow.read(_PROBE_ROWS, [number], None if is_whole else rows)
    pieces = _pieces(narrow, group, predicate)
    if pieces is None:  # then all of the group is read for a single row
        has_one = any(evaluate(predicate, batch).true_count for _, batch in batches)
        looked.add(group.row_count, group.row_count if has_one else 0)
        return rows if has_one else []
    pages = np.array(pieces.cuts) + group.first_row
    hits: list[RowRange] = []
    for first, batch in batches:
        true = evaluate(predicate, batch).fill_null(False).to_numpy(zero_copy_only=False)
        some = near(np.flatnonzero(true) + first)
        hits += some
        looked.add(batch.num_rows, sum(end - start for start, end in covering([pages], some)))
        if looked.is_in_vain:
            return hits + clipped(rows, (first + batch.num_rows, group.rows[1]))
    return hits
