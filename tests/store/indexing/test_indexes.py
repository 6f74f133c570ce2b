"""Indexes of a whole table: made, used and dropped without Java."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults.faulty_store import FaultyFileIO, fault_points
from support.long_runs import examples
from support.oracles.checker import check_table
from support.tables.column_changes import COLUMNS, EVOLVED, VECTORS, commit, delete, evolved, put, update
from support.tables.compacting import compact, make

from paimon_spark import check, create_table, open_table
from paimon_spark.arrow.predicates.predicate import TRUE
from paimon_spark.errors import CommitConflict, CorruptFile, OptionError, PaimonError, UnsupportedFeature
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import FileKind, GlobalIndexMeta, IndexManifestEntry
from paimon_spark.store.checks.report import Rule
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.evolution.schema_update import SchemaUpdate
from paimon_spark.store.indexing.build import BuildOutcome, BuildTask, build_here
from paimon_spark.store.indexing.indexes import create_global_index
from paimon_spark.store.metadata.manifest_files import read_global_indexes
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import Split


def entries(path: str) -> list[IndexManifestEntry]:
    table = open_table(path)
    latest = table.snapshots.latest()
    return read_global_indexes(table.file_io, table.location, None if latest is None else latest.index_manifest)


def spans(path: str) -> list[tuple[int, int]]:
    metas = [entry.global_index for entry in entries(path)]
    return sorted((meta.row_range_start, meta.row_range_end) for meta in metas if meta is not None)


def keys(path: str, where: str, options: Mapping[str, str] | None = None) -> list[int]:
    found = open_table(path, dict(options or {})).scan(["k"], where=where).to_arrow()["k"].to_pylist()
    return sorted(found)


def test_an_index_grows_with_the_table(tmp_path: Path) -> None:
    table = evolved(tmp_path, {"metadata.stats-mode": "none"})
    path = table.location
    put(table, 1, 2, 3)
    made = open_table(path).create_global_index("v", "btree")
    assert (made.files, made.rows, spans(path)) == (1, 3, [(0, 2)])
    assert open_table(path).create_global_index("v", "btree").files == 0
    put(table, 4, 5)
    assert keys(path, "v = 'v4'") == [4], "a row that is not in the index yet"
    assert open_table(path).create_global_index("v", "BTREE ").rows == 2
    assert spans(path) == [(0, 2), (3, 4)]
    assert keys(path, "v in ('v1', 'v5')") == [1, 5]
    plan = open_table(path).scan(["k"], where="v = 'v5'").plan()
    assert (plan.skipped_by_index, sum(split.file_count for split in plan.splits)) == (1, 1)
    assert open_table(path).drop_global_index("v", "btree", dry_run=True).dropped_files == 2
    assert open_table(path).drop_global_index("v", "btree").dropped_files == 2
    assert not entries(path)
    check_table(path)


def test_files_are_over_as_many_rows_as_the_option_says(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    for first in range(0, 12, 3):
        put(table, first, first + 1, first + 2)
    options = {"sorted-index.records-per-range": "6"}
    assert open_table(table.location, options).create_global_index("w", "bitmap").files == 2
    assert spans(table.location) == [(0, 5), (6, 11)]
    with pytest.raises(OptionError, match=r"'sorted-index\.records-per-range' is 0"):
        open_table(table.location, {"sorted-index.records-per-range": "0"}).create_global_index("v", "btree")


def test_each_partition_has_its_files(tmp_path: Path) -> None:
    table = evolved(tmp_path, parts=["w"])
    put(table, 1, 2)
    put(table, 1)
    path = table.location
    assert open_table(path).create_global_index("v", "btree", partitions="w=1").files == 2
    assert open_table(path).create_global_index("v", "btree").files == 1
    assert keys(path, "v = 'v1'") == [1, 1]
    assert open_table(path).drop_global_index("v", "btree", partitions=[{"w": 1}]).dropped_files == 2
    assert keys(path, "v = 'v1'") == [1, 1]
    assert keys(path, "v = 'v2'") == [2]
    check_table(path)


def test_the_index_of_a_dropped_column_is_dropped(tmp_path: Path) -> None:
    """By the name that the column had. One of the same name that was added since has an index of its own."""
    table = evolved(tmp_path)
    path = table.location
    put(table, 1, 2)
    open_table(path).create_global_index("v", "btree")
    with open_table(path).update_schema() as change:
        change.drop_column("v")
    assert len(entries(path)) == 1
    with pytest.raises(OptionError, match="there is no column 'x'"):
        open_table(path).drop_global_index("x", "btree")
    assert open_table(path).drop_global_index("v", "bitmap").dropped_files == 0
    assert open_table(path).drop_global_index("v", "btree", dry_run=True).dropped_files == 1
    assert open_table(path).drop_global_index("v", "btree").dropped_files == 1
    assert not entries(path)
    check_table(path)


def test_index_files_may_lie_outside_of_the_table(tmp_path: Path) -> None:
    table = evolved(tmp_path, {"global-index.external-path": f"file:{tmp_path}/far"})
    put(table, 1, 2)
    open_table(table.location).create_global_index("v", "btree")
    ((entry),) = entries(table.location)
    assert entry.external_path == f"file:{tmp_path}/far/{entry.file_name}"
    assert Path(tmp_path, "far", entry.file_name).exists()
    assert keys(table.location, "v = 'v2'") == [2]
    check_table(table.location)


def test_a_table_without_rows(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    assert open_table(table.location).create_global_index("v", "btree").snapshot_id is None
    assert open_table(table.location).drop_global_index("v", "btree").dropped_files == 0


# ------------------------------------------------------------------------------------------------------------ refusals


def test_what_cannot_have_an_index(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.int64()), ("b", pa.binary()), ("p", pa.string())])
    table = make(tmp_path / "t", schema, [], dict(EVOLVED), ["p"])
    opened = open_table(table.location)
    for column, kind, error, said in [
        ("x", "btree", OptionError, "there is no column 'x'; the columns are k, b, p"),
        ("k", "multivalue", UnsupportedFeature, "it is not in release 2.0"),
        ("k", "full-text", UnsupportedFeature, "the column is BIGINT, and texts are STRING"),
        ("k", "ivf-pq", UnsupportedFeature, "the column is BIGINT, and vectors are ARRAY or VECTOR of FLOAT"),
        ("k", "lumina", UnsupportedFeature, "its files are those of a library that is not open"),
        ("k", "ivf-hnsw-sq", UnsupportedFeature, "no longer reads its files"),
        ("k", "tree", UnsupportedFeature, "there is no such type; make one of btree, bitmap"),
        ("b", "btree", UnsupportedFeature, "cannot be over a column of the type"),
        ("p", "btree", UnsupportedFeature, "it is a partition column"),
        ("k, b", "btree", UnsupportedFeature, "an index is over one column, and 'k, b' names 2"),
    ]:
        with pytest.raises(error, match=said):
            opened.create_global_index(column, kind)
    plain = make(tmp_path / "u", COLUMNS, [], {"bucket": "-1", "row-tracking.enabled": "true"})
    with pytest.raises(UnsupportedFeature, match=r"only in tables with 'data-evolution\.enabled' = 'true'"):
        open_table(plain.location).create_global_index("v", "btree")


def test_a_column_that_has_changed_its_type(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    table = create_table(path, pa.schema([("k", pa.int64()), ("n", pa.int32())]), options=EVOLVED)
    table.append([{"k": 1, "n": 5}, {"k": 2, "n": None}])
    table.create_global_index("n", "btree")
    with (
        pytest.raises(UnsupportedFeature, match="btree, is over the column 'n', and has keys of the old type"),
        open_table(path).update_schema() as change,
    ):
        change.update_type("n", "BIGINT")
    open_table(path).drop_global_index("n", "btree")
    with open_table(path).update_schema() as change:
        change.update_type("n", "BIGINT")
    with pytest.raises(UnsupportedFeature, match="the column has changed its type"):
        open_table(path).create_global_index("n", "btree")
    assert keys(path, "n = 5") == [1]
    check_table(path)


def test_an_index_with_old_values_is_not_used_again(tmp_path: Path) -> None:
    """Reads do without an index as long as the option says that changes leave it as it is."""
    option = "global-index.column-update-action"
    table = evolved(tmp_path, {option: "IGNORE"})
    path = table.location
    put(table, 1, 2)
    open_table(path).create_global_index("v", "btree")
    open_table(path).update("k = 1", {"v": "'v2'"})
    assert keys(path, "v = 'v2'") == [1, 2]
    changes: list[Callable[[SchemaUpdate], object]] = [
        lambda change: change.set_options({option: "THROW_ERROR"}),
        lambda change: change.set_options({option: "DROP_PARTITION_INDEX"}),
        lambda change: change.unset_options(option),
    ]
    for alter in changes:
        with (
            pytest.raises(UnsupportedFeature, match=r"was 'IGNORE', .* btree of 'v', may have old values"),
            open_table(path).update_schema() as change,
        ):
            alter(change)
    with open_table(path).update_schema() as change:
        change.set_options({"btree-index.block-size": "1 kb"})
    open_table(path).drop_global_index("v", "btree")
    with open_table(path).update_schema() as change:
        change.unset_options(option)
    assert keys(path, "v = 'v2'", {"scan.snapshot-id": "3"}) == [1, 2], "a state with the index"
    for back in (open_table(path).rollback, open_table(path).rollback_to_as_latest):
        with pytest.raises(UnsupportedFeature, match="was 'IGNORE' in snapshot 3, so that its indexes"):
            back(3)
    open_table(path).create_global_index("v", "btree")
    assert keys(path, "v = 'v2'") == [1, 2]
    check_table(path)


# ------------------------------------------------------------------------------------------ other jobs at the same time

Meanwhile = Callable[[Table], object]


def made_while(path: str, meanwhile: Meanwhile) -> None:
    """Makes an index over v; another job works between its reads and its commit."""

    def run(table: Table, tasks: Sequence[BuildTask]) -> Sequence[BuildOutcome]:
        outcomes = build_here(table, tasks)
        meanwhile(open_table(path))
        return outcomes

    create_global_index(open_table(path), "v", "btree", TRUE, run)


@pytest.mark.parametrize(
    ("meanwhile", "said"),
    [
        (lambda table: update(table, "v", {1: "x"}), "has since changed or removed the same columns of rows"),
        (lambda table: table.create_global_index("v", "btree"), "another job has made meanwhile"),
        (lambda table: table.truncate(), "has since changed or removed"),
        (lambda table: table.overwrite([{"k": 9, "v": "z", "w": 1}]), "has since changed or removed"),
    ],
)
def test_an_index_that_is_no_longer_right_is_not_committed(tmp_path: Path, meanwhile: Meanwhile, said: str) -> None:
    table = evolved(tmp_path)
    put(table, 1, 2, 3)
    with pytest.raises(CommitConflict, match=said):
        made_while(table.location, meanwhile)
    assert {p.name for p in Path(table.location, "index").iterdir()} == {e.file_name for e in entries(table.location)}
    check_table(table.location)


def test_other_work_does_not_hinder_an_index(tmp_path: Path) -> None:
    table = evolved(tmp_path, VECTORS)
    put(table, 1, 2, 3)
    put(table, 4)

    def meanwhile(other: Table) -> None:
        put(other, 5)
        update(other, "w", {1: 100})
        commit(other, delete(other, 1))
        compact(open_table(other.location), full=True)

    made_while(table.location, meanwhile)
    for key in (1, 3, 4, 5):
        assert keys(table.location, f"v = 'v{key}'") == [key]
    assert keys(table.location, "v = 'v2'") == []
    check_table(table.location)


@pytest.mark.parametrize("lasting", [False, True], ids=["one fault", "store goes away"])
def test_whatever_fails_the_rows_are_found(tmp_path: Path, lasting: bool) -> None:
    def prepared(path: Path) -> Table:
        table = evolved(path)
        put(table, 1, 2)
        put(table, 3)
        return table

    io = FaultyFileIO(LocalFileIO())
    create_global_index(replace(prepared(tmp_path / "first"), file_io=io), "v", "btree", TRUE)
    for number, (at, when) in enumerate(fault_points(io.log, 12)):
        table = prepared(tmp_path / str(number))
        faulty = replace(table, file_io=FaultyFileIO(LocalFileIO(), at, when, lasting=lasting))
        with suppress(OSError, PaimonError):
            create_global_index(faulty, "v", "btree", TRUE)
        assert [keys(table.location, f"v = 'v{key}'") for key in (1, 2, 3)] == [[1], [2], [3]], f"{io.log[at]} {when}"
        check_table(table.location)
        open_table(table.location).create_global_index("v", "btree")
        assert spans(table.location) == [(0, 2)]


# ---------------------------------------------------------------------------------------------------- checks and damage


def test_a_damaged_index_file_is_found(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    put(table, *range(50))
    open_table(table.location).create_global_index("w", "btree")
    (file,) = Path(table.location, "index").iterdir()
    data = bytearray(file.read_bytes())
    data[3] ^= 255
    file.write_bytes(data)
    (problem,) = check(table.location).problems
    assert problem.rule is Rule.GLOBAL_INDEX
    assert "the checksum of the block at byte 0 is wrong" in problem.found


def test_an_index_of_other_rows_is_found(tmp_path: Path) -> None:
    """Two files of one table, each under the name of the other."""
    table = evolved(tmp_path)
    put(table, 1, 2, 3)
    open_table(table.location).create_global_index("w", "btree")
    put(table, 7, 8, 9)
    open_table(table.location).create_global_index("w", "btree")
    one, other = Path(table.location, "index").iterdir()
    first, second = one.read_bytes(), other.read_bytes()
    assert len(first) == len(second)
    one.write_bytes(second)
    other.write_bytes(first)
    assert {problem.rule for problem in check(table.location).problems} == {Rule.GLOBAL_INDEX}


def test_ranges_that_cannot_be(tmp_path: Path) -> None:
    """A range as wide as numbers go takes no memory, and a negative one is named."""
    table = evolved(tmp_path)
    put(table, 1, 2, 3)
    open_table(table.location).create_global_index("w", "btree")
    (entry,) = entries(table.location)
    meta = entry.global_index
    assert meta is not None
    for start, end, found in ((0, 2**62, [2]), (-5, 2, None)):
        changed_entry = replace(entry, global_index=replace(meta, row_range_start=start, row_range_end=end))
        gone = tuple(replace(each, kind=FileKind.DELETE) for each in entries(table.location))
        message = CommitMessage(entry.partition, 0, -1, index_entries=(*gone, changed_entry))
        TableCommit(table, f"hostile {start}").append([message])
        if found is None:
            with pytest.raises(CorruptFile, match="is over the row ids -5 to 2"):
                keys(table.location, "w = 2")
        else:
            assert keys(table.location, "w = 2") == found
        assert {problem.rule for problem in check(table.location).problems} == {Rule.GLOBAL_INDEX}


# ------------------------------------------------------------------------------------------------ the rows are the same

LEAVES = [
    "n = 3", "n <> 3", "n < 2", "n >= 7", "n in (1, 5)", "n not in (1, 5)", "n is null", "n is not null", "n <=> 4",
    "s = 'a'", "s like 'ab%'", "s not like 'a%'", "s > 'b'", "s is null", "d = 0.0", "d < 0", "d > 1", "d <> 0.0",
    "w = 3", "k < 20",
]  # fmt: skip
SCHEMA = pa.schema({"k": pa.int64(), "n": pa.int32(), "s": pa.string(), "d": pa.float64(), "w": pa.int64()})


@settings(max_examples=examples(80), deadline=None)
@given(st.integers(0, 2**32))
def test_rows_are_the_same_with_and_without_indexes(seed: int) -> None:
    """Random tables, indexes and conditions; some rows are in no index, deleted, changed or compacted."""
    random = Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/t"
        options = {**EVOLVED, **VECTORS, "btree-index.block-size": random.choice(["1 b", "64 kb"])}
        table = create_table(path, SCHEMA, options=options)
        count = 0
        for _ in range(random.randint(1, 4)):
            rows = [
                {
                    "k": count + i,
                    "n": random.choice([None, *range(9)]),
                    "s": random.choice([None, "", "a", "ab", "abc", "b", "c"]),
                    "d": random.choice([None, 0.0, -0.0, 2.5, float("nan"), -1.0]),
                    "w": random.randrange(6),
                }
                for i in range(random.randint(1, 60))
            ]
            count += len(rows)
            table.append(rows)
            for column in random.sample("nsd", random.randint(0, 3)):
                open_table(path).create_global_index(column, random.choice(["btree", "bitmap"]))
            if random.random() < 0.3:
                open_table(path).update("w = 2", {"w": 3})
            if random.random() < 0.3:
                open_table(path).delete(f"k in ({random.randrange(count)}, {random.randrange(count)})")
            if random.random() < 0.3:
                open_table(path).compact()
        for _ in range(12):
            where = f" {random.choice(['and', 'or'])} ".join(random.choices(LEAVES, k=random.randint(1, 3)))
            where = f"not ({where})" if random.random() < 0.2 else where
            assert keys(path, where) == keys(path, where, {"global-index.enabled": "false"}), where
        check_table(path)


def test_an_index_reads_few_rows(tmp_path: Path) -> None:
    """Of a file with many rows, and of files with columns of the same rows, only those of the value are read."""
    path = str(tmp_path / "t")
    table = create_table(path, COLUMNS, options=EVOLVED)
    table.append(pa.table({"k": range(10_000), "v": [f"v{i % 2500}" for i in range(10_000)], "w": range(10_000)}))
    open_table(path).create_global_index("v", "btree")
    for _ in range(2):
        (split,) = open_table(path).scan(["k"], where="v = 'v7'").plan().splits
        assert isinstance(split, Split)
        assert len(split.selections) == 1
        assert keys(path, "v = 'v7'") == [7, 2507, 5007, 7507]
        open_table(path).update("k = 7", {"w": -1})  # the row lies in two files then


def test_ranges_do_without_an_index_that_is_too_large(tmp_path: Path) -> None:
    """Java: SortedFileGlobalIndexReader.fallbackScanEnabled."""
    table = evolved(tmp_path, {"metadata.stats-mode": "none"})
    put(table, 1, 2)
    put(table, 3, 4)
    open_table(table.location).create_global_index("w", "btree")

    def skipped(where: str, key: str = "global-index.enabled", value: str = "true") -> int:
        return open_table(table.location, {key: value}).scan(["k"], where=where).plan().skipped_by_index

    limit = ("btree-index.fallback-scan-max-size", "0 b")
    assert (skipped("w = 4"), skipped("w = 4", *limit)) == (1, 1)
    assert (skipped("w > 2"), skipped("w > 2", *limit)) == (1, 0)
    assert skipped("w = 4", value="false") == 0


def test_an_index_of_another_type_is_kept(tmp_path: Path) -> None:
    """One that only searches use: reads do without it, changes of its column follow the option, it can be dropped."""
    table = evolved(tmp_path)
    put(table, 1, 2)
    place = encode_arity_row([], [])
    meta = GlobalIndexMeta(0, 1, table.schema.by_name["v"].id, None, b"{}")
    name = "lumina-global-index-1.index"
    entry = IndexManifestEntry(FileKind.ADD, place, 0, "lumina", name, 3, 2, global_index=meta)
    Path(table.location, "index").mkdir()
    Path(table.location, "index", name).write_bytes(b"abc")
    TableCommit(table, "another").append([CommitMessage(place, 0, -1, index_entries=(entry,))])
    assert keys(table.location, "v = 'v2'") == [2]
    with pytest.raises(UnsupportedFeature, match="lumina, is over the column 'v'"):
        open_table(table.location).update("k = 1", {"v": "'x'"})
    compact(open_table(table.location), full=True)
    assert any("lumina are not opened" in note for note in check_table(table.location).notes)
    open_table(table.location).create_tag("kept")
    assert open_table(table.location).drop_global_index("v", "lumina").dropped_files == 1
    assert open_table(table.location).update("k = 1", {"v": "'x'"}).rows_updated == 1
    check_table(table.location)
