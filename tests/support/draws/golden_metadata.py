"""The metadata files inside the archives of tests/golden/tables."""

from __future__ import annotations

import re
import tarfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath

from support.paths import GOLDEN


@dataclass(frozen=True)
class GoldenFile:
    """One file of a genuine table; path is relative to the table."""

    writer: str
    table: str
    path: PurePosixPath
    data: bytes = field(repr=False)

    def __str__(self) -> str:
        return f"{self.writer}/{self.table}/{self.path}"


@cache
def _all_files() -> tuple[GoldenFile, ...]:
    files = []
    for archive_path in sorted((GOLDEN / "tables").glob("*/*.tar.gz")):
        writer, table = archive_path.parent.name, archive_path.name.removesuffix(".tar.gz")
        with tarfile.open(archive_path) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None:
                    path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
                    files.append(GoldenFile(writer, table, path, content.read()))
    return tuple(files)


def golden_files(kind: str, writer: str | None = None) -> list[GoldenFile]:
    """The files of a kind: schema, snapshot, tag, manifest, manifest-list or index-manifest."""
    pattern = re.compile(rf"{kind}-(?!list-).*")
    return [file for file in _all_files() if pattern.fullmatch(file.path.name) and writer in (None, file.writer)]
