"""The files of an index over vectors or texts, and what such an index may be over.

Java: NativeVectorGlobalIndexWriter, NativeFullTextGlobalIndexWriter, GlobalIndexBuilderUtils.createShardIndexedSplits
(release 2.0). A file of vectors is made only if a row has one, as there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.errors import DataError, OptionError, UnsupportedFeature
from paimon_spark.format.global_index.numbers import Ints
from paimon_spark.format.global_index.texts import meta_bytes, text_library, text_options, write_texts
from paimon_spark.format.global_index.vectors import (
    FILE_META,
    VECTOR_KINDS,
    Singles,
    VectorBuild,
    can_compare,
    vector_build,
    vector_library,
    write_vectors,
)
from paimon_spark.format.manifest import IndexManifestEntry
from paimon_spark.format.options.index_settings import GlobalIndexSettings
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import STRINGS, DataField, Root
from paimon_spark.store.global_index.search_files import metric_of, search_files
from paimon_spark.store.metadata.global_indexes import field_ids
from paimon_spark.store.metadata.table import Table


def check_search_index(table: Table, field: DataField, kind: str, entries: Sequence[IndexManifestEntry]) -> None:
    """Checks that such an index can be over a column, that it can be made here, and fits the one that is there.

    Args:
        table: the table, with the options of the call.
        field: the column.
        kind: one of SEARCH_KINDS.
        entries: of the index manifest.

    Raises:
        OptionError: an option is bad, or the index that is there was made by another metric.
        UnsupportedFeature: the column has no vectors or texts; or an index of another type is over it; or the library
            is not installed.
    """
    begin = _begin(table, field, kind)
    if kind not in VECTOR_KINDS:
        if field.type.root not in STRINGS:
            raise UnsupportedFeature(f"{begin}: the column is {field.type.root}, and texts are STRING")
        text_library(begin)
        text_options(table.settings.texts)
        return
    if field.type.root not in (Root.ARRAY, Root.VECTOR) or field.type.inner.root is not Root.FLOAT:
        raise UnsupportedFeature(
            f"{begin}: the column is {type_sql(field.type)}, and vectors are ARRAY or VECTOR of FLOAT"
        )
    vector_library(begin)
    build = _build(table, field, kind)
    _check_clusters(table, build, begin)
    for entry in entries:
        if entry.index_type in VECTOR_KINDS and entry.index_type != kind and field_ids(entry)[:1] == (field.id,):
            raise UnsupportedFeature(
                f"{begin}: an index of the type {entry.index_type} is over the column, and the official system "
                "searches no column with two; drop that first"
            )
    for file in search_files(table, entries, field.id, (kind,)).get(kind, [])[-1:]:
        metric = metric_of(table, file)
        if metric != build.metric:
            raise OptionError(
                f"{begin}: its files there were made by the metric {metric}, and the new ones would be by "
                f"{build.metric}; give the option '{kind}.distance.metric' = '{metric}', or drop the index first",
                arguments=("options",),
            )


def _check_clusters(table: Table, build: VectorBuild, begin: str) -> None:
    """Checks that a file does not have more clusters than rows: the library takes memory for each, and ends the process
    if there is not so much.

    Raises:
        OptionError: it would have more.
    """
    try:
        clusters = int(build.native.get("nlist", "0"))
    except ValueError:  # auto, or what the library refuses
        return
    most = table.settings.global_index.rows_per_shard
    if clusters > most:
        raise OptionError(
            f"{begin}: 'nlist' is {clusters}, and a file is over {most} rows at most "
            f"('{GlobalIndexSettings.rows_per_shard.key}'); give no more clusters than rows",
            arguments=("options",),
        )


def search_index_file(
    table: Table, field: DataField, kind: str, values: pa.ChunkedArray, numbers: Ints
) -> tuple[bytes, bytes] | None:
    """The bytes of a file, and those of `_INDEX_META`; None: no row has a vector.

    Args:
        table: the table, with the options of the call.
        field: the column.
        kind: one of SEARCH_KINDS.
        values: of the column.
        numbers: of their rows in the range of the file.

    Raises:
        DataError: a vector has another length than the others, or numbers that are not finite.
        OptionError: an option is bad.
        UnsupportedFeature: the library is not installed.
    """
    begin = _begin(table, field, kind)
    if kind not in VECTOR_KINDS:
        options = text_options(table.settings.texts)
        return write_texts(values.to_pylist(), numbers, options, begin), meta_bytes(options)
    there = values.is_valid()
    vectors = _matrix(values.drop_null(), begin)
    if vectors is None:
        return None
    build = _build(table, field, kind)
    length = build.native.get("dimension", "auto")
    if length not in ("auto", str(vectors.shape[1])):
        raise DataError(
            f"{begin}: the vectors have {vectors.shape[1]} numbers, and an option says {length}; give the length of "
            f"the vectors, or leave '{kind}.dimension' out"
        )
    if not can_compare(vectors, build.metric):
        raise DataError(
            f"{begin}: a vector is so long or so short that FLOAT does not hold the square of its length, and an index "
            "would compare it wrongly; scale the vectors, or search without an index"
        )
    return write_vectors(vectors, numbers[there.to_numpy()], build, begin), FILE_META


def _begin(table: Table, field: DataField, kind: str) -> str:
    return f"an index of the type {kind} over '{field.name}' of {table.location}"


def _build(table: Table, field: DataField, kind: str) -> VectorBuild:
    length = field.type.length if field.type.root is Root.VECTOR else None
    texts: Mapping[str, str] = table.settings.texts
    return vector_build(kind, field.name, texts, length)


def _matrix(values: pa.ChunkedArray, begin: str) -> Singles | None:
    """The vectors, one in each row; None: there is none."""
    if not len(values):
        return None
    lengths = pc.unique(pc.list_value_length(values)).to_pylist()
    if len(lengths) > 1 or lengths == [0]:
        raise DataError(
            f"{begin}: vectors have {' and '.join(map(str, sorted(lengths)[:2]))} numbers, and all must have as many, "
            "one at least; make the others NULL"
        )
    numbers = pa.chunked_array([chunk.flatten() for chunk in values.chunks])
    if numbers.null_count:
        raise DataError(
            f"{begin}: a vector has a NULL among its numbers; make the vector NULL, or give it a number there"
        )
    found = cast(Singles, np.ascontiguousarray(numbers.to_numpy(), np.float32).reshape(-1, lengths[0]))
    if not np.isfinite(found).all():
        raise DataError(f"{begin}: a vector has a number that is not finite; make the vector NULL, or change it")
    return found
