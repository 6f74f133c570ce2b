"""Chain tables: rows, overwrites and compactions, of the official connector's example (Java: SparkChainTableITCase)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.tables.micro_batches import Checkpoint, Died, Query, opened

from paimon_spark import create_table, open_table
from paimon_spark.errors import (
    CommitConflict,
    DataError,
    OptionError,
    SchemaError,
    SnapshotNotFound,
    UnsupportedFeature,
)
from paimon_spark.store.clean.partition_expiry import expire_partitions_at
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.schema_update import SchemaUpdate
from paimon_spark.tables.open import WritableTable

COLUMNS = {"t1": "BIGINT NOT NULL", "t2": "BIGINT", "t3": "STRING", "dt": "STRING NOT NULL"}
OPTIONS = {
    "bucket": "2",
    "bucket-key": "t1",
    "sequence.field": "t2",
    "chain-table.enabled": "true",
    "partition.timestamp-pattern": "$dt",
    "partition.timestamp-formatter": "yyyyMMdd",
}
NAMES = {"scan.fallback-snapshot-branch": "snapshot", "scan.fallback-delta-branch": "delta"}
MAIN = {"20250810": [(1, 1, "1"), (2, 1, "1")]}
DELTA = {
    "20250809": [(1, 1, "1"), (2, 1, "1")],
    "20250810": [(1, 2, "1-1"), (3, 1, "1")],
    "20250811": [(2, 2, "1-1"), (4, 1, "1")],
    "20250812": [(3, 2, "1-1"), (4, 2, "1-1"), (7, 1, "d7")],
    "20250813": [(5, 1, "1"), (6, 1, "1")],
    "20250814": [(5, 2, "1-1"), (6, 2, "1-1")],
}
SNAPSHOT = {
    "20250810": [(1, 2, "1-1"), (2, 1, "1"), (3, 1, "1")],
    "20250812": [(1, 2, "1-1"), (2, 2, "1-1"), (3, 2, "1-1"), (4, 2, "1-1")],
    "20250814": [(1, 2, "1-1"), (2, 2, "1-1"), (3, 2, "1-1"), (4, 2, "1-1"), (5, 1, "1"), (6, 1, "1")],
}
EXPECTED = {
    "20250809": DELTA["20250809"],
    "20250810": MAIN["20250810"],
    "20250811": [(1, 2, "1-1"), (2, 2, "1-1"), (3, 1, "1"), (4, 1, "1")],
    "20250812": SNAPSHOT["20250812"],
    "20250813": [*SNAPSHOT["20250812"], (5, 1, "1"), (6, 1, "1")],
    "20250814": SNAPSHOT["20250814"],
}


def branch(path: str, name: str = "main") -> WritableTable:
    return open_table(path, {"branch": name})


def rows(dt: str, values: list[tuple[Any, ...]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(COLUMNS, (*one, dt), strict=True)) for one in values])


def write(path: str, name: str, parts: dict[str, list[tuple[Any, ...]]]) -> None:
    for dt, values in parts.items():
        branch(path, name).append(rows(dt, values))


def read(path: str, dt: str, name: str = "main", **scan: Any) -> list[tuple[Any, ...]]:
    found = branch(path, name).scan(["t1", "t2", "t3"], where=f"dt = '{dt}'", **scan).to_arrow()
    return sorted(tuple(row.values()) for row in found.to_pylist())


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = str(tmp_path / "chain")
    create_table(made, COLUMNS, primary_keys=["dt", "t1"], partition_keys=["dt"], options=OPTIONS)
    for name in ("snapshot", "delta"):
        branch(made).create_branch(name)
    for name in ("main", "snapshot", "delta"):
        alter_table(branch(made, name), SchemaUpdate().set_options(NAMES).changes)
    return made


@pytest.fixture
def filled(path: str) -> str:
    write(path, "main", MAIN)
    write(path, "delta", DELTA)
    write(path, "snapshot", SNAPSHOT)
    return path


def test_the_rows_of_each_partition(filled: str) -> None:
    for dt, expected in EXPECTED.items():
        assert read(filled, dt) == sorted(expected), dt
        assert open_table(filled).scan(where=f"dt = '{dt}'").count() == len(expected)
    whole = open_table(filled).scan()
    assert whole.count() == sum(map(len, EXPECTED.values())) == whole.to_arrow().num_rows
    assert (whole.min("dt"), whole.max("t1"), open_table(filled).scan(where="dt = '20250811'").max("t2")) == (
        "20250809",
        6,
        2,
    )
    assert read(filled, "20250811", "delta") == DELTA["20250811"]
    assert open_table(filled).scan(where="dt = '20250811' AND t1 = 4").to_arrow()["t3"].to_pylist() == ["1"]
    assert open_table(filled).scan(where="dt = '20250811' AND t3 = '1'").count() == 2  # not of old rows of a key
    places = open_table(filled).scan(["__paimon_partition"], where="dt = '20250813'").to_arrow()
    assert {str(one) for one in places.column(0).to_pylist()} == {"{'dt': '20250813'}"}


def test_an_overwrite_of_changes_takes_the_whole_partition_away(filled: str) -> None:
    branch(filled, "delta").dynamic_partition_overwrite(rows("20250814", [(6, 2, "1")]))
    assert read(filled, "20250814", "snapshot") == []
    assert read(filled, "20250814", "delta") == [(6, 2, "1")]
    assert read(filled, "20250814") == sorted([*SNAPSHOT["20250812"], (5, 1, "1"), (6, 2, "1")])


def test_the_first_whole_partition_stays(filled: str) -> None:
    with pytest.raises(CommitConflict, match="no whole partition of its chain before it is left"):
        branch(filled, "snapshot").drop_partitions("dt = '20250810'")
    branch(filled, "snapshot").drop_partitions("dt = '20250812'")
    assert read(filled, "20250812") == sorted(
        [(1, 2, "1-1"), (2, 2, "1-1"), (3, 2, "1-1"), (4, 2, "1-1"), (7, 1, "d7")]
    )
    with pytest.raises(CommitConflict, match="the overwrite is committed, but the same partitions"):
        branch(filled, "delta").dynamic_partition_overwrite(rows("20250810", [(1, 9, "new")]))
    assert read(filled, "20250810", "delta") == [(1, 9, "new")]


def test_partitions_that_go_together_do_not_replace_each_other(path: str) -> None:
    write(path, "snapshot", {"20250810": [(1, 1, "a")], "20250812": [(1, 2, "b")]})
    write(path, "delta", {"20250813": [(2, 1, "c")]})
    with pytest.raises(CommitConflict, match="no whole partition of its chain before it is left"):
        branch(path, "snapshot").drop_partitions("dt >= '20250810'")
    assert read(path, "20250813") == [(1, 2, "b"), (2, 1, "c")]


def test_an_overwrite_of_all_changes(path: str) -> None:
    """No partition of them needs the whole ones that go."""
    write(path, "snapshot", {"20250810": [(1, 1, "a")], "20250812": [(1, 2, "b")]})
    write(path, "delta", {"20250810": [(1, 1, "a")], "20250812": [(1, 2, "b")]})
    new = pa.concat_tables([rows("20250810", [(5, 1, "x")]), rows("20250812", [(6, 1, "y")])])
    branch(path, "delta").dynamic_partition_overwrite(new)
    assert branch(path, "snapshot").scan().count() == 0
    assert (read(path, "20250810"), read(path, "20250812")) == ([(5, 1, "x")], [(5, 1, "x"), (6, 1, "y")])


def test_a_compaction_keeps_deletions(path: str) -> None:
    """They delete rows of the whole partition, also where no older row of their key is in the branch of changes."""
    write(path, "snapshot", {"20250810": [(1, 1, "a"), (2, 1, "b")]})
    table = branch(path, "delta")
    gone = rows("20250811", [(1, 2, "a")]).append_column("kind", pa.array(["-D"]))
    table.append(gone, {"row-kind-column": "kind"})
    branch(path, "delta").compact(full=True)
    assert read(path, "20250811") == [(2, 1, "b")]
    assert read(path, "20250811", "delta") == []


def test_compact_chain_table(filled: str) -> None:
    table = open_table(filled)
    made = table.compact_chain_table("dt='20250813'")
    assert (made.compacted, made.rows) == (True, len(EXPECTED["20250813"]))
    assert read(filled, "20250813", "snapshot") == read(filled, "20250813") == sorted(EXPECTED["20250813"])
    assert not table.compact_chain_table("dt='20250813'").compacted
    assert not table.compact_chain_table("dt='20250820'").compacted
    assert table.compact_chain_table('dt="20250814"', overwrite=True).compacted
    assert read(filled, "20250814", "snapshot") == sorted([*SNAPSHOT["20250812"], (5, 2, "1-1"), (6, 2, "1-1")])
    for wrong in ("", "t1=3", "dt='1';dt='2'"):
        with pytest.raises(OptionError):
            table.compact_chain_table(wrong)
    with pytest.raises(OptionError, match="no chain table"):
        branch(filled, "delta").compact_chain_table("dt='20250813'")


@pytest.mark.parametrize(
    "read_so",
    [
        lambda path: open_table(path, {"incremental-between": "0,1"}).scan().to_arrow(),
        lambda path: open_table(path, {"scan.creation-time-millis": "1"}).scan().to_arrow(),
        lambda path: open_table(path).scan().explain(),
        lambda path: open_table(path).system_table("ro"),
    ],
)
def test_what_is_refused(filled: str, read_so: Callable[[str], Any]) -> None:
    with pytest.raises(UnsupportedFeature, match="chain table"):
        read_so(filled)


def test_without_its_branches(path: str, tmp_path: Path) -> None:
    write(path, "main", MAIN)
    with pytest.raises(SnapshotNotFound, match="other"):
        open_table(path, {"scan.fallback-snapshot-branch": "other"}).scan()
    alone = open_table(path, {"scan.fallback-snapshot-branch": "", "scan.fallback-delta-branch": ""})
    assert alone.scan().count() == 2


def test_a_partition_that_is_no_time(path: str) -> None:
    write(path, "snapshot", {"20250810": [(1, 1, "a")]})
    write(path, "delta", {"20259999": [(1, 1, "a")]})
    with pytest.raises(DataError, match="tells no time"):
        read(path, "20259999")


def test_time_travel(filled: str) -> None:
    """A snapshot of the table is one of each branch at its time."""
    branch(filled).append(rows("20250810", [(1, 3, "later")]))
    then = open_table(filled, {"scan.snapshot-id": "1"})
    assert rows_of(then) == [(1, 1, "1", "20250810"), (2, 1, "1", "20250810")]


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.scan(where="dt = '20250810'").to_arrow().to_pylist())


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"sequence.field": None}, "has a 'sequence.field'"),
        ({"bucket": "-1", "bucket-key": None}, "fixed number of buckets"),
        ({"changelog-producer": "lookup"}, "'changelog-producer' none or input"),
        ({"partition.timestamp-pattern": None}, "has a 'partition.timestamp-pattern'"),
        ({"partition.timestamp-formatter": None}, "has a 'partition.timestamp-formatter'"),
        ({"chain-table.chain-partition-keys": "t1"}, "the last of dt"),
        ({"deletion-vectors.enabled": "true", "merge-engine": "partial-update"}, "the merge engine deduplicate only"),
        ({"partition.expiration-time": "1 d", "partition.expiration-strategy": "update-time"}, "by their values"),
    ],
)
def test_what_a_chain_table_must_have(tmp_path: Path, changed: dict[str, str | None], why: str) -> None:
    options = {key: value for key, value in {**OPTIONS, **changed}.items() if value is not None}
    with pytest.raises((SchemaError, UnsupportedFeature), match=why):
        create_table(str(tmp_path / "t"), COLUMNS, primary_keys=["dt", "t1"], partition_keys=["dt"], options=options)


# ------------------------------------------------------------------------------------------------------ changes of rows


def test_rows_of_the_branches_are_not_changed_in_the_table(filled: str) -> None:
    """A changed row in the table itself would hide the others of its partition. Its own partitions are changed."""
    changes: list[Callable[[], Any]] = [
        lambda: open_table(filled).delete("t1 = 1"),
        lambda: open_table(filled).delete("dt = '20250811'"),
        lambda: open_table(filled).update("dt = '20250813' AND t1 = 5", {"t3": "'x'"}),
        lambda: (
            open_table(filled)
            .merge(rows("20250811", [(1, 9, "m")]), "target.dt = source.dt AND target.t1 = source.t1")
            .when_matched_update_all()
            .execute()
        ),
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(UnsupportedFeature, match="would hide the other rows there"):
            change()
    for dt, expected in EXPECTED.items():
        assert read(filled, dt) == sorted(expected), dt
    open_table(filled).update("dt = '20250810' AND t1 = 1", {"t3": "'x'"})
    assert read(filled, "20250810") == [(1, 1, "x"), (2, 1, "1")]
    branch(filled, "delta").delete("dt = '20250811' AND t1 = 4")
    assert (4, 1, "1") not in read(filled, "20250811")


# -------------------------------------------------------------------------------------------------------------- streams


def test_a_stream_begins_with_the_newest_whole_partition(filled: str) -> None:
    """And with the changes after it; then come those that the branch of changes gets."""
    write(filled, "delta", {"20250815": [(8, 1, "8")]})
    query = Query(open_table(filled), {}, checkpoint := Checkpoint())
    [(_, first)] = query.run()
    begun = {(row["dt"], row["t1"]) for row in first}
    assert begun == {("20250814", one[0]) for one in SNAPSHOT["20250814"]} | {("20250815", 8)}
    write(filled, "snapshot", {"20250816": [(1, 1, "whole")]})
    write(filled, "main", {"20250816": [(1, 1, "own")]})
    write(filled, "delta", {"20250816": [(9, 1, "9")]})
    [(_, later)] = Query(open_table(filled), {}, checkpoint).run()
    assert [(row["dt"], row["t1"]) for row in later] == [("20250816", 9)]


def test_a_first_batch_that_runs_again_has_the_same_rows(filled: str) -> None:
    """Its start is in the checkpoint: the snapshot of the branch of whole partitions too."""
    checkpoint = Checkpoint()
    with pytest.raises(Died):
        list(Query(open_table(filled), {}, checkpoint).run(dies_after=1))
    assert json.loads(checkpoint.offsets[0])["origin"]["otherSnapshotId"] == 3
    write(filled, "snapshot", {"20250816": [(1, 1, "whole")]})
    [(_, again)] = Query(open_table(filled), {}, checkpoint).run()
    assert {row["dt"] for row in again} == {"20250814"}


def test_the_state_that_a_stream_begins_with_may_be_merged(path: str) -> None:
    """Then a change deletes a row of the whole partition; each chain is one partition, the last one."""
    write(path, "snapshot", {"20250810": [(1, 1, "a"), (2, 1, "b")]})
    gone = rows("20250811", [(1, 2, "a"), (3, 1, "c")]).append_column("kind", pa.array(["-D", "+I"]))
    branch(path, "delta").append(gone, {"row-kind-column": "kind"})
    whole, merged = ({"chain-table.streaming.merge-snapshot": text} for text in ("false", "true"))
    for options, expected in (
        (whole, [("20250810", 1), ("20250810", 2), ("20250811", 3)]),
        (merged, [("20250811", 2), ("20250811", 3)]),
    ):
        [(_, found)] = Query(open_table(path, options), options, Checkpoint()).run()
        assert sorted((row["dt"], row["t1"]) for row in found) == expected


def test_a_stream_without_changes_waits_for_the_first(path: str) -> None:
    write(path, "snapshot", {"20250810": [(1, 1, "a")]})
    checkpoint = Checkpoint()
    assert list(Query(open_table(path), {}, checkpoint).run()) == []
    write(path, "delta", {"20250811": [(2, 1, "b")]})
    [(_, found)] = Query(open_table(path), {}, checkpoint).run()
    assert sorted((row["dt"], row["t1"]) for row in found) == [("20250810", 1), ("20250811", 2)]


@pytest.mark.parametrize(
    ("options", "where", "why"),
    [
        ({"scan.mode": "latest"}, None, "cannot begin by the scan mode 'latest'"),
        ({"scan.snapshot-id": "1"}, None, "cannot begin by the scan mode 'from-snapshot'"),
        ({"consumer-id": "c"}, None, "a consumer holds the snapshots of one branch"),
        ({}, "dt = '20250811'", "filter the rows of the stream instead"),
    ],
)
def test_streams_that_java_refuses(filled: str, options: dict[str, str], where: str | None, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        opened(open_table(filled), options, where=where)
    with pytest.raises(UnsupportedFeature, match="its state is made of two branches"):
        opened(open_table(filled), {}, system="audit_log")


# --------------------------------------------------------------------------------------------------------------- expiry


def test_partitions_expire_in_segments(path: str) -> None:
    """The example of the official documentation: the newest whole partition that is too old stays."""
    write(path, "snapshot", {day: [(1, 1, "s")] for day in ("20250101", "20250201", "20250301")})
    write(path, "delta", {day: [(2, 1, "d")] for day in ("20250110", "20250210", "20250315", "20241230")})
    table = open_table(path, {"partition.expiration-time": "30 d"})
    for tried in (True, False):
        gone = expire_partitions_at(table, datetime(2025, 3, 31), dry_run=tried)
        assert gone.partitions == ("dt=20241230", "dt=20250110", "dt=20250101")
    assert partitions_of(path, "snapshot") == ["20250201", "20250301"]
    assert partitions_of(path, "delta") == ["20250210", "20250315"]
    assert expire_partitions_at(table, datetime(2025, 3, 31)).partitions == ()


def partitions_of(path: str, name: str) -> list[str]:
    return sorted(set(branch(path, name).scan(["dt"]).to_arrow()["dt"].to_pylist()))


def test_whole_partitions_with_changes_of_the_same_day_expire(path: str) -> None:
    """They go with these changes, after the later ones of their segment; so many at once that Java fails at them."""
    write(path, "snapshot", {day: [(1, 1, "s")] for day in ("20250101", "20250105")})
    write(path, "delta", {day: [(2, 1, "d")] for day in ("20250101", "20250102", "20250103")})
    options = {"partition.expiration-time": "30 d", "partition.expiration-batch-size": "2"}
    gone = expire_partitions_at(open_table(path, options), datetime(2025, 3, 31))
    assert len(gone.partitions) == 4
    assert (partitions_of(path, "snapshot"), partitions_of(path, "delta")) == (["20250105"], [])


def test_a_chain_with_one_old_whole_partition_keeps_all(path: str) -> None:
    write(path, "snapshot", {"20250101": [(1, 1, "s")], "20251231": [(1, 1, "s")]})
    write(path, "delta", {"20250102": [(2, 1, "d")], "no time": [(2, 1, "d")]})
    found = expire_partitions_at(open_table(path, {"partition.expiration-time": "1 d"}), datetime(2025, 6, 1))
    assert (found.partitions, found.without_time) == ((), ("dt=no time",))
    with pytest.raises(OptionError, match="expire by their values only"):
        open_table(path).expire_partitions("1 d", expire_strategy="update-time")


def test_writers_expire_partitions_of_chains(path: str) -> None:
    write(path, "snapshot", {"20250101": [(1, 1, "s")], "20250102": [(1, 1, "s")]})
    options = {"partition.expiration-time": "1 d", "end-input.check-partition-expire": "true"}
    open_table(path, {"branch": "delta", **options}).append(rows("20990101", [(1, 1, "d")]))
    assert partitions_of(path, "snapshot") == ["20250102"]
