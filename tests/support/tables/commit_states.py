"""What a commit left behind, and rivals that commit in between: helpers of the commit tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.format.manifest import FileKind
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.metadata.manifest_files import read_data_manifests, read_manifest_list, read_manifests
from paimon_spark.store.metadata.table import Table
from support.faults.faulty_store import FaultyFileIO
from support.tables.files_by_hand import partition

X, Y = partition("x"), partition("y")


def latest(table: Table) -> Snapshot:
    snapshot = table.snapshots.latest()
    assert snapshot is not None
    return snapshot


def live(table: Table) -> set[str]:
    return {e.file.file_name for e in table_state(table, latest(table)).live_entries(None)}


def delta(table: Table) -> list[tuple[str, str]]:
    """(ADD or DELETE, file name) of the latest snapshot's own changes."""
    snapshot = latest(table)
    metas = read_manifest_list(table.file_io, table.location, snapshot.delta_manifest_list)
    entries = read_manifests(table.file_io, table.location, metas)
    return [(FileKind(e.kind).name, e.file.file_name) for e in entries]


class Between(FaultyFileIO):
    """A store where something happens just before a snapshot, or another file of metadata, is published."""

    def __init__(self, inner: FileIO, happens: list[Callable[[], object]], folder: str = "snapshot") -> None:
        super().__init__(inner)
        self._happens, self._folder = happens, folder

    def create_if_absent(self, path: str, data: bytes) -> bool:
        if f"/{self._folder}/" in path and self._happens:
            self._happens.pop(0)()
        return super().create_if_absent(path, data)


def with_rivals(table: Table, *rivals: Callable[[], object], folder: str = "snapshot") -> Table:
    """The table, where before each attempt to publish a file of a folder one of the rivals acts."""
    return replace(table, file_io=Between(LocalFileIO(), list(rivals), folder))


def metadata_files(table: Table) -> set[str]:
    return {status.name for status in table.file_io.list(f"{table.location}/manifest")}


def named_metadata(table: Table) -> set[str]:
    names: set[str] = set()
    for snapshot_id in table.snapshots.ids():
        snapshot = table.snapshots.load(snapshot_id)
        names |= {snapshot.base_manifest_list, snapshot.delta_manifest_list}
        names |= {m.file_name for m in read_data_manifests(table.file_io, table.location, snapshot)}
        if snapshot.index_manifest is not None:
            names.add(snapshot.index_manifest)
    return names


# --- what a snapshot says -------------------------------------------------------------------------------------------
