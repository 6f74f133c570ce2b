"""What a table asks of every row that comes in (Java: TableWriteImpl, RowKindGenerator, RowKindFilter)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.blob_views import find_no_view, find_unframed
from paimon_spark.arrow.default_values import default_scalar, fill_default
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import DataError, SchemaError
from paimon_spark.format.blob_file import REFERENCE_FRAME, REFERENCE_START, REFERENCE_URI, decode_descriptor
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.row_kind import DELETE, KIND_TEXTS, UPDATE_BEFORE, Kinds
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField, Root
from paimon_spark.merge.keys.window import Refusal

_LONGEST_SCHEME = 64
_WHOLE = r"^(?:/|[A-Za-z][A-Za-z0-9+.\-]*:)"  # what the address of bytes begins with that all readers find


@dataclass(frozen=True)
class RowRules:
    """Prepares incoming batches of one table; build with ``row_rules``.

    Attributes:
        arrow: the schema of incoming batches: all table columns, in order.
        required: columns that must not be null.
        keys: those of them that are in the primary key; without any the table takes inserts only.
        defaults: values that replace nulls, by column position.
        kind_column: the column (rowkind.field) that tells what a row does, or None.
        dropped: kinds of rows that are left out (ignore-delete, ignore-update-before).
        refused: rows that the merge engine could never merge with others.
        references: BLOB columns whose values are references to bytes elsewhere.
        views: BLOB columns whose values are views of rows of other tables.
    """

    table: str
    arrow: pa.Schema
    required: tuple[str, ...]
    keys: tuple[str, ...]
    defaults: tuple[tuple[int, pa.Scalar], ...]
    kind_column: str | None
    dropped: tuple[int, ...]
    refused: tuple[Refusal, ...] = ()
    references: tuple[str, ...] = ()
    views: tuple[str, ...] = ()

    def prepare(self, batch: pa.RecordBatch, kinds: Kinds | None) -> tuple[pa.RecordBatch, Kinds | None]:
        """The rows to store, defaults filled in, and their kinds; None means all are inserts.

        Args:
            batch: rows with all columns of the table, in its order and types.
            kinds: 0 +I, 1 -U, 2 +U, 3 -D for each row, or None.

        Raises:
            DataError: a null where none may be, an unknown kind, a kind that the table cannot take, other columns.
        """
        batch = self._conformed(batch)
        if self.kind_column is not None:
            kinds = self._kinds_of(batch.column(self.kind_column))
        if kinds is not None and not kinds.any():
            kinds = None
        if kinds is not None and self.dropped:
            kept = ~np.isin(kinds, self.dropped)
            if not kept.all():
                batch, kinds = batch.filter(pa.array(kept)), kinds[kept]
        if kinds is not None and not self.keys and len(kinds):
            raise DataError(
                f"the table {self.table} has no primary key and takes inserts only; found a row of kind "
                f"{KIND_TEXTS[int(kinds.max())]}"
            )
        if kinds is not None:
            self._check_kinds(batch, kinds)
        batch = self._with_defaults(batch)
        for name in self.required:
            nulls = batch.column(name).null_count
            if nulls:
                what = "primary key column" if name in self.keys else "NOT NULL column"
                raise DataError(
                    f"the {what} '{name}' of {self.table} is null in at least {nulls} of the rows; filter these rows "
                    "or give them a value"
                )
        for name in self.references:
            self._check_references(name, batch.column(name))
        for name in self.views:
            self._check_views(name, batch.column(name))
        return batch, kinds

    def kept(self, batch: pa.RecordBatch, kinds: Kinds | None) -> npt.NDArray[np.bool_] | None:
        """Which rows prepare does not leave out; None: all. Arguments as for prepare."""
        if self.kind_column is not None:
            kinds = self._kinds_of(batch.column(self.kind_column))
        return None if kinds is None or not self.dropped else ~np.isin(kinds, self.dropped)

    def of_stored_rows(self) -> RowRules:
        """The rules of merged rows of the table: nulls are meant, and all rows stay, as inserts."""
        return replace(self, defaults=(), kind_column=None, dropped=(), refused=())

    def of_columns(self, names: Sequence[str]) -> RowRules:
        """The rules of the values of some columns, in this order; what a row does is not looked at."""
        values = {self.arrow.names[position]: value for position, value in self.defaults}
        return replace(
            self,
            arrow=pa.schema([self.arrow.field(name) for name in names]),
            required=tuple(name for name in self.required if name in names),
            defaults=tuple((position, values[name]) for position, name in enumerate(names) if name in values),
            kind_column=None,
            dropped=(),
            refused=(),
            references=tuple(name for name in self.references if name in names),
            views=tuple(name for name in self.views if name in names),
        )

    def _check_references(self, name: str, values: pa.Array) -> None:
        wrong = find_no_reference(values)
        if wrong is not None:
            raise DataError(
                f"writing to {self.table}: the column '{name}' of 'blob-descriptor-field' holds references to bytes "
                f"elsewhere, and a value of {len(wrong)} bytes is none; make one of a path, with the function "
                "sys.path_to_descriptor in SQL or BlobDescriptor in Python, or write to a BLOB column without this "
                "option"
            )
        relative = find_relative_reference(values)
        if relative is not None:
            raise DataError(
                f"writing to {self.table}: the column '{name}' of 'blob-descriptor-field' gets a reference to "
                f"'{relative:.200}', which each reader would look for in a directory of its own; give the whole path, "
                "such as /data/photo.jpg or s3://bucket/photo.jpg"
            )

    def _check_views(self, name: str, values: pa.Array) -> None:
        wrong = find_no_view(values)
        if wrong is not None:
            raise DataError(
                f"writing to {self.table}: the column '{name}' of 'blob-view-field' holds views, each of a row of "
                f"another table, and a value of {len(wrong)} bytes is none; make one with the function sys.blob_view "
                "in SQL or BlobView in Python. 'blob-view.resolve.enabled' = 'false' reads those of another table"
            )

    def _check_kinds(self, batch: pa.RecordBatch, kinds: Kinds) -> None:
        for refusal in self.refused:
            found = np.bincount(kinds[refusal.rows(batch, kinds)], minlength=len(KIND_TEXTS))
            if found.any():
                texts = " and ".join(text for text, count in zip(KIND_TEXTS, found, strict=True) if count)
                raise DataError(
                    f"writing to {self.table}: found {found.sum()} rows of kind {texts}, which no reader could merge "
                    f"with other rows of their key. {refusal.reason}"
                )

    def _conformed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if batch.schema.names != self.arrow.names or batch.schema.types != self.arrow.types:
            raise DataError(
                f"rows for {self.table} have the columns ({_columns(batch.schema)}), expected ({_columns(self.arrow)})"
            )
        return pa.RecordBatch.from_arrays(batch.columns, schema=self.arrow)

    def _kinds_of(self, column: pa.Array) -> Kinds:
        codes = pc.index_in(column, value_set=pa.array(KIND_TEXTS))
        if codes.null_count:
            position = pc.index(pc.is_null(codes), True).as_py()
            raise DataError(
                f"the column '{self.kind_column}' of {self.table} tells the kind of each row (rowkind.field) and must "
                f"be +I, -U, +U or -D; found {column[position].as_py()!r}"
            )
        kinds: Kinds = codes.to_numpy(zero_copy_only=False).astype(np.int8)
        return kinds

    def _with_defaults(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = batch.columns
        for position, value in self.defaults:
            columns[position] = fill_default(columns[position], value)
        return pa.RecordBatch.from_arrays(columns, schema=self.arrow) if self.defaults else batch


def row_rules(table: str, schema: TableSchema, settings: TableSettings) -> RowRules:
    """The rules of a table.

    Args:
        table: its location, for messages.
        schema: columns, keys, defaults.
        settings: ignore-delete, ignore-update-before, rowkind.field.

    Raises:
        SchemaError: a default value does not fit its column.
    """
    dropped: set[int] = set()
    if settings.ignore_delete:
        dropped |= {UPDATE_BEFORE, DELETE}
    if settings.ignore_update_before:
        dropped.add(UPDATE_BEFORE)
    defaults = [(i, _default(table, f)) for i, f in enumerate(schema.fields) if f.default_value is not None]
    return RowRules(
        table=table,
        arrow=arrow_schema(schema.fields),
        required=tuple(f.name for f in schema.fields if not f.type.nullable or f.name in schema.primary_keys),
        keys=tuple(schema.primary_keys),
        defaults=tuple(defaults),
        kind_column=settings.rowkind_field,
        dropped=tuple(sorted(dropped)),
        references=tuple(
            field.name
            for field in schema.fields
            if field.type.root is Root.BLOB and field.name in settings.blob_descriptor_field
        ),
        views=tuple(name for name in settings.blob_view_field if name in schema.by_name),
    )


def find_no_reference(values: pa.Array) -> bytes | None:
    """One of the values that is no reference to a blob (Java: BlobDescriptor.deserialize); None: all are, or NULL."""
    return find_unframed(values, REFERENCE_START, REFERENCE_FRAME)


def find_relative_reference(values: pa.Array) -> str | None:
    """The address of a reference that is no whole path; None: there is none.

    Args:
        values: references, or NULL.
    """
    found = values.drop_null()
    whole = pc.match_substring_regex(pc.binary_slice(found, REFERENCE_URI, REFERENCE_URI + _LONGEST_SCHEME), _WHOLE)
    wrong = found.filter(pc.invert(whole))
    return decode_descriptor(wrong[0].as_py(), "a reference").uri if len(wrong) else None


def _default(table: str, field: DataField) -> pa.Scalar:
    try:
        return default_scalar(field)
    except SchemaError as error:
        raise SchemaError(f"the table {table}: {error}; change or drop the default value") from None


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
