"""Damaged files of metadata: each command says the way out, the ways out work, and other commands go on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.programs.command_line import command
from support.tables.expiring import consumer, live_on, new_table

from paimon_spark.errors import CorruptFile
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.history.consumers import reset_consumer
from paimon_spark.store.history.tags import create_tag
from paimon_spark.tables.open import open_table

NO_JSON = (b"", b"xx", b"{", b"{}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A table of three snapshots with two tags, a consumer and a branch."""
    table = new_table(tmp_path / "t")
    live_on(table, "www")
    create_tag(table, "t1", 1)
    create_tag(table, "t2", 2)
    consumer(table, "c", 2)
    create_branch(table, "br", snapshot=1)
    create_branch(table, "bare")
    return tmp_path / "t"


@pytest.mark.parametrize("content", NO_JSON)
def test_a_tag(path: Path, content: bytes) -> None:
    (path / "tag/tag-t2").write_bytes(content)
    way_out = "restore the file from a backup, or delete the tag (`paimon-spark delete-tag <table> t2`)"
    for refused in (("orphans", path), ("rollback", path, "1", "--yes"), ("read", path, "--at", "t2")):
        printed = command(*refused)
        assert (printed.code, way_out in printed.err) == (2, True), refused
    assert way_out in command("info", path).out
    assert "t1" in command("tags", path).out
    checked = command("check", path)
    assert (checked.code, way_out in checked.out) == (1, True)
    assert command("delete-tag", path, "t2", "--yes").code == 0
    assert open_table(str(path)).snapshots.tag_names() == ["t1"]
    assert command("check", path).code == 0
    assert command("rollback", path, "1", "--yes").code == 0


def test_a_damaged_tag_that_is_left_out_is_reported(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (path / "tag/tag-t2").write_bytes(b"xx")
    (path / "consumer/consumer-c").write_bytes(b"xx")
    assert command("tags", path).code == command("consumers", path).code == 0
    assert "the tag 't2' is left out: cannot read" in caplog.text
    assert "a consumer is left out: cannot read" in caplog.text


@pytest.mark.parametrize("content", NO_JSON)
def test_a_consumer(path: Path, content: bytes) -> None:
    (path / "consumer/consumer-c").write_bytes(content)
    way_out = "set the consumer anew (CALL sys.reset_consumer"
    assert way_out in command("info", path).out
    checked = command("check", path)
    assert (checked.code, way_out in checked.out) == (1, True)
    table = open_table(str(path))
    with pytest.raises(CorruptFile, match="set the consumer anew"):
        expire_snapshots(table, retain_max=1, retain_min=1, older_than=2**42)
    reset_consumer(table, "c", 3)
    assert command("check", path).code == 0
    assert "c" in command("consumers", path).out


@pytest.mark.parametrize("content", NO_JSON)
def test_the_newest_snapshot(path: Path, content: bytes) -> None:
    (path / "snapshot/snapshot-3").write_bytes(content)
    for told in (command("count", path).err, command("info", path).err, command("check", path).out):
        assert "or roll the table back to an earlier snapshot (`paimon-spark rollback <table> <snapshot>`)" in told
    assert command("rollback", path, "2", "--yes").code == 0
    assert command("check", path).code == 0
    assert command("count", path).out == "2\n"


@pytest.mark.parametrize("content", [*NO_JSON, None])
def test_a_schema(path: Path, content: bytes | None) -> None:
    schema = path / "schema/schema-0"
    data = schema.read_bytes()
    schema.unlink()
    if content is not None:
        schema.write_bytes(content)
    for name in ("count", "check", "info"):
        printed = command(name, path)
        assert printed.code == 2
        assert "from a backup" in printed.err
    schema.write_bytes(data)
    assert command("check", path).code == 0


def test_a_manifest_of_another_size(path: Path) -> None:
    for manifest in (path / "manifest").glob("manifest-[!l]*"):
        manifest.write_bytes(manifest.read_bytes()[:-1])
    assert "restore it from a backup, or travel to a snapshot that does not use it" in command("count", path).err


def test_a_branch_without_schema(path: Path) -> None:
    shutil.rmtree(path / "branch/branch-br/schema")
    shutil.rmtree(path / "branch/branch-bare/schema")
    for name, code in (("br", 1), ("bare", 0)):  # an empty directory is what a deletion leaves that broke off
        way_out = f"restore the schema, or delete the branch (`paimon-spark delete-branch <table> {name}`)"
        assert way_out in command("count", path, "--branch", name).err
        checked = command("check", path)
        assert (checked.code, way_out in checked.out) == (code, True)
        assert command("delete-branch", path, name, "--yes").code == 0
        assert not (path / f"branch/branch-{name}").exists()
    assert len(command("check", path).out.splitlines()) == 1
