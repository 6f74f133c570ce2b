"""Compares the values of a data file with the statistics that its manifest holds of them (format section 6).

The walk over the snapshots drops statistics, because those of all files of a large table do not fit in memory. They are
read again, a manifest at a time, when its files are read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.statistics.column_stats import ColumnStats, StatsCollector
from paimon_spark.errors import CorruptFile
from paimon_spark.format.manifest import DataFileMeta, FileKind, ManifestEntry, ManifestFileMeta
from paimon_spark.format.paths import file_format_of
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import UNORDERED, DataField, Root
from paimon_spark.store.checks.report import Rule
from paimon_spark.store.metadata.manifest_files import read_manifest_columns
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.file_statistics import FileStatistics

_KEPT = 2  # manifests: threads that are at the end of one have company of those that have begun the next
_SHOWN = 40  # characters of a value in a message


class StoredStatistics:
    """Finds the metadata of a data file, with its statistics, in the manifest that added it."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._lock = threading.Lock()
        self._manifests: dict[str, ManifestFileMeta] = {}
        self._numbers: dict[str, int] = {}
        self._read: dict[str, Callable[[str], DataFileMeta | None]] = {}

    def note(self, manifest: ManifestFileMeta, entries: Iterable[ManifestEntry]) -> None:
        """Remembers which files a manifest adds."""
        self._numbers.setdefault(manifest.file_name, len(self._numbers))
        for entry in entries:
            if entry.kind == FileKind.ADD:
                self._manifests.setdefault(entry.file.file_name, manifest)

    def order(self, file_name: str) -> int:
        """The number of the manifest of a file: files of one number are best looked up together."""
        manifest = self._manifests.get(file_name)
        return -1 if manifest is None else self._numbers[manifest.file_name]

    def find(self, file_name: str) -> DataFileMeta | None:
        """The metadata of a file with its statistics; None if its manifest has expired concurrently, or is damaged."""
        with self._lock:
            manifest = self._manifests.get(file_name)
            if manifest is None:
                return None
            if manifest.file_name not in self._read:
                while len(self._read) >= _KEPT:
                    del self._read[next(iter(self._read))]
                self._read[manifest.file_name] = self._lookup(manifest)
            return self._read[manifest.file_name](file_name)

    def _lookup(self, manifest: ManifestFileMeta) -> Callable[[str], DataFileMeta | None]:
        try:
            columns = read_manifest_columns(self._table.file_io, self._table.location, [manifest])
        except CorruptFile:  # which the walk has reported, unless it has been deleted since
            return lambda name: None
        names = columns.file_names
        rows = dict(zip(reversed(names), reversed(range(len(names))), strict=True))  # of equal names the first
        return lambda name: columns.entry(rows[name]).file if name in rows else None


class ValueCheck:
    """All columns can be read, and their values are those of the recorded statistics, as far as there are some."""

    def __init__(self, fields: Sequence[DataField], schema: TableSchema, meta: DataFileMeta | None) -> None:
        """The check of one file.

        Args:
            fields: the columns to read, of the schema.
            schema: the schema that the file was written with.
            meta: the metadata of the file with its statistics; None: they are not known.
        """
        self.fields = fields
        plain = [field for field in fields if field.type.root not in UNORDERED]
        recorded: Mapping[str, ColumnStats] = {}
        if meta is not None:
            recorded = FileStatistics([field.name for field in plain], schema, lambda _: schema).of_values(meta)
        self._recorded = recorded
        self._compared = [field for field in plain if field.name in recorded]
        self._is_orc = meta is not None and file_format_of(meta.file_name) == "orc"
        self._collector = StatsCollector(self._compared)

    def look(self, batch: pa.RecordBatch) -> None:
        if self._compared:
            self._collector.add(batch.select([field.name for field in self._compared]))

    def faults(self) -> Iterator[tuple[Rule, str]]:
        found = self._collector.result()
        for field in self._compared:
            there, said = found[field.name], self._recorded[field.name]
            if said.null_count not in (None, there.null_count):
                yield (
                    Rule.VALUES,
                    f"its column '{field.name}' holds {there.null_count} nulls, recorded are {said.null_count}",
                )
            low, high = said.minimum, said.maximum
            if None in (there.minimum, there.maximum):
                continue
            exact = not self._is_orc and field.type.root is not Root.CHAR
            if (low is not None and not _is_low(low, there.minimum, exact)) or (
                high is not None and not _is_high(high, there.maximum, exact)
            ):
                yield (
                    Rule.VALUES,
                    f"its column '{field.name}' holds values from {_text(there.minimum)} to {_text(there.maximum)}, "
                    f"recorded are {_text(low)} to {_text(high)}",
                )


def _is_low(said: Any, found: Any, exact: bool) -> bool:
    """True if a recorded minimum is that of the values; statistics may cut texts and bytes, and ORC shifts values."""
    if not exact:
        return bool(said <= found)
    return found[: len(said)] == said if isinstance(said, (str, bytes)) else bool(said == found)


def _is_high(said: Any, found: Any, exact: bool) -> bool:
    """True if a recorded maximum is that of the values; of a text that was cut, the last character is one greater."""
    if not exact:
        return bool(said >= found)
    if isinstance(said, (str, bytes)):
        return bool(said == found or (said > found and found[: len(said) - 1] == said[:-1]))
    return bool(said == found)


def _text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
