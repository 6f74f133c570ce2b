"""Leaves out files and sections of buckets by the indexes of their files, after statistics have left out others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.merge.keys.sections import Section
from paimon_spark.store.pruning.bucket_parts import IndexedParts, Parts
from paimon_spark.store.pruning.index_filter import IndexFilter, PlacedFile


def leave_out_by_index(
    index: IndexFilter,
    buckets: Sequence[tuple[str, Parts]],
    parts_of: Callable[[Sequence[DataFileMeta]], Parts],
    keeps_sections: bool,
) -> list[IndexedParts]:
    """What the indexes leave of each bucket. The same rules hold as for statistics (see merged_parts).

    Args:
        index: of the read.
        buckets: the directory of each, and what statistics leave of it.
        parts_of: makes the parts of a bucket of some files.
        keeps_sections: whether a section is read even if no row of its files satisfies the condition.
    """
    if not index.is_useful:
        return [IndexedParts(parts, {}, 0) for _, parts in buckets]
    index.look(PlacedFile(directory, file) for directory, parts in buckets for file in _files(parts))
    return [_left(index, directory, parts, parts_of, keeps_sections) for directory, parts in buckets]


def _left(
    index: IndexFilter,
    directory: str,
    parts: Parts,
    parts_of: Callable[[Sequence[DataFileMeta]], Parts],
    keeps_sections: bool,
) -> IndexedParts:
    files = list(_files(parts))
    verdicts = {file.file_name: index.verdict(PlacedFile(directory, file)) for file in files}
    by_key = [file for file in files if verdicts[file.file_name].by_key]
    alone, sections = parts if len(by_key) == len(files) else parts_of(by_key)
    kept = [file for file in alone if verdicts[file.file_name].by_value]
    if not keeps_sections:
        sections = [s for s in sections if any(verdicts[file.file_name].by_value for file in _of_section(s))]
    rows = {file.file_name: found for file in kept if (found := verdicts[file.file_name].rows) is not None}
    left = len(kept) + sum(1 for section in sections for _ in _of_section(section))
    return IndexedParts((kept, sections), rows, len(files) - left)


def _files(parts: Parts) -> Iterator[DataFileMeta]:
    yield from parts[0]
    for section in parts[1]:
        yield from _of_section(section)


def _of_section(section: Section) -> Iterator[DataFileMeta]:
    return (file for run in section for file in run.files)
