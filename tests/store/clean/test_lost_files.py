"""Data files that storage has lost leave the table; whatever else is wrong, nothing does."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When
from support.long_runs import examples
from support.oracles.checker import check_table
from support.tables.commit_states import latest, live, with_rivals
from support.tables.compacting import compact, make, rows_of, write
from support.tables.expiring import copied
from support.tables.files_by_hand import added, file, plain_table
from support.tables.three_files import COLUMNS, ROWS, VECTORS, delete_rows, three_files

from paimon_spark import open_table
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CommitStateUnknown, CorruptFile, OptionError, PaimonError, SnapshotNotFound
from paimon_spark.file_io import FileIO, FileStatus, LocalFileIO
from paimon_spark.store.clean.lost_files import remove_unexisting_files, repair_earliest_snapshot
from paimon_spark.store.clean.orphans import remove_orphans_before
from paimon_spark.store.clean.truncate import drop_partitions, truncate_table
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.commit.vector_files import find_vector_files
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite

KEYED = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Three files with one of ROWS each."""
    return three_files(tmp_path / "t")


def data_files(table: Table) -> list[Path]:
    """Those of the latest snapshot, oldest first."""
    found = {path.name: path for path in Path(table.location).rglob("data-*")}
    entries = open_table(table.location).system_table("files", ["file_path", "min_sequence_number", "creation_time"])
    rows = sorted(entries.to_arrow().to_pylist(), key=lambda row: (row["creation_time"], row["min_sequence_number"]))
    return [found[Path(row["file_path"]).name] for row in rows]


def test_older_rows_return_to_a_table_with_a_key(tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.int64()), ("v", pa.string())])
    create_table(str(tmp_path), new_schema(columns, ["id"], options={"bucket": "1", "write-only": "true"}))
    made = open_table(str(tmp_path))
    for number, value in enumerate(("old", "new")):
        write = TableWrite(made, "user")
        write.write(pa.record_batch([[1], [value]], names=columns.names))
        TableCommit(made, "user").append(write.finish(), identifier=number)
    data_files(made)[-1].unlink()
    assert remove_unexisting_files(made).older_rows_return
    assert remove_unexisting_files(made, dry_run=False).older_rows_return
    assert open_table(str(tmp_path)).scan().to_arrow()[1].to_pylist() == ["old"]
    assert not remove_unexisting_files(made).older_rows_return  # nothing is lost


def test_a_lost_file_leaves_in_one_snapshot(table: Table) -> None:
    lost, _, _ = data_files(table)
    size = lost.stat().st_size
    lost.unlink()
    told = remove_unexisting_files(table)
    assert not told.older_rows_return
    assert (told.paths, told.rows, told.bytes, told.snapshot_id, told.dry_run) == ((str(lost),), 1, size, None, True)
    assert latest(table).id == 3
    with pytest.raises(CorruptFile):
        rows_of(table)
    done = remove_unexisting_files(table, dry_run=False)
    made = latest(table)
    assert (done.paths, done.snapshot_id, done.dry_run) == ((str(lost),), 4, False)
    assert (made.commit_kind, made.delta_record_count, made.total_record_count) == ("OVERWRITE", -1, 2)
    assert rows_of(table) == ROWS[1:]
    assert remove_unexisting_files(table, dry_run=False).snapshot_id is None
    assert latest(table).id == 4
    expire_snapshots(table, 1, 1, "2999-01-01 00:00:00")
    check_table(table.location)


@pytest.mark.parametrize("dry_run", [True, False])
def test_nothing_is_lost(tmp_path: Path, dry_run: bool) -> None:
    empty = make(tmp_path / "empty", COLUMNS, (), {"bucket": "-1"})
    assert remove_unexisting_files(empty, dry_run).paths == ()
    whole = three_files(tmp_path / "whole")
    found = remove_unexisting_files(whole, dry_run)
    assert (found.paths, found.snapshot_id, latest(whole).id) == ((), None, 3)


def test_a_whole_partition_is_lost(table: Table) -> None:
    for path in data_files(table)[:2]:
        path.unlink()
    Path(table.location, "p=a", "bucket-0").rmdir()
    Path(table.location, "p=a").rmdir()
    assert remove_unexisting_files(table, dry_run=False).rows == 2
    assert rows_of(table) == ROWS[2:]


def test_the_deletion_vector_of_a_lost_file_goes_with_it(tmp_path: Path) -> None:
    table = three_files(tmp_path / "t", VECTORS)
    files = data_files(table)
    for path in files[:2]:
        delete_rows(table, path.name, "a", 0)
    assert rows_of(table) == ROWS[2:]
    files[0].unlink()
    assert remove_unexisting_files(table, dry_run=False).paths == (str(files[0]),)
    vectors = find_vector_files(table, latest(table))
    names = [r.data_file for found in vectors.values() for entry in found for r in entry.deletion_ranges or ()]
    assert (names, rows_of(table)) == ([files[1].name], ROWS[2:])
    expire_snapshots(table, 1, 1, "2999-01-01 00:00:00")
    check_table(table.location)


@dataclass
class Stale:
    """A store whose listings show nothing."""

    inner: FileIO
    fails: str | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def list(self, path: str) -> list[FileStatus]:
        if self.fails == "list" and "bucket-" in path:
            raise PermissionError(f"{path}: not now")
        return [] if "bucket-" in path else self.inner.list(path)

    def exists(self, path: str) -> bool:
        if self.fails == "exists" and "bucket-" in path:
            raise TimeoutError(f"{path}: not now")
        return self.inner.exists(path)


def test_a_listing_that_shows_too_little_is_not_believed(table: Table) -> None:
    stale = replace(table, file_io=Stale(LocalFileIO()))
    assert remove_unexisting_files(stale, dry_run=False).paths == ()
    assert latest(table).id == 3


@pytest.mark.parametrize("fails", ["list", "exists"])
def test_a_store_that_cannot_tell_changes_nothing(table: Table, fails: str) -> None:
    data_files(table)[0].unlink()
    with pytest.raises(OSError, match="not now"):
        remove_unexisting_files(replace(table, file_io=Stale(LocalFileIO(), fails)), dry_run=False)
    assert latest(table).id == 3


def test_time_travel_is_refused(table: Table) -> None:
    with pytest.raises(OptionError, match=r"'scan\.snapshot-id' chooses .* the latest snapshot is looked at"):
        remove_unexisting_files(open_table(table.location, {"scan.snapshot-id": "1"}))


def appends(table: Table) -> None:
    write(table, [(9, "a", 1)])


def drops_a(table: Table) -> None:
    drop_partitions(open_table(table.location), "p = 'a'")


def removes(table: Table) -> None:
    remove_unexisting_files(open_table(table.location), dry_run=False)


def truncates(table: Table) -> None:
    truncate_table(open_table(table.location))


@pytest.mark.parametrize(
    ("rival", "left", "removed", "snapshots"),
    [
        (appends, [(2, "a", 1), (9, "a", 1)], 2, 5),
        (drops_a, [], 1, 5),
        (truncates, [], 0, 4),
        (removes, [(2, "a", 1)], 0, 4),
    ],
)
def test_others_may_commit_concurrently(
    table: Table, rival: Callable[[Table], None], left: list[tuple[Any, ...]], removed: int, snapshots: int
) -> None:
    files = data_files(table)
    files[0].unlink()
    files[2].unlink()
    done = remove_unexisting_files(with_rivals(table, lambda: rival(table)), dry_run=False)
    assert (len(done.paths), rows_of(table), latest(table).id) == (removed, left, snapshots)
    assert done.snapshot_id == (snapshots if removed else None)


def test_a_rival_that_deletes_rows_of_a_lost_file(tmp_path: Path) -> None:
    table = three_files(tmp_path / "t", VECTORS)
    files = data_files(table)
    delete_rows(table, files[0].name, "a", 0)
    files[0].unlink()
    remove_unexisting_files(with_rivals(table, lambda: delete_rows(table, files[1].name, "a", 0)), dry_run=False)
    assert rows_of(table) == ROWS[2:]
    named = {
        r.data_file
        for f in find_vector_files(table, latest(table)).values()
        for e in f
        for r in e.deletion_ranges or ()
    }
    assert named == {files[1].name}
    expire_snapshots(table, 1, 1, "2999-01-01 00:00:00")
    check_table(table.location)
    remove_orphans_before(table, 2**62, dry_run=False)
    assert len(list(Path(table.location, "index").iterdir())) == 1


@settings(max_examples=25)
@given(
    writes=st.lists(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("ab")), min_size=1), min_size=1, max_size=5),
    compacts=st.booleans(),
    data=st.data(),
)
@pytest.mark.parametrize("keys", [(), ("k", "p")], ids=["append", "keyed"])
def test_the_rows_of_the_other_files_stay(
    tmp_path_factory: pytest.TempPathFactory,
    keys: tuple[str, ...],
    writes: list[list[tuple[int, str]]],
    compacts: bool,
    data: st.DataObject,
) -> None:
    """Each row says in v which write it is of; a keyed table shows the newest of those whose file is left."""
    path = tmp_path_factory.mktemp("t")
    table = make(path / "t", COLUMNS, keys, {"bucket": "1" if keys else "-1"}, ["p"])
    content: dict[str, list[tuple[int, str, int]]] = {}
    for number, rows in enumerate(writes):
        made = dict.fromkeys(rows) if keys else rows
        write(table, [(k, p, number) for k, p in made])
        for p in {p for _, p in made}:
            (new,) = (x.name for x in Path(table.location, f"p={p}").rglob("data-*") if x.name not in content)
            content[new] = [(k, q, number) for k, q in made if q == p]
    if compacts and not keys:
        before = {f.name for f in data_files(table)}
        for result in compact(table):
            gone = [file.file_name for file in result.before]
            (new,) = (file.file_name for file in result.after)
            content[new] = [row for name in gone for row in content.pop(name)]
        assert before or not content
    files = data_files(table)
    lost = data.draw(st.sets(st.sampled_from(files)))
    for lost_file in lost:
        lost_file.unlink()
    done = remove_unexisting_files(table, dry_run=False)
    assert set(done.paths) == {str(file) for file in lost}
    left = [row for name, rows in content.items() for row in rows if name not in {f.name for f in lost}]
    if keys:
        left = list({row[:2]: row for row in sorted(left, key=lambda row: row[2])}.values())
    assert rows_of(table) == sorted(left, key=repr)
    assert live(table) == {f.name for f in files if f not in lost}


@pytest.mark.parametrize("when", list(When))
def test_whatever_fails_the_lost_file_is_listed_or_not(tmp_path: Path, when: When) -> None:
    whole = three_files(tmp_path / "whole", VECTORS)
    lost, other, _ = data_files(whole)
    delete_rows(whole, lost.name, "a", 0)
    delete_rows(whole, other.name, "a", 0)
    before = {path.name for path in Path(whole.location, "index").iterdir()}
    lost.unlink()
    for at in range(0, 80, 2):
        table = copied(whole, tmp_path / str(at))
        faulty = FaultyFileIO(LocalFileIO(), at=at, when=when)
        try:
            remove_unexisting_files(replace(table, file_io=faulty), dry_run=False)
        except CommitStateUnknown:
            pass
        except (InjectedFault, PaimonError):
            if lost.name in live(table):
                assert {path.name for path in Path(table.location, "index").iterdir()} == before
        else:
            assert lost.name not in live(table)
        assert live(table) >= {other.name}
        remove_unexisting_files(table, dry_run=False)
        assert rows_of(table) == ROWS[2:]
        if len(faulty.log) <= at:
            return
    raise AssertionError("the run has more operations than were tried")


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A table of ten snapshots."""
    table = plain_table(tmp_path_factory.mktemp("ten") / "t")
    for number in range(1, 11):
        TableCommit(table, str(number)).append([added(file(str(number)))])
    return table


def table_of(ten: Table, path: Path, left: set[int], hint: int | None = None) -> Table:
    """Of ten snapshots some are left."""
    table = copied(ten, path)
    for number in set(range(1, 11)) - left:
        Path(table.location, "snapshot", f"snapshot-{number}").unlink()
    if left:
        table.snapshots.write_latest_hint(max(left))
    earliest = Path(table.location, "snapshot", "EARLIEST")
    earliest.unlink(missing_ok=True)
    if hint is not None:
        earliest.write_text(str(hint))
    return table


def hint_of(table: Table) -> str:
    return Path(table.location, "snapshot", "EARLIEST").read_text()


@pytest.mark.parametrize(
    ("left", "hint", "chosen", "result"),
    [
        ({8, 9, 10}, None, 8, (8, 8)),
        ({8, 9, 10}, 3, None, (8, 8)),
        ({2, 8, 9, 10}, 2, 8, (2, 8)),
        ({2, 8, 9, 10}, None, None, (2, 8)),
        ({1, 2, 5, 7, 8, 9, 10}, 1, 7, (1, 7)),
        ({1, 2, 5, 10}, 5, None, (5, 10)),
        ({3, 4, 5, 6, 7, 8, 9, 10}, 3, 3, (3, 3)),
        ({10}, None, None, (10, 10)),
    ],
)
def test_the_hint_is_written(
    ten: Table, tmp_path: Path, left: set[int], hint: int | None, chosen: int | None, result: tuple[int, int]
) -> None:
    table = table_of(ten, tmp_path / "t", left, hint)
    done = repair_earliest_snapshot(table, chosen)
    assert (done.previous_earliest_snapshot_id, done.current_earliest_snapshot_id) == result
    assert (table.snapshots.earliest(), hint_of(table)) == ((result[1], True), str(result[1]))
    assert set(table.snapshots.ids()) == left


def test_what_is_before_the_gap_can_be_deleted(ten: Table, tmp_path: Path) -> None:
    table = table_of(ten, tmp_path / "t", {1, 2, 5, 7, 8, 9, 10}, 1)
    assert repair_earliest_snapshot(table).deleted == ()
    assert repair_earliest_snapshot(table, delete_older=True).deleted == (1, 2, 5)
    assert table.snapshots.ids() == [7, 8, 9, 10]
    assert repair_earliest_snapshot(table, 7, delete_older=True).deleted == ()


@pytest.mark.parametrize(
    ("chosen", "kind", "message"),
    [
        (1, SnapshotNotFound, "no snapshot 1 is between the earliest, 2, and the latest, 10; .* Choose 8"),
        (11, SnapshotNotFound, "no snapshot 11"),
        (7, SnapshotNotFound, "no snapshot 7"),
        (
            2,
            SnapshotNotFound,
            "some snapshots after 2 are missing; snapshots 8 to 10 are there without a gap. Choose 8",
        ),
        (9, OptionError, "snapshot 8 is there, so 9 does not follow a gap; choose 8"),
    ],
)
def test_refusals(ten: Table, tmp_path: Path, chosen: int, kind: type[PaimonError], message: str) -> None:
    table = table_of(ten, tmp_path / "t", {2, 8, 9, 10}, 2)
    with pytest.raises(kind, match=message):
        repair_earliest_snapshot(table, chosen)
    assert hint_of(table) == "2"


def test_a_table_without_snapshots(tmp_path: Path) -> None:
    with pytest.raises(SnapshotNotFound, match=re.escape("has no snapshot")):
        repair_earliest_snapshot(plain_table(tmp_path / "t"))


@settings(max_examples=examples(40))
@given(left=st.sets(st.integers(1, 10), min_size=1), hint=st.none() | st.integers(1, 10), data=st.data())
def test_any_gaps(
    ten: Table, tmp_path_factory: pytest.TempPathFactory, left: set[int], hint: int | None, data: Any
) -> None:
    table = table_of(ten, tmp_path_factory.mktemp("g") / "t", left, hint)
    previous, latest = hint if hint in left else min(left), max(left)
    whole = latest
    while whole - 1 in left and whole - 1 >= previous:
        whole -= 1
    chosen = data.draw(st.integers(0, 11))
    if chosen == whole:
        repair_earliest_snapshot(table, chosen)
        assert hint_of(table) == str(whole)
    else:
        with pytest.raises((SnapshotNotFound, OptionError), match=f"[Cc]hoose {whole}"):
            repair_earliest_snapshot(table, chosen)
    assert repair_earliest_snapshot(table).current_earliest_snapshot_id == whole


def test_vectors_of_files_in_other_buckets_stay(tmp_path: Path) -> None:
    table = make(tmp_path / "t", KEYED, ["k"], {"bucket": "3", **VECTORS})
    write(table, [(k, 0) for k in range(3000)])
    compact(table)
    write(table, [(k, 1) for k in range(20)])
    compact(table, full=False)
    vectors = find_vector_files(table, latest(table))
    names = {r.data_file for found in vectors.values() for entry in found for r in entry.deletion_ranges or ()}
    assert len(names) == 3
    (lost,) = Path(table.location, "bucket-2").glob(f"{min(n for n in names if _is_in(table, n, 2))}*")
    lost.unlink()
    assert remove_unexisting_files(table, dry_run=False).paths == (str(lost),)
    vectors = find_vector_files(table, latest(table))
    left = {r.data_file for found in vectors.values() for entry in found for r in entry.deletion_ranges or ()}
    assert left == names - {lost.name}
    expire_snapshots(table, 1, 1, "2999-01-01 00:00:00")
    check_table(table.location)


def _is_in(table: Table, name: str, bucket: int) -> bool:
    return Path(table.location, f"bucket-{bucket}", name).exists()
