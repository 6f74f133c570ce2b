"""Opening tables: what is found, what is refused, and what the messages tell."""

from __future__ import annotations

import os
import pickle
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from support.oracles.comparing import comparable
from support.tables.golden_tables import GoldenTable

from paimon_spark import col, open_table
from paimon_spark.errors import (
    CorruptFile,
    OptionError,
    PredicateError,
    SnapshotNotFound,
    TableNotFound,
    UnsupportedFeature,
)
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.schema import TableSchema, encode_schema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.metadata.table import BucketMode
from paimon_spark.store.metadata.table_options import resolve_keys, resolve_properties
from paimon_spark.store.open import find_table

FIELDS = (
    DataField(0, "Id", DataType(Root.INT, nullable=False)),
    DataField(1, "day", DataType(Root.INT, nullable=False)),
    DataField(2, "Total", DataType(Root.BIGINT)),
)


def make(path: Path, options: dict[str, str] | None = None, keys: tuple[str, ...] = ("day", "Id")) -> str:
    schema = TableSchema(0, FIELDS, 2, ("day",), keys, options if options is not None else {"bucket": "2"})
    (path / "schema").mkdir(parents=True)
    (path / "schema" / "schema-0").write_bytes(encode_schema(schema))
    return str(path)


@pytest.fixture
def table(tmp_path: Path) -> str:
    return make(tmp_path / "t")


def test_a_table_nobody_wrote_to_is_empty(table: str) -> None:
    found = open_table(table)
    assert found.schema.names == ("Id", "day", "Total")
    assert found.scan().to_arrow().num_rows == 0
    assert found.scan().to_arrow().schema == found.scan().arrow_schema
    assert found.scan().count() == 0
    assert found.scan().plan().snapshot is None


def test_location_forms(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_table(table + "/").location == table
    assert open_table("file:" + table).schema == open_table(table).schema
    monkeypatch.chdir(Path(table).parent)
    assert open_table("t").location == table  # executors may run in another directory


def test_tables_and_scans_are_picklable(table: str) -> None:
    scan = pickle.loads(pickle.dumps(open_table(table))).scan(["Id"], "Total > 3")
    scan = pickle.loads(pickle.dumps(scan))
    assert pickle.loads(pickle.dumps(scan.reader())).arrow_schema == scan.arrow_schema


# ------------------------------------------------------------------------------------------------------- no table there


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "there is nothing at this path"),
        (
            ["part-0.parquet", "_SUCCESS"],
            r"holds parquet files but no schema directory; read them with format\('parquet'\)",
        ),
        (["x.orc"], r"format\('orc'\)"),
        (["_delta_log/0.json", "a.parquet"], r"Delta Lake table; read it with format\('delta'\)"),
        (["metadata/v1.metadata.json", "data/a.parquet"], r"Iceberg table; read it with format\('iceberg'\)"),
        (["orders/schema/schema-0", "items/schema/schema-0"], r"directory of 2 tables \(items, orders\)"),
        (["shop.db/orders/schema/schema-0"], "warehouse with the databases shop.db"),
        (["schema/readme"], "its schema directory holds no schema"),
        (["notes.txt"], "it holds notes.txt but no schema directory"),
    ],
)
def test_no_table(files: list[str], message: str, tmp_path: Path) -> None:
    for name in files:
        (tmp_path / "x" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "x" / name).write_text("{}")
    with pytest.raises(TableNotFound, match=message) as error:
        open_table(str(tmp_path / "x"))
    assert str(tmp_path / "x") in str(error.value)
    assert find_table(str(tmp_path / "x")) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"id": 0}', b"\xff"])
def test_a_damaged_schema_is_named(content: bytes, table: str) -> None:
    (Path(table) / "schema" / "schema-0").write_bytes(content)
    with pytest.raises(CorruptFile, match="schema-0"):
        open_table(table)


def test_every_truncation_of_a_schema_is_an_error(table: str) -> None:
    path = Path(table) / "schema" / "schema-0"
    whole = path.read_bytes()
    for length in range(len(whole.rstrip())):
        path.write_bytes(whole[:length])
        with pytest.raises(CorruptFile, match="schema-0"):
            open_table(table)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_directory_is_not_a_missing_table(table: str) -> None:
    os.chmod(Path(table) / "schema", 0)
    with pytest.raises(PermissionError):
        open_table(table)


# ---------------------------------------------------------------------------------------------------------- the options


def test_options_in_any_letter_case(table: str) -> None:
    found = open_table(
        table, {"SOURCE.split.Target-Size": "1 mb", "fields.total.stats-mode": "full", "PATH": "elsewhere"}
    )
    assert dict(found.settings) == {
        "bucket": "2",
        "source.split.target-size": "1 mb",
        "fields.Total.stats-mode": "full",
    }


@pytest.mark.parametrize(
    ("columns", "advice"),
    [
        ("*", "to read all columns leave the list out"),
        ("id as x", "give it another one in the select of the DataFrame"),
    ],
)
def test_what_is_no_name_of_a_column(table: str, columns: str, advice: str) -> None:
    for given in (columns, [columns]):
        with pytest.raises(OptionError, match=rf"no column '{re.escape(columns)}': .*{advice}"):
            open_table(table).scan(columns=given)


def test_storage_options_are_none_of_the_table(table: str) -> None:
    found = open_table(table, {"s3.endpoint": "http://x", "fs.s3a.access.key": "k"})
    assert dict(found.settings) == {"bucket": "2"}


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("scan.snapshotid", "'scan.snapshot-id'"),
        ("mergeengine", "'merge-engine'"),
        ("qqqqqqqq", "is not known; docs/reference/options.md lists all options$"),
        ("row_kinds", "did you mean 'row-kinds'"),
        ("rowkind-column", "did you mean 'row-kind-column'"),
        ("maxfilespertrigger", "did you mean 'read.stream.maxFilesPerTrigger'"),
        ("write.stream.compact_budget", "did you mean 'write.stream.compact-budget'"),
        ("chekpointlocation", "did you mean 'checkpointLocation'"),
        ("checkpointlocation", "'checkpointLocation' is one of df.writeStream, and would do nothing here"),
        (
            "time-zone",
            "PaimonTable.forPath, and would do nothing here; give open_table the argument time_zone= instead",
        ),
        ("Time_Zone", "did you mean 'time-zone'"),
        ("ignorechanges", "Delta Lake.*'streaming-read-overwrite'"),
        ("stream-from-timestamp", "Apache Iceberg.*'scan.timestamp-millis'"),
    ],
)
def test_an_unknown_option_is_an_error(key: str, hint: str, table: str) -> None:
    with pytest.raises(OptionError, match=hint):
        open_table(table, {key: "1"})


def test_a_table_stores_labels_of_its_user() -> None:
    labels = {"team": "x", "My.Contact": "y", "user.bukcet": "3", "row-owner": "z", "fields.nope.owner": "w"}
    given = {**labels, "Write-Only": "true"}
    assert resolve_properties(given, ["id"]) == {**labels, "write-only": "true"}
    with pytest.raises(OptionError, match="'team' is not known"):
        resolve_keys({"team": "x"}, ["id"])


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("bukcet", r"did you mean 'bucket'\? Or name it 'user.bukcet' if it is a property of your own"),
        ("write.only", "did you mean 'write-only'"),
        ("merge_engine", "did you mean 'merge-engine'"),
        ("write.owner", "begins like those of Paimon, .*name it 'user.write.owner'"),
        ("fields.id.owner", "begins like those of Paimon"),
        ("mergeSchema", "Delta Lake"),
        ("read.native", "would do nothing here"),
        ("time-zone", "would do nothing here"),
        ("spark.paimon.bucket", "give 'bucket'"),
    ],
)
def test_a_label_is_distinguished_from_an_option(key: str, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        resolve_properties({key: "1"}, ["id"])


def test_one_option_twice(table: str) -> None:
    with pytest.raises(OptionError, match=r"'scan\.mode' is given twice"):
        open_table(table, {"scan.mode": "latest", "Scan.Mode": "full"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("bucket", "3"),
        ("bucket", "-1"),
        ("bucket-key", "Id"),
        ("primary-key", "Id"),
        ("partition", "Id"),
        ("merge-engine", "first-row"),
        ("type", "format-table"),
        ("bucket-function.type", "mod"),
        ("deletion-vectors.enabled", "true"),
        ("row-tracking.enabled", "true"),
    ],
)
def test_options_that_contradict_the_table(key: str, value: str, table: str) -> None:
    with pytest.raises(OptionError, match=f"'{key}' = '{value}' contradicts the table"):
        open_table(table, {key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("bucket", " 2"),
        ("primary-key", "day, Id"),
        ("partition", "day"),
        ("merge-engine", "DEDUPLICATE"),
        ("bucket-function.type", "default"),
        ("deletion-vectors.enabled", "false"),
    ],
)
def test_options_that_say_what_the_table_says(key: str, value: str, table: str) -> None:
    assert open_table(table, {key: value}).settings[key] == value


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("scan.snapshot-id", "x", "a whole number such as 4"),
        ("scan.snapshot-id", "1_0", "a whole number such as 4"),  # Python would read 10
        ("bucket", "abc", "a whole number such as 4"),
        ("target-file-size", "lots", "a memory size such as 128 mb"),
        ("compaction.small-file-ratio", "much", "a number such as 0.7"),
        ("file.format.per.level", "orc", "a level and a value for each, such as 0:avro,3:parquet"),
        ("file.format.per.level", "x:orc", "a level and a value for each, such as 0:avro,3:parquet"),
    ],
)
def test_a_bad_value_is_named_before_anything_is_read_or_written(
    key: str, value: str, expected: str, table: str
) -> None:
    with pytest.raises(OptionError, match=f"'{key}' has the value '{value}': expected {expected}$"):
        open_table(table, {key: value})


def test_columns_may_be_one_text(table: str) -> None:
    opened = open_table(table)
    assert opened.scan("day, Id").to_arrow().column_names == ["day", "Id"]
    assert opened.system_table("schemas", "schema_id,comment").to_arrow().column_names == ["schema_id", "comment"]
    with pytest.raises(OptionError, match="no column 'dy', did you mean 'day'"):
        opened.scan("dy")
    with pytest.raises(OptionError, match="'columns' has the value 'day,,Id': expected column names separated by"):
        opened.scan("day,,Id")


@pytest.mark.parametrize(
    "options",
    [
        {"type": "lance-table"},
        {"batch-scan-mode": "compact"},
        {"file.format": "csv"},
    ],
)
def test_features_this_release_cannot_read_are_refused_by_name(options: dict[str, str], tmp_path: Path) -> None:
    path = make(tmp_path / "t", {"bucket": "2", **options})
    with pytest.raises(UnsupportedFeature, match=next(iter(options))) as refused:
        open_table(path)
    assert str(path) in str(refused.value)


def test_with_options(table: str) -> None:
    found = open_table(table, {"scan.mode": "latest"}).with_options(
        {"SOURCE.split.target-size": "5 mb", "s3.region": "x"}
    )
    assert found.settings["scan.mode"] == "latest"
    assert found.settings["source.split.target-size"] == "5 mb"


@pytest.mark.parametrize(
    ("options", "keys", "mode"),
    [
        ({"bucket": "2"}, ("day", "Id"), BucketMode.HASH_FIXED),
        ({"bucket": "-1"}, ("day", "Id"), BucketMode.HASH_DYNAMIC),
        ({}, ("Id",), BucketMode.KEY_DYNAMIC),
        ({"bucket": "-2"}, ("day", "Id"), BucketMode.POSTPONE_MODE),
        ({}, (), BucketMode.BUCKET_UNAWARE),
        ({"bucket": "4", "bucket-key": "Id"}, (), BucketMode.HASH_FIXED),
    ],
)
def test_bucket_mode(options: dict[str, str], keys: tuple[str, ...], mode: BucketMode, tmp_path: Path) -> None:
    assert open_table(make(tmp_path / "t", options, keys)).bucket_mode is mode


# ----------------------------------------------------------------------------------------------- columns and conditions


def test_columns_in_any_letter_case(table: str) -> None:
    scan = open_table(table).scan(["TOTAL", "id"])
    assert scan.arrow_schema == pa.schema([pa.field("Total", pa.int64()), pa.field("Id", pa.int32(), nullable=False)])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["totals"], "no column 'totals', did you mean 'Total'"),
        (["zzz"], "no column 'zzz'.*Id, day, Total"),
        (["Id", "ID"], "'Id' is named twice"),
        ([""], "no column ''"),
    ],
)
def test_columns_that_are_not_there(columns: list[str], message: str, table: str) -> None:
    with pytest.raises(OptionError, match=message):
        open_table(table).scan(columns)


def test_a_letter_case_that_fits_two_columns(tmp_path: Path) -> None:
    schema = TableSchema(0, (*FIELDS, DataField(3, "ID", DataType(Root.INT))), 3)
    (tmp_path / "t" / "schema").mkdir(parents=True)
    (tmp_path / "t" / "schema" / "schema-0").write_bytes(encode_schema(schema))
    with pytest.raises(OptionError, match="'iD' fits Id, ID"):
        open_table(str(tmp_path / "t")).scan(["iD"])
    assert [f.name for f in open_table(str(tmp_path / "t")).scan(["ID", "Id"]).fields] == ["ID", "Id"]


def test_conditions_that_do_not_fit(table: str) -> None:
    with pytest.raises(PredicateError, match="nothing"):
        open_table(table).scan(where="nothing = 1")
    with pytest.raises(PredicateError):
        open_table(table).scan(where=col("nothing") == 1)


# ------------------------------------------------------------------------------------------------ branches and schemas


@pytest.fixture
def branched(tmp_path: Path) -> str:
    return str(GoldenTable("java-2.1", "tags_branches").unpack(tmp_path))


def test_a_branch_by_option_and_by_suffix(branched: str) -> None:
    by_option = open_table(branched, {"BRANCH": "br1"})
    by_suffix = open_table(branched + "$branch_br1")
    assert (by_option.branch, by_suffix.branch) == ("br1", "br1")
    assert by_suffix.location == branched
    assert comparable(by_option.scan().to_arrow()) == comparable(by_suffix.scan().to_arrow())
    assert comparable(by_option.scan().to_arrow()) != comparable(open_table(branched).scan().to_arrow())


def test_a_branch_without_snapshots(branched: str) -> None:
    assert open_table(branched + "$branch_br_empty").scan().count() == 0


def test_no_such_branch(branched: str) -> None:
    with pytest.raises(SnapshotNotFound, match="no branch 'nope'; its branches: br1, br_empty"):
        open_table(branched, {"branch": "nope"})


@pytest.mark.parametrize("suffix", ["$snapshots", "$branch_br1$files", "$audit_log"])
def test_system_tables_are_no_tables(suffix: str, branched: str) -> None:
    with pytest.raises(TableNotFound, match="is a system table"):
        open_table(branched + suffix)


def test_a_directory_with_a_dollar_in_its_name(tmp_path: Path) -> None:
    assert open_table(make(tmp_path / "a$files")).location.endswith("a$files")
    with pytest.raises(TableNotFound):
        open_table(str(tmp_path / "b$whatever"))


def test_the_schema_is_that_of_the_snapshot_travelled_to(tmp_path: Path) -> None:
    path = GoldenTable("java-2.1", "schema_evo").unpack(tmp_path)
    latest = open_table(str(path))
    first = open_table(str(path), {"scan.snapshot-id": "1"})
    assert first.schema.id == first.snapshots.load(1).schema_id != latest.schema.id
    assert first.schema.names != latest.schema.names
    rows = first.scan().to_arrow()
    assert tuple(rows.column_names) == first.schema.names
    assert rows.num_rows > 0


def test_the_options_are_the_latest_ones_whatever_the_snapshot(tmp_path: Path) -> None:
    path = GoldenTable("java-2.1", "schema_evo").unpack(tmp_path)
    table = open_table(str(path))
    newer = replace(table.schema, id=table.schema.id + 1, options={**table.schema.options, "read.batch-size": "7"})
    (path / "schema" / f"schema-{newer.id}").write_bytes(encode_schema(newer))
    assert open_table(str(path), {"scan.snapshot-id": "1"}).settings["read.batch-size"] == "7"


def test_a_sequence_field_that_came_later(tmp_path: Path) -> None:
    """Options are those of today: the snapshot before has no such column, in Java too."""
    path = GoldenTable("java-2.1", "pk_dedup").unpack(tmp_path)
    schema = open_table(str(path)).schema
    later = DataField(schema.highest_field_id + 1, "later", DataType(Root.INT))
    options = {**schema.options, "sequence.field": "later"}
    newer = replace(schema, id=9, fields=(*schema.fields, later), highest_field_id=later.id, options=options)
    (path / "schema" / "schema-9").write_bytes(encode_schema(newer))
    assert open_table(str(path)).scan().count() > 0
    with pytest.raises(OptionError, match=r"'sequence\.field' names later, and the columns of schema 0 are"):
        open_table(str(path), {"scan.snapshot-id": "1"})
    then = {"scan.snapshot-id": "1", "sequence.field": ""}
    assert open_table(str(path), then).scan().to_arrow().column_names == list(schema.names)


@pytest.mark.parametrize("name", ["pk_partial_simple", "pk_aggregation"])
def test_a_sequence_field_that_is_no_column(tmp_path: Path, name: str) -> None:
    path = GoldenTable("java-0.7", name).unpack(tmp_path)
    schema = open_table(str(path)).schema
    newer = replace(schema, id=9, options={**schema.options, "sequence.field": "."})
    (path / "schema" / "schema-9").write_bytes(encode_schema(newer))
    with pytest.raises(OptionError, match=r"'sequence\.field' names \., and the columns"):
        open_table(str(path))


def test_a_missing_old_schema_is_named(tmp_path: Path) -> None:
    path = GoldenTable("java-2.1", "schema_evo").unpack(tmp_path)
    (path / "schema" / "schema-0").unlink()
    with pytest.raises(CorruptFile, match=r"schema 0 .* found the schema ids"):
        open_table(str(path)).scan().to_arrow()


@pytest.mark.parametrize("created_again", [True, False])
def test_a_table_that_another_client_drops_while_it_is_opened(tmp_path: Path, created_again: bool) -> None:
    """Its schema was listed and is gone when it is read: then there is no table, or a new one."""
    path = make(tmp_path / "t")

    class Dropped(LocalFileIO):
        def read_bytes(self, path: str) -> bytes:
            if (tmp_path / "t" / "first").exists():
                shutil.rmtree(tmp_path / "t")
                if created_again:
                    make(tmp_path / "t")
            return super().read_bytes(path)

    os.utime(tmp_path / "t" / "schema" / "schema-0")
    (tmp_path / "t" / "first").touch()
    found = SchemaStore(Dropped(), path).latest()
    assert (found is not None) == created_again
    if not created_again:
        shutil.rmtree(tmp_path / "t", ignore_errors=True)
        make(tmp_path / "t")
        (tmp_path / "t" / "schema" / "schema-0").write_bytes(b"{")
        with pytest.raises(CorruptFile, match="schema-0"):
            SchemaStore(LocalFileIO(), path).latest()
