"""Operations on a table whose metadata name files outside of it, and values that look like other directories: nothing
outside is read as part of the table, and nothing is deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from test_names_that_lead_out import ATTACKS, OUT, prepared
from watched_store import WatchedFileIO

from paimon_spark import check, create_table, open_catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import PaimonError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.store import open as table_module
from paimon_spark.store.clean.lost_files import remove_unexisting_files
from paimon_spark.store.clean.purge import purge_files
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tag_deletion import delete_tags
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table


def _tag_and_delete(table: Table) -> None:
    create_tag(table, "x", table.snapshots.ids()[0])
    delete_tags(table, ["x"])


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "compaction": lambda table: table.compact(full=True),
    "rollback": lambda table: rollback(table, snapshot=table.snapshots.ids()[0]),
    "deletion of a tag": _tag_and_delete,
    "truncate": truncate_table,
    "purge": purge_files,
    "lost files": lambda table: remove_unexisting_files(table, dry_run=False),
    "delete": lambda table: table.delete("true"),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("kind", ["data file", "manifest", "index file", "base list"])
def test_no_operation_reaches_what_a_name_leads_to(
    kind: str, operation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = prepared(tmp_path, ATTACKS[kind].golden)
    ATTACKS[kind].apply(table, OUT)
    victim = (tmp_path / "victim").read_bytes()
    store = WatchedFileIO(LocalFileIO())
    monkeypatch.setattr(table_module, "file_io_for", lambda location, options: store)
    with suppress(PaimonError):
        OPERATIONS[operation](open_table(str(table)))
    assert store.strangers(os.path.realpath(table)) == []
    assert (tmp_path / "victim").read_bytes() == victim


@pytest.mark.parametrize("kind", ["data file", "manifest", "index file"])
def test_a_drop_takes_the_directory_alone(kind: str, tmp_path: Path) -> None:
    table = prepared(tmp_path, ATTACKS[kind].golden)
    ATTACKS[kind].apply(table, OUT)
    catalog = open_catalog({"warehouse": str(tmp_path / "lake")})
    catalog.create_database("shop")
    place = tmp_path / "lake" / "shop.db" / "t"
    shutil.move(table, place)
    shutil.move(tmp_path / "victim", place.parent / "victim")
    catalog.drop_table(Identifier("shop", "t"))
    assert [path.name for path in (tmp_path / "lake" / "shop.db").iterdir()] == ["victim"]


VALUES = ["..", "../../victim", "/", "/etc", "a/../../..", ".", "%2e%2e", "a=b/../..", "..\\..", "\t", "x\0y"]


def test_values_of_partitions_are_no_paths(tmp_path: Path) -> None:
    """They are written, read, overwritten and dropped within the table."""
    (tmp_path / "victim").write_bytes(b"of others")
    create_table(str(tmp_path / "t"), {"p": "STRING", "a": "INT"}, partition_keys=["p"])
    table = open_table(str(tmp_path / "t"))
    for _ in range(2):
        table.dynamic_partition_overwrite(pa.table({"p": VALUES, "a": pa.array(range(len(VALUES)), pa.int32())}))
    found = open_table(str(tmp_path / "t")).scan().to_arrow()
    assert dict(zip(found["p"].to_pylist(), found["a"].to_pylist(), strict=True)) == {
        value: number for number, value in enumerate(VALUES)
    }
    assert check(open_table(str(tmp_path / "t"))).is_good
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t", "victim"]
    for value in VALUES:
        open_table(str(tmp_path / "t")).delete("p = '" + value.replace("\\", "\\\\") + "'")
    assert open_table(str(tmp_path / "t")).scan().count() == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t", "victim"]
