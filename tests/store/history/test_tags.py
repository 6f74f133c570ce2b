"""Tags: made, replaced, renamed, deleted with the files that only they need, expired by their age."""

from __future__ import annotations

import itertools
import json
import logging
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.faults.faulty_store import FaultyFileIO, When
from support.oracles.checker import check_table
from support.simulation.interleaved_store import InterleavedStore
from support.tables.expiring import branch, copied, live_on, new_table, rules, state, states, stored

from paimon_spark.errors import NameTaken, OptionError, SnapshotNotFound, UnsupportedFeature
from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.format.paths import tag_path
from paimon_spark.format.snapshot import Tag, encode_tag
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tag_deletion import delete_tags, expire_tags
from paimon_spark.store.history.tags import create_tag, rename_tag, replace_tag
from paimon_spark.store.holds.marks import write_mark
from paimon_spark.store.holds.tag_holds import deletion_mark_path, hold_snapshot
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table


def life(path: Path, steps: str, options: dict[str, str] | None = None) -> Table:
    table = new_table(path, options or {})
    live_on(table, steps)
    return table


def faulty(table: Table, **fault: object) -> tuple[Table, FaultyFileIO]:
    store = FaultyFileIO(table.file_io, **fault)  # type: ignore[arg-type]  # names of its fields
    return Table(table.location, store, table.schema, table.settings, table.branch), store


def test_a_tag_of_the_latest_or_a_given_snapshot(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "www")
    assert create_tag(table, "new").snapshot_id == 3
    assert create_tag(table, "old", 1).snapshot_id == 1
    assert state(table, {"scan.tag-name": "old"}) == [(0, 1), (1, 1)]
    assert set(json.loads(Path(table.location, "tag/tag-old").read_text())) == set(
        json.loads(Path(table.location, "snapshot/snapshot-1").read_text())
    )


def test_tags_of_a_table_with_callbacks_are_left_to_others(tmp_path: Path) -> None:
    """Whoever was to be called would not hear of the tag; an empty option says that this is meant."""
    table = life(tmp_path / "t", "w")
    create_tag(table, "there")
    calling = table.with_options({"tag.callbacks": "org.example.Callback"})
    for change in (lambda: create_tag(calling, "new"), lambda: replace_tag(calling, "there"),
                   lambda: delete_tags(calling, "there")):  # fmt: skip
        with pytest.raises(
            UnsupportedFeature, match=r"'tag\.callbacks' is 'org\.example\.Callback'.*'tag\.callbacks' = ''"
        ):
            change()
    assert set(table.snapshots.tags()) == {"there"}
    assert create_tag(calling.with_options({"tag.callbacks": ""}), "new").snapshot_id == 1


def test_a_tag_that_lives_for_some_time(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "w", {"tag.default-time-retained": "2 h"})
    assert create_tag(table, "default").retained_millis == 7_200_000
    assert create_tag(table, "text", time_retained="7 d").retained_millis == 7 * 86_400_000
    assert create_tag(table, "delta", time_retained=timedelta(minutes=1)).retained_millis == 60_000
    for negative in (timedelta(minutes=-1), timedelta.min):
        with pytest.raises(OptionError, match=r"time_retained is -.*: a length of time is not negative"):
            create_tag(table, "negative", time_retained=negative)
    tag = json.loads(Path(table.location, "tag/tag-delta").read_text())
    assert tag["tagTimeRetained"] == 60
    made = datetime(*(tag["tagCreateTime"] + [0, 0])[:6])
    assert abs(datetime.now() - made) < timedelta(minutes=1)
    assert replace_tag(table, "text").retained_millis is None


def test_a_tag_of_the_first_state_since_a_time(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "www")
    times = [table.snapshots.load(n).time_millis for n in (1, 2, 3)]
    create_tag(table, "kept", 1)
    expire_snapshots_by(table, rules(1))
    assert create_tag(table, "a", timestamp=0).snapshot_id == 1
    assert create_tag(table, "b", timestamp=times[0] + 1).snapshot_id == 3
    with pytest.raises(SnapshotNotFound, match="or later"):
        create_tag(table, "c", timestamp=times[2] + 1)


def test_names_that_are_taken_or_none(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "w")
    create_tag(table, "x")
    with pytest.raises(NameTaken, match="'x' already"):
        create_tag(table, "x")
    for name in ("", " ", "a/b"):
        with pytest.raises(OptionError, match="no name"):
            create_tag(table, name)
    with pytest.raises(OptionError, match="leave one"):
        create_tag(table, "y", 1, timestamp=0)
    with pytest.raises(OptionError, match="soon"):
        create_tag(table, "y", time_retained="soon")
    with pytest.raises(SnapshotNotFound, match="no tag 'y'"):
        replace_tag(table, "y")
    with pytest.raises(SnapshotNotFound, match="no tag 'y'"):
        rename_tag(table, "y", "z")
    with pytest.raises(SnapshotNotFound, match="snapshot 9"):
        create_tag(table, "y", 9)
    assert table.snapshots.tag_names() == ["x"]


def test_no_tag_of_an_empty_table(tmp_path: Path) -> None:
    with pytest.raises(SnapshotNotFound, match="no snapshot"):
        create_tag(new_table(tmp_path / "t"), "x")


def test_another_name(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "ww")
    create_tag(table, "a", 1)
    create_tag(table, "b", 2)
    with pytest.raises(NameTaken):
        rename_tag(table, "a", "b")
    rename_tag(table, "a", "c")
    assert {name: tag.snapshot.id for name, tag in table.snapshots.tags().items()} == {"b": 2, "c": 1}


def test_success_files_come_and_go(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "w", {"tag.create-success-file": "true"})
    create_tag(table, "x")
    path = Path(table.location, "tag/tag-success-file/x_SUCCESS")
    assert set(json.loads(path.read_text())) == {"creationTime", "modificationTime"}
    assert table.snapshots.tag_names() == ["x"]
    delete_tags(table, "x")
    assert not path.exists()


def test_a_damaged_success_file_holds_up_no_tag(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "w", {"tag.create-success-file": "true"})
    path = Path(table.location, "tag/tag-success-file/x_SUCCESS")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    assert create_tag(table, "x").snapshot_id == 1
    assert table.snapshots.tag_names() == ["x"]


def test_a_tag_of_a_snapshot_that_is_there_is_just_a_file(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "wwcw")
    before = stored(table)
    create_tag(table, "x", 1)
    gone = delete_tags(table, "x, never")
    assert (gone.names, len(gone.paths)) == (("x",), 1)
    assert stored(table) == before


def test_a_tag_beside_one_whose_id_another_snapshot_has(tmp_path: Path) -> None:
    """A rollback broke off before it took the later tag away, and the table lived on: both states stand beside."""
    table = life(tmp_path / "t", "wwwwc")
    for number in (3, 5):
        create_tag(table, f"t{number}", number)
    later = Path(table.location, "tag/tag-t5")
    data = later.read_bytes()
    rollback(table, 4)
    later.write_bytes(data)
    live_on(table, "ww")
    expire_snapshots_by(table, rules(2))
    before = states(table)
    assert delete_tags(table, "t3").names == ("t3",)
    del before["tag t3"]
    assert states(table) == before


def test_a_snapshot_beside_that_expires_while_a_tag_is_deleted(tmp_path: Path) -> None:
    whole = life(tmp_path / "t", "wwcwcw")
    for number in (1, 4):
        create_tag(whole, f"t{number}", number)
    expire_snapshots_by(whole, rules(4))
    for number in itertools.count():
        table = copied(whole, tmp_path / str(number))
        io = InterleavedStore(LocalFileIO(), number, partial(expire_snapshots_by, table, rules(1)))
        delete_tags(replace(table, file_io=io), "t1")
        expire_snapshots_by(table, rules(1))
        assert {name: rows[0] for name, rows in states(table).items()} == {"snapshot 6": (0, 6), "tag t4": (0, 4)}
        if io.count < number:
            return


def test_the_last_tag_takes_its_files_along(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "wwcwc")
    without = life(tmp_path / "u", "wwcwc")
    for name, number in (("a", 1), ("b", 2), ("c", 2)):
        create_tag(table, name, number)
    expire_snapshots_by(table, rules(1))
    expire_snapshots_by(without, rules(1))
    assert delete_tags(table, ["c"]).data_files == 0  # b keeps the same
    told = delete_tags(table, "b", dry_run=True)
    assert (told.data_files, told.dry_run) == (1, True)  # a needs the file of the first write
    assert table.snapshots.tag_names() == ["a", "b"]
    assert delete_tags(table, "b").paths == told.paths
    assert state(table, {"scan.tag-name": "a"}) == [(0, 1), (1, 1)]
    check_table(table)
    delete_tags(table, "a")
    assert kinds(table) == kinds(without)
    check_table(table)


def test_several_tags_at_once_are_as_one_after_the_other(tmp_path: Path) -> None:
    left = []
    for at_once in (True, False):
        table = life(tmp_path / str(at_once), "wwcwcwwc")
        for number in (1, 2, 4, 6):
            create_tag(table, f"t{number}", number)
        expire_snapshots_by(table, rules(1))
        for names in ["t2,t4,t6"] if at_once else ["t4", "t2", "t6"]:
            delete_tags(table, names)
        check_table(table)
        left.append(kinds(table))
    assert left[0] == left[1]


def test_a_text_with_a_comma_is_one_tag_where_none_of_its_parts_is(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "w")
    for name in ("a", "a,b"):
        create_tag(table, name)
    assert [delete_tags(table, "a,b").names for _ in range(3)] == [("a",), ("a,b",), ()]


def kinds(table: Table) -> dict[str, int]:
    """How many files of each kind there are; names are drawn by chance."""
    numbers: dict[str, int] = {}
    for path in stored(table):
        kind = path.split("-")[0]
        numbers[kind] = numbers.get(kind, 0) + 1
    return numbers


def test_what_a_branch_needs_stays(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "wwc")
    create_tag(table, "x", 1)
    b = branch(table, "b", 1)
    expire_snapshots_by(table, rules(1))
    assert delete_tags(table, "x").data_files == 0
    assert state(b, {}) == [(0, 1), (1, 1)]


def test_tags_expire_by_their_age(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "w")
    create_tag(table, "short", time_retained="1 s")
    create_tag(table, "long", time_retained="1 d")
    create_tag(table, "forever")
    assert expire_tags(table).names == ()
    _made_earlier(table, "short", 2)
    assert expire_tags(table, dry_run=True).names == ("short",)
    assert expire_tags(table).names == ("short",)
    in_an_hour = datetime.now() + timedelta(hours=1)
    assert sorted(expire_tags(table, older_than=in_an_hour).names) == ["forever", "long"]


def _made_earlier(table: Table, name: str, seconds: int) -> None:
    tag = table.snapshots.find_tag(name)
    assert tag is not None
    assert tag.create_time is not None
    earlier = Tag(tag.snapshot, tag.create_time - seconds * 10**9, tag.time_retained)
    table.file_io.overwrite(f"{table.location}/tag/tag-{name}", encode_tag(earlier))


def test_a_tag_is_made_though_its_mark_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An error would tell that there is no tag, and the second try that the name is taken."""
    table = life(tmp_path, "w")
    sick, store = faulty(table, at=0, named="!delete")
    assert create_tag(sick, "a").snapshot_id == 1
    assert "!delete" in store.log
    assert table.snapshots.tag_names() == ["a"]
    assert "and holds for a day" in caplog.text


def test_no_tag_of_what_expires_just_now(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "www")
    create_tag(table, "kept", 1)
    write_mark(table.snapshots, 3, None)
    with pytest.raises(SnapshotNotFound, match="expires just now"):
        create_tag(table, "x", 2)
    create_tag(table, "y", 1)  # another tag keeps it
    create_tag(table, "z", 3)
    assert table.snapshots.tag_names() == ["kept", "y", "z"]


def test_no_second_tag_of_a_tag_that_is_being_deleted(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "wwc")
    create_tag(table, "x", 1)
    expire_snapshots_by(table, rules(1))
    tag = table.snapshots.find_tag("x")
    assert tag is not None
    table.file_io.write_bytes(deletion_mark_path(table.snapshots, "x"), encode_tag(tag))
    for attempt in (lambda: create_tag(table, "y", 1), lambda: rename_tag(table, "x", "y")):
        with pytest.raises(SnapshotNotFound, match="being deleted"):
            attempt()
    assert table.snapshots.tag_names() == ["x"]


def test_who_makes_a_tag_keeps_the_files_that_others_share_with_it(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "wwc")
    for number in (1, 2):
        create_tag(table, f"t{number}", number)
    expire_snapshots_by(table, rules(1))
    second = table.snapshots.find_tag("t2")
    assert second is not None
    with hold_snapshot(table.snapshots, second.snapshot):
        delete_tags(table, "t1,t2")
        table.file_io.write_bytes(tag_path(table.location, "again"), encode_tag(second))
    assert state(table, {"scan.tag-name": "again"}) == [(0, 2), (1, 2)]
    check_table(table.location)


def test_a_snapshot_that_expires_while_its_tag_is_deleted(tmp_path: Path) -> None:
    """It is there when the deletion looks, so that nobody is warned of it; then the tag gets another name."""
    whole = life(tmp_path / "whole", "wwc")
    create_tag(whole, "x", 1)
    log, clean = faulty(copied(whole, tmp_path / "log"))
    delete_tags(log, "x")
    for number in itertools.count(clean.log.index("exists") + 1):
        table = copied(whole, tmp_path / str(number))
        first = InterleavedStore(
            table.file_io, clean.log.index("exists") + 1, partial(expire_snapshots_by, table, rules(1))
        )

        def rename(table: Table = table) -> None:
            if "x" in table.snapshots.tag_names():
                rename_tag(table, "x", "y")

        io = InterleavedStore(cast(FileIO, first), number, rename)
        delete_tags(replace(table, file_io=cast(FileIO, io)), "x")
        if table.snapshots.tag_names():
            assert state(table, {"scan.tag-name": "y"}) == [(0, 1), (1, 1)]
        check_table(table.location)
        if io.count < number:
            return


def test_another_deletion_does_not_finish_one_that_is_under_way(tmp_path: Path) -> None:
    table = life(tmp_path / "t", "wwc")
    for name in ("x", "other"):
        create_tag(table, name, 1)
    expire_snapshots_by(table, rules(1))

    class Slow(FaultyFileIO):
        def delete(self, path: str) -> None:
            if path.endswith("/tag-x"):
                delete_tags(table, "other")
                with pytest.raises(SnapshotNotFound, match="being deleted"):
                    rename_tag(table, "x", "y")
            super().delete(path)

    delete_tags(replace(table, file_io=Slow(table.file_io)), "x,other")
    assert table.snapshots.tag_names() == []
    assert not any("/." in path for path in stored(table))


@pytest.mark.parametrize("when", list(When))
def test_a_crash_at_any_point_of_a_deletion(tmp_path: Path, when: When) -> None:
    whole = life(tmp_path / "whole", "wwcwc")
    for number in (1, 2):
        create_tag(whole, f"t{number}", number)
    expire_snapshots_by(whole, rules(1))
    done, clean = faulty(copied(whole, tmp_path / "done"))
    delete_tags(done, "t2")
    expected = stored(done)
    changes = [at for at, name in enumerate(clean.log) if name.startswith("!")]
    for at in changes:
        table = copied(whole, tmp_path / f"{at}")
        broken, store = faulty(table, at=at, when=when, lasting=True)
        with pytest.raises(OSError, match="injected"):
            delete_tags(broken, "t2")
        for name in table.snapshots.tag_names():
            state(table, {"scan.tag-name": name})
        delete_tags(table, "t2")
        assert {path for path in stored(table) if not path.endswith(".tmp")} == expected, (at, store.log)
    assert len(changes) > 4


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.text("wc", min_size=2, max_size=6), data=st.data())
def test_what_stays_is_what_something_needs(tmp_path: Path, steps: str, data: st.DataObject) -> None:
    table = life(tmp_path / str(len(list(tmp_path.iterdir()))), "w" + steps)
    ids = table.snapshots.ids()
    tags = data.draw(st.lists(st.sampled_from(ids), max_size=4))
    for place, number in enumerate(tags):
        create_tag(table, f"t{place}", number)
    expire_snapshots_by(table, rules(data.draw(st.integers(1, len(ids)))))
    gone = data.draw(st.sets(st.sampled_from(range(len(tags))))) if tags else set()
    delete_tags(table, [f"t{place}" for place in gone])
    check_table(table)
    assert stored(table) & _data(table) == _needed(table)


def _data(table: Table) -> set[str]:
    return {path for path in stored(table) if path.startswith("bucket-")}


def _needed(table: Table) -> set[str]:
    needed = set()
    for key, names in (("scan.snapshot-id", table.snapshots.ids()), ("scan.tag-name", table.snapshots.tag_names())):
        for name in names:
            plan = open_table(table.location, {key: str(name)}).scan().plan()
            needed |= {f"bucket-0/{file.file_name}" for split in plan.splits for file in split.files}
    return needed


def test_what_is_no_tag_is_told_and_a_damaged_file_goes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = new_table(tmp_path / "t", {})
    live_on(table, "ww")
    create_tag(table, "one", 1)
    damaged = Path(table.location, "tag", "tag-bad")
    damaged.write_text("{")
    with caplog.at_level(logging.WARNING):
        done = delete_tags(table, "one,none,bad")
    assert set(done.names) == {"one", "bad"}
    assert not damaged.exists()
    assert caplog.text.count("to delete") == 1
    assert "has no tag 'none' to delete" in caplog.text
    assert "the file of the tag 'bad'" in caplog.text
    assert delete_tags(table, "none").names == ()
