"""Deletion vectors of buckets through histories of deletes and compactions, against sets of row numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When
from support.index_files import decode_vectors, encode_vectors
from support.tables.files_by_hand import COLUMNS, make, partition

from paimon_spark.errors import CommitConflict, CorruptFile
from paimon_spark.format.deletion_vector import EncodedVector, deleted_positions
from paimon_spark.format.manifest import EMPTY_ROW, DataFileMeta, FileKind, IndexManifestEntry
from paimon_spark.format.paths import index_file_path
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.commit.vector_files import IndexChanges, find_vector_files, rolled, vector_changes
from paimon_spark.store.metadata.manifest_files import combine_index_entries
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.partition_stats import same_partition
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

VECTORS = {"deletion-vectors.enabled": "true"}
PLACES = {"unaware": 0, "bucketed": 1}


def append_table(path: Path, kind: str, **options: str) -> Table:
    buckets = {"bucket": "2", "bucket-key": "id"} if kind == "bucketed" else {}
    return make(path, (), (), {**VECTORS, **buckets, **{k.replace("_", "."): v for k, v in options.items()}})


def rows(*positions: int) -> npt.NDArray[np.int64]:
    return np.array(positions, np.int64)


class Bucket:
    """The index files of one bucket as commits leave them."""

    def __init__(self, table: Table, bucket: int) -> None:
        self.table, self.bucket = table, bucket
        self.live: list[IndexManifestEntry] = []

    def change(self, removed: set[str], superseded: Mapping[str, npt.NDArray[np.int64]]) -> IndexChanges:
        live = {(EMPTY_ROW, self.bucket): tuple(self.live)}
        changes = vector_changes(self.table, live, EMPTY_ROW, self.bucket, removed, superseded)
        unaware = self.table.settings.get("bucket", "-1") == "-1"
        self.live = combine_index_entries(self.live, changes.entries, unaware, same_partition(()))
        return changes

    def vectors(self) -> dict[str, set[int]]:
        """What a reader finds."""
        found: dict[str, set[int]] = {}
        for entry in self.live:
            path = index_file_path(self.table.location, "", entry, self.table.settings)
            data = self.table.file_io.read_bytes(path)
            assert entry.deletion_ranges is not None
            assert (entry.file_size, entry.row_count) == (len(data), len(entry.deletion_ranges))
            for name, vector in decode_vectors(data, entry.deletion_ranges, path).items():
                assert name not in found, "a data file has two vectors"
                found[name] = set(deleted_positions(vector).tolist())
            assert [r.cardinality for r in entry.deletion_ranges] == [
                len(found[r.data_file]) for r in entry.deletion_ranges
            ]
        return found


NAMES = [f"data-{n}" for n in range(5)]
STEPS = st.lists(
    st.tuples(
        st.sets(st.sampled_from(NAMES), max_size=2),
        st.dictionaries(st.sampled_from(NAMES), st.lists(st.integers(0, 100) | st.integers(0, 2**31 - 1), max_size=6)),
    ),
    max_size=6,
)


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("bits", ["false", "true"])
def test_histories_against_sets(kind: str, bits: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    options = {"deletion-vectors.bitmap64": bits, "deletion-vector.index-file.target-size": "40 b"}
    table = append_table(tmp_path_factory.mktemp("table") / "t", kind).with_options(options)

    @settings(max_examples=25, deadline=None, database=None)
    @given(STEPS)
    def history(steps: list[tuple[set[str], dict[str, list[int]]]]) -> None:
        bucket, model = Bucket(table, PLACES[kind]), dict[str, set[int]]()
        for removed, superseded in steps:
            before = {name: set(deleted) for name, deleted in model.items()}
            for name, deleted in superseded.items():
                if deleted:
                    model.setdefault(name, set()).update(deleted)
            for name in removed:
                model.pop(name, None)
            changes = bucket.change(removed, {name: rows(*deleted) for name, deleted in superseded.items()})
            assert bucket.vectors() == model
            assert bool(changes.entries) == (model != before)
            assert (kind == "unaware") or len(bucket.live) == bool(model)

    history()


def test_other_index_files_of_an_unaware_partition_stay_as_they_are(tmp_path: Path) -> None:
    bucket = Bucket(append_table(tmp_path / "t", "unaware"), 0)
    bucket.change(set(), {"a": rows(1), "b": rows(2)})
    bucket.change(set(), {"c": rows(3)})
    first, second = bucket.live
    changes = bucket.change({"a"}, {"b": rows(4)})
    assert second in bucket.live
    assert [e.file_name for e in changes.entries if e.kind == FileKind.DELETE] == [first.file_name]
    assert bucket.vectors() == {"b": {2, 4}, "c": {3}}


def test_the_last_vector_of_a_bucket_takes_the_index_file_with_it(tmp_path: Path) -> None:
    bucket = Bucket(append_table(tmp_path / "t", "bucketed"), 1)
    bucket.change(set(), {"a": rows(1)})
    changes = bucket.change({"a"}, {"a": rows(7)})
    assert (bucket.live, changes.created) == ([], ())


def test_vectors_of_both_kinds_lie_in_one_file_when_the_option_changes(tmp_path: Path) -> None:
    table = append_table(tmp_path / "t", "bucketed")
    bucket = Bucket(table, 1)
    bucket.change(set(), {"a": rows(1), "b": rows(2)})
    bucket.table = table.with_options({"deletion-vectors.bitmap64": "true"})
    bucket.change(set(), {"b": rows(2**40)})
    assert bucket.vectors() == {"a": {1}, "b": {2, 2**40}}


@pytest.mark.parametrize(
    ("sizes", "target", "expected"),
    [
        ([], 10, []),
        ([5, 5, 5], None, [3]),
        ([5, 5, 5], 100, [3]),
        ([9, 9], 10, [2]),  # the byte of the version counts: 1 + 9 is not above the target
        ([10, 10], 10, [1, 1]),
        ([5, 5, 5], 10, [2, 1]),
        ([50, 1, 50], 10, [1, 2]),
    ],
)
def test_an_index_file_ends_with_the_vector_that_exceeds_the_target(
    sizes: list[int], target: int | None, expected: list[int]
) -> None:
    vectors = [EncodedVector(str(n), bytes(size), 1) for n, size in enumerate(sizes)]
    groups = list(rolled(vectors, target))
    assert [len(group) for group in groups] == expected
    assert [vector for group in groups for vector in group] == vectors


def test_index_files_lie_where_the_table_wants_them(tmp_path: Path) -> None:
    options = {**VECTORS, "index-file-in-data-file-dir": "true", "bucket": "2", "bucket-key": "id"}
    table = make(tmp_path / "t", (), ("part",), options)
    (path,) = vector_changes(table, {}, partition("x"), 1, (), {"a": rows(3)}).created
    assert Path(path).parent == tmp_path / "t" / "part=x" / "bucket-1"
    assert Path(path).read_bytes() == encode_vectors({"a": [3]})[0]


@pytest.mark.parametrize("when", list(When))
def test_a_failed_write_leaves_no_index_file(when: When, tmp_path: Path) -> None:
    table = append_table(tmp_path / "t", "unaware").with_options({"deletion-vector.index-file.target-size": "1 b"})
    store = FaultyFileIO(table.file_io, at=1, named="!write", when=when)
    broken = Table(table.location, store, table.schema, table.settings)
    with pytest.raises(InjectedFault):
        vector_changes(broken, {}, EMPTY_ROW, 0, (), {"a": rows(1), "b": rows(2)})
    assert store.log.count("!write") == 2
    assert not list((tmp_path / "t" / "index").glob("*"))


def test_a_missing_index_file_is_named(tmp_path: Path) -> None:
    bucket = Bucket(append_table(tmp_path / "t", "bucketed"), 1)
    (path,) = bucket.change(set(), {"a": rows(1)}).created
    Path(path).unlink()
    with pytest.raises(CorruptFile, match=Path(path).name):
        bucket.change(set(), {"a": rows(2)})


# ------------------------------------------------------------------------------------------ on real tables, by commits


@pytest.fixture(params=list(PLACES))
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """ids 0 to 99 in the partition x, 100 to 199 in y; one or two files to a partition."""
    buckets = {"bucket": "2", "bucket-key": "id"} if request.param == "bucketed" else {}
    made = make(tmp_path / "t", (), ("part",), {**VECTORS, **buckets})
    batch = pa.record_batch({"part": ["x"] * 100 + ["y"] * 100, "id": range(200), "value": ["v"] * 200}, schema=COLUMNS)
    write = TableWrite(made, "w")
    write.write(batch)
    TableCommit(made, "w").append(write.finish())
    return open_table(made.location)


def files(table: Table) -> list[tuple[bytes, int, DataFileMeta]]:
    return [(split.partition, split.bucket, file) for split in table.scan().plan().splits for file in split.files]


def delete_first_rows(table: Table, count: int) -> list[CommitMessage]:
    """The messages of a job that deletes the first rows of every file, planned on the latest snapshot."""
    live = find_vector_files(table, table.snapshots.latest())
    messages = []
    for part, bucket, file in files(table):
        changes = vector_changes(table, live, part, bucket, (), {file.file_name: np.arange(count)})
        messages.append(CommitMessage(part, bucket, -1, index_entries=changes.entries))
    return messages


def ids(table: Table) -> list[int]:
    return sorted(table.scan(["id"]).to_arrow().column("id").to_pylist())


def test_deleted_rows_are_gone(table: Table) -> None:
    every = len(files(table))
    TableCommit(table, "d1").append(delete_first_rows(table, 3))
    assert len(ids(table)) == 200 - 3 * every
    TableCommit(table, "d2").append(delete_first_rows(table, 5))
    assert len(ids(table)) == 200 - 5 * every
    latest = table.snapshots.latest()
    assert latest is not None
    assert (latest.commit_kind, latest.total_record_count) == (CommitKind.OVERWRITE, 200)
    assert find_vector_files(table, None) == {}


def test_the_second_of_two_deletes_of_a_bucket_conflicts(table: Table) -> None:
    one, other = delete_first_rows(table, 1), delete_first_rows(table, 2)
    TableCommit(table, "a").append(one)
    with pytest.raises(CommitConflict):
        TableCommit(table, "b").append(other)
    assert len(ids(table)) == 200 - len(files(table))


def test_deletes_in_other_partitions_do_not_conflict(table: Table) -> None:
    x, y = ([m for m in delete_first_rows(table, 1) if m.partition == partition(p)] for p in ("x", "y"))
    TableCommit(table, "a").append(x)
    TableCommit(table, "b").append(y)
    assert len(ids(table)) == 200 - len(files(table))


def rewritten(table: Table) -> list[CommitMessage]:
    """Messages of a job that removes every file and knows the vectors of the latest snapshot."""
    live = find_vector_files(table, table.snapshots.latest())
    messages = []
    for part, bucket, file in files(table):
        changes = vector_changes(table, live, part, bucket, {file.file_name}, {})
        total = 2 if table.settings.get("bucket") == "2" else -1
        messages.append(
            CommitMessage(part, bucket, total, compact_before=(file,), compact_index_entries=changes.entries)
        )
    return messages


def test_a_compaction_knows_the_vectors_of_its_files(table: Table) -> None:
    TableCommit(table, "d").append(delete_first_rows(table, 1))
    TableCommit(table, "c").append(rewritten(table))
    latest = table.snapshots.latest()
    assert latest is not None
    assert latest.index_manifest is None


@pytest.mark.parametrize("vectors_before", [False, True])
def test_a_compaction_conflicts_with_a_delete_in_its_files(table: Table, vectors_before: bool) -> None:
    if vectors_before:
        TableCommit(table, "d0").append(delete_first_rows(table, 1))
    compaction = rewritten(table)
    TableCommit(table, "d").append(delete_first_rows(table, 2))
    with pytest.raises(CommitConflict):
        TableCommit(table, "c").append(compaction)
    assert len(ids(table)) == 200 - 2 * len(files(table))


def test_a_delete_conflicts_with_a_compaction_of_its_files(table: Table) -> None:
    delete = delete_first_rows(table, 1)
    TableCommit(table, "c").append(rewritten(table))
    with pytest.raises(CommitConflict, match="no longer live"):
        TableCommit(table, "d").append(delete)


def test_an_overwrite_takes_the_vectors_along(table: Table) -> None:
    TableCommit(table, "d").append(delete_first_rows(table, 1))
    TableCommit(table, "o").overwrite([], {"part": "x"})
    latest = table.snapshots.latest()
    left = {part for part, _ in find_vector_files(table, latest)}
    assert left == {partition("y")}
    TableCommit(table, "t").overwrite([], None)
    assert find_vector_files(table, table.snapshots.latest()) == {}
    assert ids(table) == []
