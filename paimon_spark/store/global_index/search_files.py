"""Looks up what searches want in index files: vectors that are near to one, texts that fit a query.

Java: DataEvolutionVectorRead, DataEvolutionFullTextRead, OffsetGlobalIndexReader (release 2.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from pyroaring import BitMap64

from paimon_spark.arrow.formats.patched_file import native
from paimon_spark.errors import OptionError
from paimon_spark.format.global_index.native_library import Floats
from paimon_spark.format.global_index.numbers import Ints, damaged
from paimon_spark.format.global_index.texts import FULL_TEXT, TextFile
from paimon_spark.format.global_index.vectors import VECTOR_KINDS, Singles, VectorFile, Width
from paimon_spark.format.manifest import IndexManifestEntry
from paimon_spark.format.paths import index_file_path
from paimon_spark.store.global_index.index_files import opened_bytes
from paimon_spark.store.metadata.global_indexes import may_have_old_values, type_of_keys
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.parallel import map_parallel

SEARCH_KINDS = (*VECTOR_KINDS, FULL_TEXT)
"""The kinds of indexes that searches use, and that this release makes and reads."""
_THREADS = 4  # a file takes memory while it is searched


@dataclass(frozen=True)
class SearchFile:
    """A file of an index for searches, over the row ids from start to before end."""

    entry: IndexManifestEntry
    path: str
    start: int
    end: int


@dataclass(frozen=True)
class Found:
    """What a file has: the ids of rows, each once, the best first; and how far they are, or their scores.

    Attributes:
        metric: of a file of vectors.
        covers: the ids of the rows that were searched.
    """

    ids: Ints
    values: Floats
    covers: BitMap64
    metric: str = ""


class FileBytesAtOnce:
    """The bytes of an open file, which several threads may ask for."""

    def __init__(self, source: object) -> None:
        self._file = native(source)
        self._size = int(self._file.size())

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, span: slice) -> bytes:
        found: bytes = self._file.read_at(span.stop - span.start, span.start)
        return found


def search_files(
    table: Table, entries: Iterable[IndexManifestEntry], field_id: int, kinds: Sequence[str]
) -> dict[str, list[SearchFile]]:
    """The files of indexes over a column alone, by kind, in the order of row ids.

    Args:
        table: the table.
        entries: of the index manifest.
        field_id: of the column.
        kinds: those that are wanted.

    Raises:
        CorruptFile: an entry has a range that cannot be.
    """
    found: dict[str, list[SearchFile]] = {}
    for entry in entries:
        meta = entry.global_index
        if entry.index_type not in kinds or meta is None or meta.index_field_id != field_id:
            continue
        if meta.source_meta is not None or meta.extra_field_ids:
            continue
        path = index_file_path(table.location, "", entry, table.settings)
        if not 0 <= meta.row_range_start <= meta.row_range_end:
            raise damaged(path, f"it is over the row ids {meta.row_range_start} to {meta.row_range_end}")
        found.setdefault(entry.index_type, []).append(
            SearchFile(entry, path, meta.row_range_start, meta.row_range_end + 1)
        )
    return {kind: sorted(files, key=lambda file: file.start) for kind, files in found.items()}


def may_search(table: Table, schema_id: int, field_id: int) -> bool:
    """True if searches may use the indexes over a column: they have the values that its rows have.

    Args:
        table: the table, with the options of the read.
        schema_id: of the snapshot that is read.
        field_id: of the column.
    """
    settings = table.settings.global_index
    return (
        settings.enabled
        and settings.update_action != "IGNORE"
        and not may_have_old_values(table.schema, table.schemas, schema_id)
        and type_of_keys(table.schema, table.schemas, field_id) is not None
    )


def near_rows(
    table: Table,
    files: Sequence[SearchFile],
    vector: Singles,
    count: int,
    wanted: BitMap64,
    width: Width,
    metric: str,
) -> list[Found]:
    """The rows of each file whose vectors are near to one.

    Args:
        table: the table of the files.
        files: of one kind.
        vector: what is looked for.
        count: how many rows of each file at most.
        wanted: the ids of the rows that are searched.
        width: how much of each file is looked at.
        metric: files that were made by another one cover nothing.

    Raises:
        MissingFile, CorruptFile: a file does not exist, or is damaged.
        OptionError: its vectors have another length, or no such width.
        UnsupportedFeature: the library is not installed.
    """
    search = partial(_near_rows_of_file, table, vector, count, wanted, width, metric)
    return map_parallel(search, _with_rows(files, wanted), _THREADS)


def fitting_rows(table: Table, files: Sequence[SearchFile], query: str, count: int, wanted: BitMap64) -> list[Found]:
    """The rows of each file whose texts fit a query.

    Args:
        table: the table of the files.
        files: of one kind.
        query: as of TextFile.
        count: how many rows of each file at most.
        wanted: the ids of the rows that are searched.

    Raises:
        MissingFile, CorruptFile: a file does not exist, or is damaged.
        OptionError: the query is not understood.
        UnsupportedFeature: the library is not installed.
    """
    return map_parallel(
        partial(_fitting_rows_of_file, table, query, count, wanted), _with_rows(files, wanted), _THREADS
    )


def covered_rows(files: Iterable[SearchFile], wanted: BitMap64) -> BitMap64:
    """The ids among some that files are over."""
    return BitMap64().union(*(_inside(file, wanted)[0] for file in files))


def vectors_in(table: Table, path: str) -> int:
    """How many vectors a file has.

    Raises:
        MissingFile, CorruptFile: it does not exist, or is damaged.
        UnsupportedFeature: the library is not installed.
    """
    with opened_bytes(table.file_io, path) as source, VectorFile(FileBytesAtOnce(source), path) as opened:
        return opened.count


def check_texts(table: Table, path: str) -> None:
    """Opens a file of texts.

    Raises:
        MissingFile, CorruptFile: it does not exist, or is damaged.
        UnsupportedFeature: the library is not installed.
    """
    with opened_bytes(table.file_io, path) as source, TextFile(FileBytesAtOnce(source), path):
        pass


def metric_of(table: Table, file: SearchFile) -> str:
    """By which metric a file of vectors was made.

    Raises:
        MissingFile, CorruptFile: it does not exist, or is damaged.
        UnsupportedFeature: the library is not installed.
    """
    with opened_bytes(table.file_io, file.path) as source, VectorFile(FileBytesAtOnce(source), file.path) as opened:
        return opened.metric


def _with_rows(files: Sequence[SearchFile], wanted: BitMap64) -> list[SearchFile]:
    """The files that are over wanted rows; of files over the same rows the first one."""
    left, end = list[SearchFile](), 0
    for file in files:
        if wanted.range_cardinality(file.start, file.end) and file.end > end:
            left.append(file)
            end = file.end
    return left


def _near_rows_of_file(
    table: Table, vector: Singles, count: int, wanted: BitMap64, width: Width, metric: str, file: SearchFile
) -> Found:
    with opened_bytes(table.file_io, file.path) as source, VectorFile(FileBytesAtOnce(source), file.path) as opened:
        if opened.metric != metric:
            return Found(np.empty(0, np.int64), np.empty(0), BitMap64(), opened.metric)
        if opened.length != len(vector):
            raise OptionError(
                f"a vector search in {table.location}: the vector that is looked for has {len(vector)} numbers, and "
                f"those of the index have {opened.length}; give one of as many",
                arguments=("vector",),
            )
        covers, inside = _inside(file, wanted)
        numbers, distances = opened.nearest(vector, count, inside, width)
    return Found(_ids(file, numbers), distances, covers, opened.metric)


def _fitting_rows_of_file(table: Table, query: str, count: int, wanted: BitMap64, file: SearchFile) -> Found:
    covers, inside = _inside(file, wanted)
    with opened_bytes(table.file_io, file.path) as source, TextFile(FileBytesAtOnce(source), file.path) as opened:
        numbers, scores = opened.best(query, min(count, len(covers)), inside)
    return Found(_ids(file, numbers), scores, covers)


def _inside(file: SearchFile, wanted: BitMap64) -> tuple[BitMap64, BitMap64 | None]:
    """The wanted rows of a file: their ids, and their numbers in it, None: all."""
    span = BitMap64()
    if wanted and file.start <= wanted.max():  # a range may be as wide as numbers go
        span.add_range(file.start, min(file.end, wanted.max() + 1))
    covers = span & wanted
    return covers, None if len(covers) == file.end - file.start else covers.shift(-file.start)


def _ids(file: SearchFile, numbers: Ints) -> Ints:
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= file.end - file.start):
        raise damaged(file.path, f"it names row {numbers.max()} of {file.end - file.start}")
    return numbers + file.start
