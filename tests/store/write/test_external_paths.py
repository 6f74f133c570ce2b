"""Data files in external paths: which path gets one, and that they are read, expired and dropped there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from support.oracles.checker import check_table
from support.oracles.orphaned import age

from paimon_spark import create_table, open_catalog, open_table
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import OptionError
from paimon_spark.format.manifest import EMPTY_ROW
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import write_roots
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.metadata.file_paths import BucketPlaces, entropy_directories
from paimon_spark.store.metadata.manifest_files import read_data_manifests, read_index_manifest, read_manifests
from paimon_spark.tables.open import WritableTable

PATHS, STRATEGY = "data-file.external-paths", "data-file.external-paths.strategy"
COLUMNS = {"id": "BIGINT", "dt": "STRING", "v": "STRING"}
KEYED = {"bucket": "1", "file-index.bloom-filter.columns": "v", "file-index.in-manifest-threshold": "0 b"}
KINDS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "append": ((), {}),
    "buckets": ((), {"bucket": "2", "bucket-key": "id"}),
    "keys and their changelog": (("id", "dt"), {**KEYED, "changelog-producer": "lookup"}),
    "deletion vectors in the bucket": (
        ("id", "dt"),
        {**KEYED, "deletion-vectors.enabled": "true", "index-file-in-data-file-dir": "true"},
    ),
    "hashes in the bucket": (("id", "dt"), {"bucket": "-1", "index-file-in-data-file-dir": "true"}),
    "postponed": (("id", "dt"), {"bucket": "-2"}),
}


def roots(folder: Path) -> str:
    return f"file:{folder}/x,file:{folder}/y"


def made(folder: Path, kind: str, **more: str) -> WritableTable:
    keys, options = KINDS[kind]
    given = {PATHS: roots(folder), STRATEGY: "round-robin", "data-file.path-directory": "data"}
    return create_table(f"{folder}/db.db/t", COLUMNS, keys, ("dt",), given | options | more)


def rows(first: int, value: str) -> pa.Table:
    return pa.table({"id": range(first, first + 3), "dt": ["a", "b", "c d"], "v": [value] * 3})


def placed(table: WritableTable) -> Iterator[str | None]:
    """The external path of every data, changelog and index file that any snapshot names."""
    for number in table.snapshots.ids():
        snapshot = table.snapshots.load(number)
        manifests = list(read_data_manifests(table.file_io, table.location, snapshot))
        for entry in read_manifests(table.file_io, table.location, manifests):
            yield entry.file.external_path
        for index in read_index_manifest(table.file_io, table.location, snapshot.index_manifest):
            yield index.external_path


def live_files(table: WritableTable) -> list[str]:
    files = open_table(table.location).system_table("files").to_arrow()
    return [str(path) for path in files["file_path"].to_pylist()]


def files_below(folder: Path, name: str) -> list[Path]:
    return [path for path in Path(folder, name).rglob("*") if path.is_file() and "bucket-" in str(path)]


@pytest.mark.parametrize("strategy", ["round-robin", "weight-robin", "specific-fs", "entropy-inject"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_file_of_a_bucket_goes_there(tmp_path: Path, kind: str, strategy: str) -> None:
    more = {"data-file.external-paths.specific-fs": "FILE", "data-file.external-paths.weights": "1, 2"}
    table = made(tmp_path, kind, **{STRATEGY: strategy}, **more)
    table.append(rows(1, "old"))
    table.append(rows(1, "new"))
    if kind != "postponed":
        table.compact(full=True)
        seen = ["new"] * 3 if table.schema.primary_keys else ["new"] * 3 + ["old"] * 3
        assert sorted(table.scan("v").to_arrow()["v"].to_pylist()) == seen
        assert table.scan(where="v = 'new' and dt = 'c d'").count() == 1
        if table.schema.primary_keys:
            table.delete("id = 2")
            assert sorted(table.scan("id").to_arrow()["id"].to_pylist()) == [1, 3]
    check_table(table.location)
    everywhere = list(placed(table))
    assert all(path and path.startswith((f"file:{tmp_path}/x/data/dt=", f"file:{tmp_path}/y/")) for path in everywhere)
    assert not files_below(tmp_path, "db.db")
    table.expire_snapshots(retain_max=1, retain_min=1, older_than="2999-01-01")
    left = [path for name in "xy" for path in files_below(tmp_path, name)]
    data = {f"file:{path}" for path in left if path.name.startswith("data-") and path.suffix != ".index"}
    assert data == set(live_files(table))
    check_table(table.location)
    open_catalog({"warehouse": str(tmp_path)}).drop_table(Identifier("db", "t"))
    assert not files_below(tmp_path, "x")
    assert not files_below(tmp_path, "y")


def choices(settings: dict[str, str], count: int = 4000) -> Counter[str]:
    table = create_table("memory://choices/t", COLUMNS, ignore_if_exists=True)
    places = BucketPlaces(table.with_options(settings), EMPTY_ROW, 0)
    return Counter(places.data_file(f"data-{n}.parquet").path.partition("/bucket-0/")[0] for n in range(count))


def test_paths_take_turns() -> None:
    given = {PATHS: "s3://a/x, oss://b/y/ ,hdfs://c/z"}
    found = choices({**given, STRATEGY: "round-robin"}, 300)
    assert found == {"s3://a/x": 100, "oss://b/y": 100, "hdfs://c/z": 100}
    assert choices({**given, STRATEGY: "specific-fs", "data-file.external-paths.specific-fs": "OSS"}, 9) == {
        "oss://b/y": 9
    }
    assert choices({**given, STRATEGY: "none"}, 9) == {"memory://choices/t": 9}
    assert choices({STRATEGY: "round-robin"}, 9) == {"memory://choices/t": 9}
    weighed = choices({**given, STRATEGY: "weight-robin", "data-file.external-paths.weights": "1,2,5"})
    shares = [weighed[path] / 4000 for path in ("s3://a/x", "oss://b/y", "hdfs://c/z")]
    assert shares == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=0.05)  # seven times what the draws vary by
    assert choices({**given, STRATEGY: "weight-robin"}, 300) == found


def test_a_small_write_begins_with_any_path() -> None:
    given = {PATHS: "s3://a/x,s3://b/y", STRATEGY: "round-robin"}
    assert len({next(iter(choices(given, 1))) for _ in range(64)}) == 2


def test_directories_of_a_hash() -> None:
    names = {entropy_directories(f"data-{n}.parquet") for n in range(1000)}
    assert {tuple(map(len, name.split("/"))) for name in names} == {(4, 4, 4, 8)}
    assert set("".join(names)) == set("01/")
    assert len(names) > 990


REFUSED: list[tuple[dict[str, str], str]] = [
    ({PATHS: "/lake/x", STRATEGY: "round-robin"}, "'/lake/x' in 'data-file.external-paths' has no scheme"),
    ({PATHS: "s3://b/x", STRATEGY: "specific-fs"}, r"which is None, and the paths are s3://b/x"),
    (
        {PATHS: "s3://b/x", STRATEGY: "specific-fs", "data-file.external-paths.specific-fs": "oss"},
        "which is 'oss', and the paths are s3://b/x; name the scheme of one of them",
    ),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_no_writer_could_do(tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        write_roots(TableSettings(options))
    table = create_table(f"{tmp_path}/t", COLUMNS)
    with pytest.raises(OptionError, match=message):
        table.append(rows(1, "x"), options=options)


def test_weights_are_one_for_each_path(tmp_path: Path) -> None:
    given = {PATHS: roots(tmp_path), STRATEGY: "weight-robin"}
    table = create_table(f"{tmp_path}/t", COLUMNS, options={**given, "data-file.external-paths.weights": "1,2,3"})
    with pytest.raises(OptionError, match=r"has 3 numbers, and 'data-file.external-paths' 2 paths"):
        table.append(rows(1, "x"))
    for weights in ("0,1", "a,1", ","):
        with pytest.raises(OptionError, match="expected"):
            table.append(rows(1, "x"), options={"data-file.external-paths.weights": weights})


def test_the_directory_of_a_table_gets_no_files_of_another(tmp_path: Path) -> None:
    other = create_table(f"{tmp_path}/other", COLUMNS)
    table = create_table(f"{tmp_path}/t", COLUMNS, options={PATHS: f"file:{other.location}", STRATEGY: "round-robin"})
    with pytest.raises(OptionError, match="is the directory of a table"):
        table.append(rows(1, "x"))
    assert not files_below(tmp_path, "other")


def test_a_path_in_another_store(tmp_path: Path) -> None:
    """The store of a path is that of its scheme, for writers, readers and those who delete."""
    root = f"memory://{tmp_path.name}/far"
    given = {PATHS: root, STRATEGY: "specific-fs", "data-file.external-paths.specific-fs": "memory", "bucket": "1"}
    table = create_table(f"{tmp_path}/t", COLUMNS, ("id",), options=given)
    table.append(rows(1, "old"))
    table.append(rows(1, "new"))
    table.compact(full=True)
    table.expire_snapshots(retain_max=1, retain_min=1, older_than="2999-01-01")
    again = open_table(table.location)
    assert again.scan("v").to_arrow()["v"].to_pylist() == ["new"] * 3
    assert not files_below(tmp_path, "t")
    found = [f for f in again.file_io.list(f"{root}/bucket-0") if not f.is_directory]
    assert [f.path for f in found] == live_files(table)


def test_orphans_in_directories_of_a_hash(tmp_path: Path) -> None:
    table = made(tmp_path, "append", **{STRATEGY: "entropy-inject"})
    table.append(rows(1, "x"))
    kept = files_below(tmp_path, "x") + files_below(tmp_path, "y")
    orphan = kept[0].with_name("data-0f0a7c52-4a8e-4c57-9d55-0f3b4f3e8a11-0.parquet")
    orphan.write_bytes(b"x")
    for name in "xy":
        age(tmp_path / name)
    done = remove_orphan_files(table, dry_run=False)
    assert done.paths == (f"file:{orphan}",)
    assert sorted(files_below(tmp_path, "x") + files_below(tmp_path, "y")) == sorted(kept)
