"""Reads of tables of which a server lets users see a part: rows that a filter passes, and masks in place of values.

The server is asked for each read, with the columns that the read shows or compares (Java: AbstractDataTableScan and
TableQueryAuthResult). Filters look at the values as they are stored, and so do the columns that a mask is made of. The
condition of the user looks at what the user may see: its parts on masked columns are applied to the masks, and neither
prune files nor rows before. (Java's scans prune by the stored values.) Statistics answer nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from paimon_spark.arrow.conform import conform
from paimon_spark.arrow.predicates.evaluate import filter_batch
from paimon_spark.arrow.predicates.predicate import Predicate, and_, columns_of, conjuncts
from paimon_spark.arrow.predicates.server_limits import RowFilter, decode_filter, decode_masks
from paimon_spark.arrow.predicates.transforms import Transform
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.schema import PARTITION, ROW_KIND_FIELD, TableSchema, tells_place
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.row_places import named_metadata
from paimon_spark.store.read.split_files import BATCH_ROWS

if TYPE_CHECKING:
    from paimon_spark.store.read.branched_reader import BranchedReader
    from paimon_spark.store.read.split_reader import SplitReader
    from paimon_spark.store.read.splits import ReadUnit
    from paimon_spark.store.scan.table_scan import Scan
    from paimon_spark.store.storage.served import QueryAuth

    StoredReader: TypeAlias = "SplitReader | BranchedReader"


@dataclass(frozen=True)
class RowLimits:
    """What a server lets a user read of a table.

    Attributes:
        auth: the server.
        asked: the columns that it was asked for.
        filter: which rows.
        masks: what is shown in the place of columns, by their names.
    """

    auth: QueryAuth
    asked: frozenset[str]
    filter: RowFilter
    masks: tuple[tuple[str, Transform], ...]

    @property
    def is_open(self) -> bool:
        """True if all rows are shown, and all values as they are."""
        return self.filter == RowFilter() and not self.masks

    @cached_property
    def masked(self) -> dict[str, Transform]:
        """The masks."""
        return dict(self.masks)

    def refused(self, doing: str) -> UnsupportedFeature:
        """The error of what cannot keep to the limits.

        Args:
            doing: what it is, of the table.
        """
        return UnsupportedFeature(
            f"{doing} of {self.auth.name}: the server of the REST catalog filters its rows or masks its columns for "
            "this user ('query-auth.enabled'), and this would show, or write, more or less than that; a user who may "
            "read all of the table can do it"
        )


def limits_of(table: Table, columns: Iterable[str]) -> RowLimits | None:
    """What the server of a table lets the user read now; None: the table has no such server.

    The server knows the columns of the main branch by their names of now. Other branches, earlier states, and a table
    that was opened before a column was renamed have other names, for which its rules would not count.

    Args:
        columns: those that a read shows or compares; names that the table does not have count for nothing.

    Raises:
        AccessDenied: one of the columns must not be read.
        StorageError: the server does not answer.
        UnsupportedFeature: it asks for something that this release cannot do; or it filters or masks, and a column of
            the read has another name now.
    """
    if table.auth is None:
        return None
    wanted = frozenset(columns) & table.schema.by_name.keys()
    now = SchemaStore(table.file_io, table.location).latest() or table.schema
    renamed = _renamed(table.schema, now)
    rules = table.auth.ask([renamed.get(name) or name for name in table.schema.names if name in wanted])
    found = _decoded(table.auth, wanted, now, rules)
    if found.is_open:
        return found
    looked_at = found.filter.columns.union(*(mask.columns for _, mask in found.masks))
    others = sorted(name for name, is_now in renamed.items() if name in wanted or {name, is_now} & looked_at)
    if others:
        is_now = "is no more" if renamed[others[0]] is None else f"is '{renamed[others[0]]}' now"
        raise UnsupportedFeature(
            f"reading {table.auth.name} with other columns than the table has now: the server of the REST catalog "
            f"filters its rows or masks its columns for this user by their names of now, and '{others[0]}' {is_now}; "
            "open the table again and read its newest state, or leave the column out"
        )
    return _decoded(table.auth, wanted, table.schema, rules)


def _decoded(
    auth: QueryAuth, wanted: frozenset[str], schema: TableSchema, rules: tuple[Sequence[str], Mapping[str, str]]
) -> RowLimits:
    doing, fields = f"reading {auth.name}", schema.fields
    return RowLimits(auth, wanted, decode_filter(rules[0], fields, doing), decode_masks(rules[1], fields, doing))


def _renamed(read: TableSchema, now: TableSchema) -> dict[str, str | None]:
    """The columns of a schema that have another name now, and that name; None: they are no more."""
    names = {field.id: field.name for field in now.fields}
    return {field.name: names.get(field.id) for field in read.fields if names.get(field.id) != field.name}


def check_unlimited(table: Table, doing: str) -> None:
    """Checks that the user may read all of a table, as it is stored.

    Args:
        doing: what needs that: "changing rows".

    Raises:
        UnsupportedFeature: the server filters rows or masks columns.
        AccessDenied: some columns must not be read.
    """
    limits = limits_of(table, table.schema.names)
    if limits is not None and not limits.is_open:
        raise limits.refused(doing)


def with_limits(scan: Scan, known: RowLimits | None = None) -> Scan:
    """A scan with the limits of its table.

    Args:
        scan: of which the columns and the condition are those of the result.
        known: limits of an earlier form of the scan; the server is asked again only if there are further columns.

    Raises:
        PaimonError: as of ``limits_of``.
        UnsupportedFeature: parts of masked VARIANT values are wanted, or files whose names tell masked values.
    """
    table, spec = scan.table, scan.spec
    parts = {part.field.name: part.column for part in spec.parts}
    named = {*(field.name for field in spec.fields), *columns_of(spec.predicate)}
    columns = {parts.get(name, name) for name in named}
    wanted = columns & table.schema.by_name.keys()
    limits = known if known is not None and wanted <= known.asked else limits_of(table, wanted)
    if limits is not None:
        _check_shown(table.schema, limits, scan, set(parts.values()))
    return replace(scan, limits=limits)


def _check_shown(schema: TableSchema, limits: RowLimits, scan: Scan, parts: set[str]) -> None:
    if parts & limits.masked.keys():
        raise limits.refused(f"reading parts of the column '{min(parts & limits.masked.keys())}'")
    named = named_metadata(schema, scan.fields, scan.predicate)
    places = [field for field in named if tells_place(field) or field.name == PARTITION]
    if places and limits.masked.keys() & set(schema.partition_keys):
        raise limits.refused(f"reading {places[0].name}, which tells the values of a masked partition column,")


def stored_scan(scan: Scan, limits: RowLimits) -> Scan:
    """The read of the stored values that a limited scan needs, of rows that may pass."""
    if limits.is_open:
        return replace(scan, limits=None)
    before, after = _divided(scan.predicate, limits)
    needed = set(limits.filter.columns) if limits.filter.computed else set[str]()
    for name in {*(field.name for field in scan.fields), *columns_of(after)}:
        mask = limits.masked.get(name)
        needed |= {name} if mask is None else mask.columns
    own = {field.name: field for field in scan.fields}
    known = own | {field.name: field for field in _hidden(scan)} | dict(scan.table.schema.by_name)
    kept = [field for field in scan.fields if field.name not in limits.masked or field == ROW_KIND_FIELD]
    more = sorted(needed - {field.name for field in kept})
    fields = (*kept, *(known[name] for name in more))
    spec = replace(scan.spec, fields=fields, predicate=and_(before, limits.filter.of_columns), first=None)
    return replace(scan, spec=spec, limits=None)


def _hidden(scan: Scan) -> tuple[DataField, ...]:
    return (*named_metadata(scan.table.schema, (), scan.predicate), *(part.field for part in scan.spec.parts))


def _divided(predicate: Predicate, limits: RowLimits) -> tuple[Predicate, Predicate]:
    """The parts of a condition on columns as they are stored, and those on masked columns."""
    parts = conjuncts(predicate)
    masked = [bool(columns_of(part) & limits.masked.keys()) for part in parts]
    before = [part for part, is_masked in zip(parts, masked, strict=True) if not is_masked]
    after = [part for part, is_masked in zip(parts, masked, strict=True) if is_masked]
    return and_(*before), and_(*after)


@dataclass(frozen=True)
class LimitedReader:
    """Reads the splits of a limited scan; picklable.

    Attributes:
        reader: of the values as they are stored.
        fields: of the result, in order.
        limits: what is shown of them.
        after: a condition on masked columns, which looks at the masks.
    """

    reader: StoredReader
    fields: tuple[DataField, ...]
    limits: RowLimits
    after: Predicate

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The exact schema of every batch."""
        return arrow_schema(self.fields)

    def read(self, split: ReadUnit, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows of a split that the user may read, as the user may see them.

        Raises:
            DataError: a mask cannot be made of a value.
            PaimonError: as of the reader.
        """
        for batch in self.reader.read(split, batch_rows):
            kept = self.limits.filter.kept(batch) if self.limits.filter.computed else batch  # else the reader did it
            shown = self._shown(kept)
            if shown.num_rows:
                yield shown

    def _shown(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows with the masks in their place, of which the condition is true."""
        names = list(dict.fromkeys([*self.arrow_schema.names, *sorted(columns_of(self.after))]))
        if not names:
            return rows.select([])
        masks = {name: mask for name, mask in self.limits.masks if name in names}
        arrays = [masks[name].values(rows) if name in masks else rows.column(name) for name in names]
        made = filter_batch(self.after, pa.RecordBatch.from_arrays(arrays, names=names))
        columns = [conform(made.column(field.name), field.type) for field in self.arrow_schema]
        if not columns:
            return made.select([])
        return pa.RecordBatch.from_arrays(columns, schema=self.arrow_schema)


def limited_reader(scan: Scan, limits: RowLimits) -> StoredReader | LimitedReader:
    """The reader of a limited scan."""
    reader = stored_scan(scan, limits).reader()
    assert not isinstance(reader, LimitedReader)
    if limits.is_open:
        return reader
    return LimitedReader(reader, scan.fields, limits, _divided(scan.predicate, limits)[1])
