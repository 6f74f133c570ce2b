"""Finds the rows whose vectors are nearest to one: by indexes, and by a look at each row that none covers.

Java: AbstractDataEvolutionVectorRead, DataEvolutionVectorScan, VectorSearchRefineOptions (release 2.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from paimon_spark.errors import CorruptFile, DataError, MissingFile, OptionError, UnsupportedFeature
from paimon_spark.format.global_index.blocks import row_numbers
from paimon_spark.format.global_index.native_library import Floats, best_first
from paimon_spark.format.global_index.numbers import Ints
from paimon_spark.format.global_index.vectors import (
    GRAPH_WIDTH,
    METRICS,
    PROBES,
    VECTOR_KINDS,
    Width,
    can_compare,
    normal_metric,
    vector_library,
)
from paimon_spark.format.manifest import IndexManifestEntry
from paimon_spark.format.options.index_settings import REFINE_KEYS
from paimon_spark.format.types import FLOATS, DataField, Root
from paimon_spark.store.global_index.search_files import (
    Found,
    SearchFile,
    covered_rows,
    may_search,
    metric_of,
    near_rows,
    search_files,
)
from paimon_spark.store.metadata.manifest_files import read_global_indexes
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.search.found_rows import check_search, with_scores

if TYPE_CHECKING:
    from paimon_spark.store.search.searched_rows import SearchedRows

_OTHER_KINDS = frozenset({"lumina", "lumina-vector-ann", "es-index", "ivf-hnsw-flat", "ivf-hnsw-sq"})
"""Kinds of indexes over vectors that this release does not read."""
_METRIC_KEYS = ("metric", "distance.metric")
_HELD_ROWS = 1 << 16


@dataclass(frozen=True)
class VectorQuery:
    """What is looked for.

    Attributes:
        field: the column of the vectors.
        vector: what they are compared with.
        count: how many rows at most, at least 1.
        said: the metric that the call asks for, one of METRICS; None: an index or the table says it.
        metric: the metric of the call, else that of the table, else l2.
        options: of the call.
    """

    field: DataField
    vector: Floats
    count: int
    said: str | None
    metric: str
    options: Mapping[str, str]

    def distances(self, vectors: Floats) -> Floats:
        """How far each vector, a row of a matrix, is; the smaller, the nearer. NaN: it has no distance."""
        with np.errstate(all="ignore"):
            if self.metric == "l2":
                apart = vectors - self.vector
                squared: Floats = np.einsum("ij,ij->i", apart, apart)
                return squared
            products: Floats = vectors @ self.vector
            if self.metric == "cosine":
                lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) * np.sqrt(self.vector @ self.vector)
                products = np.where(lengths == 0, 0.0, products / np.where(lengths == 0, 1.0, lengths))
                return 1.0 - np.clip(products, -1.0, 1.0)
            return -products

    def scores(self, distances: Floats) -> pa.Array:
        """The scores of distances, as the official system counts them."""
        with np.errstate(all="ignore"):
            found = {"l2": 1.0 / (1.0 + distances), "cosine": 1.0 - distances}.get(self.metric, -distances)
            return pa.array(found.astype(np.float32), pa.float32())


def vector_query(
    table: Table, shown: Iterable[DataField], field: DataField, wanted: Floats, count: int, options: Mapping[str, str]
) -> VectorQuery:
    """What is looked for, once it is known that a read can find it.

    Args:
        table: the table, with the options of the read.
        shown: the columns of the result.
        field: the column of the vectors.
        wanted: of vector_numbers.
        count, options: as of Scan.vector_search.

    Raises:
        OptionError: an argument does not fit the table.
        UnsupportedFeature: the column has no vectors.
    """
    begin = f"a vector search in {table.location}"
    if field.type.root not in (Root.ARRAY, Root.VECTOR) or field.type.inner.root not in FLOATS:
        raise UnsupportedFeature(
            f"{begin}: the column '{field.name}' is {field.type.root}, and vectors are ARRAY or VECTOR of "
            "FLOAT or DOUBLE"
        )
    check_search(begin, shown, count)
    if field.type.root is Root.VECTOR and len(wanted) != field.type.length:
        raise OptionError(
            f"{begin}: the vector has {len(wanted)} numbers, and those of '{field.name}' have {field.type.length}; "
            "give one of as many",
            arguments=("vector",),
        )
    said = _said_metric(field.name, options, begin)
    metric = said or configured_metric(field.name, table.settings.texts) or "l2"
    if metric not in METRICS:
        raise OptionError(f"{begin}: the metric '{metric}' is not known; give one of {', '.join(METRICS)}")
    return VectorQuery(field, wanted, count, said, metric, options)


def vector_numbers(table: Table, vector: Any) -> Floats:
    """The numbers of a vector, which come in any form that NumPy takes.

    Raises:
        OptionError: they are no finite numbers in a row.
    """
    begin = f"a vector search in {table.location}"
    try:
        found: Floats = np.asarray(vector, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{begin}: the vector is {vector!r:.60}; give numbers", arguments=("vector",)) from None
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
        raise OptionError(f"{begin}: the vector is {vector!r:.60}; give finite numbers in a row", arguments=("vector",))
    return found


def _said_metric(column: str, options: Mapping[str, str], begin: str) -> str | None:
    """The metric that the options of a call say; None: they say none. Checks that all are those of a search.

    Raises:
        OptionError: one is not known, or two contradict each other, or a value is bad.
    """
    known = (PROBES, GRAPH_WIDTH)
    heads = _heads(column, *VECTOR_KINDS, *_OTHER_KINDS)
    metric_keys = {head + end for head in heads for end in _METRIC_KEYS}
    refine_keys = {head + end for head in heads for end in REFINE_KEYS}
    unknown = [key for key in options if key not in (*metric_keys, *refine_keys, *known)]
    if unknown:
        raise OptionError(
            f"{begin}: '{unknown[0]}' is no option of a search; give metric, {PROBES}, {GRAPH_WIDTH} or "
            "ivf.refine_factor",
            arguments=("options",),
        )
    if all(key in options for key in known):
        raise OptionError(f"{begin}: '{PROBES}' and '{GRAPH_WIDTH}' are given; give one", arguments=("options",))
    for key, value in options.items():
        if key not in metric_keys:
            _whole(key, value, begin)
    metrics = sorted({normal_metric(value) for key, value in options.items() if key in metric_keys})
    if len(metrics) > 1:
        raise OptionError(f"{begin}: the options say the metrics {' and '.join(metrics)}; give one")
    if metrics and metrics[0] not in METRICS:
        raise OptionError(f"{begin}: the metric '{metrics[0]}' is not known; give one of {', '.join(METRICS)}")
    return metrics[0] if metrics else None


def _heads(column: str, *kinds: str) -> list[str]:
    """What stands before the name of an option of a search; that which goes before others is first."""
    names = [name for kind in kinds for name in (kind, kind.replace("-", "_"), *_family(kind))]
    return [f"{own}{name}" for own in (f"fields.{column}.", "") for name in (*(f"{name}." for name in names), "")]


def _family(kind: str) -> tuple[str, ...]:
    return ("ivf",) if kind.startswith("ivf") else ()


def _whole(key: str, value: str, begin: str) -> int:
    text = value.strip()
    if not (text.isascii() and text.isdigit() and int(text[:10]) > 0 and len(text) < 10):
        raise OptionError(f"{begin}: '{key}' is '{value}'; give a whole number of 1 or more", arguments=("options",))
    return int(text)


def is_metric_key(key: str) -> bool:
    """True if an option says by which metric vectors are compared."""
    return key in _METRIC_KEYS or key.endswith(tuple(f".{end}" for end in _METRIC_KEYS))


def configured_metric(column: str, options: Mapping[str, str]) -> str | None:
    """The metric that some options say for a column; None: they say none, or do not agree."""
    own = f"fields.{column}."
    for key in (f"{own}distance.metric", f"{own}metric", "lumina.distance.metric", "distance.metric", "metric"):
        if key in options:
            return normal_metric(options[key])
    others = {
        normal_metric(value) for key, value in options.items() if is_metric_key(key) and not key.startswith("fields.")
    } & set(METRICS)
    return others.pop() if len(others) == 1 else None


def check_no_index(table: Table, field: DataField, query: VectorQuery) -> None:
    """Checks, where no index is read, that none is over the column, or that the call says the metric.

    Raises:
        UnsupportedFeature: an index is there: its metric goes before that of the table, and only its file tells it.
    """
    snapshot = table.snapshots.latest() if query.said is None else None
    if snapshot is None or snapshot.index_manifest is None:
        return
    entries = read_global_indexes(table.file_io, table.location, snapshot.index_manifest)
    _check_others(table, entries, field, every=True)


def _check_others(table: Table, entries: Iterable[IndexManifestEntry], field: DataField, every: bool = False) -> None:
    """Raises UnsupportedFeature if an index is over the column that is not read. every: whether none is read."""
    for entry in entries:
        meta = entry.global_index
        if meta is None or meta.index_field_id != field.id:
            continue
        is_read = (
            entry.index_type in VECTOR_KINDS and not every and meta.source_meta is None and not meta.extra_field_ids
        )
        if entry.index_type in (*VECTOR_KINDS, *_OTHER_KINDS) and not is_read:
            raise UnsupportedFeature(
                f"a vector search in {table.location}: an index of type {entry.index_type} is over '{field.name}', and "
                "it alone tells by which metric its makers compare; it is not read here, so give the option metric, "
                f"one of {', '.join(METRICS)}: the vectors of all rows are compared then"
            )


def nearest_by_index(
    rows: SearchedRows, fields: tuple[DataField, ...], schema: pa.Schema, query: VectorQuery
) -> pa.Table:
    """The rows that are nearest, as ``nearest`` has them: by an index, and by a look at the rows it does not cover.

    Args:
        rows: those that are searched.
        fields: the columns of the result, and that of the vectors.
        schema: of the columns of the result.
        query: what is looked for.

    Raises:
        MissingFile, CorruptFile: a file does not exist, or is damaged.
        OptionError: an option of the search does not fit the index.
        UnsupportedFeature: it is not known by which metric vectors are to be compared, or the library is not installed.
        DataError: as of nearest.
    """
    files = _files_of_one_kind(rows, query)
    if query.said is None:
        _check_others(rows.table, rows.indexes, query.field)
    if files:
        try:
            vector_library(f"a vector search by the index over '{query.field.name}' of {rows.table.location}")
        except UnsupportedFeature as error:
            if query.said is None:
                hint = f"give the option metric, one of {', '.join(METRICS)}: the vectors of all rows are compared then"
                raise UnsupportedFeature(f"{error}; or {hint}") from None
            return _by_look(rows, fields, schema, query, files)
        if query.said is None:
            query = replace(query, metric=_metric_in(rows.table, files[0]))
    if not files or rows.ids is None or not _may_use(rows, query):
        return _by_look(rows, fields, schema, query, files)
    factor = _refine_factor(rows.table, query, files[0].entry.index_type)
    most = min(query.count * max(factor, 1), len(rows.ids))
    found = _near(rows, files, query, most)
    covered = BitMap64().union(*(each.covers for each in found))
    near, distances = _nearest_of(found, most)
    others = _indexed_or_all(rows, files) - covered
    parts = list[tuple[pa.Table, Floats]]()
    if factor:
        others |= row_numbers(near)
    elif len(near):
        parts.append((rows.in_order(tuple(field for field in fields if field.name in schema.names), near), distances))
    parts.append(_look(rows.batches(fields, others), schema, query, rows.table.location))
    return _scored(schema, parts, query)


def _metric_in(table: Table, file: SearchFile) -> str:
    """The metric of an index, which is that of the search even where its files are gone round."""
    try:
        return metric_of(table, file)
    except CorruptFile as error:
        hint = f"{error}, and with the option metric of the search, one of {', '.join(METRICS)}: only the file tells it"
        raise (MissingFile(hint, error.path) if isinstance(error, MissingFile) else CorruptFile(hint)) from None


def _files_of_one_kind(rows: SearchedRows, query: VectorQuery) -> list[SearchFile]:
    """The files of the index over the column. Of several kinds, it is the one that covers the most rows."""
    kinds = search_files(rows.table, rows.indexes, query.field.id, VECTOR_KINDS)
    return max(kinds.values(), key=lambda files: sum(file.end - file.start for file in files), default=[])


def _may_use(rows: SearchedRows, query: VectorQuery) -> bool:
    """True if the index has the values that the rows have, and can be asked for the vector."""
    can_ask = can_compare(query.vector[None, :], query.metric)
    return can_ask and may_search(rows.table, rows.snapshot.schema_id, query.field.id)


def _near(rows: SearchedRows, files: Sequence[SearchFile], query: VectorQuery, most: int) -> list[Found]:
    """What the files of the metric have; others cover nothing.

    Raises:
        UnsupportedFeature: the call says no metric, and the files were made by several.
    """
    assert rows.ids is not None
    texts = {key: query.options.get(key) for key in (PROBES, GRAPH_WIDTH)}
    width = Width(*(None if text is None else int(text) for text in texts.values()))
    vector = query.vector.astype(np.float32)
    found = near_rows(rows.table, files, vector, most, rows.ids, width, query.metric)
    metrics = sorted({each.metric for each in found})
    if query.said is None and metrics not in ([], [query.metric]):
        raise UnsupportedFeature(
            f"a vector search in {rows.table.location}: the files of the index over '{query.field.name}' were made by "
            f"the metrics {' and '.join(sorted({*metrics, query.metric}))}; give the option metric"
        )
    return [each for each in found if each.metric == query.metric]


def _nearest_of(found: Sequence[Found], most: int) -> tuple[Ints, Floats]:
    """The rows that are nearest of those that files have, the nearest first, and how far they are."""
    if not found:
        return np.empty(0, np.int64), np.empty(0)
    ids, distances = np.concatenate([each.ids for each in found]), np.concatenate([each.values for each in found])
    ids, distances = best_first(ids, distances)
    return ids[:most], distances[:most]


def _indexed_or_all(rows: SearchedRows, files: Sequence[SearchFile]) -> BitMap64:
    """The rows that are searched: all, or those that the index covers, if an option says so."""
    assert rows.ids is not None
    settings = rows.table.settings.global_index
    if not files or (settings.vector_search_mode or settings.search_mode) != "fast":
        return rows.ids
    return covered_rows(files, rows.ids)


def _by_look(
    rows: SearchedRows,
    fields: tuple[DataField, ...],
    schema: pa.Schema,
    query: VectorQuery,
    files: Sequence[SearchFile],
) -> pa.Table:
    """The rows that are nearest, by a look at each that is searched."""
    wanted = _indexed_or_all(rows, files) if files and rows.ids is not None else None
    return nearest(rows.batches(fields, wanted), schema, query, rows.table.location)


def _refine_factor(table: Table, query: VectorQuery, kind: str) -> int:
    """How many times as many rows are taken from the index, whose vectors are then compared themselves; 0: none are."""
    heads = _heads(query.field.name, kind)
    for texts in (query.options, table.settings.texts):
        for key in (head + end for head in heads for end in REFINE_KEYS):
            if key in texts:
                return _whole(key, texts[key], f"a vector search in {table.location}")
    return 0


def nearest(batches: Iterable[pa.RecordBatch], schema: pa.Schema, query: VectorQuery, location: str) -> pa.Table:
    """The rows that are nearest, the nearest first, with the column SEARCH_SCORE behind the others.

    Rows without a vector are left out; those with NaN or infinite numbers, that have no distance, come last. At most
    ``query.count`` rows, and some batches, are held.

    Args:
        batches: of rows with the column of the vectors.
        schema: of the columns that are wanted.
        query: what is looked for.
        location: of the table, for messages.

    Raises:
        DataError: a vector has not as many numbers as the one that is looked for, or a NULL among them.
    """
    return _scored(schema, [_look(batches, schema, query, location)], query)


def _look(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, query: VectorQuery, location: str
) -> tuple[pa.Table, Floats]:
    """The nearest rows, and how far they are."""
    held: list[tuple[pa.Table, Floats]] = [(schema.empty_table(), np.empty(0))]
    rows = 0
    for batch in batches:
        kept, distances = _measured(batch, query, location)
        held.append((kept.select(schema.names), distances))
        rows += len(distances)
        if rows > query.count + _HELD_ROWS:
            held = [_first(held, query.count)]
            rows = len(held[0][1])
    return _first(held, query.count)


def _scored(schema: pa.Schema, parts: Sequence[tuple[pa.Table, Floats]], query: VectorQuery) -> pa.Table:
    found, distances = _first([(schema.empty_table(), np.empty(0)), *parts], query.count)
    return with_scores(found, query.scores(distances))


def _measured(batch: pa.RecordBatch, query: VectorQuery, location: str) -> tuple[pa.Table, Floats]:
    """The rows of a batch that may be among the nearest, in the order of the batch, and their distances."""
    rows = pa.table(batch)
    column = batch.column(query.field.name)
    if column.null_count:
        rows, column = rows.filter(column.is_valid()), column.drop_null()
    length, numbers = len(query.vector), column.flatten()
    if numbers.null_count:
        raise DataError(
            f"a vector search in {location}: a vector of '{query.field.name}' has a NULL among its numbers, and so no "
            "distance; leave such rows out by a condition, or make the vector NULL"
        )
    if query.field.type.root is Root.ARRAY:
        bad = pc.list_value_length(column).filter(pc.not_equal(pc.list_value_length(column), length))
        if len(bad):
            raise DataError(
                f"a vector search in {location}: the vector that is looked for has {length} numbers, and one of "
                f"'{query.field.name}' has {bad[0].as_py()}; give one of as many, or leave such rows out by a condition"
            )
    distances = query.distances(numbers.to_numpy(zero_copy_only=False).astype(np.float64).reshape(-1, length))
    if len(distances) <= query.count:
        return rows, distances
    chosen = np.sort(np.argsort(distances, kind="stable")[: query.count])
    return rows.take(pa.array(chosen)), distances[chosen]


def _first(held: Sequence[tuple[pa.Table, Floats]], count: int) -> tuple[pa.Table, Floats]:
    """The nearest rows of some, sorted; those that were read first come first of rows at one distance."""
    distances = np.concatenate([each for _, each in held])
    order = np.argsort(distances, kind="stable")[:count]  # NaN is behind all numbers
    return pa.concat_tables([rows for rows, _ in held]).take(pa.array(order)), distances[order]
