"""Rules for the rows of one data file: each takes all batches in file order, then reports violations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.blob_views import find_no_view
from paimon_spark.arrow.row_buckets import assign_buckets, group_rows
from paimon_spark.arrow.row_hash import hash_rows
from paimon_spark.arrow.types import to_internal
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.managed_blobs import Pack
from paimon_spark.format.manifest import DataFileMeta, ManifestEntry
from paimon_spark.format.paths import file_format_of
from paimon_spark.format.row_kind import DELETE, UPDATE_BEFORE
from paimon_spark.format.schema import KEY_PREFIX, SEQUENCE_NUMBER, SEQUENCE_NUMBER_ID, VALUE_KIND, VALUE_KIND_ID
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.merge.keys.key_order import sort_key_of
from paimon_spark.merge.keys.key_words import Key, KeyColumn, key_columns, key_words, row_key
from paimon_spark.store.checks.report import Rule
from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.storage.referenced import packs_of

_SEQUENCE = DataField(SEQUENCE_NUMBER_ID, SEQUENCE_NUMBER, DataType(Root.BIGINT))
_KIND = DataField(VALUE_KIND_ID, VALUE_KIND, DataType(Root.TINYINT))


class RowCheck(Protocol):
    """One rule, or two that need the same columns."""

    @property
    def fields(self) -> Sequence[DataField]:
        """The columns that the rule needs, as the file names them."""

    def look(self, batch: pa.RecordBatch) -> None:
        """Takes the next rows, at least one."""

    def faults(self) -> Iterator[tuple[Rule, str]]:
        """After all rows: the violated rules, each with a description."""


class PackCheck:
    """The packs to which rows refer are those in the list of the file."""

    def __init__(self, columns: Sequence[DataField], listed: Sequence[Pack] | None) -> None:
        """The check of one file.

        Args:
            columns: the BLOB columns whose bytes are in packs.
            listed: the packs in its list; None: it has no list.
        """
        self.fields = columns
        self._listed = listed
        self._found: set[Pack] = set()

    def look(self, batch: pa.RecordBatch) -> None:
        for field in self.fields:
            self._found.update(packs_of(batch.column(field.name), f"column '{field.name}'"))

    def faults(self) -> Iterator[tuple[Rule, str]]:
        if self._listed is None:
            yield Rule.STORED, "it has references to packs of bytes of BLOB columns, and no list of them"
        elif lacking := sorted(self._found.difference(self._listed)):
            yield Rule.STORED, f"its rows refer to the pack {lacking[0].path}, which its list of packs lacks"


class ViewCheck:
    """The values of columns of `blob-view-field` are views of rows of other tables, wherever they lead."""

    def __init__(self, columns: Sequence[DataField]) -> None:
        """The check of one file. columns: those of views, at least one."""
        self.fields = columns
        self._wrong: dict[str, bytes] = {}

    def look(self, batch: pa.RecordBatch) -> None:
        for field in self.fields:
            wrong = find_no_view(batch.column(field.name))
            if wrong is not None:
                self._wrong.setdefault(field.name, wrong)

    def faults(self) -> Iterator[tuple[Rule, str]]:
        for name, value in self._wrong.items():
            yield Rule.ROWS, f"a value of {len(value)} bytes in the column '{name}' of 'blob-view-field' is no view"


class KeyCheck:
    """Rows are sorted by key, and smallest and greatest key are the recorded ones."""

    def __init__(self, keys: Sequence[DataField], meta: DataFileMeta, repeats: bool) -> None:
        """The check of one file.

        Args:
            keys: the key columns, at least one.
            meta: the metadata of the file.
            repeats: whether neighbouring rows may have the same key.
        """
        self.fields = keys
        self._meta = meta
        self._repeats = repeats
        self._first: tuple[Any, ...] | None = None
        self._last: tuple[Any, ...] = ()
        self._last_key: Key | None = None
        self._is_sorted = True
        self._nulls = 0

    def look(self, batch: pa.RecordBatch) -> None:
        names = [field.name for field in self.fields]
        self._nulls += sum(batch.column(name).null_count for name in names)
        if self._nulls:
            return
        if self._first is None:
            self._first = _values(batch, self.fields, 0)
        self._last = _values(batch, self.fields, batch.num_rows - 1)
        columns = key_columns(batch, names)
        first = row_key(columns, 0)
        if self._last_key is not None:
            self._is_sorted &= self._last_key < first or (self._repeats and self._last_key == first)
        self._is_sorted = self._is_sorted and _ascends(columns, self._repeats)
        self._last_key = row_key(columns, batch.num_rows - 1)

    def faults(self) -> Iterator[tuple[Rule, str]]:
        if self._nulls:
            yield Rule.KEY_ORDER, f"its key columns hold {self._nulls} nulls"
            return
        if not self._is_sorted:
            yield Rule.KEY_ORDER, "its rows are not sorted by key" + ("" if self._repeats else ", each key once")
        types = [field.type for field in self.fields]
        order = sort_key_of(types)
        ends = (("smallest", self._meta.min_key, self._first), ("greatest", self._meta.max_key, self._last))
        for what, recorded, found in ends:
            said = decode_arity_row(recorded, types)
            if found and order(self._as_read(said)) != order(self._as_read(found)):
                yield (
                    Rule.KEY_RANGE,
                    f"its {what} key is {named(self.fields, found)}, recorded is {named(self.fields, said)}",
                )

    def _as_read(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        """A key as an ORC file tells it, which has no blanks at the end of CHAR."""
        if file_format_of(self._meta.file_name) != "orc":
            return key
        return tuple(
            value.rstrip(" ") if field.type.root is Root.CHAR else value
            for value, field in zip(key, self.fields, strict=True)
        )


def _ascends(columns: Sequence[KeyColumn], repeats: bool) -> bool:
    """True if every row is after the one before it (or, with repeats, not before it)."""
    words = key_words(columns, None)
    equal = np.ones(len(words[0]) - 1, np.bool_)
    after = np.zeros(len(words[0]) - 1, np.bool_)
    for word in words:
        after |= equal & (word[1:] > word[:-1])
        equal &= word[1:] == word[:-1]
    return bool((after | equal if repeats else after).all())


class SystemCheck:
    """Every row has a sequence number and a kind; numbers and retractions are the recorded ones."""

    def __init__(self, meta: DataFileMeta, numbers: bool) -> None:
        """The check of one file.

        Args:
            meta: the metadata of the file.
            numbers: whether the recorded sequence numbers are those of the rows.
        """
        self.fields = (_SEQUENCE, _KIND) if numbers else (_KIND,)
        self._meta = meta
        self._numbers = numbers
        self._min, self._max = 2**63 - 1, -(2**63)
        self._retractions = 0
        self._nulls = 0

    def look(self, batch: pa.RecordBatch) -> None:
        self._nulls += sum(batch.column(field.name).null_count for field in self.fields)
        if self._nulls:
            return
        if self._numbers:
            numbers = batch.column(SEQUENCE_NUMBER).to_numpy()
            self._min, self._max = min(self._min, int(numbers.min())), max(self._max, int(numbers.max()))
        self._retractions += int(np.isin(batch.column(VALUE_KIND).to_numpy(), (UPDATE_BEFORE, DELETE)).sum())

    def faults(self) -> Iterator[tuple[Rule, str]]:
        if self._nulls:
            yield Rule.ROWS, f"its columns {SEQUENCE_NUMBER} and {VALUE_KIND} hold {self._nulls} nulls"
            return
        low, high = self._meta.min_sequence_number, self._meta.max_sequence_number
        if self._numbers and self._min <= self._max and (low, high) != (self._min, self._max):
            yield Rule.SEQUENCE, f"its sequence numbers are {self._min} to {self._max}, recorded are {low} to {high}"
        recorded = self._meta.delete_row_count
        if recorded is not None and recorded != self._retractions:
            yield Rule.DELETES, f"it has {self._retractions} rows that retract, recorded are {recorded}"


class PartitionCheck:
    """All rows belong to the partition that the manifest names."""

    def __init__(self, fields: Sequence[DataField], partition: bytes) -> None:
        self.fields = fields
        self._types = [field.type for field in fields]
        self._partition = canonical_row(partition, self._types)
        self._found: str | None = None

    def look(self, batch: pa.RecordBatch) -> None:
        for row, _, rows in group_rows(batch, self.fields, None):
            if canonical_row(row, self._types) != self._partition:
                said = named(self.fields, decode_arity_row(self._partition, self._types))
                there = named(self.fields, decode_arity_row(row, self._types))
                self._found = f"it lies in the partition {said} and has {len(rows)} or more rows of {there}"

    def faults(self) -> Iterator[tuple[Rule, str]]:
        if self._found is not None:
            yield Rule.PARTITION, self._found


class BucketCheck:
    """All rows belong to the bucket that the manifest names."""

    def __init__(self, fields: Sequence[DataField], entry: ManifestEntry, function: str) -> None:
        """The check of one file.

        Args:
            fields: the bucket key, in its order.
            entry: the manifest entry of the file.
            function: `bucket-function.type`.
        """
        self.fields = fields
        self._entry = entry
        self._function = function
        self._found: str | None = None

    def look(self, batch: pa.RecordBatch) -> None:
        buckets = assign_buckets(batch, self.fields, self._entry.total_buckets, self._function)
        wrong = np.flatnonzero(buckets != self._entry.bucket)
        if len(wrong) and self._found is None:
            row = int(wrong[0])
            key = named(self.fields, _values(batch, self.fields, row))
            self._found = (
                f"it lies in bucket {self._entry.bucket}, the row with {key} belongs to bucket {buckets[row]} of "
                f"{self._entry.total_buckets}"
            )

    def faults(self) -> Iterator[tuple[Rule, str]]:
        if self._found is not None:
            yield Rule.BUCKET, self._found


class HashCheck:
    """The HASH index of the bucket has all keys."""

    def __init__(self, keys: Sequence[DataField], hashes: npt.NDArray[np.int32]) -> None:
        """The check of one file.

        Args:
            keys: the key columns.
            hashes: the hashes in the index, ascending.
        """
        self.fields = keys
        self._hashes = hashes
        self._missing = 0

    def look(self, batch: pa.RecordBatch) -> None:
        wanted = hash_rows(batch, self.fields)
        at = np.searchsorted(self._hashes, wanted)
        known = at < len(self._hashes)
        known[known] = self._hashes[at[known]] == wanted[known]
        self._missing += int((~known).sum())

    def faults(self) -> Iterator[tuple[Rule, str]]:
        if self._missing:
            yield Rule.HASH_INDEX, f"the HASH index of its bucket does not know the keys of {self._missing} rows"


def named(fields: Sequence[DataField], values: Sequence[Any]) -> str:
    """Columns with their values, for messages."""
    return ", ".join(f"{f.name.removeprefix(KEY_PREFIX)}={v!r}" for f, v in zip(fields, values, strict=True))


def _values(batch: pa.RecordBatch, fields: Sequence[DataField], row: int) -> tuple[Any, ...]:
    return tuple(to_internal(batch.column(field.name)[row]) for field in fields)
