"""Indexes of files that are there: made, made anew, taken away; the data files stay, and no other job is undone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from support.tables.compacting import compact, live_files, make, rows_of, write

from paimon_spark.errors import CorruptFile, OptionError
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.store.checks.table import check
from paimon_spark.store.clean.orphans import remove_orphans_before
from paimon_spark.store.compact.task import CompactTaskResult
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.schema_update import SchemaUpdate
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep import rewrite_indexes
from paimon_spark.store.upkeep.copy_files import copy_table
from paimon_spark.store.upkeep.rewrite_indexes import (
    IndexTask,
    attempt_indexes,
    build_here,
    rewrite_file_index,
    settled,
)
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("k", pa.int64()), ("s", pa.string()), ("p", pa.string())])
INDEX = {"file-index.bitmap.columns": "s"}
BESIDE = {"file-index.in-manifest-threshold": "0 b"}


def filled(path: Path, **options: str) -> Table:
    """Files without indexes, of a table that asks for them."""
    table = make(path, COLUMNS, (), {"bucket": "-1", "metadata.stats-mode": "none", **options}, ("p",))
    for number in range(4):
        write(table, [(number, f"s{number}", f"p{number % 2}"), (number + 10, None, f"p{number % 2}")])
    return asked(table, **INDEX)


def asked(table: Table, **options: str) -> Table:
    alter_table(table, SchemaUpdate().set_options(options).changes)
    return open_table(table.location)


def skipped(table: Table, where: str) -> int:
    return open_table(table.location).scan(where=where).plan().skipped_by_index


@pytest.mark.parametrize("place", [{}, BESIDE], ids=["embedded", "beside"])
def test_files_without_indexes_get_them(tmp_path: Path, place: dict[str, str]) -> None:
    table = asked(filled(tmp_path), **place) if place else filled(tmp_path)
    before, rows = live_files(table), rows_of(table)
    assert skipped(table, "s = 's2'") == 0
    done = rewrite_file_index(table)
    assert (done.written_partitions, done.written_indexes, done.left_out, done.snapshot_id) == (2, 4, 0, 5)
    assert table.snapshots.load(5).commit_kind == CommitKind.COMPACT
    assert skipped(table, "s = 's2'") == 3
    assert rows_of(table) == rows
    assert [file.file_name for file in live_files(table)] == [file.file_name for file in before]
    assert len(list(tmp_path.rglob("*.index"))) == (4 if place else 0)
    again = rewrite_file_index(table)
    assert (again.written_indexes, again.snapshot_id) == (0, None)


def test_only_some_partitions(tmp_path: Path) -> None:
    table = filled(tmp_path)
    assert rewrite_file_index(table, "p = 'p1'").written_indexes == 2
    assert skipped(table, "s = 'none'") == 2
    with pytest.raises(OptionError, match="s is no partition column"):
        rewrite_file_index(table, "s = 's1'")


def test_a_bucket_of_one_file(tmp_path: Path) -> None:
    table = make(tmp_path, COLUMNS, (), {"bucket": "-1"}, ("p",))
    write(table, [(1, "s1", "p0"), (2, "s2", "p1")])
    table = asked(table, **INDEX)
    done = rewrite_file_index(table)
    assert (done.written_partitions, done.written_indexes) == (2, 2)
    assert rows_of(table) == [(1, "s1", "p0"), (2, "s2", "p1")]


def test_the_files_of_a_bucket_are_divided_among_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewrite_indexes, "_TASK_BYTES", 1)
    table, names = filled(tmp_path), list[list[str]]()

    def run(opened: Table, tasks: Sequence[IndexTask]) -> list[CompactTaskResult]:
        names.extend([file.file_name for file in task.files] for task in tasks)
        return build_here(opened, tasks)

    assert rewrite_file_index(table, run=run).written_indexes == 4
    assert sorted(names) == sorted([file.file_name] for file in live_files(table))
    assert skipped(table, "s = 's2'") == 3


def test_other_options_other_indexes(tmp_path: Path) -> None:
    table = asked(filled(tmp_path), **BESIDE)
    rewrite_file_index(table)
    table = asked(table, **{"file-index.bitmap.columns": "k", "file-index.bloom-filter.columns": "s"})
    assert rewrite_file_index(table).written_indexes == 4
    assert [skipped(table, where) for where in ("k = 5", "s = 's2'", "s is null")] == [4, 3, 0]
    keys = [key for key in table.settings if key.startswith("file-index.b")]
    alter_table(table, SchemaUpdate().unset_options(*keys).changes)
    table = open_table(table.location)
    assert rewrite_file_index(table).written_indexes == 4
    assert all(file.embedded_index is None and not file.extra_files for file in live_files(table))


def test_files_of_older_schemas(tmp_path: Path) -> None:
    table = filled(tmp_path)
    alter_table(table, SchemaUpdate().rename_column("s", "t").add_column("s", "string").changes)
    table = asked(open_table(table.location), **{"file-index.bitmap.columns": "t,s,k"})
    assert rewrite_file_index(table).written_indexes == 4
    assert [skipped(table, where) for where in ("t = 's2'", "k = 5", "s = 's2'")] == [3, 4, 0]
    assert open_table(table.location).scan(where="t = 's2'").count() == 1


def test_keys_vectors_and_level_zero(tmp_path: Path) -> None:
    table = make(tmp_path, COLUMNS, ("k",), {"deletion-vectors.enabled": "true"})
    write(table, [(1, "a", "p"), (2, "b", "p")])
    compact(table)
    write(table, [(2, "c", "p")])
    compact(table, full=False)
    write(table, [(3, "d", "p")])
    table = asked(table, **INDEX)
    rows = rows_of(table)
    assert rewrite_file_index(table).written_indexes == len(live_files(table))
    assert rows_of(table) == rows
    assert open_table(table.location).scan(where="s = 'b'").count() == 0
    compact(table)
    assert [row[0] for row in rows_of(table)] == [1, 2, 3]


def test_what_is_replaced_concurrently_is_left_out(tmp_path: Path) -> None:
    table = asked(filled(tmp_path), **BESIDE)

    def run(now: Table, tasks: Sequence[IndexTask]) -> list[CompactTaskResult]:
        done = build_here(now, tasks)
        compact(now)
        return done

    done = rewrite_file_index(table, run=run)
    assert (done.written_indexes, done.left_out) == (0, 4)
    assert len(rows_of(table)) == 8
    assert sorted(path.name for path in tmp_path.rglob("*.index")) == sorted(
        f"{file.file_name}.index" for file in live_files(open_table(table.location))
    )


def test_all_that_deletes_copies_and_looks_for_files_knows_the_indexes(tmp_path: Path) -> None:
    table = asked(filled(tmp_path / "t"), **BESIDE)
    rewrite_file_index(table)
    first = set(tmp_path.rglob("*.index"))
    table = asked(table, **{"file-index.bitmap.s.version": "1"})
    rewrite_file_index(table)
    assert len(set(tmp_path.rglob("*.index")) - first) == 4
    assert not check(table).problems
    assert remove_orphans_before(table, 2**62, dry_run=True).paths == ()
    copy_table(table, str(tmp_path / "copy"))
    assert skipped(open_table(str(tmp_path / "copy")), "s = 's2'") == 3
    rows = rows_of(table)
    expire_snapshots(table, retain_max=1, retain_min=1, older_than=2**42)
    remove_orphans_before(table, 2**62, dry_run=False)
    assert rows_of(table) == rows
    assert skipped(table, "s = 's2'") == 3
    assert not check(table).problems


def test_a_rollback_brings_the_old_indexes_back(tmp_path: Path) -> None:
    table = asked(filled(tmp_path), **BESIDE)
    rewrite_file_index(table)
    first = set(tmp_path.rglob("*.index"))
    rewrite_file_index(asked(table, **{"file-index.bitmap.s.version": "1"}))
    rollback(open_table(table.location), snapshot=5)
    remove_orphans_before(table, 2**62, dry_run=False)
    assert set(tmp_path.rglob("*.index")) == first
    assert skipped(table, "s = 's2'") == 3
    assert len(rows_of(table)) == 8


def test_a_task_that_fails_leaves_no_index_of_the_others(tmp_path: Path) -> None:
    table = asked(filled(tmp_path), **BESIDE)

    def run(opened: Table, tasks: Sequence[IndexTask]) -> list[CompactTaskResult]:
        first, second = tasks
        good = attempt_indexes(opened, first)
        assert good.error is None
        assert len(list(tmp_path.rglob("*.index"))) == len(first.files)
        lost = second.files[-1].file_name
        next(tmp_path.rglob(lost)).unlink()
        bad = attempt_indexes(opened, second)
        assert bad.result is None
        assert len(list(tmp_path.rglob("*.index"))) == len(first.files)  # those of its other files are deleted
        return settled(opened, [good, bad])

    with pytest.raises(CorruptFile, match="data-"):
        rewrite_file_index(table, run=run)
    assert list(tmp_path.rglob("*.index")) == []
