"""The catalog in files, on a disk, in memory and in S3: what a database and a table are, and what is refused."""

from __future__ import annotations

import os
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import boto3
import pyarrow as pa
import pytest
from support.faults.damage import change_entries
from support.faults.hadoop_rules import hadoop_rules
from support.tables.catalog_tables import ORDERS, append, ids_of, schema

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.catalogs.filesystem import DirectoryNames
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import (
    DatabaseAlreadyExists,
    DatabaseNotEmpty,
    DatabaseNotFound,
    OptionError,
    SchemaError,
    StorageError,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
)
from paimon_spark.file_io.hadoop import HadoopFileIO
from paimon_spark.format.manifest import ManifestEntry
from paimon_spark.store.open import ReadableTable
from paimon_spark.tables.open import open_table


def place_outside(table: ReadableTable, bucket: Path) -> ReadableTable:
    """Moves the data file of a table to another bucket directory, as a writer with external paths leaves it."""
    name = next(Path(table.location).glob("bucket-0/data-*")).name

    def change(entry: ManifestEntry) -> list[ManifestEntry]:
        return [entry._replace(file=entry.file._replace(external_path=f"file:{bucket}/{name}"))]

    shutil.move(Path(table.location, "bucket-0", name), bucket / name)
    change_entries(Path(table.location), change)
    return open_table(table.location)


def test_the_life_of_databases(catalog: Catalog) -> None:
    catalog.create_database("shop")
    catalog.create_database("Äpfel und Birnen.1")
    assert catalog.list_databases() == ["shop", "Äpfel und Birnen.1"]
    assert catalog.load_database("shop").location == f"{catalog.table_location(ORDERS).removesuffix('/orders')}"
    assert catalog.list_tables("shop") == []
    with pytest.raises(DatabaseAlreadyExists, match="there is a database 'shop' already"):
        catalog.create_database("shop")
    catalog.create_database("shop", ignore_if_exists=True)
    catalog.drop_database("shop")
    assert catalog.list_databases() == ["Äpfel und Birnen.1"]
    with pytest.raises(DatabaseNotFound, match="no database 'shop' in the catalog 'paimon': it has Äpfel"):
        catalog.drop_database("shop")
    catalog.drop_database("shop", ignore_if_not_exists=True)


def test_the_life_of_a_table(catalog: Catalog) -> None:
    catalog.create_database("shop")
    made = catalog.create_table(ORDERS, schema())
    assert catalog.find_table(ORDERS) == made
    append(catalog.load_table(ORDERS), 1, 2)
    assert ids_of(catalog.load_table(ORDERS)) == [1, 2]
    assert ids_of(open_table(catalog.table_location(ORDERS), catalog.table_options())) == [1, 2]
    assert catalog.list_tables("shop") == ["orders"]
    with pytest.raises(TableAlreadyExists, match=r"there is a table shop\.orders already"):
        catalog.create_table(ORDERS, schema())
    assert catalog.create_table(ORDERS, schema(), ignore_if_exists=True) == made
    with pytest.raises(DatabaseNotEmpty, match=r"holds 1 tables \(orders\); .* DROP DATABASE \w+\.\w+ CASCADE in SQL"):
        catalog.drop_database("shop")
    catalog.drop_table(ORDERS)
    assert catalog.list_tables("shop") == [], "the database outlives its last table, also where directories do not"
    assert catalog.find_table(ORDERS) is None
    with pytest.raises(TableNotFound, match=r"no table shop\.orders in the catalog 'paimon': it has no table there"):
        catalog.drop_table(ORDERS)
    catalog.drop_table(ORDERS, ignore_if_not_exists=True)
    catalog.create_table(ORDERS, schema())
    assert ids_of(catalog.load_table(ORDERS)) == [], "nothing of the old table is left"


@pytest.mark.parametrize("catalog", ["memory", "s3"], indirect=True)
def test_a_database_that_is_there_through_its_table_outlives_it(catalog: Catalog) -> None:
    """Other clients may leave nothing else in an object store."""
    create_table(catalog.table_location(ORDERS), schema(), catalog.names.file_io)
    assert catalog.list_databases() == ["shop"]
    catalog.drop_table(ORDERS)
    assert (catalog.list_databases(), catalog.list_tables("shop")) == (["shop"], [])


def test_cascade_drops_tables_and_other_files(catalog: Catalog) -> None:
    catalog.create_database("shop")
    catalog.create_table(ORDERS, schema())
    stray = f"{catalog.table_location(ORDERS)[: -len('/orders')]}/notes/a.txt"
    catalog.load_table(ORDERS).file_io.inner.write_bytes(stray, b"mine")
    catalog.drop_database("shop", cascade=True)
    assert catalog.list_databases() == []
    catalog.create_database("shop")
    assert catalog.list_tables("shop") == []


@pytest.mark.parametrize("catalog", ["local", "memory", "s3"], indirect=True)
def test_files_of_others_are_not_lost_without_cascade(catalog: Catalog) -> None:
    catalog.create_database("shop")
    catalog.create_table(ORDERS, schema())
    store = catalog.load_table(ORDERS).file_io.inner
    stray = f"{catalog.table_location(ORDERS)[: -len('/orders')]}/exported/part-0.csv"
    store.write_bytes(stray, b"1")
    catalog.drop_table(ORDERS)
    with pytest.raises(DatabaseNotEmpty, match=r"other files such as .*exported/part-0\.csv"):
        catalog.drop_database("shop")
    assert store.read_bytes(stray) == b"1"


def test_a_table_needs_its_database(catalog: Catalog) -> None:
    catalog.create_database("other")
    for action in (
        lambda: catalog.create_table(ORDERS, schema()),
        lambda: catalog.list_tables("shop"),
        lambda: catalog.load_database("shop"),
    ):
        with pytest.raises(DatabaseNotFound, match="no database 'shop'"):
            action()
    with pytest.raises(TableNotFound, match=r"no table shop\.orders: there is no database 'shop'"):
        catalog.load_table(ORDERS)


def test_a_rename_moves_the_table(local: Catalog) -> None:
    local.create_database("archive")
    local.create_table(ORDERS, schema())
    append(local.load_table(ORDERS), 7)
    local.rename_table(ORDERS, Identifier("archive", "orders 2026"))
    assert local.list_tables("shop") == []
    assert ids_of(local.load_table(Identifier("archive", "orders 2026"))) == [7]


def test_a_rename_leaves_no_packs_of_bytes_behind(local: Catalog) -> None:
    """Rows refer to them by their whole paths."""
    fields = pa.schema([pa.field("id", pa.int32(), nullable=False), pa.field("b", pa.binary())])
    options = {"bucket": "1", "blob-field": "b"}
    local.create_table(ORDERS, new_schema(fields, primary_keys=["id"], options=options))
    local.rename_table(ORDERS, Identifier("shop", "empty"))
    local.rename_table(Identifier("shop", "empty"), ORDERS)
    rows = pa.table({"id": pa.array([1], pa.int32()), "b": [b"one"]})
    open_table(local.load_table(ORDERS).location).append(rows)
    with pytest.raises(UnsupportedFeature, match=r"renaming shop\.orders: its rows refer to bytes of BLOB columns"):
        local.rename_table(ORDERS, Identifier("shop", "other"))
    assert open_table(local.load_table(ORDERS).location).scan().to_arrow().to_pylist() == rows.to_pylist()


def test_a_rename_takes_no_name_of_others(local: Catalog, lake: Path) -> None:
    for name in ("a", "b"):
        local.create_table(Identifier("shop", name), schema())
    for target in ("a", "b"):
        with pytest.raises(TableAlreadyExists, match=f"there is a table shop.{target} already"):
            local.rename_table(Identifier("shop", "a"), Identifier("shop", target))
    (lake / "shop.db" / "c").mkdir()
    (lake / "shop.db" / "c" / "x.csv").write_text("1")
    with pytest.raises(SchemaError, match="holds no table, but other files"):
        local.rename_table(Identifier("shop", "a"), Identifier("shop", "c"))
    with pytest.raises(DatabaseNotFound, match=r"no database 'sho'.*did you mean 'shop'"):
        local.rename_table(Identifier("shop", "a"), Identifier("sho", "a"))
    with pytest.raises(TableNotFound, match=r"shop\.d "):
        local.rename_table(Identifier("shop", "d"), Identifier("shop", "e"))
    local.rename_table(Identifier("shop", "d"), Identifier("shop", "e"), ignore_if_not_exists=True)
    assert local.list_tables("shop") == ["a", "b"]


def test_a_rename_takes_the_place_of_an_interrupted_creation(local: Catalog, lake: Path) -> None:
    local.create_table(ORDERS, schema())
    (lake / "shop.db" / "new" / "schema").mkdir(parents=True)
    local.rename_table(ORDERS, Identifier("shop", "new"))
    assert local.list_tables("shop") == ["new"]


@pytest.mark.parametrize("catalog", ["memory", "s3"], indirect=True)
def test_an_object_store_renames_nothing(catalog: Catalog) -> None:
    catalog.create_database("shop")
    catalog.create_table(ORDERS, schema())
    with pytest.raises(UnsupportedFeature, match=r"renaming shop\.orders to shop\.x: .* object store"):
        catalog.rename_table(ORDERS, Identifier("shop", "x"))
    assert catalog.list_tables("shop") == ["orders"]


def test_databases_that_hadoop_made_in_s3(s3_options: dict[str, str]) -> None:
    """Java's file system for S3 marks an empty directory by an empty object whose name ends in a slash."""
    catalog = open_catalog({"warehouse": "s3://lake/hadoop", **s3_options})
    client = boto3.client(
        "s3",
        endpoint_url=s3_options["s3.endpoint"],
        aws_access_key_id="a",
        aws_secret_access_key="b",
        region_name="us-east-1",
    )
    client.put_object(Bucket="lake", Key="hadoop/theirs.db/", Body=b"")
    assert catalog.list_databases() == ["theirs"]
    with pytest.raises(DatabaseAlreadyExists):
        catalog.create_database("theirs")
    catalog.create_table(Identifier("theirs", "t"), schema())
    catalog.drop_table(Identifier("theirs", "t"))
    assert catalog.list_tables("theirs") == []
    with pytest.raises(UnsupportedFeature, match=r"the object 's3://lake/hadoop/theirs.db/'"):
        catalog.drop_database("theirs")
    client.delete_object(Bucket="lake", Key="hadoop/theirs.db/")
    assert catalog.list_databases() == []


def test_options_for_new_tables(lake: Path) -> None:
    catalog = open_catalog({"warehouse": str(lake), "table-default.bucket": "3", "table-default.file.format": "orc"})
    catalog.create_database("shop")
    made = catalog.create_table(ORDERS, new_schema(pa.schema([("id", pa.int64())]), ["id"], options={"bucket": "1"}))
    assert made.options == {"bucket": "1", "file.format": "orc"}, "the options of the table itself win"
    assert open_table(f"{lake}/shop.db/orders").schema.options == made.options
    assert catalog.load_table(ORDERS).schema.options == made.options


def test_defaults_that_make_no_table(lake: Path) -> None:
    catalog = open_catalog({"warehouse": str(lake), "table-default.bucket": "many"})
    catalog.create_database("shop")
    with pytest.raises(OptionError, match="bucket"):
        catalog.create_table(ORDERS, schema())
    assert catalog.list_tables("shop") == []


def test_options_of_a_read(local: Catalog) -> None:
    local.create_table(ORDERS, schema())
    for number in (1, 2):
        append(local.load_table(ORDERS), number)
    assert ids_of(local.load_table(ORDERS, {"scan.snapshot-id": "1"})) == [1]
    assert str(local.load_table(ORDERS, time_zone="Europe/Berlin").time_zone) == "Europe/Berlin"


def test_every_call_sees_what_others_have_done(local: Catalog, lake: Path) -> None:
    other = open_catalog(str(lake))
    other.create_table(ORDERS, schema())
    assert local.find_table(ORDERS) is not None
    other.drop_table(ORDERS)
    assert local.find_table(ORDERS) is None
    other.create_table(ORDERS, schema(**{"file.format": "orc"}))
    assert local.load_table(ORDERS).schema.options == {"file.format": "orc"}


def test_it_travels_to_other_processes_and_hides_secrets(tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path), "s3.secret-key": "hush", "s3.access-key": "me"}, name="lake")
    assert "hush" not in repr(catalog)
    again = pickle.loads(pickle.dumps(catalog))
    assert (again.name, again.options, again.table_options()) == (
        "lake",
        catalog.options,
        {"s3.secret-key": "hush", "s3.access-key": "me", "catalog.warehouse": str(tmp_path)},
    )


def test_files_outside_of_the_table_go_with_it_and_those_of_others_stay(local: Catalog, tmp_path: Path) -> None:
    far = tmp_path / "far" / "bucket-0"
    far.mkdir(parents=True)
    local.create_table(ORDERS, schema(**{"data-file.external-paths": f"{tmp_path}/far"}))
    append(local.load_table(ORDERS), 1)
    append(place_outside(local.load_table(ORDERS), far), 2)
    (far / "data-of-others").write_text("theirs")
    assert ids_of(local.load_table(ORDERS)) == [1, 2]
    assert len(list(far.iterdir())) == 2
    local.drop_table(ORDERS)
    assert local.list_tables("shop") == []
    assert [path.name for path in far.iterdir()] == ["data-of-others"]


def test_a_link_is_removed_and_what_it_leads_to_stays(local: Catalog, lake: Path, tmp_path: Path) -> None:
    elsewhere = open_catalog(str(tmp_path / "elsewhere"))
    elsewhere.create_database("d")
    elsewhere.create_table(Identifier("d", "t"), schema())
    (lake / "shop.db" / "linked").symlink_to(tmp_path / "elsewhere" / "d.db" / "t")
    assert local.list_tables("shop") == ["linked"]
    local.drop_table(Identifier("shop", "linked"))
    assert local.list_tables("shop") == []
    assert elsewhere.list_tables("d") == ["t"]


def test_a_writer_that_goes_on_after_a_drop_makes_no_table(catalog: Catalog) -> None:
    catalog.create_database("shop")
    catalog.create_table(ORDERS, schema())
    opened = catalog.load_table(ORDERS)
    append(opened, 1)
    catalog.drop_table(ORDERS)
    with pytest.raises(TableNotFound, match="it was dropped or renamed since this job opened it"):
        append(opened, 2)
    assert catalog.list_tables("shop") == []
    with pytest.raises(SchemaError, match=r"the directory is not empty \(.*\), and holds no Paimon table"):
        catalog.create_table(ORDERS, schema())


def test_a_table_over_a_directory_of_tables_is_refused_with_the_name_to_add(tmp_path: Path) -> None:
    """Such a directory is not to be emptied."""
    catalog = open_catalog(str(tmp_path))
    catalog.create_database("shop")
    catalog.create_table(ORDERS, schema())
    for place, told in (
        (tmp_path / "shop.db", r"it is a directory of 1 tables \(orders\); add the name of one to the path$"),
        (tmp_path, r"it is a warehouse with the databases shop\.db; give <warehouse>/<db>\.db/<table>$"),
    ):
        with pytest.raises(SchemaError, match=rf"^creating a table at {place}: {told}"):
            create_table(str(place), schema())
    assert catalog.list_tables("shop") == ["orders"]


def test_one_of_many_threads_creates(catalog: Catalog) -> None:
    catalog.create_database("shop")

    def create(number: int) -> int:
        try:
            catalog.create_table(ORDERS, replace(schema(), comment=str(number)))
        except TableAlreadyExists:
            return 0
        return 1

    for _ in range(3):
        with ThreadPoolExecutor(6) as threads:
            assert sum(threads.map(create, range(6))) == 1
        catalog.drop_table(ORDERS)


def test_names_of_tables_in_hdfs(tmp_path: Path) -> None:
    store = HadoopFileIO(partial(hadoop_rules, str(tmp_path)))
    catalog = FileCatalog(
        DirectoryNames("paimon", "hdfs://name:8020/lake", store, {"warehouse": "hdfs://name:8020/lake"})
    )
    catalog.create_database("shop")
    catalog.create_database("archive")
    catalog.create_table(ORDERS, schema())
    kept = Identifier("archive", "kept")
    catalog.rename_table(ORDERS, kept)
    catalog.create_table(ORDERS, schema())
    with pytest.raises(TableAlreadyExists):
        catalog.rename_table(ORDERS, kept)
    assert (catalog.list_tables("shop"), catalog.list_tables("archive")) == (["orders"], ["kept"])
    catalog.drop_table(ORDERS)
    catalog.drop_database("shop")
    catalog.drop_database("archive", cascade=True)
    assert catalog.list_databases() == []
    assert list((tmp_path / "lake").iterdir()) == []


def test_a_warehouse_that_is_a_table_or_a_database(tmp_path: Path) -> None:
    lake = open_catalog(str(tmp_path))
    lake.create_database("shop")
    lake.create_table(ORDERS, schema())
    place = {
        "shop.db": r"holds tables \(orders\) and no database .*: it is the directory of a database; give the directory",
        "shop.db/orders": "is a table: give the directory above that of its database",
    }
    for path, words in place.items():
        wrong = open_catalog(str(tmp_path / path))
        for call in (wrong.list_databases, lambda wrong=wrong: wrong.load_table(Identifier("default", "orders"))):
            with pytest.raises(OptionError, match=words):
                call()
    assert lake.list_databases() == ["shop"]


def test_a_table_that_the_system_database_does_not_have(local: Catalog) -> None:
    with pytest.raises(TableNotFound, match=r"no table sys\.all_tables: did you mean 'tables'"):
        local.load_table(Identifier("sys", "all_tables"))
    with pytest.raises(TableNotFound, match=r"sys\.tables is no table with rows of its own"):
        local.load_table(Identifier("sys", "tables"))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a directory in which nothing can be made")
@pytest.mark.parametrize("warehouse", ["/proc", "/proc/none"])
def test_a_database_that_cannot_be_made(warehouse: str) -> None:
    with pytest.raises(StorageError, match=r"^making the directory /proc.*check the path"):
        open_catalog({"warehouse": warehouse}).create_database("d")
