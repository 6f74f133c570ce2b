"""A table whose metadata name files outside of it: nothing there is read as part of it, and nothing is deleted.

The victim beside the table is what the table's own file was, and has its size, so that only the rule about names stands
between it and the reader.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from support.faults.damage import change_entries, change_index, change_list, edit_json, snapshot_file
from support.tables.golden_tables import GoldenTable
from watched_store import WatchedFileIO

from paimon_spark import check
from paimon_spark.errors import CorruptFile, OptionError, PaimonError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.manifest import IndexManifestEntry, ManifestEntry
from paimon_spark.format.snapshot import decode_snapshot
from paimon_spark.store import open as table_module
from paimon_spark.store.clean.orphans import remove_orphans_before
from paimon_spark.store.expire.changelogs import expire_all_changelogs
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

OUT = "../../victim"  # from a bucket or metadata directory of the table to what lies beside the table
BROKEN = (OUT, "..", ".", "", "/etc/hostname", "a/b", "a\\b", "a\0b", "bucket-0/../../../victim")


@dataclass(frozen=True)
class Attack:
    """One place of metadata that holds a name.

    Attributes:
        golden: a genuine table that has such a name.
        field: as errors name it.
        apply: gives the place another name, in every snapshot, after the victim has become what it named.
    """

    golden: GoldenTable
    field: str
    apply: Callable[[Path, str], None]


def _to_victim(table: Path, path: Path) -> None:
    if path.is_file():
        shutil.copy(path, table.parent / "victim")


def _snapshots(table: Path) -> list[int]:
    return sorted(int(path.name.removeprefix("snapshot-")) for path in (table / "snapshot").glob("snapshot-*"))


def _data_file(table: Path, name: str) -> None:
    victims: set[str] = set()

    def change(entry: ManifestEntry) -> list[ManifestEntry]:
        old = entry.file.file_name
        victims.add(old)
        if old != min(victims):
            return [entry]
        _to_victim(table, next(iter(table.rglob(old)), table))
        return [entry._replace(file=entry.file._replace(file_name=name))]

    change_entries(table, change)


def _extra_file(table: Path, name: str) -> None:
    def change(entry: ManifestEntry) -> list[ManifestEntry]:
        if not entry.file.extra_files:
            return [entry]
        _to_victim(table, next(iter(table.rglob(entry.file.extra_files[0])), table))
        return [entry._replace(file=entry.file._replace(extra_files=(name,)))]

    change_entries(table, change)


def _manifest(table: Path, name: str) -> None:
    for number in _snapshots(table):
        for kind in ("base", "delta", "changelog"):
            change_list(table, number, kind, lambda meta: [replace(meta, file_name=name)])
    _to_victim(table, next(table.glob("manifest/manifest-*-0")))


def _of_snapshot(key: str, attribute: str) -> Callable[[Path, str], None]:
    def apply(table: Path, name: str) -> None:
        for number in _snapshots(table):
            path = snapshot_file(table, number)
            old = getattr(decode_snapshot(path.read_bytes(), ""), attribute)
            if old is not None:
                _to_victim(table, next(iter(table.rglob(old))))
                edit_json(path, **{key: name})

    return apply


def _index_entries(table: Path, change: Callable[[IndexManifestEntry], IndexManifestEntry]) -> None:
    """Of every index manifest, once: snapshots share them."""
    done: set[str | None] = {None}
    for number in _snapshots(table):
        manifest = decode_snapshot(snapshot_file(table, number).read_bytes(), "").index_manifest
        if manifest not in done:
            change_index(table, number, lambda entry: [change(entry)])
        done.add(manifest)


def _index_file(table: Path, name: str) -> None:
    _index_entries(table, lambda entry: replace(entry, file_name=name))
    _to_victim(table, next(table.glob("index/index-*")))


def _deleted_in(table: Path, name: str) -> None:
    def change(entry: IndexManifestEntry) -> IndexManifestEntry:
        return replace(entry, deletion_ranges=tuple(replace(r, data_file=name) for r in entry.deletion_ranges or ()))

    _index_entries(table, change)


PK = GoldenTable("java-2.1", "pk_dedup")
ATTACKS = {
    "data file": Attack(PK, "_FILE_NAME", _data_file),
    "changelog file": Attack(GoldenTable("java-2.1", "cl_input"), "_FILE_NAME", _data_file),
    "extra file": Attack(GoldenTable("java-2.1", "file_index_external"), "_EXTRA_FILES", _extra_file),
    "manifest": Attack(PK, "_FILE_NAME", _manifest),
    "base list": Attack(PK, "baseManifestList", _of_snapshot("baseManifestList", "base_manifest_list")),
    "delta list": Attack(PK, "deltaManifestList", _of_snapshot("deltaManifestList", "delta_manifest_list")),
    "changelog list": Attack(
        GoldenTable("java-2.1", "cl_input"),
        "changelogManifestList",
        _of_snapshot("changelogManifestList", "changelog_manifest_list"),
    ),
    "index manifest": Attack(
        GoldenTable("java-2.1", "pk_dv"), "indexManifest", _of_snapshot("indexManifest", "index_manifest")
    ),
    "index file": Attack(GoldenTable("java-2.1", "pk_dv"), "_FILE_NAME", _index_file),
    "deletion vector": Attack(GoldenTable("java-2.1", "pk_dv"), "f0", _deleted_in),
    "statistics": Attack(GoldenTable("java-2.1", "analyzed"), "statistics", _of_snapshot("statistics", "statistics")),
}


def _now() -> int:
    return time.time_ns() // 1_000_000


ACTIONS: dict[str, Callable[[Table], Any]] = {
    "read": lambda table: table.scan().to_arrow(),
    "check": check,
    "expire": lambda table: expire_snapshots(table, retain_max=1, retain_min=1, older_than=_now()),
    "changelogs": expire_all_changelogs,
    "orphans": lambda table: remove_orphans_before(table, _now() + 1000, dry_run=False),
}


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> WatchedFileIO:
    watched = WatchedFileIO(LocalFileIO())
    monkeypatch.setattr(table_module, "file_io_for", lambda location, options: watched)
    return watched


def prepared(tmp_path: Path, golden: GoldenTable) -> Path:
    table = golden.unpack(tmp_path / "golden")
    (tmp_path / "victim").write_bytes(b"the victim")
    return Path(shutil.copytree(table, tmp_path / "t"))


@pytest.mark.parametrize(
    ("kind", "name"), [*((kind, OUT) for kind in ATTACKS), *(("data file", name) for name in BROKEN[1:])]
)
def test_a_broken_name_is_named_and_leads_nowhere(kind: str, name: str, tmp_path: Path, store: WatchedFileIO) -> None:
    attack = ATTACKS[kind]
    table = prepared(tmp_path, attack.golden)
    attack.apply(table, name)
    victim = (tmp_path / "victim").read_bytes()
    told = []
    for action in ACTIONS.values():
        try:
            told.append(str(action(open_table(str(table)))))
        except CorruptFile as error:
            told.append(str(error))
    named = f"field '{attack.field}' is {name!r}"
    assert any(named in text and str(table) in text for text in told), told
    assert store.strangers(os.path.realpath(table)) == []
    assert (tmp_path / "victim").read_bytes() == victim


@pytest.mark.parametrize("key", ["scan.fallback-branch", "scan.primary-branch"])
def test_a_branch_that_an_option_names_lies_in_the_table(key: str, tmp_path: Path, store: WatchedFileIO) -> None:
    table = prepared(tmp_path, PK)
    (table / "branch" / "branch-..").mkdir(parents=True)
    for name in ("../../victim", "../..", "x/../../.."):
        with pytest.raises(PaimonError, match="branch"):
            open_table(str(table), {key: name}).scan().to_arrow()
    assert store.strangers(os.path.realpath(table)) == []


def test_the_directory_of_data_files_lies_in_the_table(tmp_path: Path, store: WatchedFileIO) -> None:
    table = prepared(tmp_path, GoldenTable("java-2.1", "data_dir"))
    edit_json(table / "schema" / "schema-0", options={"bucket": "1", "data-file.path-directory": "../t/data"})
    for kind in ("read", "orphans"):
        with pytest.raises(OptionError, match=r"'data-file.path-directory' .* leads out of the table"):
            ACTIONS[kind](open_table(str(table)))
    assert store.strangers(os.path.realpath(table)) == []
