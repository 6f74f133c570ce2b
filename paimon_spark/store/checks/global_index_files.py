"""Checks files of indexes of a whole table against their entries in index manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from paimon_spark.errors import CorruptFile, MissingFile, UnsupportedFeature
from paimon_spark.format.global_index.file_meta import read_key_bounds
from paimon_spark.format.global_index.keys import Interval, global_key_form
from paimon_spark.format.global_index.vectors import VECTOR_KINDS
from paimon_spark.format.manifest import GlobalIndexMeta, IndexManifestEntry
from paimon_spark.store.checks.report import Findings, Rule
from paimon_spark.store.global_index.index_files import SortedRows, opened_global_index
from paimon_spark.store.global_index.search_files import check_texts, vectors_in
from paimon_spark.store.metadata.global_indexes import type_of_keys
from paimon_spark.store.metadata.table import Table


def check_global_index_file(table: Table, label: str, path: str, entry: IndexManifestEntry, findings: Findings) -> None:
    """Reads an index file: its rows, and the bounds of its keys.

    Args:
        table: the table of the file.
        label: the name of the snapshot, for problems.
        path: the path of the file.
        entry: its entry in the index manifest, of a file that can_open.
        findings: receives the problems.
    """
    meta = entry.global_index
    data_type = None if meta is None else type_of_keys(table.schema, table.schemas, meta.index_field_id)
    if meta is None or data_type is None:
        return  # the column was dropped, or changed its type: no reader uses the file
    try:
        form = global_key_form(data_type)
        bounds = read_key_bounds(meta.index_meta)
        with opened_global_index(table.file_io, path, entry, form) as rows:
            for found in _faults(entry, meta, rows):
                findings.add(Rule.GLOBAL_INDEX, label, path, found)
            if bounds.has_nulls != bool(rows.nulls()):
                findings.add(Rule.GLOBAL_INDEX, label, path, f"rows that are NULL are recorded: {bounds.has_nulls}")
            if bounds.first is None or bounds.last is None:
                if rows.present():
                    findings.add(Rule.GLOBAL_INDEX, label, path, "it has keys, and none is recorded")
                return
            first, last = form.loaded(bounds.first), form.loaded(bounds.last)
            for outside in (Interval(high=first, with_high=False), Interval(low=last, with_low=False)):
                if rows.rows(outside):
                    findings.add(Rule.GLOBAL_INDEX, label, path, "it has keys outside of the recorded ones")
            if not rows.rows(Interval(first, first)) or not rows.rows(Interval(last, last)):
                findings.add(Rule.GLOBAL_INDEX, label, path, "it has not the first and the last key that are recorded")
    except MissingFile:
        return  # reported as a missing file
    except UnsupportedFeature as error:
        findings.note(str(error))
    except CorruptFile as error:
        findings.add(Rule.GLOBAL_INDEX, label, path, str(error))


def check_search_file(table: Table, label: str, path: str, entry: IndexManifestEntry, findings: Findings) -> None:
    """Opens an index file that searches use.

    Args:
        table, label, path, findings: as of check_global_index_file.
        entry: its entry in the index manifest, of one of SEARCH_KINDS.
    """
    try:
        if entry.index_type not in VECTOR_KINDS:
            check_texts(table, path)
        elif (count := vectors_in(table, path)) > entry.row_count:
            findings.add(Rule.GLOBAL_INDEX, label, path, f"it has {count} vectors, and {entry.row_count} rows")
    except MissingFile:
        return  # reported as a missing file
    except UnsupportedFeature as error:
        findings.note(str(error))
    except CorruptFile as error:
        findings.add(Rule.GLOBAL_INDEX, label, path, str(error))


def _faults(entry: IndexManifestEntry, meta: GlobalIndexMeta, rows: SortedRows) -> Iterator[str]:
    nulls, present = rows.nulls(), rows.present()
    every = nulls | present
    if nulls & present:
        yield f"{len(nulls & present)} rows have a key and are NULL"
    if len(every) != entry.row_count:
        yield f"it has {len(every)} rows, and {entry.row_count} are recorded"
    if every and every.max() > meta.row_range_end - meta.row_range_start:
        yield f"it has row {every.max()} of {meta.row_range_end - meta.row_range_start + 1}"


def range_faults(index: Iterable[IndexManifestEntry], next_row_id: int | None) -> Iterator[str]:
    """Descriptions of index files whose ranges of row ids cannot be.

    Args:
        index: the index files of a snapshot.
        next_row_id: the first id that no row of the snapshot has; None: its rows have no ids.
    """
    by_columns: dict[tuple[str, tuple[int, ...]], set[tuple[int, int]]] = {}
    for entry in index:
        meta = entry.global_index
        if meta is None or meta.source_meta is not None:
            continue
        if not 0 <= meta.row_range_start <= meta.row_range_end < (next_row_id or 0):
            yield (
                f"{entry.file_name} is over the row ids {meta.row_range_start} to {meta.row_range_end}, and the "
                f"snapshot has given ids below {next_row_id or 0}"
            )
        columns = (meta.index_field_id, *(meta.extra_field_ids or ()))
        # files of an index over one range have different keys
        by_columns.setdefault((entry.index_type, columns), set()).add((meta.row_range_start, meta.row_range_end))
    for (kind, columns), spans in by_columns.items():
        for (_, end), (start, _) in pairwise(sorted(spans)):
            if start <= end:
                yield f"files of the {kind} index over the columns {columns} have the row id {start} in common"
