"""Files that the store refuses to delete: they hold up nothing, are told, and are orphans afterwards."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.faults.refusing import Refusing
from support.oracles.checker import check_table
from support.tables.expiring import live_on, new_table, rules, states, stored, tag

from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.clean.orphans import remove_orphans_before
from paimon_spark.store.expire.changelogs import expire_all_changelogs
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.tag_deletion import delete_tags
from paimon_spark.store.metadata.manifest_files import read_data_manifests
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.maintenance import maintain
from paimon_spark.store.upkeep.manifest_compaction import compact_manifests
from paimon_spark.tables.open import open_table


def lived(path: Path) -> Table:
    table = new_table(path / "t", {"changelog-producer": "input"})
    live_on(table, "wwcwcw")
    return table


def refusing(table: Table, refuses: Callable[[str], bool]) -> tuple[Table, Refusing]:
    io = Refusing(LocalFileIO(), refuses)
    return replace(table, file_io=io), io


@pytest.mark.parametrize("what", ["data-", "changelog-", "manifest-list-"])
def test_one_file(tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture) -> None:
    table = lived(tmp_path)
    expected, before = expire_snapshots_by(table, rules(2), dry_run=True), states(table)
    name = next(path for path in expected.paths if f"/{what}" in path)
    sick, io = refusing(table, lambda path: path == name)
    with caplog.at_level(logging.WARNING):
        result = expire_snapshots_by(sick, rules(2))
    assert result.left == (name,) == tuple(io.refused)
    assert result.paths == tuple(path for path in expected.paths if path != name)
    assert name in caplog.text
    assert table.snapshots.ids() == [5, 6]
    assert states(table) == {f"snapshot {n}": before[f"snapshot {n}"] for n in (5, 6)}
    check_table(table.location)
    compact_manifests(table)  # as long as a manifest tells of its coming and going, it is left alone
    assert expire_snapshots_by(table, rules(1)).left == ()
    assert Path(name).exists(), "nobody needs it, and no expiry knows it any more"
    assert remove_orphans_before(table, 2**62, dry_run=False).paths == (name,)
    assert not Path(name).exists()


def test_a_store_that_refuses_all_keeps_the_snapshots(tmp_path: Path) -> None:
    table = lived(tmp_path)
    before = stored(table)
    sick, _ = refusing(table, lambda path: "/bucket-" in path)
    with pytest.raises(PermissionError, match="bucket-0"):
        expire_snapshots_by(sick, rules(2))
    assert stored(table) - before == {path for path in stored(table) if "/.expiring-" in path}
    assert before <= stored(table)
    assert expire_snapshots_by(table, rules(2)).left == ()
    assert table.snapshots.ids() == [5, 6]
    check_table(table.location)


def test_a_snapshot_that_cannot_go(tmp_path: Path) -> None:
    """Its files are gone by then: the mark stays, so that nobody keeps it, and the next expiry finishes."""
    table = lived(tmp_path)
    sick, _ = refusing(table, lambda path: path.endswith("/snapshot-2"))
    with pytest.raises(PermissionError, match="snapshot-2"):
        expire_snapshots_by(sick, rules(2))
    assert expire_snapshots_by(table, rules(2)).ids == (2, 3, 4)
    assert table.snapshots.ids() == [5, 6]
    check_table(table.location)
    assert not [path for path in stored(table) if "/.expiring-" in path]


def test_after_a_commit_it_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = lived(tmp_path)
    options = {"write-only": "false", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
    sick, _ = refusing(open_table(table.location, options), lambda path: True)
    with caplog.at_level(logging.WARNING):
        maintain(sick)
    assert "expiring snapshots" in caplog.text
    assert "no access to" in caplog.text


def test_tags_and_changelogs_too(tmp_path: Path) -> None:
    table = lived(tmp_path)
    tag(table, "t", 2)
    expire_snapshots_by(table, rules(2, changelogs=9))
    name = expire_all_changelogs(table, dry_run=True).paths[0]
    sick, _ = refusing(table, lambda path: path == name)
    assert expire_all_changelogs(sick).left == (name,)
    name = delete_tags(table, ["t"], dry_run=True).paths[1]
    sick, _ = refusing(table, lambda path: path == name)
    assert delete_tags(sick, ["t"]).left == (name,)
    assert table.snapshots.tag_names() == []
    check_table(table.location)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: path.write_bytes(path.read_bytes() + b"x"), r"has \d+ bytes, and \d+ are recorded"),
        (lambda path: path.unlink(), "does not exist"),
    ],
    ids=["of another size", "gone"],
)
@pytest.mark.parametrize("what", ["manifest", "base list", "delta list"])
def test_nothing_goes_while_what_stays_cannot_be_read(
    tmp_path: Path, what: str, damage: Callable[[Path], object], words: str
) -> None:
    table = new_table(tmp_path / "t", {})
    live_on(table, "www")
    last = table.snapshots.load(3)
    manifest = read_data_manifests(table.file_io, table.location, last)[-1].file_name
    names = {"manifest": manifest, "base list": last.base_manifest_list, "delta list": last.delta_manifest_list}
    damage(Path(table.location, "manifest", names[what]))
    before = stored(table)
    with pytest.raises(CorruptFile, match=rf"nothing was deleted.*{names[what]} {words}"):
        expire_snapshots_by(table, rules(1))
    assert stored(table) == before
    assert table.snapshots.ids() == [1, 2, 3]
