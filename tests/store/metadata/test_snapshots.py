"""Snapshots, tags and hints: found by listing and reading, whatever the hints say."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults.faulty_store import FaultyFileIO

from paimon_spark.errors import CorruptFile, SnapshotNotFound
from paimon_spark.file_io import FileStatus, LocalFileIO
from paimon_spark.format.snapshot import Snapshot, Tag, encode_snapshot, encode_tag
from paimon_spark.store.metadata.snapshots import SnapshotStore


def snapshot(snapshot_id: int, millis: int = 0, watermark: int | None = None) -> Snapshot:
    return Snapshot(
        id=snapshot_id,
        schema_id=0,
        base_manifest_list="base",
        delta_manifest_list="delta",
        commit_user="u",
        commit_identifier=snapshot_id,
        commit_kind="APPEND",
        time_millis=millis or snapshot_id * 1000,
        total_record_count=0,
        delta_record_count=0,
        watermark=watermark,
    )


def write(table: Path, *snapshots: Snapshot, latest: str | None = None, earliest: str | None = None) -> SnapshotStore:
    directory = table / "snapshot"
    directory.mkdir(parents=True, exist_ok=True)
    for one in snapshots:
        (directory / f"snapshot-{one.id}").write_bytes(encode_snapshot(one))
    for name, text in (("LATEST", latest), ("EARLIEST", earliest)):
        if text is not None:
            (directory / name).write_text(text)
    return SnapshotStore(LocalFileIO(), str(table))


@pytest.mark.parametrize("latest", [None, "5", "3", "0", "", "-1", "x", "5\n"])
@pytest.mark.parametrize("earliest", [None, "3", "1", "", "junk"])
def test_hints_are_never_the_truth(tmp_path: Path, latest: str | None, earliest: str | None) -> None:
    store = write(tmp_path, *map(snapshot, (3, 4, 5)), latest=latest, earliest=earliest)
    assert (store.earliest_id(), store.latest_id()) == (3, 5)
    assert store.earliest() == (3, earliest == "3")
    newest = store.latest()
    assert newest is not None
    assert newest.id == 5


@pytest.mark.parametrize("hint", [3, 4, 10**15])
def test_the_hint_names_a_snapshot_that_is_lost(tmp_path: Path, hint: int) -> None:
    """Java looks for the snapshot that the hint names, and fails."""
    store = write(tmp_path, *map(snapshot, (1, 2)), latest=str(hint))
    words = f"hint snapshot/LATEST names snapshot {hint}, and the newest one there is 2: .* rollback <table> 2`"
    for read in (store.latest_id, store.latest, store.hinted_latest, lambda: store.find_at_time(5000)):
        with pytest.raises(CorruptFile, match=words):
            read()
    assert store.load(2).id == 2
    assert store.ids() == [1, 2]


def test_the_hint_names_a_snapshot_and_there_is_none(tmp_path: Path) -> None:
    store = write(tmp_path, latest="4")
    with pytest.raises(CorruptFile, match="names snapshot 4, and there is no snapshot: "):
        store.latest_id()


def test_a_hint_of_a_snapshot_that_has_expired_since(tmp_path: Path) -> None:
    """The hint of a slow writer, after others have committed and expired what it names."""
    store = write(tmp_path, *map(snapshot, (7, 8)), latest="4")
    newest = store.latest()
    assert newest is not None
    assert (newest.id, store.latest_id()) == (8, 8)


class RolledBack(LocalFileIO):
    """A store in which a rollback to snapshot 2 takes place once, right after a reader has read the hint."""

    is_done = False

    def read_bytes(self, path: str) -> bytes:
        found = super().read_bytes(path)
        if path.endswith("LATEST") and not self.is_done:
            self.is_done = True
            Path(path).write_text("2")
            for number in (4, 3):
                Path(path).with_name(f"snapshot-{number}").unlink()
        return found


def test_a_rollback_while_the_latest_snapshot_is_looked_for(tmp_path: Path) -> None:
    for number, find in enumerate((SnapshotStore.latest_id, lambda store: store.latest().id)):
        table = tmp_path / str(number)
        write(table, *map(snapshot, (1, 2, 3, 4)), latest="4")
        assert find(SnapshotStore(RolledBack(), str(table))) == 2


class Vanishing(LocalFileIO):
    """A store in which all snapshots are deleted right after a reader has listed them."""

    def list(self, path: str) -> list[FileStatus]:
        found = super().list(path)
        for status in found:
            Path(status.path).unlink()
        return found


def test_all_snapshots_vanish_while_the_latest_one_is_looked_for(tmp_path: Path) -> None:
    write(tmp_path, *map(snapshot, (1, 2, 3)))
    with pytest.raises(SnapshotNotFound, match="snapshot 3 "):
        SnapshotStore(Vanishing(), str(tmp_path)).latest()


def test_no_snapshot_at_all(tmp_path: Path) -> None:
    store = SnapshotStore(LocalFileIO(), str(tmp_path))
    assert (store.earliest_id(), store.latest_id(), store.latest(), store.ids()) == (None, None, None, [])
    assert store.find_at_time(10**15) is None
    assert store.find_at_watermark(0) is None
    with pytest.raises(SnapshotNotFound, match="no snapshot"):
        store.load(1)


def test_ids_ignore_other_files(tmp_path: Path) -> None:
    store = write(tmp_path, snapshot(10), snapshot(9))
    for name in (".snapshot-11.abc.tmp", "snapshot-", "snapshot-x", "snapshot-12.tmp", "snapshot-\u0661", "other-13"):
        (tmp_path / "snapshot" / name).write_text("{}")
    assert store.ids() == [9, 10]


def test_a_gone_snapshot_names_what_is_there(tmp_path: Path) -> None:
    store = write(tmp_path, *map(snapshot, (3, 4, 5)))
    (tmp_path / "tag").mkdir()
    (tmp_path / "tag" / "tag-v1").write_bytes(encode_tag(Tag(snapshot(2))))
    there = r"3 to 5 are available, committed 1970-.* \(3000\) to .* \(5000\); its tags are v1"
    with pytest.raises(SnapshotNotFound, match=f"snapshot 2 .* {there}"):
        store.load(2)


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[]", b"\xff\xfe", b'{"id": 3}', b"null"])
def test_damaged_snapshot(tmp_path: Path, content: bytes) -> None:
    store = write(tmp_path, snapshot(3))
    (tmp_path / "snapshot" / "snapshot-3").write_bytes(content)
    with pytest.raises(CorruptFile, match="snapshot-3"):
        store.latest()


def test_a_snapshot_under_the_name_of_another(tmp_path: Path) -> None:
    """Whoever walks from id to id would go round in circles, and a reader would see another state than it asked for."""
    store = write(tmp_path, snapshot(3))
    (tmp_path / "snapshot" / "snapshot-4").write_bytes(encode_snapshot(snapshot(3)))
    for read in (store.latest, lambda: store.load(4), lambda: store.find(4)):
        with pytest.raises(CorruptFile, match=r"snapshot-4: it holds snapshot 3 and not 4"):
            read()


def test_a_truncated_snapshot_is_never_read_as_another(tmp_path: Path) -> None:
    store = write(tmp_path, snapshot(3, watermark=7))
    path = tmp_path / "snapshot" / "snapshot-3"
    whole = path.read_bytes()
    for length in range(len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(CorruptFile):
            store.load(3)


def test_tags(tmp_path: Path) -> None:
    store = write(tmp_path, snapshot(1))
    (tmp_path / "tag" / "tag-success-file").mkdir(parents=True)
    for name, snapshot_id in (("a", 1), ("2026-01-01", 7), ("\u00fc", 8)):
        (tmp_path / "tag" / f"tag-{name}").write_bytes(encode_tag(Tag(snapshot(snapshot_id))))
    assert store.tag_names() == ["2026-01-01", "a", "\u00fc"]
    assert {name: tag.snapshot.id for name, tag in store.tags().items()} == {"2026-01-01": 7, "a": 1, "\u00fc": 8}
    assert store.find_tag("b") is None


def test_a_walk_reads_no_more_than_it_needs(tmp_path: Path) -> None:
    ids = [number for number in range(1, 100) if number not in (1, 50, 99)]
    write(tmp_path, *map(snapshot, ids))
    io = FaultyFileIO(LocalFileIO())
    store = SnapshotStore(io, str(tmp_path))
    assert [found.id for found in store.walk(range(99, 0, -1))] == ids[::-1]
    assert list(store.walk([])) == []
    io.log.clear()
    assert next(store.walk(range(2, 100))).id == 2
    assert io.log == ["read"]


times = st.lists(st.integers(0, 50), min_size=1, max_size=12).map(sorted)


@given(times=times, first=st.integers(1, 5), asked=st.integers(-1, 52))
def test_by_time(tmp_path_factory: pytest.TempPathFactory, times: list[int], first: int, asked: int) -> None:
    snapshots = [snapshot(first + i, 1000 + t) for i, t in enumerate(times)]
    store = write(tmp_path_factory.mktemp("t"), *snapshots)
    at = max((t for t in times if t <= asked), default=None)
    since = [s for s in snapshots if s.time_millis >= 1000 + asked]
    found = store.find_at_time(1000 + asked)
    assert (None if found is None else found.time_millis - 1000) == at
    if at is not None and times.count(at) == 1:
        assert found == snapshots[times.index(at)]
    assert store.find_since_time(1000 + asked) == (since[0] if since else None)


class Renamed(LocalFileIO):
    """A store in which a tag is renamed to b right after a reader has listed it."""

    def list(self, path: str) -> list[FileStatus]:
        found = super().list(path)
        for status in found:
            Path(status.path).rename(Path(status.path).with_name("tag-b"))
        return found


class Stale(LocalFileIO):
    """A store whose listings show files that are deleted."""

    def list(self, path: str) -> list[FileStatus]:
        return [FileStatus(f"{path}/tag-gone", "tag-gone", 1, False, 1), *super().list(path)]


@pytest.mark.parametrize(("store", "names"), [(Renamed(), ["b"]), (Stale(), ["a"])], ids=["renamed", "gone"])
def test_tags_that_change_while_they_are_read(tmp_path: Path, store: LocalFileIO, names: list[str]) -> None:
    (tmp_path / "tag").mkdir()
    (tmp_path / "tag" / "tag-a").write_bytes(encode_tag(Tag(snapshot(2))))
    assert list(SnapshotStore(store, str(tmp_path)).tags()) == names


@pytest.mark.parametrize(("count", "expected"), [(2, 1), (4, 2), (5, 3)])
def test_of_snapshots_of_one_time_the_one_in_the_middle(tmp_path: Path, count: int, expected: int) -> None:
    """Java: SnapshotManager.earlierOrEqualTimeMills begins there, and ends at a snapshot of just that time."""
    found = write(tmp_path, *(snapshot(number, 1000) for number in range(1, count + 1))).find_at_time(1000)
    assert found is not None
    assert found.id == expected


marks = st.lists(st.one_of(st.integers(0, 9), st.none(), st.just(-(2**63))), min_size=1, max_size=12)


@given(marks=marks, asked=st.integers(-1, 12))
def test_by_watermark(tmp_path_factory: pytest.TempPathFactory, marks: list[int | None], asked: int) -> None:
    known = iter(sorted(m for m in marks if m is not None and m >= 0))
    rising = [next(known) if m is not None and m >= 0 else m for m in marks]
    snapshots = [snapshot(1 + i, watermark=m) for i, m in enumerate(rising)]
    store = write(tmp_path_factory.mktemp("t"), *snapshots)
    fitting = [s for s in snapshots if s.watermark is not None and s.watermark >= max(asked, 0)]
    found = store.find_at_watermark(asked)
    assert (found is None) == (not fitting)
    if found is not None:
        assert found.watermark == fitting[0].watermark


def test_a_damaged_tag_is_its_error(tmp_path: Path) -> None:
    store = write(tmp_path, snapshot(1))
    (tmp_path / "tag").mkdir()
    (tmp_path / "tag" / "tag-good").write_bytes(encode_snapshot(snapshot(1)))
    (tmp_path / "tag" / "tag-bad").write_text("{")
    error, good = store.tag_or_error("bad"), store.tag_or_error("good")
    assert isinstance(error, CorruptFile)
    assert "tag-bad" in str(error)
    assert good is not None
    assert not isinstance(good, CorruptFile)
    assert (good.snapshot.id, store.tag_or_error("none")) == (1, None)
    tags, errors = store.readable_tags()
    assert (list(tags), [str(one) for one in errors]) == (["good"], [str(error)])


@pytest.mark.parametrize(("end", "whole"), [(1, [1, 2, 3, 4]), (3, [3, 4]), (4, [4]), (5, [1, 2, 3, 4])])
def test_ids_below_the_mark_of_an_expiry_are_not_whole(tmp_path: Path, end: int, whole: list[int]) -> None:
    """A mark beyond the newest snapshot is of a table that went back since."""
    store = write(tmp_path, *(snapshot(number) for number in range(1, 5)))
    (tmp_path / "snapshot" / f".expiring-{end}-3f0a7c52-4a8e-4c57-9d55-0f3b4f3e8a11").write_text("")
    assert store.whole_ids() == whole
    assert SnapshotStore(LocalFileIO(), f"{tmp_path}/none").whole_ids() == []
