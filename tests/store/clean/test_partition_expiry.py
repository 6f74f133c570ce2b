"""Partitions that leave because they are too old: which, in what order and snapshots, whatever happens meanwhile."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults.faulty_store import FaultyFileIO, When, is_killed, kill
from support.long_runs import LONG
from support.oracles.checker import check_table
from support.tables.commit_states import latest, live, with_rivals
from support.tables.compacting import compact, make, rows_of, write
from support.tables.expiring import branch, copied
from support.tables.files_by_hand import added, file, keyed_table, partition
from support.tables.staging import put

from paimon_spark.arrow.predicates.predicate import FALSE, Compare, IsNull, Op, Or
from paimon_spark.catalogs.create import new_schema
from paimon_spark.errors import OptionError, PaimonError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.schema import encode_schema
from paimon_spark.store.clean.partition_expiry import (
    CheckTimes,
    expire_partitions,
    expire_partitions_at,
    idle_partitions,
)
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.changes import SetOption
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import resolve_properties
from paimon_spark.store.storage.local_time import local_wall_millis
from paimon_spark.store.upkeep.maintenance import maintain
from paimon_spark.tables.open import open_table

NOW = datetime(2026, 11, 10, 12)
COLUMNS = pa.schema(
    [pa.field("k", pa.int32(), nullable=False), pa.field("dt", pa.string(), nullable=False), ("v", pa.int64())]
)
ONE_DAY = {"partition.expiration-time": "1 d"}
ROWS = [(1, "2026-11-08", 1), (2, "2026-11-09", 2), (3, "2026-11-10", 3), (4, "soon", 4)]


def hand_made(path: Path, *parts: str | None, **millis: int) -> Table:
    """A file for each partition; millis: when that of a partition was made, as wall time."""
    table = keyed_table(path)
    commit = TableCommit(table, "0")
    commit.append(
        [
            added(file(f"f-{p}", keys=(1, 1), creation_time=millis.get(str(p), 0)), part=partition(p), total=2)
            for p in parts
        ]
    )
    return table


def left(table: Table, now: datetime = NOW, **options: str) -> set[str]:
    given = {"partition.expiration-time": "1 d", **{f"partition.{k.replace('_', '-')}": v for k, v in options.items()}}
    expire_partitions_at(table.with_options(given), now)
    return {name.removeprefix("f-") for name in live(table)}


# --- which ----------------------------------------------------------------------------------------------------------


def test_by_what_the_values_say(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = hand_made(tmp_path, "2026-11-01", "2026-11-09", "2026-11-10", "soon", "", None)
    with caplog.at_level(logging.WARNING):
        done = expire_partitions_at(table.with_options(ONE_DAY), NOW)
    assert done.partitions == ("part=2026-11-01", "part=2026-11-09")
    assert (done.files, done.rows, done.bytes, done.snapshot_ids) == (2, 20, 2020, (2,))
    assert done.without_time == ("part=__DEFAULT_PARTITION__", "part=__DEFAULT_PARTITION__", "part=soon")
    assert live(table) == {"f-2026-11-10", "f-soon", "f-", "f-None"}
    assert caplog.text.count("say no time") == 1
    snapshot = latest(table)
    assert (snapshot.commit_kind, snapshot.operation) == ("OVERWRITE", None)


def test_the_very_moment_is_not_too_old(tmp_path: Path) -> None:
    table = hand_made(tmp_path, "2026-11-09 12:00:00", "2026-11-09 11:59:59.999999")
    assert left(table) == {"2026-11-09 12:00:00"}


def test_by_formatter(tmp_path: Path) -> None:
    assert left(hand_made(tmp_path, "20261108", "2026-11-08"), timestamp_formatter="yyyyMMdd") == {"2026-11-08"}


def test_by_pattern(tmp_path: Path) -> None:
    table = hand_made(tmp_path, "8", "9", "10", None)
    assert left(table, timestamp_pattern="2026-11-$part 00:00:00", timestamp_formatter="yyyy-M-d HH:mm:ss") == {
        "10",
        "None",
    }


def test_by_the_last_file(tmp_path: Path) -> None:
    wall = {"a": NOW - timedelta(days=1, milliseconds=1), "b": NOW - timedelta(days=1), "None": NOW - timedelta(days=3)}
    millis = {name: (moment - datetime(1970, 1, 1)) // timedelta(milliseconds=1) for name, moment in wall.items()}
    table = hand_made(tmp_path, "a", "b", None, **millis)
    TableCommit(table, "1").append([added(file("unknown", keys=(2, 2)), part=partition("u"), total=2)])
    assert left(table, expiration_strategy="update-time") == {"b", "unknown"}


def test_a_lifetime_of_many_years(tmp_path: Path) -> None:
    table = hand_made(tmp_path, "2026-11-01")
    for strategy in ("values-time", "update-time"):
        assert left(table, expiration_strategy=strategy, expiration_time="9999999 d") == {"2026-11-01"}


def test_columns_of_a_pattern(tmp_path: Path) -> None:
    columns = pa.schema([pa.field(n, pa.string()) for n in ("day", "hour")] + [pa.field("v", pa.int32())])
    table = make(tmp_path / "t", columns, [], {"bucket": "-1"}, ["day", "hour"])
    write(table, [("20261109", "11", 1), ("20261109", "13", 2), ("20261109", None, 3), ("x", "11", 4)])
    options = {**ONE_DAY, "partition.timestamp-pattern": "$day$hour", "partition.timestamp-formatter": "yyyyMMddHH"}
    done = expire_partitions_at(table.with_options(options), NOW)
    assert done.partitions == ("day=20261109/hour=11",)
    assert done.without_time == ("day=20261109/hour=__DEFAULT_PARTITION__", "day=x/hour=11")


@pytest.mark.parametrize(
    ("kind", "value", "expires"),
    [
        (pa.date32(), datetime(2020, 1, 1).date(), False),  # Java sees the number of its day
        (pa.int32(), 20200101, False),
        (pa.timestamp("us"), datetime(2020, 1, 1), False),  # it has a T
        (pa.string(), "2020-01-01", True),
        (pa.bool_(), True, False),
        (pa.binary(), b"2020-01-01", False),
    ],
)
def test_types_that_say_a_time(tmp_path: Path, kind: pa.DataType, value: Any, expires: bool) -> None:
    options = {"bucket": "-1", "partition.legacy-name": str(kind != pa.binary()).lower()}
    table = make(tmp_path / "t", pa.schema([("p", kind), ("v", pa.int32())]), [], options, ["p"])
    write(table, [(value, 1)])
    done = expire_partitions_at(table.with_options(ONE_DAY), NOW)
    assert (bool(done.partitions), bool(done.without_time)) == (expires, not expires)
    done = expire_partitions_at(
        table.with_options({**ONE_DAY, "partition.expiration-strategy": "update-time"}),
        datetime.now() + timedelta(days=2),
    )
    assert (len(done.partitions), rows_of(table)) == (0 if expires else 1, [])


# --- how many, in what snapshots ------------------------------------------------------------------------------------


def test_at_most_so_many_in_the_order_of_their_text(tmp_path: Path) -> None:
    table = hand_made(tmp_path, "2026-1-2", "2026-1-10", "2026-01-03")
    assert left(table, expiration_max_num="2") == {"2026-1-2"}
    assert left(table, expiration_max_num="0") == {"2026-1-2"}
    assert latest(table).id == 2
    with pytest.raises(OptionError, match="at most -1"):
        left(table, expiration_max_num="-1")


@pytest.mark.parametrize(("size", "snapshots"), [("1", 3), ("2", 2), ("3", 1), ("0", 1), (None, 1)])
def test_batches(tmp_path: Path, size: str | None, snapshots: int) -> None:
    table = hand_made(tmp_path, "2026-01-01", "2026-01-02", "2026-01-03")
    options = {} if size is None else {"partition.expiration-batch-size": size}
    done = expire_partitions_at(table.with_options({**ONE_DAY, **options}), NOW)
    assert (len(done.partitions), done.files) == (3, 3)
    assert done.snapshot_ids == tuple(range(2, 2 + snapshots))


def test_only_to_tell(tmp_path: Path) -> None:
    table = hand_made(tmp_path, "2026-01-01", "2026-01-02")
    done = expire_partitions(table, "1 d", dry_run=True)
    assert (done.partitions, done.files, done.snapshot_ids) == (("part=2026-01-01", "part=2026-01-02"), 2, ())
    assert latest(table).id == 1


def test_arguments_stand_before_options(tmp_path: Path) -> None:
    table = hand_made(tmp_path, "20200101", "20200102").with_options(
        {"partition.expiration-time": "99999 d", "partition.timestamp-formatter": "yyyy"}
    )
    done = expire_partitions(table, timedelta(days=1), "yyyyMMdd", "$part", "values-time", 1)
    assert done.partitions == ("part=20200101",)


def test_what_is_refused(tmp_path: Path) -> None:
    table = hand_made(tmp_path / "t", "2020-01-01")
    with pytest.raises(OptionError, match="give expiration_time"):
        expire_partitions(table)
    with pytest.raises(OptionError, match="'w' is not supported"):
        expire_partitions(table, "1 d", "yyyy-ww")
    with pytest.raises(OptionError, match="values-time, update-time"):
        expire_partitions(table, "1 d", expire_strategy="my-class")
    flat = make(tmp_path / "flat", COLUMNS, ["k"], ONE_DAY)
    with pytest.raises(OptionError, match="no partition columns"):
        expire_partitions(flat)
    maintain(flat, dedicated=True)


def test_a_table_without_snapshots(tmp_path: Path) -> None:
    assert expire_partitions(keyed_table(tmp_path), "1 d").snapshot_ids == ()


# --- against a model ------------------------------------------------------------------------------------------------

DAYS = st.integers(1, 28).map(lambda day: f"2026-11-{day:02}")


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(DAYS | st.sampled_from(["x", "1,2", "é", "2026-1-1"]), min_size=1, max_size=4), max_size=5),
    st.integers(0, 30),
    st.integers(1, 5),
    st.integers(1, 3),
)
def test_like_the_model(
    tmp_path_factory: pytest.TempPathFactory, writes: list[list[str]], days: int, most: int, batch: int
) -> None:
    table = keyed_table(tmp_path_factory.mktemp("t"))
    for number, parts in enumerate(writes):
        files = [
            added(file(f"{number}-{i}", keys=(number * 9 + i,) * 2), part=partition(p), total=2)
            for i, p in enumerate(parts)
        ]
        TableCommit(table, str(number)).append(files)
    seen = {p for parts in writes for p in parts}
    limit = NOW - timedelta(days=days)
    dates = {p: datetime(*(int(x) for x in p.split("-"))) for p in seen if p.startswith("2026")}  # type: ignore[arg-type]  # three numbers
    gone = sorted(p for p, date in dates.items() if date < limit)[:most]
    numbers = {"partition.expiration-max-num": str(most), "partition.expiration-batch-size": str(batch)}
    done = expire_partitions_at(table.with_options({"partition.expiration-time": f"{days} d", **numbers}), NOW)
    assert done.partitions == tuple(f"part={p}" for p in gone)
    if writes:
        expected = {f"{n}-{i}" for n, parts in enumerate(writes) for i, p in enumerate(parts) if p not in gone}
        assert live(table) == expected
    assert len(done.snapshot_ids) == -(-len(gone) // batch)


# --- all kinds of tables --------------------------------------------------------------------------------------------

KINDS: dict[str, Mapping[str, str]] = {
    "fixed": {"bucket": "2"},
    "vectors": {"bucket": "2", "deletion-vectors.enabled": "true"},
    "dynamic": {"bucket": "-1"},
    "postponed": {"bucket": "-2"},
    "input": {"bucket": "1", "changelog-producer": "input"},
    "lookup": {"bucket": "1", "changelog-producer": "lookup"},
    "full-compaction": {"bucket": "1", "changelog-producer": "full-compaction"},
    "first-row": {"bucket": "1", "merge-engine": "first-row"},
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_table(tmp_path: Path, name: str) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k", "dt"], KINDS[name], ["dt"])
    put(table, ROWS)
    put(open_table(table.location), [(1, "2026-11-08", 5), (3, "2026-11-10", 6)])
    if name not in ("postponed", "dynamic"):
        compact(table)
    done = expire_partitions_at(table.with_options(ONE_DAY), NOW)
    assert done.partitions == ("dt=2026-11-08", "dt=2026-11-09")
    state = table_state(table, latest(table))
    assert {e.partition for e in state.live_entries(None)} == {partition("2026-11-10"), partition("soon")}
    assert not {e.partition for e in state.index_entries} & {partition("2026-11-08"), partition("2026-11-09")}
    assert latest(table).changelog_manifest_list is None
    if name != "postponed":
        assert {row[1] for row in rows_of(table)} == {"2026-11-10", "soon"}
    check_table(table.location)


def test_on_a_branch(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k", "dt"], {}, ["dt"])
    write(table, ROWS)
    other = branch(table, "b", 1)
    assert expire_partitions(other, "1 d", max_expires=3).partitions[:1] == ("dt=2026-11-08",)
    assert (other.snapshots.ids(), table.snapshots.ids()) == ([1, 2], [1])
    assert rows_of(table) == sorted(ROWS)


# --- others write meanwhile -----------------------------------------------------------------------------------------


def test_files_that_come_in_concurrently_are_too_old_too(tmp_path: Path) -> None:
    table = hand_made(tmp_path, "2026-11-01", "2026-11-10").with_options(ONE_DAY)
    new = [added(file("late", keys=(9, 9)), part=partition("2026-11-01"), total=2)]
    done = expire_partitions_at(with_rivals(table, lambda: TableCommit(table, "rival").append(new)), NOW)
    assert (live(table), done.files, done.snapshot_ids) == ({"f-2026-11-10"}, 2, (3,))


def test_a_partition_that_is_written_to_lives_on(tmp_path: Path) -> None:
    table = hand_made(tmp_path, "a", "b").with_options({**ONE_DAY, "partition.expiration-strategy": "update-time"})
    now = datetime.now()
    millis = local_wall_millis(int(now.timestamp() * 1000))
    new = [added(file("late", keys=(9, 9), creation_time=millis), part=partition("a"), total=2)]
    done = expire_partitions_at(with_rivals(table, lambda: TableCommit(table, "rival").append(new)), now)
    assert (live(table), done.files, done.partitions) == ({"f-a", "late"}, 1, ("part=b",))


def test_two_at_once(tmp_path: Path) -> None:
    table = hand_made(tmp_path, "2026-11-01", "2026-11-02", "2026-11-10").with_options(ONE_DAY)
    done = expire_partitions_at(with_rivals(table, lambda: expire_partitions_at(table, NOW)), NOW)
    assert (done.partitions, done.snapshot_ids) == ((), ())
    assert (live(table), latest(table).id) == ({"f-2026-11-10"}, 2)


def test_whatever_fails_the_partitions_are_there_or_gone(tmp_path: Path) -> None:
    options = {**ONE_DAY, "partition.expiration-batch-size": "1"}
    whole = make(tmp_path / "whole", COLUMNS, ["k", "dt"], options, ["dt"])
    write(whole, ROWS)
    for at in range(0, 80, 4):
        table = copied(whole, tmp_path / str(at))
        faulty = FaultyFileIO(LocalFileIO(), at=at)
        try:
            expire_partitions_at(replace(table, file_io=faulty), NOW)
        except (OSError, PaimonError):
            assert [row[1] for row in rows_of(table)] in [[row[1] for row in ROWS[n:]] for n in range(3)]
        check_table(table.location)
        expire_partitions_at(table, NOW)
        assert rows_of(table) == ROWS[2:]
        if len(faulty.log) <= at:
            return
    raise AssertionError("the run has more operations than were tried")


@pytest.mark.parametrize("when", [When.HALF, When.AFTER])
def test_killed_anywhere_a_second_run_completes(tmp_path: Path, when: When) -> None:
    options = {**ONE_DAY, "partition.expiration-batch-size": "1"}
    whole = make(tmp_path / "whole", COLUMNS, ["k", "dt"], options, ["dt"])
    write(whole, ROWS)
    for at in range(0, 100, 1 if LONG else 5):
        table = copied(whole, tmp_path / str(at))
        dying = replace(table, file_io=FaultyFileIO(LocalFileIO(), at=at, when=when, act=kill))
        killed = is_killed(partial(expire_partitions_at, dying, NOW))
        assert [row[1] for row in rows_of(table)] in [[row[1] for row in ROWS[n:]] for n in range(3)]
        check_table(table.location)
        expire_partitions_at(table, NOW)
        assert rows_of(table) == ROWS[2:]
        check_table(table.location)
        if not killed:
            return
    raise AssertionError("the run has more operations than were tried")


# --- when -----------------------------------------------------------------------------------------------------------


def test_an_interval_passes() -> None:
    checks = CheckTimes()
    place = ("t", "main")
    assert not checks.is_due(place, 10, now=100)
    assert checks.is_due(place, 10, now=110.1)
    assert checks.is_due(place, 10, now=111)  # it was not looked at yet
    checks.looked(place, 111)
    assert not checks.is_due(place, 10, now=121)
    assert checks.is_due(place, 10, now=121.1)
    assert checks.is_due(("other", "main"), 0, now=121)


def test_new_tables_are_not_all_due_at_once() -> None:
    checks = CheckTimes()
    for number in range(200):
        assert not checks.is_due((str(number), "main"), 10, now=100)
    due = sum(checks.is_due((str(number), "main"), 10, now=105) for number in range(200))
    assert 50 < due < 150


def aged(path: Path, **options: str) -> Table:
    table = make(path / "t", COLUMNS, ["k", "dt"], {}, ["dt"])
    write(table, [(1, "2020-01-01", 1), (2, "9999-01-01", 2)])
    return open_table(table.location, {"write-only": "false", **ONE_DAY, **options})


def test_not_before_an_interval_has_passed(tmp_path: Path) -> None:
    table = aged(tmp_path)
    maintain(table)
    assert latest(table).id == 1


@pytest.mark.parametrize("when", ["end-input.check-partition-expire=true", "partition.expiration-check-interval=0 s"])
def test_after_every_write(tmp_path: Path, when: str) -> None:
    table = aged(tmp_path, **dict([when.split("=")]))
    maintain(table)
    assert rows_of(table) == [(2, "9999-01-01", 2)]
    maintain(table)
    assert latest(table).id == 2


def test_a_writer_that_only_writes_leaves_it_to_others(tmp_path: Path) -> None:
    table = aged(tmp_path, **{"end-input.check-partition-expire": "true", "write-only": "true"})
    maintain(table)
    assert latest(table).id == 1
    maintain(table, dedicated=True)
    assert latest(table).id == 2


def test_a_bad_pattern_does_not_make_a_commit_fail(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bad = {"end-input.check-partition-expire": "true", "partition.timestamp-formatter": "yyyy-ww"}
    with caplog.at_level(logging.WARNING):
        maintain(aged(tmp_path, **bad))
    assert "expiring partitions" in caplog.text
    assert "'w' is not supported" in caplog.text


def test_partitions_that_have_no_new_file(tmp_path: Path) -> None:
    new = local_wall_millis(int(datetime.now().timestamp() * 1000))
    table = hand_made(tmp_path / "t", "old", "new", None, new=new)
    found = idle_partitions(table, None, "1 d")
    assert isinstance(found, Or)
    assert set(found.parts) == {Compare(("part",), Op.EQ, "old"), IsNull(("part",))}
    assert idle_partitions(table, "part = 'new'", "0 s") != FALSE
    assert idle_partitions(make(tmp_path / "none", COLUMNS, ["k", "dt"], {}, ["dt"]), None, "1 d") == FALSE
    with pytest.raises(OptionError, match="partition_idle_time is 'soon'"):
        idle_partitions(table, None, "soon")


@pytest.mark.parametrize("given", ["30", " 7 "])
def test_a_lifetime_without_a_unit_is_refused(tmp_path: Path, given: str) -> None:
    table = hand_made(tmp_path / "t", "2026-01-01")
    for call in (lambda: expire_partitions(table, given), lambda: create_tag(table, "t", time_retained=given)):
        with pytest.raises(OptionError, match=f"is '{given.strip()}', without a unit; give one, such as"):
            call()


@pytest.mark.parametrize(
    "key",
    ["partition.expiration-time", "snapshot.time-retained", "changelog.time-retained", "consumer.expiration-time"],
)
def test_an_option_without_a_unit_is_refused_where_it_is_set_anew(tmp_path: Path, key: str) -> None:
    table = hand_made(tmp_path / "t", "2026-01-01")
    said = f"the option '{key}' is '30', which is milliseconds, and what is older is deleted; give the unit"
    changes = {key: "30"}
    for call in (
        lambda: open_table(table.location, changes),
        lambda: alter_table(table, [SetOption(key, "30")]),
        lambda: new_schema(pa.schema([("a", pa.int32())]), options=changes),
    ):
        with pytest.raises(OptionError, match=re.escape(said)):
            call()
    schema = table.schema
    for value in ("30 ms", "0", "86400000"):
        assert resolve_properties({key: value}, ()) == {key: value}
    stored = replace(schema, id=1, options={**schema.options, key: "30"})  # as the official system stores it
    table.file_io.write_bytes(f"{table.location}/schema/schema-1", encode_schema(stored))
    assert open_table(table.location, changes).settings[key] == "30"
