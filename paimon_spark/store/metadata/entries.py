"""Folds manifest entries, which are changes, into live files (format section 4.5; Java: FileEntry.mergeEntries)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from paimon_spark.format.manifest import FileKind, ManifestEntry

Identity: TypeAlias = tuple[bytes, int, int, str, tuple[str, ...], bytes | None, str | None]


class AddedTwice(ValueError):
    """A file was added although it is already live."""


def fold_entries(entries: Iterable[ManifestEntry]) -> list[ManifestEntry]:
    """The result of changes applied in order: files added and not deleted, and deletions of files added elsewhere.

    Raises:
        AddedTwice: an ADD of a file that is already live, or that was deleted before.
    """
    folded: dict[Identity, ManifestEntry] = {}
    for entry in entries:
        identity = entry.identity
        known = folded.get(identity)
        if entry.kind == FileKind.ADD:
            if known is not None:
                raise AddedTwice(f"{entry.file.file_name} of level {entry.file.level} in bucket {entry.bucket}")
            folded[identity] = entry
        elif known is not None and known.kind == FileKind.ADD:
            del folded[identity]
        else:
            folded[identity] = entry
    return list(folded.values())


def record_count(entries: Iterable[ManifestEntry]) -> int:
    """Rows added minus rows deleted (format section 3.1, totals)."""
    return sum(e.file.row_count if e.kind == FileKind.ADD else -e.file.row_count for e in entries)
