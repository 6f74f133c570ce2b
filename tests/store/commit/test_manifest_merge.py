"""Fewer manifests, the same live files (Java: ManifestFileMerger)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import examples
from support.tables.files_by_hand import STRING, entry, file, partition

from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.manifest import FileKind, ManifestEntry, ManifestFileMeta, SimpleStats
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.types import DataField
from paimon_spark.store.commit.manifest_merge import FullMerge, merge_manifests, plan_full_merge
from paimon_spark.store.metadata.live_files import fold_entries
from paimon_spark.store.metadata.manifest_files import (
    ManifestWriter,
    read_manifest_bytes,
    read_manifest_list,
    read_manifests,
)

ADD, DELETE = FileKind.ADD, FileKind.DELETE
FIELDS = (DataField(0, "part", STRING),)
IO = LocalFileIO()


def writer(table: Path, **options: str) -> ManifestWriter:
    return ManifestWriter(
        IO, str(table), TableSettings({f"manifest.{k.replace('_', '-')}": v for k, v in options.items()}), FIELDS
    )


class Reads:
    """Reads manifests and remembers which."""

    def __init__(self, table: Path) -> None:
        self.table = table
        self.names: set[str] = set()

    def __call__(self, metas: Sequence[ManifestFileMeta]) -> list[tuple[str, bytes]]:
        self.names |= {meta.file_name for meta in metas}
        return read_manifest_bytes(IO, str(self.table), metas)


def add(name: str, part: str = "p", **more: object) -> ManifestEntry:
    return entry(ADD, file(name, **more), part=partition(part))


def delete(name: str, part: str = "p") -> ManifestEntry:
    return add(name, part)._replace(kind=DELETE)


def write_all(out: ManifestWriter, *manifests: Sequence[ManifestEntry]) -> list[ManifestFileMeta]:
    metas = [meta for entries in manifests for meta in out.write_manifests(entries)]
    out.flush()
    return metas


def merge(metas: list[ManifestFileMeta], read: Reads, out: ManifestWriter) -> list[ManifestFileMeta]:
    merged = merge_manifests(metas, out.settings, read, out)
    out.flush()
    return merged


def live(table: Path, metas: Sequence[ManifestFileMeta]) -> list[str]:
    entries = fold_entries(read_manifests(IO, str(table), metas))
    assert all(e.kind == ADD for e in entries)
    return sorted(e.file.file_name for e in entries)


def test_few_small_manifests_stay(tmp_path: Path) -> None:
    out, read = writer(tmp_path, merge_min_count="4"), Reads(tmp_path)
    metas = write_all(out, [add("a")], [add("b")], [add("c")])
    assert merge(metas, read, out) == metas
    assert read.names == set()


def test_enough_small_manifests_are_joined(tmp_path: Path) -> None:
    out, read = writer(tmp_path, merge_min_count="4"), Reads(tmp_path)
    metas = write_all(out, [add("a")], [add("b"), add("x")], [delete("a")], [add("c")])
    merged = merge(metas, read, out)
    assert len(merged) == 1
    assert (merged[0].num_added_files, merged[0].num_deleted_files) == (3, 0)
    assert live(tmp_path, merged) == ["b", "c", "x"]


@pytest.mark.parametrize("compression", ["zstd", "snappy", "none"])
def test_big_manifests_are_copied_and_small_ones_encoded_anew(tmp_path: Path, compression: str) -> None:
    """The joined list says the same as if everything had been written at once."""
    out, read = writer(tmp_path, merge_min_count="2", compression=compression), Reads(tmp_path)
    entries = [add(f"f{n}", f"p{n % 7}", level=n % 3, schema_id=n % 2)._replace(bucket=n % 5) for n in range(400)]
    metas = write_all(out, entries[:300], entries[300:301], entries[301:302], entries[302:])
    (merged,) = merge(metas, read, out)
    (expected,) = write_all(out, entries)
    assert replace(merged, file_name="", file_size=0) == replace(expected, file_name="", file_size=0)
    (again,) = merge([merged, *write_all(out, [add("last")])], read, out)
    assert live(tmp_path, [again]) == sorted([e.file.file_name for e in entries] + ["last"])


def test_manifests_of_another_codec_are_rewritten(tmp_path: Path) -> None:
    entries = [add(f"f{n}") for n in range(100)]
    metas = write_all(writer(tmp_path, compression="snappy"), entries)
    out = writer(tmp_path, merge_min_count="2", compression="zstd")
    (merged,) = merge([*metas, *write_all(out, [add("x")])], Reads(tmp_path), out)
    ((_, data),) = read_manifest_bytes(IO, str(tmp_path), [merged])
    assert b"zstandard" in data[:200]
    assert live(tmp_path, [merged]) == sorted([e.file.file_name for e in entries] + ["x"])


def test_deletions_of_files_elsewhere_stay_in_a_minor_merge(tmp_path: Path) -> None:
    out, read = writer(tmp_path, merge_min_count="2", target_file_size="8 kb"), Reads(tmp_path)
    (big,) = write_all(writer(tmp_path, compression="none"), [add(f"{n}" * 20) for n in range(60)])
    assert big.file_size >= 8 * 1024
    small = write_all(out, [add("new")], [delete("7" * 20)])
    merged = merge([big, *small], read, out)
    assert merged[0] is big
    assert big.file_name not in read.names
    assert [(m.num_added_files, m.num_deleted_files) for m in merged[1:]] == [(1, 1)]
    assert live(tmp_path, merged) == sorted([f"{n}" * 20 for n in range(60) if n != 7] + ["new"])


def test_everything_cancelled_leaves_nothing(tmp_path: Path) -> None:
    out = writer(tmp_path, merge_min_count="2")
    metas = write_all(out, [add("a")], [delete("a")])
    assert merge(metas, Reads(tmp_path), out) == []


def test_a_full_merge_opens_only_what_deletions_touch(tmp_path: Path) -> None:
    """Big manifests of partitions without deletions are not read; deletions are gone afterwards."""
    out = writer(tmp_path, target_file_size="8 kb", full_compaction_threshold_size="1 b", merge_min_count="100")
    read = Reads(tmp_path)
    big = writer(tmp_path, compression="none")
    (other,) = write_all(big, [add(f"o{n}" * 20, "other") for n in range(60)])
    (hit,) = write_all(big, [add(f"h{n}" * 20, "hit") for n in range(60)])
    (deletes,) = write_all(out, [delete("h3" * 20, "hit")])
    assert min(other.file_size, hit.file_size) >= 8 * 1024
    merged = merge([other, hit, deletes], read, out)
    assert merged[0] is other
    assert other.file_name not in read.names
    assert all(meta.num_deleted_files == 0 for meta in merged)
    assert live(tmp_path, merged) == sorted(
        [f"o{n}" * 20 for n in range(60)] + [f"h{n}" * 20 for n in range(60) if n != 3]
    )


def test_no_full_merge_below_its_threshold(tmp_path: Path) -> None:
    out = writer(tmp_path, full_compaction_threshold_size="1 mb", merge_min_count="100")
    metas = write_all(out, [add("a")], [delete("a")])
    assert merge(metas, Reads(tmp_path), out) == metas


def test_a_file_added_twice_is_corruption(tmp_path: Path) -> None:
    out = writer(tmp_path, merge_min_count="2")
    metas = write_all(out, [add("a")], [add("a")], [delete("b")])
    with pytest.raises(CorruptFile, match="add a file twice"):
        merge(metas, Reads(tmp_path), out)


@given(st.data())
@settings(max_examples=examples(60))
def test_random_histories_keep_their_live_files(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Against a set of names: whatever is merged when, the same files are live."""
    table = tmp_path_factory.mktemp("t")
    out = writer(
        table,
        merge_min_count=str(data.draw(st.integers(2, 5))),
        target_file_size=data.draw(st.sampled_from(["1 kb", "3 kb", "8 mb"])),
        full_compaction_threshold_size=data.draw(st.sampled_from(["1 b", "4 kb", "16 mb"])),
    )
    expected: dict[str, ManifestEntry] = {}
    metas: list[ManifestFileMeta] = []
    counter = 0
    for _ in range(data.draw(st.integers(1, 12))):
        changes = []
        for name in data.draw(st.sets(st.sampled_from(sorted(expected)))) if expected else ():
            changes.append(expected.pop(name)._replace(kind=DELETE))
        for part in data.draw(st.lists(st.sampled_from("pqr"), max_size=12)):
            counter += 1
            changes.append(add(f"{part}-{counter:040}", part))
            expected[changes[-1].file.file_name] = changes[-1]
        metas = [*merge(metas, Reads(table), out), *write_all(out, changes)]
    assert live(table, metas) == sorted(expected)


def test_manifests_roll_at_the_target_size(tmp_path: Path) -> None:
    out = writer(tmp_path, target_file_size="16 kb", compression="none")
    entries = [add(f"data-{n:050}", f"p{n // 100}") for n in range(400)]
    metas = write_all(out, entries)
    assert len(metas) > 2
    assert all(8 * 1024 < meta.file_size < 24 * 1024 for meta in metas)
    assert read_manifests(IO, str(tmp_path), metas) == entries


def test_what_was_written_in_files_of_the_target_size_is_not_merged_again(tmp_path: Path) -> None:
    """Files that were all a little smaller would be: each commit of a large table would write all of its manifests."""
    out = writer(tmp_path, target_file_size="60 kb", full_compaction_threshold_size="150 kb")
    metas = write_all(out, [add(f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}") for number in range(20_000)])
    assert len(metas) > 3
    assert all(60 << 10 <= meta.file_size < 72 << 10 for meta in metas[:-1])
    read = Reads(tmp_path)
    merged = merge([*metas, *write_all(out, [add("new")])], read, out)
    assert (merged[: len(metas)], read.names) == (metas, set())
    assert len(live(tmp_path, merged)) == 20_001


def test_what_a_list_says_of_a_manifest(tmp_path: Path) -> None:
    out = writer(tmp_path)
    changes = [
        add("a", "x", level=5, schema_id=3)._replace(bucket=4),
        add("b", "é")._replace(bucket=2),
        delete("c", "a"),
        add("d")._replace(partition=partition(None)),
    ]
    name, size = out.write_list(out.write_manifests(changes))
    out.flush()
    (meta,) = read_manifest_list(IO, str(tmp_path), name, size)
    stats = meta.partition_stats
    assert (stats.min_values, stats.max_values, stats.null_counts) == (partition("a"), partition("é"), (1,))
    assert (meta.num_added_files, meta.num_deleted_files, meta.schema_id) == (3, 1, 3)
    assert (meta.min_bucket, meta.max_bucket, meta.min_level, meta.max_level) == (0, 4, 0, 5)
    assert (meta.min_row_id, meta.max_row_id) == (None, None)
    assert meta.file_size == (tmp_path / "manifest" / meta.file_name).stat().st_size


def test_row_ids_only_when_every_file_has_one(tmp_path: Path) -> None:
    out = writer(tmp_path)
    first, second = add("a", first_row_id=5), add("b", first_row_id=100)
    (meta,) = out.write_manifests([second, first])
    assert (meta.min_row_id, meta.max_row_id) == (5, 109)
    (meta,) = out.write_manifests([first, add("c")])
    assert (meta.min_row_id, meta.max_row_id) == (None, None)


def test_missing_and_short_manifests_are_named(tmp_path: Path) -> None:
    out = writer(tmp_path)
    (meta,) = write_all(out, [add("a")])
    path = tmp_path / "manifest" / meta.file_name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptFile, match=meta.file_name):
        read_manifests(IO, str(tmp_path), [meta])
    path.unlink()
    with pytest.raises(CorruptFile, match=f"{meta.file_name}: it does not exist"):
        read_manifests(IO, str(tmp_path), [meta])


def test_a_discarded_attempt_leaves_nothing(tmp_path: Path) -> None:
    out = writer(tmp_path)
    out.write_list(out.write_manifests([add("a")]))
    out.flush()
    assert len(list((tmp_path / "manifest").iterdir())) == 2
    out.discard()
    assert list((tmp_path / "manifest").iterdir()) == []


def test_a_manifest_of_just_the_target_size_is_not_small() -> None:
    """Two such ones without deletions stay; two smaller ones by a byte are merged."""
    settings = TableSettings({"manifest.target-file-size": "1 kb"})

    def planned(size: int) -> FullMerge | None:
        metas = [
            ManifestFileMeta(name, size, 1, 0, SimpleStats(partition("p"), partition("p"), (0,)), 0) for name in "ab"
        ]
        return plan_full_merge(metas, settings, lambda _: [], FIELDS)

    assert planned(1024) is None
    found = planned(1023)
    assert found is not None
    assert (found.changing, found.opened, found.deleted) == ({"a", "b"}, {"a", "b"}, frozenset())
