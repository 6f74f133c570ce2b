"""The last guard: whatever metadata say, only files of the table are written and deleted (file_io/confined.py)."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from support.faults.damage import change_entries, edit_json
from support.oracles.orphaned import age
from support.tables.compacting import live_files
from support.tables.expiring import live_on, new_table

from paimon_spark import create_table
from paimon_spark.errors import CorruptFile, OptionError, OutsideTable
from paimon_spark.file_io import ConfinedFileIO, LocalFileIO
from paimon_spark.format.manifest import ManifestEntry
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import WritableTable, open_table

UUID = "01234567-89ab-4cde-8123-456789abcdef"


@pytest.fixture
def places(tmp_path: Path) -> tuple[ConfinedFileIO, Path, Path]:
    """The store of a table, the table directory, and a directory beside it; both hold a file "f"."""
    table, beside = tmp_path / "t", tmp_path / "tt"
    for directory in (table, beside):
        directory.mkdir()
        (directory / "f").write_bytes(b"x")
    return ConfinedFileIO(LocalFileIO(), str(table)), table, beside


CHANGES: dict[str, Callable[[ConfinedFileIO, str], object]] = {
    "delete": lambda io, path: io.delete(path),
    "delete_many": lambda io, path: io.delete_many([path]),
    "remove_empty_directory": lambda io, path: io.remove_empty_directory(path),
    "overwrite": lambda io, path: io.overwrite(path, b""),
    "write_bytes": lambda io, path: io.write_bytes(path, b""),
    "create_if_absent": lambda io, path: io.create_if_absent(path, b""),
    "open_output": lambda io, path: io.open_output(path),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("place", ["{beside}/f", "{table}/../tt/f", "{table}/./f", "{table}", "{table}/", "/", "tt/f"])
def test_nothing_outside_is_changed(
    place: str, change: Callable[[ConfinedFileIO, str], object], places: tuple[ConfinedFileIO, Path, Path]
) -> None:
    store, table, beside = places
    with pytest.raises(OutsideTable, match="it lies outside of the table at"):
        change(store, place.format(table=table, beside=beside))
    assert sorted(os.listdir(beside)) == sorted(os.listdir(table)) == ["f"]


def test_of_many_none_goes_if_one_lies_outside(places: tuple[ConfinedFileIO, Path, Path]) -> None:
    store, table, beside = places
    with pytest.raises(OutsideTable):
        store.delete_many([f"{table}/f", f"{table}/..", f"{beside}/f"])
    assert (table / "f").exists()
    store.delete_many([f"file:{table}/f", f"file://{table}/g"])
    assert not (table / "f").exists()


def test_links_are_read_through_and_never_deleted_through(places: tuple[ConfinedFileIO, Path, Path]) -> None:
    store, table, beside = places
    (table / "out").symlink_to(beside)
    (table / "inner").mkdir()
    (table / "in").symlink_to(table / "inner")
    (table / "inner" / "g").write_bytes(b"g")
    (table / "link").symlink_to(beside / "f")
    assert store.read_bytes(f"{table}/out/f") == b"x"
    for change in CHANGES.values():
        with pytest.raises(OutsideTable):
            change(store, f"{table}/out/f")
    store.delete(f"{table}/in/g")
    store.delete(f"{table}/link")
    assert sorted(os.listdir(table)) == ["f", "in", "inner", "out"]
    assert os.listdir(table / "inner") == []
    assert (beside / "f").read_bytes() == b"x"


def test_a_table_that_is_a_link_itself(places: tuple[ConfinedFileIO, Path, Path], tmp_path: Path) -> None:
    _, table, _ = places
    (tmp_path / "link").symlink_to(table)
    ConfinedFileIO(LocalFileIO(), str(tmp_path / "link")).delete(f"{tmp_path}/link/f")
    assert os.listdir(table) == []


def test_orphans_behind_a_link_stay(tmp_path: Path) -> None:
    """Files behind a directory that is a link look like orphans of the table."""
    table = new_table(tmp_path / "t")
    live_on(table, "w")
    other = tmp_path / "other"
    shutil.copytree(Path(table.location, "bucket-0"), other)
    Path(table.location, "bucket-1").symlink_to(other)
    (other / "data-orphan.parquet").write_bytes(b"")
    before = sorted(os.listdir(other))
    age(tmp_path)
    done = remove_orphan_files(table, dry_run=False)
    assert done.paths == ()
    assert f"{table.location}/bucket-1/data-orphan.parquet" in done.refused
    assert sorted(os.listdir(other)) == before


# ----------------------------------------------------------------------------------------------------- external paths


def moved_out(table: Table, to: Path) -> Path:
    """The oldest data file lies elsewhere, as a writer with external paths leaves it; where."""
    name = next(iter(Path(table.location).glob("bucket-0/*"))).name

    def change(entry: ManifestEntry) -> list[ManifestEntry]:
        if entry.file.file_name != name:
            return [entry]
        return [entry._replace(file=entry.file._replace(external_path=f"file:{to}/bucket-0/{name}"))]

    (to / "bucket-0").mkdir(parents=True)
    shutil.move(Path(table.location, "bucket-0", name), to / "bucket-0" / name)
    change_entries(Path(table.location), change)
    return to / "bucket-0" / name


def make_table(path: Path) -> WritableTable:
    """A table with a partition, p=1, of one row."""
    create_table(str(path), {"p": "INT", "a": "INT"}, partition_keys=["p"])
    table = open_table(str(path))
    table.append(pa.table({"p": pa.array([1], pa.int32()), "a": pa.array([1], pa.int32())}))
    return table


def expired(table: Table, **options: str) -> tuple[str, ...]:
    later = open_table(table.location, options)
    return expire_snapshots(later, retain_max=1, retain_min=1, older_than=2**62).left


def a_life(tmp_path: Path, options: dict[str, str]) -> tuple[Table, Path]:
    """A table whose first file lies elsewhere, and goes when the first snapshots expire."""
    table = new_table(tmp_path / "t", options)
    live_on(table, "w")
    out = moved_out(table, tmp_path / "far")
    live_on(open_table(table.location), "wcw")
    return open_table(table.location), out


def test_an_external_file_expires_below_a_root_of_any_schema(tmp_path: Path) -> None:
    table, out = a_life(tmp_path, {"data-file.external-paths": f"file:{tmp_path}/far"})
    newer = Path(table.location, "schema", "schema-1")
    shutil.copy(Path(table.location, "schema", "schema-0"), newer)
    edit_json(newer, id=1, options={"bucket": "1"})
    assert expired(table) == ()
    assert not out.exists()
    assert (tmp_path / "far").exists()


def test_an_external_file_stays_where_no_root_of_the_table_is(tmp_path: Path) -> None:
    table, out = a_life(tmp_path, {})
    assert expired(table) == (f"file:{out}",)
    assert out.exists()


def test_the_caller_may_name_a_root(tmp_path: Path) -> None:
    table, out = a_life(tmp_path, {})
    assert expired(table, **{"data-file.external-paths": f"file://{tmp_path}/far/"}) == ()
    assert not out.exists()


@pytest.mark.parametrize("inner", ["", "/far"])
def test_files_of_another_table_stay(inner: str, tmp_path: Path) -> None:
    """Its directory is the root, or lies below."""
    root = str(tmp_path / "far") if inner == "" else str(tmp_path)
    table, out = a_life(tmp_path, {"data-file.external-paths": root})
    (tmp_path / "far" / "schema").mkdir()
    assert expired(table) == (f"file:{out}",)
    assert out.exists()


def test_orphans_are_not_looked_for_in_another_table(tmp_path: Path) -> None:
    other = new_table(tmp_path / "other")
    live_on(other, "w")
    for root in (other.location, str(tmp_path), "/", f"{tmp_path}/x/../other"):
        table = new_table(tmp_path / f"t{len(root)}", {"data-file.external-paths": f"file:{root}"})
        live_on(table, "w")
        age(tmp_path)
        with pytest.raises(OptionError, match="an external path of the table at"):
            remove_orphan_files(table, dry_run=False)
    assert other.scan().to_arrow().num_rows == 2


@pytest.mark.parametrize("is_link", [False, True])
def test_a_root_within_another_table_is_none(is_link: bool, tmp_path: Path) -> None:
    """The directory of a partition of it looks like an external path, and its files like those of this table."""
    other = make_table(tmp_path / "lake" / "other")
    (bucket,) = (tmp_path / "lake" / "other").glob("p=1/bucket-*")
    (data,) = bucket.glob("data-*")
    root = bucket.parent
    if is_link:
        root = tmp_path / "link"
        root.symlink_to(bucket.parent)
    table = new_table(tmp_path / "t", {"data-file.external-paths": f"file:{root}"})
    live_on(table, "w")
    store = open_table(table.location).file_io
    for place in (f"{root}/{bucket.name}/{data.name}", f"file:{root}/{bucket.name}/{data.name}"):
        with pytest.raises(OutsideTable):
            store.delete(place)
    age(tmp_path)
    with pytest.raises(OptionError, match=f"lies within the table at {tmp_path}/lake/other"):
        remove_orphan_files(open_table(table.location), dry_run=False)
    assert data.exists()
    assert open_table(other.location).scan().count() == 1


def test_a_directory_named_schema_makes_no_table(tmp_path: Path) -> None:
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "notes.txt").write_text("of others")
    table, out = a_life(tmp_path, {"data-file.external-paths": f"file:{tmp_path}/far"})
    assert expired(table) == ()
    assert not out.exists()


@pytest.mark.parametrize(
    "place",
    ["/etc/hostname", "file:/etc/hostname", "{far}/{name}", "{far}/bucket-0/other", "{far}/x/../bucket-0/{name}",
     "relative/bucket-0/{name}", "{far}/bucket-0/{name}/", "s3:/bucket-0/{name}\0", "", "..", "{far}//bucket-0/{name}"],
)  # fmt: skip
def test_external_places_that_no_writer_chooses(place: str, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "w")

    def change(entry: ManifestEntry) -> list[ManifestEntry]:
        path = place.format(far=tmp_path / "far", name=entry.file.file_name)
        return [entry._replace(file=entry.file._replace(external_path=path))]

    change_entries(Path(table.location), change)
    with pytest.raises(CorruptFile, match=r"manifest/manifest-.*field '_EXTERNAL_PATH' is"):
        open_table(table.location).scan().to_arrow()


@pytest.mark.parametrize(
    "place", ["file:/far/bucket-0", "s3://far/dt=1/bucket-7", "/far/bucket-postpone/1001/0110/0001/10011001"]
)
def test_external_places_that_writers_choose(place: str, tmp_path: Path) -> None:
    """Java 2.0.0: RoundRobinExternalPathProvider, EntropyInjectExternalPathProvider."""
    table = new_table(tmp_path / "t")
    live_on(table, "w")

    def change(entry: ManifestEntry) -> list[ManifestEntry]:
        return [entry._replace(file=entry.file._replace(external_path=f"{place}/{entry.file.file_name}"))]

    change_entries(Path(table.location), change)
    assert [file.external_path for file in live_files(open_table(table.location))] == [
        f"{place}/{file.file_name}" for file in live_files(open_table(table.location))
    ]


def test_an_index_file_outside_goes_only_by_a_name_that_writers_draw(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    table = new_table(tmp_path / "t", {"global-index.external-path": f"{tmp_path}/far"})
    names = [f"btree-global-index-{UUID}.index", "passwd", f"deeper/index-{UUID}-0"]
    store = pickle.loads(pickle.dumps(table.file_io))
    allowed = []
    for name in names:
        try:
            store.delete(f"{tmp_path}/far/{name}")
            allowed.append(name)
        except OutsideTable:
            continue
    assert allowed == names[:1]
