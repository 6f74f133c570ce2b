"""Each procedure is called once as SQL CALL does it: the columns and rows of the official one, and what it has done.

The rows are facts of the official procedures (paimon-spark, package procedure) on a table of three snapshots.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from support.official_procedures import official_procedures
from support.oracles.checker import check_table
from support.tables.warehouse import Warehouse

from paimon_spark.errors import OptionError, SnapshotNotFound, UnsupportedFeature
from paimon_spark.procedures.call.bind import DatabaseCall, bind
from paimon_spark.procedures.call.results import call_result
from paimon_spark.procedures.catalogue import DATABASE_PROCEDURES, PROCEDURES
from paimon_spark.procedures.databases import CompactDatabase, Tables
from paimon_spark.procedures.local_engine import LocalEngine
from paimon_spark.store.compact.live_buckets import live_buckets
from paimon_spark.store.metadata.partitions import format_partition
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import create_table, open_table

OLD, NEW = "2020-01-01", "2999-01-01"
TRUE = [(True,)]
KEYS = ("id", "dt")


@pytest.fixture
def lake(tmp_path: Path) -> Warehouse:
    """db.keyed and db.plain: snapshots 1 and 3 add rows to the partition NEW, 2 to OLD; watermarks 10, 20, 30."""
    warehouse = Warehouse(tmp_path / "lake")
    warehouse.create("db.keyed", KEYS, {"bucket": "1"})
    warehouse.create("db.plain")
    for name in ("db.keyed", "db.plain"):
        for number, partition in enumerate((NEW, OLD, NEW), 1):
            warehouse.append(name, [(number, partition)], watermark=number * 10)
    return warehouse


def opened(lake: Warehouse, name: str = "db.keyed", **options: str) -> Table:
    return open_table(lake.location(name), options)


def kinds(lake: Warehouse) -> list[str]:
    store = opened(lake).snapshots
    return [store.load(number).commit_kind for number in store.ids()]


def tags(lake: Warehouse) -> dict[str, int]:
    return {name: tag.snapshot.id for name, tag in opened(lake).snapshots.tags().items()}


def branches(lake: Warehouse) -> list[str]:
    return sorted(path.name for path in Path(lake.location("db.keyed"), "branch").iterdir())


def buckets(lake: Warehouse) -> dict[str, int]:
    """The number of buckets by the option of the table, and by the live files of each partition."""
    table = opened(lake)
    entries = [bucket.entries[0] for bucket in live_buckets(table, table.snapshots.latest())]
    found = {format_partition(table, entry.partition): entry.total_buckets for entry in entries}
    return {"option": int(table.schema.options["bucket"]), **found}


@dataclass(frozen=True)
class Case:
    """A call.

    Attributes:
        procedure: its name.
        named: its arguments without the table.
        rows: what it returns.
        effect, done: what is looked at afterwards, and what it is.
        before: calls that prepare the table.
        table: the name of the table; None: it is in the arguments.
    """

    procedure: str
    named: Mapping[str, object] = field(default_factory=dict)
    rows: Any = field(default_factory=lambda: TRUE)
    effect: Callable[[Warehouse], Any] = kinds
    done: Any = None
    before: tuple[tuple[str, Mapping[str, object]], ...] = ()
    table: str | None = "db.keyed"


def consumers(lake: Warehouse) -> list[str]:
    return sorted(path.name for path in Path(lake.location("db.keyed"), "consumer").iterdir())


def ids(lake: Warehouse) -> list[int]:
    return list(opened(lake).snapshots.ids())


APPENDS = ["APPEND"] * 3
TAG = ("create_tag", {"tag": "a", "snapshot": 1})
BRANCH = ("create_branch", {"branch": "b", "tag": "a"})
KEEP_ONE = {"retain_max": 1, "retain_min": 1}
RESET = ("reset_consumer", {"consumerId": "c", "nextSnapshotId": 2})

CASES = [
    Case("compact", {"where": f"dt = '{NEW}'"}, done=[*APPENDS, "COMPACT"]),
    Case("compact", {"partitions": f"dt={NEW}", "order_strategy": "zorder", "order_by": "id"}, table="db.plain",
         effect=lambda lake: opened(lake, "db.plain").snapshots.latest().commit_kind, done="COMPACT"),
    Case("compact_manifest", done=[*APPENDS, "COMPACT"]),
    Case("rescale", {"bucket_num": 2}, effect=buckets, done={"option": 2, f"dt={OLD}": 2, f"dt={NEW}": 2}),
    Case("rewrite_file_index", {"where": f"dt = '{NEW}'"}, [(0, 0)], ids, [1, 2, 3]),
    Case("expire_snapshots", KEEP_ONE, [(2,)], ids, [3]),
    Case("expire_partitions", {"expiration_time": "1 d", "timestamp_formatter": "yyyy-MM-dd"}, [(f"dt={OLD}",)],
         lambda lake: lake.rows("db.keyed"), [(1, NEW), (3, NEW)]),
    Case("mark_partition_done", {"partitions": f"dt={OLD}"}, effect=lambda lake: sorted(
        path.parent.name for path in Path(lake.location("db.keyed")).glob("*/_SUCCESS")), done=[f"dt={OLD}"]),
    Case("create_tag", {"tag": "a", "snapshot": 2}, effect=tags, done={"a": 2}),
    Case("replace_tag", {"tag": "a", "snapshot": 2}, effect=tags, done={"a": 2}, before=(TAG,)),
    Case("rename_tag", {"tag": "a", "target_tag": "b"}, effect=tags, done={"b": 1}, before=(TAG,)),
    Case("delete_tag", {"tag": "a,c"}, effect=tags, done={"b": 2},
         before=(TAG, ("create_tag", {"tag": "b", "snapshot": 2}), ("create_tag", {"tag": "c"}))),
    Case("expire_tags", {"older_than": "2999-01-01 00:00:00"}, [("a",)], tags, {}, (TAG,)),
    Case("rollback", {"version": "2"}, [(3, 2)], ids, [1, 2]),
    Case("rollback_to_watermark", {"watermark": 19}, [(3, 1)], ids, [1]),
    Case("create_branch", {"branch": "b", "tag": "a", "ignoreIfExists": "false"}, effect=branches, done=["branch-b"],
         before=(TAG,)),
    Case("rename_branch", {"from_branch": "b", "to_branch": "c"}, effect=branches, done=["branch-c"],
         before=(TAG, BRANCH)),
    Case("delete_branch", {"branch": "b"}, effect=branches, done=[], before=(TAG, BRANCH)),
    Case("fast_forward", {"branch": "b"}, effect=ids, done=[1], before=(TAG, BRANCH)),
    Case("reset_consumer", {"consumerId": "c", "nextSnapshotId": 2}, effect=consumers, done=["consumer-c"]),
    Case("clear_consumers", {"includingConsumers": "c.*"}, effect=consumers, done=[], before=(RESET,)),
    Case("purge_files", {}, [("Success",)], lambda lake: lake.rows("db.keyed"), []),
    Case("remove_orphan_files", {}, [(0, 0)], done=APPENDS),
    Case("remove_unexisting_files", {}, [], done=APPENDS),
    Case("copy", {"source_table": "db.keyed", "target_table": "db.copied"}, effect=lambda lake: lake.rows("db.copied"),
         done=[(1, NEW), (2, OLD), (3, NEW)], table=None),
    Case("compact_database", {}, [("Compact database finished. Success: 2, Failed: 0",)],
         done=[*APPENDS, "COMPACT"], table=None),
]  # fmt: skip


ELSEWHERE = {
    "alter_function", "alter_view_dialect", "compact_chain_table", "create_function", "create_global_index",
    "create_tag_from_timestamp", "drop_function", "drop_global_index", "materialize_deletion_vectors",
    "merge_branch", "migrate_database", "migrate_table", "reassign_row_id", "repair",
    "repair_earliest_snapshot", "rollback_to_timestamp", "trigger_tag_automatic_creation",
}  # fmt: skip
"""Procedures with tests of their own below, since their arguments or tables are others."""


def test_all_are_called() -> None:
    assert {case.procedure for case in CASES} | ELSEWHERE == set(official_procedures())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.procedure)
def test_a_call(lake: Warehouse, case: Case) -> None:
    of_table = {} if case.table is None else {"table": case.table}
    for name, arguments in case.before:
        lake.call(name, **of_table, **arguments)
    columns, rows = lake.call(case.procedure, **of_table, **case.named)
    assert columns == official_procedures()[case.procedure].columns
    assert rows == case.rows
    assert case.effect(lake) == case.done
    check_table(lake.location("db.keyed"))


def test_a_partition_of_a_chain(lake: Warehouse) -> None:
    path = lake.location("db.chain")
    times = {"partition.timestamp-pattern": "$dt", "partition.timestamp-formatter": "yyyyMMdd"}
    names = {"scan.fallback-snapshot-branch": "s", "scan.fallback-delta-branch": "d", "chain-table.enabled": "true"}
    options = {**times, **names, "bucket": "1", "sequence.field": "v"}
    create_table(path, {"dt": "STRING", "k": "INT", "v": "INT"}, ["dt", "k"], ["dt"], options=options)
    for branch in ("s", "d"):
        open_table(path).create_branch(branch)
    open_table(path, {"branch": "d"}).append([{"dt": "20260101", "k": 1, "v": 1}])
    named = {"table": "db.chain", "partition": "dt='20260101'"}
    assert checked(lake, "compact_chain_table", **named) == [(True,)]
    assert checked(lake, "compact_chain_table", **named) == [(False,)]
    assert checked(lake, "compact_chain_table", **named, overwrite=True) == [(True,)]
    assert open_table(path, {"branch": "s"}).scan().count() == 1


def checked(lake: Warehouse, procedure: str, **named: object) -> list[tuple[Any, ...]]:
    """The rows of a call, whose columns are the official ones."""
    columns, rows = lake.call(procedure, **named)
    assert columns == official_procedures()[procedure].columns
    return rows


def millis_of(lake: Warehouse, number: int) -> int:
    return opened(lake).snapshots.load(number).time_millis


def test_a_tag_of_a_time(lake: Warehouse) -> None:
    millis = millis_of(lake, 2)
    given = {"table": "db.keyed", "tag": "a", "timestamp": millis}
    found = min(number for number in ids(lake) if millis_of(lake, number) >= millis)
    assert checked(lake, "create_tag_from_timestamp", **given) == [("a", found, millis, str(found * 10))]
    assert tags(lake) == {"a": found}


def test_a_tag_of_a_snapshot_without_watermark(lake: Warehouse) -> None:
    lake.create("db.other")
    lake.append("db.other", [(1, NEW)])
    [row] = checked(lake, "create_tag_from_timestamp", table="db.other", tag="a", timestamp=0)
    assert row[3] == "null"


def test_a_rollback_to_a_time(lake: Warehouse) -> None:
    found = max(number for number in ids(lake) if millis_of(lake, number) <= millis_of(lake, 2))
    given = {"table": "db.keyed", "timestamp": millis_of(lake, 2)}
    assert checked(lake, "rollback_to_timestamp", **given) == [(3, found)]
    assert ids(lake)[-1] == found


def test_an_index_of_the_whole_table(lake: Warehouse) -> None:
    lake.create("db.e", (), {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"})
    lake.append("db.e", [(1, NEW), (2, OLD), (3, NEW)])
    index: dict[str, Any] = {"table": "db.e", "index_column": "id", "index_type": "BTREE"}
    assert checked(lake, "create_global_index", **index, partitions=f"dt={NEW}", options="btree-index.block-size=1kb")
    assert checked(lake, "drop_global_index", **index, dry_run=True) == [(True, 1)]
    assert checked(lake, "create_global_index", **index, partitions="") == TRUE
    assert checked(lake, "create_global_index", **index) == TRUE
    check_table(lake.location("db.e"))
    assert checked(lake, "drop_global_index", **index, partitions=f"dt={OLD}") == [(True, 1)]
    assert checked(lake, "drop_global_index", **index) == [(True, 1)]
    assert checked(lake, "drop_global_index", **index) == [(True, 0)]
    check_table(lake.location("db.e"))


def test_new_ids_for_rows(lake: Warehouse) -> None:
    options = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    lake.create("db.evolved", (), options)
    for row in [(1, NEW), (2, OLD), (3, NEW)]:
        lake.append("db.evolved", [row])
    [(told,)] = checked(lake, "reassign_row_id", table="db.evolved", partitions=f"dt={NEW}")
    assert told == "Success: snapshot 4, nextRowId 3 -> 5, files=2, rows=2, indexFiles=0."
    [(told,)] = checked(lake, "reassign_row_id", table="db.evolved")
    assert told == "Skipped: no partition has row ids with gaps, nextRowId=5."


def test_deleted_rows_are_left_out(lake: Warehouse) -> None:
    options = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    lake.create("db.evolved", (), {**options, "deletion-vectors.enabled": "true"})
    lake.append("db.evolved", [(1, NEW), (2, NEW), (3, NEW)])
    table = opened(lake, "db.evolved")
    table.delete("id = 2")
    assert checked(lake, "materialize_deletion_vectors", table="db.evolved", where=f"dt = '{NEW}'") == TRUE
    found = opened(lake, "db.evolved").scan(["id", "_ROW_ID"]).to_arrow().to_pylist()
    assert [tuple(row.values()) for row in found] == [(1, 3), (3, 4)]
    check_table(lake.location("db.evolved"))


def test_the_earliest_snapshot(lake: Warehouse) -> None:
    Path(lake.location("db.keyed"), "snapshot", "snapshot-2").unlink()
    assert checked(lake, "repair_earliest_snapshot", table="db.keyed", snapshot_id=3) == [(1, 3)]


def test_automatic_tags(lake: Warehouse) -> None:
    lake.create("db.tagged", (), {"tag.automatic-creation": "process-time"})
    lake.append("db.tagged", [(1, NEW)])
    before = set(opened(lake, "db.tagged").snapshots.tags())
    lake.call("delete_tag", "db.tagged", ",".join(before))
    assert checked(lake, "trigger_tag_automatic_creation", table="db.tagged") == TRUE
    assert len(opened(lake, "db.tagged").snapshots.tags()) == 1


def test_a_branch_is_merged(lake: Warehouse) -> None:
    lake.call("create_tag", "db.plain", "a", 1)
    lake.call("create_branch", "db.plain", "b", "a")
    assert checked(lake, "merge_branch", table="db.plain", source_branch="main", target_branch="b") == TRUE
    assert opened(lake, "db.plain", branch="b").scan().to_arrow().num_rows == 3


def orphan(lake: Warehouse, name: str, size: int) -> Path:
    """A file of three days ago that nothing names."""
    [bucket, *_] = sorted(Path(lake.location(name)).glob("dt=*/bucket-0"))
    path = bucket / f"data-orphan-{size}.parquet"
    path.write_bytes(b"x" * size)
    before = time.time() - 3 * 86_400
    os.utime(path, (before, before))
    return path


def test_orphan_files_are_counted(lake: Warehouse) -> None:
    files = [orphan(lake, "db.keyed", 5), orphan(lake, "db.plain", 7), orphan(lake, "db.plain", 30)]
    assert checked(lake, "remove_orphan_files", table="db.*", dry_run=True) == [(3, 42)]
    assert all(path.exists() for path in files)
    assert checked(lake, "remove_orphan_files", table="db.plain") == [(2, 37)]
    assert [path.exists() for path in files] == [True, False, False]
    assert checked(lake, "remove_orphan_files", table="db.*") == [(1, 5)]
    assert not files[0].exists()


def test_no_orphan_goes_where_a_table_cannot_be_opened(lake: Warehouse) -> None:
    path = orphan(lake, "db.keyed", 5)
    Path(lake.location("db.plain"), "schema", "schema-0").write_text("{")
    with pytest.raises(Exception, match="schema-0"):
        lake.call("remove_orphan_files", "db.*")
    assert path.exists()


def test_lost_files_are_named(lake: Warehouse) -> None:
    [lost] = Path(lake.location("db.keyed")).glob(f"dt={OLD}/bucket-0/data-*")
    lost.unlink()
    assert checked(lake, "remove_unexisting_files", table="db.keyed", dry_run=True) == [(str(lost),)]
    assert ids(lake) == [1, 2, 3]
    assert checked(lake, "remove_unexisting_files", table="db.keyed") == [(str(lost),)]
    assert lake.rows("db.keyed") == [(1, NEW), (3, NEW)]


def test_what_there_is_none_of(lake: Warehouse) -> None:
    """The official procedures say it in a row."""
    given = {"expiration_time": "1 d", "timestamp_formatter": "yyyy-MM-dd"}
    lake.call("expire_partitions", table="db.keyed", **given)
    assert checked(lake, "expire_partitions", table="db.keyed", **given) == [("No expired partitions.",)]
    assert checked(lake, "expire_tags", table="db.keyed") == [("No expired tags.",)]
    assert checked(lake, "expire_snapshots", table="db.keyed") == [(0,)]


@pytest.mark.parametrize("name", ["delete_tag", "clear_consumers"])
def test_a_call_that_finds_nothing_to_delete_is_false(lake: Warehouse, name: str) -> None:
    columns, rows = lake.call(name, "db.keyed", "nope")
    assert (columns, rows) == (pa.schema([pa.field("result", pa.bool_())]), [(False,)])


def test_a_consumer_that_is_not_there_is_an_error(lake: Warehouse) -> None:
    for there in ("there is none", "there are c"):
        with pytest.raises(OptionError, match=f"there is no such consumer; {there}"):
            lake.call("reset_consumer", "db.keyed", "nope")
        lake.call("reset_consumer", "db.keyed", "c", 2)


def test_a_dry_run_that_is_ours_alone_tells_what_would_go(lake: Warehouse) -> None:
    lake.call("create_tag", "db.keyed", "a")
    columns, [row] = lake.call("delete_tag", "db.keyed", "a", dry_run=True)
    told = dict(zip(columns.names, row, strict=True))
    assert (told["names"], told["dry_run"]) == (["a"], True)
    assert (columns.field("names").type, columns.field("bytes").type) == (pa.list_(pa.string()), pa.int64())
    assert tags(lake) == {"a": 3}


OURS_ALONE: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "drop_partitions": ({"where": f"dt = '{OLD}'"}, {"rows": 1, "files": 1, "snapshot_id": 4}),
    "expire_changelogs": ({}, {"ids": [], "data_files": 0}),
    "rollback_to_as_latest": ({"version": "1"}, {"previous_snapshot_id": 3, "current_snapshot_id": 4}),
    "truncate": ({}, {"rows": 3, "files": 3, "snapshot_id": 4}),
}


@pytest.mark.parametrize("name", OURS_ALONE)
def test_procedures_of_ours_return_their_results(lake: Warehouse, name: str) -> None:
    given, wanted = OURS_ALONE[name]
    columns, [row] = lake.call(name, table="db.keyed", **given)
    told = dict(zip(columns.names, row, strict=True))
    assert {key: told[key] for key in wanted} == wanted
    pa.table([pa.array([value], column.type) for value, column in zip(row, columns, strict=True)], schema=columns)


def test_statistics_are_collected_without_spark_too(lake: Warehouse) -> None:
    assert {name for name, procedure in PROCEDURES.items() if not procedure.official} == {*OURS_ALONE, "analyze"}
    lake.call("analyze", "db.keyed")
    latest = open_table(lake.location("db.keyed")).snapshots.latest()
    assert latest is not None
    assert latest.statistics is not None


# Partitions


@pytest.mark.parametrize("partitions", [f"dt={NEW}", f"dt='{NEW}'", f' dt = "{NEW}" ;dt=1999-01-01', [{"dt": NEW}]])
def test_partitions_of_a_compaction(lake: Warehouse, partitions: object) -> None:
    lake.call("compact", table="db.keyed", partitions=partitions)
    changed = [path for path in Path(lake.location("db.keyed")).glob("dt=*/bucket-0") if len(list(path.iterdir())) > 2]
    assert [path.parent.name for path in changed] == [f"dt={NEW}"]
    check_table(lake.location("db.keyed"))


def test_partitions_of_a_rescale(lake: Warehouse) -> None:
    """The option of the table is not changed, since other partitions have its number."""
    lake.call("rescale", "db.keyed", 2, f"dt={OLD}")
    assert buckets(lake) == {"option": 1, f"dt={OLD}": 2, f"dt={NEW}": 1}
    lake.call("rescale", "db.keyed")
    assert buckets(lake) == {"option": 1, f"dt={OLD}": 1, f"dt={NEW}": 1}
    assert lake.rows("db.keyed") == [(1, NEW), (2, OLD), (3, NEW)]
    assert opened(lake).snapshots.latest_id() == 5
    check_table(lake.location("db.keyed"))


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"partitions": f"dt={OLD}", "where": "dt = 'a'"}, "both 'partitions' and 'where' choose partitions of "),
        ({"partitions": "id=1"}, "id is no partition column; those are: dt"),
        ({"partitions": [{}]}, "nothing is no partition column; those are: dt"),
        ({"partitions": "dt"}, "'dt' names no partition: expected column=value"),
    ],
)
@pytest.mark.parametrize("procedure", ["compact", "rescale"])
def test_partitions_that_do_not_fit(lake: Warehouse, procedure: str, named: dict[str, object], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        lake.call(procedure, table="db.keyed", **named)
    assert ids(lake) == [1, 2, 3]


# Databases


def test_a_table_that_fails_does_not_stop_the_others(lake: Warehouse, caplog: pytest.LogCaptureFixture) -> None:
    Path(lake.location("db.keyed"), "schema", "schema-0").write_text("{")
    columns, rows = lake.call("compact_database")
    assert columns == official_procedures()["compact_database"].columns
    assert rows == [("Compact database finished. Success: 1, Failed: 1",)]
    assert "compacting the table db.keyed failed; the other tables are compacted all the same" in caplog.text


@pytest.mark.parametrize(
    ("named", "success"),
    [
        ({"including_databases": "d.|e"}, 2),
        ({"including_databases": "d"}, 0),
        ({"including_tables": r"db\.keyed"}, 1),
        ({"including_tables": "keyed"}, 0),
        ({"excluding_tables": r".*\.plain"}, 1),
        ({"including_tables": ".*p.*", "excluding_tables": " "}, 2),
        ({"including_databases": "db|other", "including_tables": ".*n"}, 2),
    ],
)
def test_names_of_tables_match_with_their_databases(lake: Warehouse, named: dict[str, object], success: int) -> None:
    lake.create("other.plain")
    assert checked(lake, "compact_database", **named) == [
        (f"Compact database finished. Success: {success}, Failed: 0",)
    ]


def test_options_of_all_tables(lake: Warehouse) -> None:
    given = "snapshot.num-retained.max=1,snapshot.num-retained.min=1,write-only=false"
    checked(lake, "compact_database", including_tables="db.keyed", options=given)
    assert ids(lake) == [4]


def test_a_pattern_that_is_none(lake: Warehouse) -> None:
    with pytest.raises(OptionError, match=r"'\(' is no regular expression for including_tables: "):
        lake.call("compact_database", including_tables="(")


def test_progress_of_a_database(lake: Warehouse) -> None:
    told: list[tuple[str, int, int]] = []
    result = CompactDatabase(progress=lambda *step: told.append(step)).run(lake, LocalEngine())
    assert told == [("compacting db.keyed", 0, 2), ("compacting db.plain", 1, 2)]
    assert list(result.compacted) == ["db.keyed", "db.plain"]
    assert result.failed == {}


def test_a_database_that_is_not_there(lake: Warehouse) -> None:
    assert set(DATABASE_PROCEDURES) == {
        "compact_database",
        "repair",
        "alter_view_dialect",
        "migrate_table",
        "migrate_database",
        "refresh_materialized_table",
        "create_function",
        "alter_function",
        "drop_function",
    }
    with pytest.raises(FileNotFoundError):
        lake.call("remove_orphan_files", "no.*")


def test_a_time_after_all_snapshots(lake: Warehouse) -> None:
    with pytest.raises(SnapshotNotFound, match="nothing was committed at"):
        lake.call("create_tag_from_timestamp", table="db.keyed", tag="a", timestamp=4_000_000_000_000)


@dataclass
class Migrated:
    """Tables of Hive, one of which cannot be taken over."""

    calls: list[tuple[str, str | None, dict[str, str], bool]] = field(default_factory=list)

    def tables_of_hive(self, database: str) -> list[str]:
        return ["a", "bad"]

    def migrate(self, source: str, target: str | None, options: dict[str, str], drop_source: bool) -> None:
        self.calls.append((source, target, dict(options), drop_source))
        if source.endswith("bad"):
            raise UnsupportedFeature("no")


def test_migrations() -> None:
    tables = Migrated()

    def call(name: str, **named: object) -> list[tuple[object, ...]]:
        bound = bind(name, (), named)
        assert isinstance(bound, DatabaseCall)
        schema, rows = call_result(bound.procedure, bound.procedure.run(cast(Tables, tables), LocalEngine()))
        assert schema.names == ["result"]
        return rows

    assert call("migrate_table", source_type="hive", table="d.a", options="k=v", options_map={"l": "w"}) == [(True,)]
    assert call("migrate_table", source_type="Hive", table="d.a", target_table="d.b", delete_origin=False) == [(True,)]
    assert tables.calls == [("d.a", None, {"k": "v", "l": "w"}, True), ("d.a", "d.b", {}, False)]
    done = call("migrate_database", source_type="hive", database="d")
    assert done == [("migrate database is finished, success cnt: 1 , failed cnt: 1",)]
    with pytest.raises(OptionError, match="the source type 'iceberg' is not known"):
        call("migrate_table", source_type="iceberg", table="d.a")
