"""What a metastore knows of partitions and tags, beside the files."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.faults.cut_connections import cutting_proxy
from support.programs.hive_metastore import HiveMetastore
from support.tables.catalog_tables import ORDERS, append, append_rows, schema

from paimon_spark import open_catalog
from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.catalogs.hive.names import HiveNames
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.warehouse import find_warehouse_table
from paimon_spark.errors import SchemaError, UnsupportedFeature
from paimon_spark.store.clean.partition_expiry import expire_partitions
from paimon_spark.store.clean.truncate import drop_partitions, truncate_table
from paimon_spark.store.history.branches import create_branch, on_branch
from paimon_spark.store.history.tag_deletion import delete_tags
from paimon_spark.store.history.tags import create_tag, replace_tag
from paimon_spark.store.metadata.alter import set_option
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.upkeep.finish_write import report_partitions
from paimon_spark.store.upkeep.partition_done import mark_partition_done, mark_written_partitions
from paimon_spark.store.write.table_write import TableWrite

pytestmark = pytest.mark.interop

KEPT = {"metastore.partitioned-table": "true"}
COLUMNS = pa.schema([("id", pa.int64()), ("day", pa.string()), ("hour", pa.int32())])


@pytest.fixture
def hive(hive_options: dict[str, str]) -> FileCatalog:
    """A catalog with the empty database `shop`."""
    made = open_catalog(hive_options)
    assert isinstance(made.names, HiveNames)
    made.create_database("shop")
    return made


def orders(hive: FileCatalog, **more: str) -> ReadableTable:
    """A table with partitions by two columns."""
    hive.create_table(ORDERS, new_schema(COLUMNS, partition_keys=["day", "hour"], options={**KEPT, **more}))
    return hive.load_table(ORDERS)


def add(table: ReadableTable, *places: tuple[str | None, int]) -> None:
    days, hours = zip(*places, strict=True)
    append_rows(table, {"id": range(len(places)), "day": days, "hour": hours})


def known(hive: FileCatalog, table: Identifier = ORDERS) -> dict[tuple[str, ...], str]:
    """The values and the places of the partitions."""
    return {tuple(one.values): one.sd.location for one in hive.names.metastore.partitions(table)}


def test_commits_tell_of_partitions(hive: FileCatalog, tmp_path: Path) -> None:
    table, place = orders(hive), f"file:{tmp_path}/lake/shop.db/orders"
    assert [column.name for column in hive.names.hive_table(ORDERS).partitionKeys] == ["day", "hour"]
    assert [column.name for column in hive.names.hive_table(ORDERS).sd.cols] == ["id"]
    add(table, ("a/b", 1), (None, 2))
    add(table, ("a/b", 1), ("c", 3))
    assert known(hive) == {
        ("a/b", "1"): f"{place}/day=a%2Fb/hour=1",
        ("__DEFAULT_PARTITION__", "2"): f"{place}/day=__DEFAULT_PARTITION__/hour=2",
        ("c", "3"): f"{place}/day=c/hour=3",
    }
    set_option(table, "file.format", "orc")
    assert len(known(hive)) == 3
    drop_partitions(hive.load_table(ORDERS), "day = 'c'")
    assert sorted(known(hive)) == [("__DEFAULT_PARTITION__", "2"), ("a/b", "1")]
    truncate_table(hive.load_table(ORDERS))
    assert len(known(hive)) == 2, "as by Java"


def test_a_partition_of_another_branch_stays(hive: FileCatalog) -> None:
    table = orders(hive)
    add(table, ("a", 1), ("b", 1))
    create_tag(table, "t")
    create_branch(table, "other", "t")
    drop_partitions(on_branch(table, "other"), "day = 'a'")
    add(on_branch(table, "other"), ("c", 1))
    assert sorted(known(hive)) == [("a", "1"), ("b", "1"), ("c", "1")]
    drop_partitions(table, "day = 'a' OR day = 'b'")
    assert sorted(known(hive)) == [("b", "1"), ("c", "1")]


def test_expired_partitions_go(hive: FileCatalog) -> None:
    columns = pa.schema([("id", pa.int64()), ("day", pa.string())])
    hive.create_table(ORDERS, new_schema(columns, partition_keys=["day"], options=KEPT))
    append_rows(hive.load_table(ORDERS), {"id": [1, 2], "day": ["2020-01-01", "9999-01-01"]})
    expire_partitions(hive.load_table(ORDERS), "1 d", timestamp_formatter="yyyy-MM-dd")
    assert sorted(known(hive)) == [("9999-01-01",)]


def test_repair_tells_of_partitions(hive: FileCatalog, hive_options: dict[str, str]) -> None:
    files = open_catalog(hive_options["warehouse"])
    files.create_table(ORDERS, new_schema(COLUMNS, partition_keys=["day", "hour"], options=KEPT))
    add(files.load_table(ORDERS), ("a", 1), ("b", 2))
    hive.repair("shop")
    assert sorted(known(hive)) == [("a", "1"), ("b", "2")]
    add(files.load_table(ORDERS), ("c", 1))
    hive.repair("shop", "orders")
    assert sorted(known(hive)) == [("a", "1"), ("b", "2"), ("c", "1")]


def test_locations_in_properties(hive_options: dict[str, str]) -> None:
    hive = open_catalog({**hive_options, "location-in-properties": "true"})
    assert isinstance(hive.names, HiveNames)
    hive.create_database("shop")
    add(orders(hive), ("a", 1))
    (found,) = hive.names.metastore.partitions(ORDERS)
    assert found.parameters["paimon_location"] == f"{hive.table_location(ORDERS)}/day=a/hour=1"


def test_tags_are_partitions(hive: FileCatalog) -> None:
    hive.create_table(ORDERS, schema(**{"metastore.tag-to-partition": "dt"}))
    table = hive.load_table(ORDERS)
    assert [(c.name, c.type) for c in hive.names.hive_table(ORDERS).partitionKeys] == [("dt", "string")]
    append(table, 1)
    create_tag(table, "2026-11-23")
    append(table, 2)
    create_tag(table, "second")
    replace_tag(table, "second")
    assert sorted(known(hive)) == [("2026-11-23",), ("second",)]
    delete_tags(table, "second,none")
    assert sorted(known(hive)) == [("2026-11-23",)]
    set_option(table, "metastore.tag-to-partition.preview", "process-time")
    with pytest.raises(UnsupportedFeature, match="tags before they are made"):
        append(hive.load_table(ORDERS), 3)
    wrong = new_schema(COLUMNS, partition_keys=["day"], options={"metastore.tag-to-partition": "dt"})
    with pytest.raises(SchemaError, match="is for tables without them"):
        hive.create_table(Identifier("shop", "t"), wrong)
    assert not hive.names.file_io_of(hive.warehouse).exists(f"{hive.warehouse}/shop.db/t")


def done_of(scan: Any, name: str) -> dict[str, bool]:
    """Which partitions a system table shows as done."""
    found = scan.to_arrow()
    return dict(zip(found.column(name).to_pylist(), found.column("done").to_pylist(), strict=True))


def test_marks(hive: FileCatalog) -> None:
    table = orders(hive, **{"partition.mark-done-action": "done-partition,mark-event,success-file"})
    add(table, ("a/b", 1), ("c", 1))
    mark_partition_done(table, "day=a/b,hour=1")
    assert sorted(known(hive)) == [("a/b", "1"), ("a/b", "1.done"), ("c", "1")]
    assert [hive.names.metastore.is_done(ORDERS, {"day": day, "hour": "1"}) for day in ("a/b", "c")] == [True, False]
    shown = hive.load_table(ORDERS).system_table("partitions")
    assert done_of(shown, "partition") == {"day=a/b/hour=1": True, "day=c/hour=1": False}
    everywhere = find_warehouse_table(hive.table_location(Identifier("sys", "partitions")), hive.table_options())
    assert everywhere is not None
    assert done_of(everywhere.scan(), "partition_name") == {"day=a/b/hour=1": True, "day=c/hour=1": False}
    set_option(table, "partition.mark-done-action", "success-file")
    unasked = hive.load_table(ORDERS).system_table("partitions")
    assert not any(done_of(unasked, "partition").values()), "as by Java"
    without = table.with_options({"metastore.partitioned-table": "false"})
    with pytest.raises(UnsupportedFeature, match=r"which needs 'metastore\.partitioned-table'"):
        mark_partition_done(without, "day=a/b,hour=1")


def written(table: ReadableTable) -> list[CommitMessage]:
    """The messages of a write whose rows are there already."""
    task = TableWrite(table, "u")
    task.write(pa.RecordBatch.from_pydict({"id": [1], "day": ["a"], "hour": [1]}, schema=COLUMNS))
    return list(task.finish())


def test_statistics_and_marks_of_a_write(hive: FileCatalog) -> None:
    table = orders(hive, **{"partition.mark-done-action": "mark-event", "partition.end-input-to-done": "true"})
    add(table, ("a", 1), ("b", 2))
    add(table, ("a", 1))
    messages = written(table)
    report_partitions(table, messages)
    assert "numRows" not in hive.names.metastore.partition(ORDERS, ["a", "1"]).parameters
    report_partitions(table.with_options({"partition.idle-time-to-report-statistic": "1 h"}), messages)
    told = hive.names.metastore.partition(ORDERS, ["a", "1"])
    assert {k: told.parameters[k] for k in ("numRows", "totalBuckets")} == {"numRows": "2", "totalBuckets": "-1"}
    assert told.parameters["lastUpdateTime"] == told.parameters["transient_lastDdlTime"] == str(told.lastAccessTime)
    assert "numRows" not in hive.names.metastore.partition(ORDERS, ["b", "2"]).parameters
    mark_written_partitions(table, messages)
    assert hive.names.metastore.is_done(ORDERS, {"day": "a", "hour": "1"})


def test_a_metastore_that_fails_keeps_no_row_back(
    metastore: HiveMetastore, hive_options: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with cutting_proxy(metastore.port) as proxy:
        hive = open_catalog({**hive_options, "uri": f"thrift://localhost:{proxy.port}"})
        assert isinstance(hive.names, HiveNames)
        hive.create_database("shop")
        table = orders(hive)
        proxy.cut_at("add_partitions_req", late=False)
        with caplog.at_level(logging.WARNING):
            add(table, ("a", 1))
        assert "the metastore is not told of its partitions; CALL sys.repair does it" in caplog.text
        assert len(hive.load_table(ORDERS).scan().to_arrow()) == 1
        assert known(hive) == {}
        hive.repair("shop", "orders")
        assert sorted(known(hive)) == [("a", "1")]
