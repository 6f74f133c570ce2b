"""A scan as a dataset of pyarrow, which DuckDB, DataFusion and Polars hand their columns and conditions to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from paimon_spark.arrow.conform import batch_of
from paimon_spark.arrow.predicates.arrow_conditions import Node, implied_condition, names_in, parse_expression
from paimon_spark.arrow.predicates.predicate import TRUE
from paimon_spark.errors import UnsupportedMethod
from paimon_spark.store.read.arrow_rows import reader_of
from paimon_spark.store.read.splits import ReadUnit

if TYPE_CHECKING:
    from paimon_spark.store.scan.table_scan import Scan

_NO_FILE = b"a Paimon scan is no file of parquet"
_REFUSED: Mapping[str, str] = {
    "filter": "scanner(filter=...) filters it, or the scan: table.scan(where=...)",
    "sort_by": "to_table().sort_by(...) sorts its rows",
    "join": "to_table().join(...) joins its rows, or DuckDB",
    "join_asof": "to_table().join_asof(...) joins its rows, or DuckDB",
    "replace_schema": "table.scan(columns=[...]) chooses its columns",
    "files": "table.system_table('files') lists the files of a table",
    "filesystem": "table.file_io is the store of a table",
    "format": "files of a table may be of several formats",
    "partitioning": "table.schema.partition_keys are the partition columns",
    "partition_expression": "table.schema.partition_keys are the partition columns",
}


class EmptyDataset(pads.FileSystemDataset):  # type: ignore[misc]  # pyarrow has no types
    """A dataset of pyarrow whose rows are those of ``scanner`` in a subclass.

    To pyarrow itself it is one file that is damaged, so that a call which passes by ``scanner`` fails, and has not
    other rows.
    """

    def __init__(self, schema: pa.Schema) -> None:
        file_format = pads.ParquetFileFormat()
        nothing = file_format.make_fragment(pa.py_buffer(_NO_FILE))
        super().__init__([nothing], schema, file_format)
        self._schema = schema

    @property
    def schema(self) -> pa.Schema:
        """The exact schema of the rows."""
        return self._schema


class ScanDataset(EmptyDataset):
    """The rows of a scan, with the calls of a dataset of pyarrow: ``scanner``, ``to_table``, ``to_batches``, ``head``,
    ``count_rows``, ``get_fragments``. Each call reads the newest state. Picklable.

    Columns and conditions that a call gives are pushed down: files and row groups that have no such row stay unread.
    The rows are filtered by pyarrow, with its rules for NaN and NULL.
    """

    def __init__(self, scan: Scan) -> None:
        super().__init__(scan.arrow_schema)
        self._scan = scan

    def __reduce__(self) -> tuple[type[ScanDataset], tuple[Scan]]:
        return ScanDataset, (self._scan,)

    def __repr__(self) -> str:
        return f"<dataset of {self._scan!r}>"

    def scanner(
        self,
        columns: Sequence[str] | Mapping[str, pc.Expression] | None = None,
        filter: pc.Expression | None = None,
        **hints: Any,
    ) -> ScanRead:
        """A read of some columns of the rows for which an expression is true.

        Args:
            columns: names, or expressions by the names of the result; None: all.
            filter: an expression over the columns of the dataset.
            hints: such as ``batch_size``, which are not followed: batches are those of the files.
        """
        narrowed = narrow(self._scan, columns, filter)
        return _read(narrowed, narrowed.to_batches, columns, filter)

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[ScanFragment]:
        """The tasks of the read, for libraries that read them in parallel.

        Args:
            filter: what leaves out files; the rows of a fragment are not filtered by it.
        """
        narrowed = narrow(self._scan, None, filter)
        return iter(narrowed.fragments())


def _refusal(name: str, advice: str) -> property:
    def refuse(self: ScanDataset) -> NoReturn:
        raise UnsupportedMethod(f"the dataset of a scan has no '{name}': {advice}")

    return property(refuse)


for _name, _advice in _REFUSED.items():
    setattr(ScanDataset, _name, _refusal(_name, _advice))


@dataclass(frozen=True)
class ScanFragment:
    """A task of a scan: some splits, which one thread reads, here or in another process; picklable."""

    scan: Scan
    units: tuple[ReadUnit, ...]

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in bounded memory; errors as of ``Scan.to_batches``."""
        reader = self.scan.reader()
        return (batch for unit in self.units for batch in reader.read(unit))

    def to_arrow(self) -> pa.Table:
        """All rows at once."""
        return pa.Table.from_batches(self.to_batches(), self.scan.arrow_schema)

    @property
    def physical_schema(self) -> pa.Schema:
        return self.scan.arrow_schema

    def scanner(
        self,
        schema: pa.Schema | None = None,
        columns: Sequence[str] | Mapping[str, pc.Expression] | None = None,
        filter: pc.Expression | None = None,
        **hints: Any,
    ) -> ScanRead:
        """As of the dataset; ``schema`` is its own and says nothing new."""
        narrowed = narrow(self.scan, columns, filter)
        return _read(narrowed, ScanFragment(narrowed, self.units).to_batches, columns, filter)


@dataclass(frozen=True, repr=False)
class ScanRead:
    """One read, with the calls of a scanner of pyarrow. Unlike that, it reads no further than it is asked to.

    Attributes:
        dataset_schema, projected_schema: of the rows before and after the choice of columns.
    """

    dataset_schema: pa.Schema
    projected_schema: pa.Schema
    _batches: Callable[[], Iterator[pa.RecordBatch]]

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in bounded memory."""
        return self._batches()

    def to_reader(self) -> pa.RecordBatchReader:
        return reader_of(self.projected_schema, self._batches())

    def to_table(self) -> pa.Table:
        return self.to_reader().read_all()

    def count_rows(self) -> int:
        return sum(batch.num_rows for batch in self._batches())

    def head(self, num_rows: int) -> pa.Table:
        """The first rows; no further file is opened when there are enough."""
        found, missing = list[pa.RecordBatch](), num_rows
        for batch in self._batches() if num_rows else ():
            found.append(batch.slice(0, missing))
            missing -= found[-1].num_rows
            if not missing:
                break
        return pa.Table.from_batches(found, self.projected_schema)

    def take(self, indices: Any) -> pa.Table:
        return self.to_table().take(indices)


def _read(
    scan: Scan,
    batches: Callable[[], Iterator[pa.RecordBatch]],
    columns: Sequence[str] | Mapping[str, pc.Expression] | None,
    condition: pc.Expression | None,
) -> ScanRead:
    """A read of a scan that has been narrowed by the columns and the condition, as a call of pyarrow gave them."""
    if isinstance(columns, Mapping):
        # Only pyarrow's own scanner knows the types of expressions. It reads ahead.
        def scanner(rows: pa.RecordBatchReader) -> pads.Scanner:
            return pads.Scanner.from_batches(rows, columns=columns, filter=condition)

        nothing = pa.RecordBatchReader.from_batches(scan.arrow_schema, iter(()))
        schema = scanner(nothing).projected_schema
        return ScanRead(
            scan.arrow_schema, schema, lambda: scanner(reader_of(scan.arrow_schema, batches())).to_batches()
        )
    names = scan.arrow_schema.names if columns is None else list(columns)
    schema = pa.schema([scan.arrow_schema.field(name) for name in names])
    return ScanRead(scan.arrow_schema, schema, lambda: _chosen(batches(), schema, condition))


def _chosen(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, condition: pc.Expression | None
) -> Iterator[pa.RecordBatch]:
    """The columns of a schema, of the rows for which a condition is true."""
    for batch in batches:
        kept = [batch] if condition is None else pa.Table.from_batches([batch]).filter(condition).to_batches()
        for rows in kept:
            yield batch_of([rows.column(name) for name in schema.names], schema, rows.num_rows)


def narrow(scan: Scan, columns: Collection[str] | Mapping[str, pc.Expression] | None, condition: Any) -> Scan:
    """The scan with the columns that are needed, of files that may have a row for which the condition is true.

    Args:
        columns: the names wanted, or expressions by the names of the result; None: all.
        condition: an expression of ``pyarrow.compute``, or None.
    """
    looked_at: list[Node | None] = []
    if condition is not None:
        node = parse_expression(condition)
        looked_at.append(node)
        own = {field.name for field in scan.fields}
        stored = tuple(field for field in scan.table.schema.fields if field.name in own)
        scan = scan.narrowed(predicate=TRUE if node is None else implied_condition(node, stored))
    if isinstance(columns, Mapping):
        looked_at += map(parse_expression, columns.values())
    if columns is None or None in looked_at:
        return scan
    wanted = frozenset[str]() if isinstance(columns, Mapping) else frozenset(columns)
    return scan.narrowed(wanted.union(*(names_in(node) for node in looked_at if node is not None)))
