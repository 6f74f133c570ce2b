"""Orphan files: which files may be orphans, what keeps them, which directories go with them."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.oracles.checker import check_table
from support.oracles.orphaned import ID, age, all_states, forget_snapshots, lived, orphans_by_hand, put, removed
from support.programs.s3_server import s3_server
from support.tables.compacting import make, rows_of
from support.tables.expiring import COLUMNS, branch, live_on, new_table, stored, tag

from paimon_spark.errors import CorruptFile, OptionError
from paimon_spark.file_io import LocalFileIO, file_io_for
from paimon_spark.store.clean import orphans_used
from paimon_spark.store.clean.orphans import remove_orphan_files, remove_orphans_before
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

# ------------------------------------------------------------------------------------------------ which files may go

CASES: list[tuple[str, bool]] = [
    # an old file of this name, and whether it goes
    ("bucket-0/data-x.parquet", True),
    ("bucket-0/anything", True),
    ("bucket-0/.hidden", True),
    ("bucket-9/data-x.parquet", True),
    ("bucket-postpone/data-u-x-s-0-w-y-0.parquet", True),
    ("bucket-0/deeper/data-x.parquet", False),
    ("bucket-0/x.managed.blob", False),
    ("manifest/manifest-x-0", True),
    ("manifest/manifest-list-x-0", True),
    ("manifest/x.managed.blob", False),
    ("index/index-x-0", True),
    ("statistics/stat-x-0", True),
    ("snapshot/anything", True),
    (f"snapshot/.snapshot-3.{ID}.tmp", True),
    (f"snapshot/.probe-{ID}", True),
    ("snapshot/snapshot-x", False),
    (f"snapshot/.holding-3-{ID}", False),
    (f"tag/.holding-3-{ID}", False),
    ("snapshot/LATEST", False),
    ("changelog/anything", True),
    ("changelog/changelog-x", False),
    ("changelog/EARLIEST", False),
    (f"tag/.tag-a.{ID}.tmp", True),
    (f"tag/tag-success-file/.a_SUCCESS.{ID}.tmp", True),
    (f"schema/.schema-1.{ID}.tmp", True),
    (f"consumer/.consumer-c.{ID}.tmp", True),
    ("tag/anything", False),
    ("tag/.deleting-a", False),
    ("tag/.a.tmp", False),
    ("schema/anything", False),
    ("consumer/anything", False),
    ("anything", False),
    (f".anything.{ID}.tmp", False),
    ("other/data-x.parquet", False),
    ("p=1/bucket-0/data-x.parquet", False),
    ("metadata/v1.metadata.json", False),
    ("branch/branch-b/snapshot/anything", True),
    ("branch/branch-b/changelog/anything", True),
    (f"branch/branch-b/tag/.tag-a.{ID}.tmp", True),
    ("branch/branch-b/anything", False),
    ("branch/branch-b/manifest/manifest-x-0", False),
    ("branch/anything", False),
]


@pytest.fixture(scope="module")
def common(tmp_path_factory: pytest.TempPathFactory) -> Table:
    table = lived(tmp_path_factory.mktemp("common"))
    branch(table, "b", 2)
    return table


@pytest.mark.parametrize(("name", "goes"), CASES, ids=[case[0] for case in CASES])
def test_which_files_may_go(common: Table, name: str, goes: bool) -> None:
    path = Path(common.location, name)
    saved = path.read_bytes() if path.exists() else None
    put(path, b"some" if saved is None else saved)
    assert removed(common) == ({name} if goes else set())
    assert path.exists() is not goes
    if not goes and saved is None:
        path.unlink()


PARTITIONED: list[tuple[str, bool]] = [
    ("p=a/q=1/bucket-0/data-x.parquet", True),
    ("p=new/q=2/bucket-5/data-x.parquet", True),
    ("p=new/q=2/data-x.parquet", True),  # a partition without buckets
    ("p=new/data-x.parquet", True),  # and one without partitions in it
    ("any=name/q=2/bucket-0/x", True),
    ("p=a/q=1/data-x.parquet", False),
    ("p=a/data-x.parquet", False),
    ("p=a/q=1/r=2/bucket-0/x", False),
    ("p=a/bucket-0/x", False),
    ("bucket-0/data-x.parquet", False),
]


@pytest.mark.parametrize(("name", "goes"), PARTITIONED, ids=[case[0] for case in PARTITIONED])
def test_which_files_of_partitions_may_go(tmp_path: Path, name: str, goes: bool) -> None:
    table = make(tmp_path / "t", COLUMNS.append(_text("p")).append(_text("q")), ["k", "p", "q"], {}, ["p", "q"])
    (tmp_path / "t/p=a/q=1/bucket-0").mkdir(parents=True)
    put(Path(table.location, name))
    assert removed(table) == ({name} if goes else set())


def _text(name: str) -> Any:
    return COLUMNS.field("v").with_name(name).with_nullable(False)


def test_the_directory_of_data_files(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"data-file.path-directory": "rows/here"})
    put(tmp_path / "t/rows/here/bucket-0/x")
    put(tmp_path / "t/bucket-0/x")
    assert removed(table) == {"rows/here/bucket-0/x"}


def test_the_directory_of_a_branch_of_other_options(tmp_path: Path) -> None:
    table = lived(tmp_path)
    on = branch(table, "b", 1)
    schema = Path(on.location, "branch/branch-b/schema/schema-0")
    schema.write_text(schema.read_text().replace('"bucket"', '"data-file.path-directory": "b", "bucket"'))
    put(tmp_path / "t/b/bucket-0/x")
    assert removed(table) == {"b/bucket-0/x"}


def test_age(tmp_path: Path) -> None:
    """Strictly older than the threshold, which is a day ago by default."""
    table = lived(tmp_path)
    for name, days in (("two", 2.0), ("one", 1.01), ("young", 0.99), ("new", 0.0), ("to-come", -1.0)):
        put(tmp_path / "t/bucket-0" / name, days=days)
    assert removed(table) == {"bucket-0/two", "bucket-0/one"}
    exact = put(tmp_path / "t/bucket-0/exact")
    os.utime(exact, ns=(10**18 + 5_000_000,) * 2)
    millis = 10**12 + 5
    assert removed(table, older_than=millis) == set()
    assert removed(table, older_than=millis + 1) == {"bucket-0/exact"}


def test_a_store_that_tells_no_time(tmp_path: Path) -> None:
    """Then nobody knows how old a file is."""
    table = lived(tmp_path)
    path = put(Path(table.location, "bucket-0/x"))
    os.utime(path, (0, 0))
    assert removed(table) == set()
    os.utime(path, (1, 1))
    assert removed(table) == {"bucket-0/x"}


def test_marks_of_partitions_whose_files_lie_elsewhere(tmp_path: Path) -> None:
    columns = COLUMNS.append(_text("p"))
    for name, options, gone in (
        ("a", {}, {"p=1/_SUCCESS"}),
        ("b", {"data-file.external-paths": f"file:{tmp_path}/elsewhere"}, set()),
        ("c", {"data-file.external-paths": "s3://elsewhere/t"}, set()),
    ):
        table = make(tmp_path / name, columns, ["k", "p"], options, ["p"])
        put(Path(table.location, "p=1/_SUCCESS"))
        assert removed(table) == gone


def test_times_in_every_form(tmp_path: Path) -> None:
    table = lived(tmp_path)
    moment = dt.datetime.now().replace(microsecond=0) - dt.timedelta(hours=5)
    for form in (moment, str(moment), int(moment.timestamp() * 1000)):
        put(tmp_path / "t/bucket-0/old", days=0.25)
        put(tmp_path / "t/bucket-0/young", days=0.15)
        assert removed(table, older_than=form) == {"bucket-0/old"}


@pytest.mark.parametrize(("older_than", "words"), [("3024-12-21 23:00:00", "must be past"), ("soon", "older_than")])
def test_a_time_to_come(tmp_path: Path, older_than: str, words: str) -> None:
    table = lived(tmp_path)
    with pytest.raises(OptionError, match=words):
        remove_orphan_files(table, older_than)
    with pytest.raises(OptionError, match="must be past"):
        remove_orphan_files(table, time.time_ns() // 1_000_000 + 1000)


def test_what_is_reported(tmp_path: Path) -> None:
    table = lived(tmp_path)
    names = ["snapshot/x", "manifest/manifest-list-x", "manifest/manifest-x", "index/x", "bucket-0/x", "bucket-0/y"]
    for size, name in enumerate(names):
        put(tmp_path / "t" / name, b"?" * size)
    told: list[tuple[str, int, int]] = []
    dry = remove_orphan_files(table, progress=lambda *words: told.append(words))
    paths = tuple(f"{table.location}/{name}" for name in [*names[4:], *reversed(names[:4])])
    assert (dry.paths, dry.bytes, dry.directories, dry.dry_run) == (paths, 15, (), True)
    assert all(Path(path).exists() for path in paths)
    assert {what for what, _, _ in told} == {"directories", "manifests"}
    ends = {what: (done, total) for what, done, total in told}
    assert all(done == total > 0 for done, total in ends.values())
    done = remove_orphan_files(table, dry_run=False, progress=lambda *words: told.append(words))
    assert (done.paths, done.bytes, done.dry_run, done.not_reached) == (paths, 15, False, ())
    assert [words for words in told if words[0] == "orphans"][-1] == ("orphans", 6, 6)
    assert not any(Path(path).exists() for path in paths)
    assert remove_orphan_files(table, dry_run=False).paths == ()
    check_table(table.location)


@pytest.mark.parametrize("dry_run", [True, False])
def test_younger_files_that_nothing_names_are_counted(tmp_path: Path, dry_run: bool) -> None:
    """All files of the table are young, and most are named: a count of young files alone would be wrong."""
    table = lived(tmp_path)
    old = {"bucket-0/old", "manifest/manifest-old"}
    young = {"bucket-0/young", "bucket-9/young", "manifest/manifest-list-young", "index/young", "snapshot/young"}
    for size, name in enumerate(sorted(old | young)):
        put(tmp_path / "t" / name, b"?" * (size + 1), days=3 if name in old else 0.5)
    by_hand = orphans_by_hand(table)
    assert by_hand == old | young
    size = sum((tmp_path / "t" / name).stat().st_size for name in young)
    told = remove_orphan_files(table, dry_run=dry_run)
    assert {os.path.relpath(path, table.location) for path in told.paths} == old
    assert (told.younger_files, told.younger_bytes) == (len(young), size)
    assert all((tmp_path / "t" / name).exists() for name in young)
    assert remove_orphans_before(table, 2**62, dry_run=True).younger_files == 0


# ------------------------------------------------------------------------------------------------ what stops it


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans_used, "_WAITS", (0.01,))


@pytest.mark.usefixtures("impatient")
def test_a_branch_without_schema(tmp_path: Path) -> None:
    table = lived(tmp_path)
    branch(table, "b", 1)
    Path(table.location, "branch/branch-b/schema/schema-0").unlink()
    put(tmp_path / "t/bucket-0/x")
    files = stored(table)
    with pytest.raises(CorruptFile, match="branches b have no schema"):
        removed(table)
    assert stored(table) == files
    for path in Path(table.location, "branch/branch-b").rglob("*-1"):
        path.unlink()  # what a broken deletion leaves
    assert removed(table) >= {"bucket-0/x"}


def test_a_branch_whose_renaming_broke_off(tmp_path: Path) -> None:
    """It has no schema yet, and counts."""
    table = lived(tmp_path)
    branch(table, "b", 2)
    root = Path(table.location, "branch/branch-b")
    (root / "schema/schema-0").rename(root / "schema/.renamed-from-a")
    forget_snapshots(table)
    put(tmp_path / "t/bucket-0/x")
    age(table.location)
    gone = removed(table)
    assert "bucket-0/x" in gone
    (root / "schema/.renamed-from-a").rename(root / "schema/schema-0")
    assert open_table(table.location, {"branch": "b"}).scan().to_arrow().num_rows == 2


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("what", ["manifest-list-*", "manifest-[!l]*"])
@pytest.mark.parametrize("holder", ["snapshot", "tag"])
def test_missing_metadata(tmp_path: Path, what: str, holder: str) -> None:
    table = lived(tmp_path, steps="w")
    if holder == "tag":
        tag(table, "a", 1)
        forget_snapshots(table)
    next((tmp_path / "t/manifest").glob(what)).unlink()
    put(tmp_path / "t/bucket-0/x")
    files = stored(table)
    with pytest.raises(CorruptFile, match=f"{holder} (1|a) needs manifest"):
        removed(table)
    assert stored(table) == files


def test_metadata_that_are_missing_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are looked for again after a wait, in which they come."""
    table = lived(tmp_path, steps="w")
    put(tmp_path / "t/bucket-0/x")
    manifest = next((tmp_path / "t/manifest").glob("manifest-list-*"))
    data = manifest.read_bytes()
    manifest.unlink()
    monkeypatch.setattr(time, "sleep", lambda seconds: manifest.write_bytes(data))
    assert removed(table) == {"bucket-0/x"}
    assert rows_of(table) == [(0, 1), (1, 1)]


@pytest.mark.parametrize(
    "name", ["snapshot/snapshot-2", "tag/tag-a", "manifest/manifest-list-*", "manifest/manifest-*-0"]
)
def test_damaged_metadata(tmp_path: Path, name: str) -> None:
    table = lived(tmp_path)
    tag(table, "a", 2)
    next(Path(table.location).glob(name)).write_bytes(b"{")
    put(tmp_path / "t/bucket-0/x")
    files = stored(table)
    with pytest.raises(CorruptFile):
        removed(table)
    assert stored(table) == files


def test_a_broken_expiry_does_not_stop_it(tmp_path: Path) -> None:
    """Below its mark metadata may be gone; what others use of those snapshots stays."""
    table = lived(tmp_path, steps="wwcww")
    tag(table, "a", 4)
    put(tmp_path / f"t/snapshot/.expiring-4-{ID}")
    snapshot = table.snapshots.load(2)
    (tmp_path / "t/manifest" / snapshot.base_manifest_list).unlink()
    put(tmp_path / "t/bucket-0/x")
    age(table.location)
    wanted = all_states_but(table, 2)
    assert "bucket-0/x" in removed(table)
    assert all_states_but(table, 2) == wanted


def all_states_but(table: Table, number: int) -> dict[str, object]:
    hidden = Path(table.location, "snapshot", f"snapshot-{number}")
    data = hidden.read_bytes()
    hidden.unlink()
    found = all_states(table)
    hidden.write_bytes(data)
    return found


# ------------------------------------------------------------------------------------------------ directories

DIRECTORIES: list[tuple[str, list[str], list[str]]] = [
    # what, files and directories that are old (a young one begins with "+"), directories that go in their order
    ("an empty bucket, and what it was alone in", ["p=b/q=1/bucket-0/"], ["p=b/q=1/bucket-0", "p=b/q=1", "p=b"]),
    ("a bucket that loses its last file", ["p=b/q=1/bucket-0/x"], ["p=b/q=1/bucket-0", "p=b/q=1", "p=b"]),
    ("a partition without buckets", ["p=b/q=1/"], ["p=b/q=1", "p=b"]),
    ("a partition without partitions", ["p=b/"], ["p=b"]),
    ("beside another bucket", ["p=b/q=1/bucket-0/", "p=b/q=1/bucket-1/+x"], ["p=b/q=1/bucket-0"]),
    ("beside a stranger's file", ["p=b/q=1/bucket-0/", "p=b/x"], ["p=b/q=1/bucket-0", "p=b/q=1"]),
    ("a young file in it", ["p=b/q=1/bucket-0/x", "p=b/q=1/bucket-0/+y"], []),
    ("a young one", ["p=b/q=1/+bucket-0/"], []),
    ("in a young one", ["p=b/+q=1/bucket-0/x"], ["p=b/q=1/bucket-0"]),
    ("two at once", ["p=b/q=1/bucket-0/x", "p=b/q=2/bucket-0/"],
     ["p=b", "p=b/q=1", "p=b/q=1/bucket-0", "p=b/q=2", "p=b/q=2/bucket-0"]),
    ("what is no part of it", ["other/", "index/", "manifest/", "p=b/q=1/r=1/", "p=b/q=1/bucket-0/deeper/"], []),
]  # fmt: skip


@pytest.mark.parametrize(("what", "things", "gone"), DIRECTORIES, ids=[case[0] for case in DIRECTORIES])
def test_directories(tmp_path: Path, what: str, things: list[str], gone: list[str]) -> None:
    table = make(tmp_path / "t", COLUMNS.append(_text("p")).append(_text("q")), ["k", "p", "q"], {}, ["p", "q"])
    root, young = tmp_path / "t", set()
    for thing in things:
        path = root / thing.replace("+", "")
        (path if thing.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not thing.endswith("/"):
            path.write_bytes(b"")
        parts = thing.split("/")
        young |= {root / "/".join(parts[: n + 1]).replace("+", "") for n, part in enumerate(parts) if part[:1] == "+"}
    age(root)
    for path in young:
        os.utime(path)
    dry = remove_orphan_files(table)
    assert dry.directories == ()
    done = remove_orphan_files(table, dry_run=False)
    assert sorted(done.directories) == sorted(f"{table.location}/{name}" for name in gone)
    assert not any((root / name).exists() for name in gone)
    kept = [thing.replace("+", "") for thing in things if thing.endswith("/")]
    assert all((root / name).is_dir() for name in kept if name.rstrip("/") not in gone)


def test_directories_that_stay(tmp_path: Path) -> None:
    """A bucket that lies on another disk, and one in a directory of somebody else."""
    table = make(tmp_path / "t", COLUMNS.append(_text("p")), ["k", "p"], {}, ["p"])
    (tmp_path / "disk").mkdir()
    linked, file = tmp_path / "t/p=a/bucket-0", put(tmp_path / "t/p=b/bucket-0/x")
    linked.parent.mkdir(parents=True)
    linked.symlink_to(tmp_path / "disk")
    age(tmp_path)

    class Refusing(LocalFileIO):
        def remove_empty_directory(self, path: str) -> bool:
            if "/p=b" in path:
                raise PermissionError(f"no access to {path}")
            return super().remove_empty_directory(path)

    done = remove_orphan_files(replace(table, file_io=Refusing()), dry_run=False)
    assert (done.paths, done.directories) == ((str(file),), ())
    assert linked.is_dir()


# ------------------------------------------------------------------------------------------------ object stores


@pytest.fixture(scope="module")
def s3_options() -> Iterator[dict[str, str]]:
    with s3_server("lake") as options:
        yield options


def test_on_an_object_store(s3_options: dict[str, str], tmp_path: Path) -> None:
    """The same, with bulk deletes, and names that are encoded on the way."""
    plain = lived(tmp_path, {"changelog-producer": "input"})
    tag(plain, "a", 2)
    source = Path(plain.location)
    options = {**s3_options, "branch": "main"}
    location = "s3://lake/t"
    io = file_io_for(location, options)
    for path in source.rglob("*"):
        if path.is_file():
            io.write_bytes(f"{location}/{path.relative_to(source)}", path.read_bytes())
    table = open_table(location, options)
    before = table.scan().to_arrow()
    orphans = [f"{location}/{name}" for name in ("bucket-0/a%3Ab c=ü", "bucket-1/x", "manifest/m", "snapshot/.x")]
    orphans += [f"{location}/bucket-0/data-{number}" for number in range(30)]
    for path in orphans:
        io.write_bytes(path, b"ab")
    assert remove_orphan_files(table, dry_run=False).paths == ()
    later = time.time_ns() // 1_000_000 + 60_000
    done = remove_orphans_before(table, later, dry_run=False)
    assert sorted(done.paths) == sorted(orphans)
    assert done.bytes == 2 * len(orphans)
    assert not any(io.exists(path) for path in orphans)
    assert table.scan().to_arrow() == before
    check_table(location, options)


def test_threads(tmp_path: Path) -> None:
    table = lived(tmp_path, {"file-operation.thread-num": "3"})
    names = {f"bucket-{bucket}/x-{number}" for bucket in range(40) for number in range(20)}
    for name in names:
        put(tmp_path / "t" / name)
    assert removed(table) == names


def test_a_table_that_lost_its_snapshots(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "ww")
    shutil.rmtree(tmp_path / "t/snapshot")
    before = stored(table)
    age(table.location)
    for dry_run in (True, False):
        with pytest.raises(CorruptFile, match="its snapshots were lost"):
            remove_orphan_files(table, dry_run=dry_run)
    assert stored(table) == before
