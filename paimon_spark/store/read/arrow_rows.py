"""Rows that other libraries take as they are: DuckDB, Polars, pandas and pyarrow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from functools import partial
from importlib import import_module
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import pyarrow as pa

from paimon_spark.arguments.checks import checked, needs_no_trace, shortened
from paimon_spark.errors import OptionError, UnsupportedFeature, UnsupportedMethod
from paimon_spark.format.options.foreign_names import refuse_name
from paimon_spark.format.options.other_systems import ARGUMENT_ADVICE, SCAN_ADVICE

if TYPE_CHECKING:
    import pandas as pd
    import polars


class ArrowRows(ABC):
    """A read of rows. It has Arrow's C stream protocol, so that ``pa.table(scan)``, ``duckdb.sql("FROM scan")`` and
    ``polars.DataFrame(scan)`` read it batch by batch.
    """

    _advice: ClassVar = ARGUMENT_ADVICE

    if not TYPE_CHECKING:  # a checker of types shall go on to see that the name is not there

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):  # as pickle asks for
                raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'", name=name, obj=self)
            refuse_name(type(self), name, self, SCAN_ADVICE)

        def __len__(self) -> NoReturn:
            raise UnsupportedMethod(f"'{type(self).__name__}' has no len(): count() is the number of rows")

        def __bool__(self) -> bool:
            return True  # without a look at the length

        def __iter__(self) -> NoReturn:
            raise UnsupportedMethod(
                f"'{type(self).__name__}' is no iterator: to_pandas() is all rows as a pandas DataFrame, "
                "to_arrow().to_pylist() each as a dict, and to_batches() gives them batch by batch"
            )

    @property
    @abstractmethod
    def arrow_schema(self) -> pa.Schema:
        """The exact schema of every batch."""

    @abstractmethod
    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as batches of arrow_schema."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """All rows at once."""

    def to_pandas(self) -> pd.DataFrame:
        """All rows at once, as pyarrow makes them a pandas DataFrame, but for whole numbers with NULLs.

        Those pyarrow makes floats, which changes numbers above 2**53. Here such a column has a type of pandas that has
        NULLs, such as Int64; in lists, structs and maps they are numbers of Python and None.

        Raises:
            UnsupportedFeature: a date or time is outside of the years that Python has.
        """
        rows = self.to_arrow()
        try:
            frame = rows.to_pandas(integer_object_nulls=True)
        except (ValueError, OverflowError) as error:
            if isinstance(error, pa.ArrowException):
                raise
            raise UnsupportedFeature(
                f"to_pandas(): {error}; Python and pandas have the years 1 to 9999, and to_arrow() reads all rows"
            ) from None
        for name, column in zip(rows.column_names, rows.columns, strict=True):
            if pa.types.is_integer(column.type) and column.null_count:
                frame[name] = frame[name].astype(str(column.type).capitalize())
        return frame

    def to_polars(self) -> polars.DataFrame:
        """All rows at once, as a DataFrame of Polars; ``Scan.to_polars_lazy`` reads only what a query needs.

        Raises:
            UnsupportedFeature: Polars is not installed.
        """
        found: polars.DataFrame = imported("polars", "to_polars()", "Polars").DataFrame(self.to_arrow())
        return found

    def head(self, count: int = 10) -> pa.Table:
        """The first rows that are read, in no order; no further file is opened when there are enough. See ``Scan.top``.

        Args:
            count: how many rows at most.

        Raises:
            OptionError: it is less than 0.
        """
        if count < 0:
            raise OptionError(f"the first {count} rows were asked for: give a number that is not negative")
        found: list[pa.RecordBatch] = []
        missing = count
        batches = self.to_batches() if count else iter(())
        for batch in batches:
            found.append(batch.slice(0, min(missing, batch.num_rows)))
            missing -= found[-1].num_rows
            if missing <= 0:
                break
        return pa.Table.from_batches(found, self.arrow_schema)

    def __arrow_c_schema__(self) -> Any:
        """The schema, by Arrow's PyCapsule interface."""
        return self.arrow_schema.__arrow_c_schema__()

    @partial(checked, of_class=True)
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows, by Arrow's PyCapsule interface; each call begins a new read of the newest state.

        A read that cannot begin raises its own error. One that fails later ends with an error of Arrow, because such a
        stream passes on a text alone: the sentence of our error.

        Args:
            requested_schema: what the caller wishes; None: arrow_schema.
        """
        return reader_of(self.arrow_schema, self.to_batches()).__arrow_c_stream__(requested_schema)


def reader_of(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
    """A reader of Arrow. The first batch is read at once, so that a read that cannot begin raises its own error."""
    failed = list[Exception]()
    rows = chain(list(islice(batches, 1)), _until_error(batches, failed), map(_EXHAUSTED.throw, failed))
    return pa.RecordBatchReader.from_batches(schema, rows)


def imported(module: str, call: str, package: str) -> Any:
    """A module of a library that only some calls need.

    Args:
        module: its full name.
        call, package: what needs it, and how the library is called, for the error.

    Raises:
        UnsupportedFeature: it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        name = module.partition(".")[0]
        raise UnsupportedFeature(f"{call} needs {package}, which is not installed: run pip install {name}") from None


_EXHAUSTED: Generator[pa.RecordBatch] = (batch for batch in list[pa.RecordBatch]())
next(_EXHAUSTED, None)
"""What an exhausted generator throws has no call, and Arrow writes all calls of an error into the text of its own."""


def _until_error(batches: Iterator[pa.RecordBatch], failed: list[Exception]) -> Iterator[pa.RecordBatch]:
    """The batches before an error, which is put into the list if its sentence is all that the user needs."""
    try:
        yield from batches
    except Exception as error:
        if not needs_no_trace(error):
            raise
        error.__cause__ = None
        failed.append(shortened(error))
