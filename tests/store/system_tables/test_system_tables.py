"""System tables: what prunes, what is shown of tables that cannot be read, the tables of a warehouse, and edge cases.

That the cells are Java's is shown in interop/test_system_tables_like_java.py on all golden tables.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import pickle
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.tables.compacted_tables import append, new_table
from support.tables.compacting import compact
from support.tables.files_by_hand import added, file, keyed_table, partition, plain_table
from support.tables.golden_tables import GoldenTable, of_another_format

from paimon_spark import col
from paimon_spark.catalogs.warehouse import find_warehouse_table
from paimon_spark.errors import (
    CorruptFile,
    MissingFile,
    OptionError,
    PaimonError,
    PredicateError,
    SchemaError,
    TableNotFound,
    UnsupportedFeature,
)
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.java.text import hash_order
from paimon_spark.format.manifest import SimpleStats
from paimon_spark.format.snapshot import encode_snapshot
from paimon_spark.format.types import DataType, Root
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.history.consumers import reset_consumer
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import find_system_table
from paimon_spark.store.system_tables.history import duration_text
from paimon_spark.store.system_tables.names import NAMES, refuse_name_of_part
from paimon_spark.store.system_tables.table import METADATA_TABLES
from paimon_spark.tables.open import open_table

STRING, BIGINT = DataType(Root.VARCHAR, length=2**31 - 1), DataType(Root.BIGINT)


def rows(
    path: str, columns: list[str] | None = None, where: Any = None, options: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    table = find_system_table(path, options)
    assert table is not None
    found: list[dict[str, Any]] = table.scan(columns, where).to_arrow().to_pylist()
    return found


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Two partitions and the one of null, three commits."""
    made = keyed_table(tmp_path / "t")
    for number, part in enumerate(("a", "b", None)):
        files = [file(f"data-{number}-{n}.parquet", keys=(n, n + 9), creation_time=1000 + number) for n in range(2)]
        TableCommit(made, f"us-{number}").append([added(*files, part=partition(part), bucket=number % 2, total=2)])
    return made


def test_there_are_nineteen() -> None:
    assert len(NAMES) == 19


@pytest.mark.parametrize("name", sorted(METADATA_TABLES))
def test_of_a_table_nobody_wrote_to(name: str, tmp_path: Path) -> None:
    found = keyed_table(tmp_path / "t").system_table(name).to_arrow()
    assert found.num_rows == {"schemas": 1, "options": 1, "aggregation_fields": 3}.get(name, 0)
    assert found.schema.names == [field.name for field in METADATA_TABLES[name].fields]


def test_columns_in_any_order_and_case(table: Table) -> None:
    found = table.system_table("snapshots", ["COMMIT_KIND", "snapshot_id"], "schema_id = 0").to_arrow()
    assert found.to_pylist() == [{"commit_kind": "APPEND", "snapshot_id": i} for i in (1, 2, 3)]
    with pytest.raises(OptionError, match="did you mean 'commit_kind'"):
        table.system_table("snapshots", ["comit_kind"])
    with pytest.raises(PredicateError):
        table.system_table("snapshots", where="nope = 1")


def test_conditions_leave_files_unread(table: Table) -> None:
    """What a condition excludes may be damaged."""
    root = Path(table.location)
    (root / "snapshot/snapshot-2").write_text("damaged")
    assert [r["snapshot_id"] for r in rows(f"{root}$snapshots", where="snapshot_id in (1, 3)")] == [1, 3]
    assert [r["snapshot_id"] for r in rows(f"{root}$snapshots", where=col("snapshot_id") > 2)] == [3]
    with pytest.raises(CorruptFile):
        rows(f"{root}$snapshots", where="snapshot_id < 3")
    (root / "tag").mkdir()
    shutil.copy(root / "snapshot/snapshot-1", root / "tag/tag-one")
    (root / "tag/tag-two").write_text("damaged")
    assert [r["snapshot_id"] for r in rows(f"{root}$tags", where="tag_name = 'one'")] == [1]
    assert [r["tag_name"] for r in rows(f"{root}$tags")] == ["one"]  # the other is left out, with a warning


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ("partition = '{a}'", {"data-0-0", "data-0-1"}),
        ("partition = '{null}'", {"data-2-0", "data-2-1"}),
        ("partition <> '{a}' and bucket = 1", {"data-1-0", "data-1-1"}),
        ("bucket = 7", set()),
        ("level = 0 and file_path like '%-1.parquet'", {"data-0-1", "data-1-1", "data-2-1"}),
        ("min_key = '[1]' or partition = '{b}'", {"data-0-1", "data-1-0", "data-1-1", "data-2-1"}),
    ],
)
def test_conditions_on_files(where: str, names: set[str], table: Table) -> None:
    found = table.system_table("files", ["file_path"], where).to_arrow().column(0).to_pylist()
    assert {Path(path).stem for path in found} == names


def test_keys_paths_and_times_of_files(table: Table) -> None:
    (one,) = rows(f"{table.location}$files", where="partition = '{b}' and min_key = '[0]'")
    assert one["file_path"] == f"{table.location}/part=b/bucket-1/data-1-0.parquet"
    assert (one["max_key"], one["file_format"], one["level"]) == ("[9]", "parquet", 0)
    assert one["creation_time"] == dt.datetime(1970, 1, 1, 0, 0, 1, 1000)
    assert (one["null_value_counts"], one["min_value_stats"], one["max_value_stats"]) == ("{}", "{}", "{}")
    assert (one["file_source"], one["first_row_id"], one["write_cols"]) == (None, None, None)


def test_a_data_file_without_a_format_is_named(tmp_path: Path) -> None:
    table = plain_table(tmp_path / "t")
    TableCommit(table, "test").append([added(file("a.parquet"), file("data-1"))])
    with pytest.raises(CorruptFile, match="'data-1' has no extension"):
        rows(f"{table.location}$files")


def test_statistics_of_files(tmp_path: Path) -> None:
    """All columns, some columns, none; columns of a file that holds only some."""
    table = plain_table(tmp_path / "t")
    types = (STRING, BIGINT, STRING)
    whole = SimpleStats(
        encode_arity_row(("a, b", -1, None), types), encode_arity_row(("z" * 9, 2**63 - 1, None), types), (0, None, 7)
    )
    some = SimpleStats(encode_arity_row((5,), (BIGINT,)), encode_arity_row((6,), (BIGINT,)), (1,))
    files = (
        file("data-0-0.orc")._replace(value_stats=whole),
        file("data-1-0.orc")._replace(value_stats=some, value_stats_cols=("id",)),
        file("data-2-0.orc", value_stats_cols=()),
        file("data-3-0.zst.parquet", rows=4, write_cols=("id",), first_row_id=8, file_source=1)._replace(
            value_stats=some
        ),
        file("data-4-0.orc", external_path="s3://other/bucket-0/data-4-0.orc"),
    )
    TableCommit(table, "us").append([added(*files)])
    found = sorted(rows(f"{table.location}$files"), key=lambda r: r["file_path"][-16:])
    shown = {Path(r["file_path"]).name[:6]: r for r in found}
    assert [shown[f"data-{n}"]["null_value_counts"] for n in range(5)] == [
        "{id=null, part=0, value=7}",
        "{id=1, part=null, value=null}",
        "{id=null, part=null, value=null}",
        "{id=1, part=4, value=4}",
        "{}",
    ]
    assert [shown[f"data-{n}"]["min_value_stats"] for n in range(5)] == [
        "{id=-1, part=a, b, value=null}",
        "{id=5, part=null, value=null}",
        "{id=null, part=null, value=null}",
        "{id=5, part=null, value=null}",
        "{}",
    ]
    assert shown["data-0"]["max_value_stats"] == "{id=9223372036854775807, part=zzzzzzzzz, value=null}"
    three = shown["data-3"]
    assert (three["write_cols"], three["first_row_id"], three["file_source"]) == (["id"], 8, "COMPACT")
    assert three["file_format"] == "parquet"
    assert shown["data-4"]["file_path"] == "s3://other/bucket-0/data-4-0.orc"
    assert {r["min_key"] for r in found} == {None}


def test_partitions_and_buckets(table: Table) -> None:
    found = rows(f"{table.location}$partitions")
    assert [(r["partition"], r["record_count"], r["file_count"]) for r in found] == [
        ("part=__DEFAULT_PARTITION__", 20, 2),
        ("part=a", 20, 2),
        ("part=b", 20, 2),
    ]
    assert {(r["file_size_in_bytes"], r["total_buckets"], r["done"], r["deleted_record_count"]) for r in found} == {
        (2020, 2, False, 0)
    }
    assert rows(f"{table.location}$partitions", ["file_count"], "partition = 'part=b'") == [{"file_count": 2}]
    assert [(r["partition"], r["bucket"]) for r in rows(f"{table.location}$buckets")] == [
        ("{a}", 0),
        ("{b}", 1),
        ("{null}", 0),
    ]
    assert [r["bucket"] for r in rows(f"{table.location}$buckets", where="bucket = 1")] == [1]


def test_a_partition_whose_files_are_gone_is_not_shown(table: Table) -> None:
    TableCommit(table, "us").overwrite([], {"part": "a"})
    assert [r["partition"] for r in rows(f"{table.location}$partitions")] == ["part=__DEFAULT_PARTITION__", "part=b"]
    assert [r["partition"] for r in rows(f"{table.location}$partitions", options={"scan.snapshot-id": "1"})] == [
        "part=a"
    ]
    assert len(rows(f"{table.location}$files", options={"scan.snapshot-id": "2"})) == 4


def test_rows_that_retract_are_in_the_audit_log(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    append(table, [(1, 10, "x"), (2, 20, None), (1, 10, "x")], [0, 0, 3])
    found = sorted(rows(f"{table.location}$audit_log"), key=lambda r: r["k"])
    assert found == [{"rowkind": "-D", "k": 1, "a": 10, "b": "x"}, {"rowkind": "+I", "k": 2, "a": 20, "b": None}]
    assert rows(f"{table.location}$audit_log", ["k"], "rowkind = '-D' and a > 0") == [{"k": 1}]
    assert rows(f"{table.location}$audit_log", ["a"], "k = 2") == [{"a": 20}]
    packed = sorted(rows(f"{table.location}$binlog"), key=lambda r: r["k"])
    assert packed == [
        {"rowkind": "-D", "k": [1], "a": [10], "b": ["x"]},
        {"rowkind": "+I", "k": [2], "a": [20], "b": [None]},
    ]
    assert rows(f"{table.location}$binlog", ["b"], "rowkind = '+I'") == [{"b": [None]}]


def test_the_audit_log_of_a_change(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    append(table, [(1, 1, "x")])
    append(table, [(1, 2, "y"), (3, 3, "z")])
    found = rows(f"{table.location}$audit_log", options={"incremental-between": "1,2"})
    assert sorted((r["rowkind"], r["k"], r["b"]) for r in found) == [("+I", 1, "y"), ("+I", 3, "z")]


def test_read_optimized_shows_the_top_level_only(golden: Callable[[str], str]) -> None:
    path = golden("java-2.1/pk_dedup")
    levels = {r["level"] for r in rows(f"{path}$files")}
    top = [r for r in rows(f"{path}$files") if r["level"] == max(levels)]
    assert len(rows(f"{path}$ro")) == sum(r["record_count"] for r in top)
    assert all(set(r) == set(open_table(path).schema.names) for r in rows(f"{path}$ro"))


@pytest.fixture
def golden(tmp_path: Path) -> Callable[[str], str]:
    def unpack(name: str) -> str:
        writer, _, table = name.partition("/")
        return str(GoldenTable(writer, table).unpack(tmp_path / table))

    return unpack


def test_metadata_of_tables_that_cannot_be_read(golden: Callable[[str], str]) -> None:
    path = str(of_another_format(Path(golden("java-2.1/fmt_row"))))
    for shown in METADATA_TABLES:
        assert isinstance(rows(f"{path}${shown}"), list)
    assert rows(f"{path}$files", ["record_count"])
    with pytest.raises(UnsupportedFeature):
        rows(f"{path}$audit_log")


def test_row_tracking_with_data_evolution(golden: Callable[[str], str]) -> None:
    """The golden table says which ids its rows have."""
    expected = GoldenTable("java-2.1", "data_evolution").expectation()["rows_with_row_id"]
    found = [tuple(r.values()) for r in rows(f"{golden('java-2.1/data_evolution')}$row_tracking")]
    assert sorted(found) == sorted(tuple(values) for _, values in expected)


def test_row_tracking(golden: Callable[[str], str]) -> None:
    """The golden table says which ids its rows have."""
    path = golden("java-2.1/row_tracking")
    expected = GoldenTable("java-2.1", "row_tracking").expectation()["rows_with_row_id"]
    found = [tuple(r.values()) for r in rows(f"{path}$row_tracking")]
    assert sorted(found, key=repr) == sorted((tuple(values) for _, values in expected), key=repr)
    ids = rows(f"{path}$row_tracking", ["_ROW_ID"], "_ROW_ID >= 1")
    assert sorted(r["_ROW_ID"] for r in ids) == sorted(r[-2] for r in found if r[-2] >= 1)
    with pytest.raises(OptionError, match=r"row-tracking\.enabled"):
        rows(f"{golden('java-2.1/pk_dedup')}$row_tracking")


def test_file_indexes(golden: Callable[[str], str]) -> None:
    """As genuine 2.1 wrote them: external containers, and embedded ones."""
    path = golden("java-2.1/file_index_21")
    found = rows(f"{path}$file_indexes")
    assert {(r["column_name"], r["index_type"]) for r in found} == {
        ("cat", "bitmap"),
        ("n", "bsi"),
        ("r", "range-bitmap"),
        ("id", "range-bitmap"),
        ("m[k1]", "bloom-filter"),
    }
    (container,) = Path(path).rglob("*.index")
    assert {(r["storage_type"], r["index_file_path"]) for r in found} == {("FILE", str(container))}
    assert {r["index_container_size_in_bytes"] for r in found} == {container.stat().st_size}
    assert sum(r["index_size_in_bytes"] for r in found) < container.stat().st_size
    embedded = rows(f"{golden('java-2.1/file_index_embedded')}$file_indexes")
    assert {(r["storage_type"], r["index_file_path"], r["is_empty"]) for r in embedded} == {("EMBEDDED", None, False)}
    container.unlink()
    with pytest.raises(CorruptFile, match="does not exist"):
        rows(f"{path}$file_indexes")


def test_branches_by_suffix(golden: Callable[[str], str]) -> None:
    path = golden("java-2.1/tags_branches")
    assert {r["branch_name"] for r in rows(f"{path}$branches")} == {"br1", "br_empty"}
    assert len(rows(f"{path}$branch_br1$snapshots")) == len(open_table(f"{path}$branch_br1").snapshots.ids())
    assert rows(f"{path}$branch_br1$files") == rows(f"{path}$files", options={"branch": "br1"})
    assert rows(f"{path}$branch_br_empty$files") == []


def test_names_that_do_not_exist(table: Table) -> None:
    for wrong in (f"{table.location}$fils", f"{table.location}$branch_x$fils"):
        assert find_system_table(wrong) is None
        with pytest.raises(TableNotFound, match=r"did you mean \$files\? The system tables are aggregation_fields"):
            open_table(wrong)
    with pytest.raises(TableNotFound, match=r"no system table \$fils .*did you mean \$files"):
        table.system_table("fils")
    with pytest.raises(TableNotFound, match="system_table\\('files'\\)"):
        open_table(f"{table.location}$files")
    with pytest.raises(PaimonError, match="has no branch 'x'"):
        find_system_table(f"{table.location}$branch_x$files")
    with pytest.raises(TableNotFound, match="no Paimon table at"):
        find_system_table(f"{table.location}x$files")


def test_a_folder_with_the_suffix_in_its_name_is_a_table(tmp_path: Path) -> None:
    plain_table(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "a$files")  # no table is made there
    location = str(tmp_path / "a$files")
    assert find_system_table(location) is None
    assert open_table(location).location == location
    assert rows(f"{location}$options") == []


def test_scans_are_picklable(table: Table) -> None:
    for name in ("files", "audit_log"):
        scan = table.system_table(name)
        again = pickle.loads(pickle.dumps(scan))
        assert again.arrow_schema == scan.arrow_schema
        assert len(again.tasks()) == len(scan.tasks())
        pickle.loads(pickle.dumps(scan.reader()))


def test_column_options_of_aggregations(tmp_path: Path) -> None:
    options = {"fields.value.aggregate-function": "listagg", "fields.value.list-agg-delimiter": ";"}
    table = keyed_table(tmp_path / "t", merge_engine="aggregation", **options)
    found = {r["field_name"]: r for r in rows(f"{table.location}$aggregation_fields")}
    assert set(re.findall(r"[^\[\], ]+", found["value"]["function"])) == {"listagg", ";"}
    assert set(re.findall(r"[^\[\], ]+", found["value"]["function_options"])) == set(options)
    assert (found["id"]["function"], found["id"]["field_type"]) == ("[]", "BIGINT NOT NULL")


@pytest.mark.parametrize(
    ("nanos", "text"),
    [
        (0, "PT0S"),
        (86_400 * 10**9, "PT24H"),
        (5_400 * 10**9, "PT1H30M"),
        (61 * 10**9 + 500_000_000, "PT1M1.5S"),
        (1, "PT0.000000001S"),
        (-90 * 10**9, "PT-1M-30S"),
        (3_601 * 10**9, "PT1H1S"),
        (10 * 10**9 + 100_000_000, "PT10.1S"),
    ],
)
def test_durations_as_java_prints_them(nanos: int, text: str) -> None:
    assert duration_text(nanos) == text


def test_the_order_of_a_java_hash_map() -> None:
    """As Java 17 lists a HashMap with these keys put in this order."""
    assert hash_order(["bucket", "write-only", "file.format"]) == ["bucket", "write-only", "file.format"]
    assert hash_order(["Aa", "BB"]) == ["Aa", "BB"]  # the same hash: as they came
    assert hash_order(["BB", "Aa"]) == ["BB", "Aa"]
    assert hash_order([chr(97 + i) for i in range(20)][::-1]) == sorted(
        [chr(97 + i) for i in range(20)], key=lambda c: ord(c) & 31
    )


# ------------------------------------------------------------------------------------------------------- the warehouse


def warehouse_rows(root: Path, name: str, columns: list[str] | None = None, where: str | None = None) -> list[Any]:
    found = find_warehouse_table(f"{root}/sys.db/{name}")
    assert found is not None
    return found.scan(columns, where).to_arrow().to_pylist()


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    orders = keyed_table(tmp_path / "lake" / "shop.db" / "orders", write_only="true")
    TableCommit(orders, "us").append([added(file("data-0.orc", keys=(1, 2), creation_time=5), part=partition("a/b"))])
    plain_table(tmp_path / "lake" / "log.db" / "lines")
    (tmp_path / "lake" / "log.db" / "no_table").mkdir()
    (tmp_path / "lake" / "other").mkdir()
    return tmp_path / "lake"


def test_the_tables_of_a_warehouse(warehouse: Path) -> None:
    columns = ["database_name", "table_name", "table_type", "partitioned", "primary_key", "record_count"]
    assert [tuple(r.values()) for r in warehouse_rows(warehouse, "tables", columns)] == [
        ("log", "lines", "table", False, False, None),
        ("shop", "orders", "table", True, True, None),
    ]
    assert warehouse_rows(warehouse, "tables", ["table_name"], "database_name = 'log'") == [{"table_name": "lines"}]


def test_the_partitions_of_a_warehouse(warehouse: Path, shanghai: None) -> None:
    (found,) = warehouse_rows(warehouse, "partitions")
    assert found == {
        "database_name": "shop",
        "table_name": "orders",
        "partition_name": "part=a/b",
        "record_count": 10,
        "file_size_in_bytes": 1010,
        "file_count": 1,
        "last_file_creation_time": 5 - 8 * 3_600_000,
        "done": False,
    }


def test_the_options_of_a_warehouse(warehouse: Path) -> None:
    options = {(r["table_name"], r["key"]): r["value"] for r in warehouse_rows(warehouse, "all_table_options")}
    assert options["orders", "write-only"] == "true"
    assert options["lines", "path"] == str(warehouse / "log.db" / "lines")
    assert warehouse_rows(warehouse, "catalog_options") == [{"key": "warehouse", "value": str(warehouse)}]


def test_what_is_no_table_of_a_warehouse(warehouse: Path) -> None:
    assert find_warehouse_table(f"{warehouse}/shop.db/orders") is None
    with pytest.raises(TableNotFound, match="its tables are tables, partitions, all_table_options, catalog_options"):
        find_warehouse_table(f"{warehouse}/sys.db/files")
    with pytest.raises(TableNotFound, match="no warehouse"):
        find_warehouse_table(f"{warehouse}/nope/sys.db/tables")
    plain_table(warehouse / "sys.db" / "tables")
    assert find_warehouse_table(f"{warehouse}/sys.db/tables") is None


def test_times_are_those_of_the_local_zone(table: Table, shanghai: None) -> None:
    committed = table.snapshots.load(1).time_millis
    (one,) = rows(f"{table.location}$snapshots", ["commit_time"], "snapshot_id = 1")
    assert (one["commit_time"] - dt.datetime(1970, 1, 1)) // dt.timedelta(milliseconds=1) == committed + 8 * 3_600_000


def test_consumers_tell_how_far_they_are_behind(tmp_path: Path) -> None:
    made = new_table(tmp_path / "t")
    for number in range(3):
        append(made, [(number, number, "a"), (number + 10, number, "b")])
    reset_consumer(made, "slow", 2)
    Path(made.location, "consumer", "consumer-swift").write_text('{"nextSnapshot": 4}')
    told = {row.pop("consumer_id"): row for row in rows(f"{made.location}$consumers")}
    late = told["slow"].pop("millis_behind")
    assert told["slow"] == {"next_snapshot_id": 2, "snapshots_behind": 2, "rows_behind": 4}
    assert 0 <= late < 60_000
    assert told["swift"] == {"next_snapshot_id": 4, "snapshots_behind": 0, "rows_behind": 0, "millis_behind": 0}


def test_rows_that_a_consumer_has_not_read_are_those_that_were_added(tmp_path: Path) -> None:
    made = new_table(tmp_path / "t")
    for number in range(2):
        append(made, [(number, number, "a"), (number + 10, number, "b")])
    compact(made)
    truncate_table(made)
    append(made, [(7, 7, "c")])
    reset_consumer(made, "slow", 2)
    (told,) = rows(f"{made.location}$consumers", ["snapshots_behind", "rows_behind"])
    assert told == {"snapshots_behind": 4, "rows_behind": 3}


def test_where_a_system_table_is_and_what_it_has_not(tmp_path: Path) -> None:
    made = new_table(tmp_path / "t")
    append(made, [(1, 1, "a")])
    create_branch(made, "b")
    for path in (f"{made.location}$files", f"{made.location}$branch_b$files"):
        found = find_system_table(path)
        assert found is not None
        assert (found.location, found.hidden_fields) == (path, ())


def test_the_state_that_is_shown_beside_a_change_is_the_latest(tmp_path: Path) -> None:
    made = new_table(tmp_path / "t")
    for number in range(2):
        append(made, [(number, number, "a")])
    assert len(rows(f"{made.location}$files", options={"incremental-between": "1,2"})) == 2
    assert len(rows(f"{made.location}$files", options={"scan.snapshot-id": "1"})) == 1


def test_times_of_tags_and_branches(tmp_path: Path, shanghai: None) -> None:
    made = new_table(tmp_path / "t")
    append(made, [(1, 1, "a")])
    create_tag(made, "one", 1, time_retained="1 d")
    create_branch(made, "b")
    os.utime(tmp_path / "t/branch/branch-b", (1_700_000_000, 1_700_000_000))
    epoch = dt.datetime(1970, 1, 1)
    (tag,), (branch,) = rows(f"{made.location}$tags"), rows(f"{made.location}$branches")
    millis = made.snapshots.load(1).time_millis + 8 * 3_600_000
    assert (tag["commit_time"] - epoch) // dt.timedelta(milliseconds=1) == millis
    assert (tag["tag_name"], tag["snapshot_id"], tag["record_count"], tag["time_retained"]) == ("one", 1, 1, "PT24H")
    assert branch["create_time"] == epoch + dt.timedelta(seconds=1_700_000_000, hours=8)


def test_statistics_whose_file_is_gone(table: Table) -> None:
    assert rows(f"{table.location}$statistics") == []
    path = Path(table.location, "snapshot", "snapshot-3")
    path.write_bytes(encode_snapshot(replace(table.snapshots.load(3), statistics="stat-x")))
    with pytest.raises(MissingFile, match=r"the statistics of snapshot 3 .*/statistics/stat-x does not exist"):
        rows(f"{table.location}$statistics")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("t$branch_b", "branch"),
        ("t$branch_", "branch"),
        ("t$files", "system table, which cannot be written"),
        ("t$FILES", "system table, which cannot be written"),
        ("t$x", None),
        ("t", None),
        ("files", None),
        ("t$branch_b/u", None),
    ],
)
def test_names_that_a_new_table_cannot_have(name: str, kind: str | None) -> None:
    if kind is None:
        refuse_name_of_part(f"/w/{name}", "creating a table at")
        return
    with pytest.raises(SchemaError, match=rf"^creating a table at .* is the name of a {kind}, and there is no table"):
        refuse_name_of_part(f"/w/{name}", "creating a table at")


def test_the_time_of_a_schema_and_its_texts(tmp_path: Path, shanghai: None) -> None:
    made = new_table(tmp_path / "t", {"fields.a.aggregate-function": "sum", "merge-engine": "aggregation"})
    (schema,) = rows(f"{made.location}$schemas")
    millis = (schema["update_time"] - dt.datetime(1970, 1, 1)) // dt.timedelta(milliseconds=1)
    assert millis == made.schema.time_millis + 8 * 3_600_000
    assert (schema["partition_keys"], schema["primary_keys"]) == ("[]", '["k"]')
    assert json.loads(schema["options"]) == dict(made.schema.options)
    assert [field["name"] for field in json.loads(schema["fields"])] == ["k", "a", "b"]
    found = {row["field_name"]: row["function"] for row in rows(f"{made.location}$aggregation_fields")}
    assert found == {"k": "[]", "a": "[sum]", "b": "[]"}
