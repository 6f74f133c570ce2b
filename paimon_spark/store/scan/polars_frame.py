"""A scan as a lazy frame of Polars, which pushes its columns, conditions and limits into the scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as pads

from paimon_spark.store.read.arrow_rows import imported
from paimon_spark.store.scan.dataset import EmptyDataset, narrow

if TYPE_CHECKING:
    import polars

    from paimon_spark.store.scan.table_scan import Scan


def lazy_frame(scan: Scan) -> polars.LazyFrame:
    """A LazyFrame of the rows of a scan. Each ``collect`` reads the newest state, batch by batch.

    Raises:
        UnsupportedFeature: Polars is not installed.
    """
    pl, plugins = _module("polars"), _module("polars.io.plugins")
    schema = pl.DataFrame(scan.arrow_schema.empty_table()).schema
    found: polars.LazyFrame = plugins.register_io_source(partial(_frames, scan), schema=schema)
    return found


def _frames(
    scan: Scan, with_columns: Sequence[str] | None, predicate: Any, n_rows: int | None, batch_size: int | None
) -> Iterator[polars.DataFrame]:
    """The rows that Polars asks for (polars: ``register_io_source``).

    Args:
        with_columns: the columns of the result; None: all.
        predicate: an expression of Polars over columns of the scan, or None.
        n_rows: the most rows, counted before the condition; None: all.
        batch_size: a hint, which is not followed: batches are those of the files.
    """
    pl = _module("polars")
    named = () if predicate is None else predicate.meta.root_names()
    needed = None if with_columns is None else {*with_columns, *named}
    # Rows that a condition would leave out count for the limit, so that one of both is pushed down.
    condition = _arrow_condition(scan.arrow_schema, predicate) if n_rows is None and predicate is not None else None
    narrowed = narrow(narrow(scan, None, condition), needed, None)
    missing = n_rows
    for batch in () if missing == 0 else narrowed.to_batches():
        frame = pl.DataFrame(batch)
        if missing is not None:
            frame = frame.head(missing)
            missing -= frame.height
        if predicate is not None:
            frame = frame.filter(predicate)
        yield frame if with_columns is None else frame.select(with_columns)
        if missing == 0:
            return


def _arrow_condition(schema: pa.Schema, predicate: Any) -> Any:
    """The part of a condition of Polars that it hands to datasets of pyarrow, as an expression of ``pyarrow.compute``.

    Polars has no call that translates an expression. It does so where it reads a dataset, so it reads one without rows.

    Returns:
        None: there is no such part.
    """
    asked = _Asked(schema)
    _module("polars").scan_pyarrow_dataset(asked).filter(predicate).collect()
    return asked.condition


def _module(name: str) -> Any:
    return imported(name, "to_polars_lazy()", "Polars")


class _Asked(EmptyDataset):
    """A dataset without rows, which keeps the condition of the read."""

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema)
        self.condition: Any = None

    def scanner(self, filter: Any = None, columns: Any = None, **settings: Any) -> pads.Scanner:
        self.condition = filter
        return pads.Scanner.from_batches(self.schema.empty_table().to_reader(), columns=columns)
