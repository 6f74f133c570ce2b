"""Which micro-batches of a stream Spark's own Parquet reader reads, and how it divides their files among its tasks.

A micro-batch is read by Spark or by our reader, as a whole: Spark asks for one factory of readers for all its tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import types as st

from paimon_spark.arrow.predicates.predicate import TRUE, AlwaysTrue
from paimon_spark.format.paths import POSTPONE_BUCKET, data_file_path
from paimon_spark.format.types import has_char
from paimon_spark.spark.native.file_lists import spark_path
from paimon_spark.spark.native.hybrid_scan import HybridScan
from paimon_spark.spark.native.session_settings import SessionSettings
from paimon_spark.spark.native.table_reading import undivided_reason
from paimon_spark.store.read.split_reader import SplitReader
from paimon_spark.store.read.splits import Split
from paimon_spark.store.scan.new_scan import stream_scan
from paimon_spark.store.stream_source.stream_read import StreamRead
from paimon_spark.store.stream_source.units import Kinds, StreamUnit, is_in_order


@dataclass(frozen=True, slots=True)
class FilePart:
    """Bytes of a file that one task reads: the row groups whose middle is among them.

    Attributes:
        path: as Spark takes it.
        start: the first byte.
        length: how many bytes.
        size: of the file.
    """

    path: str
    start: int
    length: int
    size: int


@dataclass(frozen=True)
class PartSizes:
    """How large the parts of files are that one task reads, as Spark has it (FilePartition.maxSplitBytes).

    Attributes:
        most: bytes of one task.
        open_cost: bytes that could be read in the time in which a file is opened.
        tasks: how many there are at least, if there are bytes enough.
    """

    most: int
    open_cost: int
    tasks: int


def may_read_natively(read: StreamRead) -> bool:
    """False if our reader must read every micro-batch of a stream, whatever its files are.

    It pads CHAR, which Spark pads in reads that end, and not in streams.
    """
    rows = read.reader.reader
    if read.chain is not None or read.reader.shape is not None or not isinstance(rows, SplitReader):
        return False
    if rows.row_kinds or not isinstance(rows.predicate, AlwaysTrue):
        return False
    return undivided_reason(read.table) is None and not any(has_char(field.type) for field in rows.fields)


def native_parts(
    spark: SparkSession,
    read: StreamRead,
    shown: st.StructType,
    settings: SessionSettings,
    units: Sequence[StreamUnit],
    sizes: PartSizes,
) -> list[list[FilePart]] | None:
    """What each task of Spark's own scan reads of a micro-batch; None: our reader must read it.

    The files are in the order of the units. Those of one bucket go whole and in their order to one task, as they do
    with our reader, where units have an order.

    Args:
        spark: the session.
        read: the stream, of which ``may_read_natively`` is true.
        shown: the schema of its columns.
        settings: of the session.
        units: of the micro-batch.
    """
    splits = [unit.split for unit in units if isinstance(unit.split, Split) and _is_of_files(unit, unit.split)]
    if len(splits) < len(units):
        return None
    scan = stream_scan(read.table, read.reader.reader.fields, TRUE)
    found = HybridScan(spark, scan, shown, settings).classified(splits, None)
    if found.rest or len(found.native) > 1:
        return None
    for kind in found.native:
        if kind.has_vectors or kind.has_retractions:
            return None
        if any(c.name != c.field.name or c.type.root is not c.field.type.root for c in kind.columns):
            return None
    if is_in_order(read.table, units):
        return [[part for unit in task for part in _parts(unit)] for task in read.tasks(units)]
    return _shared([part for unit in units for part in _parts(unit)], sizes)


def _is_of_files(unit: StreamUnit, split: Split) -> bool:
    """True if the rows of a unit are those of its files, in which none is merged with another or taken back."""
    return not split.sections and split.bucket != POSTPONE_BUCKET and unit.kinds is not Kinds.TAKEN_BACK


def _parts(unit: StreamUnit) -> Iterable[FilePart]:
    split = unit.split
    assert isinstance(split, Split)  # others are refused before
    for file in split.raw_files:
        size = file.file_size
        yield FilePart(spark_path(data_file_path(split.bucket_path, file)), 0, size, size)


def _shared(files: Sequence[FilePart], sizes: PartSizes) -> list[list[FilePart]]:
    """Files in their order, in parts of about one size. Spark itself would begin with the largest ones."""
    total = sum(file.size + sizes.open_cost for file in files)
    most = min(sizes.most, max(sizes.open_cost, total // sizes.tasks))
    found: list[list[FilePart]] = []
    room = 0
    for file in files:
        for start in range(0, file.size, most):
            length = min(most, file.size - start)
            if length > room:
                found.append([])
                room = most
            found[-1].append(FilePart(file.path, start, length, file.size))
            room -= length + sizes.open_cost
    return found
