"""What people have rows in, as batches of Arrow: pyarrow, pandas, dictionaries, and libraries with Arrow's streams."""

from __future__ import annotations

import datetime as dt
import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from paimon_spark.errors import DataError


def record_batches(rows: Any) -> pa.RecordBatchReader:
    """The rows, batch by batch, as somebody gives them.

    Args:
        rows: what has Arrow's stream or array (a pyarrow Table, RecordBatch or RecordBatchReader, a scan, a DataFrame
            of Polars, a relation of DuckDB), a pandas DataFrame without its index, a Dataset or Scanner of pyarrow, a
            dictionary from column to values, a list of dictionaries, or an iterable of RecordBatches. Of a reader and
            an iterable no more than a batch is held.

    Raises:
        DataError: nobody reads them; the message says how to make an Arrow table of them.
    """
    if isinstance(rows, pa.RecordBatchReader):
        return rows
    if is_pandas(rows):
        return _pandas_reader(rows)
    if hasattr(rows, "to_frame"):
        raise _unread(rows)
    try:
        if isinstance(rows, dict):
            return pa.table(rows).to_reader()
        if hasattr(rows, "__arrow_c_stream__"):
            if isinstance(rows, pa.ChunkedArray) and not pt.is_struct(rows.type):
                raise _unread(rows)
            return pa.RecordBatchReader.from_stream(rows)
        if hasattr(rows, "__arrow_c_array__"):
            if isinstance(rows, pa.Array) and not pt.is_struct(rows.type):
                raise _unread(rows)
            return pa.Table.from_batches([pa.record_batch(rows)]).to_reader()
        if hasattr(rows, "scanner"):
            rows = rows.scanner()
        if hasattr(rows, "to_reader"):
            return rows.to_reader()
        if isinstance(rows, Sequence) and not isinstance(rows, str) and rows and isinstance(rows[0], dict):
            return pa.Table.from_pylist(rows).to_reader()
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        found = f"writing rows given as {type(rows).__name__}: Arrow makes no columns of them: {error}"
        raise DataError(f"{found}{_advice(rows, error)}") from None
    if isinstance(rows, Iterable) and not isinstance(rows, str | bytes):
        return _reader_of(rows)
    raise _unread(rows)


def _advice(rows: Any, error: Exception) -> str:
    """What to do about rows that Arrow does not know, as a further part of a sentence."""
    if isinstance(rows, dict) and any(isinstance(one, str) or not hasattr(one, "__len__") for one in rows.values()):
        return "; give each column a list of values; [row] is a row given as a dictionary"
    if "expected length" in str(error):
        return "; give each column as many values"
    if "with type VariantVal:" in str(error):
        return "; give {'value': v.value, 'metadata': v.metadata} of a VariantVal v"
    if re.search(r"with type \w*Path:", str(error)):
        return "; give BlobDescriptor(str(path)).encode() of the path of a file whose bytes a BLOB is to have"
    found = next((name for name in ("BlobDescriptor", "BlobView") if f"with type {name}:" in str(error)), None)
    return f"; give the value encode() of a {found}" if found else ""


def _reader_of(rows: Iterable[Any]) -> pa.RecordBatchReader:
    """A reader of the batches of an iterable."""
    taken = iter(rows)
    first = next(taken, None)
    if not isinstance(first, pa.RecordBatch):
        raise _unread(rows)

    def batches() -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(itertools.chain([first], taken)):
            if not isinstance(batch, pa.RecordBatch) or not batch.schema.equals(first.schema):
                raise DataError(
                    f"writing rows given as batches: batch {number} is {type(batch).__name__} with other columns than "
                    "the first one; give each the same columns, in the same order"
                )
            yield batch

    return pa.RecordBatchReader.from_batches(first.schema, batches())


def valid_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches, whose values are what their types say: another library may hand over a text that is no UTF-8."""
    for batch in batches:
        for field, column in zip(batch.schema, batch.columns, strict=True):
            try:
                column.validate(full=True)
            except pa.ArrowMemoryError:
                raise
            except pa.ArrowException as error:
                raise DataError(
                    f"writing column '{field.name}': its values are no {field.type} of Arrow: {error}; make its "
                    "buffers anew first"
                ) from None
        yield batch


def is_pandas(rows: Any) -> bool:
    """True if this is a DataFrame of pandas, which whoever has one has imported."""
    frame = getattr(sys.modules.get("pandas"), "DataFrame", None)  # None too while another thread imports pandas
    return frame is not None and isinstance(rows, frame)


def _pandas_reader(rows: Any) -> pa.RecordBatchReader:
    table = pandas_table(rows)
    if table is None:
        raise DataError(
            "writing rows of pandas: two columns have one name, or a column has values of several types, of which "
            "Arrow makes none; give each column a name of its own, and its values one type, with astype"
        )
    return table.to_reader()


def pandas_table(rows: Any) -> pa.Table | None:
    """The rows of a DataFrame of pandas; None: a column has values of several types, or two have one name.

    Raises:
        DataError: nobody reads a column, or not as it is meant; the message names it.
    """
    for name, values in rows.items():
        if str(values.dtype).startswith("Sparse"):
            raise DataError(
                f"writing column '{name}': it is a sparse one of pandas, which Arrow does not read; make it "
                f"{name}.sparse.to_dense() first"
            )
    try:
        maps = {at: found for at, (_, values) in enumerate(rows.items()) if (found := _map_column(values)) is not None}
        others = rows.iloc[:, [at for at in range(rows.shape[1]) if at not in maps]] if maps else rows
        table = pa.Table.from_pandas(others, preserve_index=False)
        for at, column in maps.items():
            table = table.add_column(at, str(rows.columns[at]), column)
    except UnicodeEncodeError as error:
        raise DataError(
            f"writing rows of pandas: a text has {error.object[error.start]!a}, half of a character in UTF-16, which "
            "is none in UTF-8; replace it first"
        ) from None
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, ValueError):
        return None
    except OverflowError:
        [name, *_] = [name for name, values in rows.items() if any(map(_is_beyond_64_bits, values))] or rows.columns
        raise DataError(
            f"writing column '{name}': it has a whole number beyond 64 bits, of which Arrow makes no column; write its "
            "numbers as decimal.Decimal"
        ) from None
    for (name, values), column in zip(rows.items(), table.columns, strict=True):
        if pt.is_timestamp(column.type) and values.dtype == object:
            times = [
                value for value in values if isinstance(value, dt.datetime) and value == value
            ]  # NaT is not itself
            if len({time.tzinfo is None for time in times}) > 1:
                raise DataError(
                    f"writing column '{name}': it has times with a zone and times without one; give all of them a "
                    "zone, or none"
                )
    return table


def _map_column(values: Any) -> pa.Array | None:
    """A column of lists of pairs, as ``to_pandas`` gives maps, as maps; None: it is another one.

    Python values are looked at one by one, as Arrow does too: nothing else tells what they are.
    """
    if values.dtype != object:
        return None
    lists = (value for value in values if value is not None)
    for found in lists:
        if not isinstance(found, list) or (found and not (isinstance(found[0], tuple) and len(found[0]) == 2)):
            return None
        if found:
            break
    else:
        return None
    pairs = [pair for value in values if isinstance(value, list) for pair in value]
    kinds = (pa.array([key for key, _ in pairs]).type, pa.array([item for _, item in pairs]).type)
    return pa.array([value if isinstance(value, list) else None for value in values], pa.map_(*kinds))


def _is_beyond_64_bits(value: Any) -> bool:
    return isinstance(value, int) and not -(1 << 63) <= value < 1 << 63


def _unread(rows: Any) -> DataError:
    return DataError(
        f"writing rows given as {type(rows).__name__}: expected a DataFrame of pandas, Polars or, in a session, Spark; "
        f"a pyarrow Table; or what has Arrow's stream, such as a scan; {_made_of(rows)}"
    )


def _made_of(rows: Any) -> str:
    """How rows of somebody become such as are taken, as the end of a message."""
    first = next(iter(rows), None) if isinstance(rows, Sequence) else None
    if isinstance(rows, dict):
        return "pyarrow.table(rows) makes a Table of columns, pyarrow.Table.from_pylist([row]) of a row"
    if isinstance(first, pa.RecordBatch):
        return "pyarrow.Table.from_batches(rows) makes a Table of batches"
    if isinstance(first, dict):
        return "pyarrow.Table.from_pylist(rows) makes a Table of such rows"
    if isinstance(rows, pa.Array | pa.ChunkedArray):
        return "pyarrow.table({'<column>': rows}) makes a Table of a column"
    if hasattr(rows, "to_table"):
        return "rows.to_table() reads a Dataset or a Scanner of Arrow"
    if hasattr(rows, "to_frame"):
        return "rows.to_frame() makes a DataFrame of a Series"
    if isinstance(rows, str | PathLike):
        return "pyarrow.parquet.read_table(path) reads files of parquet, with Spark spark.read.parquet(path)"
    if hasattr(rows, "collect"):
        return "rows.collect() computes a LazyFrame"
    if isinstance(rows, Iterable):
        return "pyarrow.Table.from_pylist([{'<column>': value}]) makes a Table of rows"
    return "pyarrow.table({'<column>': values}) makes a Table of columns"
