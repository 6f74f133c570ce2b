"""Plans of many files make no objects of them, and hold the splits of a naive model."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import examples

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CorruptFile
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import EMPTY_ROW, EMPTY_STATS, DataFileMeta, SimpleStats
from paimon_spark.format.manifests.entry_files import EntryFiles
from paimon_spark.format.types import DataType, Root
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import ReadUnit, Split
from paimon_spark.tables.open import open_table

INT = DataType(Root.INT)
SCHEMA = pa.schema([("p", pa.int32()), ("id", pa.int32())])
TARGET, OPEN_COST = 1000, 10
Place = tuple[int, int]


def data_file(name: str, size: int, rows: int, sequence: int) -> DataFileMeta:
    stats = SimpleStats(encode_arity_row((1,), (INT,)), encode_arity_row((9,), (INT,)), (0,))
    return DataFileMeta(
        name, size, rows, EMPTY_ROW, EMPTY_ROW, EMPTY_STATS, stats, sequence, sequence + 5, 0, 0,
        creation_time=1_700_000_000_000, delete_row_count=0, file_source=0, value_stats_cols=("id",),
    )  # fmt: skip


def new_table(path: Path, buckets: int) -> Table:
    options = {
        "bucket": str(buckets if buckets > 1 else -1),
        "source.split.target-size": f"{TARGET}b",
        "source.split.open-file-cost": f"{OPEN_COST}b",
        **({"bucket-key": "id"} if buckets > 1 else {}),
    }
    create_table(str(path), new_schema(SCHEMA, (), ("p",), options))
    return open_table(str(path))


def commit(table: Table, added: dict[Place, list[DataFileMeta]], deleted: dict[Place, list[DataFileMeta]]) -> None:
    total = table.settings.bucket
    TableCommit(table, "files").append([message(place, total, new_files=tuple(f)) for place, f in added.items()])
    if deleted:
        change = [message(place, total, compact_before=tuple(f)) for place, f in deleted.items()]
        TableCommit(table, "no files").append(change)


def message(place: Place, total: int, **files: tuple[DataFileMeta, ...]) -> CommitMessage:
    return CommitMessage(encode_arity_row((place[0],), (INT,)), place[1], total, **files)


def naive_bins(files: list[DataFileMeta]) -> list[list[DataFileMeta]]:
    bins: list[list[DataFileMeta]] = []
    for file in files:
        weight = max(file.file_size, OPEN_COST)
        if bins and sum(max(f.file_size, OPEN_COST) for f in bins[-1]) + weight <= TARGET:
            bins[-1].append(file)
        else:
            bins.append([file])
    return bins


def as_read(file: DataFileMeta) -> DataFileMeta:
    return file._replace(value_stats=EMPTY_STATS, value_stats_cols=())


def parts(splits: tuple[ReadUnit, ...]) -> list[tuple[Place, tuple[DataFileMeta, ...]]]:
    found = []
    for split in splits:
        assert isinstance(split, Split)
        assert not split.sections
        found.append(((int.from_bytes(split.partition[12:16], "little"), split.bucket), tuple(split.raw_files)))
    return found


@given(st.integers(0, 2**32), st.integers(1040, 4500), st.integers(1, 3), st.integers(0, 3), st.booleans())
@settings(max_examples=examples(40), deadline=None)
def test_plans_of_a_naive_model(
    tmp_path_factory: pytest.TempPathFactory, seed: int, count: int, buckets: int, gone: int, rises: bool
) -> None:
    draw = random.Random(seed)
    table = new_table(tmp_path_factory.mktemp("t") / "t", buckets)
    most = draw.choice([5, 100, 2000])
    files: dict[Place, list[DataFileMeta]] = {}
    for number in range(count):
        sequence = number if rises else draw.randrange(50)
        file = data_file(f"data-{number:06d}.parquet", draw.randrange(most), draw.randrange(9), sequence)
        files.setdefault((draw.randrange(4), draw.randrange(buckets)), []).append(file)
    deleted: dict[Place, list[DataFileMeta]] = {}
    for place, those in files.items():
        deleted[place] = draw.sample(those, min(gone, len(those)))
    commit(table, files, deleted if gone else {})
    live = {place: [f for f in those if f not in deleted[place]] for place, those in files.items()}
    partitions = list(dict.fromkeys(partition for partition, _ in files))
    expected = [
        (place, tuple(map(as_read, group)))
        for place in sorted(live, key=lambda place: (partitions.index(place[0]), place[1]))
        for group in naive_bins(sorted(live[place], key=lambda file: file.min_sequence_number))
    ]
    table = open_table(table.location)
    splits = table.scan().plan().splits
    assert any(isinstance(split.raw_files, EntryFiles) for split in splits if isinstance(split, Split))
    assert [split.size for split in splits] == [sum(f.file_size for f in group) for _, group in expected]
    assert [split.row_count for split in splits] == [sum(f.row_count for f in group) for _, group in expected]
    assert [split.file_count for split in splits] == [len(group) for _, group in expected]
    assert table.scan().count() == sum(f.row_count for those in live.values() for f in those)
    assert parts(splits) == expected
    assert pickle.loads(pickle.dumps(splits)) == splits
    one = table.scan(where="p = 2").plan().splits
    assert parts(one) == [(place, group) for place, group in expected if place[0] == 2]
    whole = [split for split in splits if split.partition == encode_arity_row((2,), (INT,))]
    assert list(one) == whole  # made at once, or not


@pytest.mark.parametrize(
    "change",
    [lambda name: b"../" + name[3:], lambda name: b"\xff" + name[1:], lambda name: name[:9] + b"\0" + name[10:]],
)
def test_a_damaged_name_is_found_by_the_plan(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    table = new_table(tmp_path / "t", 1)
    table = open_table(table.location, {"manifest.compression": "null"})
    metas = [data_file(f"data-{number:06d}.parquet", 10, 1, number) for number in range(2000)]
    commit(table, {(0, 0): metas}, {})
    name = b"data-000007.parquet"
    (manifest,) = [path for path in (tmp_path / "t" / "manifest").iterdir() if name in path.read_bytes()]
    manifest.write_bytes(manifest.read_bytes().replace(name, change(name)))
    with pytest.raises(CorruptFile, match=manifest.name):
        open_table(table.location).scan().plan()


def test_files_by_their_time_and_with_statistics_are_made_at_once(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", 1)
    metas = [data_file(f"data-{number:06d}.parquet", 10, 1, number) for number in range(1200)]
    late = [file._replace(file_name=f"late-{file.file_name}", creation_time=1_800_000_000_000) for file in metas]
    commit(table, {(0, 0): metas, (1, 0): late}, {})
    since = {"scan.mode": "from-file-creation-time", "scan.file-creation-time-millis": "1750000000000"}
    splits = open_table(table.location, since).scan().plan().splits
    assert [file for _, files in parts(splits) for file in files] == list(map(as_read, late))
    by_value = open_table(table.location).scan(where="id = 5").plan().splits
    assert [file for _, files in parts(by_value) for file in files] == [*metas, *late]
    assert open_table(table.location).scan().max("id") == 9


@dataclass(frozen=True)
class Known:
    """What the metadata of a file tell of its column id: the bounds if any, and whether they must be read."""

    file: DataFileMeta
    bounds: tuple[int, int] | None
    is_known: bool = True


def drawn(draw: random.Random, number: int, odd: float) -> Known:
    """A file, with statistics that are not plain in that share of them."""
    file = data_file(f"data-{number:06d}.parquet", 10, draw.randrange(1, 4), number)
    low = draw.randrange(-(2**31), 2**31 - 10)
    stats = SimpleStats(encode_arity_row((low,), (INT,)), encode_arity_row((low + 9,), (INT,)), (0,))
    kind = draw.randrange(8) if draw.random() < odd else 9
    null = encode_arity_row((None,), (INT,))
    plain = file._replace(value_stats=stats)
    match kind:
        case 0:
            return Known(plain._replace(row_count=0), None)
        case 1:
            return Known(plain._replace(value_stats=SimpleStats(null, null, (file.row_count,))), None)
        case 2:
            return Known(plain._replace(value_stats=stats._replace(null_counts=None)), (low, low + 9))
        case 3:
            return Known(plain._replace(value_stats=stats._replace(null_counts=(-1,))), None, False)
        case 4:
            return Known(plain._replace(value_stats=EMPTY_STATS, value_stats_cols=()), None, False)
        case 5:
            return Known(plain._replace(value_stats=SimpleStats(null, null, (0,))), None, False)
        case 6:
            both = [encode_arity_row((7, value), (INT, INT)) for value in (low, low + 9)]
            return Known(
                plain._replace(value_stats=SimpleStats(both[0], both[1], (0, 0)), value_stats_cols=None), (low, low + 9)
            )
        case 7:
            return Known(plain._replace(value_stats=stats._replace(null_counts=(1,)), row_count=3), (low, low + 9))
    return Known(plain, (low, low + 9))


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.002, 0.02, 1.0]))
@settings(max_examples=examples(40), deadline=None)
def test_bounds_of_many_files_are_those_of_each(
    tmp_path_factory: pytest.TempPathFactory, seed: int, odd: float
) -> None:
    """Statistics of integers are looked at together; where one file has others, each file of its split is."""
    draw = random.Random(seed)
    table = new_table(tmp_path_factory.mktemp("t") / "t", 1)
    files = [drawn(draw, number, odd) for number in range(1500)]
    commit(table, {(3, 0): [known.file for known in files]}, {})
    found = open_table(table.location).scan().metadata_aggregates(["id", "p"])
    left = {file.file_name for unit in found.rest if isinstance(unit, Split) for file in unit.files}
    assert left == {known.file.file_name for known in files if not known.is_known}
    assert found.files == sum(known.is_known for known in files)
    assert found.rows == sum(known.file.row_count for known in files if known.is_known)
    bounds = [known.bounds for known in files if known.is_known and known.bounds is not None]
    (group,) = found.partitions.values()
    expected = {"id": (min(low for low, _ in bounds), max(high for _, high in bounds)), "p": (3, 3)}
    assert group.bounds == expected
