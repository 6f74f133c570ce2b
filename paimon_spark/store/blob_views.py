"""Follows views of blobs to the rows of other tables that have the bytes (Java: BlobViewLookup, release 2.0).

The views of a batch are grouped by their tables. Each table is planned once for a read, at its newest state, and of its
files only those are read that have one of the rows. What is found are references to bytes, which nobody has read yet.

May import: ``store.scan``.
Libraries: ``pyroaring``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64

from paimon_spark.arrow.blob_views import Views, decode_views
from paimon_spark.arrow.predicates.predicate import TRUE
from paimon_spark.arrow.raw_values import to_numpy
from paimon_spark.errors import MissingRow, SnapshotNotFound, TableNotFound, UnsupportedFeature
from paimon_spark.file_io import FileIO
from paimon_spark.format.rules.blobs import AS_REFERENCES
from paimon_spark.format.schema import ROW_ID
from paimon_spark.format.types import DataField, Root
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.pruning.by_row_id import with_rows
from paimon_spark.store.read.splits import Split
from paimon_spark.store.scan.new_scan import new_scan
from paimon_spark.store.scan.read_spec import Plan
from paimon_spark.store.storage.catalog_tables import CatalogTables
from paimon_spark.store.storage.parallel import map_parallel

Ints: TypeAlias = npt.NDArray[np.int64]
Opener: TypeAlias = Callable[[str, Mapping[str, str]], Table]
_LONGEST = 100  # views that lead from one to the next
_READ_THREADS = 4
_OTHERWISE = "'blob-view.resolve.enabled' = 'false' reads the views themselves"


@dataclass(frozen=True)
class CatalogViews:
    """Follows views to tables of a catalog; see BlobViews.

    Attributes:
        tables: of the catalog.
        opened: opens one of them, by its location and options.
    """

    tables: CatalogTables
    opened: Opener

    def lookup(self) -> Lookup:
        return Lookup(self)


@dataclass
class _Upstream:
    """A table to which views lead, as one read sees it; it is planned when rows are first looked for."""

    table: Table
    place: int
    plan: Plan | None = None


class Lookup:
    """See ViewLookup."""

    def __init__(self, views: CatalogViews) -> None:
        """Asks for nothing yet."""
        self._views = views
        self._known: dict[str, _Upstream] = {}
        self._stores: list[tuple[FileIO, str]] = []

    @property
    def stores(self) -> Sequence[tuple[FileIO, str]]:
        return self._stores

    def follow(self, values: pa.Array, where: str) -> tuple[pa.Array, Ints]:
        places = np.full(len(values), -1)
        waiting = np.flatnonzero(to_numpy(values.is_valid()))
        for _ in range(_LONGEST):
            if not len(waiting):
                return values, places
            views = decode_views(values.take(pa.array(waiting)), where)
            found, stores, are_views = self._referenced(views, where)
            order = np.arange(len(values))
            order[waiting] = len(values) + np.arange(len(waiting))
            values = pa.concat_arrays([values, found]).take(pa.array(order))
            places[waiting] = stores
            waiting = waiting[are_views & to_numpy(found.is_valid())]
        raise UnsupportedFeature(
            f"reading {where}: views lead to views more than {_LONGEST} times, perhaps in a circle; write views of the "
            f"table that has the bytes. {_OTHERWISE}"
        )

    def _referenced(self, views: Views, where: str) -> tuple[pa.Array, Ints, npt.NDArray[np.bool_]]:
        """What the tables have for views: references, views or NULL; the stores of the tables; which are views."""
        chunks: list[pa.Array] = []
        places, stores = np.empty(len(views.table), np.int64), np.empty(len(views.table), np.int64)
        are_views, count = np.zeros(len(views.table), np.bool_), 0
        for number, name in enumerate(views.names):
            upstream = self._upstream(name, where)
            mine = np.flatnonzero(views.table == number)
            stores[mine] = upstream.place
            columns = _columns(upstream.table, views.field_ids[mine], name, where)
            ids, rows = self._rows(upstream, [field for field, _ in columns.values()], views.row_ids[mine])
            at = np.searchsorted(ids, views.row_ids[mine])
            wrong = np.flatnonzero(~np.isin(views.row_ids[mine], ids))
            if len(wrong):
                raise MissingRow(
                    f"reading {where}: a view leads to the row {views.row_ids[mine][wrong[0]]} of the table {name}, "
                    "which has none of this number for the reader: it was deleted, or got another number when deleted "
                    f"rows were left out. Write the row anew, with a view of a row that is there. {_OTHERWISE}"
                )
            for field_id, (field, is_view) in columns.items():
                of_field = views.field_ids[mine] == field_id
                places[mine[of_field]] = count + at[of_field]
                are_views[mine[of_field]] = is_view
                chunks.append(rows.column(field.name).combine_chunks())
                count += len(ids)
        return pa.concat_arrays(chunks).take(pa.array(places)), stores, are_views

    def _upstream(self, name: str, where: str) -> _Upstream:
        if name not in self._known:
            database, _, table_name = name.partition(".")
            place = self._views.tables.place(database, table_name)
            try:
                if place is None:
                    raise TableNotFound(f"the catalog has no table {name}")
                table = self._views.opened(place, {**self._views.tables.storage, **AS_REFERENCES})
            except (TableNotFound, SnapshotNotFound) as error:
                raise MissingRow(
                    f"reading {where}: a view leads to the table {name}, which is not there: dropped or renamed. Give "
                    f"it its name again, or write views of another. {_OTHERWISE}"
                ) from error
            if not table.schema.tracking_fields:
                raise UnsupportedFeature(
                    f"reading {where}: a view leads to the table {name}, whose rows have no ids "
                    f"('row-tracking.enabled'). {_OTHERWISE}"
                )
            self._stores.append((table.file_io, table.location))
            self._known[name] = _Upstream(table, len(self._stores) - 1)
        return self._known[name]

    def _rows(self, upstream: _Upstream, fields: list[DataField], row_ids: Ints) -> tuple[Ints, pa.Table]:
        """Rows of a table that are there, sorted by their ids: the ids, and some columns."""
        table = upstream.table
        (row_id,) = (field for field in table.schema.tracking_fields if field.name == ROW_ID)
        scan = new_scan(table, (*fields, row_id), TRUE)
        if upstream.plan is None:
            upstream.plan = scan.plan()
        reader, wanted = scan.reader(), BitMap64(np.unique(row_ids).astype(np.uint64))
        splits = [with_rows(split, wanted) for split in upstream.plan.splits if isinstance(split, Split)]
        batches = map_parallel(lambda split: list(reader.read(split)), [s for s in splits if s], _READ_THREADS)
        rows = pa.Table.from_batches([batch for part in batches for batch in part], scan.arrow_schema)
        ids = to_numpy(rows.column(ROW_ID).combine_chunks())
        order = np.argsort(ids, kind="stable")
        return ids[order], rows.take(pa.array(order))


def _columns(table: Table, field_ids: Ints, name: str, where: str) -> dict[int, tuple[DataField, bool]]:
    """The columns of a table by their ids, and whether their values are views.

    Raises:
        MissingRow: the table has no such column, or one that has no blobs.
    """
    known = {field.id: field for field in table.schema.fields}
    found = {}
    for field_id in np.unique(field_ids).tolist():
        field = known.get(field_id)
        if field is None or field.type.root is not Root.BLOB:
            has = "no column" if field is None else f"the column '{field.name}', which is no BLOB,"
            raise MissingRow(
                f"reading {where}: a view leads to the column with the id {field_id} of the table {name}, which has "
                f"{has} of this id. Write views of a BLOB column. {_OTHERWISE}"
            )
        found[field_id] = field, field.name in table.settings.blob_view_field
    return found
