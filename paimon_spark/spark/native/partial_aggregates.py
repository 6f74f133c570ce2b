"""Partial aggregates of rows, which tasks make of Arrow batches and Spark finishes.

A row is a partial aggregate too: of itself. So where a sum might not fit its type, and where there are nearly as many
groups as rows, rows stay as they are, and Spark decides what an overflow means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.spark.native.decimal_terms import DecimalTerm
from paimon_spark.sql.queries.aggregate_calls import COUNT, COUNT_ROWS, MAX, MIN, SUM

HELD_ROWS = 100_000
"""More partial aggregates than that are not held: those of too many groups are given to Spark as they come."""
_LARGEST_DECIMAL = 38
_MERGED_BY = {COUNT_ROWS: "sum", COUNT: "sum", SUM: "sum", MIN: "min", MAX: "max"}


@dataclass(frozen=True)
class PartialAggregates:
    """What is made of rows.

    Attributes:
        groups: the names of the columns that make groups; NULL is a value of its own.
        functions: each with the name of its column, or with a term of columns; of COUNT_ROWS the name is empty.
        schema: of the partial aggregates: the groups, then the functions. A sum has the type into which Spark casts it.
    """

    groups: tuple[str, ...]
    functions: tuple[tuple[str, str | DecimalTerm], ...]
    schema: pa.Schema

    def of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Partial aggregates of all rows; without groups there is at least one, also of no rows."""
        held: list[pa.Table] = []
        is_grouped, made, rows = True, False, 0
        for batch in (each for each in batches if each.num_rows):
            table = pa.Table.from_batches([self._of_rows(batch)])
            merged = self._merged(table) if is_grouped else None
            if merged is None:
                made = True
                yield from table.to_batches()
                continue
            is_grouped = 2 * merged.num_rows <= max(table.num_rows, HELD_ROWS // 100)
            held.append(merged)
            rows += merged.num_rows
            if rows > HELD_ROWS:
                held, given = self._reduced(held)
                rows = sum(each.num_rows for each in held)
                for each in given:
                    yield from each.to_batches()
        if held or not (made or self.groups):
            whole = pa.concat_tables(held) if held else self._nothing()
            yield from (self._merged(whole) or whole).to_batches()

    def _reduced(self, held: list[pa.Table]) -> tuple[list[pa.Table], list[pa.Table]]:
        """What is still held, and what is given to Spark."""
        merged = self._merged(pa.concat_tables(held))
        if merged is None:
            return [], held
        return ([merged], []) if 2 * merged.num_rows <= HELD_ROWS else ([], [merged])

    def _of_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Each row as partial aggregate of itself."""
        columns = [batch.column(name) for name in self.groups]
        for (function, of), field in zip(self.functions, self._results, strict=True):
            if function == COUNT_ROWS:
                columns.append(pa.array(np.ones(batch.num_rows, np.int64)))
            elif function == COUNT:
                columns.append(pc.is_valid(batch.column(of)).cast(field.type))
            else:
                values = of.values(batch) if isinstance(of, DecimalTerm) else batch.column(of)
                columns.append(values.cast(field.type))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _merged(self, table: pa.Table) -> pa.Table | None:
        """One row for each group; None: a sum does not fit its type, or might not."""
        numbers = [f"{number}" for number in range(len(self.schema))]
        table, keys = table.rename_columns(numbers), numbers[: len(self.groups)]
        wider = []
        for number, (function, _), field in zip(numbers[len(keys) :], self.functions, self._results, strict=True):
            if function != SUM:
                continue
            if pa.types.is_decimal(field.type):
                wider.append(number)
                wide = table.column(number).cast(pa.decimal128(_LARGEST_DECIMAL, field.type.scale))
                table = table.set_column(int(number), number, wide)
            values = table.column(number)
            if not _fit(values, _limit(values.type) // max(len(values), 1)):
                return None
        wanted = [(n, _MERGED_BY[f]) for n, (f, _) in zip(numbers[len(keys) :], self.functions, strict=True)]
        found = table.group_by(keys, use_threads=False).aggregate(wanted)
        columns = [found.column(key) for key in keys] + [found.column(f"{n}_{by}") for n, by in wanted]
        for number in wider:
            if not _fit(columns[int(number)], _limit(self.schema.field(int(number)).type)):
                return None
        return pa.table([c.cast(f.type) for c, f in zip(columns, self.schema, strict=True)], schema=self.schema)

    def _nothing(self) -> pa.Table:
        """The partial aggregates of no rows, without groups."""
        zero: Mapping[str, int] = {COUNT_ROWS: 0, COUNT: 0}
        row = [pa.array([zero.get(f)], field.type) for (f, _), field in zip(self.functions, self._results, strict=True)]
        return pa.table(row, schema=self.schema)

    @property
    def _results(self) -> Sequence[pa.Field]:
        return list(self.schema)[len(self.groups) :]


def _limit(kind: pa.DataType) -> int:
    """Values of a type are less than this."""
    return int(10 ** (kind.precision - kind.scale)) if pa.types.is_decimal(kind) else 2**63


def _fit(values: pa.ChunkedArray, limit: int) -> bool:
    """True if all values are less than the limit, and greater than it with a minus."""
    ends = pc.min_max(values).as_py()
    return ends["min"] is None or (-limit < ends["min"] and ends["max"] < limit)
