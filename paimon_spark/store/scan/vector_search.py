"""Finds the rows whose vectors are nearest to one, by a look at each (Java: AbstractDataEvolutionVectorRead, 2.0)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.errors import DataError, OptionError, UnsupportedFeature
from paimon_spark.format.schema import ROW_KIND, SEARCH_SCORE
from paimon_spark.format.types import FLOATS, DataField, Root
from paimon_spark.store.metadata.manifest_files import read_global_indexes
from paimon_spark.store.scan.read_spec import find_fields

if TYPE_CHECKING:
    from paimon_spark.store.scan.table_scan import Scan

METRICS = ("l2", "cosine", "inner_product")
_VECTOR_INDEXES = frozenset(
    {"ivf-flat", "ivf-pq", "ivf-sq", "ivf-rq", "diskann", "lumina", "lumina-vector-ann", "es-index"}
)
_HELD_ROWS = 1 << 16
_NOT_READ = frozenset({"ivf.nprobe", "diskann.l_search"})
Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"


@dataclass(frozen=True)
class VectorQuery:
    """What is looked for.

    Attributes:
        field: the column of the vectors.
        vector: what they are compared with.
        count: how many rows at most, at least 1.
        metric: one of METRICS.
    """

    field: DataField
    vector: Floats
    count: int
    metric: str

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


def vector_query(scan: Scan, column: str, vector: Any, count: int, options: Mapping[str, str]) -> VectorQuery:
    """What is looked for, once it is known that a read can find it.

    Args:
        scan: the read.
        column, vector, count, options: as of Scan.vector_search.

    Raises:
        OptionError: an argument does not fit the table.
        UnsupportedFeature: the column has no vectors, or it is not known by which metric they are to be compared.
    """
    begin = f"a vector search in {scan.table.location}"
    wanted = _numbers(vector, begin)
    (field,) = find_fields(scan.table.schema, (column,))
    if field.type.root not in (Root.ARRAY, Root.VECTOR) or field.type.inner.root not in FLOATS:
        raise UnsupportedFeature(
            f"{begin}: the column '{field.name}' is {field.type.root}, and vectors are ARRAY or VECTOR of "
            "FLOAT or DOUBLE"
        )
    if any(each.name == ROW_KIND for each in scan.fields):
        raise UnsupportedFeature(f"{begin}: rows that retract are not searched; leave the column {ROW_KIND} out")
    if count < 1:
        raise OptionError(f"{begin}: {count} rows are asked for; ask for 1 or more", arguments=("count",))
    if field.type.root is Root.VECTOR and len(wanted) != field.type.length:
        raise OptionError(
            f"{begin}: the vector has {len(wanted)} numbers, and those of '{field.name}' have {field.type.length}; "
            "give one of as many",
            arguments=("vector",),
        )
    return VectorQuery(field, wanted, count, _metric(scan, field, options, begin))


def _numbers(vector: Any, begin: str) -> Floats:
    try:
        found: Floats = np.asarray(vector, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{begin}: the vector is {vector!r:.60}; give numbers", arguments=("vector",)) from None
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
        raise OptionError(f"{begin}: the vector is {vector!r:.60}; give finite numbers in a row", arguments=("vector",))
    return found


def _metric(scan: Scan, field: DataField, options: Mapping[str, str], begin: str) -> str:
    """By which metric vectors are compared.

    Raises:
        OptionError: an option is no metric, or no option of a search.
        UnsupportedFeature: an index was made by another metric, perhaps.
    """
    said = configured_metric(field.name, options)
    unknown = [
        key for key in options if not is_metric_key(key) and key not in _NOT_READ and "refine" not in key.lower()
    ]
    if unknown:
        raise OptionError(f"{begin}: '{unknown[0]}' is no option of a search; give metric", arguments=("options",))
    metric = said or configured_metric(field.name, scan.table.schema.options)
    if metric is not None and metric not in METRICS:
        raise OptionError(f"{begin}: the metric '{metric}' is not known; give one of {', '.join(METRICS)}")
    if said is None:
        _check_indexes(scan, field, begin)
    return metric or "l2"


def is_metric_key(key: str) -> bool:
    """True if an option says by which metric vectors are compared."""
    return key in ("metric", "distance.metric") or key.endswith((".distance.metric", ".metric"))


def configured_metric(column: str, options: Mapping[str, str]) -> str | None:
    """The metric that some options say for a column; None: they say none, or do not agree."""
    own = f"fields.{column}."
    for key in (f"{own}distance.metric", f"{own}metric", "lumina.distance.metric", "distance.metric", "metric"):
        if key in options:
            return _normal(options[key])
    others = {
        _normal(value) for key, value in options.items() if is_metric_key(key) and not key.startswith("fields.")
    } & set(METRICS)
    return others.pop() if len(others) == 1 else None


def _normal(metric: str) -> str:
    return metric.strip().lower().replace("-", "_")


def _check_indexes(scan: Scan, field: DataField, begin: str) -> None:
    """Checks that no index is over the column: its metric goes before that of the table, and only its file tells it."""
    snapshot = scan.table.snapshots.latest()
    if snapshot is None or snapshot.index_manifest is None:
        return
    for entry in read_global_indexes(scan.table.file_io, scan.table.location, snapshot.index_manifest):
        meta = entry.global_index
        if entry.index_type in _VECTOR_INDEXES and meta is not None and meta.index_field_id == field.id:
            raise UnsupportedFeature(
                f"{begin}: an index of type {entry.index_type} is over '{field.name}', and it alone tells by which "
                f"metric its makers compare; give the option metric, one of {', '.join(METRICS)}"
            )


def nearest(scan: Scan, schema: pa.Schema, query: VectorQuery) -> pa.Table:
    """The rows that are nearest, the nearest first, with the column SEARCH_SCORE behind the others.

    Rows without a vector are left out; those with NaN or infinite numbers, that have no distance, come last. At most
    ``query.count`` rows, and some batches, are held.

    Args:
        scan: its columns have the vectors.
        schema: of the columns that are wanted.
        query: what is looked for.

    Raises:
        DataError: a vector has not as many numbers as the one that is looked for, or a NULL among them.
    """
    held: list[tuple[pa.Table, Floats]] = []
    rows = 0
    for batch in scan.to_batches():
        kept, distances = _measured(batch, query, scan.table.location)
        held.append((kept.select(schema.names), distances))
        rows += len(distances)
        if rows > query.count + _HELD_ROWS:
            held = [_first(held, query.count)]
            rows = len(held[0][1])
    empty = (schema.empty_table(), np.empty(0))
    found, distances = _first([empty, *held], query.count)
    return found.append_column(pa.field(SEARCH_SCORE, pa.float32()), query.scores(distances))


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
