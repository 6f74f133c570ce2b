"""BLOB columns that Java writes: the same bytes at every snapshot, from as many files as they lie in.

And those that we write: the same files as Java's, byte by byte.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from shutil import copytree
from typing import Any

import our_engine
import pytest
from genuine import Genuine, table_path
from genuine_values import PLACEHOLDER
from java_evolution import compact_columns, live_groups, write_columns
from readers import assert_same
from support.oracles.checker import check_table
from support.tables.column_changes import update as update_columns
from support.tables.compacting import live_files

from paimon_spark import open_blob, open_table
from paimon_spark.errors import SchemaError, UnsupportedFeature
from paimon_spark.format.blob_file import decode_descriptor
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.expire.snapshots import expire_snapshots

pytestmark = pytest.mark.interop

EVOLVED = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
COLUMNS = {"id": "INT", "b": "BLOB", "name": "STRING", "c": "BLOB"}
TABLES = {
    "one file": {},
    "many files": {"blob.target-file-size": "1 kb"},
    "vectors": {"deletion-vectors.enabled": "true", "blob.target-file-size": "1 kb"},
    "orc": {"file.format": "orc"},
}


def value(random: Random) -> bytes | None:
    return random.choice([None, b"", b"x", random.randbytes(random.randrange(600)), random.randbytes(300)])


@pytest.mark.parametrize("kind", TABLES)
def test_blobs_that_change(kind: str, java: Genuine, tmp_path: Path) -> None:
    path, random = table_path(tmp_path), Random(kind)
    java.create(path, COLUMNS, options={**EVOLVED, **TABLES[kind]})
    for turn in range(4):
        java.write(path, [(k, value(random), f"{k}", value(random)) for k in range(turn * 10, turn * 10 + 10)])
        groups = java.run(live_groups, path)
        parts: list[tuple[int, list[Any]]] = [
            (first, [(random.choice([PLACEHOLDER, value(random)]),) for _ in range(count)])
            for first, count, _ in groups
        ]
        java.run(write_columns, path, ["b"], parts)
        if "deletion-vectors.enabled" in TABLES[kind]:
            java.delete_positions(path, {name: [2, 5] for _, _, name in groups})
        if turn == 1:
            java.run(write_columns, path, ["name"], [(f, [("new",)] * count) for f, count, _ in groups])
        if turn == 2:
            java.run(compact_columns, path)
        assert_same(path, [java])
    java.run(compact_columns, path, True)
    for snapshot in our_engine.snapshot_ids(path):
        assert_same(path, [java], {"scan.snapshot-id": str(snapshot)})
    rows = open_table(path).scan()
    for where in ("b is not null", "id > 17", "name = 'new' and c is null"):
        some = open_table(path).scan(["c", "id"], where).to_arrow().to_pylist()
        whole = {row["id"]: row["c"] for row in rows.to_arrow().to_pylist()}
        assert all(whole[row["id"]] == row["c"] for row in some)
    assert rows.count() == len(java.read(path))
    assert open_table(path).scan(columns=[]).metadata_aggregates().rest == []
    check_table(path)


def described(path: str) -> list[tuple[Any, ...]]:
    """What the metadata of the live files say, but for their names and times, and the bytes of files of blobs."""
    found = []
    for file in sorted(
        live_files(open_table(path)), key=lambda f: (f.first_row_id or 0, f.write_cols or (), f.row_count)
    ):
        meta = file._replace(file_name="", file_size=0, creation_time=None)
        data = next(Path(path).rglob(file.file_name)).read_bytes() if file.file_name.endswith(".blob") else b""
        found.append((meta, data))
    return found


@pytest.mark.parametrize(
    "options",
    [{}, {"blob.target-file-size": "100 b"}, {"blob.target-file-size": "1 b", "target-file-row-num": "3"}],
    ids=["one file", "many files", "many files of few rows"],
)
def test_the_same_rows_make_the_same_files(options: dict[str, str], java: Genuine, tmp_path: Path) -> None:
    random, paths = Random(str(options)), [table_path(tmp_path / name) for name in ("ours", "theirs")]
    rows = [(k, value(random), f"v{k}", value(random)) for k in range(10)]
    for path in paths:
        our_engine.create(path, COLUMNS, (), (), {**EVOLVED, **options})
    for part in (rows[:7], rows[7:]):
        our_engine.write(paths[0], [(part, None)])
        java.write(paths[1], part)
    assert described(paths[0]) == described(paths[1])
    new = {k: value(random) for k in (0, 1, 4, 8)}
    update_columns(open_table(paths[0]), "b", new, key="id")
    parts = [
        (first, [(new.get(row, PLACEHOLDER),) for row in range(first, first + count)])
        for first, count, _ in java.run(live_groups, paths[1])
        if any(first <= row < first + count for row in new)
    ]
    java.run(write_columns, paths[1], ["b"], parts)
    assert described(paths[0]) == described(paths[1])
    for path in paths:
        assert_same(path, [java])
        check_table(path)


@pytest.mark.parametrize("blobs", [False, True], ids=["others", "blobs"])
@pytest.mark.parametrize("target", ["60 b", "400 b", "1 mb"])
def test_compactions_join_the_same_files(target: str, blobs: bool, java: Genuine, tmp_path: Path) -> None:
    random, path, copy = Random(target), table_path(tmp_path), tmp_path / "copy" / "t"
    options = {"blob.target-file-size": target, "blob-compaction.enabled": str(blobs).lower()}
    our_engine.create(path, COLUMNS, (), (), {**EVOLVED, **options, "compaction.min.file-num": "2"})
    for turn in range(4):
        our_engine.write(
            path, [([(k, value(random), f"v{k}", value(random)) for k in range(turn * 5, turn * 5 + 5)], None)]
        )
        for name in random.choice([["b"], ["c"], ["b", "c"], []]):
            keys = random.sample(range(turn * 5 + 5), 3)
            update_columns(open_table(path), name, {k: value(random) for k in keys}, key="id")
    copytree(path, copy)
    our_engine.compact(path, full=True)
    java.run(compact_columns, str(copy), blobs)
    assert described(path) == described(str(copy))
    assert_same(path, [java])
    check_table(path)


def test_references(java: Genuine, tmp_path: Path) -> None:
    """References of the reader are to the bytes in the files; those that a table stores lead out of it."""
    path, outside = table_path(tmp_path), tmp_path / "outside"
    outside.write_bytes(b"0123456789")
    java.create(path, COLUMNS, options={**EVOLVED, "blob-descriptor-field": "c"})
    java.write(
        path, [(1, b"abc", "x", (str(outside), 2, 3)), (2, b"", "y", None), (3, None, "z", (str(outside), 7, -1))]
    )
    assert assert_same(path, [java]).total() == 3
    rows = open_table(path).scan(["b", "c"]).to_arrow().to_pylist()
    assert [row["c"] for row in rows] == [b"234", None, b"789"]
    found = open_table(path, {"blob-as-descriptor": "true"}).scan(["b", "c"]).to_arrow().to_pylist()
    for name in ("b", "c"):
        for whole, reference in zip(rows, found, strict=True):
            if whole[name] is None:
                assert reference[name] is None
                continue
            place = decode_descriptor(reference[name], name)
            data = Path(place.uri.removeprefix("file:")).read_bytes()[place.offset :]
            assert (data if place.length < 0 else data[: place.length]) == whole[name]
    java.run(write_columns, path, ["c"], [(0, [((str(outside), 0, 1),), (None,), ((str(outside), 1, 2),)])])
    assert assert_same(path, [java]).total() == 3
    check_table(path)


KEYS: dict[str, list[Any]] = {
    "TINYINT": [-128, 0, 127], "SMALLINT": [-32768, 5], "INT": [-(2**31), 7, 2**31 - 1], "BIGINT": [-(2**63), 2**62],
    "STRING": ["", "é", "key"], "VARCHAR(9)": ["a", "b"], "CHAR(2)": ["xy"],
}  # fmt: skip


def array_of(random: Random) -> Any:
    return random.choice([None, (), tuple(value(random) for _ in range(random.randrange(5)))])


def map_of(random: Random, keys: list[Any]) -> Any:
    return random.choice([None, (), tuple((key, value(random)) for key in keys if random.random() < 0.7)])


@pytest.mark.parametrize("key", KEYS)
def test_blobs_in_arrays_and_maps(key: str, java: Genuine, tmp_path: Path) -> None:
    """The same files as Java's, byte by byte; the same rows, and references that lead to the same bytes."""
    random, paths = Random(key), [table_path(tmp_path / name) for name in ("ours", "theirs")]
    columns = {
        "id": "INT",
        "a": {"type": "ARRAY", "element": "BLOB"},
        "m": {"type": "MAP", "key": f"{key} NOT NULL", "value": "BLOB"},
    }
    for path in paths:
        our_engine.create(path, columns, (), (), {**EVOLVED, "blob.target-file-size": "1 kb"})
    rows = [(n, array_of(random), map_of(random, KEYS[key])) for n in range(12)]
    for part in (rows[:7], rows[7:]):
        our_engine.write(paths[0], [(part, None)])
        java.write(paths[1], part)
    assert described(paths[0]) == described(paths[1])
    new_maps = {n: map_of(random, KEYS[key]) for n in (0, 3, 8)}
    update_columns(open_table(paths[0]), "m", new_maps, key="id")
    parts = [
        (first, [(new_maps.get(row, PLACEHOLDER),) for row in range(first, first + count)])
        for first, count, _ in java.run(live_groups, paths[1])
    ]
    java.run(write_columns, paths[1], ["m"], parts)
    assert described(paths[0]) == described(paths[1])
    for path in paths:
        assert_same(path, [java])
        whole = open_table(path).scan(["a", "m"]).to_arrow().to_pylist()
        found = open_table(path, {"blob-as-descriptor": "true"}).scan(["a", "m"]).to_arrow().to_pylist()
        for row, referring in zip(whole, found, strict=True):
            for name in ("a", "m"):
                assert opened(referring[name]) == row[name]
    our_engine.compact(paths[0], full=True, options={"compaction.min.file-num": "2", "blob-compaction.enabled": "true"})
    assert_same(paths[0], [java])
    check_table(paths[0])


def opened(value: Any) -> Any:
    """A value with the bytes that its references lead to."""
    if isinstance(value, bytes):
        with open_blob(value) as file:
            return file.read()
    if isinstance(value, tuple):
        return (value[0], opened(value[1]))
    return None if value is None else [opened(part) for part in value]


@pytest.mark.parametrize("data_type", ["MAP<DATE, BLOB>", "ROW<b BLOB>", "ARRAY<ARRAY<BLOB>>"])
def test_other_nested_blobs_are_refused_by_name(data_type: str, tmp_path: Path) -> None:
    def make() -> None:
        our_engine.create(table_path(tmp_path), {"id": "INT", "b": data_type}, options=EVOLVED)
        our_engine.write(table_path(tmp_path), [([(1, None)], None)])

    with pytest.raises((UnsupportedFeature, SchemaError), match=r"column 'b' has the type .*BLOB"):
        make()


def test_files_of_blobs_stay_as_long_as_they_are_used(java: Genuine, tmp_path: Path) -> None:
    """They are in manifests like others: the search for orphans finds none, and an expiry deletes those of Java's."""
    path = table_path(tmp_path)
    java.create(path, COLUMNS, options=EVOLVED)
    for k in range(3):
        java.write(path, [(k, b"abc", "x", bytes(k))])
    java.run(compact_columns, path, True)
    rows = assert_same(path, [java])
    moment = time.time_ns() // 1_000_000 - 1
    made = set(Path(path).rglob("*.blob"))
    assert remove_orphan_files(open_table(path), moment).paths == ()
    snapshots = len(our_engine.snapshot_ids(path))
    assert expire_snapshots(open_table(path), retain_max=1, retain_min=1, older_than=moment).ids
    assert (len(our_engine.snapshot_ids(path)), snapshots) == (1, 4)
    assert set(Path(path).rglob("*.blob")) < made
    assert assert_same(path, [java]) == rows
    check_table(path)
