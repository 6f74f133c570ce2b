"""Writing ORC data files (format section 7.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import orc
from pyarrow import types as pt

from paimon_spark.arrow.conform import conform_batch
from paimon_spark.arrow.formats.file_access import WriteSettings
from paimon_spark.arrow.formats.physical_schema import leaves, orc_schema
from paimon_spark.arrow.raw_values import int64_values, valid_mask
from paimon_spark.arrow.statistics.column_stats import ColumnStats, StatsCollector
from paimon_spark.arrow.types import NANOS_PER_UNIT
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.types import DataField

_DEFAULT_STRIPE_SIZE = 64 * 2**20
_CODECS = {"none": "uncompressed", "uncompressed": "uncompressed", "zstd": "zstd", "snappy": "snappy", "zlib": "zlib",
           "gzip": "zlib", "lz4": "lz4"}  # fmt: skip


class OrcWriter:
    """One ORC file being written (see ``file_access.FileWriter``).

    Arrow's ORC writer takes no zstd level. TIMESTAMP_LTZ is written as the instant it is, as Java does in a UTC
    process (format section 7.4). It cuts timestamps into seconds towards zero, so that fractions before 1970 are
    negative, where Java stores positive ones: Java reads whole milliseconds of them right, and fails on finer ones,
    which are therefore refused.

    To abandon a file, drop the writer: nothing more is written to the sink.
    """

    def __init__(self, sink: Any, fields: Sequence[DataField], settings: WriteSettings) -> None:
        codec = _CODECS.get(settings.compression.lower())
        if codec is None:
            raise OptionError(
                f"option 'file.compression' has the value '{settings.compression}', which ORC files cannot have here: "
                f"expected one of {', '.join(_CODECS)}"
            )
        self._sink = _Sink(sink)
        self._schema = orc_schema(fields)
        self._collector = StatsCollector(fields)
        self._stripe_size = settings.block_size or _DEFAULT_STRIPE_SIZE
        self._unflushed = 0
        self._writer = _Writer(self._sink, compression=codec, stripe_size=self._stripe_size)
        self._write(pa.Table.from_batches([], self._schema))

    @property
    def bytes_estimate(self) -> int:
        return int(self._sink.tell()) + min(self._unflushed, self._stripe_size) // 3

    def write(self, batch: pa.RecordBatch) -> None:
        self._collector.add(batch)
        before = self._sink.tell()
        arrays = [_unsliced(array) for array in conform_batch(batch, self._schema).columns]
        for name, array in zip(self._schema.names, arrays, strict=True):
            _refuse_fine_old_timestamps(name, array)
        self._write(pa.Table.from_arrays(arrays, schema=self._schema))
        self._unflushed = self._unflushed + batch.nbytes if self._sink.tell() == before else 0

    def close(self) -> None:
        self._writer.close()
        self._sink.raise_error()

    def stats(self) -> Mapping[str, ColumnStats]:
        return self._collector.result()

    def _write(self, table: pa.Table) -> None:
        self._sink.raise_error()
        self._writer.write(table)
        self._sink.raise_error()


class _Writer(orc.ORCWriter):  # type: ignore[misc]  # pyarrow has no types
    """Arrow's writer, except that it does not finish an abandoned file when it is garbage collected."""

    def __del__(self) -> None:
        """Nothing: only ``close`` ends a file."""


class _Sink:
    """A sink that never raises where Arrow can see it: an error of a sink that Arrow's ORC writer meets outside of its
    constructor is an uncaught C++ exception, which ends the process. The first error is kept, and what comes after it
    is dropped, until ``raise_error``.
    """

    closed = False

    def __init__(self, sink: Any) -> None:
        self._sink = sink
        self._error: BaseException | None = None
        self._size = 0

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        if self._error is None:
            try:
                self._sink.write(data)
            except BaseException as error:
                self._error = error
        self._size += size
        return size

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Nothing is buffered here: the owner of the sink flushes it."""

    def close(self) -> None:
        """The owner of the sink closes it."""

    def raise_error(self) -> None:
        if self._error is not None:
            raise self._error


def _unsliced(array: pa.Array) -> pa.Array:
    """The array with nested arrays copied: Arrow's ORC writer writes wrong rows of the children of slices."""
    return pa.concat_arrays([array]) if pt.is_nested(array.type) else array


def _refuse_fine_old_timestamps(column: str, array: pa.Array) -> None:
    for _, leaf in leaves(array, column):
        if not pt.is_timestamp(leaf.type) or leaf.type.unit == "ms":
            continue
        counts = int64_values(leaf)
        fine = (counts < 0) & (counts % (10**6 // NANOS_PER_UNIT[leaf.type.unit]) != 0) & valid_mask(leaf)
        if fine.any():
            found = leaf.take(pa.array([int(fine.argmax())])).cast(pa.string())[0]
            raise UnsupportedFeature(
                f"writing column '{column}': ORC files cannot hold {found} so that Java reads it back, a timestamp "
                "before 1970 with a fraction of a millisecond: give this write 'file.format' = 'parquet'"
            )
