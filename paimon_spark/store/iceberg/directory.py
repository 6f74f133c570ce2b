"""The directory of a table's Iceberg metadata: its files, and their paths as metadata record them.

Java: IcebergPathFactory. The official system compares the paths of files as texts: they stay in the spelling that the
table has had first. Manifests and lists are found by name, wherever their directory is now.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import ConfinedFileIO, FileIO
from paimon_spark.file_io.locate import plain_location
from paimon_spark.format.iceberg.documents import Document, decode_document, encode_document
from paimon_spark.format.iceberg.manifests import (
    Content,
    Entry,
    Manifest,
    decode_entries,
    decode_manifests,
    described,
    encode_entries,
    encode_manifests,
)
from paimon_spark.format.options.option import MB
from paimon_spark.store.storage.files import discard, find_bytes

if TYPE_CHECKING:
    from paimon_spark.store.metadata.table import Table

_VERSION = re.compile(r"v([0-9]{1,19})\.metadata\.json")
HINT = "version-hint.text"


def recorded_location(table: Table) -> str:
    """The location of a table as Iceberg metadata record it, if no earlier ones have another spelling: as the user
    spelled it, with or without ``file:``."""
    plain = plain_location(table.location)
    return f"file:{plain}" if table.location.startswith("file:") else plain


@dataclass
class IcebergDirectory:
    """The Iceberg metadata of one table.

    Attributes:
        table: the table, with the options of the write.
        path: of the directory.
        location: of the table, in the spelling of the metadata.
        written: the new files, to be deleted if they are not published.
    """

    table: Table
    path: str
    location: str
    written: list[str] = field(default_factory=list)
    _uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    _manifests: int = 0

    @property
    def file_io(self) -> FileIO:
        """The store, which changes nothing outside of the directory."""
        store = self.table.file_io
        if isinstance(store, ConfinedFileIO):
            return replace(store, root=self.path, outside=None, publisher=None)
        return store

    def spelled(self, path: str) -> str:
        """A path as metadata record it: of a file of the table, or of an external path."""
        inside = path.startswith(f"{self.table.location}/")
        return self.location + path[len(self.table.location) :] if inside else path

    def spelled_here(self, name: str) -> str:
        """The path of a file of the directory as metadata record it, in the same spelling as the table."""
        if self.path.startswith(f"{self.table.location}/"):
            return self.spelled(f"{self.path}/{name}")
        plain = plain_location(self.path)
        return f"file:{plain}/{name}" if self.location.startswith("file:") else f"{plain}/{name}"

    # ------------------------------------------------------------------------------------------------------ documents

    def versions(self) -> dict[int, str]:
        """The paths of all metadata files, by the snapshot that they are of."""
        found = ((_VERSION.fullmatch(status.name), status.name) for status in self.file_io.list(self.path))
        return {int(match[1]): f"{self.path}/{name}" for match, name in found if match is not None}

    def document(self, version: int) -> Document | None:
        """The metadata file of a snapshot; None: there is none, or it is damaged, which is the same to a writer."""
        path = f"{self.path}/v{version}.metadata.json"
        data = find_bytes(self.file_io, path)
        try:
            return None if data is None else decode_document(data, path)
        except CorruptFile:
            return None

    def write_document(self, version: int, document: Document) -> None:
        self.file_io.overwrite(f"{self.path}/v{version}.metadata.json", encode_document(document))

    def write_hint(self, version: int) -> None:
        """Says which metadata file is the newest."""
        self.file_io.overwrite(f"{self.path}/{HINT}", str(version).encode())

    # ------------------------------------------------------------------------------------------------------ manifests

    def manifests(self, recorded: str) -> list[Manifest]:
        """The manifests of a list.

        Raises:
            CorruptFile, FileNotFoundError: the list is damaged or lost.
        """
        path = self._here(recorded)
        return decode_manifests(self.file_io.read_bytes(path), path)

    def entries(self, manifest: Manifest) -> list[Entry]:
        """The entries of a manifest.

        Raises:
            CorruptFile, FileNotFoundError: it is damaged or lost.
        """
        return list(decode_entries(self.file_io.read_bytes(self._here(manifest.path)), manifest))

    def write_entries(self, entries: Sequence[Entry], snapshot_id: int, content: Content) -> list[Manifest]:
        """Writes entries as manifests of about `manifest.target-file-size`; none for no entries."""
        if not entries:
            return []
        partition = self.table.schema.partition_fields
        data = encode_entries(entries, partition, self.table.settings.iceberg.manifest_compression)
        parts = min(len(entries), -(-len(data) // max(self.table.settings.commits.manifest_target_file_size, MB // 64)))
        if parts > 1:
            size = -(-len(entries) // parts)
            pieces = (entries[i : i + size] for i in range(0, len(entries), size))
            return [meta for piece in pieces for meta in self._write(piece, None, snapshot_id, content)]
        return self._write(entries, data, snapshot_id, content)

    def _write(
        self, entries: Sequence[Entry], data: bytes | None, snapshot_id: int, content: Content
    ) -> list[Manifest]:
        partition = self.table.schema.partition_fields
        if data is None:
            data = encode_entries(entries, partition, self.table.settings.iceberg.manifest_compression)
        self._manifests += 1
        name = f"{self._uuid}-m{self._manifests}.avro"
        self._create(name, data)
        return [described(self.spelled_here(name), len(data), content, snapshot_id, entries, partition)]

    def write_list(self, manifests: Sequence[Manifest]) -> str:
        """Writes a manifest list; returns its path as the document records it."""
        iceberg = self.table.settings.iceberg
        version, legacy = iceberg.format_version, iceberg.manifest_legacy
        name = f"snap-1-{self._uuid}.avro"
        self._create(name, encode_manifests(manifests, version, legacy, iceberg.manifest_compression))
        return self.spelled_here(name)

    def _create(self, name: str, data: bytes) -> None:
        path = f"{self.path}/{name}"
        self.written.append(path)
        self.file_io.write_bytes(path, data)

    # ------------------------------------------------------------------------------------------------------- deleting

    def delete(self, recorded: Iterable[str]) -> None:
        """Deletes files of the directory. What cannot be deleted is logged, and harms nobody."""
        paths = [self._here(path) for path in recorded]
        if paths:
            discard(self.file_io, paths)

    def clear(self) -> None:
        """Deletes the files of an earlier table that was here."""
        self.delete(status.path for status in self.file_io.list(self.path) if not status.is_directory)

    def _here(self, recorded: str) -> str:
        return f"{self.path}/{recorded.rpartition('/')[2]}"
