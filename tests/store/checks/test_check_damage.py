"""Each thing that can be wrong with a table is told under its rule: good tables, damaged in one point."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.faults.damage import (
    change_entries,
    change_index,
    change_list,
    change_vectors,
    edit_json,
    rewrite_data_file,
    snapshot_file,
)
from support.tables.compacting import Row, compact, live_files, make, rows_of, write
from support.tables.golden_tables import GoldenTable

from paimon_spark import check, open_table
from paimon_spark.errors import PaimonError
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import FileKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta
from paimon_spark.format.types import DataType, Root
from paimon_spark.store.checks.report import Rule
from paimon_spark.store.history.tags import create_tag

INT = DataType(Root.INT)


def unlink(pattern: str) -> Callable[[Path], object]:
    """Deletes the first file that matches."""
    return lambda table: sorted(table.glob(pattern))[0].unlink()


def overwrite(pattern: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    def damage(table: Path) -> None:
        path = sorted(table.glob(pattern))[0]
        path.write_bytes(change(path.read_bytes()))

    return damage


def snapshot(snapshot_id: int, **changes: Any) -> Callable[[Path], object]:
    return lambda table: edit_json(snapshot_file(table, snapshot_id), **changes)


def listed(snapshot_id: int, kind: str, **changes: Any) -> Callable[[Path], object]:
    """What a list says of its manifests."""

    def changed(meta: ManifestFileMeta) -> list[ManifestFileMeta]:
        return [replace(meta, **changes)]

    return lambda table: change_list(table, snapshot_id, kind, changed)


def file(at: int | None = None, **changes: Callable[[Any], Any]) -> Callable[[Path], object]:
    """What manifests say of data files: of all, or of those on a level."""

    def changed(entry: ManifestEntry) -> list[ManifestEntry]:
        if at is not None and entry.file.level != at:
            return [entry]
        new = {name: value(getattr(entry.file, name)) for name, value in changes.items()}
        return [entry._replace(file=entry.file._replace(**new))]

    return lambda table: change_entries(table, changed)


def column_file(**changes: Callable[[Any], Any]) -> Callable[[Path], object]:
    """What manifests say of files that hold some columns."""

    def changed(entry: ManifestEntry) -> list[ManifestEntry]:
        if entry.file.write_cols is None:
            return [entry]
        new = {name: value(getattr(entry.file, name)) for name, value in changes.items()}
        return [entry._replace(file=entry.file._replace(**new))]

    return lambda table: change_entries(table, changed)


def rows(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], object]:
    """Other rows in the first data file that is live in the latest snapshot."""
    return lambda table: rewrite_data_file(table, _live(table)[0].file.file_name, change)


def _live(table: Path) -> list[ManifestEntry]:
    found: list[ManifestEntry] = []

    def note(entry: ManifestEntry) -> list[ManifestEntry]:
        found.append(entry)
        return [entry]

    change_entries(table, note)
    gone = {e.identity for e in found if e.kind == FileKind.DELETE}
    return [e for e in found if e.kind == FileKind.ADD and e.identity not in gone]


def added_twice(table: Path) -> None:
    change_entries(table, lambda entry: [entry, entry])


def deleted_unknown(table: Path) -> None:
    gone = _live(table)[0]._replace(kind=FileKind.DELETE)
    stranger = gone._replace(file=gone.file._replace(file_name="data-stranger.parquet", row_count=0))
    seen: list[bool] = []

    def once(entry: ManifestEntry) -> list[ManifestEntry]:
        if seen:
            return [entry]
        seen.append(True)
        return [entry, stranger]

    change_entries(table, once)


def base_without_files(table: Path) -> None:
    """The base list of the last snapshot has lost the files of the snapshots before."""
    change_list(table, 3, "base", lambda meta: [])


def moved_to_bucket(table: Path) -> None:
    """All files of a bucket stand in the directory of another, and the manifests say so."""
    entry = next(e for e in _live(table) if e.bucket == 2)
    (old,) = table.rglob(entry.file.file_name)
    (old.parent.parent / "bucket-1").mkdir(exist_ok=True)
    old.rename(old.parent.parent / "bucket-1" / old.name)
    change_entries(table, lambda e: [e._replace(bucket=1) if e.file.file_name == entry.file.file_name else e])


def other_number(table: Path) -> None:
    """Of the files of one bucket alone the manifests say that their partition had another number of buckets."""
    place = next((e.partition, e.bucket) for e in _live(table))
    change_entries(table, lambda e: [e._replace(total_buckets=8) if (e.partition, e.bucket) == place else e])


def unknown_key(table: Path) -> None:
    """The HASH index of bucket 0 has another hash instead of one of its keys."""

    def changed(entry: IndexManifestEntry) -> list[IndexManifestEntry]:
        path = table / "index" / entry.file_name
        if entry.bucket == 0:
            path.write_bytes(np.full(1, 123456, ">i4").tobytes() + path.read_bytes()[4:])
        return [entry]

    change_index(table, 2, changed)


def one_hash_less(table: Path) -> None:
    """The new index of bucket 1 does not know a key that the old one knew, of a file that is older."""
    old, new = _hash_file(table, 1), _hash_file(table, 2)
    lost = old.read_bytes()[:4]
    data = new.read_bytes()
    kept = b"".join(data[i : i + 4] for i in range(0, len(data), 4) if data[i : i + 4] != lost)
    new.write_bytes(kept)

    def changed(entry: IndexManifestEntry) -> list[IndexManifestEntry]:
        if entry.file_name != new.name:
            return [entry]
        return [replace(entry, file_size=len(kept), row_count=len(kept) // 4)]

    change_index(table, 2, changed)


def _hash_file(table: Path, snapshot_id: int) -> Path:
    names: list[str] = []

    def note(entry: IndexManifestEntry) -> list[IndexManifestEntry]:
        if entry.bucket == 1:
            names.append(entry.file_name)
        return [entry]

    change_index(table, snapshot_id, note)
    return table / "index" / names[0]


def hash_in_two_buckets(table: Path) -> None:
    """Bucket 2 knows a key of bucket 0."""
    found: dict[int, Path] = {}

    def changed(entry: IndexManifestEntry) -> list[IndexManifestEntry]:
        found[entry.bucket] = table / "index" / entry.file_name
        return [replace(entry, file_size=24, row_count=6)] if entry.bucket == 2 else [entry]

    change_index(table, 2, changed)
    found[2].write_bytes(found[2].read_bytes() + found[0].read_bytes()[:4])


def without_index(snapshot_id: int, index_type: str) -> Callable[[Path], object]:
    return lambda table: change_index(table, snapshot_id, lambda e: [] if e.index_type == index_type else [e])


def index(snapshot_id: int, **changes: Any) -> Callable[[Path], object]:
    return lambda table: change_index(table, snapshot_id, lambda entry: [replace(entry, **changes)])


def ranges(snapshot_id: int, **changes: Any) -> Callable[[Path], object]:
    def changed(entry: IndexManifestEntry) -> list[IndexManifestEntry]:
        return [replace(entry, deletion_ranges=tuple(replace(r, **changes) for r in entry.deletion_ranges or ()))]

    return lambda table: change_index(table, snapshot_id, changed)


def two_vectors(table: Path) -> None:
    (path,) = (table / "index").glob("index-*")
    (table / "index" / "index-other").write_bytes(path.read_bytes())
    change_index(table, 3, lambda entry: [entry, replace(entry, file_name="index-other")])


def vectors(snapshot_id: int, positions: list[int]) -> Callable[[Path], object]:
    return lambda table: change_vectors(table, snapshot_id, positions)


def live_on_two_levels(table: Path) -> None:
    file(3, level=lambda n: n)(table)
    names = {e.file.file_name for e in _live(table)}

    def changed(entry: ManifestEntry) -> list[ManifestEntry]:
        if entry.kind == FileKind.ADD and entry.file.file_name in names:
            return [entry, entry._replace(file=entry.file._replace(level=5))]
        return [entry]

    change_entries(table, changed)


def two_sizes(table: Path) -> None:
    """A file is deleted and comes again with another size."""
    last = _live(table)[-1]

    def changed(entry: ManifestEntry) -> list[ManifestEntry]:
        if entry != last:
            return [entry]
        gone = entry._replace(kind=FileKind.DELETE)
        return [entry, gone, entry._replace(file=entry.file._replace(file_size=77))]

    change_entries(table, changed)


def with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    position = table.schema.get_field_index(name)
    return table.set_column(position, name, pa.array(values, table.schema.field(name).type))


def changelog_rows(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], object]:
    """Other rows in the changelog file of snapshot 4, of three rows."""

    def damage(table: Path) -> None:
        names: list[str] = []

        def note(entry: ManifestEntry) -> list[ManifestEntry]:
            if entry.file.file_name.startswith("changelog-") and entry.file.row_count == 3:
                names.append(entry.file.file_name)
            return [entry]

        change_entries(table, note)
        rewrite_data_file(table, names[0], change)

    return damage


def key(value: int) -> bytes:
    return encode_arity_row([value], [INT])


DAMAGES: list[tuple[str, str, Callable[[Path], object], set[Rule], str]] = [
    # table, case, damage, rules, words of a problem
    ("overwrite", "a gap", unlink("snapshot/snapshot-2"), {Rule.SNAPSHOT}, "between 1 and 3 are missing"),
    ("overwrite", "no JSON", overwrite("snapshot/snapshot-2", lambda b: b[:50]), {Rule.SNAPSHOT}, "snapshot-2"),
    ("overwrite", "another id", snapshot(2, id=7), {Rule.SNAPSHOT}, "it holds snapshot 7 and not 2"),
    ("overwrite", "no schema", snapshot(2, schemaId=5), {Rule.SNAPSHOT}, "schema 5"),
    ("tags_branches", "no JSON tag", overwrite("tag/tag-t1", lambda b: b"{"), {Rule.SNAPSHOT}, "tag-t1"),
    ("expire", "no JSON changelog", overwrite("changelog/changelog-6", lambda b: b"{"), {Rule.SNAPSHOT}, "changelog-6"),
    ("overwrite", "no list", unlink("manifest/manifest-list-*-1"), {Rule.MANIFEST}, "does not exist"),
    ("overwrite", "no manifest", unlink("manifest/manifest-[!l]*-0"), {Rule.MANIFEST}, "does not exist"),
    ("overwrite", "size of a list", snapshot(2, deltaManifestListSize=5), {Rule.MANIFEST}, "written with 5"),
    ("overwrite", "size of a manifest", listed(1, "delta", file_size=5), {Rule.MANIFEST}, "written with 5"),
    ("overwrite", "added files", listed(1, "delta", num_added_files=2), {Rule.MANIFEST}, "2 added files, it has 3"),
    ("overwrite", "deleted files", listed(1, "delta", num_deleted_files=2), {Rule.MANIFEST}, "2 deleted files"),
    ("pk_part_buckets", "buckets", listed(1, "delta", max_bucket=2), {Rule.MANIFEST}, "buckets 0 to 2, it has 0 to 3"),
    ("pk_dv32", "levels", listed(2, "delta", max_level=3), {Rule.MANIFEST}, "levels 0 to 3, it has 0 to 20"),
    ("pk_dv32", "no index manifest", unlink("manifest/index-manifest-*"), {Rule.MANIFEST}, "index-manifest"),
    ("pk_dv32", "index of kind DELETE", index(6, kind=1), {Rule.MANIFEST}, "of kind 1"),
    ("overwrite", "total", snapshot(2, totalRecordCount=4), {Rule.TOTALS}, "4 rows in total, its live files have 3"),
    ("overwrite", "delta", snapshot(2, deltaRecordCount=4), {Rule.TOTALS}, "delta of 4 rows"),
    ("cl_lookup", "changelog", snapshot(4, changelogRecordCount=4), {Rule.TOTALS}, "4 changelog rows"),
    ("overwrite", "added twice", added_twice, {Rule.LIVE_FILES, Rule.TOTALS}, "added, but live already"),
    ("overwrite", "deleted unknown", deleted_unknown, {Rule.LIVE_FILES}, "deleted, but not live"),
    ("tags_branches", "base", base_without_files, {Rule.LIVE_FILES, Rule.TOTALS}, "not hold the files of snapshot 2"),
    ("overwrite", "no data file", unlink("p=2/bucket-0/data-*"), {Rule.STORED}, "does not exist"),
    ("overwrite", "longer", overwrite("p=2/bucket-0/data-*", lambda b: b + b"x"), {Rule.STORED}, "recorded are"),
    ("file_index_external", "no sidecar", unlink("bucket-0/*.index"), {Rule.STORED}, ".index"),
    ("cl_lookup", "no changelog file", unlink("bucket-0/changelog-*"), {Rule.STORED}, "changelog-"),
    ("expire", "no old changelog file", unlink("bucket-0/changelog-*"), {Rule.STORED}, "changelog-"),
    ("pk_dv32", "no index file", unlink("index/index-*"), {Rule.STORED}, "index/index-"),
    ("analyzed", "no statistics", unlink("statistics/stat-*"), {Rule.STORED}, "statistics/stat-"),
    ("pk_dedup", "rows", file(3, row_count=lambda n: n + 1), {Rule.ROWS, Rule.TOTALS}, "recorded are 5"),
    ("overwrite", "garbled", overwrite("p=2/bucket-0/data-*", lambda b: bytes(len(b))), {Rule.ROWS}, "damaged"),
    ("pk_dedup", "no schema of a file", file(3, schema_id=lambda i: 9), {Rule.ROWS}, "schema-9"),
    ("pk_dedup", "order", rows(lambda t: t.take([0, 2, 1, 3, 4])), {Rule.KEY_ORDER}, "not sorted by key, each key"),
    ("pk_dedup", "twice", rows(lambda t: t.take([0, 1, 2, 2, 4])), {Rule.KEY_ORDER, Rule.VALUES}, "by key, each key"),
    ("pk_dedup", "a null", rows(lambda t: with_column(t, "_KEY_k", [1, None, 3, 4, 5])), {Rule.KEY_ORDER}, "1 nulls"),
    ("pk_dedup", "smallest key", file(3, min_key=lambda k: key(-1)), {Rule.KEY_RANGE}, "recorded is k=-1"),
    ("pk_dedup", "greatest key", file(3, max_key=lambda k: key(99)), {Rule.KEY_RANGE}, "recorded is k=99"),
    ("pk_dedup", "no kind", rows(lambda t: with_column(t, "_VALUE_KIND", [0, 0, None, 0, 0])), {Rule.ROWS}, "1 nulls"),
    ("pk_dedup", "no key", file(3, min_key=lambda k: b"xyz"), {Rule.KEY_RANGE, Rule.ROWS}, "cannot be read"),
    ("cl_lookup", "changelog order", changelog_rows(lambda t: t.take([2, 1, 0])), {Rule.KEY_ORDER, Rule.KEY_RANGE}, ""),
    ("pk_dedup", "smallest number", file(3, min_sequence_number=lambda n: n - 1), {Rule.SEQUENCE}, "recorded are"),
    ("pk_dedup", "greatest number", file(3, max_sequence_number=lambda n: n + 1), {Rule.SEQUENCE}, "recorded are"),
    ("pk_dedup", "retractions", file(0, delete_row_count=lambda n: n + 1), {Rule.DELETES}, "rows that retract"),
    ("postpone", "retractions", file(delete_row_count=lambda n: n + 1), {Rule.DELETES}, "rows that retract"),
    ("overwrite", "partition", rows(lambda t: with_column(t, "p", [9])), {Rule.PARTITION, Rule.VALUES}, "p=9"),
    (
        "append_bucketed",
        "a null",
        rows(lambda t: with_column(t, "v", [None] * len(t))),
        {Rule.VALUES},
        "recorded are 0",
    ),
    ("pk_dedup", "no column", rows(lambda t: t.drop_columns(["v"])), {Rule.ROWS}, "lacks the columns v of schema 0"),
    ("pk_part_buckets", "bucket", moved_to_bucket, {Rule.BUCKET}, "it lies in bucket 1"),
    ("append_bucketed", "bucket", moved_to_bucket, {Rule.BUCKET}, "it lies in bucket 1"),
    ("pk_part_buckets", "number of buckets", other_number, {Rule.BUCKET}, "its files name 4 and 8 buckets"),
    ("pk_dedup", "levels", file(0, level=lambda n: 1), {Rule.LEVELS}, "overlap on level 1"),
    ("pk_dedup", "live twice", live_on_two_levels, {Rule.LIVE_FILES, Rule.TOTALS}, "is live 2 times"),
    ("overwrite", "two sizes", two_sizes, {Rule.LIVE_FILES}, "two manifests name it"),
    ("append_dv32", "dangling", ranges(3, data_file="data-x.parquet"), {Rule.VECTORS}, "data-x.parquet, which is not"),
    ("pk_dv32", "dangling", ranges(6, data_file="data-x.parquet"), {Rule.VECTORS}, "data-x.parquet, which is not live"),
    ("append_dv32", "two vectors", two_vectors, {Rule.VECTORS}, "both delete rows of"),
    ("append_dv32", "number of vectors", index(3, row_count=2), {Rule.VECTORS}, "with 2 deletion vectors, 1 are"),
    ("append_dv32", "number of rows", ranges(3, cardinality=4), {Rule.VECTORS}, "it deletes 5 rows of"),
    ("append_dv32", "checksum", overwrite("index/*", lambda b: b[:-1] + b"?"), {Rule.VECTORS}, "checksum"),
    ("append_dv32", "row 30 of 30", vectors(3, [30]), {Rule.VECTORS}, "deletes row 30 of"),
    (
        "pk_dv32",
        "no vectors",
        without_index(6, "DELETION_VECTORS"),
        {Rule.ONE_ROW},
        "2 keys have more than one live row",
    ),
    ("pk_dv32", "one vector row less", vectors(6, [1, 2]), {Rule.ONE_ROW}, "keys have more than one live row"),
    ("pk_first_row_l0", "a second row", file(0, level=lambda n: 4), {Rule.ONE_ROW}, "1 keys have more than one"),
    ("row_tracking", "no ids", file(first_row_id=lambda n: None), {Rule.ROW_IDS}, "have no ids"),
    ("row_tracking", "ids of others", file(first_row_id=lambda n: 0), {Rule.ROW_IDS}, "those from 0 on"),
    ("row_tracking", "next id", snapshot(2, nextRowId=1), {Rule.ROW_IDS}, "the next commit those from 1 on"),
    ("data_evolution", "no ids", file(first_row_id=lambda n: None), {Rule.ROW_IDS}, "have no ids"),
    (
        "data_evolution",
        "fewer rows",
        column_file(first_row_id=lambda n: n + 1),
        {Rule.ROW_IDS},
        "other files that have",
    ),
    ("data_evolution", "next id", snapshot(2, nextRowId=1), {Rule.ROW_IDS}, "the next commit those from 1 on"),
    ("dyn_bucket", "no HASH index", without_index(2, "HASH"), {Rule.HASH_INDEX}, "it has files and no HASH index"),
    ("dyn_bucket", "number of hashes", index(2, row_count=7), {Rule.HASH_INDEX}, "with 7 hashes of 4 bytes"),
    ("dyn_bucket", "unknown key", unknown_key, {Rule.HASH_INDEX}, "does not know the keys of 1 rows"),
    ("dyn_bucket", "forgotten key", one_hash_less, {Rule.HASH_INDEX}, "1 hashes that the file it replaces knew"),
    ("dyn_bucket", "two buckets", hash_in_two_buckets, {Rule.HASH_INDEX}, "1 hashes are in the HASH index of more"),
]


@pytest.mark.parametrize(
    ("name", "damage", "rules", "words"),
    [pytest.param(name, damage, rules, words, id=f"{name}: {case}") for name, case, damage, rules, words in DAMAGES],
)
def test_damage_is_reported(
    name: str, damage: Callable[[Path], object], rules: set[Rule], words: str, tmp_path: Path
) -> None:
    table = GoldenTable("java-2.1", name).unpack(tmp_path)
    damage(table)
    report = check(str(table))
    assert {problem.rule for problem in report.problems} == rules, str(report)
    assert words in str(report)


def _append_table(location: Path, files: Sequence[Sequence[str]], compression: str = "zstd") -> list[Path]:
    """An append table (id INT, v STRING) with a data file for each list of texts; returns its files."""
    table = make(
        location,
        pa.schema([("id", pa.int32()), ("v", pa.string())]),
        [],
        {"bucket": "-1", "file.compression": compression},
    )
    paths: list[Path] = []
    for number, texts in enumerate(files):
        write(table, [(100 * number + i, text) for i, text in enumerate(texts)])
        paths += sorted(set(location.glob("bucket-0/data-*")) - set(paths))
    return paths


def _rows_if_readable(location: Path) -> list[Row] | None:
    try:
        return rows_of(open_table(str(location)))
    except PaimonError:
        return None


def test_a_flipped_byte_in_a_column_that_is_no_key(tmp_path: Path) -> None:
    (path,) = _append_table(tmp_path / "t", [[f"text {i * 7919 % 1000}" for i in range(300)]])
    good, rows_before = path.read_bytes(), _rows_if_readable(tmp_path / "t")
    told = 0
    for at in range(4, len(good), len(good) // 60):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :])
        is_good = check(str(tmp_path / "t")).is_good
        assert not is_good or _rows_if_readable(tmp_path / "t") == rows_before, at
        told += not is_good
    assert told > 20
    path.write_bytes(good)
    assert check(str(tmp_path / "t")).is_good


def test_a_file_of_the_same_size_in_the_place_of_another(tmp_path: Path) -> None:
    first, second = _append_table(tmp_path / "t", [["a", "b"], ["c", "d"]], "none")
    assert first.stat().st_size == second.stat().st_size
    first.write_bytes(second.read_bytes())
    report = check(str(tmp_path / "t"))
    assert {problem.rule for problem in report.problems} == {Rule.VALUES}
    assert "its column 'id' holds values from 100 to 101, recorded are 0 to 1" in str(report)
    assert check(str(tmp_path / "t"), keys_only=True).is_good


def test_a_greatest_text_that_no_row_has(tmp_path: Path) -> None:
    (path,), (other,) = (_append_table(tmp_path / n, [["aa", text]], "none") for n, text in (("t", "zz"), ("u", "bb")))
    assert path.stat().st_size == other.stat().st_size
    path.write_bytes(other.read_bytes())
    report = check(str(tmp_path / "t"))
    assert {problem.rule for problem in report.problems} == {Rule.VALUES}
    assert "holds values from 'aa' to 'bb', recorded are 'aa' to 'zz'" in str(report)


def test_a_schema_that_was_changed_by_hand(tmp_path: Path) -> None:
    _append_table(tmp_path / "t", [["a", "b"]])
    path = tmp_path / "t/schema/schema-0"
    path.write_text(path.read_text().replace('"STRING"', '"INT"'))
    (problem,) = check(str(tmp_path / "t")).problems
    assert problem.rule is Rule.ROWS


@pytest.mark.parametrize("name", ["pk_dv32", "dyn_bucket"])
def test_whatever_is_garbled_is_reported_and_stops_nothing(name: str, tmp_path: Path) -> None:
    """One bit of each file in turn, or a part of it: a problem where the file is read, and never another error."""
    table, random_ = GoldenTable("java-2.1", name).unpack(tmp_path), random.Random(name)
    for path in sorted(p for p in table.rglob("*") if p.is_file() and p.parent.name != "schema"):
        good = path.read_bytes()
        at = random_.randrange(len(good))
        path.write_bytes(good[:at] + bytes([good[at] ^ 1 << random_.randrange(8)]) + good[at + 1 :])
        check(str(table))
        path.write_bytes(good[:at])
        assert check(str(table)).is_good == (path.name in ("LATEST", "EARLIEST")), path
        path.write_bytes(good)
    assert check(str(table)).is_good


def test_a_tag_of_another_snapshot_of_the_same_id(tmp_path: Path) -> None:
    _append_table(tmp_path / "t", [["a", "b"]])
    _append_table(tmp_path / "u", [["c"]])
    create_tag(open_table(str(tmp_path / "t")), "own", 1)
    assert check(str(tmp_path / "t")).is_good
    shutil.copy(tmp_path / "u/snapshot/snapshot-1", tmp_path / "t/tag/tag-other")
    problems = check(str(tmp_path / "t")).problems
    assert problems
    assert {problem.snapshot for problem in problems} == {"tag other"}


def test_all_states_that_need_a_lost_file_are_named(tmp_path: Path) -> None:
    columns = pa.schema([pa.field("k", pa.int32(), False), ("v", pa.string())])
    table = make(tmp_path / "t", columns, ["k"], {})
    write(table, [(1, "a")])
    (first,) = (tmp_path / "t/bucket-0").glob("data-*")
    write(table, [(2, "b")])
    create_tag(table, "kept", 2)
    write(table, [(3, "c")])
    compact(table)
    write(table, [(4, "d")])
    (merged,) = (file.file_name for file in live_files(table) if file.level > 0)
    first.unlink()
    (problem,) = check(str(tmp_path / "t"), read_files=False).problems
    assert (problem.snapshot, problem.also, problem.in_latest) == ("snapshot 1", ("snapshot 2", "snapshot 3"), False)
    assert str(problem).endswith(f"{first.name}: the file does not exist (snapshots 1 to 3)")
    (tmp_path / "t/bucket-0" / merged).unlink()
    assert {str(p).rpartition(" (")[2] for p in check(str(tmp_path / "t"), read_files=False).problems} == {
        "snapshots 1 to 3)",
        "snapshots 4 to 5, the latest among them)",
    }
    (latest,) = check(str(tmp_path / "t"), read_files=False, latest_only=True).problems
    assert str(latest).endswith("(snapshot 5, the latest)")
